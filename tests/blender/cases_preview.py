# SPDX-License-Identifier: GPL-3.0-or-later
"""Live: viewport and renders show the result of `skin()` for the pose of the same frame."""

import math
import os
import subprocess
import sys
import tempfile

import bpy
import case
import numpy as np
import recorder
import scene
from cases_bake import skinned
from live import BAR, Live
from recorder import Recorder, positions_of


class Viewport(Live):
    def test_differs_from_the_armature_modifier(self):
        live = scene.evaluated_positions(self.mesh)
        self.armature.mmdskin.preview = False
        self.assertGreater(np.abs(scene.evaluated_positions(self.mesh) - live).max(), 1e-3)

    def test_is_exact_on_every_frame_in_any_order(self):
        for frame in (1, 2, 3, 20, 2, 19, 7, 6, 5, 1):
            bpy.context.scene.frame_set(frame)
            self.assert_live()

    def test_is_exact_between_frames(self):
        bpy.context.scene.frame_set(3, subframe=0.37)
        self.assert_live()

    def test_follows_a_bone_turned_by_hand(self):
        for angle in (0.1, 1.0, -1.2):
            self.bones["腕.L"].rotation_quaternion = (math.cos(angle), 0, math.sin(angle), 0)
            self.assert_live()

    def test_follows_a_bone_that_is_stretched_unevenly(self):
        """SDEF extracts a rotation from a matrix that is none: in the file's axes, not Blender's."""
        self.bones["腕.L"].scale = (1.3, 0.8, 1.1)
        bpy.context.scene.frame_set(15)
        self.assert_live()

    def test_follows_a_key_value_set_by_hand(self):
        self.key.id_data.animation_data_clear()
        for value in (0.3, 1.0, 0.0):
            self.key.value = value
            self.assert_live()

    def test_follows_a_driven_key(self):
        self.key.id_data.animation_data_clear()
        self.armature["slider"] = 0.25
        driver = self.key.driver_add("value").driver
        variable = driver.variables.new()
        variable.name, variable.targets[0].id = "slider", self.armature
        variable.targets[0].data_path = '["slider"]'
        driver.expression = "slider"
        for value in (0.25, 0.75):
            self.armature["slider"] = value
            self.armature.update_tag()
            bpy.context.view_layer.update()
            self.assertAlmostEqual(self.key.value, value, places=5)
            self.assert_live()

    def test_stays_exact_when_mesh_keys_and_object_are_tagged(self):
        for block in (self.mesh.data, self.mesh.data.shape_keys, self.mesh, self.armature):
            block.update_tag()
            self.assert_live()

    def test_follows_edited_weights(self):
        self.scene.pmx.bone_indices[:] = (0, -1, -1, -1)
        self.scene.pmx.bone_weights[:] = (1, 0, 0, 0)
        self.scene.pmx.deform[:] = 0
        self.file = case.write_model(self, self.scene.pmx)
        for group in self.mesh.vertex_groups:
            group.remove(range(len(self.mesh.data.vertices)))
        group = self.mesh.vertex_groups["センター"]
        group.add(range(len(self.mesh.data.vertices)), 1, "REPLACE")
        self.mesh.data.update_tag()
        self.assert_live()

    def test_follows_an_edited_key(self):
        morph = self.scene.pmx.morphs[0]
        morph.values[:] = (0.1, 0.5, -0.2)
        self.file = case.write_model(self, self.scene.pmx)
        moved = scene.in_blender(self.scene.pmx.positions)
        moved[morph.indices] += scene.in_blender(morph.values)
        self.key.data.foreach_set("co", moved.ravel())
        self.mesh.data.update_tag()
        bpy.context.scene.frame_set(15)
        self.assert_live()

    def test_follows_a_renamed_bone(self):
        self.armature.data.bones["ひじ.L"].name = "elbow"
        self.scene.bone_names[2] = "elbow"
        for frame in (5, 12):
            bpy.context.scene.frame_set(frame)
            self.assert_live()

    def test_follows_a_renamed_key(self):
        values = [0.25, 0.75]
        self.key.id_data.animation_data_clear()
        for self.key.value in values:
            shown = scene.evaluated_positions(self.mesh)
            self.key.name = "renamed"
            self.assert_close(scene.evaluated_positions(self.mesh), shown, 0)
            self.key.name = "ふくらみ"
            self.assert_live()

    def test_does_not_depend_on_the_place_of_the_model(self):
        scene.transform(self.scene.root, (3, -2, 5), (0.3, 1.0, -2.0), (2, 2, 2))
        bpy.context.scene.frame_set(9)
        self.assert_live(2 * BAR)

    def test_shows_rest_in_rest_position(self):
        self.armature.data.pose_position = "REST"
        self.assert_live()

    def test_reaches_subdivision_and_solidify(self):
        self.mesh.modifiers.new("smooth", "SUBSURF").levels = 1
        self.mesh.modifiers.new("thick", "SOLIDIFY").thickness = 0.001
        self.assertGreater(len(scene.evaluated_positions(self.mesh)), 1000)
        bpy.context.scene.frame_set(11)
        shown = scene.evaluated_positions(self.mesh)
        self.armature.mmdskin.preview = False
        bpy.ops.mmdskin.bake()
        self.assert_close(shown, scene.evaluated_positions(self.mesh), BAR)

    def test_models_beside_each_other_do_not_mix(self):
        other = scene.Scene(case.small_model(), "second")
        scene.pose(other, seed=5)
        other.armature.mmdskin.preview = True
        bpy.context.scene.frame_set(8)
        self.assert_live()
        expected = skinned(case.write_model(self, other.pmx), other.bake_inputs())
        self.assert_close(scene.evaluated_positions(other.mesh), expected, BAR)

    def test_a_copied_model_is_live_too(self):
        for obj in (self.scene.root, self.armature, self.mesh):
            obj.select_set(True)
        bpy.ops.object.duplicate()
        copy = next(o for o in bpy.context.selected_objects if o.type == "MESH")
        bpy.context.scene.frame_set(13)
        self.assert_close(scene.evaluated_positions(copy), self.expected(), BAR)
        self.assert_live()

    def test_a_mesh_at_the_origin_keeps_no_vertex_behind(self):
        shift = self.scene.pmx.positions[100].copy()
        self.armature.mmdskin.preview = False
        self.bones["センター"].location = (0, 0, 0)
        pmx = case.small_model()
        pmx.positions -= shift
        built = scene.Scene(pmx, "origin")
        built.armature.mmdskin.preview = True
        built.armature.pose.bones["センター"].location = (0.001, 0, 0)
        expected = skinned(case.write_model(self, pmx), built.bake_inputs())
        self.assert_close(scene.evaluated_positions(built.mesh), expected, BAR)


