# SPDX-License-Identifier: MIT
"""Motion.from_skeleton(): motion capture on MMD's own bones. What MMD's IK makes of the keys is compared with
what retarget() asked for."""

from functools import cache

import mmdskin
import numpy as np
import pytest
from mmdskin.retargeting.body import body_of
from mmdskin.retargeting.mmd_controls import Controls
from retarget import bodies, bvh_file

MODELS = {model.name: model for model in bodies.humans()}
LEG, ARM = ("足", "ひざ", "足首"), ("腕", "ひじ", "手首")


@cache
def walk():
    return mmdskin.load_bvh(bvh_file.text(*bvh_file.walk()).encode())


@cache
def wanted(name):
    """World matrices of a model's bones, 30 frames per second."""
    skeleton, poses, _ = walk()
    return mmdskin.retarget(skeleton, poses[::4], MODELS[name].skeleton).transforms


def controls(model, poses, legs="both"):
    return Controls(model, body_of(model, "model"), poses).values(legs)


def legs_off(model, a, b):
    return bodies.degrees(bodies.directions(model, a, *LEG), bodies.directions(model, b, *LEG))


def bones_off(model, a, b, *parts):
    """Degrees between rotations (n,F)."""
    bones = [model.bone(side + part) for side in "左右" for part in parts]
    return bodies.turned(a[:, bones, :3, :3], b[:, bones, :3, :3])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("ik", [True, False])
def test_mmds_ik_ends_where_the_keys_have_put_the_legs(name, ik):
    model, asked = MODELS[name], wanted(name)
    found = model.transforms(model.pose_from(controls(model, asked)[0], ik=ik)).astype(float)
    off = legs_off(model, asked, found)
    assert np.percentile(off, 99) < 0.01 and off.max() < 0.05
    assert bones_off(model, asked, found, "足首").max() < 0.1
    arms = bodies.degrees(
        bodies.directions(model, asked, *ARM), bodies.directions(model, found, *ARM)
    )
    assert arms.max() < 0.05 and bones_off(model, asked, found, "手首").max() < 0.05
    root = bodies.places(model, asked, "下半身") - bodies.places(model, found, "下半身")
    assert np.abs(root).max() < 1e-4


@pytest.mark.parametrize("name", MODELS)
def test_the_keys_keep_the_poses(name):
    model, asked = MODELS[name], wanted(name)
    skeleton, poses, fps = walk()
    motion, report = mmdskin.Motion.from_skeleton(model, skeleton, poses, fps=fps)
    assert report.worst <= 0.1 and motion.frame_range == (0, len(asked) - 1)
    assert report.keys < 8 * len(asked)
    found = bodies.posed(model, motion, np.arange(len(asked)))
    assert np.percentile(legs_off(model, asked, found), 99) < 1
    for joint in ("左足首", "右足首", "左手首", "右手首"):
        off = bodies.places(model, asked, joint) - bodies.places(model, found, joint)
        assert np.percentile(np.linalg.norm(off, axis=-1), 99) * bodies.MM < 5


@pytest.mark.parametrize("name", MODELS)
def test_ik_alone_finds_the_knees_again(name):
    model, asked = MODELS[name], wanted(name)
    values, _ = controls(model, asked, "ik")
    assert "左ひざ" not in values and {"左足", "左足首", "左足ＩＫ"} <= set(values)
    off = legs_off(model, asked, model.transforms(model.pose_from(values)).astype(float))
    assert np.median(off) < 0.022 and off.max() < 0.33


def test_a_foot_that_stands_stands():
    """The walker's lower foot does not move at all."""
    model = bodies.dancer()
    skeleton, poses, fps = walk()
    exact, _ = controls(model, wanted(model.name))
    motion, _ = mmdskin.Motion.from_skeleton(model, skeleton, poses, fps=fps)
    feet = [poses[::4, skeleton.human[side + "Foot"], :3, 3] for side in ("left", "right")]
    moved = np.linalg.norm(np.diff(feet, axis=1), axis=-1)
    stands = moved < 1e-4
    assert stands.sum() > 60
    for pose, limit in (
        (model.pose_from(exact), 1),
        (model.pose(motion, np.arange(len(feet[0]))), 15),  # within the tolerance of the keys
    ):
        world = model.transforms(pose).astype(float)
        mine = np.stack([bodies.places(model, world, side + "足首") for side in "左右"])
        slid = np.linalg.norm(np.diff(mine, axis=1), axis=-1)
        assert slid[stands].mean() * 30 * bodies.MM < limit
        assert (model.bones["左足首"].position[1] - mine[..., 1].min()) * bodies.MM < 2


