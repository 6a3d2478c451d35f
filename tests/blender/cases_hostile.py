# SPDX-License-Identifier: GPL-3.0-or-later
"""A .blend from somebody else: its paths and stored data neither hang Blender nor raise tracebacks."""

import errno
import json
import os
import sys
import unittest
from unittest import mock

import bpy
import case
import cases_names
from files import pmx_file

DEEP = "[" * 5000 + "]" * 5000
VALUES = (
    "",
    "x",
    DEEP,
    0,
    -1,
    2**30,
    1e30,
    [1, 2],
    [{"key": 3}],
    [{}],
    {"source": "a"},
    {"rotation": 1},
)
STATES = (DEEP, "{", "5", "[[1, 2]]", '{"version": "a"}', '{"files": 3, "frames": "x", "keys": {}}')


def addon():
    return sys.modules["addon_package"]


class Paths(case.Case):
    def check(self, path):
        return addon().blender.file_access.check(path)

    @unittest.skipUnless(hasattr(os, "mkfifo"), "Windows has no such pipes")
    def test_a_pipe_is_refused_at_once(self):
        pipe = os.path.join(case.folder(self), "pipe.vmd")
        os.mkfifo(pipe)
        settings = self.scene.armature.mmdskin
        settings.model_path = case.write_model(self, self.scene.pmx)
        settings.source, settings.motion_path, settings.preview = "MOTION", pipe, True
        bpy.context.scene.frame_set(5)
        (error, *_) = case.live_errors()
        self.assertIn("it is a device or a pipe, not a file", error)

    def test_a_device_is_refused(self):
        with self.assertRaises(OSError):
            self.check(os.devnull)

    def test_a_file_that_is_too_large_is_refused(self):
        path = case.write_model(self, self.scene.pmx)
        few = mock.patch.object(addon().blender.file_access, "LIMIT", 100)
        with few, self.assertRaises(OSError) as refused:
            self.check(path)
        self.assertEqual(refused.exception.errno, errno.EFBIG)

    def test_a_share_that_only_the_file_names_is_not_looked_up(self):
        files = addon().blender.file_access
        path = "\\\\server\\share\\a.vmd"
        unseen = mock.patch.object(files.os, "stat", side_effect=AssertionError)
        with unseen, self.assertRaises(OSError) as refused:
            self.check(path)
        self.assertEqual(refused.exception.errno, errno.EACCES)
        self.assertFalse(files.exists(path))
        self.addCleanup(files._chosen.clear)
        self.scene.armature.mmdskin.motion_path = path  # as a user does
        self.assertTrue(files.may_look("\\\\SERVER\\share\\other.pmx"))
        self.assertFalse(files.may_look("\\\\server\\other\\a.pmx"))


class Log(case.Case):
    def test_an_unexpected_error_is_logged_once(self):
        details = addon().blender.details
        self.addCleanup(details._told.clear)

        def fail():
            try:
                raise ValueError("broken")
            except ValueError as error:
                details.log(error, "Testing")

        with self.assertLogs("mmdskin") as logged:
            for _ in range(3):
                fail()
        self.assertEqual(
            [record.getMessage() for record in logged.records], ["Testing: ValueError: broken"]
        )
        self.assertIsNone(logged.records[0].exc_info)
        wanted = mock.patch.object(details, "wanted", return_value=True)
        with wanted, self.assertLogs("mmdskin") as logged:
            fail()
        self.assertIsNotNone(logged.records[0].exc_info)

    def test_a_module_logs_what_it_reads_and_skips(self):
        broken = case.write_model(self, self.scene.pmx)
        folder = os.path.dirname(broken)
        path = os.path.join(folder, "other.pmx")
        os.rename(broken, path)
        with open(broken, "wb") as file:
            file.write(b"no model")
        self.scene.root["import_folder"] = folder
        with self.assertLogs("mmdskin.scene.model_file", "DEBUG") as logged:
            self.assertEqual(addon().scene.model_file.rig(self.scene.armature).path, path)
        told = [record.getMessage() for record in logged.records]
        self.assertIn(f"load_model '{path}': {os.path.getsize(path)} bytes", told)
        self.assertTrue(any(text.startswith(f"skipped '{broken}'") for text in told), told)

    def test_a_live_mesh_logs_what_it_shows_as_an_error(self):
        tick, told = addon().preview.driver_function, []
        self.scene.armature.mmdskin.preview = True
        with (
            mock.patch.object(tick, "_show", side_effect=KeyError("x")),
            mock.patch.object(tick.details, "log", lambda error, doing: told.append(doing)),
        ):
            bpy.context.scene.frame_set(7)
        self.assertEqual(set(told), {f"MMD Skinning of '{self.mesh.data.name}'"})