class Places(Live):
    """More than one evaluation of the same mesh."""

    def test_second_scene_at_another_frame(self):
        other = bpy.data.scenes.new("other")
        other.collection.children.link(bpy.context.scene.collection.children[0]) if (
            bpy.context.scene.collection.children
        ) else [other.collection.objects.link(o) for o in bpy.context.scene.collection.objects]
        bpy.context.scene.frame_set(4)
        other.frame_set(15)
        graph = other.view_layers[0].depsgraph
        graph.update()
        shown = positions_of(self.mesh.evaluated_get(graph).data)
        self.assert_live()
        bpy.context.scene.frame_set(15)
        self.assert_close(shown, self.expected(), BAR)
        bpy.data.scenes.remove(other)

    def test_second_view_layer(self):
        layer = bpy.context.scene.view_layers.new("second")
        bpy.context.scene.frame_set(6)
        layer.depsgraph.update()
        self.assert_close(
            positions_of(self.mesh.evaluated_get(layer.depsgraph).data), self.expected(), BAR
        )
        bpy.context.scene.view_layers.remove(layer)

    def test_two_meshes_of_one_model(self):
        copy = self.mesh.copy()
        copy.data = self.mesh.data.copy()
        copy.name = "part two"
        self.armature.mmdskin.preview = False
        bpy.context.scene.collection.objects.link(copy)
        self.armature.mmdskin.preview = True
        bpy.context.scene.frame_set(10)
        self.assert_live()
        self.assert_close(scene.evaluated_positions(copy), self.expected(), BAR)


