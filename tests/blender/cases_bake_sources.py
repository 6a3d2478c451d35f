# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake of a motion file, settings of the model, and the live preview together with a bake."""

import os
import sys
from unittest import mock

import bpy
import case
import fingerprint
import numpy as np
import scene
from cases_bake_range import TARGETS, Range
from cases_motion import MotionCase, addon
from files import motion_file
from mathutils import Matrix


def excludable(mesh):
    """A copy of a mesh object, in a collection of its own."""
    copy = mesh.copy()
    copy.data = mesh.data.copy()
    collection = bpy.data.collections.new("coat")
    bpy.context.scene.collection.children.link(collection)
    collection.objects.link(copy)
    return copy


class Motion(MotionCase):
    def bake(self, target="SHAPE_KEYS", **options):
        options = {"range": "CUSTOM", "frame_start": 1, "frame_end": 16, **options}
        if target == "MESH_CACHE":
            options["folder"] = self.folder.name
        self.assertEqual(bpy.ops.mmdskin.bake(target=target, **options), {"FINISHED"})

    def files(self):
        return {
            "source": "MOTION",
            "motion_path": self.motion_path,
            "model_path": self.model_path,
            "motion_start": 0,
            "motion_real_time": False,
        }

    def assert_plays(self, frames):
        """{frame of the scene: frame of the motion}."""
        for frame, positions in zip(frames, self.of_file(tuple(frames.values())), strict=True):
            bpy.context.scene.frame_set(frame)
            self.assert_close(scene.evaluated_positions(self.mesh), positions)

    def test_plays_as_skinning_of_the_files(self):
        for target, _ in TARGETS[:2]:
            with self.subTest(target):
                self.bake(target, **self.files())
                self.assert_plays({frame: frame for frame in range(1, 17)})
                bpy.ops.mmdskin.clear_bake()

    def test_vertices_that_overflow_are_refused_and_leave_nothing(self):
        """A morph of a motion may have a weight of up to 1e10, and a shape key any offset."""
        keys = [motion_file.MorphKey("あ", 0, 0.0), motion_file.MorphKey("あ", 9, 1e10)]
        data = motion_file.write_vmd(motion_file.Keys("踊り", [], keys))
        path = self.write("大きい.vmd", data)
        self.mesh.data.shape_keys.key_blocks["あ"].data[3].co = (1e30, 0, 0)
        before = fingerprint.of_file()
        for target in ("SHAPE_KEYS", "MESH_CACHE", "CORRECTIVE"):
            options = {**self.files(), "motion_path": path, "range": "CUSTOM", "frame_end": 16}
            words = r"at frame \d[.\d]*: the position of vertex 3 contains invalid numbers"
            with self.subTest(target), self.assertRaisesRegex(RuntimeError, words):
                bpy.ops.mmdskin.bake(target=target, folder=self.folder.name, **options)
            self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])
        self.assertFalse([name for name in os.listdir(self.folder.name) if "pc2" in name])

    def test_plays_in_frames_that_are_skinned_in_several_blocks(self):
        """Three frames are skinned together."""
        count = len(self.mesh.data.vertices)
        with mock.patch.object(addon().bake.sources, "_SKINNED", 3 * count):
            self.test_plays_as_skinning_of_the_files()

    def test_corrective_keys_fit_an_armature_that_moves_like_the_motion(self):
        frames = (3, 9, 15)
        for frame in frames:
            self.key_pose(frame)
        for more in ({"corrective": "KEYED"}, {"corrective": "DRIVEN"}):
            with self.subTest(**more):
                self.bake("CORRECTIVE", frame_start=3, step=6, **more, **self.files())
                shown = self.of_file(frames)
                for frame, positions in zip(frames, shown, strict=True):
                    bpy.context.scene.frame_set(frame)
                    for key, value in self.values(frame).items():
                        self.mesh.data.shape_keys.key_blocks[key].value = value
                    self.assert_close(scene.evaluated_positions(self.mesh), positions)
                bpy.ops.mmdskin.clear_bake()

    def values(self, frame):
        names = ("あ", "い", "う")
        for name in names:
            key = self.mesh.data.shape_keys.key_blocks[name]
            key.slider_min, key.slider_max = -10, 10
        values = self.open().key_values(names, [frame])[0]
        return dict(zip(names, values.tolist(), strict=True))

    def key_pose(self, frame):
        """Keyframes that give the armature the pose of the motion."""
        names = [bone.name for bone in self.armature.data.bones]
        matrices = self.matrices(self.open(), names, [frame])[0]
        for name, matrix in zip(names, matrices, strict=True):  # parents come first
            bone = self.armature.pose.bones[name]
            bone.rotation_mode = "QUATERNION"
            bone.matrix = Matrix(matrix.tolist()) @ bone.bone.matrix_local
            bpy.context.view_layer.update()
            for path in ("location", "rotation_quaternion"):
                bone.keyframe_insert(path, frame=frame)

    def test_starts_at_a_frame_of_the_scene(self):
        self.bake(**self.files() | {"motion_start": 5})
        self.assert_plays({frame: max(frame - 5, 0) for frame in (1, 5, 8, 16)})

    def test_plays_in_real_time(self):
        render = bpy.context.scene.render
        self.addCleanup(setattr, render, "fps", render.fps)
        render.fps = 60
        self.bake(**self.files() | {"motion_real_time": True})
        self.assert_plays({frame: frame / 2 for frame in (1, 2, 5, 16)})

    def test_follows_time_stretching_as_live(self):
        render = bpy.context.scene.render
        render.frame_map_old, render.frame_map_new = 100, 50
        self.addCleanup(setattr, render, "frame_map_old", 100)
        self.addCleanup(setattr, render, "frame_map_new", 100)
        played = {frame: 2 * frame for frame in (1, 2, 5, 8)}
        for name, value in self.files().items():
            setattr(self.armature.mmdskin, name, value)
        self.armature.mmdskin.preview = True
        self.assert_plays(played)
        for target, _ in TARGETS[:2]:
            with self.subTest(target):
                self.bake(target, frame_end=8, **self.files())
                self.assert_plays(played)
                bpy.ops.mmdskin.clear_bake()

    def test_does_not_move_the_scene(self):
        seen = []
        bpy.app.handlers.frame_change_post.append(lambda *_: seen.append(1))
        self.addCleanup(bpy.app.handlers.frame_change_post.pop)
        self.bake(**self.files())
        self.assertEqual(seen, [])

    def test_settings_of_the_model_are_taken_where_none_are_given(self):
        settings = self.armature.mmdskin
        for name, value in self.files().items():
            setattr(settings, name, value)
        settings.motion_start = 3
        self.bake()
        self.assert_plays({3: 0, 8: 5})
        bpy.ops.mmdskin.clear_bake()
        self.bake(motion_start=0)
        self.assert_plays({8: 8})

    def test_the_armature_can_be_asked_for_against_the_settings(self):
        settings = self.armature.mmdskin
        for name, value in self.files().items():
            setattr(settings, name, value)
        scene.pose(self.scene)
        before = scene.evaluated_positions(self.mesh)
        linear = self.scene.pmx.deform != scene.SDEF
        self.bake(source="ARMATURE", frame_end=1)
        self.assert_close(scene.evaluated_positions(self.mesh)[linear], before[linear])

    def test_a_key_that_the_motion_lacks_stays_animated(self):
        rest = scene.in_blender(self.scene.pmx.positions)
        key = scene.add_key(self.mesh, "自分", rest + np.float32([0, 0, 0.1]))
        for frame, value in ((1, 0.0), (11, 1.0)):
            key.value = value
            key.keyframe_insert("value", frame=frame)
        self.bake(**self.files(), frame_end=11)
        shown = []
        for frame in (1, 11):
            bpy.context.scene.frame_set(frame)
            shown.append(scene.evaluated_positions(self.mesh))
        bpy.ops.mmdskin.clear_bake()
        self.mesh.shape_key_remove(self.mesh.data.shape_keys.key_blocks["自分"])
        self.bake(**self.files(), frame_end=11)
        for frame, with_key in ((1, shown[0]), (11, shown[1])):
            bpy.context.scene.frame_set(frame)
            moved = np.linalg.norm(with_key - scene.evaluated_positions(self.mesh), axis=1).max()
            self.assertAlmostEqual(moved, 0.0 if frame == 1 else 0.1, places=5)

    def test_one_frame_of_it(self):
        bpy.context.scene.frame_set(7)
        self.bake(**self.files(), range="CURRENT")
        self.assert_plays({7: 7})

    def test_another_pose_source_reaches_live_meshes_of_excluded_collections(self):
        settings, other = self.armature.mmdskin, excludable(self.mesh)
        settings.preview = True
        coat = bpy.context.view_layer.layer_collection.children["coat"]
        coat.exclude = True
        bpy.context.view_layer.update()
        for name, value in self.files().items():
            setattr(settings, name, value)
        coat.exclude = False
        self.assert_plays({7: 7})
        self.assert_close(scene.evaluated_positions(other), self.of_file((7,))[0])

    def test_one_moment_between_frames(self):
        """Where the playhead is, as live."""
        for target, _ in TARGETS[:2]:
            with self.subTest(target):
                bpy.context.scene.frame_set(7, subframe=0.5)
                self.bake(target, **self.files(), range="CURRENT")
                (expected,) = self.of_file((7.5,))
                self.assert_close(scene.evaluated_positions(self.mesh), expected)
                bpy.ops.mmdskin.clear_bake()

    def test_a_missing_motion_is_rejected(self):
        files = self.files() | {"motion_path": os.path.join(self.folder.name, "無い.vmd")}
        self.assert_refused("'無い.vmd' cannot be opened", **files)

    def test_an_empty_motion_is_rejected(self):
        self.assert_refused("No motion file selected", source="MOTION", model_path=self.model_path)


