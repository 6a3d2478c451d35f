# SPDX-License-Identifier: GPL-3.0-or-later
"""Export MMD Motion of the camera: imported keys as they were, other cameras as shown, cuts on their frame."""

import math
import os
import sys

import bpy
import numpy as np
import scene
from cases_camera import SCALE, CameraCase, random_camera
from cases_export_motion_keys import bits, differences
from files import motion_file
from judges import pose_twin

NAME = "カメラ・照明"


def records(path):
    with open(path, "rb") as file:
        keys = motion_file.keys(file.read())
    return {
        k.frame: (bits([k.distance, *k.target, *k.rotation]), k.block, k.view_angle, k.projection)
        for k in keys.camera
    }


class ExportCameraCase(CameraCase):
    def setUp(self):
        super().setUp()
        scene = bpy.context.scene
        scene.frame_start, scene.use_preview_range = 1, False
        self.out = os.path.join(self.folder.name, "カメラ.vmd")
        self.addCleanup(scene.timeline_markers.clear)

    def exported(self, **options):
        options = {"filepath": self.out, "content": "CAMERA", "scale": SCALE, **options}
        self.assertEqual(bpy.ops.mmdskin.export_motion(**options), {"FINISHED"})
        with open(self.out, "rb") as file:
            found = motion_file.read(file.read())
        self.assertEqual(found.name, NAME)
        return found.camera

    def assert_same_view(self, track, first=1, last=None, moved=0.02, degrees=0.06):
        """The exported keys, by the judge, show what Blender shows."""
        for number in range((last or bpy.context.scene.frame_end) - first + 1):
            position, target, up, fov = pose_twin.camera_at(track, number, 60)
            eye, ahead, above, angle, _, _ = self.shown(bpy.context.scene.camera, first + number)
            with self.subTest(frame=number):
                way = (target - position) / np.linalg.norm(target - position)
                bar = math.radians(degrees)
                reach = np.linalg.norm(target - position)
                self.assertLessEqual(np.linalg.norm(position - eye), moved * 2 + bar * reach)
                self.assertLessEqual(np.linalg.norm(way - ahead), 2 * bar)
                self.assertLessEqual(np.linalg.norm(up - above), 2 * bar)
                self.assertLessEqual(abs(fov - math.degrees(angle)), 0.51)

    def camera(self, name="free"):
        camera = bpy.data.objects.new(name, bpy.data.cameras.new(name))
        bpy.context.scene.collection.objects.link(camera)
        return camera

    def flight(self):
        """A camera with keys of its own, in Blender's way."""
        camera = self.camera()
        camera.data.lens, camera.data.sensor_fit = 35, "VERTICAL"
        camera.rotation_mode = "XYZ"
        poses = ((1, (2, -6, 1), (1.4, 0, 0.3)), (14, (-1, -5, 2), (1.2, 0.1, -0.4)))
        for frame, place, turn in (*poses, (30, (0, -4, 1.5), (1.5, 0, 0.1))):
            camera.location, camera.rotation_euler = place, turn
            camera.keyframe_insert("location", frame=frame)
            camera.keyframe_insert("rotation_euler", frame=frame)
        bpy.context.scene.camera = camera
        bpy.context.scene.frame_end = 30
        return camera


