# SPDX-License-Identifier: GPL-3.0-or-later
"""Hair that moves live while frames are played, is kept as Simulate would write it, and is never rendered."""

import os
from unittest import mock

import bpy
import case
import numpy as np
import recorder
import scene
from keyed_physics import addon
from live_physics import Live
from recorder import Recorder


class InOrder(Live):
    def test_in_order_it_has_the_bytes_of_steps_whatever_the_first_frame_waited(self):
        self.pose(0.0)
        for _ in range(4):
            self.wait(0.5)
        shown = self.play(range(121))  # hair swings on after the last key
        self.settings.physics_live = False
        expected = self.stepped(range(121))
        for frame in range(1, 121):
            np.testing.assert_array_equal(shown[frame], expected[frame], str(frame))


class Plays(InOrder):
    def test_keyframes_of_gravity_act(self):
        for frame, x in ((0, 0), (16, 90)):
            self.settings.physics_gravity = x, 0, -98
            self.settings.keyframe_insert("physics_gravity", index=0, frame=frame)
        for curves in addon().blender.actions.played(self.armature.animation_data):
            curve = curves.find("mmdskin.physics_gravity", index=0)
            for point in curve.keyframe_points if curve else ():
                point.interpolation = "LINEAR"
        bpy.context.scene.frame_set(0)
        self.points()
        shown = self.play()
        self.settings.physics_live = False
        expected = self.stepped(range(16))
        for frame in range(1, 16):
            self.assert_close(shown[frame], expected[frame], 1e-5)

    def test_what_was_played_is_kept_as_simulate_writes_it(self):
        self.assertRaisesRegex(RuntimeError, "Play all frames", bpy.ops.mmdskin.keep_physics)
        self.play([0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])  # one left out
        self.assertRaisesRegex(RuntimeError, "Play all frames", bpy.ops.mmdskin.keep_physics)
        shown = self.play()
        self.assertEqual(bpy.ops.mmdskin.keep_physics(), {"FINISHED"})
        kept = self.samples()
        for frame in (3, 12, 0, 8):
            bpy.context.scene.frame_set(frame)
            self.points()
            self.assertEqual(case.physics_problems(), [])
            self.assert_close(self.bones(), shown[frame], 1e-5)
        self.simulate()
        for one, other in zip(kept, self.samples(), strict=True):
            np.testing.assert_array_equal(one, other)

    def test_settle_and_keep_act_on_all_selected_models(self):
        other = self.load(self.write(self.pmx, "other.pmx"), live=True, live_physics=True)
        other.armature.mmdskin.source = "IK"
        shown = [self.armature, other.armature]
        self.play()
        self.wait(0.1)
        found = [live for one in shown for live in addon().physics.live.of_armature(one)]
        self.assertEqual([live._settled for live in found], [False, False])
        scene.select(other.mesh)
        self.mesh.select_set(True)
        self.assertEqual(bpy.ops.mmdskin.keep_physics(), {"FINISHED"})
        for one in shown:
            self.assertTrue(os.path.isfile(bpy.path.abspath(one.mmdskin.physics_cache)))
            one.mmdskin.physics_cache = ""
        self.assertEqual(bpy.ops.mmdskin.settle(), {"FINISHED"})
        self.points()
        self.assertEqual([live._settled for live in found], [True, True])

    def samples(self):
        with np.load(self.file) as file:
            return [file[name] for name in sorted(file.files) if name != "made_of"]

    def test_hair_goes_on_from_a_file_that_no_longer_matches(self):
        self.simulate()
        bpy.context.scene.frame_set(11)
        kept = self.points()
        self.assertEqual(case.physics_problems(), [])
        posed = self.pose(0.01)
        self.assertNotEqual(case.physics_problems(), [])
        self.assert_close(posed, kept, 0.3 * scene.SCALE)
        self.assertGreater(np.abs(self.wait(0.2) - posed).max(), 1e-2)

    def test_jumps_settle_and_short_ways_back_do_not(self):
        (live,) = addon().physics.live.of_armature(self.armature)
        bpy.context.scene.frame_end = 200
        for frame, settles in ((1, False), (10, False), (8, False), (90, True), (70, False)):
            self.now += 0.1
            bpy.context.scene.frame_set(frame)
            self.points()
            self.assertEqual(live._settled, settles, frame)
        bpy.context.scene.frame_set(0)
        self.points()
        self.assertTrue(live._settled)


class Stretched(Live):
    """Drivers get the time in single precision: 0.8 times a frame is not what Python computes."""

    def setUp(self):
        super().setUp()
        render = bpy.context.scene.render
        self.addCleanup(setattr, render, "frame_map_new", render.frame_map_new)
        render.frame_map_new = 125
        bpy.context.scene.frame_start = 1
        self.play([1])

    def test_the_first_frame_settles_fully(self):
        (live,) = addon().physics.live.of_armature(self.armature)
        with mock.patch.object(live, "_settle", wraps=live._settle) as settle:
            self.play([3, 1])
        settle.assert_called_once_with(mock.ANY, True)

    def test_what_was_played_is_kept(self):
        self.play(range(1, 16))
        self.assertEqual(bpy.ops.mmdskin.keep_physics(), {"FINISHED"})

    def test_a_bake_of_the_pose_has_the_hair_that_is_shown(self):
        for subframe in (0.0, 0.3):
            self.settings.preview = True
            bpy.context.scene.frame_set(3, subframe=subframe)
            self.pose(0.6)
            shown = self.wait(0.25)
            self.bake_pose()
            self.assert_close(self.points(), shown, 1e-5)
            bpy.ops.mmdskin.clear_bake()


class Rendered(Live):
    def setUp(self):
        super().setUp()
        bpy.utils.register_class(Recorder)
        self.addCleanup(bpy.utils.unregister_class, Recorder)
        engine = bpy.context.scene.render.engine
        self.addCleanup(setattr, bpy.context.scene.render, "engine", engine)
        watched = mock.patch.object(Recorder, "watched", self.mesh.name)
        watched.start()
        self.addCleanup(watched.stop)

    def test_renders_never_show_it(self):
        """Amid a swing: the same bytes as with the switch off, without a file and with one."""
        for angle in (0.6, 0.9):
            bpy.context.scene.frame_set(4)
            self.pose(angle)
            swinging = self.wait(0.1)
            live = self.rendered()
            self.assertGreater(np.abs(live - swinging).max(), 1e-2)
            self.assertGreater(np.abs(self.wait(0.1) - swinging).max(), 1e-2)  # it goes on
            self.settings.physics_live = False
            np.testing.assert_array_equal(live, self.rendered())
            self.settings.physics_live = True
            self.simulate()

    def rendered(self):
        Recorder.seen = {}
        recorder.prepare(bpy.context.scene, os.path.join(self.folder, "frame"))
        bpy.ops.render.render()
        (seen,) = Recorder.seen.values()
        return seen


class Film(Plays):
    fps = 24


class Smooth(InOrder):
    fps = 60
