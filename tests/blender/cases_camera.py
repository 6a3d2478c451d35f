# SPDX-License-Identifier: GPL-3.0-or-later
"""The camera of a VMD: Blender's evaluation of it equals MMD's definition in float64.

Judged by `pose_twin`, which goes along each curve in many steps; MMD's own twelve end up to 1.5e-4
of the way between two keys from there.
"""

import bpy
import case
import fingerprint
import numpy as np
import scene
from cases_motion import MotionCase, addon, dance
from files import motion_file
from judges import pose_twin

SCALE = 0.08
TO_BLENDER = np.eye(3)[[0, 2, 1]]
EXACT = 60  # steps along a curve


def random_camera(seed, count=30, last=240, curves=range(1, 127)):
    """Keys that rotate, move and cut, each channel with its own curve out of `curves`."""
    r = np.random.default_rng(seed)
    frames = r.choice(np.arange(1, last), count - 4, replace=False).tolist()
    frames += [frames[0] + 1, frames[1] + 1, 0, last]
    return [
        motion_file.CameraKey(
            int(frame),
            float(r.uniform(-60, 5)),
            tuple(r.normal(size=3) * 10),
            tuple(r.uniform(-2, 2, 3)),
            bytes(r.choice(curves, 24).tolist()),
            int(r.integers(1, 120)),
            int(r.integers(2)),
        )
        for frame in sorted(set(frames))
    ]


class CameraCase(MotionCase):
    def setUp(self):
        super().setUp()
        bpy.context.scene.frame_end = 10
        bpy.context.scene.render.fps = 30
        bpy.context.scene.camera = None

    def tearDown(self):
        bpy.context.scene.render.fps = 24

    def imported(self, keys, **options):
        """The keys in the judge's form, and the camera of the scene."""
        data = motion_file.write_vmd(keys)
        path = self.write("camera.vmd", data)
        self.assertEqual(bpy.ops.mmdskin.import_motion(filepath=path, **options), {"FINISHED"})
        return motion_file.read(data).camera, bpy.context.scene.camera

    def shown(self, camera, frame):
        """(position, direction, up, angle, type, height) in the file's space and units."""
        bpy.context.scene.frame_set(int(np.floor(frame)), subframe=float(frame % 1))
        found = camera.evaluated_get(bpy.context.evaluated_depsgraph_get())
        world = np.array(found.matrix_world)
        to_file = TO_BLENDER.T
        data = found.data
        return (
            to_file @ world[:3, 3] / SCALE,
            to_file @ -world[:3, 2],
            to_file @ world[:3, 1],
            2 * np.arctan(data.sensor_height / 2 / data.lens),
            data.type,
            data.ortho_scale / SCALE,
        )

    def assert_plays(self, track, camera, frames, start=1.0, speed=1.0):
        for frame in frames:
            motion_frame = (frame - start) * speed
            position, target, up, fov = pose_twin.camera_at(track, motion_frame, EXACT)
            ahead = target - position
            shown = self.shown(camera, frame)
            with self.subTest(frame=frame):
                # A ten-thousandth of a unit of Blender's, and of a radian.
                self.assertLessEqual(np.abs(shown[0] - position).max() * SCALE, 1e-4)
                ahead /= np.linalg.norm(ahead)
                self.assertLessEqual(np.abs(shown[1] - ahead).max(), 1e-4)
                self.assertLessEqual(np.abs(shown[2] - up).max(), 1e-4)
                self.assertLessEqual(abs(shown[3] - np.radians(fov)), 1e-4)


