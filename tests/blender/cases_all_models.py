# SPDX-License-Identifier: GPL-3.0-or-later
"""An operator on all models changes all of them or none: a failure leaves the file unchanged."""

import json
import sys
from unittest import mock

import bpy
import case
import cases_names
import cases_restore
import fingerprint
import scene


def addon():
    return sys.modules["addon_package"]


class BrokenError(Exception):
    """An unexpected exception."""


def second_fails(module, name):
    """A function of a module that works once and then raises."""
    works, calls = getattr(module, name), []

    def fails(*arguments, **options):
        calls.append(name)
        if len(calls) > 1:
            raise BrokenError
        return works(*arguments, **options)

    return mock.patch.object(module, name, fails)


class TwoModels(case.Case):
    def setUp(self):
        super().setUp()
        self.other = scene.Scene(case.small_model(), "second")
        self.meshes = self.mesh, self.other.mesh
        self.armatures = self.scene.armature, self.other.armature
        bpy.context.view_layer.update()

    def assert_nothing_changes(self, operator, words, **options):
        before = fingerprint.of_file()
        with self.assertRaisesRegex(RuntimeError, words):
            operator(all_models=True, **options)
        bpy.context.view_layer.update()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def live(self):
        return [armature.mmdskin.preview for armature in self.armatures]

    def newer(self, obj, name):
        state = json.loads(obj[name])
        obj[name] = json.dumps({**state, "version": addon().scene.saved_state.VERSION + 1})


class Checked(TwoModels):
    """The other model cannot be changed: it is seen before the first one is."""

    def test_switched_on(self):
        for mesh in self.meshes:
            mesh.data.shape_keys.use_relative = False
            self.assert_nothing_changes(bpy.ops.mmdskin.preview, "absolute", action="ENABLE")
            self.assertEqual(self.live(), [False, False])
            mesh.data.shape_keys.use_relative = True

    def test_switched_off(self):
        bpy.ops.mmdskin.preview(all_models=True)
        for mesh in self.meshes:
            before = mesh["mmdskin_preview"]
            self.newer(mesh, "mmdskin_preview")
            self.assert_nothing_changes(bpy.ops.mmdskin.preview, "newer", action="DISABLE")
            self.assertEqual(self.live(), [True, True])
            mesh["mmdskin_preview"] = before

    def test_bakes_cleared(self):
        bpy.ops.mmdskin.bake(all_models=True)
        for mesh in self.meshes:
            before = mesh["mmdskin_bake"]
            self.newer(mesh, "mmdskin_bake")
            self.assert_nothing_changes(bpy.ops.mmdskin.clear_bake, "newer")
            mesh["mmdskin_bake"] = before


class Settings(TwoModels):
    def test_a_bake_has_the_frames_of_the_model_whose_root_is_active(self):
        for frame, armature in enumerate(self.armatures, 3):
            settings = armature.mmdskin
            settings.range, settings.frame_start, settings.frame_end = "CUSTOM", frame, frame + 1
        for frame, root in ((3, self.scene.root), (4, self.other.root)):
            scene.select(root)
            bpy.ops.mmdskin.bake(all_models=True)
            for mesh in self.meshes:
                names = [key.name for key in mesh.data.shape_keys.key_blocks]
                baked = [name for name in names if name.startswith("MMD ")]
                self.assertEqual(baked, [f"MMD {frame:04d}", f"MMD {frame + 1:04d}"])
            bpy.ops.mmdskin.clear_bake(all_models=True)


class PutBack(TwoModels):
    """What fails while the second model is written."""

    def test_switched_on(self):
        with second_fails(addon().preview.switch, "enable"):
            self.assert_nothing_changes(bpy.ops.mmdskin.preview, "BrokenError", action="ENABLE")
        self.assertEqual(self.live(), [False, False])

    def test_switched_off(self):
        bpy.ops.mmdskin.preview(all_models=True)
        with second_fails(addon().preview.switch, "_disable"):
            self.assert_nothing_changes(bpy.ops.mmdskin.preview, "BrokenError", action="DISABLE")
        self.assertEqual(self.live(), [True, True])

    def test_baked(self):
        for live in (False, True):
            bpy.ops.mmdskin.preview(action="ENABLE" if live else "DISABLE", all_models=True)
            for target in ("SHAPE_KEYS", "CORRECTIVE"):
                with (
                    self.subTest(target=target, live=live),
                    second_fails(addon().bake.bake_state.BakeState, "write"),
                ):
                    self.assert_nothing_changes(bpy.ops.mmdskin.bake, "BrokenError", target=target)
                    self.assertEqual(self.live(), [live, live])


class Names(cases_names.Case):
    def test_renamed(self):
        self.load_model()
        self.load_model()
        before = fingerprint.of_file()
        with (
            second_fails(addon().rename, "_changes_of_materials"),
            self.assertRaisesRegex(RuntimeError, "BrokenError"),
        ):
            bpy.ops.mmdskin.switch_names(all_models=True)
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])


class DeformData(cases_restore.RestoreCase):
    """Of one model, which has two meshes."""

    def test_restored(self):
        copy = self.mesh.copy()
        copy.data = self.mesh.data.copy()
        bpy.context.scene.collection.objects.link(copy)
        for obj in (self.mesh, copy):
            for group in obj.vertex_groups[:2]:
                group.remove(list(range(40)))
                group.add(list(range(40, 60)), 0.125, "ADD")
        scene.select(self.mesh)
        before = fingerprint.of_file()
        with (
            second_fails(addon().scene.mesh_source, "store_deform_data"),
            self.assertRaisesRegex(RuntimeError, "BrokenError"),
        ):
            bpy.ops.mmdskin.restore_deform_data(filepath=self.path)
        bpy.context.view_layer.update()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])
        self.assertEqual(bpy.ops.mmdskin.restore_deform_data(filepath=self.path), {"FINISHED"})
        self.assertNotEqual(fingerprint.differences(before, fingerprint.of_file()), [])
