# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths in a model's settings follow Blender's preference Relative Paths, as its own paths do."""

import os
import shutil
import warnings

import bpy
import case
import imported
import scene
from cases_rig import legged
from files import motion_file
from keyed_physics import dance

TELLS_PATH = bpy.app.version >= (4, 2)  # whether Blender says where a file is about to be saved


class Paths(imported.Case):
    def setUp(self):
        super().setUp()
        bpy.ops.wm.read_homefile(use_empty=True)  # a file that was never saved
        self.addCleanup(scene.clear)
        self.pmx = legged()
        self.path = self.write(self.pmx)
        self.motion_path = self.write_motion("踊り.vmd")
        self.blend = os.path.join(self.folder, "場面.blend")

    def write_motion(self, name):
        keys = dance([bone.name for bone in self.pmx.bones])
        return self.write(motion_file.write_vmd(keys), name)

    def play(self, path=None):
        scene.select(self.armature)
        bpy.ops.mmdskin.import_motion(filepath=path or self.motion_path, mode="FILE")

    def prefer_relative(self, value):
        paths = bpy.context.preferences.filepaths
        self.addCleanup(setattr, paths, "use_relative_paths", paths.use_relative_paths)
        paths.use_relative_paths = value

    def imports(self):
        self.prefer_relative(True)
        self.armature = self.load(self.path, live=True).armature
        self.play()

    def save_as(self, path):
        bpy.ops.wm.save_as_mainfile(filepath=path)
        if not TELLS_PATH:
            bpy.ops.wm.save_mainfile()

    def reopen(self, path):
        name = self.armature.name
        bpy.ops.wm.open_mainfile(filepath=path)
        self.armature = bpy.data.objects[name]

    @property
    def settings(self):
        return self.armature.mmdskin

    def assert_paths(self, *expected):
        found = self.settings.model_path, self.settings.motion_path
        self.assertEqual([path.replace("\\", "/") for path in found], list(expected))

    def assert_plays(self):
        """The mesh dances, without an error."""
        mesh = next(child for child in self.armature.children if child.type == "MESH")
        shown = []
        for frame in (1, 11):
            bpy.context.scene.frame_set(frame)
            shown.append(scene.evaluated_positions(mesh))
        self.assertEqual(case.live_errors(), [])
        self.assertGreater(abs(shown[1] - shown[0]).max(), 0.01)


class Saved(Paths):
    def test_become_relative_when_the_file_is_first_saved(self):
        self.imports()
        self.assert_paths(self.path.replace("\\", "/"), self.motion_path.replace("\\", "/"))
        self.save_as(self.blend)
        self.assert_paths("//見本.pmx", "//踊り.vmd")
        self.assert_plays()

    def test_a_folder_that_was_moved_still_plays(self):
        self.imports()
        self.save_as(self.blend)
        moved = os.path.join(self.temporary.name, "引越")
        shutil.move(self.folder, moved)
        self.reopen(os.path.join(moved, "場面.blend"))
        self.assert_plays()

    def test_stay_absolute_without_the_preference(self):
        self.imports()
        self.prefer_relative(False)
        self.save_as(self.blend)
        self.assert_paths(self.path.replace("\\", "/"), self.motion_path.replace("\\", "/"))

    def test_stay_absolute_after_a_copy_is_saved(self):
        self.imports()
        bpy.ops.wm.save_as_mainfile(filepath=self.blend, copy=True)
        self.assert_paths(self.path.replace("\\", "/"), self.motion_path.replace("\\", "/"))
        self.reopen(self.blend)
        if TELLS_PATH:
            self.assert_paths("//見本.pmx", "//踊り.vmd")
        self.assert_plays()

    def test_stay_absolute_if_the_file_cannot_be_saved(self):
        self.imports()
        with self.assertRaises(RuntimeError):
            bpy.ops.wm.save_as_mainfile(filepath=os.path.join(self.folder, "無い", "場面.blend"))
        self.assert_paths(self.path.replace("\\", "/"), self.motion_path.replace("\\", "/"))
        self.assert_plays()


class Elsewhere(Paths):
    """Where a relative path leads nowhere, the file is found where it was."""

    def setUp(self):
        super().setUp()
        self.imports()
        self.save_as(self.blend)
        self.elsewhere = os.path.join(self.folder, "他所")
        os.mkdir(self.elsewhere)

    def test_a_blend_that_was_moved_without_its_files(self):
        moved = shutil.move(self.blend, self.elsewhere)
        self.reopen(moved)
        self.assert_plays()
        bpy.ops.wm.save_mainfile()
        self.assert_paths("//../見本.pmx", "//../踊り.vmd")
        self.assert_plays()

    def test_a_model_that_was_appended(self):
        name = self.armature.name
        bpy.ops.wm.read_homefile(use_empty=True)
        self.save_as(os.path.join(self.elsewhere, "別.blend"))
        with bpy.data.libraries.load(self.blend) as (there, here):
            here.objects = there.objects
        for obj in here.objects:
            bpy.context.scene.collection.objects.link(obj)
        self.armature = bpy.data.objects[name]
        self.assert_plays()
        bpy.ops.wm.save_mainfile()
        self.assert_paths("//../見本.pmx", "//../踊り.vmd")
        self.assert_plays()

    def test_a_path_that_was_changed_since_leads_nowhere_else(self):
        self.settings.motion_path = "//無い/踊り.vmd"
        self.assertIn("cannot be opened", "".join(case.live_errors()))


class Chosen(Paths):
    def test_imports_into_a_saved_file_are_relative(self):
        bpy.ops.wm.save_as_mainfile(filepath=self.blend)
        self.imports()
        self.assert_paths("//見本.pmx", "//踊り.vmd")
        self.assert_plays()

    def test_imports_into_a_saved_file_are_absolute_without_the_preference(self):
        bpy.ops.wm.save_as_mainfile(filepath=self.blend)
        self.prefer_relative(False)
        self.armature = self.load(self.path, live=True).armature
        self.play()
        self.assert_paths(self.path, self.motion_path)

    def test_without_a_warning(self):
        """Blender 4.5 and later warn of relative paths in properties that do not say they may be."""
        bpy.ops.wm.save_as_mainfile(filepath=self.blend)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            self.imports()
            self.settings.folder = "//caches"
        self.assertEqual([str(one.message) for one in found if "//" in str(one.message)], [])


class Cleared(Paths):
    """Clear Motion recognizes a path that saving has changed."""

    def test_a_motion_imported_before_the_first_save(self):
        self.imports()
        self.save_as(self.blend)
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
        self.assert_paths("//見本.pmx", "")
        self.assertEqual(self.settings.source, "ARMATURE")

    def test_the_motion_before_is_found_from_another_folder(self):
        self.imports()
        self.save_as(self.blend)
        bpy.ops.mmdskin.clear_motion()
        self.settings.motion_path, self.settings.source = "//踊り.vmd", "MOTION"
        self.play(self.write_motion("次.vmd"))
        self.assert_paths("//見本.pmx", "//次.vmd")
        elsewhere = os.path.join(self.folder, "他所")
        os.mkdir(elsewhere)
        self.save_as(os.path.join(elsewhere, "場面.blend"))
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
        self.assert_paths("//../見本.pmx", "//../踊り.vmd")
        self.assert_plays()

    def test_what_the_user_chose_since_is_kept(self):
        self.imports()
        other = self.settings.motion_path = self.write_motion("次.vmd")
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
        self.assert_paths(self.path, other)
