# SPDX-License-Identifier: GPL-3.0-or-later
"""The armature was deleted while its mesh was live or baked: the remaining mesh is cleaned up."""

import tempfile

import bpy
import case
import scene
from cases_panel import redraw


class Stranded(case.Case):
    def lose_armature(self, prepare):
        """The state of a mesh that was never live or baked; then `prepare`, and the loss of the armature."""
        self.delete_armature()
        alone = case.state(self.mesh)
        self.setUp()
        prepare()
        self.delete_armature()
        self.assertNotEqual(case.state(self.mesh), alone)
        return alone

    def delete_armature(self):
        scene.select(self.scene.armature)
        bpy.ops.object.delete()
        scene.select(self.mesh)

    def assert_clean(self, alone):
        self.assertEqual(case.state(self.mesh), alone)
        self.assertNotIn("mmdskin", self.mesh.data.attributes)
        for block in (self.mesh.data, self.mesh.data.shape_keys):
            self.assertIsNone(block.animation_data)
        self.assertNotIn(("mmdskin.preview", True), redraw(self.mesh))

    def go_live(self):
        self.scene.armature.mmdskin.preview = True

    def test_live_mesh_is_switched_off(self):
        for options in ({}, {"action": "DISABLE"}, {"all_models": True, "action": "DISABLE"}):
            alone = self.lose_armature(self.go_live)
            self.assertIn(("mmdskin.preview", True), redraw(self.mesh))
            bpy.ops.mmdskin.preview(**options)
            self.assert_clean(alone)
            self.setUp()

    def test_bakes_are_cleared(self):
        with tempfile.TemporaryDirectory() as folder:
            for target in ("SHAPE_KEYS", "MESH_CACHE", "CORRECTIVE"):
                for options in ({"range": "CURRENT"}, {"range": "CUSTOM", "frame_end": 3}):
                    with self.subTest(target=target, **options):
                        bake = {"target": target, "folder": folder, **options}
                        alone = self.lose_armature(lambda bake=bake: bpy.ops.mmdskin.bake(**bake))
                        self.assertIn(("mmdskin.clear_bake", None), redraw(self.mesh))
                        bpy.ops.mmdskin.clear_bake()
                        self.assert_clean(alone)
                        self.setUp()

    def test_a_bake_that_was_live_before(self):
        def prepare():
            self.go_live()
            bpy.ops.mmdskin.bake()

        alone = self.lose_armature(prepare)
        bpy.ops.mmdskin.clear_bake()
        self.assert_clean(alone)

    def test_it_cannot_be_switched_on(self):
        self.lose_armature(self.go_live)
        with self.assertRaisesRegex(RuntimeError, "has no armature"):
            bpy.ops.mmdskin.preview(action="ENABLE")

    def test_a_mesh_without_our_data_is_rejected(self):
        self.delete_armature()
        for operator in (bpy.ops.mmdskin.clear_bake, bpy.ops.mmdskin.preview):
            with self.assertRaisesRegex(RuntimeError, "has no armature"):
                operator()
