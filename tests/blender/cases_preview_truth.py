# SPDX-License-Identifier: GPL-3.0-or-later
"""The live switch shows the state of the scene, and the reason if it is not the requested one."""

import contextlib
import io
import sys
from unittest import mock

import bpy
import case
import fingerprint
import scene
from cases_panel import drawn_texts
from live import Live


def problem(obj):
    addon = sys.modules["addon_package"]
    model = addon.scene.scene_model.model_of(obj, bpy.context.view_layer)
    return addon.preview.switch.problem_of(model)


class Truth(Live):
    """Removing any part turns it off, and turning it on again repairs it."""

    def assert_mended(self, take_away):
        self.armature.mmdskin.preview = False
        plain = scene.evaluated_positions(self.mesh)
        self.armature.mmdskin.preview = True
        self.assert_live()
        take_away()
        self.mesh.data.update_tag()  # the scripts of these tests tag nothing, unlike users
        self.assert_close(scene.evaluated_positions(self.mesh), plain, 0)
        self.assertFalse(self.armature.mmdskin.preview)
        self.assertIn("has stopped", problem(self.mesh))
        self.assertTrue(any("has stopped" in text for text in drawn_texts(self.mesh)))
        self.armature.mmdskin.preview = True
        self.assertTrue(self.armature.mmdskin.preview)
        self.assertIsNone(problem(self.mesh))
        self.assert_live()

    def test_modifier_deleted(self):
        self.assert_mended(lambda: self.mesh.modifiers.remove(self.mesh.modifiers["MMD Skin"]))

    def test_nodes_deleted(self):
        self.assert_mended(
            lambda: bpy.data.node_groups.remove(self.mesh.modifiers["MMD Skin"].node_group)
        )
        self.assertEqual([m.name for m in self.mesh.modifiers], ["mmd_armature", "MMD Skin"])

    def test_driver_deleted(self):
        self.assert_mended(lambda: self.mesh.data.driver_remove("mmdskin_live"))

    def test_driver_muted(self):
        self.assert_mended(lambda: setattr(self.mesh.data.animation_data.drivers[0], "mute", True))

    def test_all_animation_data_deleted(self):
        self.assert_mended(lambda: self.mesh.data.animation_data_clear())

    def test_attribute_deleted(self):
        attributes = self.mesh.data.attributes
        self.assert_mended(lambda: attributes.remove(attributes["mmdskin"]))

    def test_without_its_note_it_is_live_and_can_be_switched_off(self):
        del self.mesh["mmdskin_preview"]
        self.assertTrue(self.armature.mmdskin.preview)
        self.armature.mmdskin.preview = False
        self.assertEqual([m.name for m in self.mesh.modifiers], ["mmd_armature"])
        self.assertNotIn("mmdskin", self.mesh.data.attributes)
        self.assertIsNone(self.mesh.data.animation_data)

    def test_a_part_deleted_and_switched_off_leaves_nothing(self):
        self.armature.mmdskin.preview = False
        bpy.context.view_layer.update()
        before = fingerprint.of_file()
        self.armature.mmdskin.preview = True
        self.mesh.modifiers.remove(self.mesh.modifiers["MMD Skin"])
        self.armature.mmdskin.preview = False
        bpy.context.view_layer.update()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_a_record_edited_by_hand_gives_no_traceback(self):
        self.mesh["mmdskin_preview"] = "?"
        bpy.ops.mmdskin.preview(action="DISABLE")
        self.assertFalse(self.armature.mmdskin.preview)
        self.assertNotIn("mmdskin_preview", self.mesh)

    def test_a_file_of_a_newer_version_is_rejected(self):
        self.mesh["mmdskin_preview"] = '{"version": 99}'
        with self.assertRaisesRegex(RuntimeError, "saved by a newer version of MMD Skin"):
            bpy.ops.mmdskin.preview(action="DISABLE")

    def test_asking_writes_nothing(self):
        before = fingerprint.of_file()
        for _ in range(3):
            self.assertTrue(self.armature.mmdskin.preview)
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_asking_while_frames_are_rendered(self):
        """Getters also run on Blender's threads, and must not affect its permission to write."""
        seen = []

        def ask(*_):
            seen.append(self.armature.mmdskin.preview)

        bpy.app.handlers.frame_change_post.append(ask)
        self.addCleanup(bpy.app.handlers.frame_change_post.remove, ask)
        for frame in range(1, 9):
            bpy.context.scene.frame_set(frame)
        self.assertEqual(seen, [True] * 8)
        self.bones["腕.L"].rotation_quaternion = (1, 0.5, 0, 0)
        self.assert_live()


class Operator(case.Case):
    def setUp(self):
        super().setUp()
        self.settings = self.scene.armature.mmdskin

    def test_actions(self):
        for action, on in (
            ("TOGGLE", True),
            ("TOGGLE", False),
            ("ENABLE", True),
            ("ENABLE", True),
            ("DISABLE", False),
            ("DISABLE", False),
        ):
            self.assertEqual(bpy.ops.mmdskin.preview(action=action), {"FINISHED"})
            self.assertEqual(self.settings.preview, on, action)

    def test_toggles_by_default_from_any_object_of_the_model(self):
        for obj in (self.scene.root, self.scene.armature, self.mesh):
            scene.select(obj)
            bpy.ops.mmdskin.preview()
        self.assertTrue(self.settings.preview)

    def test_all_models(self):
        other = scene.Scene(case.small_model(), "second")
        bpy.ops.mmdskin.preview(action="ENABLE", all_models=True)
        self.assertTrue(self.settings.preview and other.armature.mmdskin.preview)
        bpy.ops.mmdskin.preview(action="DISABLE", all_models=True)
        self.assertFalse(self.settings.preview or other.armature.mmdskin.preview)

    def test_one_sentence_in_a_script(self):
        self.mesh.data.shape_keys.use_relative = False
        with self.assertRaises(RuntimeError) as caught:
            bpy.ops.mmdskin.preview(action="ENABLE")
        self.assertIn("has absolute shape keys", str(caught.exception))
        self.assertNotIn("Traceback", str(caught.exception))
        self.assertFalse(self.settings.preview)
        self.assertIn("has absolute shape keys", problem(self.mesh))

    def test_the_property_prints_why_it_stays_off(self):
        self.mesh.data.shape_keys.use_relative = False
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.settings.preview = True
        self.assertEqual(said.getvalue().count("\n"), 1)
        self.assertIn("MMD Skin: 'model_mesh' has absolute shape keys", said.getvalue())
        self.assertFalse(self.settings.preview)

    def test_asking_passes_over_no_objects(self):
        """A scene may have thousands; scripts and other panels ask in every redraw."""
        switch = sys.modules["addon_package"].preview.switch
        with mock.patch.object(switch, "objects_of") as passes:
            self.assertFalse(self.settings.preview)
            bpy.ops.mmdskin.preview(action="ENABLE")
            self.assertTrue(self.settings.preview)
        passes.assert_not_called()

    def test_is_in_menus_that_the_search_finds(self):
        menu = bpy.types.MMDSKIN_MT_model
        layout = mock.MagicMock()
        menu.draw(mock.Mock(layout=layout), bpy.context)
        names = [call.args[0] for call in layout.operator.call_args_list]
        self.assertIn("mmdskin.preview", names)
        for name in names:
            self.assertTrue(hasattr(bpy.types, name.replace("mmdskin.", "MMDSKIN_OT_")), name)