class Camera(ExportCameraCase):
    def test_an_unchanged_import_is_written_key_for_key(self):
        for fps in (30, 24):
            with self.subTest(fps=fps):
                bpy.context.scene.render.fps = fps
                keys = motion_file.Keys(NAME, camera=random_camera(4, curves=range(128)))
                self.imported(keys)
                self.exported()
                path = os.path.join(self.folder.name, "camera.vmd")
                self.assertEqual(differences(records(path), records(self.out)), set())

    def test_one_changed_key_changes_nothing_else(self):
        camera_keys = [
            k._replace(distance=-abs(k.distance) - 1, projection=0)
            for k in random_camera(5, count=8, last=60)
        ]
        keys = motion_file.Keys(NAME, camera=camera_keys)
        _, camera = self.imported(keys)
        curve = scene.curves(camera.parent).find("location", index=2)
        point = curve.keyframe_points[3]
        for part in (point.co, point.handle_left, point.handle_right):
            part.y += 0.16
        self.exported()
        path = os.path.join(self.folder.name, "camera.vmd")
        frames = sorted(records(path))
        found = differences(records(path), records(self.out))
        self.assertIn(frames[3], found)
        self.assertLessEqual(found, set(range(frames[2] + 1, frames[4] + 1)))

    def test_keyframes_of_equal_values_with_elastic_easing(self):
        camera_keys = [
            random_camera(5, count=8)[0]._replace(frame=frame, distance=-30, projection=0)
            for frame in (0, 30)
        ]
        _, camera = self.imported(motion_file.Keys(NAME, camera=camera_keys))
        target = camera.parent
        curve = scene.curves(target).find("location", index=0)
        while len(curve.keyframe_points) > 1:
            curve.keyframe_points.remove(curve.keyframe_points[-1])
        for frame in (1, 31):
            target.keyframe_insert("location", index=0, frame=frame)
        first = curve.keyframe_points[0]
        first.interpolation, first.amplitude, first.period = "ELASTIC", 1, 12
        track = self.exported()
        self.assertGreater(len(track.frames), 2)
        self.assert_same_view(track)

    def test_a_camera_with_keyframes_of_its_own(self):
        self.flight()
        track = self.exported()
        self.assertLess(len(track.frames), 16)
        self.assert_same_view(track)

    def test_markers_are_cuts(self):
        first, second = self.flight(), self.camera("other")
        second.location, second.rotation_euler = (5, 0, 1), (1.5, 0, 1.5)
        for frame, camera in ((1, first), (11, second)):
            bpy.context.scene.timeline_markers.new("cut", frame=frame).camera = camera
        track = self.exported()
        self.assertLessEqual({9, 10}, set(track.frames.tolist()))
        at = track.frames.tolist().index(10)
        position = pose_twin.camera_at(track, 10, 60)[0]
        self.assertLessEqual(np.abs(position * SCALE - (5, 1, 0)).max(), 0.01)
        self.assertEqual(at, len(track.frames) - 1)

    def test_cuts_between_the_frames_of_the_file_are_on_the_next_one(self):
        bpy.context.scene.render.fps = 60
        first, second = self.flight(), self.camera("other")
        second.location, second.rotation_euler = (5, 0, 1), (1.5, 0, 1.5)
        second.keyframe_insert("location", frame=1)
        second.location.y = 3
        second.keyframe_insert("location", frame=22)
        holder = sys.modules["addon_package"].blender.actions.channels(second)[0]
        for point in (p for c in holder.fcurves for p in c.keyframe_points):
            point.interpolation = "CONSTANT"
        for frame, camera in ((1, first), (12, second)):  # frames 5.5 and 10.5 of the file
            bpy.context.scene.timeline_markers.new("cut", frame=frame).camera = camera
        track = self.exported()
        self.assertLessEqual({5, 6, 10, 11}, set(track.frames.tolist()))
        # MMD holds a view until the next frame: no picture at 60 fps is between two shots.
        for number, place in ((6, (5, 1, 0)), (10.5, (5, 1, 0)), (11, (5, 1, 3))):
            with self.subTest(frame=number):
                position = pose_twin.camera_at(track, number, 60)[0]
                self.assertLessEqual(np.abs(position * SCALE - place).max(), 0.01)
        before, held = (pose_twin.camera_at(track, number, 60)[0] for number in (5, 5.5))
        self.assertEqual(before.tolist(), held.tolist())

    def test_an_orthographic_camera(self):
        camera = self.flight()
        camera.data.type, camera.data.ortho_scale = "ORTHO", 2.0
        track = self.exported()
        self.assertFalse(track.perspective.any())

    def test_without_a_camera(self):
        with self.assertRaises(RuntimeError) as caught:
            self.exported()
        self.assertIn("The scene has no camera", str(caught.exception))
