# SPDX-License-Identifier: MIT
"""No leaks and no dangling pointers, measured in fresh interpreters."""

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


def test_memory_after_a_thousand_models_is_as_after_ten():
    """A model takes 2 MiB."""
    assert float(python(HERE / "leaks.py", "load_models", 10, 1000)) < 1


@pytest.mark.parametrize(
    "work, rounds",
    [
        ("read_all_of_models", 100),
        ("refuse_files", 500),
        ("skin_new_meshes", 1000),
        ("refuse_arguments", 3000),
        ("create_and_refuse_worlds", 2000),
        ("create_and_refuse_simulations", 300),
        ("skin_models", 300),
        ("skin_into_out", 500),
        ("refuse_calls", 1000),
        ("pickle_models", 200),
    ],
)
def test_memory_does_not_grow(work, rounds):
    assert float(python(HERE / "leaks.py", work, 10, rounds)) < 1


def test_refused_calls_leave_nothing_behind():
    python(HERE / "leaks.py", "leaking_calls")


def test_memory_does_not_grow_with_gl(gl):
    assert float(python(HERE / "leaks.py", "skin_models_by_gl", 20, 100)) < 4


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


def test_references_to_the_types_are_released():
    assert int(python("-c", HEAD + REFERENCES)) <= 2


VIEWS = """
from files.small import ARRAYS
def views(model):
    arrays = [getattr(model, name) for name in ARRAYS]
    return arrays + [a for m in model.morphs for a in (m.indices, m.values)]
views_only = views(mmdskin.load_model(data))
gc.collect()
noise = [np.random.default_rng(0).random(100000) for _ in range(50)]
for a, b in zip(views_only, views(mmdskin.load_model(data)), strict=True):
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


WEAK = """
import weakref
model = mmdskin.load_model(data)
motion = mmdskin.Motion.from_tracks()
mesh = mmdskin.Mesh(model.positions, model.bone_indices, model.bone_weights)
objects = [model, motion, mesh, mmdskin.World([], []), mmdskin.Simulation(model)]
ended, kept = [], weakref.WeakKeyDictionary({each: type(each).__name__ for each in objects})
weak = [weakref.ref(each, ended.append) for each in objects]
assert [reference() for reference in weak] == objects and len(kept) == len(objects)
model.bones, mmdskin.skin(model, model.pose(motion, 0))
del model, motion, mesh, objects
gc.collect()
print(len(kept), len(ended), {reference() for reference in weak})
"""


def test_what_is_referred_to_weakly_ends():
    assert python("-c", HEAD + WEAK) == "0 5 {None}"


ENDS = """
model = mmdskin.load_model(data)
mesh = mmdskin.Mesh(model.positions, model.bone_indices, model.bone_weights)
everything = [model, mesh, mmdskin.skin(mesh, sample.bend(8)), mmdskin]
everything.append(everything)
print("end")
"""


def test_the_interpreter_exits_cleanly_with_live_objects():
    assert python("-c", HEAD + ENDS) == "end"
