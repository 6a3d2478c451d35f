# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulation is found again where possible; otherwise the panel says that it is missing."""

import os
import shutil
from types import SimpleNamespace
from unittest import mock

import bpy
import case
import fingerprint
import numpy as np
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

    def test_is_kept_where_another_cannot_be_written(self):
        before = self.content()
        error = PermissionError(13, "denied")
        denied = mock.patch("mmdskin.new_file.NewFile", side_effect=error)
        with denied, self.assertRaisesRegex(RuntimeError, "The cache .* cannot be written: denied"):
            self.simulate()
        self.assertEqual(self.content(), before)

    def assert_simulated_for_itself(self):
        """Beside its .blend, not in the file that it played before."""
        folder = os.path.dirname(bpy.data.filepath)
        before = self.content()
        self.settings.physics_settle = 3
        self.simulate()
        self.assert_shows((11,), settle=3)
        self.assertIn(self.cache_name, os.listdir(folder))
        self.assertEqual(self.content(), before)

    def append(self, path):
        """Append the model to a new .blend, which is saved at a path first."""
        with self.found_again():
            bpy.ops.wm.read_homefile(use_empty=True)
            bpy.context.scene.render.fps = self.fps
            bpy.context.scene.frame_start, bpy.context.scene.frame_end = 0, 15
            self.save_as(path)
            with bpy.data.libraries.load(self.blend) as (there, here):
                here.objects = there.objects
            for obj in here.objects:
                bpy.context.scene.collection.objects.link(obj)
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
        now = addon().blender.evaluated_bones.at(
            bpy.context.evaluated_depsgraph_get(), self.armature
        )
        opened = playback.load(now, settings)
        cache._loaded.cache_clear()
        self.assertIs(playback.shared(now, settings), opened)
        self.assertEqual(cache._loaded.cache_info().misses, 0)
        os.utime(self.file, (1e9, 1e9))
        self.assertIsNot(playback.shared(now, settings), opened)

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
        with self.found_again():
            bpy.ops.wm.open_mainfile(filepath=path)
        self.assertEqual(case.live_errors(), [])


class Failed(Keyed):
    def test_a_simulation_that_fails_keeps_the_one_before(self):
        self.simulate()
        path = self.settings.physics_cache
        before = self.content()
        self.settings.physics_settle = 3
        names = sorted(os.listdir(self.folder))
        self.fail_to_simulate()
        self.assertEqual(sorted(os.listdir(self.folder)), names)
        self.assertEqual(self.content(), before)
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


class Written(Keyed):
    def setUp(self):
        super().setUp()
        self.settings.preview = True

    def test_a_file_of_others_stays(self):
        with open(self.file, "w") as file:
            file.write("of somebody else")
        for _ in range(2):  # the second replaces the file of the first
            self.simulate()
            self.assertEqual(
                self.settings.physics_cache,
                "//" + os.path.basename(self.file).replace(".npz", ".2.npz"),
            )
        self.assert_shows((11,))
        with open(self.file) as file:
            self.assertEqual(file.read(), "of somebody else")
        names = sorted(name for name in os.listdir(self.folder) if "physics" in name)
        self.assertEqual(len(names), 2)

    def test_a_damaged_file_is_not_played(self):
        self.simulate()
        data = self.content()
        nan = np.load(self.file)
        damaged = {name: nan[name] for name in nan.files}
        damaged["points"] = np.full_like(damaged["points"], np.nan)
        for number, content in enumerate((b"", b"PK", data[:200], data[:-40], None)):
            with self.subTest(number):
                if content is None:
                    np.savez(self.file, **damaged)
                else:
                    with open(self.file, "wb") as file:
                        file.write(content)
                self.settings.model_path = self.path
                self.assert_plain("cannot be read: simulate again")

    def test_what_is_missing_is_reported(self):
        for change in ({"source": "ARMATURE"}, {"physics": False}):
            kept = {name: getattr(self.settings, name) for name in change}
            for name, value in change.items():
                setattr(self.settings, name, value)
            self.assert_not_simulated("set Pose Source to MMD's IK or Motion File")
            for name, value in kept.items():
                setattr(self.settings, name, value)
        self.pmx.rigid_bodies, self.pmx.joints = self.pmx.rigid_bodies[:1], []
        self.write(self.pmx)
        self.assert_not_simulated("no rigid bodies that move bones")

    def test_an_unsaved_file_is_reported(self):
        unsaved = SimpleNamespace(data=SimpleNamespace(filepath=""), context=bpy.context)
        with mock.patch.object(addon().physics.operators, "bpy", unsaved):
            self.assert_not_simulated("Save the .blend file first")

    def test_escape_leaves_the_simulation_before(self):
        self.simulate()
        data = self.content()
        before = fingerprint.of_file(), sorted(os.listdir(self.folder))
        model = addon().scene.scene_model.model_of(self.mesh, bpy.context.view_layer)
        job = addon().physics.operators.job_of([model], bpy.context)
        self.assertEqual(job.frames, 16)
        self.assertIn("frame 1 of 16", next(job.steps).text)
        job.steps.close()
        self.assertEqual(fingerprint.differences(before[0], fingerprint.of_file()), [])
        self.assertEqual(before[1], sorted(os.listdir(self.folder)))
        self.assertEqual(self.content(), data)

    def assert_not_simulated(self, words):
        self.settings.preview = False
        before = fingerprint.of_file(), sorted(os.listdir(self.folder))
        with self.assertRaises(RuntimeError) as caught:
            bpy.ops.mmdskin.simulate()
        self.assertIn(words, str(caught.exception))
        self.assertEqual(fingerprint.differences(before[0], fingerprint.of_file()), [])
        self.assertEqual(before[1], sorted(os.listdir(self.folder)))

    def test_escape_in_a_window(self):
        shown, reports = [], []
        manager = SimpleNamespace(
            event_timer_add=lambda *_, **__: "timer",
            event_timer_remove=shown.append,
            progress_begin=lambda *_: None,
            progress_update=shown.append,
            progress_end=lambda: None,
            modal_handler_add=lambda _: None,
        )
        context = SimpleNamespace(
            window="window",
            window_manager=manager,
            workspace=SimpleNamespace(status_text_set=lambda _: None),
            scene=bpy.context.scene,
            view_layer=bpy.context.view_layer,
            active_object=self.mesh,
            selected_objects=[self.mesh],
            evaluated_depsgraph_get=bpy.context.evaluated_depsgraph_get,
        )
        kind = addon().physics.operators.MMDSKIN_OT_simulate
        names = "invoke execute modal cancel models _start _finish _begin _report _stopped _job"
        names = f"{names} inform caution".split()
        members = {name: getattr(kind, name) for name in names} | {"all_models": False}
        members["report"] = lambda _, level, text: reports.append((min(level), text))
        operator = type("Fake", (), members)()
        window = SimpleNamespace(app=SimpleNamespace(background=False))
        with (
            mock.patch.object(addon().operator_base.modal_job, "bpy", window),
            mock.patch.object(addon().operator_base.modal_job, "_WORK", 0.0),
        ):
            for events in (["TIMER", "ESC"], ["TIMER"] * 17):  # one for each frame and the file
                self.assertEqual(operator.invoke(context, None), {"RUNNING_MODAL"})
                for event in events:
                    done = operator.modal(context, SimpleNamespace(type=event))
        self.assertEqual(done, {"FINISHED"})
        self.assertIn(round(1000 / 16 - 0.5), shown)
        self.assertEqual([level for level, _ in reports], ["INFO", "INFO"])
        self.assert_shows((11,))
