# SPDX-License-Identifier: GPL-3.0-or-later
"""Export MMD Motion of simulated hair: with Physics › Keys it plays alike with and without physics."""

import os
from unittest import mock

import bpy
import fingerprint
import numpy as np
import scene
from files import motion_file
from keyed_physics import HAIR, Keyed, addon

BAR = 0.1  # units


class Simulated(Keyed):
    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.folder, "書出.vmd")
        bpy.context.scene.use_preview_range = False

    def exported(self, **options):
        scene.select(self.armature)
        options = {"filepath": self.out, "model_path": self.path, **options}
        self.assertEqual(bpy.ops.mmdskin.export_motion(**options), {"FINISHED"})
        return {track.name: track for track in motion_file.read(self.out).bones}

    def posed(self, **options):
        """(F, V, 3) of all frames by the exported file, in its units."""
        mmdskin = addon().blender.native.load()
        model, motion = mmdskin.load_model(self.path), mmdskin.load_motion(self.out)
        pose = model.pose(motion, np.arange(16.0), **options)
        return mmdskin.skin(model, pose, normals=False).positions

    def assert_plays_with_and_without_physics(self):
        simulated, plain = (
            np.array([scene.in_file(self.expected(f, on)) for f in range(16)]) for on in (1, 0)
        )
        self.assertGreater(np.linalg.norm(simulated - plain, axis=-1).max(), 3 * BAR)
        for options in ({"physics": None}, {"physics": True}):
            with self.subTest(**options):
                miss = np.linalg.norm(self.posed(**options) - simulated, axis=-1)
                self.assertLessEqual(miss.max(), BAR)

    def test_keys_of_simulated_hair(self):
        """Where no file has it, it is simulated for the export."""
        for has_file in (False, True):
            if has_file:
                self.simulate()
            tracks = self.exported(physics="KEYS")
            self.assertEqual(os.path.isfile(self.file), has_file)
            for name in HAIR:
                self.assertFalse(tracks[name].physics.any())
            self.assert_plays_with_and_without_physics()

    def test_a_scene_that_ends_between_two_frames_of_the_file(self):
        """Nothing is simulated after the scene's last frame."""
        bpy.context.scene.render.fps = 24
        bpy.context.scene.frame_end = 14  # 17.5 of the file
        self.assertEqual(self.exported(physics="KEYS")[HAIR[0]].frames.max(), 18)

    def test_frames_beyond_the_simulation_are_simulated_for_the_export(self):
        for has_file in (False, True):
            bpy.context.scene.frame_end = 8
            if has_file:
                self.simulate()
            self.exported(physics="KEYS", range="CUSTOM", frame_start=0, frame_end=15)
            bpy.context.scene.frame_end = 15
            self.assert_plays_with_and_without_physics()

    def test_escape_leaves_all_as_it_was(self):
        """Amid the simulation, and amid the export after it."""
        start, made = addon().operator_base.modal_job.ModalJob, []

        def stop(job):
            made.append(job)
            raise addon().blender.user_error.UserError("stopped")

        before = fingerprint.of_file()
        with mock.patch.object(start, "_finish", lambda _, job: stop(job)):
            self.assertRaises(RuntimeError, self.exported, physics="KEYS")
        (job,) = made
        texts = [next(job.steps).text for _ in range(20)]
        self.assertEqual([text.count("frame 16 of 16") for text in texts].index(1), 15)
        self.assertIn("frame 4 of 16", texts[-1])
        job.steps.close()
        self.assertFalse(os.path.exists(self.out))
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_keys_of_hair_that_a_motion_file_moves(self):
        self.settings.source, self.settings.motion_path = "MOTION", self.motion_path
        self.settings.motion_start = 0
        self.exported(physics="KEYS")
        self.assert_plays_with_and_without_physics()

    def test_left_to_mmd(self):
        self.simulate()
        tracks = self.exported()
        self.assertTrue(tracks)
        self.assertFalse(tracks.keys() & set(HAIR))

    def test_what_is_lost_is_listed_before_what_mmd_simulates(self):
        report = addon().export_motion.job
        notes = (
            ("髪", "left out: a rigid body moves it"),
            ("腰", "scaled, sheared or mirrored by up to 1.200, which is lost"),
            ("袖", "left out: no vertex and no IK depends on it"),
            ("首", "something new"),
        )
        self.simulate()
        self.exported()
        motion = addon().blender.native.load().load_motion(self.out)
        report.write_text([report.Result(self.out, motion, notes=notes, lines=("first",))])
        lines = bpy.data.texts["MMD Motion Export"].as_string().splitlines()[1:]
        order = [next(name for name in "首腰袖髪" if name in line) for line in lines[1:] if line]
        self.assertEqual((lines[0].strip(), order), ("first", list("首腰袖髪")))
