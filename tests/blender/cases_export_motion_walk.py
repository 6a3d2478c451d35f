# SPDX-License-Identifier: GPL-3.0-or-later
"""A walk that is keyed by hand in Blender plays the same in MMD: exported, imported again, posed.

Each bone has vertices of its own with full weight, so that Blender's mesh judges all poses. Keys of
the exported file are read by mmd_tools, and posed by the native module.
"""

import importlib
import math
import os
import sys

import bpy
import imported
import numpy as np
import scene
from files import pmx_file
from mathutils import Vector

FRAMES = range(1, 29)
KEYS = range(1, 29, 3)  # ten
TOLERANCE = 0.02  # units
KEYED = ("センター", "上半身", *(a + b for a in "左右" for b in ("腕", "ひじ", "足ＩＫ")))
LEG = ("足", "ひざ", "足首")
KNEE = pmx_file.IKLink(0, (-math.pi, 0, 0), (-math.radians(0.5), 0, 0))


def walker():
    """Hips, chest, arms and legs with IK on the feet; four vertices on each bone."""
    pmx = pmx_file.PMX(2.0, "歩く人")
    add = pmx.bones.append
    add(pmx_file.Bone("センター", position=(0, 8, 0)))
    add(pmx_file.Bone("上半身", position=(0, 11, 0), parent=0))
    for side, x in (("左", 1.0), ("右", -1.0)):
        at = len(pmx.bones)
        add(pmx_file.Bone(side + "腕", position=(1.5 * x, 14, 0), parent=1))
        add(pmx_file.Bone(side + "ひじ", position=(3.8 * x, 12, 0), parent=at))
        add(pmx_file.Bone(side + "足", position=(x, 10, 0), parent=0))
        add(pmx_file.Bone(side + "ひざ", position=(x, 5.6, -0.3), parent=at + 2))
        add(pmx_file.Bone(side + "足首", position=(x, 1.4, 0.1), parent=at + 3))
        knee = pmx_file.IKLink(at + 3, KNEE.lower, KNEE.upper)
        ik = pmx_file.IK(at + 4, 40, 2.0, [knee, pmx_file.IKLink(at + 2)])
        add(pmx_file.Bone(side + "足ＩＫ", position=(x, 1.4, 0.1), ik=ik))
        for number, tail in ((at, at + 1), (at + 2, at + 3), (at + 3, at + 4)):
            pmx.bones[number].tail_bone, pmx.bones[number].tail_offset = tail, None
    corners = 0.5 * np.float32([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)])
    heads = np.float32([bone.position for bone in pmx.bones])
    count = 4 * len(heads)
    pmx.positions = (heads[:, None] + corners).reshape(count, 3)
    pmx.normals = np.tile(corners * np.float32(2 / math.sqrt(3)), (len(heads), 1))
    pmx.uvs, pmx.additional_uvs = np.zeros((count, 2), "f4"), np.zeros((count, 0, 4), "f4")
    pmx.deform, pmx.edge_scales = np.zeros(count, np.uint8), np.ones(count, np.float32)
    pmx.bone_indices = np.full((count, 4), -1, np.int32)
    pmx.bone_indices[:, 0] = np.repeat(np.arange(len(heads)), 4)
    pmx.bone_weights = np.tile(np.float32([1, 0, 0, 0]), (count, 1))
    pmx.sdef = np.zeros((count, 3, 3), np.float32)
    faces = np.int32([(0, 1, 2), (0, 2, 3), (0, 3, 1), (1, 3, 2)])
    pmx.triangles = (4 * np.arange(len(heads))[:, None, None] + faces).reshape(-1, 3)
    pmx.materials = [pmx_file.Material("肌", index_count=pmx.triangles.size)]
    return pmx


