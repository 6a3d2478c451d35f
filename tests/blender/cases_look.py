# SPDX-License-Identifier: GPL-3.0-or-later
"""The MMD Look is switched on and off: off leaves no trace, and files keep what is on."""

import os
import sys
from unittest import mock

import bpy
import case
import fingerprint
import followed
import imported
import numpy as np
import scene
from files import pmx_file


def looked_model():
    """The small model with two materials: an opaque one with an edge, and a two-sided one.

    The first has a sphere map.
    """
    model = case.small_model()
    model.textures = ["sphere.png"]
    half = model.triangles.size // 6 * 3
    model.materials = [
        pmx_file.Material(
            "前",
            flags=0x1E,
            index_count=half,
            edge_size=1.0,
            shared_toon=True,
            toon=0,
            sphere_texture=0,
            sphere_mode=1,
        ),
        pmx_file.Material("後", flags=0x01, index_count=model.triangles.size - half, toon=-1),
    ]
    return model


def light():
    return sys.modules["addon_package"].scene.light


def look():
    return sys.modules["addon_package"].mmd_look


class Case(imported.Case):
    """An imported model without the look."""

    def setUp(self):
        super().setUp()
        for kind in (bpy.data.volumes, bpy.data.lights, bpy.data.cameras):
            bpy.data.batch_remove(list(kind))
        light().remove_unused(bpy.context.scene)
        imported.save_image(os.path.join(self.folder, "sphere.png"), np.full((4, 4, 4), 200))
        self.model = self.load(self.write(self.pmx()), look=False)
        self.materials = list(self.model.mesh.data.materials)

    def pmx(self):
        return looked_model()

    def switch(self, action):
        self.assertEqual(bpy.ops.mmdskin.look(action=action), {"FINISHED"})

    def hulls(self):
        return [obj for obj in bpy.data.objects if obj.type == "VOLUME"]


class Switch(Case):
    def test_off_leaves_no_trace(self):
        before = everything()
        self.switch("ENABLE")
        self.assertNotEqual(everything(), before)
        self.switch("DISABLE")
        self.assertEqual(fingerprint.differences(before, everything()), [])

    def test_off_takes_the_ground_shadow_too(self):
        before = everything()
        self.switch("ENABLE")
        self.model.armature.mmdskin.ground_shadow = True
        self.model.armature.mmdskin.edges_in_renders_only = True
        self.assertEqual(len(self.hulls()), 2)
        self.switch("DISABLE")
        self.assertEqual(fingerprint.differences(before, everything()), [])

    def test_on_twice_is_on_once(self):
        self.switch("ENABLE")
        before = everything()
        self.switch("ENABLE")
        self.assertEqual(fingerprint.differences(before, everything()), [])

    def test_toggle(self):
        switch = look().switch
        for expected in (True, False, True):
            self.switch("TOGGLE")
            self.assertEqual(all(map(look().materials.is_on, self.materials)), expected)
        self.assertTrue(switch.is_on(self.scene_model()))

    def scene_model(self):
        scene_model = sys.modules["addon_package"].scene.scene_model
        return scene_model.model_of(self.model.mesh, bpy.context.view_layer)

    def test_the_import_turns_it_on(self):
        for wanted in (True, False):
            model = self.load(self.write(looked_model()), look=wanted)
            for material in model.mesh.data.materials:
                self.assertEqual(look().materials.is_on(material), wanted)

    def test_off_keeps_a_linked_duplicate_of_the_light(self):
        self.switch("ENABLE")
        scene.select(light().of_scene(bpy.context.scene))
        bpy.ops.object.duplicate(linked=True)
        copy = bpy.context.view_layer.objects.active
        copy.name = "user's light"
        self.switch_of_model("DISABLE")
        self.assertIn("user's light", bpy.context.scene.objects)
        self.assertEqual(len(bpy.data.lights), 1)
        self.assertNotIn("mmd_light_direction", bpy.context.scene)
        self.switch("ENABLE")  # uses it
        self.assertEqual(light().of_scene(bpy.context.scene), copy)
        self.switch("DISABLE")
        self.assertEqual(len(bpy.data.lights), 0)

    def test_off_keeps_a_light_that_another_scene_shows(self):
        self.switch("ENABLE")
        sun, other = light().of_scene(bpy.context.scene), bpy.data.scenes.new("other")
        self.addCleanup(bpy.data.scenes.remove, other)
        model = self.load(self.write(looked_model()))
        for obj in (sun, sun.parent, model.mesh):
            other.collection.objects.link(obj)
        bpy.context.scene.collection.objects.unlink(model.mesh)
        light().ensure(other)
        self.switch_of_model("DISABLE")
        self.assertNotIn("mmd_light_direction", bpy.context.scene)
        self.assertEqual(light().of_scene(other), sun)

    def test_off_keeps_a_light_that_was_edited(self):
        for edit in (
            lambda sun: setattr(sun.data, "energy", 2.0),
            lambda sun: sun.driver_add("location", 0),
        ):
            self.switch("ENABLE")
            sun = light().of_scene(bpy.context.scene)
            edit(sun)
            self.switch("DISABLE")
            self.assertEqual(len(bpy.data.lights), 1)
            bpy.data.lights.remove(sun.data)

    def switch_of_model(self, action):
        scene.select(self.model.mesh)
        self.switch(action)

    def test_a_model_without_values_of_mmd_is_refused(self):
        plain = scene.Scene(case.small_model(), "plain")
        scene.select(plain.mesh)
        plain.mesh.data.materials.clear()
        before = everything()
        with self.assertRaisesRegex(RuntimeError, "no MMD materials"):
            bpy.ops.mmdskin.look(action="ENABLE")
        self.assertEqual(fingerprint.differences(before, everything()), [])

    def test_the_principled_output_stays_the_active_one(self):
        for material in self.materials:
            before = active_output(material)
            self.switch("ENABLE")
            self.assertEqual(active_output(material), before)

    def test_two_models_share_the_groups_and_the_light(self):
        self.switch("ENABLE")
        counts = {
            kind: len(getattr(bpy.data, kind)) for kind in ("node_groups", "lights", "images")
        }
        self.load(self.write(looked_model()))
        after = {kind: len(getattr(bpy.data, kind)) for kind in counts}
        self.assertEqual(after, counts)
        self.assertEqual(len(self.hulls()), 2)

    def test_off_for_one_model_leaves_the_other(self):
        other = self.load(self.write(looked_model()))
        scene.select(self.model.mesh)
        self.switch("ENABLE")
        before = [fingerprint.of(material) for material in other.mesh.data.materials]
        self.switch("DISABLE")
        self.assertEqual(before, [fingerprint.of(one) for one in other.mesh.data.materials])
        self.assertIn("mmd_light_direction", bpy.context.scene)
        self.assertEqual(len(self.hulls()), 1)


