# SPDX-License-Identifier: GPL-3.0-or-later
"""Edges follow the mesh, whatever deforms it, and stay closed at seams of UV maps."""

import bpy
import cases_look
import followed
import numpy as np
import scene
from cases_look_pictures import ball, balls
from files import pmx_file
from keyed_physics import Keyed

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


class Deformed(cases_look.Case):
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
