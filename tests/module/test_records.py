# SPDX-License-Identifier: MIT
"""Records have the same fields in module and stub, and all threads get the same tuple."""

import ast
import sys
import threading
from pathlib import Path

import mmdskin
import pytest
from sample import model as sample
from sample.character import model as character

STUB = Path(__file__).parents[2] / "csrc/mmdskin/__init__.pyi"


def stub_records() -> dict[str, tuple[str, ...]]:
    """Fields, in order, of the named tuples that the stub declares: those that are generic, which they cannot
    be in Python 3.10."""
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    return {
        node.name: tuple(item.target.id for item in node.body if isinstance(item, ast.AnnAssign))
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id == "NamedTuple" for base in node.bases)
    }


def test_module_and_stub_have_the_same_fields_in_the_same_order():
    declared = stub_records()
    assert declared == {name: getattr(mmdskin, name)._fields for name in declared}
    assert len(declared) == 4


def test_defaults_of_physics_are_those_of_the_c_library():
    assert (
        mmdskin.Simulation(mmdskin.load_model(sample.build_sample())).physics == mmdskin.Physics()
    )


def in_threads(work, count=4) -> list:
    """The results of `work` in threads that start at once and switch as often as possible."""
    barrier = threading.Barrier(count)
    results: list = []

    def run():
        barrier.wait()
        results.append(work())

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    return results


def pose_file(count=200) -> bytes:
    bones = (f"Bone{i}{{b{i}\n0,0,0;\n0,0,0,1;\n}}\n" for i in range(count))
    morphs = (f"Morph{i}{{m{i}\n0;\n}}\n" for i in range(count))
    return "".join(["Vocaloid Pose Data file\n", *bones, *morphs]).encode()


@pytest.fixture(scope="module")
def files():
    return {mmdskin.load_model: sample.build_sample(), mmdskin.load_motion: pose_file()}


@pytest.mark.parametrize(
    "load, section",
    [
        (mmdskin.load_model, "bones"),
        (mmdskin.load_model, "materials"),
        (mmdskin.load_motion, "bones"),
        (mmdskin.load_motion, "morphs"),
    ],
)
def test_threads_get_the_same_tuple(files, load, section):
    for _ in range(60):
        owner = load(files[load])
        tuples = in_threads(lambda: getattr(owner, section))  # noqa: B023
        assert len({id(one) for one in tuples}) == 1


@pytest.mark.parametrize(
    "kind", ["bones", "morphs", "materials", "display_frames", "rigid_bodies", "joints"]
)
def test_fields_are_found_by_name_and_in_order(kind):
    """A field that is in another place in C than in Python would be another one by its name."""
    dancer = mmdskin.load_model(character.build_character())
    records = getattr(dancer, kind)
    named = [record._asdict() for record in records]
    if kind == "bones":
        for values in named:
            values |= {name: values[name] and values[name]._asdict() for name in ("append", "ik")}
    assert records and dancer.replace(**{kind: named}) == dancer.replace(**{kind: records})
