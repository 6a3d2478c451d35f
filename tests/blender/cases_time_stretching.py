# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's Time Stretching: keyframes, motions and markers are in animation time, the range is not."""

import bpy
import numpy as np
import scene
from cases_camera import SCALE
from cases_export_motion_camera import ExportCameraCase
from cases_motion import addon
from cases_physics import ShowsCase, keyed_gravity
from judges import pose_twin


def stretch(test, old, new):
    render = bpy.context.scene.render
    render.frame_map_old, render.frame_map_new = old, new
    for name in ("frame_map_old", "frame_map_new"):
        test.addCleanup(setattr, render, name, 100)


class Simulation(ShowsCase):
    def key_gravity(self):
        settings = self.armature.mmdskin
        for frame, x in ((2, 0), (12, 90)):
            settings.physics_gravity = (x, 0, -98)
            settings.keyframe_insert("physics_gravity", index=0, frame=frame)
        for curve in keyed_gravity(self.armature):
            for point in curve.keyframe_points:
                point.interpolation = "LINEAR"

    def rows(self):
        found = addon().pose.pose_source.settings_of(self.armature, bpy.context.scene)
        return found.physics.gravity.array()[:, 0]

    def test_a_motion_is_simulated_in_stretched_time(self):
        stretch(self, 200, 100)
        for frame in (4, 13, 20):
            bpy.context.scene.frame_set(frame)
            shown = scene.evaluated_positions(self.mesh)
            self.assert_close(shown, self.expected([2 * frame])[0])

    def test_gravity_of_a_motion_acts_at_its_keyframes(self):
        self.key_gravity()
        for old, new in ((100, 200), (200, 100)):
            stretch(self, old, new)
            rows = self.rows()
            self.assert_close(rows, np.interp(range(len(rows)), (2, 12), (0, 90)), 1e-4)
            self.assertEqual(rows[-1], 90)

    def test_gravity_of_keyframes_acts_at_its_keyframes(self):
        self.armature.mmdskin.source = "IK"
        self.key_gravity()
        bpy.context.scene.frame_start = 4
        self.addCleanup(setattr, bpy.context.scene, "frame_start", 1)
        for fps in (30, 60):
            bpy.context.scene.render.fps = fps
            for old, new in ((100, 200), (200, 100)):
                stretch(self, old, new)
                rows = self.rows()
                times = 4 * old / new + np.arange(len(rows)) * fps / 30
                self.assert_close(rows, np.interp(times, (2, 12), (0, 90)), 1e-4)


class Markers(ExportCameraCase):
    def test_switch_cameras_where_blender_does(self):
        stretch(self, 100, 200)
        others = [self.camera(name) for name in ("first", "second")]
        for number, camera in enumerate(others):
            camera.data.sensor_fit = "VERTICAL"
            camera.location = (number, -5 - number, 1)
            camera.rotation_euler = (1.2, 0, number)
            marker = bpy.context.scene.timeline_markers.new(camera.name, frame=1 + 9 * number)
            marker.camera = camera
        bpy.context.scene.frame_end = 30
        track = self.exported()
        # The second marker is at frame 10 of the animation, frame 20 of the scene.
        for number in range(30):
            position = pose_twin.camera_at(track, number, 60)[0] * SCALE
            shown = np.array((0, 1, -5) if number < 19 else (1, 1, -6))
            self.assert_close(position, shown, 0.01)


del ExportCameraCase
