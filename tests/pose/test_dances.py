# SPDX-License-Identifier: MIT
"""Whole motions on whole models: finite, rigid, knees within limits, frames independent of each other."""

import mmdskin
import numpy as np
import pytest
from files import locations
from judges import pose_rigs as rigs
from judges import pose_twin as twin

BLOCK = 1000
# rows of docs/mmd-behavior.md#ik-euler-order: axes of the three rotations, outermost first
ORDERS = ((1, 0, 2), (2, 1, 0), (0, 2, 1))
QUARTER = 1.570796
# error of an angle from float32 matrices
ROUNDING = 1e-6


def evaluation_of(model):
    """The parts of a model on which its poses depend."""
    driving = [m for m in model.morphs if m.kind in ("bone", "group", "flip")]
    names = [m.name for m in model.morphs]
    return repr((model.bones, names, [(m.indices.tolist(), m.values.tolist()) for m in driving]))


def distinct(paths):
    """The models, without those that differ from another only in vertices."""
    first = {evaluation_of(rigs.model(path.name)): path for path in reversed(paths)}
    return sorted(first.values())


def parameters(paths):
    return [pytest.param(path, id=path.stem) for path in paths]


@pytest.fixture(params=parameters(distinct(locations.at_hand("pmx", "pmd"))))
def model(request):
    return rigs.model(request.param.name)


# leg.vmd, a seed of the fuzzers, rotates a knee while IK is off.
MOTIONS = [path for path in locations.at_hand("vmd", "vpd") if path.name != "leg.vmd"]


@pytest.fixture(params=parameters(MOTIONS))
def motion(request):
    return rigs.motion(request.param.name)


def frames_of(motion, step):
    first, last = motion.frame_range
    return np.arange(first - 1, last + 2, step)


def blocks(frames):
    return [frames[k : k + BLOCK] for k in range(0, len(frames), BLOCK)]


def pose(model, motion, frames, **options):
    return model.pose(motion, frames, **options).bone_matrices


def test_every_frame_is_finite_and_rigid(model, motion):
    for frames in blocks(frames_of(motion, 1)):
        found = model.pose(motion, frames)
        rigs.assert_rigid(found.bone_matrices)
        assert np.isfinite(found.morph_weights).all()


def test_a_frame_does_not_depend_on_the_other_frames(model, motion):
    """All ascending; descending and shuffled in blocks; some alone."""
    frames = frames_of(motion, 1)[:4000]
    r = np.random.default_rng(len(frames))
    expected = model.pose(motion, frames)
    for order in (np.arange(len(frames))[::-1], r.permutation(len(frames))):
        for part in blocks(order):
            found = model.pose(motion, frames[part])
            assert np.array_equal(found.bone_matrices, expected.bone_matrices[part])
            assert np.array_equal(found.morph_weights, expected.morph_weights[part])
    for i in r.choice(len(frames), min(len(frames), 25), replace=False):
        found = model.pose(motion, frames[i])
        assert np.array_equal(found.bone_matrices, expected.bone_matrices[i])


# Knees


def limited_links(model):
    """(solver, link) of every link with limits."""
    solvers = ((i, b.ik) for i, b in enumerate(model.bones) if b.ik)
    return [(i, link) for i, ik in solvers for link in ik.links if link.lower is not None]


def local_turns(model, worlds, i):
    parent = model.bones[i].parent
    r = worlds[..., i, :3, :3]
    return r if parent < 0 else np.swapaxes(worlds[..., parent, :3, :3], -1, -2) @ r


def angles(r, link):
    """The three angles that the limits bound, (…,3) by axis."""
    inside = [link.lower[i] > -QUARTER and link.upper[i] < QUARTER for i in range(2)]
    a, b, c = ORDERS[inside.index(True) if any(inside) else 2]
    found = np.empty((*r.shape[:-2], 3))
    found[..., a] = np.arctan2(r[..., b, c], r[..., c, c])
    found[..., b] = np.arcsin(np.clip(-r[..., a, c], -1, 1))
    found[..., c] = np.arctan2(r[..., a, b], r[..., a, a])
    return found


