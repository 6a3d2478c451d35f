# SPDX-License-Identifier: GPL-3.0-or-later
"""Export MMD Motion: what MMD plays equals what Blender shows.

The file is read by `motion_file` and posed by the native module, whose poses other tests judge.
"""

import io
import os
import sys
import types
from unittest import mock

import bpy
import case
import numpy as np
import scene
from cases_motion_import import ImportCase
from files import motion_file

TOLERANCE = 0.02  # units


def addon():
    return sys.modules["addon_package"]


class ExportCase(ImportCase):
    """A model of the scene with its file, and a path for the export."""

    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.folder.name, "書出.vmd")
        scene_ = bpy.context.scene
        scene_.frame_start, scene_.frame_end = 1, 16
        scene_.use_preview_range = False

    def exported(self, **options):
        """The exported file in the judge's form."""
        options = {"filepath": self.out, "model_path": self.model_path, **options}
        self.assertEqual(bpy.ops.mmdskin.export_motion(**options), {"FINISHED"})
        with open(options["filepath"], "rb") as file:
            return motion_file.read(file.read())

    def assert_refused(self, text, **options):
        with self.assertRaises(RuntimeError) as caught:
            self.exported(**options)
        self.assertIn(text, str(caught.exception))

    def posed(self, numbers, **options):
        """(F, V, 3) positions by the exported file, in its units."""
        mmdskin = addon().blender.native.load()
        model, motion = mmdskin.load_model(self.model_path), mmdskin.load_motion(self.out)
        pose = model.pose(motion, np.asarray(numbers, float), **options)
        return mmdskin.skin(model, pose, normals=False).positions

    def shown_mesh(self, frames):
        """(F, V, 3) positions by Blender's pose and shape keys, in the file's units."""
        mmdskin = addon().blender.native.load()
        model = mmdskin.load_model(self.model_path)
        found = []
        for frame in frames:
            whole = int(np.floor(frame))
            bpy.context.scene.frame_set(whole, subframe=float(frame - whole))
            keys = self.mesh.data.shape_keys
            values = {key.name: key.value for key in keys.key_blocks} if keys else {}
            weights = np.array(
                [values.get(m.name, 0) * (m.kind == "vertex") for m in model.morphs], np.float32
            )
            pose = mmdskin.Pose(self.scene.bake_inputs().astype(np.float32), weights)
            found.append(mmdskin.skin(model, pose, normals=False).positions)
        return np.array(found)

    def assert_plays_alike(self, frames, numbers, bar=TOLERANCE, **options):
        miss = np.linalg.norm(self.posed(numbers, **options) - self.shown_mesh(frames), axis=-1)
        self.assertLessEqual(miss.max(), bar + 1e-4)

    def animate(self, name="腕.L", frames=(1, 8, 16)):
        """Keys by hand, with Blender's own handles."""
        bone = self.armature.pose.bones[name]
        bone.rotation_mode = "XYZ"
        for frame, angle in zip(frames, (0, 1.1, -0.4), strict=True):
            bone.rotation_euler = (angle, angle / 3, 0)
            bone.location.x = angle / 10
            bone.keyframe_insert("rotation_euler", frame=frame)
            bone.keyframe_insert("location", frame=frame)