class Camera(CameraCase):
    def test_equals_mmd_at_frames_and_between_them(self):
        for seed in range(3):
            track, camera = self.imported(motion_file.Keys(camera=random_camera(seed)))
            frames = np.random.default_rng(seed).uniform(-2, 245, 200)
            frames[::2] = frames[::2].round()
            self.assert_plays(track, camera, np.float32(frames).tolist())

    def test_curves_with_vertical_handles_at_keys(self):
        for seed in range(3):
            keys = random_camera(seed, curves=(0, 1, 40, 90, 127, 127, 0))
            track, camera = self.imported(motion_file.Keys(camera=keys))
            frames = np.random.default_rng(seed).uniform(-2, 245, 200)
            frames[::2] = frames[::2].round()
            self.assert_plays(track, camera, np.float32(frames).tolist())

    def test_at_sixty_frames_a_second(self):
        bpy.context.scene.render.fps = 60
        track, camera = self.imported(motion_file.Keys(camera=random_camera(5)), frame_start=11)
        self.assertEqual(bpy.context.scene.frame_end, 11 + 2 * 240)
        frames = np.arange(9, 500, 2.5).tolist()
        self.assert_plays(track, camera, frames, start=11, speed=0.5)

    def test_cuts_are_hard_at_any_rate(self):
        keys = [
            motion_file.CameraKey(frame, -20, (x, 0, 0), view_angle=angle)
            for frame, x, angle in ((0, 0, 20), (9, 10, 60), (10, 30, 20), (20, 40, 60))
        ]
        for fps in (24, 30, 60, 120):
            bpy.context.scene.render.fps = fps
            _, camera = self.imported(motion_file.Keys(camera=keys), frame_start=0)
            before, after = 9.001 * fps / 30, 10.001 * fps / 30
            for frame, x, angle in (
                (before, 10, 60),
                (9.5 * fps / 30, 10, 60),
                (after - 0.02, 10, 60),
                (after, 30, 20),
            ):
                position, _, _, shown, *_ = self.shown(camera, frame)
                self.assertAlmostEqual(position[0], x, delta=0.01, msg=f"{fps}, {frame}")
                self.assertAlmostEqual(np.degrees(shown), angle, delta=0.05, msg=f"{fps}, {frame}")

    def test_wide_angles_are_exact_between_keys_too(self):
        keys = [
            motion_file.CameraKey(frame, -20, view_angle=angle)
            for frame, angle in ((0, 1), (30, 120), (60, 178), (90, 30))
        ]
        with case.reports() as said:
            track, camera = self.imported(motion_file.Keys(camera=keys))
        self.assertEqual(len(said), 1, said)
        self.assert_plays(track, camera, np.arange(1, 92, 3).tolist())
        found = camera.evaluated_get(bpy.context.evaluated_depsgraph_get())
        bpy.context.scene.frame_set(61)
        matrix = found.calc_matrix_camera(bpy.context.evaluated_depsgraph_get(), x=90, y=90)
        self.assertAlmostEqual(matrix[1][1], 1 / np.tan(np.radians(89)), places=4)

    def test_angles_that_no_camera_has_are_told(self):
        keys = [
            motion_file.CameraKey(frame, -20, view_angle=angle)
            for frame, angle in ((0, 30), (10, 30), (20, 0), (30, 180), (40, 400), (50, 30))
        ]
        with case.reports() as said:
            track, camera = self.imported(motion_file.Keys(camera=keys))
        self.assertTrue(any("3 camera keyframes have an angle of view" in one for one in said))
        self.assert_plays(track, camera, [1, 5, 11, 51])
        self.assertAlmostEqual(np.degrees(self.shown(camera, 21)[3]), 0.4, places=2)
        self.assertAlmostEqual(np.degrees(self.shown(camera, 31)[3]), 179.5, places=2)

    def test_projection_switches_at_its_key(self):
        keys = [
            motion_file.CameraKey(0, -45),
            motion_file.CameraKey(10, -90, projection=1),
            motion_file.CameraKey(20, -45),
        ]
        _, camera = self.imported(motion_file.Keys(camera=keys), frame_start=0)
        found = {frame: self.shown(camera, frame)[4:] for frame in (0, 9.5, 10, 19.9, 20)}
        types = [shown[0] for shown in found.values()]
        self.assertEqual(types, ["PERSP", "PERSP", "ORTHO", "ORTHO", "PERSP"])
        # Twice as far, twice as much is seen.
        self.assertAlmostEqual(found[10][1], 50, places=3)
        self.assertAlmostEqual(found[20][1], 25, places=3)

    def test_scale_and_start(self):
        keys = [motion_file.CameraKey(0, -30, (1, 2, 3)), motion_file.CameraKey(6, -60)]
        _, camera = self.imported(motion_file.Keys(camera=keys), frame_start=5, scale=1.0)
        bpy.context.scene.frame_set(5)
        self.assertEqual(tuple(camera.matrix_world.translation.to_tuple(4)), (1, 3 - 30, 2))
        self.assertEqual(bpy.context.scene.frame_end, 11)

    def test_a_file_of_both_moves_the_model_and_adds_the_camera(self):
        keys = dance(self.scene.pmx)._replace(camera=random_camera(1, last=15, count=8))
        self.imported(keys, model_path=self.model_path)
        self.assertIsNotNone(self.armature.animation_data)
        self.assertIsNotNone(bpy.context.scene.camera)

    def test_parts_can_be_chosen(self):
        keys = dance(self.scene.pmx)._replace(camera=random_camera(1, last=15, count=8))
        self.imported(keys, model_path=self.model_path, types={"MODEL"})
        self.assertIsNone(bpy.context.scene.camera)
        bpy.ops.mmdskin.clear_motion()
        self.imported(keys, types={"CAMERA"})
        self.assertIsNone(self.armature.animation_data)
        self.assertIsNotNone(bpy.context.scene.camera)

    def test_needs_no_model(self):
        bpy.context.view_layer.objects.active = None
        with case.reports() as said:
            self.imported(motion_file.Keys(camera=random_camera(2)))
        self.assertEqual(said, ["Info: Added a camera with 30 keyframes"])

    def test_is_added_to_the_scene_if_the_active_collection_is_read_only(self):
        path = f"{self.folder.name}/stage.blend"
        stage = bpy.data.collections.new("stage")
        bpy.data.libraries.write(path, {stage})
        bpy.data.collections.remove(stage)
        with bpy.data.libraries.load(path, link=True) as (_, wanted):
            wanted.collections = ["stage"]
        scene, layer = bpy.context.scene, bpy.context.view_layer
        scene.collection.children.link(wanted.collections[0])
        layer.active_layer_collection = layer.layer_collection.children["stage"]
        _, camera = self.imported(motion_file.Keys(camera=random_camera(2)))
        bpy.ops.mmdskin.import_model(filepath=self.model_path)
        self.assertEqual(camera.users_collection, (scene.collection,))
        self.assertEqual(layer.objects.active.users_collection, (scene.collection,))

    def test_errors_change_nothing(self):
        objects = set(bpy.data.objects)
        path = self.write("dance.vmd", motion_file.write_vmd(dance(self.scene.pmx)))
        for words, options in (
            ("has no camera keyframes", {"filepath": path, "types": {"CAMERA"}}),
            ("Nothing to import", {"filepath": path, "types": set()}),
            ("cannot be opened", {"filepath": "/gone.vmd", "types": {"CAMERA"}}),
        ):
            with self.assertRaises(RuntimeError) as caught:
                bpy.ops.mmdskin.import_motion(**options)
            self.assertIn(words, str(caught.exception))
        self.assertEqual(set(bpy.data.objects), objects)
        self.assertIsNone(bpy.context.scene.camera)


