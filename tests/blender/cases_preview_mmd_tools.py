# SPDX-License-Identifier: GPL-3.0-or-later
"""A live model imported by the real mmd_tools: the features of mmd_tools keep working."""

import os
import sys

import bpy
import case
import imported
import numpy as np
import scene
from files import pmx_file


class OfMmdTools(imported.Case):
    """Its own small model, with SDEF, posed and live."""

    def setUp(self):
        super().setUp()
        tools = imported.MmdTools()
        tools.__enter__()
        self.addCleanup(tools.__exit__)
        self.addCleanup(scene.clear)
        self.pmx = case.small_model()
        self.pmx.materials = [pmx_file.Material("肌", index_count=self.pmx.triangles.size)]
        bpy.ops.mmd_tools.import_model(filepath=self.write(self.pmx), clean_model=False)
        self.model = imported.Imported(bpy.context.view_layer.objects.active)
        self.model.armature.pose.bones["ひじ.L"].rotation_mode = "XYZ"
        self.model.armature.pose.bones["ひじ.L"].rotation_euler = (0.3, 0.2, 1.2)
        scene.select(self.model.root)

    def exported(self, name):
        path = os.path.join(self.folder, name)
        self.assertEqual(bpy.ops.mmd_tools.export_pmx(filepath=path), {"FINISHED"})
        return pmx_file.read(path)

    def test_its_export_does_not_depend_on_live(self):
        plain = self.exported("plain.pmx")
        self.assertEqual((plain.deform == scene.SDEF).sum(), (self.pmx.deform == scene.SDEF).sum())
        for method in ("MMD", "BULGE_FREE"):
            self.model.armature.mmdskin.deformation = method
            self.model.armature.mmdskin.preview = True
            before = scene.evaluated_positions(self.model.mesh)
            live = self.exported("live.pmx")
            np.testing.assert_array_equal(live.deform, plain.deform)
            np.testing.assert_array_equal(live.bone_indices, plain.bone_indices)
            self.assert_close(live.positions, plain.positions)
            self.assert_close(live.sdef, plain.sdef)
            self.assert_close(live.morphs[0].values, plain.morphs[0].values)
            self.assert_close(scene.evaluated_positions(self.model.mesh), before, 0)
            self.assertTrue(self.model.armature.mmdskin.preview)

    def test_a_solo_key_of_sdef_is_shown_unchanged(self):
        mesh, armature = self.model.mesh, self.model.armature
        armature.mmdskin.preview = True
        for number, key in enumerate(mesh.data.shape_keys.key_blocks):
            if key.name in ("mmd_sdef_c", "mmd_sdef_r0", "mmd_sdef_r1"):
                mesh.active_shape_key_index = number
                mesh.show_only_shape_key = True
                live = scene.evaluated_positions(mesh)
                mesh.modifiers["MMD Skin"].show_viewport = False
                self.assert_close(live, scene.evaluated_positions(mesh), 0)
                mesh.modifiers["MMD Skin"].show_viewport = True
                mesh.show_only_shape_key = False
        self.assertEqual(case.live_errors(), [])

    def test_our_panel_keeps_its_header_beside_mmd_tools(self):
        panels = sys.modules["addon_package"].ui.panels
        self.addCleanup(panels.register)
        self.addCleanup(panels.unregister)
        panels.unregister()
        panels.register()
        options = getattr(bpy.types.MMDSKIN_PT_skin, "bl_options", set())
        self.assertNotIn("HIDE_HEADER", options)