class Editing(Live):
    def mode(self, obj, mode):
        scene.select(obj)
        bpy.ops.object.mode_set(mode=mode)

    def test_edit_mode_and_back(self):
        for mode in ("EDIT", "WEIGHT_PAINT", "SCULPT", "OBJECT"):
            self.mode(self.mesh, mode)
            bpy.context.scene.frame_set(bpy.context.scene.frame_current + 1)
        self.assert_live()

    def test_painting_finds_the_armatures_shape(self):
        """Brushes work on the mesh after the modifiers before the nodes."""
        for mode in ("SCULPT", "VERTEX_PAINT", "WEIGHT_PAINT", "OBJECT"):
            self.mode(self.mesh, mode)
            bpy.context.scene.frame_set(bpy.context.scene.frame_current + 1)
            evaluated = self.mesh.evaluated_get(bpy.context.evaluated_depsgraph_get())
            acts = evaluated.modifiers["mmd_armature"].show_viewport
            self.assertEqual(acts, mode != "OBJECT", mode)
            self.assertTrue(self.mesh.modifiers["mmd_armature"].show_viewport)
        self.assert_live()

    def test_an_armature_modifier_that_is_off_stays_off(self):
        modifier = self.mesh.modifiers["mmd_armature"]
        modifier.show_render = False
        self.assert_live()
        self.armature.mmdskin.preview = False
        self.assertEqual((modifier.show_viewport, modifier.show_render), (True, False))

    def test_armature_in_edit_mode_and_back(self):
        self.mode(self.armature, "EDIT")
        self.mode(self.armature, "OBJECT")
        bpy.context.scene.frame_set(9)
        self.assert_live()

    def test_added_bone(self):
        self.mode(self.armature, "EDIT")
        bone = self.armature.data.edit_bones.new("aaa")
        bone.tail = (0, 0, 1)
        self.mode(self.armature, "OBJECT")
        bpy.context.scene.frame_set(9)
        self.assert_live()

    def test_a_bone_evaluated_later_is_waited_for(self):
        self.mode(self.armature, "EDIT")
        bone = self.armature.data.edit_bones.new("new")
        bone.tail = (0, 0, 1)
        self.mode(self.armature, "OBJECT")
        self.mesh.vertex_groups.new(name="new").add([0], 0.5, "ADD")
        self.mesh.data.update_tag()
        bpy.context.scene.frame_set(4)
        bpy.context.scene.frame_set(5)
        driver = self.mesh.data.animation_data.drivers[0].driver
        self.assertIn("new", {v.targets[0].bone_target for v in driver.variables})

    def test_a_key_evaluated_later_is_waited_for(self):
        self.armature.mmdskin.preview = False
        self.mesh.shape_key_clear()
        self.scene.pmx.deform[self.scene.pmx.deform == scene.SDEF] = 1
        self.file = case.write_model(self, self.scene.pmx)
        self.armature.mmdskin.preview = True
        bpy.context.scene.frame_set(3)
        self.mesh.shape_key_add(name="Basis", from_mix=False)
        self.key = self.mesh.shape_key_add(name="ふくらみ", from_mix=False)
        moved = scene.in_blender(self.scene.pmx.positions)
        morph = self.scene.pmx.morphs[0]
        moved[morph.indices] += scene.in_blender(morph.values)
        self.key.data.foreach_set("co", moved.ravel())
        for frame, value in ((1, 0.0), (21, 1.0)):
            self.key.value = value
            self.key.keyframe_insert("value", frame=frame)
        for frame in (4, 15, 2):
            bpy.context.scene.frame_set(frame)
            self.assert_live()
        driver = self.mesh.data.animation_data.drivers[0].driver
        self.assertIn("key", driver.variables)

    def test_added_vertices_follow_the_armature(self):
        count = len(self.mesh.data.vertices)
        self.mesh.data.vertices.add(1)
        self.mesh.data.update_tag()
        bpy.context.scene.frame_set(9)
        shown = scene.evaluated_positions(self.mesh)
        self.assertEqual(len(shown), count + 1)
        self.assertTrue(np.isfinite(shown).all())

    def test_subdivided_mesh_keeps_working(self):
        self.mode(self.mesh, "EDIT")
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.mesh.subdivide()
        self.mode(self.mesh, "OBJECT")
        bpy.context.scene.frame_set(9)
        shown = scene.evaluated_positions(self.mesh)
        self.armature.mmdskin.preview = False
        bpy.ops.mmdskin.bake()
        self.assert_close(shown, scene.evaluated_positions(self.mesh), BAR)

    def test_pose_that_is_not_finite_shows_no_crash(self):
        self.bones["腕.L"].location[0] = float("nan")
        scene.evaluated_positions(self.mesh)
        addon = sys.modules["addon_package"]
        model = addon.scene.scene_model.model_of(self.mesh, bpy.context.view_layer)
        self.assertIn("'腕.L'", addon.preview.switch.problem_of(model))
        self.bones["腕.L"].location[0] = 0
        self.assert_live()
        self.assertIsNone(addon.preview.switch.problem_of(model))

    def test_an_armature_of_scale_zero_is_reported(self):
        self.mesh.parent = None
        scale = self.armature.scale.copy()
        self.armature.scale = (0, 0, 0)
        scene.evaluated_positions(self.mesh)
        addon = sys.modules["addon_package"]
        model = addon.scene.scene_model.model_of(self.mesh, bpy.context.view_layer)
        told = addon.preview.switch.problem_of(model)
        self.assertEqual(told, "'model_arm' has a scale of zero: set another scale")
        self.armature.scale = scale
        scene.evaluated_positions(self.mesh)
        self.assertIsNone(addon.preview.switch.problem_of(model))

    def test_pose_that_is_not_finite_leaves_no_older_frame(self):
        before = scene.evaluated_positions(self.mesh)
        self.bones["手首.L"].location[0] = float("nan")
        after = scene.evaluated_positions(self.mesh)
        self.assertFalse(np.array_equal(before, after))
        self.mesh.modifiers["MMD Skin"].show_viewport = False
        np.testing.assert_array_equal(after, scene.evaluated_positions(self.mesh))

    def test_after_an_error_nothing_is_read_again(self):
        ready = sys.modules["addon_package"].preview.driver_function.live_of(self.mesh.data).copies
        self.bones["手首.L"].location[0] = float("nan")
        self.mesh.data.update_tag()
        scene.evaluated_positions(self.mesh)
        before = [one.skinner for one in ready.values()]
        for x in (float("inf"), float("nan"), 0):
            self.bones["手首.L"].location[0] = x
            scene.evaluated_positions(self.mesh)
        self.assertEqual([one.skinner for one in ready.values()], before)
        self.assert_live()

    def test_armature_modifier_removed(self):
        self.mesh.modifiers.remove(self.mesh.modifiers["mmd_armature"])
        self.assert_plain()
        preview = sys.modules["addon_package"].preview
        self.assertIn(
            "has no Armature modifier", str(preview.driver_function.live_of(self.mesh.data).error)
        )
        self.armature.mmdskin.preview = False
        self.assertFalse(preview.switch.is_live(self.mesh))

    def test_deleted_mesh(self):
        scene.select(self.mesh)
        bpy.ops.object.delete()
        bpy.context.scene.frame_set(5)
        self.armature.mmdskin.preview = False
        self.assertEqual([group.users for group in bpy.data.node_groups], [0])

    def test_deleted_armature(self):
        scene.select(self.armature)
        bpy.ops.object.delete()
        bpy.context.scene.frame_set(5)
        self.assertTrue(np.isfinite(scene.evaluated_positions(self.mesh)).all())


