# SPDX-License-Identifier: GPL-3.0-or-later
"""Data saved in a .blend by other versions of the add-on is understood.

files/saved_by_0.1.blend was written by version 0.1 in Blender 3.4: the small model of `case` twice,
"model" baked into shape keys at frames 1 to 3 and "second" live.
"""

import json
import os
import pathlib
import sys
import unittest

import bpy
import case
import scene
from cases_bake import skinned

FILE = pathlib.Path(__file__).resolve().parent / "files" / "saved_by_0.1.blend"
KEYS = ["Basis", "mmd_sdef_c", "mmd_sdef_r0", "mmd_sdef_r1", "ふくらみ"]


class SavedBy01(case.Case):
    def setUp(self):
        super().setUp()
        self.mesh.data.shape_keys.reference_key.value = 0.0  # 5.0 makes it 1
        self.fresh = case.state(self.mesh)
        scene.pose(self.scene, seed=5)
        self.live_shape = skinned(case.write_model(self, self.scene.pmx), self.scene.bake_inputs())
        bpy.ops.wm.open_mainfile(filepath=str(FILE))
        self.mesh = bpy.data.objects["model_mesh"]
        self.second = bpy.data.objects["second_mesh"]
        self.settings = bpy.data.objects["second_arm"].mmdskin

    def test_it_has_no_version(self):
        for obj, name in ((self.mesh, "mmdskin_bake"), (self.second, "mmdskin_preview")):
            self.assertNotIn("version", json.loads(obj[name]))

    def test_saved_data_is_written_under_the_same_keys(self):
        addon = sys.modules["addon_package"]
        for obj, kind in (
            (self.mesh, addon.bake.bake_state.BakeState),
            (self.second, addon.preview.switch.LiveState),
        ):
            before = json.loads(obj[kind.PROPERTY])
            kind.read(obj).write(obj)
            after = json.loads(obj[kind.PROPERTY])
            known = {name: value for name, value in before.items() if name in after}
            self.assertEqual({name: after[name] for name in known}, known)
            # What is empty need not be written; the modifier is known by its nodes since.
            lost = {name for name, value in before.items() if value and name not in after}
            self.assertLessEqual(lost, {"modifier"})

    def test_the_bake_is_cleared(self):
        scene.select(self.mesh)
        self.assertEqual(len(self.mesh.data.shape_keys.key_blocks), len(KEYS) + 3)
        self.assertEqual(bpy.ops.mmdskin.clear_bake(), {"FINISHED"})
        self.assertEqual(case.state(self.mesh), self.fresh)
        self.assertEqual([key.name for key in self.mesh.data.shape_keys.key_blocks], KEYS)
        self.assertIsNone(self.mesh.data.shape_keys.animation_data)

    def test_the_live_model_is_live(self):
        self.assertTrue(self.settings.preview)
        self.assert_close(scene.evaluated_positions(self.second), self.live_shape)

    def test_the_live_model_is_switched_off(self):
        self.settings.preview = False
        self.assertFalse(self.settings.preview)
        self.assertEqual([m.name for m in self.second.modifiers], ["mmd_armature"])
        self.assertNotIn("mmdskin", self.second.data.attributes)
        self.assertIsNone(self.second.data.animation_data)
        self.assertNotIn("mmdskin_preview", self.second)

    def test_baked_again(self):
        scene.select(self.mesh)
        bpy.ops.mmdskin.bake(target="SHAPE_KEYS", range="CURRENT")
        self.assertEqual(json.loads(self.mesh["mmdskin_bake"])["version"], 2)
        bpy.ops.mmdskin.clear_bake()
        self.assertEqual(case.state(self.mesh), self.fresh)


class Defaults(case.Case):
    def test_a_bake_that_notes_less_is_cleared(self):
        """As an older version recorded it: only the data that it knew."""
        bpy.ops.mmdskin.bake()
        noted = json.loads(self.mesh["mmdskin_bake"])
        self.mesh["mmdskin_bake"] = json.dumps(
            {name: noted[name] for name in ("target", "keys", "muted", "modifiers")}
        )
        self.assertEqual(bpy.ops.mmdskin.clear_bake(), {"FINISHED"})
        self.assertEqual([key.name for key in self.mesh.data.shape_keys.key_blocks], KEYS)
        self.assertTrue(self.mesh.modifiers["mmd_armature"].show_viewport)

    def test_a_bake_of_a_newer_version_is_unchanged(self):
        bpy.ops.mmdskin.bake()
        noted = json.loads(self.mesh["mmdskin_bake"])
        newer = sys.modules["addon_package"].scene.saved_state.VERSION + 1
        self.mesh["mmdskin_bake"] = json.dumps({**noted, "version": newer})
        before = case.state(self.mesh)
        with self.assertRaisesRegex(RuntimeError, "saved by a newer version of MMD Skin: update"):
            bpy.ops.mmdskin.clear_bake()
        self.assertEqual(case.state(self.mesh), before)


class FormerNames(case.Case):
    def test_max_keys_has_the_value_that_files_store_as_most(self):
        armature = self.scene.armature
        settings = armature.mmdskin
        old = (
            settings.bl_system_properties_get(do_create=True)
            if bpy.app.version >= (5, 0)
            else settings
        )
        old["most"] = 7
        path = os.path.join(case.folder(self), "old.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        name = armature.name
        bpy.ops.wm.open_mainfile(filepath=path)
        self.assertEqual(bpy.data.objects[name].mmdskin.max_keys, 7)

    def test_scripts_set_max_keys_by_its_former_name(self):
        settings = self.scene.armature.mmdskin
        settings.most = 3
        self.assertEqual((settings.max_keys, settings.most), (3, 3))


class FormsOf01(unittest.TestCase):
    """Version 0.1 stored other words for the forms of imported keyframes."""

    def test_they_are_read_as_todays(self):
        state_of = sys.modules["addon_package"].import_motion.import_state.MotionState
        for old, new in (("BAKED", "SOLVED"), ("KEYS", "ORIGINAL"), ("SOLVED", "SOLVED")):
            with self.subTest(form=old):
                self.assertEqual(state_of(form=old).form, new)
