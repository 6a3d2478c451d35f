# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake with several samples per frame is exact at each of them, for motion blur."""

import os
import struct
import sys

import bpy
import case
import fingerprint
import numpy as np
import scene
from cases_bake_range import TARGETS, Range, go_to
from cases_motion import MotionCase
from cases_physics import Hair
from exported import FRAMES, Exported, farthest, in_world
from files import motion_file

FIRST, LAST = 3, 7
QUARTERS = [FIRST + number / 4 for number in range(4 * (LAST - FIRST) + 1)]


class Samples(Range):
    def bake(self, target, **options):
        super().bake(target, **{"frame_start": FIRST, "frame_end": LAST, "samples": 4, **options})

    def assert_all_play(self, expected, targets=TARGETS[:2], **options):
        super().assert_all_play(expected, targets, **options)


class FromTheArmature(Samples):
    def test_each_sample_is_exact(self):
        expected = self.expected(QUARTERS)
        middle = (expected[FIRST] + expected[FIRST + 1]) / 2
        self.assertGreater(np.abs(expected[FIRST + 0.5] - middle).max(), 10 * case.BAR)
        self.assert_all_play(expected)

    def test_between_two_samples_is_their_mean(self):
        expected = self.expected((FIRST, FIRST + 0.25))
        middle = (expected[FIRST] + expected[FIRST + 0.25]) / 2
        self.assert_all_play({FIRST + 0.125: middle})

    def test_two_samples_and_three(self):
        for samples in (2, 3):
            frames = [FIRST + number / samples for number in range(samples * (LAST - FIRST) + 1)]
            self.assert_all_play(self.expected(frames), samples=samples)

    def test_stretched_time(self):
        render = bpy.context.scene.render
        render.frame_map_old, render.frame_map_new = 100, 200
        self.addCleanup(setattr, render, "frame_map_new", 100)
        self.assert_all_play(self.expected(QUARTERS))

    def test_a_range_that_starts_below_zero(self):
        frames = [-2 + number / 2 for number in range(9)]
        expected = self.expected(frames)
        self.assert_all_play(expected, frame_start=-2, frame_end=2, samples=2)

    def test_a_range_of_one_frame_has_one_sample(self):
        self.bake("SHAPE_KEYS", frame_start=5, frame_end=5)
        self.assertEqual(self.names(), ["MMD 0005"])


class FromOtherSources(Samples):
    def motion(self):
        """A motion whose curves bend between frames, and the result of the library at a frame."""
        pmx = self.scene.pmx
        turn = np.array([0.3, 0.5, -0.4, 1.0])
        turn /= np.linalg.norm(turn)
        keys = [
            motion_file.BoneKey(bone.name, frame, (0, 0, 0), at)
            for bone in pmx.bones
            for frame, at in ((0, (0, 0, 0, 1)), (9, tuple(turn)))
        ]
        path = os.path.join(self.folder, "motion.vmd")
        with open(path, "wb") as file:
            file.write(motion_file.write_vmd(motion_file.Keys(pmx.name, keys, [])))
        mmdskin = sys.modules["addon_package"].blender.native.load()
        model = mmdskin.load_model(case.write_model(self, pmx))
        motion = mmdskin.load_motion(path)
        frames = np.array(QUARTERS) - 1
        positions = mmdskin.skin(model, model.pose(motion, frames), normals=False).positions
        return path, dict(zip(QUARTERS, map(scene.in_blender, positions), strict=True))

    def test_a_motion_file(self):
        path, expected = self.motion()
        model = case.write_model(self, self.scene.pmx)
        options = {"source": "MOTION", "motion_path": path, "model_path": model}
        self.assert_all_play(expected, motion_real_time=False, **options)

    def test_ik_of_mmd(self):
        model = case.write_model(self, self.scene.pmx)  # without IK: as Blender's
        self.assert_all_play(self.expected(QUARTERS), source="IK", model_path=model)


class WithPhysics(Hair, MotionCase):
    def test_simulated_hair(self):
        options = {"source": "MOTION", "motion_path": self.motion_path, "motion_start": 0}
        options |= {"model_path": self.model_path, "physics": True, "folder": case.folder(self)}
        frames = [8 + number / 4 for number in range(9)]
        expected = self.expected(frames)
        for target, _ in TARGETS[:2]:
            with self.subTest(target):
                range_ = {"range": "CUSTOM", "frame_start": 8, "frame_end": 10, "samples": 4}
                bpy.ops.mmdskin.bake(target=target, **range_, **options)
                for frame, positions in zip(frames, expected, strict=True):
                    go_to(frame)
                    self.assert_close(scene.evaluated_positions(self.mesh), positions)
                bpy.ops.mmdskin.clear_bake()