class Damaged(cases_names.Case):
    """Stored data of any other type reads as if it were not there."""

    def setUp(self):
        super().setUp()
        self.load_model()

    def use(self):
        """What reads stored data; only sentences may come of it."""
        scene_model, sliders = addon().scene.scene_model, addon().scene.sliders
        model_file = addon().scene.model_file
        model = scene_model.model_of(self.armature, bpy.context.view_layer)
        sliders.of_morphs(self.armature, mock.Mock(morphs=[]))
        addon().scene.mmd_tools.rotation_sources(self.armature)
        model_file.match_bones(self.armature, mock.Mock(bones=()))
        sliders.by_panel(model)
        bpy.context.view_layer.objects.active = self.mesh
        for operator in (bpy.ops.mmdskin.switch_names, bpy.ops.mmdskin.clear_bake):
            try:
                operator()
            except RuntimeError as error:
                self.assertNotIn("Traceback", str(error))

    def test_properties_of_the_model(self):
        root, bone = self.model.root, self.armature.pose.bones[1]
        for owner, names in (
            (root, ("mmd_name_j", "mmd_morphs", "import_folder", "mmd_names", "mmd_type")),
            (bone, ("mmd_name_j", "mmd_name_e", "mmd_bone_id", "mmd_append", "mmd_tip")),
        ):
            for name in names:
                for value in VALUES:
                    with self.subTest(name=name, value=str(value)[:20]):
                        before = owner.get(name)
                        before = before.to_dict() if hasattr(before, "to_dict") else before
                        owner[name] = value
                        self.use()
                        if before is not None and not isinstance(before, list):
                            owner[name] = before

    def test_saved_states(self):
        kinds = {
            "mmdskin_bake": addon().bake.bake_state.BakeState,
            "mmdskin_motion": addon().import_motion.import_state.MotionState,
            "mmdskin_preview": addon().preview.switch.LiveState,
        }
        for name, kind in kinds.items():
            for value in (*STATES, 5, 1.5, [1, 2]):
                with self.subTest(name=name, value=str(value)[:20]):
                    self.mesh[name] = value
                    state = kind.read(self.mesh)
                    self.assertEqual(state, kind())
                    del self.mesh[name]

    def test_states_of_earlier_versions(self):
        kind = addon().import_motion.import_state.MotionState
        for name, value in {
            "bones": {"b": ["XYZ", [0, 0, 0]]},
            "keys": {"k": [1]},
            "sliders": {"a": {}},
            "constraints": [["a"], 5],
            "influences": [["a", "b"]],
            "physics": {"b": []},
        }.items():
            with self.subTest(name=name):
                self.mesh["mmdskin_motion"] = json.dumps({"path": "a.vmd", name: value})
                self.assertEqual(kind.read(self.mesh).bones, None)
                bpy.ops.mmdskin.clear_motion()

    def test_members_that_are_valid_are_kept(self):
        kind = addon().bake.bake_state.BakeState
        self.mesh["mmdskin_bake"] = json.dumps({"keys": ["a"], "modifiers": 3, "added": "b"})
        state = kind.read(self.mesh)
        self.assertEqual((state.keys, state.modifiers, state.added), (["a"], {}, "b"))


class Textures(cases_names.Case):
    def test_outside_the_models_folder_are_not_loaded(self):
        self.pmx.textures = ["..\\..\\secret.png", "a\\..\\..\\b.png", "inside\\..\\skin.png"]
        self.pmx.materials = [pmx_file.Material(str(i), texture=i, index_count=3) for i in range(3)]
        with case.reports() as said:
            self.load_model()
        (line,) = [line for line in said if "outside the model's folder" in line]
        self.assertIn("2 textures", line)
        self.assertFalse([i.filepath for i in bpy.data.images if "secret" in i.filepath])

    @unittest.skipUnless(hasattr(os, "mkfifo"), "Windows has no such pipes")
    def test_a_pipe_is_not_opened(self):
        folder = case.folder(self)
        os.mkfifo(os.path.join(folder, "skin.png"))
        textures = addon().scene.textures.TextureFolder(folder)
        self.assertIsNone(textures.image("Skin.png"))
        self.assertEqual(textures.unreadable, ["Skin.png"])


class Materials(cases_names.Case):
    def test_damaged_values_read_as_defaults(self):
        self.pmx.materials = [pmx_file.Material("肌", index_count=3)]
        self.load_model()
        material, read = self.mesh.data.materials[0], addon().scene.material_values.read
        names = [name for name in list(material.keys()) if name.startswith("mmd_")]
        self.assertGreater(len(names), 15)
        for name in names:
            for value in VALUES:
                with self.subTest(name=name, value=str(value)[:20]):
                    before = material[name]
                    before = before.to_list() if hasattr(before, "to_list") else before
                    material[name] = value
                    values = read(material)
                    self.assertEqual(
                        [len(values.diffuse), len(values.ambient), len(values.edge_color)],
                        [4, 3, 4],
                    )
                    self.assertIsInstance(values.flags, int)
                    self.assertIsInstance(values.can_have_edge(material), bool)
                    del material[name]
                    material[name] = before
