# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths in a model's settings follow Blender's preference Relative Paths, as its own paths do."""

import json
import os
import shutil
import sys
import warnings
from unittest import mock

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

    def undo_save_as(self, path):
        """Undo a step, after the file was saved as another one."""
        bpy.ops.ed.undo_push(message="one")
        bpy.ops.ed.undo_push(message="two")
        name = self.armature.name
        self.save_as(path)
        bpy.ops.ed.undo()
        self.armature = bpy.data.objects[name]

    def reopen(self, path):
        name = self.armature.name
        bpy.ops.wm.open_mainfile(filepath=path)
        self.armature = bpy.data.objects[name]

    def new_folder(self, name):
        path = os.path.join(self.folder, name)
        os.mkdir(path)
        return path

    def append(self, blend, to=None):
        """Append the model of a .blend to a new one, which is saved first if it has a path."""
        name = self.armature.name
        bpy.ops.wm.read_homefile(use_empty=True)
        if to:
            self.save_as(to)
        with bpy.data.libraries.load(blend) as (there, here):
            here.objects = there.objects
        for obj in here.objects:
            bpy.context.scene.collection.objects.link(obj)
        self.armature = bpy.data.objects[name]

    def move_project(self, copies=False):
        """Move, or copy, the folder with the .blend and its files, and open the .blend there."""
        moved = os.path.join(self.temporary.name, "引越")
        (shutil.copytree if copies else shutil.move)(self.folder, moved)
        self.reopen(os.path.join(moved, "場面.blend"))
        scene.select(self.armature)
        return moved

    @property
    def settings(self):
        return self.armature.mmdskin

    def file(self):
        """The motion file that the model plays."""
        paths = sys.modules["addon_package"].scene.setting_paths
        return paths.absolute(self.armature, "motion_path")

    def assert_paths(self, *expected):
        found = self.settings.model_path, self.settings.motion_path
        for path, wanted in zip(found, expected, strict=True):
            self.assertEqual(path.replace("\\", "/"), wanted.replace("\\", "/"))

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
        self.assert_paths(self.path, self.motion_path)
        self.save_as(self.blend)
        self.assert_paths("//見本.pmx", "//踊り.vmd")
        self.assert_plays()

    def test_a_folder_that_was_moved_still_plays(self):
        self.imports()
        self.save_as(self.blend)
        self.move_project()
        self.assert_plays()

    def test_stay_absolute_without_the_preference(self):
        self.imports()
        self.prefer_relative(False)
        self.save_as(self.blend)
        self.assert_paths(self.path, self.motion_path)

    def test_stay_absolute_after_a_copy_is_saved(self):
        self.imports()
        bpy.ops.wm.save_as_mainfile(filepath=self.blend, copy=True)
        self.assert_paths(self.path, self.motion_path)
        self.reopen(self.blend)
        if TELLS_PATH:
            self.assert_paths("//見本.pmx", "//踊り.vmd")
        self.assert_plays()

    def test_stay_absolute_if_the_file_cannot_be_saved(self):
        self.imports()
        with self.assertRaises(RuntimeError):
            bpy.ops.wm.save_as_mainfile(filepath=os.path.join(self.folder, "無い", "場面.blend"))
        self.assert_paths(self.path, self.motion_path)
        self.assert_plays()


