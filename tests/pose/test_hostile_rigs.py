# SPDX-License-Identifier: MIT
"""Models that no editor writes: cycles, extreme layers and numbers, long chains."""

import random

import mmdskin
import numpy as np
import pytest
from files import motion_file as mf
from files import pmx_file as pmx
from judges import pose_rigs as rigs
from judges.growth import within
from judges.pose_rigs import bone, ik, model_of, morph
from judges.pose_twin import about

Append = pmx.Append
X = (1, 0, 0)
INT_LIMITS = [-(2**31), 2**31 - 1, 0, -1, 2**31 - 2, 1 - 2**31]


def assert_posable(model, seconds=2):
    """Poses the model with and without IK and morphs, in bounded time."""
    r = np.random.default_rng(0)
    count, morphs = len(model.bones), len(model.morphs)
    t, q = r.normal(size=(3, count, 3)), r.normal(size=(3, count, 4))
    weights = r.uniform(-2, 3, (3, morphs))
    with within(seconds):
        rigs.assert_rigid(model.pose(None, [0, 1]).bone_matrices)
        for on in (True, False):
            rigs.assert_rigid(model.pose_from(t, q, weights, ik=on).bone_matrices)


def circle(count):
    """For each of `count` the previous one, and the last one for the first."""
    return [(i - 1) % count for i in range(count)]


@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_cyclic_parents(count):
    assert_posable(model_of(*(bone(str(i), (i, 0, 0), p) for i, p in enumerate(circle(count)))))


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_cyclic_appends(count, local):
    appends = [Append(s, 1.5, True, True, local) for s in circle(count)]
    assert_posable(model_of(*(bone(str(i), (i, 0, 0), append=a) for i, a in enumerate(appends))))


def test_a_cycle_of_appends_uses_the_values_at_each_evaluation():
    model = model_of(bone("a", append=Append(1, 1.0)), bone("b", append=Append(0, 1.0)))
    m = rigs.posed(model, {0: about(X, 0.25), 1: about(X, 0.5)})
    rigs.assert_turn(m[0], about(X, 0.75))
    rigs.assert_turn(m[1], about(X, 1.25))


@pytest.mark.parametrize("kind", ["group", "flip"])
@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_cyclic_morphs(count, kind):
    morphs = [morph(str(i), kind, (child, 0.5)) for i, child in enumerate(circle(count))]
    morphs.append(morph("bone", "bone", (0, 1, 0, 0, *about(X, 1))))
    assert_posable(model_of(bone("a"), morphs=morphs))


@pytest.mark.parametrize("count", [1, 2, 3, 20])
def test_solvers_whose_goals_are_each_others_links(count):
    bones = [
        bone(str(i), (i, i % 3, 0), i - 1, ik=ik(other, [(other + 1) % count, i, other]))
        for i, other in enumerate(circle(count))
    ]
    assert_posable(model_of(*bones), 10)


def test_a_cycle_of_parents_appends_and_links():
    bones = [
        bone(
            str(i),
            (i, 1, 0),
            before,
            append=Append(before, 2.0, True, True),
            ik=ik(before, circle(8)),
        )
        for i, before in enumerate(circle(8))
    ]
    assert_posable(model_of(*bones), 10)


@pytest.mark.parametrize("after_physics", [False, True])
def test_layers_at_the_limits_of_their_type(after_physics):
    r = np.random.default_rng(1)
    parents = [-1, *(int(r.integers(i)) for i in range(1, 12))]
    bones = [
        bone(
            str(i),
            (i, 0, 0),
            p,
            layer=INT_LIMITS[i % 6],
            after_physics=after_physics and i % 2 == 0,
        )
        for i, p in enumerate(parents)
    ]
    model = model_of(*bones)
    assert_posable(model)
    flat = model_of(*(bone(b.name, b.position, b.parent) for b in bones))
    turns = {i: about((1, i, 2), i) for i in range(12)}
    assert (rigs.posed(model, turns) == rigs.posed(flat, turns)).all()


def test_invalid_indices():
    bones = [
        bone("a", parent=100, append=Append(77, 1.0)),
        bone("b", parent=-2, append=Append(-3, 1.0, True, True, True), ik=ik(99, [55, -1, 0])),
        bone("c", parent=2, append=Append(2, 1.0), ik=ik(0, [0, 1])),
    ]
    sizes = dict.fromkeys(pmx.INDEX_ORDER, 4)
    assert_posable(model_of(*bones, index_sizes=sizes))


@pytest.mark.parametrize("huge", [np.nan, np.inf, -np.inf, 3e38, 1e-40])
def test_numbers_out_of_range(huge):
    limits = ((huge,) * 3, (-huge,) * 3)
    bones = [
        bone("a", (huge, 0, huge)),
        bone(
            "b", (1, huge, 0), 0, fixed_axis=(huge, huge, 0), local_axes=((huge,) * 3, (huge,) * 3)
        ),
        bone("c", (2, 0, 0), 1, append=Append(1, huge, True, True)),
        bone("goal", (1, 1, 0), 0, ik=ik(2, [(1, limits), 0], 9, huge)),
    ]
    model = model_of(*bones, morphs=[morph("m", "bone", (0, huge, 0, 0, huge, huge, 0, 1))])
    pose = model.pose_from(*rigs.locals_of(model, {1: about(X, 1)}), [1.0])
    assert np.isfinite(pose.bone_matrices).all()


def test_local_values_near_the_end_of_float32():
    model = model_of(bone("a"), bone("b", (0, 1, 0), 0, append=Append(0, 9.0, True, True)))
    t, q = rigs.locals_of(model, moves={0: (3e38, -3e38, 0), 1: (3e38, 0, 0)})
    found = model.pose_from(t, q).bone_matrices
    assert np.isfinite(found).all()


