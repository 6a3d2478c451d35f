# SPDX-License-Identifier: GPL-3.0-or-later
"""Show Pose on Bones: an armature has the pose that the mesh shows, whatever its source.

The judges are the mesh itself and `mmdskin.Model.pose`.
"""

from unittest import mock

import bpy
import case
import numpy as np
import scene
from case import addon
from cases_attach import BAR, BONES, FRAMES, Attached, new_empty
from mathutils import Vector


class ShowPose(Attached):
    """An armature with the pose of the mesh."""

    def show(self, action="ENABLE"):
        scene.select(self.mesh)
        self.assertEqual(bpy.ops.mmdskin.show_pose(action=action), {"FINISHED"})
        return next((obj for obj in bpy.data.objects if obj.name.endswith("_pose")), None)

    def aimed(self, display, bone):
        """A user's own object that copies where a bone of the armature is."""
        obj = new_empty("aimed")
        constraint = obj.constraints.new("CHILD_OF")
        constraint.target, constraint.subtarget = display, bone
        dg = bpy.context.evaluated_depsgraph_get()
        matrix = display.evaluated_get(dg).matrix_world @ (
            display.evaluated_get(dg).pose.bones[bone].matrix
        )
        constraint.inverse_matrix = matrix.inverted()
        obj.location = self.vertex(bone)
        return obj

    def assert_shown(self, display, frames=FRAMES):
        self.assert_follows({bone: self.aimed(display, bone) for bone in BONES}, frames)

    def test_a_motion_file(self):
        self.play_motion()
        display = self.show()
        self.assertEqual(
            set(display.pose.bones.keys()), {"MMD Skin", *self.armature.pose.bones.keys()}
        )
        self.assertTrue(display.visible_get())
        self.assert_shown(display)

    def test_an_update_costs_nothing_in_a_large_scene(self):
        """0.03 ms; a look at each of 10,000 objects would take 1 ms."""
        self.show()
        update = addon().attach.driver._update_drivers
        depsgraph = bpy.context.evaluated_depsgraph_get()
        (times,) = case.times_in_large_scene(self, lambda: update(bpy.context.scene, depsgraph))
        self.assertLess(times, 10)

    def test_it_follows_where_objects_and_data_have_other_names(self):
        display = self.show()
        all_displays = addon().attach.display_armature.all_displays
        self.assertEqual(all_displays(), [display])
        display.name = "renamed"
        self.assertEqual(all_displays(), [display])
        copy = display.copy()
        self.assertEqual(set(all_displays()), {display, copy})
        bpy.data.objects.remove(copy)
        self.assertEqual(all_displays(), [display])

    def test_mmds_ik(self):
        self.settings.source = "IK"
        self.settings.preview = True
        display = self.show()
        goal = self.armature.pose.bones["足ＩＫ.R"]
        arm = self.armature.pose.bones["腕.R"]
        for frame, height in ((0, 0.0), (12, 0.25)):
            goal.location.z = goal.location.y = height
            goal.keyframe_insert("location", frame=frame)
            arm.rotation_mode, arm.rotation_euler = "XYZ", (height, 2 * height, 0)
            arm.keyframe_insert("rotation_euler", frame=frame)
        bpy.context.scene.frame_set(0)
        self.assert_shown(display)

    def test_all_bones_have_the_pose_of_the_file(self):
        self.play_motion()
        display = self.show()
        bpy.context.scene.frame_set(9)
        model, motion = self.loaded()
        frame = 9 * 30 / bpy.context.scene.render.fps
        matrices = model.pose(motion, [frame]).bone_matrices[0].astype(float)
        shown = display.evaluated_get(bpy.context.evaluated_depsgraph_get())
        moved = []
        for number, name in enumerate(self.scene.bone_names):
            rest = np.array(model.bones[number].position, float)
            posed = matrices[number, :3, :3] @ rest + matrices[number, :3, 3]
            at_rest, expected = scene.in_blender(np.array([rest, posed]))
            actual = shown.matrix_world @ shown.pose.bones[name].head
            self.assert_close(np.array(actual), expected, BAR)
            moved.append(np.abs(expected - at_rest).max())
        self.assertGreater(np.median(moved), 100 * BAR)

    def test_hierarchy_and_rest_pose_are_those_of_the_model(self):
        display = self.show()
        for bone in self.armature.data.bones:
            own = display.data.bones[bone.name]
            above = bone.parent.name if bone.parent else "MMD Skin"
            self.assertEqual(own.parent.name, above)
            self.assert_close(np.array(own.matrix_local), np.array(bone.matrix_local), 1e-6)

    def test_several_models(self):
        """Each armature has the pose of its own model."""
        copies = [self.scene.root.copy(), self.armature.copy(), self.mesh.copy()]
        copies[2].data = self.mesh.data.copy()
        for obj in copies:
            bpy.context.scene.collection.objects.link(obj)
        root, other, mesh = copies
        other.parent, mesh.parent, mesh.modifiers[0].object = root, other, other
        root.location.x += 3
        other.mmdskin.motion_start = 4
        self.play_motion()
        bpy.context.view_layer.update()
        other.mmdskin.source, other.mmdskin.motion_path = "MOTION", self.motion_path
        other.mmdskin.preview = True
        scene.select(self.mesh)
        bpy.ops.mmdskin.show_pose(action="ENABLE", all_models=True)
        displays = {obj.parent: obj for obj in bpy.data.objects if "mmdskin_display" in obj}
        self.assertEqual(set(displays), {self.armature, other})
        bpy.context.scene.frame_set(9)
        dg = bpy.context.evaluated_depsgraph_get()
        model, motion = self.loaded()
        number = self.scene.bone_names.index("ひざ.R")
        for armature, start in ((self.armature, 0), (other, 4)):
            frame = (9 - start) * 30 / bpy.context.scene.render.fps
            matrix = model.pose(motion, [frame]).bone_matrices[0, number].astype(float)
            head = matrix[:3, :3] @ model.bones[number].position + matrix[:3, 3]
            shown = displays[armature].evaluated_get(dg).pose.bones["ひざ.R"].head
            expected = Vector(scene.in_blender(np.array([head]))[0])
            expected = self.armature.matrix_world.inverted() @ expected
            self.assert_close(np.array(shown), np.array(expected), BAR)

    def test_in_renders(self):
        """In the evaluations for a render."""
        self.play_motion()
        obj = self.aimed(self.show(), "腕.R")
        seen = []

        def look(scene_, depsgraph):
            found = next(one for one in depsgraph.ids if one.original == obj)
            seen.append((depsgraph.mode, np.array(found.matrix_world.translation)))

        bpy.app.handlers.frame_change_post.append(look)
        render = bpy.context.scene.render
        camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
        bpy.context.scene.collection.objects.link(camera)
        bpy.context.scene.camera = camera
        render.engine, render.resolution_x, render.resolution_y = "BLENDER_WORKBENCH", 8, 8
        render.filepath = self.folder.name + "/frame"
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 10, 12
        try:
            bpy.ops.render.render(animation=True)
        finally:
            bpy.app.handlers.frame_change_post.remove(look)
        rendered = [place for mode, place in seen if mode == "RENDER"]
        self.assertEqual(len(rendered), 3)
        for frame, actual in zip((10, 11, 12), rendered, strict=True):
            bpy.context.scene.frame_set(frame)
            self.assert_close(actual, np.array(self.vertex("腕.R")), BAR)

    def test_off_removes_every_trace(self):
        self.play_motion()
        with case.unchanged(self):
            self.show()
            self.show("DISABLE")

    def test_off_keeps_attachments(self):
        self.play_motion()
        prop = self.prop("ひざ.R")
        display = self.show()
        self.assert_follows({"ひざ.R": prop})
        self.show("DISABLE")
        self.assertFalse(display.visible_get())
        self.assertEqual(display.pose.bones.keys(), ["MMD Skin", "ひざ.R"])
        self.assert_follows({"ひざ.R": prop})

    def test_detaching_leaves_it_on(self):
        self.play_motion()
        display = self.show()
        prop = self.prop("腕.R")
        scene.select(prop)
        bpy.ops.mmdskin.detach()
        self.assertIn("ひざ.R", display.pose.bones)
        self.assert_shown(display)

    def test_its_selection_is_the_model(self):
        self.play_motion()
        display = self.show()
        scene.select(display)
        self.assertEqual(bpy.ops.mmdskin.show_pose(action="DISABLE"), {"FINISHED"})
        self.assertFalse(any(obj.name.endswith("_pose") for obj in bpy.data.objects))

    def test_a_bake(self):
        self.play_motion()
        display = self.show()
        scene.select(self.mesh)
        done = bpy.ops.mmdskin.bake(
            target="MESH_CACHE",
            range="CUSTOM",
            frame_start=0,
            frame_end=12,
            folder=self.folder.name,
        )
        self.assertEqual(done, {"FINISHED"})
        self.assert_shown(display, frames=(0, 12, 3))

    def test_bones_are_renamed(self):
        self.play_motion()
        display = self.show()
        self.armature.pose.bones["腕.R"]["mmd_name_j"] = "右腕"
        self.armature.pose.bones["腕.R"].name = "Arm"
        bpy.context.view_layer.update()
        self.assertIn("Arm", display.pose.bones)

    def test_saved_and_loaded(self):
        self.play_motion()
        self.aimed(self.show(), "腕.R")
        self.open_again()
        self.assert_follows({"腕.R": bpy.data.objects["aimed"]})

    def test_appended(self):
        self.play_motion()
        self.aimed(self.show(), "腕.R")
        self.bring_all(link=False)
        self.assert_follows({"腕.R": bpy.data.objects["aimed"]})

    def test_undo_and_redo(self):
        self.play_motion()
        bpy.ops.ed.undo_push(message="before")
        self.show()
        bpy.ops.ed.undo_push(message="shown")
        bpy.ops.ed.undo()
        self.assertFalse(any(obj.name.endswith("_pose") for obj in bpy.data.objects))
        bpy.ops.ed.redo()
        self.mesh = bpy.data.objects["model_mesh"]
        display = next(obj for obj in bpy.data.objects if obj.name.endswith("_pose"))
        self.assert_shown(display)

    def test_a_failure_leaves_it_as_before(self):
        self.play_motion()
        self.prop("腕.R")
        operators, driver = addon().attach.operators, addon().attach.driver
        for action in ("ENABLE", "DISABLE"):
            failing = [addon().blender.user_error.UserError("no room")]

            def fails(*arguments, failing=failing):
                driver.build(*arguments)
                if failing:
                    raise failing.pop()

            display = addon().attach.display_armature.find(self.armature)
            before = display.pose.bones.keys(), display.visible_get()
            with (
                self.subTest(action),
                mock.patch.object(operators, "driver", mock.Mock(wraps=driver, build=fails)),
                self.assertRaisesRegex(RuntimeError, "no room"),
            ):
                self.show(action)
            display = addon().attach.display_armature.find(self.armature)
            self.assertEqual((display.pose.bones.keys(), display.visible_get()), before)
            self.show("ENABLE")

    def test_of_a_linked_model(self):
        self.play_motion()
        self.bring_all(link=True)
        bpy.context.scene.frame_set(0)
        self.assert_shown(self.show())
        for obj in [obj for obj in bpy.data.objects if obj.name.startswith("aimed")]:
            bpy.data.objects.remove(obj)
        self.show("DISABLE")
        self.assertFalse(any(obj.name.endswith("_pose") for obj in bpy.data.objects))