def directions(places, link, point):
    away = places[:, link] - places[:, point]
    return away / np.linalg.norm(away, axis=-1, keepdims=True)


def never_started(model, motion, frames, solver):
    """Whether effector and goal are in the same direction from a link before the first step, or the
    motion turns the solver off: MMD then does not move the leg at all (docs/mmd-behavior.md#ik-step)."""
    places = twin.origins(pose(model, motion, frames, ik=False), rigs.rest(model))
    ik = model.bones[solver].ik
    nearest = ik.links[0].bone
    e, g = (directions(places, nearest, point) for point in (ik.target, solver))
    return ((e - g) ** 2).sum(-1) < 1.1e-7


def test_knees_stay_within_their_limits(model, motion):
    links = limited_links(model)
    for frames in blocks(frames_of(motion, 0.5)) if links else []:
        worlds = pose(model, motion, frames).astype(np.float64)
        for solver, link in links:
            found = angles(local_turns(model, worlds, link.bone), link)
            beyond = np.maximum(np.subtract(link.lower, found), np.subtract(found, link.upper)).max(
                -1
            )
            outside = frames[beyond > ROUNDING]
            assert len(outside) == 0 or never_started(model, motion, outside, solver).all()


def test_dances_bend_all_knees():
    """The exception above is for legs at rest; in a dance the solver moves each leg in every frame."""
    model = rigs.model("巡音ルカ.pmx")
    for name in ("realize_motion.vmd", "wavefile_v2.vmd"):
        motion = rigs.motion(name)
        first, last = motion.frame_range
        worlds = pose(model, motion, np.arange(first, last + 1, 5)).astype(np.float64)
        for _, link in limited_links(model):
            found = angles(local_turns(model, worlds, link.bone), link)
            assert (found[:, 0] <= link.upper[0] + ROUNDING).all()


# Frames


@pytest.mark.parametrize("frames", [[-1e9, -1, 1e9, 2.0**53], [1e308, -1e308], np.arange(0)])
def test_frames_far_outside_a_motion_are_its_ends(frames):
    model, motion = rigs.model("miku_v2.pmd"), rigs.motion("wavefile_v2.vmd")
    first, last = motion.frame_range
    ends = model.pose(motion, [first, last]).bone_matrices
    found = model.pose(motion, frames).bone_matrices
    assert found.shape == (len(frames), len(model.bones), 4, 4)
    for frame, matrices in zip(frames, found, strict=True):
        assert np.array_equal(matrices, ends[int(frame > 0)])


def test_a_motion_of_other_bones_is_the_bind_pose_with_ik():
    model, motion = rigs.model("巡音ルカ.pmx"), rigs.motion("test_1bone_cube_motion.vmd")
    mine = {b.name for b in model.bones}
    assert set(motion.unmatched(model).bones) == {t.name for t in motion.bones} - mine
    foreign = rigs.model_of(rigs.bone("何もない"))
    dance = rigs.motion("realize_motion.vmd")
    assert (foreign.pose(dance, np.arange(0, 4000, 100)).bone_matrices == np.eye(4)).all()
    assert dance.unmatched(foreign).bones == tuple(t.name for t in dance.bones)
    assert dance.unmatched(foreign).morphs == tuple(t.name for t in dance.morphs)


def test_a_dance_is_skinned_in_blocks():
    model, motion = rigs.dance()
    buffers = mmdskin.skin(model, model.pose(motion, np.arange(4)))
    for first in range(1000, 1040, 4):
        found = model.pose(motion, np.arange(first, first + 4))
        out = mmdskin.skin(model, found, out=buffers)
        assert out.positions is buffers.positions
        assert np.isfinite(out.positions).all()
        assert abs(out.positions).max() < 100
