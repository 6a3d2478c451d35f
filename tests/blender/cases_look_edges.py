# SPDX-License-Identifier: GPL-3.0-or-later
"""Edges follow the mesh, whatever deforms it, and morphs of sizes; they stay closed at UV seams."""

import math
import os
import pathlib
import sys
import unittest
from unittest import mock

import bpy
import case
import cases_look
import followed
import imported
import numpy as np
import scene
from cases_look import look
from cases_look_pictures import ball, balls, surface
from cases_sliders import change, morph
from files import pmx_file
from keyed_physics import Keyed

FILE_OF_0_2 = pathlib.Path(__file__).resolve().parent / "files" / "edges_saved_by_0.2.blend"
RADIUS = 0.08
SCALE = 1.5  # of the edges in the file: more than the weight of a vertex group can be


class Balls(cases_look.Case):
    """One ball has an edge, the other has none; each has a seam."""

    def pmx(self):
        flags = ({"flags": 0x1E, "edge_size": 4.0}, {"flags": 0x0E})
        each = ball(np.zeros(3))[3].size
        records = [
            pmx_file.Material(name, index_count=each, **fields)
            for name, fields in zip("有無", flags, strict=True)
        ]
        pmx = balls([(0, 0, 0), (5, 0, 0)], records)
        pmx.edge_scales[:] = SCALE
        return pmx

    def setUp(self):
        super().setUp()
        self.switch("ENABLE")

    def hull(self):
        return followed.shown(self.model.mesh)[1]["edges"]

    def test_objects_in_other_collections_cost_nothing_in_a_large_scene(self):
        """0.02 ms where none of 10,000 objects is ours but the edges."""
        follow = sys.modules["addon_package"].mmd_look.switch._follow
        depsgraph = mock.Mock(id_type_updated=lambda kind: True)
        (times,) = case.times_in_large_scene(self, lambda: follow(bpy.context.scene, depsgraph))
        self.assertLess(times, 10)

    def test_only_faces_with_an_edge_have_one(self):
        points, faces = self.hull()
        self.assertEqual(faces, len(self.model.mesh.data.polygons) // 2)
        self.assertLess(points[:, 0].max(), 2 * RADIUS)

    def test_the_hull_is_as_far_away_as_the_edge_is_wide(self):
        points, _ = self.hull()
        away = np.linalg.norm(points, axis=1) - RADIUS
        width = 4 * SCALE * followed.WIDTH
        self.assert_close(away, np.full(len(points), width), 1e-3 * scene.SCALE)

    def test_it_is_closed_at_the_seam(self):
        points, _ = self.hull()
        rest = ball(np.zeros(3))[0]
        self.assertEqual(places(points), places(rest))
        self.assertLess(places(rest), len(rest))

    def test_it_follows_a_modifier_that_adds_points(self):
        self.model.mesh.modifiers.new("Subdivision", "SUBSURF").levels = 1
        points, faces = self.hull()
        self.assertEqual(faces, 3 * len(self.model.mesh.data.polygons) // 2)
        away = np.linalg.norm(points, axis=1) - RADIUS
        self.assertLess(np.abs(away - 4 * SCALE * followed.WIDTH).max(), 0.02 * RADIUS)

    def test_another_modifier_may_be_first_where_nodes_change(self):
        mesh, followers = self.model.mesh, look().followers
        hull = followers.find(mesh, followers.EDGES)
        group = followers.modifier_of(hull).node_group.copy()
        hull.modifiers.clear()
        hull.modifiers.new("Displace", "VOLUME_DISPLACE")
        hull.modifiers.new("Edges", "NODES").node_group = group
        followers.give_nodes(hull, mesh, group)
        self.assertEqual(hull.modifiers[1].node_group, group)
        self.assertEqual(followers.find(mesh, followers.EDGES), hull)


class Hem(cases_look.Case):
    """Two layers of cloth meet at a hem; each has its own normals in the file."""

    COUNT = 5

    def pmx(self):
        # Of each layer: a row of points at the hem, and one above it.
        x, up = np.meshgrid(np.arange(self.COUNT), (0, 1))
        layers = [np.stack([x, up, side * up], -1).reshape(-1, 3) for side in (-0.5, 0.5)]
        positions = np.concatenate(layers)
        normals = np.array([(0, -0.5, -1), (0, -0.5, 1)]) / np.sqrt(1.25)
        a = np.arange(self.COUNT - 1)
        b, c = a + 1, a + self.COUNT
        front = np.stack([a, c, b, b, c, c + 1], 1).reshape(-1, 3)
        triangles = np.concatenate([front, front[:, ::-1] + 2 * self.COUNT])
        record = pmx_file.Material("布", index_count=triangles.size, flags=0x10, edge_size=4.0)
        normals, uvs = normals.repeat(2 * self.COUNT, 0), np.zeros((len(positions), 2))
        return surface(positions, normals, uvs, triangles, [record])

    def test_each_layer_has_the_edge_of_its_own_normals(self):
        self.switch("ENABLE")
        pmx, width = self.pmx(), 4 * followed.WIDTH
        expected = scene.in_blender(pmx.positions) + width * pmx.normals[:, [0, 2, 1]]
        hull, _ = followed.shown(self.model.mesh)[1]["edges"]
        self.assertEqual(len(hull), len(expected))
        self.assertLess(followed.distances(hull, expected).max(), 0.01 * width)
        self.assertLess(followed.distances(expected, hull).max(), 0.01 * width)


class TwoSided(cases_look.Case):
    def pmx(self):
        each = ball(np.zeros(3))[3].size
        record = pmx_file.Material(
            "両面", index_count=each, flags=0x1F, edge_size=1.0, diffuse=(0.2, 0.4, 0.6, 1)
        )
        return balls([(0, 0, 0)], [record])

    def test_the_hull_has_the_color_and_texture_of_the_surface_in_solid_shading(self):
        (surface,) = self.model.mesh.data.materials
        texture = surface.node_tree.nodes.new("ShaderNodeTexImage")
        texture.image = bpy.data.images.new("stripes", 2, 2)
        self.switch("ENABLE")
        own = [one for one in bpy.data.materials if "mmdskin_edge" in one]
        self.assertEqual(len(own), int(bpy.app.version < (4, 2)))  # later, it has the surface's
        for one in own:
            self.assertEqual(tuple(one.diffuse_color), tuple(surface.diffuse_color))
            self.assertEqual(one.node_tree.nodes.active.image, texture.image)


class Sizes(cases_look.Case):
    """Balls whose sizes morphs change: one with an edge, one without, one that they leave alone."""

    CENTERS = (0.0, 5.0, 10.0)

    def pmx(self):
        each = ball(np.zeros(3))[3].size
        records = [
            pmx_file.Material(name, index_count=each, flags=0x1E, edge_size=size)
            for name, size in zip("太無他", (4.0, 0.0, 2.0), strict=True)
        ]
        pmx = balls([(x, 0, 0) for x in self.CENTERS], records)
        pmx.edge_scales[:] = SCALE
        pmx.morphs = [
            morph("倍", "material", [0], [change(0, edge_size=3.0)]),
            morph("加", "material", [0, 1], [change(1, edge_size=2.0)] * 2),
            morph("色", "material", [0], [change(1, edge_color=(0.2, 0.4, 0.6, -0.5))]),
        ]
        return pmx

    def setUp(self):
        super().setUp()
        self.switch("ENABLE")

    def slide(self, **values):
        for name, value in values.items():
            self.model.armature[name] = value
        self.model.armature.update_tag()
        bpy.context.view_layer.update()

    def away(self):
        """For each ball, the distances of its hull's points to its surface."""
        points = followed.shown(self.model.mesh)[1]["edges"][0]
        for center in self.CENTERS:
            middle = np.array((center * scene.SCALE, 0, 0))
            distances = np.linalg.norm(points - middle, axis=1)
            yield distances[distances < 2 * RADIUS] - RADIUS

    def test_sliders_change_the_width(self):
        unit = SCALE * followed.WIDTH
        for factor, added in ((0.0, 0.0), (1.0, 0.0), (0.5, 1.0), (0.0, 2.0), (0.25, -3.0)):
            self.slide(倍=factor, 加=added)
            # The law of material morphs: the product first, then the sum.
            sizes = (4 * (1 + 2 * factor) + 2 * added, 2 * added, 2.0)
            for size, away in zip(sizes, self.away(), strict=True):
                with self.subTest(size=size):
                    if size > 0:
                        self.assert_close(away, np.full(len(away), size * unit), 1e-3 * scene.SCALE)
                        self.assertGreater(len(away), 100)
                    else:
                        self.assertLess(np.abs(away).max(initial=0), 1e-4)

    def test_a_moved_bone_does_not_build_the_nodes_again(self):
        """They would be with drivers of their own: sliders belong to the armature object."""
        updated = []

        def note(_scene, depsgraph):
            updated.extend(type(one.id.original).__name__ for one in depsgraph.updates)

        bpy.context.view_layer.update()
        bpy.app.handlers.depsgraph_update_post.append(note)
        self.addCleanup(bpy.app.handlers.depsgraph_update_post.remove, note)
        self.model.armature.pose.bones[0].location.x = 0.1
        bpy.context.view_layer.update()
        self.assertIn("Object", updated)
        self.assertNotIn("GeometryNodeTree", updated)

    def test_the_width_grows_with_the_depth(self):
        data = bpy.data.cameras.new("camera")
        camera = bpy.data.objects.new("camera", data)
        bpy.context.scene.collection.objects.link(camera)
        bpy.context.scene.camera = camera
        data.sensor_fit, data.angle = "VERTICAL", math.radians(40)
        camera.location.y, camera.rotation_euler.x = -3.0, math.pi / 2
        self.slide(加=1.0)
        points = followed.shown(self.model.mesh)[1]["edges"][0]
        points = points[np.abs(points[:, 0]) < 2 * RADIUS]
        # p' = p + n * w with w = size * 2 tan(fov / 2) / 512 * depth of p, in a ball around 0.
        away = np.linalg.norm(points, axis=1) - RADIUS
        depth = 3 + points[:, 1] * RADIUS / (RADIUS + away)
        expected = 6 * SCALE * 2 * math.tan(math.radians(20)) / 512 * depth
        self.assert_close(away, expected, 1e-3 * scene.SCALE)

    def test_sliders_change_the_color(self):
        self.slide(色=0.5)
        node = cases_look.evaluated(self.materials[0]).nodes["MMD Look Shading"]
        self.assert_close(node.inputs["Edge Color"].default_value[:], (0.1, 0.2, 0.3))
        self.assert_close(node.inputs["Edge Alpha"].default_value, 0.75)

    def test_off_and_on_again(self):
        self.slide(倍=1.0)
        before = next(self.away())
        groups = len(bpy.data.node_groups)
        self.switch("ENABLE")
        self.switch("DISABLE")
        self.assertFalse(any("mmdskin_edge" in one for one in bpy.data.node_groups))
        attributes = set(self.model.mesh.data.attributes.keys())
        self.assertTrue(attributes.isdisjoint({"mmd_edge", "mmd_edged", "mmd_edge_material"}))
        self.switch("ENABLE")
        self.assert_close(next(self.away()), before, 1e-6)
        self.assertEqual(len(bpy.data.node_groups), groups)

    @unittest.skipIf(bpy.app.version < (4, 5), "Blender 4.5 wrote the file")
    def test_a_file_of_0_2_gets_nodes_that_a_bone_does_not_build_again(self):
        """files/edges_saved_by_0.2.blend has the first ball and its morph of factors."""
        bpy.ops.wm.open_mainfile(filepath=str(FILE_OF_0_2))
        mesh, armature = (bpy.data.objects[f"balls_{kind}"] for kind in ("mesh", "arm"))
        armature["倍"] = 0.5

        def away():
            armature.update_tag()
            points = followed.shown(mesh)[1]["edges"][0]
            return np.linalg.norm(points, axis=1) - RADIUS

        expected = 4 * (1 + 2 * 0.5) * SCALE * followed.WIDTH
        for driven in ("nodes", "inputs"):
            with self.subTest(driven):
                self.assert_close(away(), np.full(len(away()), expected), 1e-3 * scene.SCALE)
                (group,) = (one for one in bpy.data.node_groups if "mmdskin_edge" in one)
                old = any(node.name.startswith("mmd_size_") for node in group.nodes)
                self.assertEqual(old, driven == "nodes")
            scene.select(mesh)
            bpy.ops.mmdskin.look(action="ENABLE")

    def test_two_models_follow_their_own_sliders(self):
        other = self.load(self.write(self.pmx()))
        self.slide(加=1.0)
        self.assertEqual(len(self.hulls()), 2)
        bpy.data.objects.remove(self.model.mesh)
        bpy.context.view_layer.update()
        self.model = other
        for size, away in zip((4, 0, 2), self.away(), strict=True):
            self.assertLess(np.abs(away - size * SCALE * followed.WIDTH).max(initial=0), 1e-4)


class Posed(cases_look.Case):
    def setUp(self):
        super().setUp()
        self.switch("ENABLE")
        bone = self.model.armature.pose.bones[2]
        bone.rotation_mode, bone.rotation_euler = "XYZ", (0.3, 0.5, -0.7)

    def assert_follows(self):
        points, found = followed.shown(self.model.mesh)
        hull, _ = found["edges"]
        away = followed.distances(hull, points)
        self.assert_close(away, np.full(len(hull), followed.WIDTH), 1e-3 * scene.SCALE)
        return points


class Deformed(Posed):
    def test_pose(self):
        self.assert_follows()

    def test_mmd_skinning(self):
        before = self.assert_follows()
        self.model.armature.mmdskin.preview = True
        self.assertGreater(np.abs(self.assert_follows() - before).max(), 1e-3)
        self.model.armature.mmdskin.preview = False

    def test_baked(self):
        self.assertEqual(bpy.ops.mmdskin.bake(target="SHAPE_KEYS"), {"FINISHED"})
        baked = self.assert_follows()
        self.assertEqual(bpy.ops.mmdskin.clear_bake(), {"FINISHED"})
        self.assertGreater(np.abs(self.assert_follows() - baked).max(), 1e-3)

    def test_moved_with_its_root(self):
        scene.transform(self.model.root, (1, -2, 0.5), (0.3, 0.2, -1.0))
        self.assert_follows()


@unittest.skipIf(bpy.app.version < (4, 5), "there, edges have Blender's normals")
class GivenNormals(Posed):
    """A live mesh gives its edges the file's normals, which Blender would take long to find."""

    def setUp(self):
        super().setUp()
        self.mesh, self.settings = self.model.mesh, self.model.armature.mmdskin
        self.settings.preview = True

    def assert_given(self, given=True):
        """Edges follow the mesh; where they have its normals, no face was deleted."""
        points = self.assert_follows()
        all_points = followed.hull_of(self.mesh)
        self.assertEqual(len(all_points) == len(points), given)
        self.assertEqual(case.live_errors(), [])
        return all_points, points

    def test_they_are_mmds_in_the_world(self):
        scene.transform(self.model.root, (1, -2, 0.5), (0.3, 0.2, -1.0))
        self.mesh.scale = (1, 1.5, 0.7)
        self.settings.use_mmd_normals = True
        bpy.context.view_layer.update()
        turn = np.linalg.inv(np.array(self.mesh.matrix_world)[:3, :3])  # of its transpose
        evaluated = self.mesh.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
        normals = np.zeros((len(evaluated.vertices), 3))
        normals[imported.read(evaluated.loops, "vertex_index", 1, np.int32)] = (
            imported.read(evaluated.corner_normals, "vector", 3) @ turn
        )
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        self.settings.use_mmd_normals = False
        hull, points = followed.hull_of(self.mesh), followed.shown(self.mesh)[0]
        edged = np.linalg.norm(hull - points, axis=1) > followed.WIDTH / 2
        self.assertGreater(edged.sum(), 0.3 * len(points))
        expected = points + followed.WIDTH * normals
        self.assert_close(hull[edged], expected[edged], 0.01 * followed.WIDTH)

    def test_off_and_on_again(self):
        self.assert_given()
        self.settings.preview = False
        self.assert_given(False)
        self.settings.preview = True
        self.assert_given()

    def test_a_file_keeps_them(self):
        self.assert_given()
        path, name = os.path.join(self.folder, "live.blend"), self.mesh.name
        bpy.ops.wm.save_as_mainfile(filepath=path)
        self.addCleanup(bpy.ops.wm.read_homefile, use_empty=True)
        bpy.ops.wm.open_mainfile(filepath=path)
        self.mesh = self.model.mesh = bpy.data.objects[name]
        self.assert_given()

    def test_undo(self):
        name = self.mesh.name
        bpy.ops.ed.undo_push(message="before")
        self.model.armature.pose.bones[2].rotation_euler.x = 1.0
        bpy.ops.ed.undo_push(message="posed")
        bpy.ops.ed.undo()
        self.mesh = self.model.mesh = bpy.data.objects[name]
        self.assert_given()

    def test_a_bake_shows_blenders(self):
        self.assertEqual(bpy.ops.mmdskin.bake(target="SHAPE_KEYS"), {"FINISHED"})
        self.assert_given(False)
        self.assertEqual(bpy.ops.mmdskin.clear_bake(), {"FINISHED"})
        self.settings.preview = True
        self.assert_given()

    def test_later_modifiers_that_move_points_show_blenders(self):
        self.assert_given()
        modifier = self.mesh.modifiers.new("Cast", "CAST")
        self.assert_given(False)
        self.mesh.modifiers.remove(modifier)
        self.assert_given()

    def test_where_the_modifier_is_applied_or_hidden_they_do_not_stay(self):
        self.assert_given()
        self.mesh.modifiers["MMD Skin"].show_viewport = False
        self.assert_given(False)
        self.mesh.modifiers["MMD Skin"].show_viewport = True
        keys = self.mesh.data.shape_keys
        if keys:
            self.mesh.shape_key_clear()
        scene.select(self.mesh)
        bpy.ops.object.modifier_apply(modifier="MMD Skin")
        self.model.armature.pose.bones[2].rotation_euler.y += 1.0
        self.assert_given(False)
        self.settings.preview = False
        values = imported.read(self.mesh.data.attributes["mmd_edge_normal"].data, "vector", 3)
        self.assertFalse(values.any())

    def test_where_the_modifier_is_removed_they_do_not_stay(self):
        self.assert_given()
        self.mesh.modifiers.remove(self.mesh.modifiers["MMD Skin"])
        self.assert_given(False)
        self.assertEqual(case.live_errors(), [])

    def test_a_linked_duplicate_without_the_modifier_has_its_own(self):
        scene.select(self.mesh)
        bpy.ops.object.duplicate(linked=True)
        copy = bpy.context.view_layer.objects.active
        copy.modifiers.clear()
        self.assert_given()
        look().edges.add(bpy.context.scene, copy)
        points, hull = followed.shown(copy)[0], followed.hull_of(copy)
        self.assertLess(len(hull), len(points))


class Simulated(Keyed):
    def import_model(self):
        count = self.pmx.triangles.size
        self.pmx.materials = [pmx_file.Material("縁", flags=0x1E, edge_size=1.0, index_count=count)]
        super().import_model()

    def test_edges_follow(self):
        self.settings.preview = True
        self.simulate()
        self.assert_shows((11, 15))
        for frame in (11, 15):
            bpy.context.scene.frame_set(frame)
            points, found = followed.shown(self.mesh)
            away = followed.distances(found["edges"][0], points)
            expected = np.full(len(away), followed.WIDTH)
            self.assert_close(away, expected, 1e-3 * scene.SCALE)


def places(points):
    """The number of different places of points."""
    return len(np.unique(np.round(points / 1e-5), axis=0))
