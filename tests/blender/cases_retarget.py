# SPDX-License-Identifier: GPL-3.0-or-later
"""Retargeting as users call it: her dance on other rigs, other motions on her, dances of other models."""

import copy
import itertools
import os
import sys
import types
import zlib
from unittest import mock

import bpy
import case
import humanoids
import imported
import numpy as np
import scene
from mathutils import Matrix, Vector
from sample.character import dance, skeleton

LIMBS = {  # bones of the file and of the rig whose directions are compared
    "左腕": ("左ひじ", "LeftArm", "LeftForeArm"),
    "左ひじ": ("左手首", "LeftForeArm", "LeftHand"),
    "右腕": ("右ひじ", "RightArm", "RightForeArm"),
    "右ひじ": ("右手首", "RightForeArm", "RightHand"),
}
LEGS = {
    "左足D": ("左ひざD", "LeftUpLeg", "LeftLeg"),
    "右ひざD": ("右足首D", "RightLeg", "RightFoot"),
}
FRAMES = (1, 16, 40, 75, 100)


def dancer():
    """Her bones, each with some vertices around it."""
    pmx = case.small_model()
    pmx.bones = copy.deepcopy(skeleton.bones()[0])
    pmx.rigid_bodies, pmx.joints, pmx.morphs = [], [], []
    numbers = np.arange(len(pmx.positions)) % len(pmx.bones)
    places = np.array([bone.position for bone in pmx.bones])[numbers]
    pmx.positions = (places + 0.3 * pmx.normals).astype(np.float32)
    pmx.deform[:], pmx.bone_indices[:], pmx.bone_weights[:] = 0, -1, 0
    pmx.bone_indices[:, 0], pmx.bone_weights[:, 0] = numbers, 1
    return pmx


def degrees(one, other):
    one, other = (np.array(v) / np.linalg.norm(v) for v in (one, other))
    return np.degrees(2 * np.arcsin(min(1, np.linalg.norm(one - other) / 2)))


def assert_driven(case, rig, limbs):
    """Her limbs, as MMD's pose has them, point where those of the rig point that drives her. Returns
    {bone: place in Blender's axes}."""
    pose_source = sys.modules["addon_package"].pose.pose_source
    armature = case.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    settings = pose_source.settings_of(case.armature, bpy.context.scene)
    solver = pose_source.load(case.armature, settings)
    matrices = solver.posed(solver.local(armature, {})).astype(float)
    bones = solver.rig.pmx.bones
    places = np.array([bone.position for bone in bones], float)
    posed = (matrices[:, :3, :3] @ places[:, :, None])[..., 0] + matrices[:, :3, 3]
    found = dict(zip([bone.name for bone in bones], posed[:, [0, 2, 1]], strict=True))
    shown = humanoids.shown(rig)
    for start, (end, upper, lower) in limbs.items():
        along = shown[lower][:3, 3] - shown[upper][:3, 3]
        case.assertLess(degrees(along, found[end] - found[start]), 0.05, start)
    return found


class Retargeting(imported.Case):
    def setUp(self):
        super().setUp()
        self.path = self.write(dancer())
        self.armature = self.load(self.path).armature
        bpy.context.scene.render.fps = 30
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 121
        self.motion_path = str(dance.write_dance(self.folder))

    def play(self, mode="FILE"):
        scene.select(self.armature)
        bpy.ops.mmdskin.import_motion(filepath=self.motion_path, mode=mode, frame_start=1)

    def select(self, first, active):
        scene.select(active)
        first.select_set(True)

    def expected(self, frame):
        """{bone: place in Blender's axes} of the dance, by the module itself."""
        module = sys.modules["addon_package"].blender.native.load()
        model = module.load_model(self.path)
        pose = model.pose(module.load_motion(self.motion_path), [frame - 1.0])
        matrices = pose.bone_matrices[0].astype(float)
        places = np.array([bone.position for bone in model.bones], float)
        posed = (matrices[:, :3, :3] @ places[:, :, None])[..., 0] + matrices[:, :3, 3]
        return dict(zip([bone.name for bone in model.bones], posed[:, [0, 2, 1]], strict=True))

    def assert_directions(self, rig, limbs, prefix="mixamorig:", bar=0.05, frames=FRAMES):
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            shown, expected = humanoids.shown(rig), self.expected(frame)
            for start, (end, upper, lower) in limbs.items():
                along = shown[prefix + lower][:3, 3] - shown[prefix + upper][:3, 3]
                off = degrees(along, expected[end] - expected[start])
                self.assertLess(off, bar, (frame, start))


