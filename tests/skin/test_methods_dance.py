# SPDX-License-Identifier: MIT
"""The methods against bulges in a dance of published models: how far they stretch edges."""

from typing import NamedTuple

import mmdskin
import numpy as np
import pytest
from conftest import published_file

METHODS = ["bulge_free", "bulge_compensated", "centers_of_rotation"]


def edges(triangles):
    pairs = np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    return np.unique(np.sort(pairs, 1), axis=0)


# Limits of docs/methods.md#method-dance: edges per frame that are more than twice as long as under dual
# quaternions; of these, edges longer than at rest; edges more than twice as long as at rest.
LONGER = {
    "bulge_free": (0.1, 0.05, 0),
    "bulge_compensated": (1.1, 0.3, 0.05),
    "centers_of_rotation": (5, 0.3, 0.1),
}
COARSE = {"mmt_test_model": {"centers_of_rotation": (5, 4.5, 3)}}


class Dance(NamedTuple):
    name: str
    model: mmdskin.Model
    pose: mmdskin.Pose
    edges: np.ndarray  # (E,2) vertices
    rest: np.ndarray  # (E,) lengths
    dual: np.ndarray  # (F,E) under dual quaternions


def edge_lengths(positions, pairs):
    first, second = pairs.T
    return np.linalg.norm(positions[..., first, :] - positions[..., second, :], axis=-1)


@pytest.fixture(
    scope="module", params=["巡音ルカ.pmx", "初音ミク.pmx", "miku_v2.pmd", "mmt_test_model.pmx"]
)
def danced(request):
    path = published_file(request.param)
    model = mmdskin.load_model(path)
    motion = mmdskin.load_motion(published_file("realize_motion.vmd"))
    pose = model.pose(motion, np.linspace(*motion.frame_range, 200).round())
    out = mmdskin.skin(model, pose, method="dual_quaternion", normals=False)
    pairs = edges(model.triangles)
    lengths = (edge_lengths(positions, pairs) for positions in (model.positions, out.positions))
    return Dance(path.stem, model, pose, pairs, *lengths)


def longer_edges(danced, method):
    """Lengths (F,E), and a mask of those more than twice as long as under dual quaternions."""
    out = mmdskin.skin(danced.model, danced.pose, method=method, normals=False)
    found = edge_lengths(out.positions, danced.edges)
    return found, (found > 2 * danced.dual) & (danced.rest > 0)


@pytest.mark.parametrize("method", METHODS)
def test_a_dance_stretches_few_edges(danced, method):
    found, longer = longer_edges(danced, method)
    limits = COARSE.get(danced.name, {}).get(method, LONGER[method])
    for times, most in zip((0, 1, 2), limits, strict=True):
        assert (longer & (found > times * danced.rest)).sum() <= most * len(found)


def test_bulge_free_stretches_edges_only_where_bones_do_not_meet(danced):
    """At hips and shoulders, where neighboring vertices have leading bones with different segments."""
    found, longer = longer_edges(danced, "bulge_free")
    stretched = (longer & (found > danced.rest)).any(0)
    for edge in danced.edges[stretched]:
        index, weights = danced.model.bone_indices[edge], danced.model.bone_weights[edge]
        ends = [danced.model.segments[bone] for bone in np.unique(index[weights > 0])]
        apart = [
            np.linalg.norm(one[:, None] - other, axis=-1).min()
            for i, one in enumerate(ends)
            for other in ends[:i]
        ]
        assert max(apart) > 0.5


def test_centers_of_rotation_stretch_only_edges_between_different_bones(danced):
    """Vertices of the same bones have centers close together; others are similar to other surfaces."""
    found, longer = longer_edges(danced, "centers_of_rotation")
    torn = (longer & (found > 2 * danced.rest)).any(0)
    index, weights = danced.model.bone_indices, danced.model.bone_weights
    for one, other in danced.edges[torn]:
        assert {*index[one][weights[one] > 0]} != {*index[other][weights[other] > 0]}
