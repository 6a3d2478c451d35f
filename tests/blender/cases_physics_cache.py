# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulation is found again where possible; otherwise the panel says that it is missing."""

import os
import shutil
from unittest import mock

import bpy
import case
import scene
from keyed_physics import Keyed, addon


class Kept(Keyed):
    def setUp(self):
        super().setUp()
        self.settings.preview = True
        self.simulate()

    def test_moves_with_the_blend(self):
        bpy.ops.wm.save_mainfile()
        folder = os.path.join(self.folder, "他所")
        os.mkdir(folder)
        moved = [shutil.move(path, folder) for path in (self.blend, self.file)]
        self.reopen(moved[0])
        self.assert_shows((11, 4))

    def test_is_found_if_only_the_blend_was_moved(self):
        bpy.ops.wm.save_mainfile()
        self.reopen(shutil.move(self.blend, self.elsewhere()))
        self.assert_shows((11, 4))
        self.assert_simulated_for_itself()

    def test_of_a_model_that_was_appended_is_found(self):
        bpy.ops.wm.save_mainfile()
        folder = self.elsewhere()
        shutil.copy(self.path, os.path.join(folder, self.cache_name))  # not its simulation
        self.append(os.path.join(folder, "踊り.blend"))
        self.assert_shows((11, 4))
        bpy.ops.wm.save_mainfile()
        self.reopen(bpy.data.filepath)
        self.assertEqual(self.settings.physics_cache, "//../" + self.cache_name)
        self.assert_shows((11, 4))

    def test_a_model_that_was_appended_is_simulated_for_itself(self):
        bpy.ops.wm.save_mainfile()
        self.append(os.path.join(self.elsewhere(), "踊り.blend"))
        self.assert_simulated_for_itself()

    def test_is_reported_if_it_is_removed(self):
        bpy.ops.wm.save_mainfile()
        os.remove(self.file)
        self.reopen(self.blend)
        self.assert_plain(f"'{self.cache_name}' no longer exists")

    def assert_simulated_for_itself(self):
        """Beside its .blend, not in the file that it played before."""
        folder = os.path.dirname(bpy.data.filepath)
        with open(self.file, "rb") as file:
            before = file.read()
        self.settings.physics_settle = 3
        self.simulate()
        self.assert_shows((11,), settle=3)
        self.assertIn(self.cache_name, os.listdir(folder))
        with open(self.file, "rb") as file:
            self.assertEqual(file.read(), before)

    def append(self, path):
        """Append the model to a new .blend, which is saved at a path first."""
        names = self.mesh.name, self.armature.name
        bpy.ops.wm.read_homefile(use_empty=True)
        bpy.context.scene.render.fps = self.fps
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 0, 15
        self.save_as(path)
        with bpy.data.libraries.load(self.blend) as (there, here):
            here.objects = there.objects
        for obj in here.objects:
            bpy.context.scene.collection.objects.link(obj)
        self.mesh, self.armature = (bpy.data.objects[name] for name in names)
        scene.select(self.mesh)

    def test_is_played_when_the_action_was_renamed(self):
        self.armature.animation_data.action.name = "踊り 2"
        self.assert_shows((11, 4))

    def test_of_a_duplicate_is_not_replaced_by_that_of_the_first_model(self):
        scene.select(self.mesh)
        for obj in (self.model.root, *self.model.root.children_recursive):
            obj.select_set(True)
        bpy.ops.object.duplicate()
        copies = {obj.type: obj for obj in bpy.context.selected_objects}
        scene.select(self.mesh)
        self.settings.physics_settle = 3
        self.simulate()
        self.assert_shows((11,), settle=3)
        self.mesh, self.armature = copies["MESH"], copies["ARMATURE"]
        self.assert_shows((11,))

    def test_saved_as_in_another_folder(self):
        self.relative()
        blend = os.path.join(self.elsewhere(), "別名.blend")
        self.save_as(blend)
        self.assertEqual(self.paths(), ["//../" + name for name in self.names])
        self.assert_shows((11,))
        self.reopen(blend)
        self.assert_shows((11, 4))
        bpy.ops.wm.save_as_mainfile(filepath=self.blend)
        self.assertEqual(self.paths(), ["//" + name for name in self.names])
        self.assert_shows((11,))

    def test_a_copy_that_is_saved_in_another_folder(self):
        self.relative()
        blend = os.path.join(self.elsewhere(), "控え.blend")
        self.save_as(blend, copy=True)
        self.assertEqual(self.paths(), ["//" + name for name in self.names])
        self.assert_shows((11,))
        if bpy.app.version >= (4, 2):
            self.reopen(blend)
            self.assertEqual(self.paths(), ["//../" + name for name in self.names])
            self.assert_shows((11, 4))

    def test_a_file_that_could_not_be_saved(self):
        self.relative()
        with self.assertRaises(RuntimeError):
            self.save_as(os.path.join(self.folder, "無い", "踊り.blend"))
        self.assertEqual(self.paths(), ["//" + name for name in self.names])
        self.assert_shows((11,))

    def test_its_pose_source_is_kept_until_the_file_changes(self):
        """Also where more simulations are played than `cache` keeps in memory."""
        playback, cache = addon().physics.playback, addon().physics.cache
        settings = addon().pose.pose_source.settings_of(self.armature, bpy.context.scene)
        opened = playback.load(self.armature, settings)
        cache._loaded.cache_clear()
        self.assertIs(playback.shared(self.armature, settings), opened)
        self.assertEqual(cache._loaded.cache_info().misses, 0)
        os.utime(self.file, (1e9, 1e9))
        self.assertIsNot(playback.shared(self.armature, settings), opened)

    def relative(self):
        """Make all paths relative or absolute, and keep them so."""
        self.settings.model_path = "//" + os.path.basename(self.path)
        self.settings.motion_path = "//踊り.vmd"
        bpy.ops.wm.save_mainfile()

    @property
    def names(self):
        return [os.path.basename(self.path), "踊り.vmd", self.cache_name]

    def paths(self):
        names = "model_path", "motion_path", "physics_cache"
        return [getattr(self.settings, name).replace("\\", "/") for name in names]

    def elsewhere(self):
        folder = os.path.join(self.folder, "他所")
        os.mkdir(folder)
        return folder

    def save_as(self, path, **options):
        bpy.ops.wm.save_as_mainfile(filepath=path, **options)
        if bpy.app.version < (4, 2) and bpy.data.filepath == path:
            bpy.ops.wm.save_mainfile()  # where it goes is not told before it is written

    def test_the_model_file_may_have_another_name(self):
        self.path = shutil.move(self.path, os.path.join(self.folder, "改名.pmx"))
        self.settings.model_path = self.path
        self.assert_shows((11,))

    def test_scenes_with_other_ranges(self):
        first = bpy.context.window.scene
        bpy.ops.scene.new(type="LINK_COPY")
        self.addCleanup(lambda: bpy.data.scenes.remove(second))
        second = bpy.context.window.scene
        second.frame_end = 8
        self.assert_shows((8,))
        self.simulate()
        self.assert_shows((0, 8))
        bpy.context.window.scene = first
        self.assert_shows((5,))
        self.assert_plain("Only frames 0 to 8 are simulated")
        self.simulate()
        self.assert_shows((11,))
        bpy.context.window.scene = second
        self.assert_shows((8,))

    @property
    def cache_name(self):
        return os.path.basename(self.file)

    def reopen(self, path):
        names = self.mesh.name, self.armature.name
        bpy.ops.wm.open_mainfile(filepath=path)
        self.mesh, self.armature = (bpy.data.objects[name] for name in names)
        self.assertEqual(case.live_errors(), [])


class Failed(Keyed):
    def test_a_simulation_that_fails_keeps_the_one_before(self):
        self.simulate()
        path = self.settings.physics_cache
        with open(self.file, "rb") as file:
            before = file.read()
        self.settings.physics_settle = 3
        names = sorted(os.listdir(self.folder))
        self.fail_to_simulate()
        self.assertEqual(sorted(os.listdir(self.folder)), names)
        with open(self.file, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(self.settings.physics_cache, path)

    def test_a_first_simulation_that_fails_leaves_no_file(self):
        names = sorted(os.listdir(self.folder))
        self.fail_to_simulate()
        self.assertEqual(sorted(os.listdir(self.folder)), names)
        self.assertEqual(self.settings.physics_cache, "")

    def fail_to_simulate(self):
        broken = mock.patch.object(addon().scene.setting_paths, "keep", side_effect=OSError)
        with broken, self.assertRaises(RuntimeError):
            bpy.ops.mmdskin.simulate()
