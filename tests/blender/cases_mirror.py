# SPDX-License-Identifier: GPL-3.0-or-later
"""Mirrored poses and flipped sliders, whatever the language of the names and the rolls of the bones."""

import sys

import bpy
import case
import imported
import numpy as np
import scene
from cases_motion import rig
from cases_panel import redraw
from cases_sliders import morph
from files import pmx_file
from mathutils import Euler, Vector

MIRROR = np.diag([-1.0, 1, 1, 1])  # about the plane x = 0 of the armature
SLIDERS = {"ウィンク": 0.7, "ウィンク右": 0.2, "ｳｨﾝｸ２右": 0.4, "ウィンク２": 0.0, "まばたき": 0.3}
FLIPPED = {"ウィンク": 0.2, "ウィンク右": 0.7, "ｳｨﾝｸ２右": 0.0, "ウィンク２": 0.4, "まばたき": 0.3}
HANDS = {"左手開": 0.9, "右手開": 0.1}  # bone morphs


class Mirrored(imported.Case):
    def setUp(self):
        super().setUp()
        self.pmx = rig()
        sides = [
            pmx_file.Bone("右ひじ", position=(-4, 10, 0), parent=4, tail_offset=(-4, -1, 1)),
            pmx_file.Bone("左足", position=(1, 8, 0.1), parent=0),
        ]
        self.pmx.bones[4] = pmx_file.Bone("右腕", position=(0, 10, 0), parent=0)
        self.pmx.bones[1].tail_offset, self.pmx.bones[4].tail_offset = (4, 0.3, 0), (-4, 0.3, 0)
        self.pmx.bones[2].tail_offset = 4, -1, 1
        self.pmx.bones += sides
        self.pmx.morphs = [
            morph(name, "vertex", [number], [(0.1, 0.2, 0)], panel=2)
            for number, name in enumerate(SLIDERS)
        ]
        self.pmx.morphs += [morph(name, "bone", [2], [(0, 0, 0, 0, 0.6, 0, 0.8)]) for name in HANDS]

    def load_model(self, path=None, **options):
        self.model = self.load(path or self.write(self.pmx), constraints=False, **options)
        self.armature, self.mesh = self.model.armature, self.model.mesh
        scene.select(self.armature)

    def keys(self):
        return self.mesh.data.shape_keys.key_blocks

    def set(self):
        for key, value in zip(self.names(), SLIDERS.values(), strict=True):
            self.keys()[key].value = value
        for name, value in HANDS.items():
            self.armature[name] = value

    def names(self):
        """The names of the shape keys, in the file's order."""
        found = self.keys().keys()
        return [name for name in found if not name.startswith(("Basis", "mmd_"))]

    def assert_flipped(self):
        values = [self.keys()[name].value for name in self.names()]
        self.assert_close(values, list(FLIPPED.values()))
        self.assert_close([self.armature[name] for name in HANDS], [0.1, 0.9])

    def pose(self, seed=3):
        random = np.random.default_rng(seed)
        for bone in self.armature.pose.bones:
            bone.rotation_mode = "QUATERNION"
            bone.rotation_quaternion = Euler(random.uniform(-0.6, 0.6, 3)).to_quaternion()
            bone.location = Vector(random.uniform(-0.02, 0.02, 3))
        bpy.context.view_layer.update()

    def moved(self):
        """{bone: its matrix from rest to pose, in the armature}."""
        bpy.context.view_layer.update()
        return {
            bone.name: np.array(bone.matrix @ bone.bone.matrix_local.inverted())
            for bone in self.armature.pose.bones
        }

    def assert_mirrored(self, before, after, columns=4):
        """Every bone whose ancestors all have their mirror image: others have nothing to be equal to."""
        checked = [name for name in after if self.is_symmetric(self.armature.data.bones[name])]
        for name in checked:
            expected = MIRROR @ before[self.other(name)] @ MIRROR
            self.assert_close(after[name][:3, :columns], expected[:3, :columns], 1e-4, name)
        return checked

    def is_symmetric(self, bone):
        other = self.armature.data.bones[self.other(bone.name)]
        if (bone == other) == bone.name.endswith((".L", ".R")):
            return False
        if bone.parent is None or other.parent is None:
            return bone.parent == other.parent
        return self.other(bone.parent.name) == other.parent.name and self.is_symmetric(bone.parent)

    def other(self, name):
        """The bone on the other side, by Blender's suffixes, which every import has."""
        turned = {".L": ".R", ".R": ".L"}
        for side, flipped in turned.items():
            if name.endswith(side) and name[:-2] + flipped in self.armature.pose.bones:
                return name[:-2] + flipped
        return name


