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
from cases_bake_range import forget_file
from cases_retarget import LIMBS, Retargeting, assert_driven, dancer
from files import pmx_file


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

    def test_an_armature_that_is_chosen_last_is_followed(self):
        self.armature.mmdskin.driving_rig, self.armature.mmdskin.source = None, "IK"
        self.armature.mmdskin.preview = True
        self.armature.mmdskin.source = "RIG"
        bpy.context.view_layer.update()
        self.assertRegex(case.live_errors()[0], "choose the armature that drives the model")
        before = self.shown()
        self.armature.mmdskin.driving_rig = self.rig
        bpy.context.view_layer.update()
        self.assertEqual(case.live_errors(), [])
        self.assertGreater(np.abs(self.shown() - before).max(), 0.02)
        self.assert_follows()

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


class Together(Retargeting):
    """Two of her with hair: one dances like another armature, the other one has own keys."""

    def setUp(self):
        super().setUp()
        scene.clear()
        pmx = dancer()
        head = next(i for i, bone in enumerate(pmx.bones) if bone.name == "頭")
        top = np.array(pmx.bones[head].position)
        pmx.bones.append(pmx_file.Bone("髪", position=tuple(top + (0, 1, 1)), parent=head))
        pmx.bone_indices[-30:, 0] = len(pmx.bones) - 1
        free = {"rotation_lower": (1, 1, 1), "rotation_upper": (-1, -1, -1)}
        pmx.rigid_bodies = [
            pmx_file.RigidBody("頭", bone=head, position=tuple(top), mask=0),
            pmx_file.RigidBody(
                "髪", bone=len(pmx.bones) - 1, position=tuple(top + (0, 0, 1)), mode=1, mask=0
            ),
        ]
        hung = tuple(top + (0, 1, 1))
        pmx.joints = [pmx_file.Joint("髪", body_a=0, body_b=1, position=hung, **free)]
        path = self.write(pmx)
        found = [self.load(path), self.load(path)]
        self.armatures = [model.armature for model in found]
        self.meshes = [model.mesh for model in found]
        self.rig = humanoids.fk_rig()
        for frame in (1, 5, 9):
            humanoids.pose(self.rig, frame, degrees=20)
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 9
        bpy.ops.wm.save_as_mainfile(filepath=os.path.join(self.folder, "踊り.blend"))
        self.addCleanup(forget_file)
        self.armatures[0].mmdskin.driving_rig = self.rig
        for armature, source in zip(self.armatures, ("RIG", "IK"), strict=True):
            armature.mmdskin.source, armature.mmdskin.physics = source, True
            armature.mmdskin.preview = True
        scene.select(self.meshes[0])

    def shown(self, frame):
        bpy.context.scene.frame_set(frame)
        found = [scene.evaluated_positions(mesh) for mesh in self.meshes]
        self.assertEqual(case.live_errors(), [])
        return found

    def together(self):
        scene.select(self.meshes[0])
        self.meshes[1].select_set(True)
        self.assertEqual(bpy.ops.mmdskin.simulate_together(), {"FINISHED"})
        self.assertEqual(bpy.ops.mmdskin.simulate(), {"FINISHED"})

    def test_hair_moves_as_that_of_the_model_alone(self):
        """Nothing touches."""
        bpy.ops.mmdskin.simulate()
        alone = {frame: self.shown(frame)[0] for frame in (3, 9)}
        self.together()
        names = {armature.mmdskin.physics_group for armature in self.armatures}
        self.assertEqual(len(names - {""}), 1)
        for frame, expected in alone.items():
            self.assert_close(self.shown(frame)[0], expected, 1e-4, frame)
        self.assertEqual(case.physics_problems(), [])
        self.armatures[0].mmdskin.physics = False
        self.assertGreater(np.abs(self.shown(9)[0] - alone[9]).max(), 0.01)

    def test_the_other_armatures_keyframes_count_for_both_models(self):
        self.together()
        self.shown(3)
        self.assertEqual(case.physics_problems(), [])
        humanoids.pose(self.rig, 7, degrees=20)
        self.shown(3)
        problems = case.physics_problems()
        self.assertEqual(len(problems), 2)
        for problem in problems:
            self.assertRegex(problem, "have changed since the simulation")
