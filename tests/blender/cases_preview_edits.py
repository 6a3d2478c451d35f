# SPDX-License-Identifier: GPL-3.0-or-later
"""Live while rig and modifiers are edited: a change shows at once, or the panel says why it cannot."""

import bpy
import case
import numpy as np
import scene
from keyed_physics import Keyed, addon
from live import BAR, Live


class Rig(Live):
    def test_a_bone_that_deforms_no_longer(self):
        """What only it moved stays at rest, as Blender has it."""
        before = scene.evaluated_positions(self.mesh)
        bone = self.armature.data.bones["ひじ.L"]
        bone.use_deform = False
        shown = scene.evaluated_positions(self.mesh)
        self.assertGreater(np.abs(shown - before).max(), 0.1)
        elbow = self.mesh.vertex_groups["ひじ.L"].index
        alone = [
            vertex.index
            for vertex in self.mesh.data.vertices
            if any(entry.group == elbow and entry.weight > 0.999 for entry in vertex.groups)
        ]
        self.assertGreater(len(alone), 10)
        rest = np.empty(3 * len(shown), np.float32)
        self.mesh.data.shape_keys.reference_key.data.foreach_get("co", rest)
        self.assert_close(shown[alone], rest.reshape(-1, 3)[alone], BAR)
        bone.use_deform = True
        self.assert_close(scene.evaluated_positions(self.mesh), before, 0)

    def test_a_bone_that_deforms_now(self):
        """The driver waits for it, too."""
        bone = self.armature.data.bones["ひじ.L"]
        self.armature.mmdskin.preview = False
        bone.use_deform = False
        self.armature.mmdskin.preview = True
        bone.use_deform = True
        for frame in (4, 9):
            bpy.context.scene.frame_set(frame)
            self.assert_live()


class Modifiers(Live):
    def test_one_above_the_others_is_named(self):
        for kind in ("DISPLACE", "SUBSURF", "MIRROR"):
            extra = self.mesh.modifiers.new("extra", kind)
            for place, below in ((0, "mmd_armature"), (1, "MMD Skin")):
                with self.subTest(kind, below=below):
                    self.move(extra, place)
                    self.assert_plain()
                    expected = f"Modifier 'extra' of 'model_mesh' is above '{below}': move it below"
                    expected = expected if place else expected.replace(below, "MMD Skin")
                    self.assertEqual(case.live_errors(), [expected])
                    model = addon().scene.scene_model.model_of(self.mesh, bpy.context.view_layer)
                    self.assertEqual(addon().preview.switch.problem_of(model), expected)
            self.move(extra, 2)
            scene.evaluated_positions(self.mesh)
            self.assertEqual(case.live_errors(), [])
            self.mesh.modifiers.remove(extra)
            self.assert_live()

    def test_one_that_moves_no_vertex_may_be_anywhere(self):
        extra = self.mesh.modifiers.new("extra", "VERTEX_WEIGHT_EDIT")
        for place in (0, 1):
            self.move(extra, place)
            self.assert_live()

    def test_one_that_is_off_may_be_anywhere(self):
        extra = self.mesh.modifiers.new("extra", "DISPLACE")
        extra.show_viewport = extra.show_render = False
        for place in (0, 1):
            self.move(extra, place)
            self.assert_live()

    def test_one_between_two_armatures_is_refused(self):
        self.armature.mmdskin.preview = False
        second = self.mesh.modifiers.new("second", "ARMATURE")
        second.object, second.use_multi_modifier = self.armature, True
        extra = self.mesh.modifiers.new("extra", "DISPLACE")
        self.move(extra, 1)
        with self.assertRaisesRegex(RuntimeError, "'extra' of 'model_mesh' is above 'second'"):
            bpy.ops.mmdskin.preview()
        self.assertFalse(self.armature.mmdskin.preview)

    def move(self, modifier, place):
        addon().blender.blender_versions.move_modifier(self.mesh, modifier, place)


class Bones(Keyed):
    """The bones are edited while a motion file, MMD's IK or the armature pose the mesh."""

    def show(self, source):
        self.settings.physics = False
        self.settings.motion_path, self.settings.motion_start = self.motion_path, 0
        self.settings.source, self.settings.preview = source, True
        bpy.context.scene.frame_set(11)
        scene.select(self.armature)
        return scene.evaluated_positions(self.mesh)

    def test_edit_mode_shows_the_rest_pose(self):
        rest = scene.in_blender(self.pmx.positions)
        for source in ("MOTION", "IK", "ARMATURE"):
            with self.subTest(source):
                before = self.show(source)
                self.assertGreater(np.abs(before - rest).max(), 0.01)
                bpy.ops.object.mode_set(mode="EDIT")
                for frame in (11, 5):
                    self.assert_close(scene.evaluated_positions(self.mesh), rest, BAR)
                    bpy.context.scene.frame_set(frame)
                bpy.context.scene.frame_set(11)
                bpy.ops.object.mode_set(mode="OBJECT")
                self.assert_close(scene.evaluated_positions(self.mesh), before, 0)

    def test_show_pose_on_bones_shows_the_rest_pose_in_edit_mode(self):
        self.show("MOTION")
        bpy.ops.mmdskin.show_pose()
        display = addon().attach.display_armature.find(self.armature)
        scene.select(self.armature)
        bpy.context.view_layer.update()
        self.assertGreater(self.turned(display), 0.01)
        bpy.ops.object.mode_set(mode="EDIT")
        self.assertLess(self.turned(display), 1e-5)
        bpy.ops.object.mode_set(mode="OBJECT")
        self.assertGreater(self.turned(display), 0.01)

    def turned(self, display):
        """How far its bones are from their rest places."""
        shown = display.evaluated_get(bpy.context.evaluated_depsgraph_get())
        return max(
            (bone.matrix.translation - bone.bone.matrix_local.translation).length
            for bone in shown.pose.bones
        )

    def test_a_pose_applied_as_rest_shows_at_once_with_a_motion_file(self):
        self.assert_rest_pose_is_read_again("MOTION")

    def test_a_pose_applied_as_rest_shows_at_once_with_mmds_ik(self):
        self.assert_rest_pose_is_read_again("IK")

    def assert_rest_pose_is_read_again(self, source):
        """The bones are no longer where those of the file are: the panel says so."""
        before = self.show(source)
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.pose.armature_apply(selected=False)
        bpy.ops.object.mode_set(mode="OBJECT")
        shown = scene.evaluated_positions(self.mesh)
        self.assertGreater(np.abs(shown - before).max(), 0.01)
        self.assertRegex(" ".join(case.live_errors()), "does not match")
        self.mesh.modifiers["MMD Skin"].show_viewport = False
        self.assert_close(shown, scene.evaluated_positions(self.mesh), 0)
