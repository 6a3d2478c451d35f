# SPDX-License-Identifier: GPL-3.0-or-later
"""Imported motions: Blender plays the keyframes as MMD plays the file."""

import os

import bpy
import case
import numpy as np
import scene
from cases_motion import MotionCase, addon, armature_of, dance, rig
from files import motion_file


def faster(pmx):
    """The dance in a third of the time."""
    keys = dance(pmx)
    return keys._replace(
        bones=[key._replace(frame=key.frame // 3) for key in keys.bones],
        morphs=[key._replace(frame=key.frame // 3) for key in keys.morphs],
    )


class ImportCase(MotionCase):
    def setUp(self):
        super().setUp()
        bpy.context.scene.frame_end = 10
        bpy.context.scene.render.fps = 30
        scene.select(self.armature)

    def tearDown(self):
        bpy.context.scene.render.fps = 24

    def imported(self, path=None, **options):
        options = {"model_path": self.model_path, **options}
        return bpy.ops.mmdskin.import_motion(filepath=path or self.motion_path, **options)

    def file_of(self, name):
        return addon().scene.setting_paths.absolute(self.armature, name)

    def assert_stands(self, motion_frame, names=None):
        """Position and direction of every bone equal those of the file's pose."""
        model, motion = self.loaded()
        to_blender, to_file = scene.TO_BLENDER, np.linalg.inv(scene.TO_BLENDER)
        skinning = model.pose(motion, motion_frame).bone_matrices.astype(np.float64)
        armature = self.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for name, matrix in zip(names or self.scene.bone_names, skinning, strict=True):
            bone = armature.pose.bones[name]
            expected = to_blender @ matrix @ to_file @ np.array(bone.bone.matrix_local)
            error = np.abs(np.array(bone.matrix) - expected)
            error[:3, 3] /= scene.SCALE
            self.assertLessEqual(float(error.max()), case.BAR, f"{name}, frame {motion_frame}")

    def assert_plays(self, frames, start=1, speed=1.0, names=None):
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            self.assert_stands((frame - start) * speed, names)

    def shown(self, frame):
        bpy.context.scene.frame_set(frame)
        return {key.name: key.value for key in self.mesh.data.shape_keys.key_blocks}

    curves = staticmethod(scene.curves)


class Keyframes(ImportCase):
    def test_bones_equal_mmd(self):
        self.assertEqual(self.imported(), {"FINISHED"})
        self.assert_plays(range(1, 17))

    def test_names_that_another_program_wrote_in_gbk(self):
        """The expected poses are those of the same file in cp932."""
        keys = dance(self.scene.pmx)
        bones = [key._replace(name=key.name.encode("gbk")) for key in keys.bones]
        morphs = [key._replace(name=key.name.encode("gbk")) for key in keys.morphs]
        contents = motion_file.write_vmd(keys._replace(bones=bones, morphs=morphs))
        path = self.write("gbk.vmd", contents)
        with case.reports() as said:
            self.assertEqual(self.imported(path), {"FINISHED"})
        self.assertEqual(said[:1], ["Info: Names of the motion are read as gbk"])
        self.assert_plays(range(1, 17))
        self.assertEqual(self.imported(path, mode="FILE"), {"FINISHED"})
        bpy.context.scene.frame_set(8)
        bpy.ops.mmdskin.bake()
        self.assert_close(scene.evaluated_positions(self.mesh), self.of_file([7])[0])

    def test_over_keyframes_that_were_converted_to_samples(self):
        """By Key › Keys to Samples, after which Blender has values on every frame instead."""
        self.imported()
        for curve in self.curves(self.armature):
            curve.convert_to_samples(1, 18)
        second = self.write("次.vmd", motion_file.write_vmd(faster(self.scene.pmx)))
        self.assertEqual(self.imported(second, frame_start=18, replace=False), {"FINISHED"})
        self.assert_plays(range(1, 17))
        self.motion_path = second
        self.assert_plays(range(18, 23), start=18)

    def test_mesh_equals_the_file(self):
        self.imported()
        bpy.context.scene.frame_set(8)
        bpy.ops.mmdskin.bake()
        self.assert_close(scene.evaluated_positions(self.mesh), self.of_file([7])[0])

    def test_paths_of_a_script_are_relative_to_its_working_directory(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(os.path.dirname(self.motion_path))
        options = {"model_path": os.path.relpath(self.model_path), "mode": "FILE"}
        self.imported(os.path.basename(self.motion_path), **options)
        self.assertEqual(self.file_of("motion_path"), os.path.abspath(self.motion_path))
        self.assertEqual(self.file_of("model_path"), os.path.abspath(self.model_path))

    def test_shape_keys(self):
        self.imported()
        source = self.open(start=1)
        names = ["あ", "い", "う"]
        for frame in (1, 6, 16):
            shown, expected = self.shown(frame), source.key_values(names, [frame])[0]
            for name, value in zip(names, expected, strict=True):
                self.assertAlmostEqual(shown[name], value, places=6)
        self.assertLess(self.mesh.data.shape_keys.key_blocks["い"].slider_min, 0.001)

    def test_start_frame_rate_and_range(self):
        bpy.context.scene.render.fps = 60
        self.imported(frame_start=11)
        self.assertEqual(bpy.context.scene.frame_end, 41)
        self.assert_plays((11, 20, 41), start=11, speed=0.5)
        self.imported(frame_start=3, real_time=False, extend_range=False)
        self.assertEqual(bpy.context.scene.frame_end, 41)
        self.assert_plays((3, 10, 18), start=3)

    def test_step(self):
        self.imported(step=4)
        self.assert_plays((1, 5, 13, 16))
        self.assertEqual(
            {round(p.co.x) for c in self.curves(self.armature) for p in c.keyframe_points},
            {1, 5, 9, 13, 16},
        )

    def test_bones_that_stay_at_rest_are_put_there_without_keyframes(self):
        self.armature.pose.bones["手首.L"].location.x = 1
        moved = dance(self.scene.pmx, ["左腕"])
        still = motion_file.BoneKey("左ひじ", 0)
        data = moved._replace(bones=[*moved.bones, still], morphs=[])
        self.motion_path = self.write("arm.vmd", motion_file.write_vmd(data))
        self.imported()
        counts = {}
        for curve in self.curves(self.armature):
            counts.setdefault(curve.data_path.split('"')[1], []).append(len(curve.keyframe_points))
        self.assertEqual(max(counts["腕.L"]), 16)
        self.assertEqual(counts["ひじ.L"], [2] * 7)
        self.assertNotIn("手首.L", counts)
        self.assert_plays((1, 9))
        bpy.ops.mmdskin.clear_motion()
        self.assertEqual(self.armature.pose.bones["手首.L"].location.x, 1)

    def test_other_curves_stay(self):
        self.armature.location.x = 1
        self.armature.keyframe_insert("location", frame=1)
        self.imported()
        self.assertEqual([c.data_path for c in self.curves(self.armature)].count("location"), 3)

    def test_an_action_that_two_models_share(self):
        self.armature.keyframe_insert("location", frame=1)
        other = scene.Scene(rig(), "other").armature
        other.animation_data_create().action = self.armature.animation_data.action
        scene.select(self.armature)
        self.imported()
        self.assertNotEqual(self.armature.animation_data.action, other.animation_data.action)
        self.assert_plays((1, 9))

    def test_constraints_drivers_and_scales_that_would_disturb(self):
        arm, knee = (self.armature.pose.bones[name] for name in ("腕.L", "ひざ.R"))
        constraint = knee.constraints.new("COPY_ROTATION")
        constraint.target, constraint.subtarget = self.armature, "腕.L"
        arm.rotation_mode, arm.scale = "XYZ", (1, 2, 1)
        arm.keyframe_insert("scale", frame=1)
        arm.driver_add("location", 0).driver.expression = "0.5"
        physics = self.armature.pose.bones["手首.L"].constraints.new("COPY_LOCATION")
        physics.name = "mmd_tools_rigid_track"
        with case.reports() as said:
            self.imported()
        self.assert_plays((1, 7, 16))
        self.assertTrue(constraint.mute)
        self.assertFalse(physics.mute)
        self.assertIn("Warning: Muted 2 constraints and drivers", said[-1])

    def test_at_any_position_of_the_model(self):
        scene.transform(self.scene.root, (3, 1, -2), (1, 2, 3), (2, 2, 2))
        scene.select(self.mesh)
        self.imported()
        self.assert_plays((1, 7, 16))

    def test_armature_without_a_mesh(self):
        bpy.data.objects.remove(self.mesh)
        scene.select(self.armature)
        self.imported()
        self.assert_plays((1, 9))

    def test_model_that_our_importer_made(self):
        scene.clear()
        bpy.ops.mmdskin.import_model(filepath=self.model_path)
        self.armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
        self.mesh = next(obj for obj in bpy.data.objects if obj.type == "MESH")
        with case.reports() as said:
            self.imported(model_path="")
        self.assertTrue(any(text.startswith("Info: Muted ") for text in said), said)
        self.assertFalse(any(text.startswith("Warning") for text in said), said)
        self.assert_plays((1, 4, 9, 16))
        bpy.context.scene.frame_set(8)
        bpy.ops.mmdskin.bake()
        self.assert_close(scene.evaluated_positions(self.mesh), self.of_file([7])[0])

    def test_real_dance(self):
        self.model_path = str(case.shared_model("巡音ルカ.pmx"))
        whole = motion_file.keys(case.shared_model("realize_motion.vmd").read_bytes())
        bones = [k for k in whole.bones if k.frame < 120]
        data = motion_file.write_vmd(motion_file.Keys("", bones, []))
        self.motion_path = self.write("part.vmd", data)
        model, _ = self.loaded()
        self.armature = armature_of(model)
        self.imported()
        names = [f"bone {number}" for number in range(len(model.bones))]
        self.assert_plays(range(1, 120, 10), names=names)


class Pose(ImportCase):
    def setUp(self):
        super().setUp()
        # Without bones that stay, as MMD writes it.
        keys = dance(self.scene.pmx)
        keys = keys._replace(bones=keys.bones[2:8:2], morphs=[motion_file.MorphKey("あ", 0, 0.5)])
        self.motion_path = self.write("立ち.VPD", motion_file.write_vpd(keys))

    def test_sets_the_pose_without_keyframes(self):
        bpy.context.scene.frame_set(7)
        self.assertEqual(self.imported(), {"FINISHED"})
        self.assertIsNone(self.armature.animation_data)
        bpy.context.view_layer.update()
        self.assert_stands(0)
        self.assertEqual(self.mesh.data.shape_keys.key_blocks["あ"].value, 0.5)

    def test_leaves_bones_that_it_does_not_name(self):
        bone = self.armature.pose.bones["足ＩＫ.R"]
        bone.location.x = 0.25
        self.imported()
        self.assertEqual(bone.location.x, 0.25)


class Source(ImportCase):
    def test_is_set(self):
        self.assertEqual(self.imported(mode="FILE", frame_start=5), {"FINISHED"})
        settings = self.armature.mmdskin
        self.assertEqual(settings.source, "MOTION")
        self.assertEqual(self.file_of("motion_path"), self.motion_path)
        self.assertEqual(self.file_of("model_path"), self.model_path)
        self.assertEqual((settings.motion_start, settings.motion_real_time), (5, True))
        self.assertIsNone(self.armature.animation_data)
        self.assertEqual(bpy.context.scene.frame_end, 20)

    def test_gives_way_to_keyframes(self):
        self.imported(mode="FILE")
        self.armature.mmdskin.preview = True
        self.motion_path = self.write("dance.vmd", motion_file.write_vmd(faster(self.scene.pmx)))
        with case.reports() as said:
            self.imported()
        self.assertEqual(self.armature.mmdskin.source, "ARMATURE")
        self.assertIn("Info: The Pose Source of 'model' is now Armature", said)
        bpy.context.scene.frame_set(4)
        self.assert_close(scene.evaluated_positions(self.mesh), self.of_file([3])[0])
        self.armature.mmdskin.preview = False

    def test_reports(self):
        for on, words in (
            (
                False,
                "Info: '踊り.vmd' will animate 'model' once MMD Skinning is on or the model is baked",
            ),
            (True, "Info: '踊り.vmd' now animates 'model'"),
        ):
            self.armature.mmdskin.preview = on
            with case.reports() as said:
                self.imported(mode="FILE")
            self.assertIn(words, said)
        self.armature.mmdskin.preview = False

    def test_preview_plays_it(self):
        self.imported(mode="FILE")
        self.armature.mmdskin.preview = True
        expected = self.of_file([11])[0]
        bpy.context.scene.frame_set(12)
        self.assert_close(scene.evaluated_positions(self.mesh), expected)
        self.armature.mmdskin.preview = False


class Refused(ImportCase):
    def assert_nothing_done(self, words, **options):
        before = case.state(self.mesh)
        with self.assertRaises(RuntimeError) as caught:
            self.imported(**options)
        self.assertIn(words, str(caught.exception))
        self.assertEqual(before, case.state(self.mesh))
        self.assertIsNone(self.armature.animation_data)
        self.assertEqual(self.armature.mmdskin.source, "ARMATURE")

    def test_files(self):
        self.assert_nothing_done("cannot be opened", path="/gone.vmd")
        self.assert_nothing_done("cannot be opened", model_path="/gone.pmx")
        self.assert_nothing_done("cannot be read", path=self.model_path)
        self.assert_nothing_done("choose its .pmx or .pmd", model_path="")

    def test_motion_of_another_model(self):
        keys = motion_file.Keys("x", [motion_file.BoneKey("しっぽ", 0)], [])
        path = self.write("tail.vmd", motion_file.write_vmd(keys))
        for mode in ("SOLVED", "FILE"):
            self.assert_nothing_done("does not animate any bone or morph", path=path, mode=mode)

    def test_a_stray_key_far_out(self):
        keys = dance(self.scene.pmx)
        keys.bones.append(motion_file.BoneKey("センター", 4294967295))
        path = self.write("far.vmd", motion_file.write_vmd(keys))
        self.assert_nothing_done("the maximum is 100000: use a larger Step", path=path)
        self.assertEqual(self.imported(path, mode="FILE"), {"FINISHED"})
        self.assertEqual(bpy.context.scene.frame_end, 1048574)
        self.assertEqual(self.armature.mmdskin.source, "MOTION")

    def test_no_model(self):
        bpy.context.view_layer.objects.active = None
        self.assert_nothing_done("No active object")
