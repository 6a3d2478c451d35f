# SPDX-License-Identifier: GPL-3.0-or-later
"""Shape keys, UV maps and bones that a user has renamed still move, or the import names what does not."""

import bpy
import case
import numpy as np
import scene
from cases_motion import addon
from cases_motion_files import FORMS, FilesCase
from cases_motion_sliders import HAS_UVS, OWN, pmx_with_morphs
from files import motion_file

ALL = ("あ", "まばたき", "UV", "材質")


class Renamed(FilesCase):
    def load_model(self, live=True):
        model = self.load(self.write(pmx_with_morphs()), live=live)
        self.armature, self.mesh = model.armature, model.mesh
        self.settings = self.armature.mmdskin
        self.keys = self.mesh.data.shape_keys.key_blocks
        scene.select(self.armature)
        bones = [motion_file.BoneKey("センター", 0, (2, 0, 0))]
        self.write_motion(OWN, bones, [motion_file.MorphKey(name, 0, 1.0) for name in ALL])

    def uv(self):
        obj = self.mesh.evaluated_get(bpy.context.evaluated_depsgraph_get())
        layer = obj.data.uv_layers[0]
        place = next(i for i, loop in enumerate(obj.data.loops) if loop.vertex_index == 1)
        return np.array(layer.uv[place].vector) * (1, -1) + (0, 1)

    def assert_all_moves(self):
        self.assert_plays(2, 1, 1)
        if HAS_UVS:
            self.assert_close(self.uv(), np.array([0.25, 0.5]), 1e-6)

    def test_still_move_in_all_forms(self):
        for form in FORMS:
            with self.subTest(form=form):
                self.keys["あ"].name = "mouth"
                self.keys["まばたき"].name = "blink"
                self.keys["全部"].name = "all"
                self.mesh.data.uv_layers[0].name = "Skin"
                self.armature.data.bones["センター"].name = "Root"
                with case.reports() as said:
                    self.play(OWN, form)
                self.assertFalse([one for one in said if "Warning" in one], said)
                self.assert_all_moves()
                bpy.ops.mmdskin.clear_motion()
                self.setUp()

    def test_renamed_while_a_motion_file_plays(self):
        self.play(OWN)
        self.keys["まばたき"].name = "blink"
        self.assert_plays(2, 1, 1)

    def test_the_panel_shows_renamed_keys(self):
        self.keys["あ"].name = "mouth"
        model = addon().scene.scene_model.model_of(self.mesh, bpy.context.view_layer)
        listed = addon().scene.sliders.of_model(model)
        self.assertEqual([one.name for one in listed if one.label == "mouth"], ["あ"])

    def test_what_cannot_be_followed_is_named(self):
        for form in FORMS:
            with self.subTest(form=form):
                self.mesh.shape_key_remove(self.keys["あ"])
                self.mesh.shape_key_add(name="my own")
                self.mesh.shape_key_add(name="another")
                self.mesh.data.uv_layers.remove(self.mesh.data.uv_layers[0])
                with case.reports() as said:
                    self.play(OWN, form)
                (told,) = [one for one in said if "cannot move these morphs" in one]
                self.assertIn("removed: あ" + ", UV" * HAS_UVS, told)
                self.assert_plays(2, 0, 1)
                bpy.ops.mmdskin.clear_motion()
                self.setUp()

    def test_places_of_names(self):
        pairs = addon().scene.sliders.renamed
        self.assertEqual(pairs("abc", "axc"), {"b": "x"})
        self.assertEqual(pairs("abcd", "xbyd"), {"a": "x", "c": "y"})
        self.assertEqual(pairs("abc", "acx"), {})
        self.assertEqual(pairs("abc", "axyc"), {})
        self.assertEqual(pairs("abc", "cxa"), {})
        self.assertEqual(pairs("abc", "abcx"), {})