def test_weights_near_the_end_of_float32():
    model = model_of(bone("a"), morphs=[morph("m", "bone", (0, 3, 0, 0, *about(X, 1)))])
    assert np.isfinite(rigs.posed(model, weights=[3e38])).all()


def test_bone_morphs_that_move_ik_links_beyond_float32():
    """Squares of such distances, and products of these, are still doubles."""
    moves = [(bone, 3.4e38, -3.4e38, 3.4e38, *about(X, 1)) for bone in range(4)]
    bones = bone("root"), bone("a", (1, 0, 0), 0), bone("b", (2, 0, 0), 1)
    model = model_of(
        *bones, bone("goal", (0, 1, 0), ik=ik(2, [1, 0])), morphs=[morph("m", "bone", *moves)] * 3
    )
    for weight in (3.4e38, -3.4e38):
        rigs.assert_rigid(rigs.posed(model, weights=[weight, weight, -weight], ik=True))


def test_weights_that_groups_raise_beyond_float32():
    morphs = [
        morph("m", "bone", (1, 0, 1, 0, *about(X, 1))),
        *(morph(str(i), "group", (0, sign * 3e38), (0, 3e38)) for i, sign in enumerate((1, -1))),
    ]
    bones = bone("root"), bone("a", (1, 0, 0), 0), bone("b", (2, 0, 0), 1)
    model = model_of(*bones, bone("goal", (0, 1, 0), ik=ik(2, [1, 0])), morphs=morphs)
    for weights in ([0, 3e38, 0], [0, 0, 3e38], [1, 3e38, -3e38]):
        rigs.assert_rigid(rigs.posed(model, weights=weights, ik=True))


def test_keys_near_the_end_of_float32():
    keys = [
        mf.BoneKey("a", frame, (value, -value, 0), (0, value, 0, value))
        for frame, value in ((0, 3e38), (10, -3e38), (2**32 - 1, 3e38))
    ]
    weights = [mf.MorphKey("m", frame, value) for frame, value in ((0, 3e38), (10, -3e38))]
    morphs = [morph("m", "bone", (0, 3e38, 1, 0, *about(X, 1)))]
    pose = model_of(bone("a"), bone("b", (0, 1, 0), 0), morphs=morphs).pose(
        rigs.motion_of(*keys, morphs=weights), [0, 3.3, 5, 10, 2e9]
    )
    rigs.assert_rigid(pose.bone_matrices)
    assert np.isfinite(pose.morph_weights).all()


def test_a_chain_of_thirty_thousand_bones():
    count = 30000
    source = rigs.source(*(bone("b", (0, 1, 0), i - 1) for i in range(count)))
    model = mmdskin.load_model(pmx.write(source))
    assert_posable(model, 10)


def test_a_chain_of_appends_from_later_bones():
    bones = [bone(str(i), append=Append(i + 1, 1.0)) for i in range(2000)]
    model = model_of(*bones, bone("last"))
    found = rigs.posed(model, {2000: about(X, 1)})
    rigs.assert_turn(found[1999], about(X, 1))
    rigs.assert_turn(found[0], about(X, 1), atol=1e-4)


def test_every_bone_a_solver_of_all_the_others():
    everyone = list(range(60))
    bones = [
        bone(str(i), (i % 7, i % 5, i % 3), i - 1, ik=ik((i + 7) % 60, everyone)) for i in everyone
    ]
    assert_posable(model_of(*bones), 60)


def everything():
    """The bytes of a model with several of everything on which poses depend."""
    bones = [
        bone("root", layer=1),
        bone("leg", (0, 4, 0), 0),
        bone("knee", (0, 2, -0.1), 1, fixed_axis=(1, 0, 0)),
        bone("ankle", (0, 0, 0), 2, append=Append(1, 0.5, True, True)),
        bone("toe", (0, 0, -1), 3, layer=2, append=Append(3, -1.0, local=True)),
        bone("goal", (0, 0, 0), 0, ik=ik(3, [(2, rigs.KNEE), 1], 20, 0.5)),
        bone("toe goal", (0, 0, -1), 5, layer=3, ik=ik(4, [3], 5, 1.0), after_physics=True),
    ]
    morphs = [
        morph("m", "bone", (1, 1, 0, 0, *about(X, 1)), (5, 0, 1, 0, 0, 0, 0, 1)),
        morph("g", "group", (0, 0.5), (2, 1.0)),
        morph("f", "flip", (0, 1.0), (1, 0.5)),
    ]
    return pmx.write(rigs.source(*bones, morphs=morphs))


def dance():
    keys = [
        mf.BoneKey(name, frame, (frame / 9, 1, 0), (0.1, 0.2, frame / 30, 1))
        for name in ("root", "knee", "goal", "toe goal")
        for frame in (0, 10, 30)
    ]
    states = [mf.PropertyKey(15, 1, [("goal", 0)])]
    return rigs.motion_of(*keys, morphs=[mf.MorphKey("g", 5, 1.0)], properties=states)


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes_of_a_rig_are_rejected_or_posed(seed):
    r, data, motion, posed = random.Random(seed), everything(), dance(), 0
    for _ in range(2500):
        changed = bytearray(data)
        for _ in range(r.choice((1, 1, 2, 5))):
            changed[r.randrange(len(data))] = r.choice((0, 0x7F, 0x80, 0xFF, r.randrange(256)))
        try:
            model = mmdskin.load_model(bytes(changed))
        except mmdskin.FormatError:
            continue
        pose = model.pose(motion, [0, 7.5, 20])
        rigs.assert_rigid(pose.bone_matrices)
        posed += 1
    assert posed > 500