class WalkCase(imported.Case):
    def setUp(self):
        super().setUp()
        scene_ = bpy.context.scene
        scene_.render.fps, scene_.use_preview_range = 30, False
        scene_.frame_start, scene_.frame_end = FRAMES[0], FRAMES[-1]
        self.path = self.write(walker(), "歩く人.pmx")
        self.out = os.path.join(self.folder, "歩き.vmd")
        self.native = sys.modules["addon_package"].blender.native.load()
        self.model = self.model_of_scene()

    def model_of_scene(self):
        return self.load(self.path)

    def bone(self, name):
        name = name[1:] + {"左": ".L", "右": ".R"}[name[0]] if name[0] in "左右" else name
        return self.model.armature.pose.bones[name]

    def walk(self):
        """Ten keys on FK and IK, with Blender's own handles."""
        for number, frame in enumerate(KEYS):
            phase = 2 * math.pi * number / (len(KEYS) - 1)
            self.place("センター", frame, (0, -0.2 * frame / 3, -0.5 - 0.2 * math.cos(2 * phase)))
            self.turn("上半身", frame, "XYZ", (0.1, 0.3 * math.sin(phase), 0))
            for side, way in (("左", 1), ("右", -1)):
                swing = way * math.sin(phase)
                forward = -0.2 * frame / 3 - 2 * swing
                lift = max(0, way * math.cos(phase))
                self.place(side + "足ＩＫ", frame, (0, forward, 1.2 * lift))
                self.turn(side + "足ＩＫ", frame, "QUATERNION", (0.4 * lift, 0, 0))
                self.turn(side + "腕", frame, "QUATERNION", (0.1, -0.7 * swing, 0.2))
                self.turn(side + "ひじ", frame, "YXZ", (0.3, 0, way * (0.4 + 0.3 * swing)))

    def place(self, name, frame, offset):
        """Moves a bone by an offset in units, in the armature's axes, and keys it."""
        bone = self.bone(name)
        axes = bone.bone.matrix_local.to_3x3()
        bone.location = axes.inverted() @ (scene.SCALE * Vector(offset))
        bone.keyframe_insert("location", frame=frame)

    def turn(self, name, frame, mode, angles):
        bone = self.bone(name)
        bone.rotation_mode = mode
        if mode == "QUATERNION":
            turned = [math.sin(a / 2) for a in angles]
            bone.rotation_quaternion = (math.sqrt(1 - sum(t * t for t in turned)), *turned)
            bone.keyframe_insert("rotation_quaternion", frame=frame)
        else:
            bone.rotation_euler = angles
            bone.keyframe_insert("rotation_euler", frame=frame)

    def shown(self):
        """(F, V, 3) what Blender shows, in units."""
        found = []
        for frame in FRAMES:
            bpy.context.scene.frame_set(frame)
            found.append(scene.in_file(scene.evaluated_positions(self.model.mesh)))
        return np.array(found)

    def exported(self, **options):
        scene.select(self.model.armature)
        options = {"filepath": self.out, "model_path": self.path, **options}
        self.assertEqual(bpy.ops.mmdskin.export_motion(**options), {"FINISHED"})

    def posed(self, motion, **options):
        model = self.native.load_model(self.path)
        pose = model.pose(motion, np.arange(len(FRAMES), dtype=float), **options)
        return self.native.skin(model, pose, normals=False).positions

    def assert_alike(self, actual, expected, bar=TOLERANCE):
        miss = float(np.linalg.norm(actual - expected, axis=-1).max())
        self.assertLessEqual(miss, bar + 1e-4)

    def assert_ten_keys(self):
        self.walk()
        expected = self.shown()
        self.exported(bones="AS_KEYED")
        motion = self.native.load_motion(self.out)
        found = {track.name: (track.frames + 1).tolist() for track in motion.bones}
        self.assertEqual(found, {name: [*KEYS] for name in KEYED})
        # MMD's IK bends legs in another way than Blender's; all other bones are as in Blender.
        bones = walker().bones
        free = [i for i, bone in enumerate(bones) if not bone.name.endswith(LEG)]
        miss = np.linalg.norm(self.posed(motion) - expected, axis=-1)
        self.assertLessEqual(miss.reshape(len(FRAMES), -1, 4)[:, free].max(), TOLERANCE)
        self.assertLessEqual(miss.max(), 0.2)

    def fresh_model(self):
        """The scene's model replaced by a fresh one."""
        scene.clear()
        self.model = self.model_of_scene()
        bpy.context.scene.frame_set(FRAMES[0])
        scene.select(self.model.armature)