class ToArmature(Retargeting):
    def retarget(self, rig, **options):
        self.select(self.armature, rig)
        with case.reports() as said:
            result = bpy.ops.mmdskin.retarget_to_armature(**options)
        self.assertEqual(result, {"FINISHED"})
        return said

    def test_her_dance_on_an_fk_rig(self):
        self.play()
        rig = humanoids.fk_rig()
        self.retarget(rig, feet="DIRECTIONS")
        self.assert_directions(rig, {**LIMBS, **LEGS})
        self.assertEqual(rig.animation_data.action.name, "dancer")

    def test_feet_on_the_floor_move_on_her_paths(self):
        self.play()
        rig = humanoids.fk_rig()
        self.retarget(rig)
        self.assert_directions(rig, LIMBS)
        rest = {name: np.array(head) for name, (_, head) in humanoids.joints().items()}
        leg = np.linalg.norm(rest["LeftUpLeg"] - rest["LeftLeg"])
        leg += np.linalg.norm(rest["LeftLeg"] - rest["LeftFoot"])
        hers = [np.array(at) for at in (skeleton.HIP, skeleton.KNEE, skeleton.ANKLE)]
        scale = leg / sum(np.linalg.norm(b - a) for a, b in itertools.pairwise(hers))
        feet = {"左足首D": "LeftFoot", "右足首D": "RightFoot"}
        at_rest = dict(zip(feet, ((0.95, 0.1, 1.4), (-0.95, 0.1, 1.4)), strict=True))
        for frame in FRAMES:
            bpy.context.scene.frame_set(frame)
            shown, expected = humanoids.shown(rig), self.expected(frame)
            for hers, bone in feet.items():
                rise = expected[hers][2] - at_rest[hers][2]
                found = shown[f"mixamorig:{bone}"][2, 3] - rest[bone][2]
                self.assertAlmostEqual(found, scale * rise, delta=0.012, msg=(frame, bone))

    def test_keys_and_mmds_ik_as_pose_source(self):
        self.play("ORIGINAL")
        for source in ("ARMATURE", "IK"):
            self.armature.mmdskin.source = source
            rig = humanoids.fk_rig()
            self.retarget(rig)
            # Between keys Blender's curves differ a little from MMD's.
            self.assert_directions(rig, LIMBS, bar=2)
            bpy.data.objects.remove(rig)
            bpy.context.view_layer.update()

    def test_a_strip_and_the_action_that_was_there(self):
        self.play()
        rig = humanoids.fk_rig()
        humanoids.pose(rig, 1)
        before = rig.animation_data.action
        said = self.retarget(rig, as_strip=True, keys="REDUCED")
        self.assertIn(f"Info: The action '{before.name}' is kept", said)
        self.assertTrue(before.use_fake_user)
        data = rig.animation_data
        self.assertIsNone(data.action)
        strips = [strip for track in data.nla_tracks for strip in track.strips]
        shown = [(strip.action.name, strip.frame_start) for strip in strips]
        self.assertEqual(shown, [(before.name, 1), ("dancer", 1)])
        self.assertEqual([track.mute for track in data.nla_tracks], [True, False])
        self.assert_directions(rig, LIMBS, bar=1.5)

    def test_how_the_rig_was_posed_before_has_no_effect(self):
        self.play()
        rig = humanoids.fk_rig()
        arm = rig.pose.bones["mixamorig:LeftForeArm"]
        arm.location, arm.scale = (0.2, 0.1, 0), (2, 2, 2)
        self.retarget(rig, feet="DIRECTIONS")
        self.assert_directions(rig, LIMBS)
        self.assertEqual(tuple(arm.scale), (1, 1, 1))

    def test_constraints_that_fight_are_named(self):
        self.play()
        rig = humanoids.fk_rig()
        constraint = rig.pose.bones["mixamorig:LeftArm"].constraints.new("COPY_ROTATION")
        constraint.target, constraint.subtarget = rig, "mixamorig:Head"
        said = "\n".join(self.retarget(rig))
        self.assertIn("Constraints of these bones change the retargeted pose", said)
        self.assertIn("mixamorig:LeftArm", said)

    def test_her_dance_on_a_rigify_rig(self):
        rig = humanoids.rigify_rig()
        if rig is None:
            self.skipTest("this Blender comes without Rigify")
        self.play()
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 40, 41
        self.retarget(rig, feet="DIRECTIONS")
        limbs = {
            "左腕": ("左ひじ", "upper_arm.L", "forearm.L"),
            "右ひじ": ("右手首", "forearm.R", "hand.R"),
            "左足D": ("左ひざD", "thigh.L", "shin.L"),
        }
        self.assert_directions(rig, limbs, prefix="DEF-", bar=0.06, frames=(40, 41))
        self.assertEqual(rig.pose.bones["thigh_parent.L"]["IK_FK"], 1)
        # And back: the Rigify rig, shown by its constraints, drives her.
        self.armature.mmdskin.driving_rig, self.armature.mmdskin.source = rig, "RIG"
        names = {
            start: (end, *(f"ORG-{bone}" for bone in bones))
            for start, (end, *bones) in limbs.items()
            if "D" not in start
        }
        assert_driven(self, rig, names)

    def test_one_undo_restores_everything(self):
        self.play()
        rig = humanoids.fk_rig()
        humanoids.pose(rig, 1)
        bpy.context.scene.frame_set(1)
        self.select(self.armature, rig)
        before = self.state()
        bpy.ops.ed.undo_push(message="before")
        bpy.ops.mmdskin.retarget_to_armature()
        bpy.ops.ed.undo_push(message="retargeted")
        self.assertNotEqual(self.state(), before)
        bpy.ops.ed.undo()
        self.assertEqual(self.state(), before)

    def test_cancelled_or_failed_it_changes_nothing(self):
        self.play("ORIGINAL")
        self.armature.mmdskin.source = "IK"
        rig = humanoids.fk_rig()
        humanoids.pose(rig, 1)
        bpy.context.scene.frame_set(1)
        before = self.state()
        addon = sys.modules["addon_package"]
        model = addon.scene.scene_model.SceneModel("her", self.armature, ())
        options = {"feet": "FLOOR", "hands": True, "scale": 0, "in_place": False}
        options = types.SimpleNamespace(**options, keys="ALL", as_strip=False)
        job = addon.retarget.jobs.to_armature(bpy.context, model, rig, range(1, 122), options)
        next(job)  # it reads the scene frame by frame
        job.close()
        self.assertEqual(self.state(), before)
        self.select(self.armature, rig)
        fails = mock.patch.object(
            addon.retarget.keys.NewAction,
            "assign",
            side_effect=addon.blender.user_error.UserError("no"),
        )
        with fails, self.assertRaisesRegex(RuntimeError, "no"):
            bpy.ops.mmdskin.retarget_to_armature()
        self.assertEqual(self.state(), before)
        rig.animation_data.action.use_fake_user = False
        rig.animation_data.use_nla = False
        rig.animation_data.nla_tracks.new().name = "hers"
        before = self.state()
        assign = addon.retarget.keys.NewAction.assign

        def fail_afterwards(action, as_strip):
            assign(action, as_strip)
            rig.animation_data.use_nla = True
            raise addon.blender.user_error.UserError("no")

        fails = mock.patch.object(addon.retarget.keys.NewAction, "assign", fail_afterwards)
        with fails, self.assertRaisesRegex(RuntimeError, "no"):
            bpy.ops.mmdskin.retarget_to_armature(as_strip=True)
        self.assertEqual(self.state(), before)
        rig.data.bones["mixamorig:LeftLeg"].name = "nothing"
        before = self.state()
        self.select(self.armature, rig)
        rig.mmdskin.bone_map.clear()
        item = rig.mmdskin.bone_map.add()
        item.name = "leftLowerLeg"
        with self.assertRaisesRegex(RuntimeError, "leftLowerLeg"):
            bpy.ops.mmdskin.retarget_to_armature()
        self.assertEqual(self.state(), before)

    def test_what_to_select_is_said(self):
        scene.select(self.armature)
        with self.assertRaisesRegex(RuntimeError, "Select the MMD model first"):
            bpy.ops.mmdskin.retarget_to_armature()
        with self.assertRaisesRegex(RuntimeError, "Select the armature first"):
            bpy.ops.mmdskin.motion_from_armature()

    def state(self):
        rig = bpy.data.objects["humanoid"]
        data = rig.animation_data
        return (
            {
                action.name: len(action.fcurves) if hasattr(action, "fcurves") else 0
                for action in bpy.data.actions
            },
            {action.name: action.use_fake_user for action in bpy.data.actions},
            data and data.action and data.action.name,
            data and [track.name for track in data.nla_tracks],
            data and data.use_nla,
            [tuple(map(tuple, bone.matrix_basis)) for bone in rig.pose.bones],
            [bone.rotation_mode for bone in rig.pose.bones],
            bpy.context.scene.frame_current,
        )


