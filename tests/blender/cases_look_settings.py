# SPDX-License-Identifier: GPL-3.0-or-later
"""What the look says and asks: color management, engines, missing textures and opacity."""

import os
import sys
from types import SimpleNamespace

import bpy
import case
import cases_look
import numpy as np
from cases_panel import redraw

CHANGED = "The scene's color management changes MMD's colors"
NO_SELF_SHADOW = "Cycles shows no self-shadow: use EEVEE"


class Panel(cases_look.Case):
    def setUp(self):
        super().setUp()
        self.switch("ENABLE")
        for owner in (bpy.context.scene.view_settings, bpy.context.scene.render):
            names = ("view_transform", "look", "exposure", "gamma", "use_curve_mapping", "engine")
            for name in names:
                if hasattr(owner, name):
                    self.addCleanup(setattr, owner, name, getattr(owner, name))

    def test_a_button_makes_colors_standard(self):
        view = bpy.context.scene.view_settings
        changes = {"view_transform": "Filmic", "exposure": 0.5, "gamma": 2.0}
        bpy.ops.mmdskin.standard_colors.poll() and bpy.ops.mmdskin.standard_colors()
        self.assertNotIn(CHANGED, redraw(self.model.mesh))
        for name, value in changes.items():
            with self.subTest(name=name):
                before = getattr(view, name)
                setattr(view, name, value)
                drawn = redraw(self.model.mesh)
                self.assertIn(CHANGED, drawn)
                self.assertIn(("mmdskin.standard_colors", None), drawn)
                self.assertEqual(bpy.ops.mmdskin.standard_colors(), {"FINISHED"})
                self.assertEqual(getattr(view, name), before)
                self.assertFalse(bpy.ops.mmdskin.standard_colors.poll())
                self.assertNotIn(CHANGED, redraw(self.model.mesh))

    def test_the_import_offers_standard_colors_where_they_are_not(self):
        view = bpy.context.scene.view_settings
        kind = sys.modules["addon_package"].import_model.operators.MMDSKIN_OT_import_model

        def offered(look=True):
            options = SimpleNamespace(look=look, standard_colors=False)
            return kind.is_used(options, "standard_colors")

        view.view_transform = "Standard"
        self.assertFalse(offered())
        view.view_transform = "Filmic"
        self.assertTrue(offered())
        self.assertFalse(offered(look=False))
        path = self.write(cases_look.looked_model(), "色.pmx")
        for options, expected in (({}, "Filmic"), ({"standard_colors": True}, "Standard")):
            bpy.ops.mmdskin.import_model(filepath=path, look=True, **options)
            self.assertEqual(view.view_transform, expected)
        self.assertFalse(offered())

    def test_it_says_that_cycles_shows_no_self_shadow(self):
        render, settings = bpy.context.scene.render, self.model.armature.mmdskin
        engines = bpy.types.RenderSettings.bl_rna.properties["engine"].enum_items.keys()
        eevee = next(name for name in engines if "EEVEE" in name)
        for engine, on, said in (
            ("CYCLES", True, True),
            ("CYCLES", False, False),
            (eevee, True, False),
        ):
            render.engine, settings.self_shadow = engine, on
            self.assertEqual(NO_SELF_SHADOW in redraw(self.model.mesh), said, (engine, on))


class Textures(cases_look.Case):
    def pmx(self):
        model = cases_look.looked_model()
        model.textures = ["地.png", "球.sph", "影.bmp"]
        first = model.materials[0]
        first.texture, first.sphere_texture, first.sphere_mode = 0, 1, 2
        first.shared_toon, first.toon = False, 2
        first.diffuse = (0.5, 0.5, 0.5, 0.99)
        return model

    def test_what_is_missing_is_said_once_and_not_drawn(self):
        with case.reports() as said:
            self.switch("ENABLE")
        (line,) = (line for line in said if "missing" in line)
        for name in ("地.png", "球.sph", "影.bmp"):
            self.assertEqual(line.count(name), 1, line)
        kinds = [node.type for node in self.materials[0].node_tree.nodes if "MMD Look" in node.name]
        self.assertNotIn("TEX_IMAGE", kinds)
        self.assertIn("GROUP", kinds)

    def test_with_a_transparent_texture_an_alpha_of_099_is_kept(self):
        for opacity, shown in ((0.5, 0.99), (1.0, 1.0)):
            pixels = np.full((4, 4, 4), opacity, np.float32)
            image = bpy.data.images.new("new", 4, 4, alpha=opacity < 1)
            image.pixels.foreach_set(pixels.ravel())
            image.filepath_raw, image.file_format = os.path.join(self.folder, "地.png"), "PNG"
            image.save()
            bpy.data.images.remove(image)
            bpy.data.batch_remove(list(bpy.data.images))
            with self.subTest(opacity=opacity):
                model = self.load(self.write(self.pmx()))
                node = cases_look.evaluated(model.mesh.data.materials[0]).nodes["MMD Look Shading"]
                self.assert_close(node.inputs["Alpha"].default_value, shown)
