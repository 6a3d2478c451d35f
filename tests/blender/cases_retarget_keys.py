# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses as keyframes: Blender's own evaluation of FK rigs and of Rigify rigs is the judge."""

import sys
import types
from unittest import mock

import bpy
import case
import humanoids
import numpy as np
import scene
from mathutils import Matrix

FRAMES = np.arange(1, 13)


def addon():
    return sys.modules["addon_package"]


def swinging(armature, names, parents, moving, seed=1, speed=1):
    """(F, B, 4, 4) in armature space: bones turn, the roots also move."""
    rests = {bone.name: np.array(bone.matrix_local) for bone in armature.data.bones}
    random, times = np.random.default_rng(seed), FRAMES[:, None]
    found = {}
    while len(found) < len(names):
        for name, parent in zip(names, parents, strict=True):
            if name in found or (parent >= 0 and names[parent] not in found):
                continue
            local = np.tile(np.eye(4), (len(FRAMES), 1, 1))
            if name in moving:
                turn = 0.3 * np.sin(
                    speed * times * random.uniform(0.2, 1, 4) + random.uniform(0, 6, 4)
                )
                rows = addon().pose.quaternions.matrix_rows((turn + (1, 0, 0, 0)).T)
                local[:, :3, :3] = rows.transpose(2, 0, 1)
            if parent < 0:
                local[:, :3, 3] = 0.2 * np.sin(times * (0.1, 0.2, 0.3))
                found[name] = rests[name] @ local
            else:
                above = names[parent]
                found[name] = found[above] @ np.linalg.inv(rests[above]) @ rests[name] @ local
    return np.stack([found[name] for name in names], 1)


def keyed(armature, values, reduced=False):
    action = addon().retarget.keys.NewAction(armature, "swing", FRAMES.astype(float), reduced)
    action.key_bones(values)
    for name in addon().retarget.rigify.switches(armature):
        action.hold(f'pose.bones["{name}"]["IK_FK"]', 1.0, name)
    action.assign(as_strip=False)
    return action


def evaluated(armature, frame, names):
    bpy.context.scene.frame_set(int(frame))
    obj = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([np.array(obj.pose.bones[name].matrix) for name in names])


def keyframes(action):
    """Of each channel, as Blender has them."""
    counts = {}
    for curve in addon().blender.actions.curves_of(bpy.data.actions[action.name]):
        count = len(curve.keyframe_points)
        counts[curve.data_path] = max(count, counts.get(curve.data_path, 0))
    return sum(counts.values())


class Keys(case.unittest.TestCase):
    def setUp(self):
        scene.clear()

    def test_fk_rigs_show_the_poses(self):
        turned = Matrix.LocRotScale((1, 2, 0.3), Matrix.Rotation(1.6, 3, "X"), (0.01,) * 3)
        for transform in (None, turned):
            rig = humanoids.fk_rig(transform=transform)
            bones = rig.data.bones
            bones["mixamorig:LeftForeArm"].use_inherit_rotation = False
            rig.pose.bones["mixamorig:RightArm"].rotation_mode = "XZY"
            rig.pose.bones["mixamorig:Spine"].rotation_mode = "AXIS_ANGLE"
            names = bones.keys()
            parents = [names.index(bone.parent.name) if bone.parent else -1 for bone in bones]
            poses = swinging(rig, names, parents, names)
            keyed(rig, addon().retarget.keys.channels(rig, poses))
            size = humanoids.HEIGHT / rig.matrix_world.to_scale().x
            for number, frame in enumerate(FRAMES):
                shown = evaluated(rig, frame, names)
                off = np.abs(shown - poses[number]) / (1, 1, 1, size)
                self.assertLess(off.max(), 1e-5)

    def test_reduced_keys_stay_within_half_a_degree(self):
        rig = humanoids.fk_rig()
        names = rig.data.bones.keys()
        parents = [names.index(b.parent.name) if b.parent else -1 for b in rig.data.bones]
        poses = swinging(rig, names, parents, {"mixamorig:LeftArm"}, speed=0.2)
        values = addon().retarget.keys.channels(rig, poses)
        whole, reduced = keyed(rig, values), keyed(rig, values, reduced=True)
        self.assertLess(keyframes(reduced), keyframes(whole))
        arm = [names.index("mixamorig:LeftArm")]
        for number, frame in enumerate(FRAMES):
            (shown,) = evaluated(rig, frame, ["mixamorig:LeftArm"])
            turn = shown[:3, :3].T @ poses[number, arm[0], :3, :3]
            angle = 2 * np.arcsin(np.linalg.norm(turn - np.eye(3)) / np.sqrt(8))
            self.assertLess(np.degrees(angle), 0.5)

    def test_a_thousand_frames_have_a_key_for_each_bone(self):
        rig = humanoids.fk_rig()
        names = rig.data.bones.keys()
        parents = [names.index(b.parent.name) if b.parent else -1 for b in rig.data.bones]
        poses = np.tile(swinging(rig, names, parents, names), (84, 1, 1, 1))[:1000]
        values = addon().retarget.keys.channels(rig, poses)
        action = addon().retarget.keys.NewAction(rig, "swing", np.arange(1000.0), False)
        action.key_bones(values)
        action.assign(as_strip=False)
        self.assertEqual(keyframes(action), 1000 * (len(names) + 1))

    def test_rigify_shows_the_poses_by_its_fk_controls(self):
        rig = humanoids.rigify_rig()
        if rig is None:
            self.skipTest("this Blender comes without Rigify")
        skeletons, rigify = addon().scene.skeletons, addon().retarget.rigify
        names = skeletons.bones_of(rig)
        moving = {rigify.ORG + bone for stage in rigify._STAGES for _, bone in stage}  # noqa: SLF001
        parents = skeletons._parents(rig, names)  # noqa: SLF001
        poses = swinging(rig, names, parents, moving)[:3]
        update = mock.Mock(wraps=bpy.context.view_layer.update)
        context = types.SimpleNamespace(view_layer=types.SimpleNamespace(update=update))
        found = {}

        def steps():
            found.update((yield from rigify.channels(context, rig, names, poses)))

        self.assertEqual([step.fraction for step in steps()], [1 / 3, 2 / 3, 1])
        # for the switches, and in each frame for torso, hips, spine, spine, neck, head, elbows, hands
        self.assertEqual(update.call_count, 1 + 3 * 8)
        for bone in rig.pose.bones:
            bone.matrix_basis.identity()
        action = addon().retarget.keys.NewAction(rig, "swing", FRAMES[:3].astype(float), False)
        action.key_bones(found)
        for name in rigify.switches(rig):
            action.hold(f'pose.bones["{name}"]["IK_FK"]', 1.0, name)
        action.assign(as_strip=False)
        deforming = [name for name in moving if name.replace("ORG-", "DEF-") in rig.data.bones]
        for number, frame in enumerate(FRAMES[:3]):
            shown = evaluated(rig, frame, [name.replace("ORG-", "DEF-") for name in deforming])
            wanted = poses[number, [names.index(name) for name in deforming]]
            self.assertLess(np.abs(shown[:, :3, 3] - wanted[:, :3, 3]).max(), 1e-4)
            along = shown[:, :3, 1] / np.linalg.norm(shown[:, :3, 1], axis=1, keepdims=True)
            off = 2 * np.arcsin(np.linalg.norm(along - wanted[:, :3, 1], axis=1) / 2)
            self.assertLess(np.degrees(off).max(), 0.01)