class Solved(ExportCase):
    def test_a_dance_with_solved_keys_comes_back(self):
        self.imported()
        motion = self.exported()
        self.assertEqual(motion.properties.frames.tolist(), [0])
        self.assertTrue(motion.properties.ik_enabled.all())
        for options in ({}, {"ik": False}):
            self.assert_plays_alike(range(1, 17), range(16), **options)

    def test_ik_off_is_a_key(self):
        self.imported()
        motion = self.exported(bones="SOLVED_FK")
        self.assertEqual(motion.properties.ik_names, ("右足ＩＫ",))
        self.assertFalse(motion.properties.ik_enabled.any())
        self.assert_plays_alike(range(1, 17), range(16))

    def test_euler_angles_made_by_hand(self):
        self.animate()
        self.exported()
        self.assert_plays_alike(range(1, 17), range(16))

    def test_a_constraint_and_a_driver(self):
        self.animate()
        copy = self.armature.pose.bones["腕.R"].constraints.new("COPY_ROTATION")
        copy.target, copy.subtarget = self.armature, "腕.L"
        driver = self.armature.pose.bones["センター"].driver_add("location", 1).driver
        driver.expression = "frame / 20"
        self.exported()
        self.assert_plays_alike(range(1, 17), range(16))

    def test_nla_strips(self):
        self.animate()
        data = self.armature.animation_data
        action = data.action
        data.action = None
        track = data.nla_tracks.new()
        strip = track.strips.new("a", 5, action)
        if hasattr(strip, "action_slot") and strip.action_slot is None:
            strip.action_slot = action.slots[0]
        strip.scale = 0.5
        self.exported()
        self.assert_plays_alike(range(1, 17), range(16))

    def test_frame_rates(self):
        self.animate()
        for fps, base in ((24, 1), (25, 1), (30, 1.001), (60, 1)):
            with self.subTest(fps=fps / base):
                render = bpy.context.scene.render
                render.fps, render.fps_base = fps, base
                self.addCleanup(setattr, render, "fps_base", 1)
                self.exported()
                last = int(15 * 30 / (fps / base) + 1e-6)
                numbers = np.arange(last + 1)
                self.assert_plays_alike(1 + numbers * (fps / base) / 30, numbers)

    def test_first_frame_and_custom_range(self):
        self.animate()
        motion = self.exported(range="CUSTOM", frame_start=4, frame_end=12, first_frame=100)
        self.assertEqual((motion.frame_range[0], motion.frame_range[1] <= 108), (100, True))
        self.assert_plays_alike(range(4, 13), range(100, 109))

    def test_the_range_of_the_action(self):
        self.animate(frames=(30, 37, 45))
        self.exported(range="ACTION")
        self.assert_plays_alike(range(30, 46), range(16))

    def test_morphs_and_none(self):
        self.imported()
        self.assertTrue(self.exported().morphs)
        self.assertFalse(self.exported(morphs=False).morphs)

    def test_visibility(self):
        self.animate()
        for frame, hidden in ((1, False), (7, True), (12, False)):
            self.mesh.hide_render = hidden
            self.mesh.keyframe_insert("hide_render", frame=frame)
        track = self.exported().properties
        self.assertEqual(track.frames.tolist(), [0, 6, 11])
        self.assertEqual(track.visible.tolist(), [True, False, True])
        self.assertEqual(self.exported(visibility=False).properties.frames.tolist(), [0])

    def test_the_scene_is_left_as_it_was(self):
        self.animate()
        bpy.context.scene.frame_set(9)
        self.armature.pose.bones["腕.R"].location.y = 3
        self.exported()
        self.assertEqual(bpy.context.scene.frame_current, 9)
        self.assertEqual(self.armature.pose.bones["腕.R"].location.y, 3)

    def test_selected_models_have_a_file_each(self):
        self.animate()
        other = scene.Scene(self.scene.pmx, "other")
        scene.select(self.armature)
        other.mesh.select_set(True)
        paths = [self.out.replace(".vmd", f"_{name}.vmd") for name in ("model", "other")]
        for armature in (self.armature, other.armature):
            armature.mmdskin.model_path = self.model_path
        bpy.ops.mmdskin.export_motion(filepath=self.out, content="SELECTED")
        self.assertTrue(all(map(os.path.exists, paths)))
        self.assertFalse(os.path.exists(self.out))

    def test_the_report(self):
        self.animate()
        with case.reports() as lines:
            self.exported()
        self.assertRegex(
            lines[-1], r"Exported '書出.vmd' with \d+ keyframes of \d+ bones?: the mesh is within"
        )
        self.assertIn("書出.vmd", bpy.data.texts["MMD Motion Export"].as_string())


