# SPDX-License-Identifier: GPL-3.0-or-later
"""A mesh cache also stores MMD's normals, if this Blender can show custom normals."""

import json
import os
from unittest import mock

import bpy
import case
import scene
from cases_preview_normals import (
    DEGREES,
    SETS_NORMALS,
    Normals,
    angles,
    shown,
    turned_later,
    with_normals,
)
from live import BAR

FRAMES = (3, 9, 15)
NAMES = ["MMD Normals Cache", "MMD Normals Reader", "MMD Skin Cache", "MMD Normals"]


class Baked(Normals):
    def setUp(self):
        super().setUp()
        self.folder = case.folder(self)
        self.addCleanup(scene.clear)  # Blender keeps the files of caches open

    def bake(self, **options):
        options = {"range": "CUSTOM", "frame_start": 3, "frame_end": 15, "step": 6, **options}
        with case.reports() as said:
            bpy.ops.mmdskin.bake(**{"target": "MESH_CACHE", "folder": self.folder, **options})
        return said

    def modifiers(self):
        return [modifier.name for modifier in self.mesh.modifiers]

    def expected_on_frames(self):
        expected = {}
        for frame in FRAMES:
            bpy.context.scene.frame_set(frame)
            expected[frame] = self.expected(), scene.evaluated_positions(self.mesh)
        return expected

    def assert_plays(self, expected):
        for frame, (normals, positions) in expected.items():
            bpy.context.scene.frame_set(frame)
            self.assertLess(angles(shown(self.mesh), normals).max(), DEGREES)
            self.assert_close(scene.evaluated_positions(self.mesh), positions, BAR)