class Render(Live):
    """The mesh that Blender hands to a render engine."""

    def setUp(self):
        super().setUp()
        self.engine = bpy.context.scene.render.engine
        bpy.utils.register_class(Recorder)

    def tearDown(self):
        bpy.context.scene.render.engine = self.engine
        bpy.utils.unregister_class(Recorder)

    def render(self, **options):
        """{(frame, view layer): positions}"""
        Recorder.seen = {}
        with tempfile.TemporaryDirectory() as folder:
            recorder.prepare(bpy.context.scene, os.path.join(folder, "frame"))
            bpy.ops.render.render(**options)
        return Recorder.seen

    def assert_rendered(self, seen, frames):
        self.assertEqual(sorted({frame for frame, _ in seen}), list(frames))
        for (frame, _), shown in seen.items():
            bpy.context.scene.frame_set(frame)
            self.assert_close(shown, self.expected(), BAR)

    def test_still(self):
        for frame in (4, 17):
            bpy.context.scene.frame_set(frame)
            self.assert_rendered(self.render(), [frame])

    def test_animation(self):
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 5, 8
        for persistent in (False, True):
            bpy.context.scene.render.use_persistent_data = persistent
            self.assert_rendered(self.render(animation=True), range(5, 9))

    def test_two_view_layers(self):
        layer = bpy.context.scene.view_layers.new("second")
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 5, 6
        seen = self.render(animation=True)
        bpy.context.scene.view_layers.remove(layer)
        self.assertEqual(len({name for _, name in seen}), 2)
        self.assert_rendered(seen, (5, 6))

    def test_hidden_in_the_viewport(self):
        bpy.context.scene.frame_set(6)
        expected = self.expected()
        self.mesh.hide_viewport = True
        seen = self.render()
        self.mesh.hide_viewport = False
        self.assert_close(next(iter(seen.values())), expected, BAR)

    def test_animation_from_the_command_line(self):
        """Also if scripts of the file are not allowed to run."""
        if not bpy.app.binary_path:
            self.skipTest("bpy as a module has no command line")
        addon = sys.modules["addon_package"].__name__
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 5, 7
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "live.blend")
            recorder.prepare(bpy.context.scene, os.path.join(folder, "frame"))
            bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
            command = [bpy.app.binary_path, "--background", "--factory-startup", "--addons", addon]
            command += ["--disable-autoexec", "--python", recorder.__file__, path, "--render-anim"]
            environment = {**os.environ, "RECORDER_FOLDER": folder}
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            seen = {}
            for frame in (5, 6, 7):
                saved = os.path.join(folder, f"{frame}.npy")
                self.assertTrue(os.path.exists(saved), done.stdout[-2000:] + done.stderr[-2000:])
                seen[frame, ""] = np.load(saved)
        self.assert_rendered(seen, (5, 6, 7))
