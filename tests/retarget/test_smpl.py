# SPDX-License-Identifier: MIT
"""The recipe for SMPL in docs/retargeting.md: pose vectors become a skeleton's poses, and these pose vectors."""

import numpy as np
from files import locations
from module import docs_examples


def recipe(monkeypatch):
    monkeypatch.chdir(locations.own_files()["dancer.pmx"].parent)
    (example,) = [
        e for e in docs_examples.of_page("docs/retargeting.md") if "SMPL" in e or "smpl" in e
    ]
    names = {}
    exec(example, names)
    return names


def test_pose_vectors_become_poses_and_these_pose_vectors(monkeypatch):
    names = recipe(monkeypatch)
    assert not names["smpl"].doubts and len(names["smpl"].human) == 19
    random = np.random.default_rng(2)
    angles = random.normal(size=(50, 66)) * 0.8
    angles *= np.minimum(1, 3.1 / np.abs(np.linalg.norm(angles.reshape(50, 22, 3), axis=-1)).max())
    angles[0] = 0
    places = random.normal(size=(50, 3))
    found, moved = names["vectors"](names["transforms"](angles, places))
    np.testing.assert_allclose(found, angles, atol=1e-5)
    np.testing.assert_allclose(moved, places, atol=1e-5)


def test_a_dance_becomes_pose_vectors_and_comes_back(monkeypatch):
    names = recipe(monkeypatch)
    poses, again = names["out"].transforms, names["again"]
    np.testing.assert_allclose(again[..., :3, :3], poses[..., :3, :3], atol=1e-5)
    height = 20
    assert np.abs(again - poses)[..., :3, 3].max() < 1e-5 * height
    assert np.abs(names["angles"]).max() > 0.5
    assert names["report"].worst <= 0.1 and names["report"].keys > 100