class Preview(Range):
    """The live preview stops for a bake, and returns when the bake is cleared."""

    def test_turns_off_and_on_again(self):
        settings = self.scene.armature.mmdskin
        plain = fingerprint.of_file()
        settings.preview = True
        bpy.context.scene.frame_set(4)
        before = fingerprint.of_file()
        for target, more in TARGETS:
            with self.subTest(target):
                expected = self.expected((1, 8, 21))
                self.bake(target, **more)
                self.assertFalse(settings.preview)
                self.assertFalse(
                    any(sys.modules["addon_package"].preview.switch.is_live(o) for o in [self.mesh])
                )
                self.assert_plays(expected)
                bpy.context.scene.frame_set(4)
                bpy.ops.mmdskin.clear_bake()
                self.assertTrue(settings.preview)
                self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])
        settings.preview = False
        self.assertEqual(fingerprint.differences(plain, fingerprint.of_file()), [])

    def test_returns_after_two_bakes(self):
        settings = self.scene.armature.mmdskin
        settings.preview = True
        self.bake("SHAPE_KEYS")
        self.bake("MESH_CACHE")
        bpy.ops.mmdskin.clear_bake()
        self.assertTrue(settings.preview)

    def test_returns_after_a_bake_that_added_nothing(self):
        settings = self.scene.armature.mmdskin
        settings.preview = True
        self.bake("SHAPE_KEYS")
        self.scene.armature.data.pose_position = "REST"
        self.bake("CORRECTIVE", corrective="KEYED")
        bpy.ops.mmdskin.clear_bake()
        self.assertTrue(settings.preview)

    def test_stays_on_in_excluded_collections(self):
        """What is not baked is live before, during and after the bake, with the settings of that time."""
        settings = self.scene.armature.mmdskin
        other = excludable(self.mesh)
        settings.preview = True
        bpy.context.scene.frame_set(4)
        expected = scene.evaluated_positions(other)
        children = bpy.context.view_layer.layer_collection.children
        is_live = sys.modules["addon_package"].preview.switch.is_live
        for target, more in TARGETS:
            with self.subTest(target):
                children["coat"].exclude = True
                self.bake(target, **more)
                self.assertEqual([is_live(self.mesh), is_live(other)], [False, True])
                settings.use_mmd_normals = not settings.use_mmd_normals
                settings.use_mmd_normals = not settings.use_mmd_normals
                self.assertEqual(case.live_errors(), [])
                children["coat"].exclude = False
                bpy.context.scene.frame_set(4)
                self.assert_close(scene.evaluated_positions(other), expected)
                children["coat"].exclude = True
                bpy.ops.mmdskin.clear_bake()
                self.assertEqual([is_live(self.mesh), is_live(other)], [True, True])
                children["coat"].exclude = False
                bpy.context.scene.frame_set(4)
                for mesh in (self.mesh, other):
                    self.assert_close(scene.evaluated_positions(mesh), expected)

    def test_stays_on_when_a_bake_fails(self):
        settings = self.scene.armature.mmdskin
        settings.preview = True
        bpy.context.scene.frame_set(4)
        with case.unchanged(self):
            with self.assertRaises(RuntimeError):
                self.bake("MESH_CACHE", folder="/proc")
            self.assertTrue(settings.preview)