def test_arms_turn_about_their_own_axis_in_their_twist_bones():
    model, asked = bodies.dancer(), wanted(bodies.dancer().name)
    values, _ = controls(model, asked)
    for side in "左右":
        for part in ("腕捩", "手捩"):
            axis = np.array(model.bones[side + part].fixed_axis)
            turn = values[side + part][1][:, :3]
            np.testing.assert_allclose(np.cross(turn, axis), 0, atol=1e-6)
            assert np.abs(turn).max() > 0.02
        bend = values[side + "ひじ"][1][:, :3] @ np.array(model.bones[side + "手捩"].fixed_axis)
        assert np.abs(bend).max() < 0.02  # nothing is left for the elbow


def test_an_arm_without_a_parent_turns_as_asked():
    model = bodies.dancer()
    bones = [b._replace(parent=-1) if b.name == "左腕" else b for b in model.bones]
    model = model.replace(bones=bones)
    skeleton, poses, _ = walk()
    asked = mmdskin.retarget(skeleton, poses[:40:4], model.skeleton).transforms
    found = model.transforms(model.pose_from(controls(model, asked)[0])).astype(float)
    assert bones_off(model, asked, found, "手首").max() < 0.05


def test_toes_bend_only_in_models_whose_toes_do():
    skeleton, poses, _ = walk()
    bent = poses[:120:4].copy()
    toes = [skeleton.human[side + "Toes"] for side in ("left", "right")]
    up = np.array([[1, 0, 0], [0, 0.8, -0.6], [0, 0.6, 0.8]])
    bent[::2, toes, :3, :3] = bent[::2, toes, :3, :3] @ up
    model = bodies.dancer()  # whose つま先 is only the goal of IK
    toe = model.bones["左つま先"]
    bending = mmdskin.Bone("左足先EX", position=toe.position, parent=model.bone("左足首D"))
    for one, name in ((model, None), (model.replace(bones=[*model.bones, bending]), "左足先EX")):
        world = mmdskin.retarget(skeleton, bent, one.skeleton).transforms
        values, _ = controls(one, world)
        assert "左つま先" not in values
        assert (name in values) == (name is not None)
    found = one.transforms(one.pose_from(values)).astype(float)
    i = one.bone("左足先EX")
    assert bodies.turned(found[::2, i, :3, :3], world[::2, i, :3, :3]).max() < 0.1
    assert np.abs(values["左足先EX"][1][::2, 0]).min() > 0.25


def test_knees_bend_about_x_only():
    model = bodies.dancer()
    values, _ = controls(model, wanted(model.name))
    for side in "左右":
        knee = values[side + "ひざ"][1]
        assert not knee[:, 1:3].any() and knee[:, 0].max() < 0


@pytest.mark.parametrize(("fps", "frames"), [(30, 10), (60, 5), (15, 19), (20, 14), (29.97, 10)])
def test_other_rates_become_thirty_by_slerp(fps, frames):
    """A head that turns by the same angle in each frame."""
    skeleton, _, _ = walk()
    step = np.radians(4)
    turning = np.repeat(skeleton.rest[None], 10, 0)
    head = skeleton.human["head"]
    for f in range(10):
        c, s = np.cos(step * f), np.sin(step * f)
        turning[f, head, :3, :3] = [[c, 0, s], [0, 1, 0], [-s, 0, c]]
    model = bodies.dancer()
    motion, _ = mmdskin.Motion.from_skeleton(model, skeleton, turning, fps=fps, tolerance=1e-3)
    assert motion.frame_range == (0, frames - 1)
    _, rotations = model.locals_at(motion, np.arange(frames))
    angles = 2 * np.arcsin(rotations[:, model.bone("頭"), 1])
    np.testing.assert_allclose(angles, step * fps / 30 * np.arange(frames), atol=2e-3)