class FlipSliders(Mirrored):
    def test_exchange_both_sides(self):
        for language in ("JAPANESE", "ENGLISH"):
            self.load_model(names=language)
            self.set()
            self.assertEqual(bpy.ops.mmdskin.flip_sliders(), {"FINISHED"})
            self.assert_flipped()
            scene.clear()

    def test_show_what_they_say(self):
        """The property of a bone morph moves its bone at once."""
        self.load_model()
        self.armature["左手開"] = 1.0
        self.armature.update_tag()
        before = self.moved()["ひじ.L"]
        bpy.ops.mmdskin.flip_sliders()
        self.assertEqual(self.armature["右手開"], 1.0)
        self.assert_close(self.moved()["ひじ.L"], before)  # both move the same bone here

    def test_bones_stay(self):
        self.load_model()
        self.pose()
        before = self.moved()
        self.set()
        bpy.ops.mmdskin.flip_sliders()
        for name in HANDS:
            self.armature[name] = 0.0
        self.armature.update_tag()
        for name, matrix in self.moved().items():
            self.assert_close(matrix, before[name])

    def test_undone(self):
        self.load_model()
        self.set()
        bpy.ops.ed.undo_push(message="before")
        bpy.ops.mmdskin.flip_sliders()
        bpy.ops.ed.undo_push(message="flipped")
        bpy.ops.ed.undo()
        keys = next(mesh for mesh in bpy.data.meshes if mesh.shape_keys).shape_keys.key_blocks
        self.assertAlmostEqual(keys["ウィンク"].value, 0.7)
        self.assertAlmostEqual(keys["ウィンク右"].value, 0.2)

    def test_keyed_with_auto_keying(self):
        self.load_model()
        self.set()
        tools = bpy.context.scene.tool_settings
        tools.use_keyframe_insert_auto = True
        self.addCleanup(setattr, tools, "use_keyframe_insert_auto", False)
        bpy.context.scene.frame_set(5)
        self.set()
        bpy.ops.mmdskin.flip_sliders()
        bpy.context.scene.frame_set(9)
        bpy.context.scene.frame_set(5)
        self.assert_flipped()

    def test_of_a_model_without_records_by_its_shape_keys(self):
        scene.clear()
        pmx = case.small_model()
        pmx.morphs = [
            morph(name, "vertex", [number], [(0.1, 0.2, 0)]) for number, name in enumerate(SLIDERS)
        ]
        other = scene.Scene(pmx)
        self.mesh = other.mesh
        for name, value in SLIDERS.items():
            self.keys()[name].value = value
        scene.select(other.mesh)
        bpy.ops.mmdskin.flip_sliders()
        self.assert_close([self.keys()[name].value for name in FLIPPED], list(FLIPPED.values()))

    def test_are_offered_in_the_panel(self):
        self.load_model()
        drawn = redraw(self.mesh)
        for name in ("mmdskin.flip_sliders", "mmdskin.mirror_pose"):
            self.assertIn((name, None), drawn)