class InFiles(Exported):
    """Alembic and FBX store all samples; glTF and USD store whole frames."""

    def survive(self, form, target):
        self.animate()
        self.bake(target, True, samples=4)
        self.shown = {}
        frames = [FRAMES[0] + number / 4 for number in range(4 * (len(FRAMES) - 1) + 1)]
        for frame in frames:
            go_to(frame)
            self.shown[frame] = in_world(self.mesh)
        bpy.context.scene.frame_set(FRAMES[0])
        obj = self.read(self.export(form))
        for frame, expected in self.shown.items():
            go_to(frame)
            points = in_world(obj)
            for here, there in ((points, expected), (expected, points)):
                self.assertLessEqual(farthest(here, there), case.BAR * scene.SCALE, frame)

    def test_alembic_of_a_mesh_cache(self):
        self.survive("ALEMBIC", "MESH_CACHE")

    def test_alembic_of_shape_keys(self):
        self.survive("ALEMBIC", "SHAPE_KEYS")

    def test_fbx(self):
        self.survive("FBX", "SHAPE_KEYS")


class Stored(Samples):
    def test_keys_are_named_after_their_frames(self):
        self.bake("SHAPE_KEYS", frame_end=4)
        names = ["MMD 0003", "MMD 0003.25", "MMD 0003.5", "MMD 0003.75", "MMD 0004"]
        self.assertEqual(self.names(), names)

    def test_the_file_has_all_samples(self):
        expected = self.expected((3, 3.5, 4))
        self.bake("MESH_CACHE", frame_end=4, samples=2)
        (name,) = os.listdir(self.folder)
        with open(os.path.join(self.folder, name), "rb") as file:
            data = file.read()
        count = len(self.mesh.data.vertices)
        header = struct.unpack_from("<12siiffi", data)
        self.assertEqual(header, (b"POINTCACHE2\0", 1, count, 3.0, 0.5, 3))
        frames = np.frombuffer(data, "<f4", offset=32).reshape(3, count, 3)
        for positions, wanted in zip(frames, expected.values(), strict=True):
            self.assert_close(positions, wanted)

    def test_clear_bake_restores_everything(self):
        bpy.context.view_layer.update()
        before = fingerprint.of_file()
        for target, _ in TARGETS[:2]:
            with self.subTest(target):
                self.bake(target)
                bpy.ops.mmdskin.clear_bake()
                self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_the_setting_of_the_model_is_used(self):
        self.scene.armature.mmdskin.samples = 2
        options = {"range": "CUSTOM", "frame_start": 3, "frame_end": 4}
        bpy.ops.mmdskin.bake(target="SHAPE_KEYS", **options)
        self.assertEqual(self.names(), ["MMD 0003", "MMD 0003.5", "MMD 0004"])

    def test_the_frames_are_reported(self):
        with case.reports() as said:
            self.bake("SHAPE_KEYS")
        self.assertTrue(any("Baked 5 frames" in line for line in said), said)

    def test_corrective_keys_have_one_pose_per_frame(self):
        self.bake("CORRECTIVE", corrective="KEYED", frame_end=4)
        self.assertLessEqual(set(self.names()), {"MMD 0003", "MMD 0004"})


class Refused(Samples):
    def test_with_a_step(self):
        for target, _ in TARGETS[:2]:
            options = {"folder": self.folder, "range": "CUSTOM", "samples": 2, "step": 2}
            self.assert_refused("Samples above 1 need a Step of 1", target=target, **options)
        self.assertEqual(os.listdir(self.folder), [])

    def test_caches_that_start_too_late_for_blender(self):
        scene.Scene(case.small_model(), "other")
        self.assert_refused(
            "cannot start at frame 300000",
            target="MESH_CACHE",
            folder=self.folder,
            range="CUSTOM",
            frame_start=300_000,
            frame_end=300_001,
            samples=4,
            all_models=True,
        )
        self.assertEqual(os.listdir(self.folder), [])