def test_a_dance_returns_from_a_rig_of_other_proportions():
    """VMD to a rig, and back to the same model, after MMD's IK."""
    model, motion = bodies.dancer(), bodies.dance()
    rig = walk()[0]
    there = mmdskin.retarget(model.skeleton, model.pose(motion, np.arange(121)), rig)
    back = mmdskin.retarget(rig, there.transforms, model.skeleton)
    was = bodies.posed(model, motion, np.arange(121))
    now = model.transforms(model.pose_from(controls(model, back.transforms)[0])).astype(float)
    for parts in (ARM, LEG):
        a, b = (bodies.directions(model, world, *parts) for world in (was, now))
        off = bodies.degrees(a, b)
        assert np.median(off) < 0.02 and np.percentile(off, 99) < 10
    for side in "左右":
        gap = bodies.places(model, was, side + "手首") - bodies.places(model, now, side + "手首")
        assert np.percentile(np.linalg.norm(gap, axis=-1), 99) * bodies.MM < 20


def test_poses_of_another_model_are_taken_as_they_are():
    """Skinning matrices, or the world matrices of the same bones."""
    model, target = bodies.dancer(), bodies.variant(bodies.dancer(), legs=1.2)
    pose = model.pose(bodies.dance(), np.arange(10))
    world = bodies.posed(model, bodies.dance(), np.arange(10))
    a, b = (
        mmdskin.Motion.from_skeleton(target, model.skeleton, poses)[0] for poses in (pose, world)
    )
    assert a.bones.names == b.bones.names
    for one, other in zip(a.bones, b.bones, strict=True):
        np.testing.assert_allclose(one.rotations[0], other.rotations[0], atol=1e-5)


def test_models_without_leg_ik_get_keys_of_the_legs():
    model = bodies.dancer()
    without = model.replace(bones=[bone._replace(ik=None) for bone in model.bones])
    skeleton, poses, fps = walk()
    motion, report = mmdskin.Motion.from_skeleton(without, skeleton, poses, fps=fps)
    assert ("左足首", "no IK moves it: only the leg's own bones have keys") in report.notes
    assert "左足ＩＫ" not in motion.bones and "左ひざ" in motion.bones


def test_bones_that_keys_cannot_name_get_none():
    model = bodies.dancer()
    names = {"頭": "", "下半身": "上半身"}
    renamed = [bone._replace(name=names.get(bone.name, bone.name)) for bone in model.bones]
    skeleton, poses, fps = walk()
    motion, report = mmdskin.Motion.from_skeleton(
        model.replace(bones=renamed), skeleton, poses, fps=fps
    )
    second, head = (model.bone(name) for name in ("上半身", "頭"))
    for name, bone in (("上半身", second), ("", head)):
        assert (name, f"bone {bone} has no name of its own, so it gets no keys") in report.notes
    assert "" not in motion.bones and "左腕" in motion.bones


def test_what_cannot_be_moved_is_refused():
    skeleton, poses, _ = walk()
    model = bodies.dancer()

    def refused(kind, says, *args, **options):
        with pytest.raises(kind, match=says):
            mmdskin.Motion.from_skeleton(*args, **options)

    refused(TypeError, "model: expected a Model, not <class 'int'>", 1, skeleton, poses)
    refused(TypeError, "skeleton: expected a Skeleton, not <class 'str'>", model, "walk.bvh", poses)
    refused(ValueError, 'legs: "fk", expected both or ik', model, skeleton, poses, legs="fk")
    refused(ValueError, "poses: shape", model, skeleton, poses[:, :3])
    refused(ValueError, "poses", model, skeleton, poses[:0])
    for fps in (0, -30, float("nan"), 1e9):
        refused(ValueError, "fps", model, skeleton, poses, fps=fps)
    refused(
        ValueError, "1,077,001 frames, expected at most 645,277", model, skeleton, poses, fps=0.01
    )
    broken = poses.copy()
    broken[7, 3, 0, 3] = np.nan
    refused(ValueError, "frame 7, bone 3", model, skeleton, broken, fps=120)
    broken[7, 3] = 0
    refused(ValueError, "frame 7, bone 3 .* does not end with the row", model, skeleton, broken)
    prop = mmdskin.Model.from_arrays([[0, 0, 0]], bones=[mmdskin.Bone("センター")])
    refused(ValueError, "no bone is hips, head", prop, skeleton, poses)