class Refused(ExportCase):
    def give_a_long_name(self):
        """To a bone that then moves."""
        long = "とても長い名前のボーン"
        self.scene.pmx.bones[1].name = long
        with open(self.model_path, "wb") as file:
            file.write(case.pmx_file.write(self.scene.pmx))
        bone = self.armature.pose.bones["腕.L"]
        bone[addon().scene.mmd_tools.NAME] = long
        self.animate()
        return long

    def test_a_name_that_is_too_long_is_listed_or_cut(self):
        long = self.give_a_long_name()
        self.assert_refused(f"'{long}'")
        self.assertFalse(os.path.exists(self.out))
        motion = self.exported(names="CUT")
        cut = motion.bones[0].name.encode("cp932", "surrogateescape")
        self.assertEqual(cut, long.encode("cp932")[:15])
        self.assertEqual(bpy.data.texts["MMD Motion Export"].as_string().count(long), 1)

    def test_a_name_that_is_too_long_is_found_before_the_fit_of_all_frames(self):
        long = self.give_a_long_name()
        module = addon().blender.native.load()

        def fits(form, **options):
            """How many frames each fit had."""
            lengths, fit = [], module.Fit

            def counted(*arguments, **kwargs):
                lengths.append(len(kwargs["frames"]))
                return fit(*arguments, **kwargs)

            with mock.patch.object(module, "Fit", counted):
                if options:
                    self.exported(bones=form, **options)
                else:
                    self.assert_refused(f"'{long}'", bones=form)
            return lengths

        for form in ("SOLVED_BOTH", "SOLVED_FK", "AS_KEYED"):
            with self.subTest(form=form):
                self.assertLess(max(fits(form), default=0), 4)
                self.assertEqual(fits(form, names="CUT"), [16])
        driver = self.armature.pose.bones["腕.L"].driver_add("location", 0).driver
        driver.expression = "frame / 20"  # the bone has no keys that could be its own
        self.assertEqual([length < 4 for length in fits("AS_KEYED")], [True])

    def test_bones_whose_names_are_too_long_are_left_out(self):
        long = self.give_a_long_name()
        self.animate(self.armature.pose.bones[0].name)
        names = {key.name for key in self.exported(names="OMIT").bones}
        self.assertIn(self.scene.pmx.bones[0].name, names)
        self.assertEqual([name for name in names if long.startswith(name[:5])], [])
        self.assertEqual(bpy.data.texts["MMD Motion Export"].as_string().count(long), 1)

    def test_each_key_with_an_effect_and_a_name_that_is_too_long_is_listed(self):
        """Where `Motion.save` refuses the name: also if it is of IK or physics that is off."""
        mmdskin, check = addon().blender.native.load(), addon().export_motion.job.check_names
        still, short = ([0], [[0, 0, 0]], [[0, 0, 0, 1]], None), "とても長い名前"  # 14 bytes
        for name in (short, short + "先"):
            for effect, tracks in (
                (False, {"bones": [(name, *still, [True])]}),
                (True, {"bones": [(name, *still, [False])]}),
                (False, {"morphs": [(name, [0], [0])]}),
                (True, {"morphs": [(name, [0], [0.5])]}),
                (False, {"properties": ([0], [True], [name], [[True]])}),
                (True, {"properties": ([0, 9], [True] * 2, [name], [[True], [False]])}),
            ):
                motion = mmdskin.Motion.from_tracks(**tracks)
                listed = [name] if effect and name != short else []
                self.assertEqual(check(motion, "OMIT"), listed)
                if listed:
                    with self.assertRaisesRegex(addon().blender.user_error.UserError, name):
                        check(motion, "STOP")
                    with self.assertRaisesRegex(ValueError, name):
                        motion.save(io.BytesIO())
                else:
                    motion.save(io.BytesIO())

    def test_an_empty_range(self):
        self.animate()
        self.assert_refused("range is empty", range="CUSTOM", frame_start=5, frame_end=4)

    def test_nothing_animated(self):
        self.assert_refused("Nothing is animated", range="ACTION")

    def test_a_folder_that_is_missing(self):
        self.assert_refused("does not exist", filepath=os.path.join(self.folder.name, "x", "a.vmd"))

    def test_a_folder_without_a_name(self):
        self.animate()
        self.assert_refused("No file selected", filepath=os.path.join(self.folder.name, "x", ""))
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "x.vmd")))

    def test_one_of_several_files_that_cannot_be_written_is_found_before_any_fit(self):
        self.animate()
        other = scene.Scene(self.scene.pmx, "other")
        scene.select(self.armature)
        other.mesh.select_set(True)
        os.mkdir(self.out.replace(".vmd", "_other.vmd"))
        with mock.patch.object(addon().blender.native.load(), "Fit", side_effect=AssertionError):
            self.assert_refused("cannot be written", content="SELECTED")

    def test_invalid_numbers(self):
        self.armature.pose.bones["腕.L"].location.x = float("nan")
        self.assert_refused("invalid numbers")

    def test_an_earlier_file_stays_after_an_error(self):
        with open(self.out, "wb") as file:
            file.write(b"earlier")
        self.armature.pose.bones["腕.L"].location.x = float("inf")
        self.assert_refused("invalid numbers")
        with open(self.out, "rb") as file:
            self.assertEqual(file.read(), b"earlier")
        self.assertEqual(os.listdir(self.folder.name).count("書出.vmd"), 1)
        self.assertFalse([n for n in os.listdir(self.folder.name) if ".new" in n])

    def test_closing_the_job_writes_nothing(self):
        self.animate()
        module = addon().export_motion
        operator = bpy.ops.mmdskin.export_motion.get_rna_type()
        values = {name: getattr(p, "default", None) for name, p in operator.properties.items()}
        options = types.SimpleNamespace(**{**values, "model_path": self.model_path})
        timing = module.timing.timing_of(bpy.context.scene, options, [])
        model = addon().scene.scene_model.model_of(self.mesh, bpy.context.view_layer)
        export = module.operators.export_of(model, self.out, bpy.context.scene, timing, options)
        run = module.job.of(bpy.context, [export], timing, False)
        next(run.steps)
        run.steps.close()
        self.assertFalse(os.path.exists(self.out))
