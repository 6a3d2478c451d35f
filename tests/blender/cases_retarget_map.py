# SPDX-License-Identifier: GPL-3.0-or-later
"""The map of an armature's bones: found, shown, changed, kept."""

import os
import sys

import bpy
import case
import humanoids
import scene
from mathutils import Matrix


class BoneMap(case.unittest.TestCase):
    def setUp(self):
        scene.clear()
        self.rig = humanoids.fk_rig()
        scene.select(self.rig)

    def mapped(self):
        return {item.name: item.bone for item in self.rig.mmdskin.bone_map if item.bone}

    def doubts(self):
        return {item.name for item in self.rig.mmdskin.bone_map if item.doubt}

    def test_automatic_finds_the_bones_by_name(self):
        self.assertEqual(bpy.ops.mmdskin.map_bones(), {"FINISHED"})
        expected = {
            "hips": "Hips",
            "spine": "Spine",
            "upperChest": "Spine2",
            "neck": "Neck",
            "head": "Head",
            **{
                side.lower() + slot: side + bone
                for side in ("Left", "Right")
                for slot, bone in (
                    ("Shoulder", "Shoulder"),
                    ("UpperArm", "Arm"),
                    ("LowerArm", "ForeArm"),
                    ("Hand", "Hand"),
                    ("IndexProximal", "HandIndex1"),
                    ("IndexIntermediate", "HandIndex2"),
                    ("UpperLeg", "UpLeg"),
                    ("LowerLeg", "Leg"),
                    ("Foot", "Foot"),
                    ("Toes", "ToeBase"),
                )
            },
        }
        prefixed = {slot: f"mixamorig:{bone}" for slot, bone in expected.items()}
        self.assertEqual(self.mapped(), prefixed)
        self.assertEqual(self.doubts(), set())

    def test_a_wrong_bone_is_doubtful_until_it_is_changed(self):
        bpy.ops.mmdskin.map_bones()
        hand = self.rig.mmdskin.bone_map["leftHand"]
        hand.bone = "mixamorig:LeftLeg"
        self.assertIn("leftHand", self.doubts())
        hand.bone = "mixamorig:LeftHand"
        self.assertEqual(self.doubts(), set())
        hand.bone = ""
        self.assertEqual(self.doubts(), {"leftHand"})

    def test_the_spine_is_bounded_by_two_rows(self):
        bpy.ops.mmdskin.map_bones()
        self.rig.mmdskin.bone_map["spine"].bone = "mixamorig:Spine1"
        skeletons = sys.modules["addon_package"].scene.skeletons
        found = skeletons.skeleton(self.rig, skeletons.world(self.rig))
        names = [found.names[bone] for bone in found.spine]
        self.assertEqual(names, ["mixamorig:Spine1", "mixamorig:Spine2"])
        self.assertEqual(self.doubts(), set())
        self.rig.mmdskin.bone_map["spine"].bone = "mixamorig:LeftArm"
        self.assertEqual(self.doubts(), {"spine"})

    def test_mirror_maps_the_right_as_the_left(self):
        bpy.ops.mmdskin.map_bones()
        items = self.rig.mmdskin.bone_map
        items["rightHand"].bone = items["rightFoot"].bone = ""
        items["leftToes"].bone = "mixamorig:LeftToe_End"
        self.assertEqual(bpy.ops.mmdskin.mirror_bone_map(), {"FINISHED"})
        self.assertEqual(items["rightHand"].bone, "mixamorig:RightHand")
        self.assertEqual(items["rightFoot"].bone, "mixamorig:RightFoot")
        self.assertEqual(items["rightToes"].bone, "mixamorig:RightToe_End")

    def test_saved_and_loaded(self):
        bpy.ops.mmdskin.map_bones()
        self.rig.mmdskin.bone_map["leftToes"].bone = "mixamorig:LeftToe_End"
        before = self.mapped()
        path = os.path.join(case.folder(self), "map.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.ops.wm.open_mainfile(filepath=path)
        self.rig = bpy.data.objects["humanoid"]
        self.assertEqual(self.mapped(), before)

    def test_an_armature_that_would_shear_its_bones_is_refused(self):
        bpy.ops.mmdskin.map_bones()
        before = self.mapped()
        self.rig.matrix_world = Matrix.Diagonal((1, 2, 1, 1))
        bpy.context.view_layer.update()
        with self.assertRaisesRegex(RuntimeError, "apply its scale first"):
            bpy.ops.mmdskin.map_bones()
        self.assertEqual(self.mapped(), before)
