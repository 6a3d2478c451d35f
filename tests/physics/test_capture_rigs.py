# SPDX-License-Identifier: MIT
"""docs/examples/capture_rigs.py writes valid files, and each rig distinguishes the settings it tests."""

import importlib.util

import mmdskin
import numpy as np
import pytest
from conftest import ROOT
from files import motion_file, pmx_file


def example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"docs/examples/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RIGS = example("capture_rigs")
MADE = {rig.name: rig for rig in RIGS.rigs()}
SIMULATE = example("simulate")
NINE = [name for name in MADE if name != "8_impulse"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rigs")
    RIGS.main(folder)
    return folder


@pytest.fixture(scope="module")
def loaded(folder):
    return {
        name: (
            mmdskin.load_model(folder / f"{name}.pmx"),
            mmdskin.load_motion(folder / f"{name}.vmd"),
        )
        for name in MADE
    }


def states(model, motion, last, **settings):
    """(F, N, 13) of all bodies after every frame."""
    per_frame = round(settings.get("hz", 60) / 30)
    pose = model.pose(motion, np.arange(per_frame * last + 1) / per_frame)
    world = mmdskin.World(model.rigid_bodies, model.joints, **settings)
    rest = SIMULATE.matrices(world.state)
    follows = np.array([body.mode == "follow_bone" for body in model.rigid_bodies])
    bones = [body.bone for body in model.rigid_bodies]
    paths = SIMULATE.transforms(pose.bone_matrices[:, bones].astype(float) @ rest)[:, follows]
    found = []
    for number, path in enumerate(paths[1:], 1):
        world.step(path)
        if number % per_frame == 0:
            found.append(world.state)
    return np.array(found)


def largest_distance(one, other):
    return np.linalg.norm(one[..., :3] - other[..., :3], axis=-1).max()


def test_nine_rigs_and_a_page_that_lists_them(folder):
    assert [name[0] for name in NINE] == list("123456789")
    text = (folder / "steps.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]
    assert rows[1:] == list(MADE)
    assert {path.stem for path in folder.glob("*.pmx")} == set(MADE)


@pytest.mark.parametrize("name", MADE)
def test_an_independent_reader_finds_the_same_rig(folder, name):
    rig, read = MADE[name], pmx_file.read(folder / f"{name}.pmx")
    assert read.trailing == b"" and read.version == (2.1 if rig.impulses else 2.0)
    assert [(bone.name, bone.parent) for bone in read.bones] == [
        (bone.name, bone.parent) for bone in rig.bones
    ]
    for body, expected in zip(read.rigid_bodies, rig.bodies, strict=True):
        assert (body.name, body.bone, body.mask) == (expected.name, expected.bone, expected.mask)
        assert pmx_file.SHAPES[body.shape] == expected.shape
        assert pmx_file.BODY_MODES[body.mode] == expected.mode
        for field in ("size", "position", "rotation", "mass", "friction", "linear_damping"):
            assert np.allclose(getattr(body, field), getattr(expected, field), rtol=1e-6)
    for joint, expected in zip(read.joints, rig.joints, strict=True):
        assert (joint.body_a, joint.body_b) == (expected.body_a, expected.body_b)
        for field in mmdskin.Joint._fields[5:]:
            assert np.allclose(getattr(joint, field), getattr(expected, field), rtol=1e-6)
    # MMD needs these display frames, and keys only the bones they list
    assert [frame.special for frame in read.display_frames] == [True, True, False]
    shown = {
        number for frame in read.display_frames for kind, number in frame.elements if kind == 0
    }
    assert shown == set(range(len(read.bones)))


@pytest.mark.parametrize("name", MADE)
def test_every_body_has_a_visible_box(folder, name):
    read = pmx_file.read(folder / f"{name}.pmx")
    assert sum(material.index_count for material in read.materials) == read.triangles.size
    corners = read.positions.reshape(-1, 8, 3)
    for body, box in zip(read.rigid_bodies, corners, strict=True):
        assert np.allclose(box.mean(axis=0), body.position, atol=1e-5)
    a, b, c = (read.positions[read.triangles[:, i]] for i in range(3))
    outward = np.sum(np.cross(b - a, c - a) * read.normals[read.triangles[:, 0]], axis=1)
    assert (outward < 0).all() or (outward > 0).all()


@pytest.mark.parametrize("name", MADE)
def test_the_motion_matches_the_model_and_ends_in_time(loaded, name):
    model, motion = loaded[name]
    assert not any(motion.unmatched(model))
    assert motion.frame_range[1] <= MADE[name].last


def test_the_motion_has_physics_switches(folder):
    keys = motion_file.keys((folder / "8_switches.vmd").read_bytes()).bones
    off = [(key.name, key.frame) for key in keys if bytes(key.block[2:4]) == b"\x63\x0f"]
    assert sorted(off) == [(b"box1", 90), (b"box2", 90)]


@pytest.mark.parametrize("name", NINE)
def test_rigs_stay_in_one_piece(loaded, name):
    model, motion = loaded[name]
    run = states(model, motion, MADE[name].last)
    assert np.isfinite(run).all()
    assert np.linalg.norm(run[..., :3], axis=-1).max() < 60
    assert largest_distance(run, run[:1]) > 0.5


# Far above the 0.01 units by which two builds of one solver differ in rigs without contacts.
@pytest.mark.parametrize(
    ("name", "settings", "least"),
    [
        ("1_swung_chain", {"hz": 120}, 0.1),
        ("1_swung_chain", {"iterations": 4}, 0.1),
        ("1_swung_chain", {"gravity": (0, -122.5, 0)}, 0.1),
        ("4_joined_bodies", {"collide_connected": False}, 0.5),
        ("5_coming_to_rest", {"additional_damping": False}, 0.5),
        ("6_ground", {"ground": False}, 5),
    ],
)
def test_a_rig_distinguishes_settings(loaded, name, settings, least):
    model, motion = loaded[name]
    last = MADE[name].last
    assert (
        largest_distance(states(model, motion, last), states(model, motion, last, **settings))
        > least
    )