class Files(Case):
    def test_save_and_load(self):
        self.switch("ENABLE")
        before = everything()
        path = os.path.join(self.folder, "look.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
        with bpy.data.libraries.load(path) as (source, target):
            target.objects = [name for name in source.objects if name == self.model.mesh.name]
        appended = target.objects[0]
        self.assertTrue(all(map(look().materials.is_on, appended.data.materials)))
        self.assertLessEqual(before.keys(), everything().keys())

    def test_deleting_the_mesh_deletes_its_edges(self):
        self.switch("ENABLE")
        bpy.context.view_layer.update()
        self.assertEqual(len(self.hulls()), 1)
        scene.select(self.model.mesh)
        bpy.ops.object.delete()
        bpy.context.view_layer.update()
        self.assertEqual(self.hulls(), [])

    def test_edges_and_shadow_stay_while_the_collection_is_only_instanced(self):
        collection = self.in_a_collection()
        instance = bpy.data.objects.new("instance", None)
        instance.instance_type, instance.instance_collection = "COLLECTION", collection
        bpy.context.scene.collection.objects.link(instance)
        self.assert_stay(collection)
        instances = bpy.context.evaluated_depsgraph_get().object_instances
        shown = {one.instance_object.original for one in instances if one.is_instance}
        self.assertLessEqual(set(self.hulls()), shown)

    def test_edges_and_shadow_stay_while_the_collection_is_unlinked(self):
        self.assert_stay(self.in_a_collection())

    def in_a_collection(self):
        """The model with edges and ground shadow, in a collection of its own."""
        self.switch("ENABLE")
        self.model.armature.mmdskin.ground_shadow = True
        collection = bpy.data.collections.new("model")
        bpy.context.scene.collection.children.link(collection)
        self.addCleanup(bpy.data.collections.remove, collection)
        for obj in (self.model.root, *self.model.root.children_recursive):
            for old in obj.users_collection:
                old.objects.unlink(obj)
            collection.objects.link(obj)
        bpy.context.view_layer.update()
        return collection

    def assert_stay(self, collection):
        bpy.context.scene.collection.children.unlink(collection)
        bpy.context.view_layer.update()
        bpy.context.view_layer.update()
        self.assertEqual(len(self.hulls()), 2)
        for hull in self.hulls():
            self.assertEqual(hull.users_collection[:], (collection,))
        bpy.context.scene.collection.children.link(collection)
        bpy.context.view_layer.update()
        self.assertEqual(followed.shown(self.model.mesh)[1].keys(), {"edges", "ground"})

    def test_updates_that_move_objects_do_not_look_for_edges_among_all(self):
        self.switch("ENABLE")
        bpy.context.view_layer.update()
        with mock.patch.object(look().followers, "all_followers", return_value=()) as search:
            self.model.root.location.x += 1
            bpy.context.view_layer.update()
            search.assert_not_called()
            bpy.context.scene.collection.objects.link(bpy.data.objects.new("new", None))
            bpy.context.view_layer.update()
            search.assert_called_once_with()

    def test_edges_cannot_be_selected(self):
        self.switch("ENABLE")
        bpy.ops.object.select_all(action="SELECT")
        self.assertFalse(any(hull.select_get() for hull in self.hulls()))


class Numbers(Case):
    def test_nodes_follow_the_properties(self):
        material = self.materials[0]
        self.switch("ENABLE")
        material["mmd_diffuse"] = (0.25, 0.5, 0.75, 0.4)
        material["mmd_specular_power"] = 12.0
        material.update_tag()
        node = evaluated(material).nodes["MMD Look Shading"]
        self.assert_close(node.inputs["Diffuse"].default_value[:], (0.25, 0.5, 0.75))
        self.assert_close(node.inputs["Alpha"].default_value, 0.4)
        self.assert_close(node.inputs["Power"].default_value, 12.0)

    def test_an_alpha_of_099_is_opaque(self):
        material = self.materials[0]
        self.switch("ENABLE")
        for alpha, shown in ((0.99, 1.0), (0.97, 0.97), (0.0, 0.0)):
            material["mmd_diffuse"] = (1.0, 1.0, 1.0, alpha)
            material.update_tag()
            node = evaluated(material).nodes["MMD Look Shading"]
            self.assert_close(node.inputs["Alpha"].default_value, shown)

    def test_the_light_moves_the_scene_properties(self):
        self.switch("ENABLE")
        sun = light().of_scene(bpy.context.scene)
        sun.location = light().place((-0.2, -0.8, 0.3))
        sun.data.color = (0.1, 0.2, 0.3)
        bpy.context.view_layer.update()
        evaluated_scene = bpy.context.scene.evaluated_get(bpy.context.evaluated_depsgraph_get())
        direction = np.array(evaluated_scene["mmd_light_direction"][:])
        self.assert_close(direction, (0.2, -0.3, 0.8))
        self.assert_close(evaluated_scene["mmd_light_color"][:], (0.1, 0.2, 0.3))


class Followers(Case):
    """Edges and ground shadow of a posed model; `cases_look_edges` has more of edges."""

    def setUp(self):
        super().setUp()
        self.switch("ENABLE")
        bone = self.model.armature.pose.bones[2]
        bone.rotation_mode, bone.rotation_euler = "XYZ", (0.3, 0.5, -0.7)
        bpy.context.view_layer.update()

    def shown(self):
        return followed.shown(self.model.mesh)

    def test_edges_in_renders_only(self):
        self.model.armature.mmdskin.edges_in_renders_only = True
        self.assertNotIn("edges", self.shown()[1])

    def test_faces_without_an_edge_that_share_points_are_cut(self):
        _, found = self.shown()
        self.assertEqual(found["edges"][1], self.materials[0]["mmd_index_count"] // 3)

    def test_the_ground_shadow_lies_on_the_ground(self):
        self.model.armature.mmdskin.ground_shadow = True
        points, found = self.shown()
        shadow, faces = found["ground"]
        self.assertEqual(faces, self.materials[0]["mmd_index_count"] // 3)
        self.assert_close(shadow[:, 2], np.full(len(shadow), 0.001), 1e-5)
        towards = np.array((0.5, -0.5, 1.0))
        cast = points - towards * (points[:, 2:] - 0.001)
        away = np.linalg.norm(shadow[:, None] - cast[None], axis=2).min(1)
        self.assertLessEqual(away.max(), 1e-4)

    def test_exports_are_the_same(self):
        def exported(name):
            path = os.path.join(self.folder, name)
            scene.select(self.model.armature)
            self.model.mesh.select_set(True)
            bpy.ops.export_scene.gltf(filepath=path, export_format="GLB", use_selection=True)
            with open(path, "rb") as file:
                return file.read()

        on = exported("on.glb")
        self.switch("DISABLE")
        self.assertEqual(on, exported("off.glb"))


def evaluated(material):
    bpy.context.view_layer.update()
    return material.evaluated_get(bpy.context.evaluated_depsgraph_get()).node_tree


def active_output(material):
    tree = material.node_tree
    return next(n.name for n in tree.nodes if n.type == "OUTPUT_MATERIAL" and n.is_active_output)


def everything():
    """The content of the file, with the kinds that the fingerprint leaves to others."""
    found = fingerprint.of_file()
    for kind in ("images", "volumes", "lights"):
        found[kind] = str(sorted(getattr(bpy.data, kind).keys()))
    found["scene properties"] = str(sorted(bpy.context.scene.keys()))
    found["scene animation"] = str(bpy.context.scene.animation_data is None)
    return found