class Again(CameraCase):
    """A second import, and Clear Motion."""

    def setUp(self):
        super().setUp()
        self.users = bpy.data.objects.new("user's", bpy.data.cameras.new("user's"))
        bpy.context.scene.collection.objects.link(self.users)
        bpy.context.scene.camera = self.users

    def keys(self, last=40, bones=False):
        keys = dance(self.scene.pmx) if bones else motion_file.Keys("カメラ", [], [])
        return keys._replace(camera=random_camera(1, 8, last))

    def rigs(self):
        return [obj for obj in bpy.data.objects if obj.name.startswith("MMD Camera")]

    def test_replaces_the_camera(self):
        before, cameras = fingerprint.of_file(), len(bpy.data.cameras)
        self.imported(self.keys())
        self.imported(self.keys(60))
        self.assertEqual(len(self.rigs()), 2)
        self.assertEqual(len(bpy.data.cameras), cameras + 1)
        scene.select(bpy.context.scene.camera)
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
        self.assertEqual(bpy.context.scene.camera, self.users)
        bpy.context.view_layer.update()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_a_linked_camera_is_kept(self):
        """It is the import of another file."""
        self.imported(self.keys())
        library = self.write("library.blend", b"")
        bpy.data.libraries.write(library, set(self.rigs()))
        bpy.ops.mmdskin.clear_motion(all_models=True)
        self.assertEqual(self.rigs(), [])
        with bpy.data.libraries.load(library, link=True) as (there, here):
            here.objects = list(there.objects)
        for obj in here.objects:
            bpy.context.scene.collection.objects.link(obj)
        self.addCleanup(bpy.data.batch_remove, [here.objects[0].library])
        _, camera = self.imported(self.keys(60))
        self.assertEqual(sum(obj.library is not None for obj in self.rigs()), 2)
        scene.select(camera)
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
        self.assertEqual([obj.library is not None for obj in self.rigs()], [True, True])

    def test_a_duplicate_with_the_same_data_is_cleared_too(self):
        cameras = len(bpy.data.cameras)
        _, camera = self.imported(self.keys())
        copies = [obj.copy() for obj in (camera.parent, camera)]  # as by Alt+D
        copies[1].parent = copies[0]
        for copy in copies:
            bpy.context.scene.collection.objects.link(copy)
        self.assertEqual(bpy.ops.mmdskin.clear_motion(all_models=True), {"FINISHED"})
        self.assertEqual((self.rigs(), len(bpy.data.cameras)), ([], cameras))

    def test_a_camera_of_the_user_keeps_data_that_it_shares(self):
        _, camera = self.imported(self.keys())
        copy = camera.copy()
        copy.parent = None
        bpy.context.scene.collection.objects.link(copy)
        name = copy.name
        self.assertEqual(bpy.ops.mmdskin.clear_motion(all_models=True), {"FINISHED"})
        self.assertTrue(bpy.data.objects[name].data.animation_data.action)

    def test_an_edited_camera_is_kept(self):
        _, camera = self.imported(self.keys())
        curve = addon().blender.actions.curves_of(camera.animation_data.action)[0]
        curve.keyframe_points[0].co.y += 1
        self.imported(self.keys())
        self.assertEqual(len(self.rigs()), 4)

    def test_a_longer_camera_does_not_keep_the_range(self):
        self.imported(self.keys(300, bones=True), model_path=self.model_path)
        self.assertEqual(bpy.context.scene.frame_end, 301)
        scene.select(self.armature)
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
        self.assertEqual(bpy.context.scene.frame_end, 10)
        self.assertEqual(self.rigs(), [])
        self.assertEqual(bpy.context.scene.camera, self.users)
