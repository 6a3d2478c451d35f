# SPDX-License-Identifier: MIT
"""Appends do not depend on the order of bones: each reads its source's value of the settled pose."""

import numpy as np
import pytest
from files.pmx_records import IK, Append, Bone, IKLink
from judges import pose_twin
from judges.pose_rigs import model_of, posed
from judges.pose_twin import about

X, Y, Z = np.eye(3)


def turn(bones, number, values):
    """Degrees by which a bone is turned."""
    m = posed(model_of(*bones), values)[number][:3, :3]
    return float(np.degrees(np.arccos(np.clip((np.trace(m) - 1) / 2, -1, 1))))


def bone(name, source=None, ratio=1.0, **fields):
    append = None if source is None else Append(source, ratio, True, True)
    return Bone(name, append=append, **{"position": (int(name), 0, 0)} | fields)


@pytest.mark.parametrize("after_physics", [False, True])
@pytest.mark.parametrize("layers", [(0, 0, 0), (0, 1, 2), (2, 2, 5)])
def test_a_chain_of_sources_that_come_later_is_appended_at_once(layers, after_physics):
    bones = [bone("0", 1), bone("1", 2), bone("2")]
    for one, layer in zip(bones, layers, strict=True):
        one.layer = layer
    bones[-1].after_physics = after_physics
    assert np.isclose(turn(bones, 0, {2: about(X, np.radians(40))}), 40, atol=1e-3)


def test_ratios_of_a_chain_multiply_and_own_rotations_add():
    bones = [bone("0", 1, -0.5), bone("1", 2, 0.5), bone("2", 3, 2.0), bone("3")]
    values = {3: about(Y, 0.2), 1: about(Y, 0.3)}
    assert np.isclose(np.radians(turn(bones, 0, values)), 0.5 * (0.3 + 0.2), atol=1e-5)


def random_bones(rng, local):
    """Bones in the order of their dependencies: each appends from an earlier one, or a child of one."""
    bones = []
    for i in range(14):
        append = None
        if i and rng.random() < 0.7:
            is_local = local and rng.random() < 0.4
            kinds = [(True, False), (False, True), (True, True)][rng.integers(3)]
            append = Append(int(rng.integers(i)), float(rng.normal(0, 0.8)), *kinds, is_local)
        parent = int(rng.integers(i)) if i and rng.random() < 0.6 else -1
        bones.append(
            Bone(str(i), position=tuple(rng.normal(0, 2, 3)), parent=parent, append=append)
        )
    return bones


def shuffled(rng, bones):
    """The same bones in a random order of indices and layers, and the index of each."""
    places = rng.permutation(len(bones))
    result = [None] * len(bones)
    for i, old in enumerate(bones):
        append = None
        if old.append:
            numbers = {**vars(old.append), "source": int(places[old.append.source])}
            append = Append(**numbers)
        parent = int(places[old.parent]) if old.parent >= 0 else -1
        fields = {"layer": int(rng.integers(4)), "after_physics": bool(rng.random() < 0.2)}
        result[places[i]] = Bone(old.name, "", old.position, parent, append=append, **fields)
    return result, places


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_the_order_of_bones_does_not_matter(seed, local):
    rng = np.random.default_rng(seed)
    bones = random_bones(rng, local)
    other, places = shuffled(rng, bones)
    t = rng.normal(0, 1, (len(bones), 3)).astype(np.float32)
    q = rng.normal(0, 1, (len(bones), 4))
    q = (q / np.linalg.norm(q, axis=1, keepdims=True)).astype(np.float32)
    moved_t, moved_q = np.empty_like(t), np.empty_like(q)
    moved_t[places], moved_q[places] = t, q
    expected = model_of(*bones).pose_from(t, q).bone_matrices
    found = model_of(*other).pose_from(moved_t, moved_q).bone_matrices
    assert np.allclose(found[places], expected, rtol=0, atol=2e-4 * max(1, np.abs(expected).max()))


def leg(first):
    """Hip, knee, foot and goal, from an index on."""
    solver = IK(first + 2, 40, 1.0, [IKLink(first + 1), IKLink(first)])
    return [
        Bone("hip", position=(0, 8, 0), layer=2),
        Bone("knee", position=(0, 4, -0.5), layer=2, parent=first),
        Bone("foot", position=(0, 0, 0), layer=2, parent=first + 1),
        Bone("goal", position=(0, 0, 0), layer=2, ik=solver),
    ]


@pytest.mark.parametrize("layer", [0, 2, 3])
def test_a_chain_follows_the_ik_of_a_link_in_a_later_layer(layer):
    """As if its bones came last, in the order of the chain."""
    late = [bone("4", 0, layer=4), bone("5", 4, layer=4), bone("6", 5, 0.5, layer=4)]
    early = [bone("0", 1, 0.5), bone("1", 2), bone("2", 3)]
    for one in early:
        one.layer = layer
    goal = np.array((1.0, 2, 1))
    expected = posed(model_of(*leg(0), *late), moves={3: goal}, ik=True)
    found = posed(model_of(*early, *leg(3)), moves={6: goal}, ik=True)
    assert np.abs(expected[4][:3, :3] - np.eye(3)).max() > 0.1
    for a, b in ((0, 6), (1, 5), (2, 4)):
        assert np.allclose(found[a][:3, :3], expected[b][:3, :3], rtol=0, atol=1e-5)
    assert np.allclose(found[3:7], expected[:4], rtol=0, atol=1e-5)


def test_the_judge_evaluates_a_still_pose_until_it_stays():
    class Model:
        morphs = ()
        bones = [bone("0", 1), bone("1", 2), bone("2")]

    q = np.array([(0, 0, 0, 1), (0, 0, 0, 1), about(X, 0.7)])
    worlds = pose_twin.worlds(Model, np.zeros((3, 3)), q)
    assert np.allclose(worlds[0, :3, :3], pose_twin.matrix(about(X, 0.7)), atol=1e-6)