@with_normals
class MeshCache(Baked):
    def test_plays_them(self):
        expected = self.expected_on_frames()
        self.bake()
        self.assertEqual(self.modifiers(), ["mmd_armature", *NAMES])
        self.assert_plays(expected)

    def test_between_baked_frames_they_go_along(self):
        bpy.context.scene.frame_set(5)
        expected = self.expected()
        self.bake(frame_start=4, step=1)
        bpy.context.scene.frame_set(4, subframe=0.999)
        self.assertLess(angles(shown(self.mesh), expected).max(), 0.5)

    def test_one_pose(self):
        bpy.context.scene.frame_set(15)
        expected = self.expected()
        self.bake(range="CURRENT")
        self.assertLess(angles(shown(self.mesh), expected).max(), DEGREES)

    def test_without_it_there_is_one_modifier(self):
        self.settings.use_mmd_normals = False
        self.bake()
        self.assertEqual(self.modifiers(), ["mmd_armature", "MMD Skin Cache"])
        self.assertEqual(len(os.listdir(self.folder)), 1)

    def test_operator_options_override_the_models_settings(self):
        expected = self.expected_on_frames()
        self.bake(use_mmd_normals=False)
        self.assertEqual(self.modifiers(), ["mmd_armature", "MMD Skin Cache"])
        self.settings.use_mmd_normals = False
        self.bake(use_mmd_normals=True)
        self.assert_plays(expected)

    def test_cleared_everything_is_as_before(self):
        self.settings.preview = False
        bpy.context.view_layer.update()
        with case.unchanged(self):
            self.bake()
            bpy.ops.mmdskin.clear_bake()
            bpy.context.view_layer.update()

    def test_cleared_it_is_live_with_them_again(self):
        self.bake()
        bpy.ops.mmdskin.clear_bake()
        bpy.context.scene.frame_set(15)
        self.assertTrue(self.settings.preview)
        self.assert_normals()

    def test_baked_twice(self):
        expected = self.expected_on_frames()
        self.bake()
        self.bake()
        self.assertEqual(self.modifiers(), ["mmd_armature", *NAMES])
        self.assert_plays(expected)

    def test_saved_and_opened_again(self):
        expected = self.expected_on_frames()
        path = os.path.join(self.folder, "baked.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        self.bake()
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.ops.wm.open_mainfile(filepath=path)
        self.mesh = bpy.data.objects["model_mesh"]
        self.assert_plays(expected)

    def test_later_modifiers_turn_them(self):
        turn = turned_later(self.mesh)
        bpy.context.scene.frame_set(15)
        expected = self.expected() @ turn.T
        self.bake()
        bpy.context.scene.frame_set(15)
        self.assertLess(angles(shown(self.mesh), expected).max(), DEGREES)

    def test_several_normals_at_a_vertex_are_left_to_blender(self):
        self.mesh.data.attributes.remove(self.mesh.data.attributes["custom_normal"])
        self.mesh.data.shade_flat()
        expected = self.expected_on_frames()
        said = self.bake()
        self.assertTrue(any("has vertices with several normals" in line for line in said), said)
        self.assertEqual(self.modifiers(), ["mmd_armature", "MMD Skin Cache"])
        for frame, (_, positions) in expected.items():
            bpy.context.scene.frame_set(frame)
            self.assert_close(scene.evaluated_positions(self.mesh), positions, BAR)

    def test_a_file_that_cannot_be_written_leaves_the_other_as_it_was(self):
        self.bake(range="CURRENT", use_mmd_normals=False)
        bpy.ops.mmdskin.clear_bake()
        (cache,) = os.listdir(self.folder)
        path = os.path.join(self.folder, cache)
        with open(path, "rb") as file:
            before = file.read()
        link = os.link

        def fail(old, new):
            if new.endswith(".normals.pc2"):
                raise PermissionError(13, "Permission denied")
            link(old, new)

        with (
            mock.patch("os.link", fail),
            mock.patch("os.replace", fail),
            self.assertRaisesRegex(RuntimeError, "cannot be written"),
        ):
            self.bake()
        with open(path, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(os.listdir(self.folder), [cache])
        self.assertNotIn("mmdskin_bake", self.mesh)

    def test_keys_hold_none(self):
        for target in ("SHAPE_KEYS", "CORRECTIVE"):
            self.bake(target=target, corrective="KEYED")
            self.assertEqual(json.loads(self.mesh["mmdskin_bake"])["normals"], [])
            self.assertEqual(self.modifiers(), ["mmd_armature"])
            bpy.ops.mmdskin.clear_bake()

    def test_alembic_takes_them_along(self):
        if "alembic_export" not in dir(bpy.ops.wm):
            self.skipTest("this Blender was built without Alembic")
        options = {"as_background_job": False}
        self.assert_taken_along("model.abc", lambda **o: bpy.ops.wm.alembic_import(**o, **options))

    def test_usd_takes_them_along(self):
        if "usd_export" not in dir(bpy.ops.wm):
            self.skipTest("this Blender was built without USD")
        self.assert_taken_along("model.usdc", bpy.ops.wm.usd_import)

    def assert_taken_along(self, name, load):
        """Both live and from the cache."""
        bpy.context.scene.frame_set(15)
        expected = self.expected()
        for kind in ("live", "baked"):
            if kind == "baked":
                self.bake()
            path = os.path.join(self.folder, f"{kind}_{name}")
            bpy.ops.mmdskin.export(filepath=path)
            before = set(bpy.data.objects)
            load(filepath=path)
            (obj,) = (o for o in set(bpy.data.objects) - before if o.type == "MESH")
            bpy.context.scene.frame_set(15)
            self.assertLess(angles(shown(obj), expected).max(), DEGREES)
            scene.select(self.mesh)


class Elsewhere(Baked):
    def test_where_no_node_sets_normals_the_cache_is_as_without(self):
        if SETS_NORMALS:
            self.skipTest("this Blender has the node")
        self.bake()
        self.assertEqual(self.modifiers(), ["mmd_armature", "MMD Skin Cache"])
        self.assertEqual(len(os.listdir(self.folder)), 1)
