# SPDX-License-Identifier: GPL-3.0-or-later
"""Motions on a model imported by the real mmd_tools, with its IK constraints and names."""

import bpy
import imported
import scene
from cases_motion_clear import ClearCase
from files import pmx_file


class OfMmdTools(ClearCase):
    def setUp(self):
        super().setUp()
        tools = imported.MmdTools()
        tools.__enter__()
        self.addCleanup(tools.__exit__)
        self.addCleanup(scene.clear)
        scene.clear()
        pmx = self.scene.pmx  # of a version that it reads
        pmx.version, pmx.morphs = 2.0, [m for m in pmx.morphs if m.kind == scene.VERTEX_MORPH]
        pmx.materials = [pmx_file.Material("肌", index_count=pmx.triangles.size)]
        self.model_path = self.write("模型.pmx", pmx_file.write(pmx))
        bpy.ops.mmd_tools.import_model(filepath=self.model_path, clean_model=False)
        model = imported.Imported(bpy.context.view_layer.objects.active)
        self.root, self.armature, self.mesh = model.root, model.armature, model.mesh
        scene.select(self.armature)

    def constraints(self):
        return {
            f"{bone.name}/{constraint.name}": constraint.mute
            for bone in self.armature.pose.bones
            for constraint in bone.constraints
        }

    def test_plays_and_is_restored(self):
        before = self.constraints()
        self.assertIn(False, before.values())
        self.imported()
        self.assert_plays((1, 7, 16), names=self.scene.bone_names)
        self.assertNotIn(False, self.constraints().values())
        bpy.ops.mmdskin.clear_motion()
        self.assertEqual(self.constraints(), before)
        self.assert_comes_back({}, {"replace": True})

    def test_morphs_that_it_has_renamed(self):
        expected = self.open(start=1).key_values(["あ"], [6])[0, 0]
        self.root.mmd_root.vertex_morphs[0].name = "Mouth open"
        self.assertNotIn("あ", self.mesh.data.shape_keys.key_blocks)
        self.imported()
        self.assertAlmostEqual(self.shown(6)["Mouth open"], expected, places=6)
