# SPDX-License-Identifier: GPL-3.0-or-later
"""The report for bug reports, and the warning before shape keys outgrow the memory."""

import sys
import tracemalloc
from unittest import mock

import bpy
import case
import scene
from cases_panel import drawn_texts, redraw


def addon():
    return sys.modules["addon_package"]


class Report(case.Case):
    def test_has_versions_backends_and_statistics(self):
        self.scene.armature.mmdskin.preview = True
        text = addon().ui.preferences.report(bpy.context)
        pmx = self.scene.pmx
        for part in (
            f"Blender {bpy.app.version_string}",
            f"mmdskin {addon().blender.native.load().__version__}",
            "cpu: ",
            f"{len(pmx.bones)} bones, 1 mesh\n",
            f"{len(pmx.positions)} vertices",
            "MMD Skinning on, source ARMATURE",
            f"SDEF {(pmx.deform == scene.SDEF).sum()}",
        ):
            self.assertIn(part, text)

    def test_has_no_names_of_files_and_objects(self):
        settings = self.scene.armature.mmdskin
        settings.model_path, settings.motion_path = "/secret/model.pmx", "/secret/dance.vmd"
        self.scene.root.name = self.mesh.name = "secret"
        self.assertNotIn("secret", addon().ui.preferences.report(bpy.context))

    def test_without_a_model(self):
        scene.clear()
        self.assertNotIn("Model", addon().ui.preferences.report(bpy.context))


class Memory(case.Case):
    """100 frames of V vertices: 1200 V bytes in a shape key each, twice that at the peak."""

    def setUp(self):
        super().setUp()
        settings = self.scene.armature.mmdskin
        settings.target, settings.range = "SHAPE_KEYS", "CUSTOM"
        settings.frame_start, settings.frame_end = 1, 100
        self.peak = 2 * 1200 * len(self.mesh.data.vertices)

    def warns(self, free):
        """Whether the panel warns, offering a mesh cache."""
        with mock.patch.object(addon().bake.cost, "available", lambda: free):
            offered = ("mmdskin.use_mesh_cache", None) in redraw(self.mesh)
            said = any("100 shape keys need" in text for text in drawn_texts(self.mesh))
        self.assertEqual(offered, said)
        return said

    def test_warns_when_they_do_not_fit(self):
        self.assertFalse(self.warns(self.peak))
        self.assertTrue(self.warns(self.peak - 1))
        self.assertFalse(self.warns(None))

    def test_a_long_range_is_counted_without_listing_it(self):
        """The panel counts at each redraw."""
        settings = self.scene.armature.mmdskin
        settings.frame_end, settings.samples = 1_000_000, 8
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        count = addon().bake.frames.count_of(settings, bpy.context.scene)
        self.assertEqual(count, 8 * 999_999 + 1)
        self.assertLess(tracemalloc.get_traced_memory()[1], 1e5)

    def test_many_shape_keys_play_slowly(self):
        settings = self.scene.armature.mmdskin
        for last, samples, slow in (
            (399, 1, False),
            (400, 1, True),
            (200, 2, False),
            (201, 2, True),
        ):
            settings.frame_end, settings.samples = last, samples
            drawn = redraw(self.mesh)
            said = any("shape keys play slowly" in str(text) for text in drawn)
            self.assertEqual(said, slow)
            self.assertEqual(("mmdskin.use_mesh_cache", None) in drawn, slow)
        settings.range = "CURRENT"
        self.assertNotIn(("mmdskin.use_mesh_cache", None), redraw(self.mesh))

    def test_offers_a_mesh_cache(self):
        bpy.ops.mmdskin.use_mesh_cache()
        self.assertEqual(self.scene.armature.mmdskin.target, "MESH_CACHE")
        self.assertFalse(self.warns(0))

    def test_scripts_are_warned_too(self):
        free = mock.patch.object(addon().bake.cost, "available", lambda: 0)
        with free, case.reports() as said:
            bpy.ops.mmdskin.bake(frame_end=2)
        self.assertTrue(any("2 shape keys need" in line for line in said), said)

    def test_the_free_memory_is_known(self):
        self.assertGreater(addon().bake.cost.available(), 1e6)
