# SPDX-License-Identifier: MIT
"""Nothing leaks and nothing dangles; measured in fresh interpreters."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HEAD = f"""
import gc, sys
sys.path[:0] = {[str(HERE), str(HERE.parent)]!r}
import mmdskin, numpy as np
from sample import model as sample
data = sample.build_sample()
"""


def python(*arguments):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_thousand_models_leave_memory_as_after_ten():
    """One model is 2 MiB."""
    assert float(python(HERE / "leaks.py", "models_loaded_and_dropped", 10, 1000)) < 1


@pytest.mark.parametrize(
    "work, rounds",
    [
        ("models_read_in_every_corner", 100),
        ("files_refused", 500),
        ("meshes_made_and_skinned", 1000),
        ("arguments_refused", 3000),
        ("worlds_made_and_refused", 2000),
        ("simulations_made_and_refused", 300),
        ("models_skinned", 300),
        ("frames_made_in_given_arrays", 500),
        ("calls_refused", 1000),
        ("models_pickled", 200),
    ],
)
def test_memory_does_not_grow(work, rounds):
    assert float(python(HERE / "leaks.py", work, 10, rounds)) < 1


def test_memory_does_not_grow_with_gl(gl):
    assert float(python(HERE / "leaks.py", "models_skinned_by_gl", 20, 100)) < 4


REFERENCES = """
kinds = [mmdskin.Model, mmdskin.Mesh, mmdskin.Skinned, mmdskin.Pose]
def counts():
    gc.collect()
    return [sys.getrefcount(kind) for kind in kinds]
def work():
    model = mmdskin.load_model(data)
    mesh = mmdskin.Mesh(model.positions, model.bone_indices, model.bone_weights)
    mmdskin.skin(mesh, mmdskin.Pose(sample.bend(4), None), backend="cpu")
    model.bones, model.positions
work()
before = counts()
for _ in range(100):
    work()
print(max(abs(after - b) for after, b in zip(counts(), before)))
"""


def test_references_to_the_types_do_not_pile_up():
    assert int(python("-c", HEAD + REFERENCES)) <= 2


VIEWS = """
from files.small import ARRAYS
def views(model):
    arrays = [getattr(model, name) for name in ARRAYS]
    return arrays + [a for m in model.morphs for a in (m.indices, m.values)]
kept = views(mmdskin.load_model(data))
gc.collect()
noise = [np.random.default_rng(0).random(100000) for _ in range(50)]
for a, b in zip(kept, views(mmdskin.load_model(data)), strict=True):
    assert np.array_equal(a, b)
"""


def test_views_outlive_their_model():
    python("-c", HEAD + VIEWS)


RECORDS = """
model = mmdskin.load_model(data)
bones, morph, materials = model.bones, model.morphs[0], iter(model.materials)
del model
gc.collect()
print(bones[1].name, len(morph.indices) > 0, next(materials).name)
"""


def test_records_outlive_their_model():
    assert python("-c", HEAD + RECORDS) == "上腕_BDEF1 True 材質_BDEF1"


ENDS = """
model = mmdskin.load_model(data)
mesh = mmdskin.Mesh(model.positions, model.bone_indices, model.bone_weights)
everything = [model, mesh, mmdskin.skin(mesh, sample.bend(8)), mmdskin]
everything.append(everything)
print("end")
"""


def test_the_interpreter_ends_cleanly_with_objects_alive():
    assert python("-c", HEAD + ENDS) == "end"
