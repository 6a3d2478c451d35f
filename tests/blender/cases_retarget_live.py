# SPDX-License-Identifier: GPL-3.0-or-later
"""Another armature as pose source: it drives her live, in bakes and in exports."""

import os
import sys

import bpy
import case
import humanoids
import imported
import numpy as np
import scene
from cases_retarget import LIMBS, Retargeting, assert_driven


class AnotherArmature(Retargeting):
    """Another armature drives her, live: her limbs have its directions in every evaluation."""

    def setUp(self):
        super().setUp()
        self.rig = humanoids.fk_rig()
        humanoids.pose(self.rig, 1, degrees=20)
        humanoids.pose(self.rig, 9, degrees=20)
        self.armature.mmdskin.driving_rig = self.rig
        self.armature.mmdskin.source = "RIG"
        self.mesh = next(obj for obj in self.armature.children if obj.type == "MESH")
        scene.select(self.armature)

    def test_the_mesh_follows_and_bakes_have_the_same(self):
        self.armature.mmdskin.preview = True
        self.assertEqual(case.live_errors(), [])
        shown = {}
        for frame in (1, 5, 9):
            bpy.context.scene.frame_set(frame)
            shown[frame] = imported.read(
                self.mesh.evaluated_get(bpy.context.evaluated_depsgraph_get()).data.vertices,
                "co",
                3,
            )
            self.assert_follows()
        self.assertGreater(np.abs(shown[1] - shown[9]).max(), 0.1)
        self.assertEqual(case.live_errors(), [])
        bpy.ops.mmdskin.bake(target="SHAPE_KEYS", range="CUSTOM", frame_start=5, frame_end=5)
        bpy.context.scene.frame_set(5)
        self.assert_close(self.shown(), shown[5], 1e-4)

    def test_posing_the_armature_moves_the_mesh_in_the_same_evaluation(self):
        self.armature.mmdskin.preview = True
        before = self.shown()
        arm = self.rig.pose.bones["mixamorig:LeftArm"]
        arm.rotation_euler.x += 0.5
        bpy.context.view_layer.update()
        after = self.shown()
        self.assertGreater(np.abs(after - before).max(), 0.02)
        self.assert_follows()
        bpy.ops.mmdskin.preview(action="DISABLE")
        bpy.ops.mmdskin.preview(action="ENABLE")
        self.assert_close(self.shown(), after, 1e-5)
        self.assertEqual(case.live_errors(), [])

    def test_a_changed_map_is_followed(self):
        self.armature.mmdskin.preview = True
        before = self.shown()
        scene.select(self.rig)
        bpy.ops.mmdskin.map_bones()
        self.rig.mmdskin.bone_map["leftShoulder"].bone = ""
        bpy.context.view_layer.update()
        self.assertGreater(np.abs(self.shown() - before).max(), 1e-3)
        self.assertEqual(case.live_errors(), [])

    def shown(self):
        obj = self.mesh.evaluated_get(bpy.context.evaluated_depsgraph_get())
        return imported.read(obj.data.vertices, "co", 3)

    def assert_follows(self):
        names = {
            start: (end, *(f"mixamorig:{bone}" for bone in bones))
            for start, (end, *bones) in LIMBS.items()
        }
        expected = assert_driven(self, self.rig, names)
        # D bones append from the legs of the rig, although MMD's IK of legs is off.
        np.testing.assert_allclose(expected["左ひざD"], expected["左ひざ"], atol=1e-4)
        np.testing.assert_allclose(expected["左足ＩＫ"], expected["左足首"], atol=1e-4)

    def test_following_takes_all_bones_at_once(self):
        """`make bench` times a frame; here, the calls of Python functions are counted."""
        addon = sys.modules["addon_package"]
        depsgraph = bpy.context.evaluated_depsgraph_get()
        armature = self.armature.evaluated_get(depsgraph)
        pmx = addon.scene.model_file.rig(self.armature).pmx
        rig = addon.pose.driving_rig.DrivingRig(armature, pmx)
        local = np.zeros((len(pmx.bones), 3)), np.zeros((len(pmx.bones), 4))
        rig.apply(rig.pose(armature), *local)
        calls = []
        sys.setprofile(lambda frame, event, _: calls.append(event))
        try:
            rig.apply(rig.pose(armature), *local)
        finally:
            sys.setprofile(None)
        self.assertLess(calls.count("call"), 1200)  # about 780

    def test_its_export_has_the_solved_pose(self):
        path = os.path.join(self.folder, "out.vmd")
        bpy.context.scene.frame_end = 9
        bpy.ops.mmdskin.export_motion(filepath=path, range="SCENE")
        module = sys.modules["addon_package"].blender.native.load()
        tracks = {track.name for track in module.load_motion(path).bones if len(track.frames) > 1}
        self.assertLessEqual({"左腕", "右ひじ", "左足", "左足ＩＫ"}, tracks)

    def test_without_an_armature_it_says_what_to_choose(self):
        self.armature.mmdskin.driving_rig = None
        with self.assertRaisesRegex(RuntimeError, "choose the armature that drives the model"):
            bpy.ops.mmdskin.bake(target="SHAPE_KEYS")