class Ours(WalkCase):
    def test_it_moves(self):
        self.walk()
        shown = self.shown()
        self.assertGreater(np.ptp(shown, axis=0).max(), 3)
        ankle = shown[:, 4 * 6 : 4 * 6 + 4].mean(1)
        goal = shown[:, 4 * 7 : 4 * 7 + 4].mean(1)
        self.assertLess(np.abs(ankle - goal).max(), 0.1)  # IK acts

    def test_posed_from_the_file_with_ik_on_and_off(self):
        self.walk()
        expected = self.shown()
        self.exported()
        motion = self.native.load_motion(self.out)
        self.assertTrue(motion.properties.ik_enabled.all())
        for options in ({}, {"ik": False}):
            self.assert_alike(self.posed(motion, **options), expected)

    def test_imported_again(self):
        self.walk()
        expected = self.shown()
        self.exported()
        # Blender interpolates each number of a quaternion by itself: docs/measurements.md
        for mode, bar in (("SOLVED", TOLERANCE), ("ORIGINAL", 0.05)):
            with self.subTest(mode=mode):
                self.fresh_model()
                bpy.ops.mmdskin.import_motion(filepath=self.out, model_path=self.path, mode=mode)
                self.assert_alike(self.shown(), expected, bar)

    def test_a_knee_bent_beyond_its_limits(self):
        knee = self.bone("左ひざ")
        knee.constraints["IK"].mute = True
        knee.rotation_mode = "XYZ"
        for frame, angle in ((1, 0), (10, 0.8), (20, -0.8), (28, 0)):
            across = knee.bone.matrix_local.to_3x3().inverted() @ Vector((angle, 0, 0))
            knee.rotation_euler = across
            knee.keyframe_insert("rotation_euler", frame=frame)
        expected = self.shown()
        self.exported()
        motion = self.native.load_motion(self.out)
        # IK bones move to where the legs end.
        legs = [v for v in range(expected.shape[1]) if v // 4 not in (7, 13)]
        for options in ({}, {"ik": False}):
            self.assert_alike(self.posed(motion, **options)[:, legs], expected[:, legs])

    def test_as_keyed_has_the_ten_keys_of_each_bone(self):
        self.assert_ten_keys()


class OfMmdTools(WalkCase):
    def setUp(self):
        tools = imported.MmdTools()
        tools.__enter__()
        self.addCleanup(tools.__exit__)
        self.addCleanup(scene.clear)
        self.tools = tools.module
        super().setUp()

    def model_of_scene(self):
        bpy.ops.mmd_tools.import_model(filepath=self.path, clean_model=False)
        return imported.Imported(bpy.context.view_layer.objects.active)

    def read(self):
        """The exported file by mmd_tools' reader."""
        file = importlib.import_module(f"{self.tools}.core.vmd").File()
        file.load(filepath=self.out)
        tracks = [
            self.native.BoneTrack(
                name,
                [key.frame_number for key in keys],
                [key.location for key in keys],
                [key.rotation for key in keys],
                np.uint8([key.interp for key in keys]).reshape(-1, 4, 16)[:, :, 0:16:4],
            )
            for name, keys in file.boneAnimation.items()
        ]
        return self.native.Motion.from_tracks(bones=tracks)

    def test_read_by_mmd_tools_with_ik_on_and_off(self):
        self.walk()
        expected = self.shown()
        self.exported()
        motion = self.read()
        for options in ({}, {"ik": False}):
            self.assert_alike(self.posed(motion, **options), expected)

    def test_as_keyed_has_the_ten_keys_of_each_bone(self):
        self.assert_ten_keys()

    def test_imported_again_by_mmd_tools(self):
        self.walk()
        expected = self.shown()
        paths = {
            bones: self.out.replace(".vmd", f"{bones}.vmd")
            for bones in ("SOLVED_BOTH", "SOLVED_FK")
        }
        for bones, path in paths.items():
            self.exported(bones=bones, filepath=path)
        for bones, path in paths.items():
            with self.subTest(bones=bones):
                self.fresh_model()
                folder, name = os.path.split(path)
                files = [{"name": name}]
                bpy.ops.mmd_tools.import_vmd(directory=folder, files=files, margin=0)
                self.assert_alike(self.shown(), expected, 0.05)