class FromArmature(Retargeting):
    """The other way: what moves her are her own controls, judged after MMD's IK."""

    def test_a_window_meanwhile_draws_other_objects_with_their_modifiers(self):
        rig, mesh = self.rig(), bpy.data.meshes.new("point")
        mesh.from_pydata([(0, 0, 0)], [], [])
        point = bpy.data.objects.new("point", mesh)
        bpy.context.scene.collection.objects.link(point)
        point.modifiers.new("Array", "ARRAY").count = 3
        addon = sys.modules["addon_package"]
        model = addon.scene.scene_model.SceneModel("her", self.armature, ())
        options = types.SimpleNamespace(
            feet="FLOOR", hands=False, scale=0, legs="BOTH", tolerance=0.1, rest="REST"
        )
        steps = addon.retarget.jobs.from_armature(bpy.context, model, rig, range(1, 22), options)
        for _ in range(2):
            next(steps).read.show()
            shown = point.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
            self.assertEqual(len(shown.vertices), 3)
        steps.close()

    def rig(self):
        """A rig that kneels, waves and walks a little."""
        rig = humanoids.fk_rig()
        turns = {  # degrees about the axes of the world
            "LeftUpLeg": ("X", -50),
            "LeftLeg": ("X", 80),
            "RightArm": ("Y", -60),
            "RightForeArm": ("Z", 70),
            "Spine": ("Z", 20),
        }
        for frame, amount in ((1, 0.0), (12, 1.0), (21, 0.3)):
            for name, (axis, angle) in turns.items():
                bone = rig.pose.bones[f"mixamorig:{name}"]
                rest = bone.bone.matrix_local.to_3x3()
                turn = Matrix.Rotation(np.radians(angle) * amount, 3, axis)
                bone.rotation_quaternion = (rest.inverted() @ turn @ rest).to_quaternion()
                bone.keyframe_insert("rotation_quaternion", frame=frame)
            hips = rig.pose.bones["mixamorig:Hips"]
            hips.location = hips.bone.matrix_local.to_3x3().inverted() @ Vector(
                (0.1 * amount, 0, 0)
            )
            hips.keyframe_insert("location", frame=frame)
        bpy.context.scene.frame_end = 21
        return rig

    def import_from(self, rig, **options):
        self.select(rig, self.armature)
        with case.reports() as said:
            result = bpy.ops.mmdskin.motion_from_armature(**options)
        self.assertEqual(result, {"FINISHED"})
        return said

    def solved(self, frame):
        """{bone: place in Blender's axes} after MMD's IK, by the keys of the scene."""
        addon = sys.modules["addon_package"]
        bpy.context.scene.frame_set(frame)
        solver = addon.pose.ik_source.Solver(self.armature, addon.pose.ik_source.Settings(""))
        obj = self.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        matrices = solver.posed(solver.local(obj, {})).astype(float)
        bones = solver.rig.pmx.bones
        places = np.array([bone.position for bone in bones], float)
        posed = (matrices[:, :3, :3] @ places[:, :, None])[..., 0] + matrices[:, :3, 3]
        return dict(zip([bone.name for bone in bones], posed[:, [0, 2, 1]], strict=True))

    def test_legs_and_arms_after_mmds_ik(self):
        rig = self.rig()
        for legs in ("BOTH", "IK"):
            self.import_from(rig, legs=legs, feet="DIRECTIONS", rest="REST")
            for frame in (1, 7, 12, 21):
                expected = self.solved(frame)
                shown = humanoids.shown(rig)
                for start, (end, upper, lower) in {**LIMBS, **LEGS}.items():
                    names = (f"mixamorig:{lower}", f"mixamorig:{upper}")
                    along = shown[names[0]][:3, 3] - shown[names[1]][:3, 3]
                    off = degrees(along, expected[end] - expected[start])
                    self.assertLess(off, 1, (legs, frame, start))

    def test_its_keys_are_original_keys_and_the_export_has_their_bytes(self):
        rig = self.rig()
        self.import_from(rig)
        keyed = {curve.data_path for curve in self.curves()}
        self.assertTrue(any("足ＩＫ.L" in path or "左足ＩＫ" in path for path in keyed), keyed)
        path = os.path.join(self.folder, "out.vmd")
        bpy.ops.mmdskin.export_motion(filepath=path, range="SCENE")
        kept = self.armature.animation_data.action["mmdskin_motion_files"][0]
        with open(path, "rb") as file:
            written = file.read()
        load = sys.modules["addon_package"].blender.native.load().load_motion
        ours, theirs = load(written), load(zlib.decompress(bytes(kept["data"])))
        kept = {track.name: track for track in theirs.bones}
        self.assertEqual({track.name for track in ours.bones}, kept.keys())
        for track in ours.bones:
            for field in ("frames", "translations", "rotations", "interpolation"):
                np.testing.assert_array_equal(
                    getattr(track, field), getattr(kept[track.name], field)
                )

    def curves(self):
        return sys.modules["addon_package"].blender.actions.playing_curves(self.armature)

    def test_one_undo_restores_everything(self):
        rig = self.rig()
        self.select(rig, self.armature)
        name = self.armature.name
        bpy.ops.ed.undo_push(message="before")
        bpy.ops.mmdskin.motion_from_armature(rest="CURRENT")
        self.assertTrue(self.curves())
        bpy.ops.ed.undo_push(message="keyed")
        bpy.ops.ed.undo()
        armature = bpy.data.objects[name]
        self.assertIsNone(armature.animation_data)