class Elsewhere(Paths):
    """Where a relative path leads nowhere, the file is found where it was."""

    def setUp(self):
        super().setUp()
        self.imports()
        self.save_as(self.blend)
        self.elsewhere = self.new_folder("他所")

    def test_a_blend_that_was_moved_without_its_files(self):
        moved = shutil.move(self.blend, self.elsewhere)
        self.reopen(moved)
        self.assert_plays()
        bpy.ops.wm.save_mainfile()
        self.assert_paths("//../見本.pmx", "//../踊り.vmd")
        self.assert_plays()

    def test_a_model_that_was_appended(self):
        self.append(self.blend, os.path.join(self.elsewhere, "別.blend"))
        self.assert_plays()
        bpy.ops.wm.save_mainfile()
        self.assert_paths("//../見本.pmx", "//../踊り.vmd")
        self.assert_plays()

    def test_a_model_that_was_appended_to_a_file_that_was_never_saved(self):
        self.append(self.blend)
        self.assert_plays()
        self.save_as(os.path.join(self.elsewhere, "別.blend"))
        self.assert_paths("//../見本.pmx", "//../踊り.vmd")
        self.assert_plays()
        self.reopen(os.path.join(self.elsewhere, "別.blend"))
        self.assert_plays()

    def test_a_model_that_was_appended_beside_other_files_of_the_same_names(self):
        shutil.copy(self.path, self.elsewhere)
        shutil.copy(self.motion_path, self.elsewhere)
        self.append(self.blend, os.path.join(self.elsewhere, "別.blend"))
        self.assertEqual(self.file(), self.motion_path)
        self.play(os.path.join(self.elsewhere, "踊り.vmd"))
        self.assertEqual(self.file(), os.path.join(self.elsewhere, "踊り.vmd"))
        self.assert_paths("//../見本.pmx", "//踊り.vmd")

    def recover(self, blend):
        """Save the file as an autosave, in which no handler changes anything, and open that."""
        remapping = sys.modules["addon_package"].scene.setting_paths
        remapping.unregister()
        try:
            bpy.ops.wm.save_as_mainfile(filepath=blend)
        finally:
            remapping.register()
        self.reopen(blend)

    def test_a_model_that_was_appended_in_an_autosave(self):
        for name in (self.path, self.motion_path):
            shutil.copy(name, self.elsewhere)
        blend = os.path.join(self.elsewhere, "別.blend")
        self.append(self.blend, blend)
        self.recover(blend)
        self.assertEqual(self.file(), self.motion_path)
        bpy.ops.wm.save_mainfile()
        self.assert_paths("//../見本.pmx", "//../踊り.vmd")

    def test_a_model_that_was_appended_beside_another_one_in_an_autosave(self):
        own = [shutil.copy(name, self.elsewhere) for name in (self.path, self.motion_path)]
        blend = os.path.join(self.elsewhere, "別.blend")
        bpy.ops.wm.read_homefile(use_empty=True)
        self.armature = self.load(own[0]).armature
        self.armature.name = "自前"
        self.play(own[1])
        self.save_as(blend)
        with bpy.data.libraries.load(self.blend) as (there, here):
            here.objects = there.objects
        self.armature = next(obj for obj in here.objects if obj.type == "ARMATURE")
        bpy.context.scene.collection.objects.link(self.armature)
        self.recover(blend)
        self.assertEqual(self.file(), self.motion_path)
        self.armature = bpy.data.objects["自前"]
        self.assertEqual(self.file(), own[1])

    def test_a_failed_import_on_a_model_that_was_appended(self):
        for name in (self.path, self.motion_path):
            shutil.copy(name, self.elsewhere)
        self.append(self.blend, os.path.join(self.elsewhere, "別.blend"))
        place = sys.modules["addon_package"].import_motion.operators.import_state
        error = sys.modules["addon_package"].blender.user_error.UserError("no room")
        broken = mock.patch.object(place, "extend_range", side_effect=error)
        with broken, self.assertRaises(RuntimeError):
            self.play(os.path.join(self.elsewhere, "踊り.vmd"))
        self.assert_paths("//見本.pmx", "//踊り.vmd")
        self.assertEqual(self.file(), self.motion_path)

    def test_a_path_from_before_the_file_was_saved_in_another_folder(self):
        """Undo brings it back."""
        self.undo_save_as(os.path.join(self.elsewhere, "別.blend"))
        self.assert_paths("//見本.pmx", "//踊り.vmd")
        self.assert_plays()
        bpy.ops.wm.save_mainfile()
        self.assert_paths("//../見本.pmx", "//../踊り.vmd")

    def test_a_path_that_was_chosen_since_the_last_save(self):
        self.settings.motion_path = "//次.vmd"
        self.write_motion("次.vmd")
        self.settings.motion_path = "//次.vmd"
        self.undo_save_as(os.path.join(self.elsewhere, "別.blend"))
        self.assertEqual(self.file(), os.path.join(self.folder, "次.vmd"))
        self.assert_plays()

    def test_a_file_that_was_missing_while_the_blend_was_saved(self):
        away = shutil.move(self.motion_path, self.motion_path + ".bak")
        moved = self.move_project()
        away = os.path.join(moved, os.path.basename(away))
        bpy.ops.wm.save_mainfile()
        os.rename(away, os.path.join(moved, "踊り.vmd"))
        self.reopen(bpy.data.filepath)
        self.assert_paths("//見本.pmx", "//踊り.vmd")
        self.assert_plays()

    def test_a_file_that_was_missing_while_a_blend_that_was_moved_was_saved(self):
        away = shutil.move(self.motion_path, self.motion_path + ".bak")
        self.reopen(shutil.move(self.blend, self.elsewhere))
        bpy.ops.wm.save_mainfile()
        os.rename(away, self.motion_path)
        self.reopen(bpy.data.filepath)
        self.assert_plays()

    def test_a_project_that_was_copied_uses_its_own_files(self):
        moved = self.move_project(copies=True)
        self.assertEqual(self.file(), os.path.join(moved, "踊り.vmd"))
        bpy.ops.wm.save_mainfile()
        self.assert_paths("//見本.pmx", "//踊り.vmd")

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

    def plays_another_motion(self):
        """A motion is imported where another one was chosen before."""
        self.imports()
        self.save_as(self.blend)
        bpy.ops.mmdskin.clear_motion()
        self.settings.motion_path, self.settings.source = "//踊り.vmd", "MOTION"
        self.play(self.write_motion("次.vmd"))

    def test_a_motion_imported_before_the_first_save(self):
        self.imports()
        self.save_as(self.blend)
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
        self.assert_paths("//見本.pmx", "")
        self.assertEqual(self.settings.source, "ARMATURE")

    def test_the_motion_before_is_found_from_another_folder(self):
        self.plays_another_motion()
        self.assert_paths("//見本.pmx", "//次.vmd")
        self.save_as(os.path.join(self.new_folder("他所"), "場面.blend"))
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
        self.assert_paths("//../見本.pmx", "//../踊り.vmd")
        self.assert_plays()

    def test_a_motion_of_a_project_that_was_moved(self, copies=False):
        self.imports()
        self.save_as(self.blend)
        self.move_project(copies)
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
        self.assert_paths("//見本.pmx", "")
        self.assertEqual(self.settings.source, "ARMATURE")

    def test_a_motion_of_a_project_that_was_copied(self):
        self.test_a_motion_of_a_project_that_was_moved(copies=True)

    def test_the_motion_before_is_found_in_a_project_that_was_moved(self):
        self.plays_another_motion()
        bpy.ops.wm.save_mainfile()
        self.move_project()
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
        self.assert_paths("//見本.pmx", "//踊り.vmd")
        self.assert_plays()

    def test_beside_a_model_that_a_newer_version_has_saved(self):
        self.imports()
        newer = bpy.data.objects.new("0", bpy.data.armatures.new("0"))
        bpy.context.scene.collection.objects.link(newer)
        newer["mmdskin_motion"] = json.dumps({"version": 99})
        self.save_as(self.blend)
        self.move_project()
        bpy.ops.mmdskin.clear_motion()
        self.assert_paths("//見本.pmx", "")

    def test_the_camera_and_the_light_of_the_motion_in_a_project_that_was_moved(self):
        keys = dance([bone.name for bone in self.pmx.bones])
        camera = [motion_file.CameraKey(0), motion_file.CameraKey(9)]
        lights = [motion_file.LightKey(at, (0.6, 0.6, 0.6), (-0.5, -1, 0.5)) for at in (0, 9)]
        self.motion_path = self.write(
            motion_file.write_vmd(keys._replace(camera=camera, light=lights)), "踊り.vmd"
        )
        self.imports()
        self.save_as(self.blend)
        self.move_project()
        self.assertIsNotNone(bpy.context.scene.camera)
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
        self.assertIsNone(bpy.context.scene.camera)
        self.assertEqual(len(bpy.data.lights), 0)

    def test_what_the_user_chose_since_is_kept(self):
        self.imports()
        other = self.settings.motion_path = self.write_motion("次.vmd")
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
        self.assert_paths(self.path, other)


class Merged(Paths):
    def test_with_the_motions_of_a_project_that_was_moved(self):
        self.prefer_relative(True)
        self.armature = self.load(self.path, live=True).armature
        scene.select(self.armature)
        bpy.ops.mmdskin.import_motion(filepath=self.motion_path, mode="SOLVED")
        self.write_motion("次.vmd")
        self.save_as(self.blend)
        second = os.path.join(self.move_project(), "次.vmd")
        with case.reports() as said:
            bpy.ops.mmdskin.import_motion(filepath=second, mode="ORIGINAL", replace=False)
        self.assertNotIn("Warning", "".join(said))
