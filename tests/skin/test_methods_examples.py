# SPDX-License-Identifier: MIT
"""The examples of docs/methods.md compute what they say, compared with formulas written again here."""

import re
from pathlib import Path

import mmdskin
import numpy as np
import pytest
from sample.character import model as character

TEXT = (Path(__file__).parents[2] / "docs" / "methods.md").read_text(encoding="utf-8")


def example(anchor):
    """The names that the first listing after an anchor defines."""
    text = TEXT[TEXT.index(f'<a id="{anchor}"></a>') :]
    names: dict = {}
    exec(re.search(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)[1], names)
    return names


@pytest.fixture(scope="module")
def spherical(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spherical")
    character.write_character(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return example("own-centers")


def turn(q):
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_centers_of_your_own_give_spherical_blend_skinning(spherical):
    """p = M C + R (p - C) with C at the head of the child. Only the elbow rotates, so the blended
    quaternion depends on its weight only."""
    model, out = spherical["model"], spherical["out"].positions
    elbow = model.bone("左ひじ")
    upper = model.bones[elbow].parent
    head = np.array(model.bones[elbow].position)
    of_elbow = np.where(model.bone_indices == elbow, model.bone_weights, 0).sum(1).astype(float)
    of_upper = np.where(model.bone_indices == upper, model.bone_weights, 0).sum(1).astype(float)
    blended = np.flatnonzero((of_elbow * of_upper > 0) & (of_elbow + of_upper > 0.999))
    assert len(blended) > 100
    for v in blended:
        w = of_elbow[v]
        q = (1 - w) * np.array([0, 0, 0, 1]) + w * np.array([0, 0.6, 0, 0.8])
        away = turn(q / np.linalg.norm(q)) @ (model.positions[v] - head)
        np.testing.assert_allclose(out[v], head + away, atol=2e-5)  # M C = C: the elbow stays


def test_spherical_blend_skinning_does_not_collapse_the_elbow(spherical):
    model, pose = spherical["model"], spherical["pose"]
    elbow = model.bone("左ひじ")
    head = np.array(model.bones[elbow].position)
    near = np.flatnonzero((model.bone_indices[:, :2] == elbow).any(1) & (model.deform != 0))
    before = np.linalg.norm(model.positions[near] - head, axis=1)
    spheres = np.linalg.norm(spherical["out"].positions[near] - head, axis=1)
    linear = mmdskin.skin(model, pose, method="linear").positions[near]
    assert (np.linalg.norm(linear - head, axis=1) / before).min() < 0.9
    child = spherical["child"][near] == elbow
    np.testing.assert_allclose(spheres[child], before[child], rtol=1e-5)


def random_matrices(random, *shape):
    """Rotation, shear, scale and translation."""
    matrices = np.zeros((*shape, 4, 4))
    matrices[..., :3, :] = random.normal(size=(*shape, 3, 4))
    matrices[..., :3, :3] += 3 * np.eye(3)
    matrices[..., 3, 3] = 1
    return matrices


def test_gradient_matrices_keep_the_scale_of_bones():
    random = np.random.default_rng(3)
    bind, pose = random_matrices(random, 2), random_matrices(random, 5, 2)
    held = random.normal(size=(2, 7, 4))  # points in the local space of each bone
    held[..., 3] = 1
    rest = (held @ bind.transpose(0, 2, 1)).reshape(-1, 4)[:, :3]
    bones = np.repeat([0, 1], 7)[:, None]
    mesh = mmdskin.Mesh(rest, bones, np.ones((14, 1)))
    matrices = example("gradient-matrices")["gradient_matrices"](pose, bind)
    found = mmdskin.skin(mesh, matrices).positions
    expected = (held @ pose.transpose(0, 1, 3, 2)).reshape(5, -1, 4)[..., :3]
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_gradient_matrices_of_a_model_equal_those_of_its_pose(spherical):
    """Bones at rest have no rotation and are at their heads."""
    model, pose = spherical["model"], spherical["pose"]
    bind = np.tile(np.eye(4), (len(model.bones), 1, 1))
    bind[:, :3, 3] = [bone.position for bone in model.bones]
    now = pose.bone_matrices.astype(float) @ bind
    found = example("gradient-matrices")["gradient_matrices"](now, bind)
    np.testing.assert_allclose(found, pose.bone_matrices, atol=1e-5)