class FitMotion(Retargeting):
    """A dance that was made for another model: hers, with longer legs."""

    def test_her_dance_for_a_larger_model(self):
        other = dancer()
        for bone in other.bones:
            bone.position = tuple(1.25 * np.array(bone.position))
        made_for = self.write(other, "larger.pmx")
        scene.select(self.armature)
        result = bpy.ops.mmdskin.fit_motion(filepath=self.motion_path, made_for=made_for)
        self.assertEqual(result, {"FINISHED"})
        load = sys.modules["addon_package"].blender.native.load().load_motion
        kept = self.armature.animation_data.action["mmdskin_motion_files"][0]
        fitted = {track.name: track for track in load(zlib.decompress(bytes(kept["data"]))).bones}
        for track in load(self.motion_path).bones:
            self.assertEqual(fitted[track.name].frames.tolist(), track.frames.tolist())
            if track.name in {"センター", "左足ＩＫ"}:
                self.assert_close(fitted[track.name].translations, track.translations / 1.25, 1e-4)

    def test_a_file_that_is_no_model_is_named_and_nothing_changes(self):
        scene.select(self.armature)
        with self.assertRaisesRegex(RuntimeError, "dancer.vmd"):
            bpy.ops.mmdskin.fit_motion(filepath=self.motion_path, made_for=self.motion_path)
        self.assertIsNone(self.armature.animation_data)
