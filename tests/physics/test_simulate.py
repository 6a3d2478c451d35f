# SPDX-License-Identifier: MIT
"""docs/examples/simulate.py on real models."""

import importlib.util

import mmdskin
import numpy as np
import pytest
from conftest import ROOT, SHARED
from physics.reference import Scene, archive, difference

LAST = 40


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("simulate", ROOT / "docs/examples/simulate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(name):
    path, dance = SHARED / f"models/{name}", SHARED / "models/realize_motion.vmd"
    if not path.is_file() or not dance.is_file():
        pytest.skip(f"{path} or {dance} is not there")
    return mmdskin.load_model(path), mmdskin.load_motion(dance)


def watched(kind, paths):
    """The class of worlds that also write down where they are told to step."""

    class Watched:
        def __init__(self, *arguments):
            object.__setattr__(self, "world", kind(*arguments))

        def __getattr__(self, name):
            return getattr(self.world, name)

        def __setattr__(self, name, value):
            setattr(self.world, name, value)

        def step(self, places):
            paths.append(np.array(places))
            self.world.step(places)

    return Watched


def test_matrices_and_quaternions_are_two_forms_of_one_turn(example):
    q = np.random.default_rng(1).normal(size=(200, 4))
    q[:50, 3] = 0  # half turns
    q[:12] = np.repeat(np.eye(4), 3, axis=0)
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    places = np.hstack([np.arange(600).reshape(200, 3), q])
    back = example.places(example.matrices(places))
    assert np.array_equal(back[:, :3], places[:, :3])
    q *= np.sign(np.sum(back[:, 3:] * q, axis=1))[:, None]
    assert np.allclose(back[:, 3:], q, rtol=0, atol=1e-15)


def test_small_turns_keep_their_digits(example):
    q = np.zeros((15, 4))
    q[:, :3] = 10.0 ** -np.arange(1, 16)[:, None] * (0.6, -0.8, 0.5)
    q[:, 3] = np.sqrt(1 - np.sum(q[:, :3] ** 2, axis=1))
    places = np.hstack([np.zeros((15, 3)), q])
    assert np.allclose(example.places(example.matrices(places)), places, rtol=1e-15, atol=1e-16)


@pytest.mark.parametrize(
    ("name", "reference"),
    [("巡音ルカ.pmx", "luka_pmx"), ("初音ミク.pmx", "miku_pmx"), ("miku_v2.pmd", "miku_v2_pmd")],
)
def test_a_dance_with_physics(example, monkeypatch, name, reference):
    model, motion = load(name)
    paths = []
    monkeypatch.setattr(mmdskin, "World", watched(mmdskin.World, paths))
    pose = example.simulate(model, motion, LAST)
    # what follows bones is where another program's bones are
    wanted = Scene(archive("model_" + reference))["path"]
    still = np.zeros((*wanted[: 2 * LAST + 1].shape[:2], 6))
    ours = np.concatenate([paths[0][None], np.array(paths)[example.SETTLING :]])
    rows = np.concatenate([ours, still], axis=-1)
    others = np.concatenate([wanted[: 2 * LAST + 1], still], axis=-1)
    assert difference(rows, others)[0].max() < 1e-3

    plain = model.pose(motion, np.arange(LAST + 1))
    heads = np.array([(*bone.position, 1) for bone in model.bones])

    def places(given):
        return np.einsum("fbij,bj->fbi", given.bone_matrices, heads)[..., :3]

    moved = np.linalg.norm(places(pose) - places(plain), axis=-1).max(axis=0)
    bodies = {body.bone for body in model.rigid_bodies if body.mode != example.FOLLOWS}
    free = {bone for bone in range(len(model.bones)) if not chain(model, bone) & bodies}
    assert moved[sorted(free)].max() < 1e-4
    assert 0.1 < moved[sorted(bodies - {-1})].max() < 10
    for matrices in pose.bone_matrices[:, sorted(bodies - {-1}), :3, :3].reshape(-1, 3, 3):
        assert np.allclose(matrices @ matrices.T, np.eye(3), atol=1e-5)


def chain(model, bone):
    found = set()
    while bone >= 0:
        found.add(bone)
        bone = model.bones[bone].parent
    return found