class MirrorPose(Mirrored):
    def test_mirrors_bones_and_sliders(self):
        for language in ("JAPANESE", "ENGLISH"):
            self.load_model(names=language)
            self.set()
            for name in HANDS:  # they would move the left elbow only
                self.armature[name] = 0.0
            self.pose()
            before = self.moved()
            self.assertEqual(bpy.ops.mmdskin.mirror_pose(), {"FINISHED"})
            self.assert_mirrored(before, self.moved())
            values = [self.keys()[name].value for name in self.names()]
            self.assert_close(values, list(FLIPPED.values()))
            bpy.ops.mmdskin.mirror_pose()
            for name, matrix in self.moved().items():
                self.assert_close(matrix, before[name], 1e-5)
            scene.clear()

    def test_selected_bones_in_pose_mode(self):
        self.load_model()
        self.pose()
        bpy.ops.object.mode_set(mode="POSE")
        self.addCleanup(bpy.ops.object.mode_set, mode="OBJECT")
        bpy.ops.pose.select_all(action="DESELECT")
        bone = self.armature.pose.bones["腕.L"]
        (bone if hasattr(bone, "select") else bone.bone).select = True
        channels = {b.name: b.matrix_basis.copy() for b in self.armature.pose.bones}
        bpy.ops.mmdskin.mirror_pose()
        changed = [b.name for b in self.armature.pose.bones if b.matrix_basis != channels[b.name]]
        self.assertEqual(sorted(changed), ["腕.L", "腕.R"])

    def test_a_bone_without_another_side_keeps_its_channels(self):
        self.load_model()
        self.pose()
        wrist, center = (self.armature.pose.bones[name] for name in ("手首.L", "センター"))
        before = wrist.matrix_basis.copy(), center.matrix_basis.copy()
        bpy.ops.mmdskin.mirror_pose()
        self.assertEqual(wrist.matrix_basis, before[0])
        self.assertNotEqual(center.matrix_basis, before[1])

    def test_keyed_with_auto_keying(self):
        self.load_model()
        tools = bpy.context.scene.tool_settings
        tools.use_keyframe_insert_auto = True
        self.addCleanup(setattr, tools, "use_keyframe_insert_auto", False)
        bpy.context.scene.frame_set(5)
        self.pose()
        before = self.moved()
        bpy.ops.mmdskin.mirror_pose()
        bpy.context.scene.frame_set(9)
        bpy.context.scene.frame_set(5)
        self.assert_mirrored(before, self.moved())

    def test_other_rotation_modes(self):
        self.load_model()
        self.pose()
        for bone, mode in zip(
            self.armature.pose.bones, 4 * ("XYZ", "AXIS_ANGLE", "ZYX"), strict=False
        ):
            bone.rotation_mode = mode
        before = self.moved()
        bpy.ops.mmdskin.mirror_pose()
        self.assert_mirrored(before, self.moved())

    def test_of_a_linked_model_asks_for_an_override(self):
        self.load_model()
        path = f"{self.folder}/library.blend"
        bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
        scene.clear()
        with bpy.data.libraries.load(path, link=True) as (there, here):
            here.objects = there.objects
        for obj in here.objects:
            bpy.context.scene.collection.objects.link(obj)
        scene.select(next(obj for obj in here.objects if obj.type == "MESH"))
        for operator in (bpy.ops.mmdskin.mirror_pose, bpy.ops.mmdskin.flip_sliders):
            with self.assertRaisesRegex(RuntimeError, "make a library override first"):
                operator()

    def test_real_models(self):
        for name in ("初音ミク.pmx", "巡音ルカ.pmx", "miku_v2.pmd"):
            self.load_model(case.shared_model(name))
            self.pose()
            before = self.moved()
            bpy.ops.mmdskin.mirror_pose()
            after = self.moved()
            checked = self.assert_mirrored(before, after, columns=3)
            both = [bone for bone in checked if self.other(bone) != bone]
            self.assertGreater(len(both), 60, name)
            scene.clear()


class Sides(imported.Case):
    def pairs(self, *names, kind="morphs"):
        return sys.modules["addon_package"].scene.names.side_pairs(names, kind)

    def test_are_found(self):
        for left, right in (
            ("左ウィンク", "右ウィンク"),
            ("ウィンク", "ウィンク右"),
            ("ウインク２", "ｳｨﾝｸ２右"),
            ("wink.L", "wink.R"),
            ("Wink Left", "Wink Right"),
            ("目_L", "目_R"),
            ("口角左上げ", "口角右上げ"),
        ):
            self.assertEqual(self.pairs(left, "まばたき", right), {left: right, right: left})

    def test_are_one_to_one(self):
        self.assertEqual(
            self.pairs("ウィンク", "左ウィンク", "右ウィンク"),
            {"左ウィンク": "右ウィンク", "右ウィンク": "左ウィンク"},
        )
        self.assertEqual(self.pairs("ウィンク", "まばたき", "左手"), {})
