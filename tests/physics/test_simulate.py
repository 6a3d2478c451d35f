# SPDX-License-Identifier: MIT
"""docs/examples/simulate.py on published models."""

import importlib.util

import mmdskin
import numpy as np
import pytest
from conftest import ROOT
from physics.dancers import dancer
from physics.reference import Scene, archive, difference

LAST = 40


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("simulate", ROOT / "docs/examples/simulate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def recording(world_type, paths):
    """A class of worlds that record the kinematic transforms of their steps."""

    class Recording:
        def __init__(self, *arguments):
            object.__setattr__(self, "world", world_type(*arguments))

        def __getattr__(self, name):
            return getattr(self.world, name)

        def __setattr__(self, name, value):
            setattr(self.world, name, value)

        def step(self, transforms):
            paths.append(np.array(transforms))
            self.world.step(transforms)

    return Recording


def test_matrices_convert_to_quaternions_and_back(example):
    q = np.random.default_rng(1).normal(size=(200, 4))
    q[:50, 3] = 0  # half turns
    q[:12] = np.repeat(np.eye(4), 3, axis=0)
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    transforms = np.hstack([np.arange(600).reshape(200, 3), q])
    back = example.transforms(example.matrices(transforms))
    assert np.array_equal(back[:, :3], transforms[:, :3])
    q *= np.sign(np.sum(back[:, 3:] * q, axis=1))[:, None]
    assert np.allclose(back[:, 3:], q, rtol=0, atol=1e-15)


def test_small_rotations_keep_their_precision(example):
    q = np.zeros((15, 4))
    q[:, :3] = 10.0 ** -np.arange(1, 16)[:, None] * (0.6, -0.8, 0.5)
    q[:, 3] = np.sqrt(1 - np.sum(q[:, :3] ** 2, axis=1))
    transforms = np.hstack([np.zeros((15, 3)), q])
    assert np.allclose(
        example.transforms(example.matrices(transforms)), transforms, rtol=1e-15, atol=1e-16
    )


@pytest.mark.parametrize(
    ("name", "reference"),
    [("巡音ルカ.pmx", "luka_pmx"), ("初音ミク.pmx", "miku_pmx"), ("miku_v2.pmd", "miku_v2_pmd")],
)
def test_the_example_simulates_a_dance(example, monkeypatch, name, reference):
    model, motion = dancer(name)
    paths = []
    monkeypatch.setattr(mmdskin, "World", recording(mmdskin.World, paths))
    pose = example.simulate(model, motion, LAST)
    # the kinematic bodies are where another program has the bones
    expected = Scene(archive("model_" + reference))["path"]
    still = np.zeros((*expected[: 2 * LAST + 1].shape[:2], 6))
    ours = np.concatenate([paths[0][None], np.array(paths)[example.SETTLING :]])
    rows = np.concatenate([ours, still], axis=-1)
    others = np.concatenate([expected[: 2 * LAST + 1], still], axis=-1)
    assert difference(rows, others)[0].max() < 1e-3

    plain = model.pose(motion, np.arange(LAST + 1))
    rest = np.array([(*bone.position, 1) for bone in model.bones])

    def positions(pose):
        return np.einsum("fbij,bj->fbi", pose.bone_matrices, rest)[..., :3]

    moved = np.linalg.norm(positions(pose) - positions(plain), axis=-1).max(axis=0)
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
