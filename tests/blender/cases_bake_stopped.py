# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake that fails or is cancelled at any time leaves the scene and the disk unchanged."""

import os
import shutil
import tempfile
import unittest
from types import SimpleNamespace
from unittest import mock

import bpy
import case
import fingerprint
import scene
from case import addon
from cases_bake_range import TARGETS, Range, forget_file

try:
    import resource
except ImportError:
    resource = None
limits_files = unittest.skipUnless(resource, "Windows cannot limit the size of files")


class Stopped(Range):
    def setUp(self):
        super().setUp()
        bone = self.scene.armature.pose.bones[1]
        bone.rotation_quaternion = (0.5, 0.5, 0.5, 0.5)  # without a keyframe
        bpy.context.view_layer.update()

    def assert_untouched(self, before):
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])
        self.assertEqual(os.listdir(self.folder), [])

    def assert_fails(self, words, **options):
        """One sentence with these words, and nothing is changed."""
        with case.unchanged(self):
            options = {"range": "CUSTOM", "frame_start": 1, "frame_end": 9, **options}
            with self.assertRaises(RuntimeError) as caught:
                bpy.ops.mmdskin.bake(**options)
            text = str(caught.exception).strip()
            self.assertIn(words, text)
            self.assertNotIn("Traceback", text)
            self.assertEqual(text.count("\n"), 0, text)


class Cancelled(Stopped):
    """The modal operator, on timer events and on Esc."""

    def job(self, target, **options):
        return case.bake_job(self.mesh, target, range(1, 22), folder=self.folder, **options)

    def assert_cancelled_after(self, steps):
        for target, more in (*TARGETS, ("CORRECTIVE", {})):
            with self.subTest(target):
                before = fingerprint.of_file()
                job = self.job(target, driven=more.get("corrective") != "KEYED")
                for _ in range(steps):
                    next(job.steps)
                job.steps.close()
                self.assert_untouched(before)

    def test_before_the_first_frame(self):
        self.assert_cancelled_after(0)

    def test_after_the_first_frame(self):
        self.assert_cancelled_after(1)

    def test_half_way(self):
        self.assert_cancelled_after(10)

    def test_after_the_last_frame(self):
        self.assert_cancelled_after(21)

    def test_while_keys_are_chosen(self):
        before = fingerprint.of_file()
        for ahead in (0, 5, 40, 60):
            job = self.job("CORRECTIVE")
            choosing = (step for step in job.steps if "choosing keys of 'model_mesh'" in step.text)
            for _ in range(ahead + 1):
                next(choosing)
            job.steps.close()
            self.assert_untouched(before)

    def test_over_an_earlier_bake_keeps_that(self):
        for target, more in TARGETS:
            self.bake(target, **more)
            files = os.listdir(self.folder)
            with case.unchanged(self):
                job = self.job("MESH_CACHE")
                for _ in range(10):
                    next(job.steps)
                job.steps.close()
            self.assertEqual(os.listdir(self.folder), files)
            bpy.ops.mmdskin.clear_bake()


class Operator(Stopped):
    """The operator in a window; the test sends its events."""

    def setUp(self):
        super().setUp()
        self.shown = []
        manager = SimpleNamespace(
            event_timer_add=lambda *_, **__: "timer",
            event_timer_remove=self.shown.append,
            progress_begin=lambda *_: None,
            progress_update=lambda _: None,
            progress_end=lambda: None,
            modal_handler_add=lambda _: None,
        )
        self.context = SimpleNamespace(
            window="window",
            window_manager=manager,
            workspace=SimpleNamespace(status_text_set=self.shown.append),
            scene=bpy.context.scene,
            view_layer=bpy.context.view_layer,
            active_object=self.mesh,
            selected_objects=[self.mesh],
            evaluated_depsgraph_get=bpy.context.evaluated_depsgraph_get,
        )
        operators = addon().bake.operators
        self.reports = []
        kind = operators.MMDSKIN_OT_bake
        names = ("invoke", "execute", "modal", "cancel", "models")
        names += ("_resolve_options", "_start", "_options", "_report", "_begin", "_stopped")
        names += ("inform", "caution")
        members = {name: getattr(kind, name) for name in names}
        given = {"target": "MESH_CACHE", "range": "CUSTOM", "folder": self.folder}
        given |= {"frame_start": 1, "frame_end": 21, "step": 1}
        members |= given | {"corrective": "DRIVEN", "all_models": False, "filled": "", "_job": None}
        members["report"] = lambda _, level, text: self.reports.append((min(level), text))
        members["properties"] = SimpleNamespace(is_property_set=given.__contains__)
        self.operator = type("Fake", (), members)()
        patch = mock.patch.object(addon().operator_base.modal_job, "_WORK", 0.0)
        patch.start()
        self.addCleanup(patch.stop)
        window = SimpleNamespace(
            app=SimpleNamespace(background=False),
            context=self.context,
            data=SimpleNamespace(workspaces=[self.context.workspace]),
        )
        background = mock.patch.object(addon().operator_base.modal_job, "bpy", window)
        background.start()
        self.addCleanup(background.stop)

    def event(self, kind):
        return self.operator.modal(self.context, SimpleNamespace(type=kind))

    def test_bakes_on_a_timer(self):
        expected = self.expected((1, 8, 21))
        self.assertEqual(self.operator.invoke(self.context, None), {"RUNNING_MODAL"})
        for _ in range(21):
            self.assertEqual(self.event("TIMER"), {"RUNNING_MODAL"})
        self.assertIn("MMD Skin: frame 21 of 21   Esc: cancel", self.shown)
        self.assertEqual(self.event("TIMER"), {"FINISHED"})
        self.assertEqual(self.shown[-2:], ["timer", None])
        self.assertEqual(self.reports[-1][0], "INFO")
        self.assert_plays(expected)

    def test_escape_cancels_while_keys_are_chosen(self):
        self.operator.target = "CORRECTIVE"
        before = fingerprint.of_file()
        self.operator.invoke(self.context, None)
        while "MMD Skin: choosing keys of 'model_mesh'   Esc: cancel" not in self.shown:
            self.assertEqual(self.event("TIMER"), {"RUNNING_MODAL"})
        self.assertEqual(self.event("ESC"), {"CANCELLED"})
        self.assertEqual(self.shown[-2:], ["timer", None])
        self.assert_untouched(before)

    def test_other_events_do_nothing(self):
        self.operator.invoke(self.context, None)
        self.assertEqual(self.event("MOUSEMOVE"), {"RUNNING_MODAL"})
        self.event("ESC")

    def test_escape_cancels(self):
        for ticks in (0, 1, 10, 21):
            with self.subTest(ticks):
                before = fingerprint.of_file()
                self.operator.invoke(self.context, None)
                for _ in range(ticks):
                    self.event("TIMER")
                self.assertEqual(self.event("ESC"), {"CANCELLED"})
                self.assertEqual(self.shown[-2:], ["timer", None])
                self.assert_untouched(before)

    @limits_files
    def test_a_failure_half_way_is_reported(self):
        before = fingerprint.of_file()
        self.operator.invoke(self.context, None)
        self.event("TIMER")
        with full_disk():
            while self.event("TIMER") == {"RUNNING_MODAL"}:
                pass
        self.assertEqual(self.reports[-1][0], "ERROR")
        self.assertEqual(self.shown[-2:], ["timer", None])
        self.assert_untouched(before)

    def test_any_failure_ends_it(self):
        before = fingerprint.of_file()
        self.operator.invoke(self.context, None)
        with mock.patch.object(addon().pose.skinner.Skinner, "skinned", side_effect=KeyError("x")):
            self.assertRaises(KeyError, self.event, "TIMER")
        self.assertEqual(self.shown[-2:], ["timer", None])
        self.assert_untouched(before)

    def test_ends_with_the_add_on_and_with_the_file(self):
        before = fingerprint.of_file()
        self.operator.invoke(self.context, None)
        for _ in range(3):
            self.event("TIMER")
        self.assertIn(addon().operator_base.modal_job._stop, bpy.app.handlers.load_pre)
        addon().operator_base.modal_job._stop()
        self.assertEqual(self.shown[-3:], ["timer", None, None])
        self.assert_untouched(before)
        self.assertEqual(self.event("TIMER"), {"CANCELLED"})


class full_disk:
    """Files may not grow past a few bytes."""

    def __enter__(self):
        self._limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, self._limits[1]))

    def __exit__(self, *_):
        resource.setrlimit(resource.RLIMIT_FSIZE, self._limits)


class Disk(Stopped):
    def fails(self, words, **options):
        options.setdefault("folder", self.folder)
        self.assert_fails(words, target="MESH_CACHE", **options)

    @limits_files
    def test_full(self):
        with full_disk():
            self.fails("cannot be written: File too large")
        self.assertEqual(os.listdir(self.folder), [])

    @limits_files
    def test_full_keeps_the_cache_of_an_earlier_bake(self):
        self.bake("MESH_CACHE")
        (name,) = os.listdir(self.folder)
        path = os.path.join(self.folder, name)
        with open(path, "rb") as file:
            before = file.read()
        with full_disk():
            self.fails("cannot be written")
        with open(path, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(os.listdir(self.folder), [name])

    def test_folder_that_does_not_exist(self):
        self.fails("does not exist: create it first", folder=os.path.join(self.folder, "無い"))

    def test_folder_that_takes_no_files(self):
        self.fails("cannot be written", folder="/proc")

    def test_file_that_cannot_be_put_in_place(self):
        denied = PermissionError(13, "Permission denied")
        with (
            mock.patch("os.link", side_effect=denied),
            mock.patch("os.replace", side_effect=denied),
        ):
            self.fails("cannot be written: Permission denied")
        self.assertEqual(os.listdir(self.folder), [])

    def test_blend_that_is_not_saved(self):
        with mock.patch.object(addon().blender.cache_files, "bpy") as fake:
            fake.data.filepath = ""
            for folder in ("", "//cache"):
                self.fails(
                    "The .blend file is not saved: save it, or choose a Folder", folder=folder
                )

    def test_second_cache_that_fails_leaves_the_first_as_it_was(self):
        other = scene.Scene(case.small_model(), "other")
        self.bake("MESH_CACHE", all_models=True)
        contents = self.files()
        link = os.link

        def fail(old, new):
            if f"{other.mesh.name}." in new:
                raise PermissionError(13, "Permission denied")
            link(old, new)

        scene.pose(self.scene, seed=9)
        with mock.patch("os.link", fail), mock.patch("os.replace", fail):
            self.fails("Permission denied", all_models=True)
        self.assertEqual(self.files(), contents)

    def files(self):
        found = {}
        for name in os.listdir(self.folder):
            with open(os.path.join(self.folder, name), "rb") as file:
                found[name] = file.read()
        return found

    def test_blend_on_a_path_with_japanese_characters(self):
        folder = os.path.join(self.folder, "初音ミク")
        os.mkdir(folder)
        bpy.ops.wm.save_as_mainfile(filepath=os.path.join(folder, "踊り.blend"))
        self.addCleanup(forget_file)
        expected = self.expected((1, 9))
        self.bake("MESH_CACHE", folder="//")
        self.assert_plays(expected)
        shutil.rmtree(folder)


class Frames(Stopped):
    def handle(self, function):
        handlers = bpy.app.handlers.frame_change_post
        handlers.append(function)
        self.addCleanup(lambda: function in handlers and handlers.remove(function))

    def test_pose_that_is_not_a_number_names_the_frame(self):
        bone = self.scene.armature.pose.bones[2]

        def spoil(current, _):
            if current.frame_current == 6:
                bone.location[0] = float("nan")

        self.handle(spoil)
        with self.assertRaisesRegex(RuntimeError, "frame 6: the pose of bone"):
            bpy.ops.mmdskin.bake(range="CUSTOM", frame_start=1, frame_end=9)

    def test_a_scale_of_zero(self):
        for thing in (self.scene.armature, self.scene.root, self.mesh):
            for target in ("SHAPE_KEYS", "CORRECTIVE", "MESH_CACHE"):
                with self.subTest(thing=thing.name, target=target):
                    scene.transform(thing, scale=(0, 0, 0))
                    self.assert_refused(
                        "has a scale of zero", target=target, folder=tempfile.gettempdir()
                    )
                    scene.transform(thing)

    def test_empty_range(self):
        self.assert_fails(
            "The frame range is empty: Start 9 is after End 8", frame_start=9, frame_end=8
        )

    def test_frames_that_blender_does_not_have(self):
        options = {"frame_start": 1048570, "frame_end": 2**31 - 1}
        bpy.ops.mmdskin.bake(range="CUSTOM", **options)
        self.assertEqual(self.names(), [f"MMD {frame}" for frame in range(1048570, 1048575)])

    def test_not_enough_memory(self):
        with mock.patch.object(addon().pose.skinner.Skinner, "skinned", side_effect=MemoryError):
            self.assert_fails("Not enough memory for 9 frames")

    def test_mesh_edited_between_frames(self):
        def edit(current, _):
            if current.frame_current == 5:
                self.mesh.data.vertices.add(1)

        self.handle(edit)
        with self.assertRaisesRegex(RuntimeError, "was edited during the bake"):
            bpy.ops.mmdskin.bake(range="CUSTOM", frame_start=1, frame_end=9)
        self.assertEqual(bpy.context.scene.frame_current, 4)

    def test_model_removed_between_frames(self):
        def remove(current, _):
            if current.frame_current == 5 and self.mesh:
                mesh, self.mesh = self.mesh, None
                bpy.data.objects.remove(mesh)

        self.handle(remove)
        with self.assertRaisesRegex(RuntimeError, "The model was removed in the meantime"):
            bpy.ops.mmdskin.bake(range="CUSTOM", frame_start=1, frame_end=9)

    def test_mesh_without_vertices(self):
        self.mesh.shape_key_clear()
        self.mesh.data.clear_geometry()
        with self.assertRaisesRegex(RuntimeError, "has no vertices"):
            bpy.ops.mmdskin.bake()

    def test_second_model_that_fails_leaves_the_first_untouched(self):
        other = scene.Scene(case.small_model(), "other")
        other.mesh.data.shape_keys.use_relative = False
        self.assert_fails("absolute shape keys", all_models=True)

    def test_shape_keys_in_tweak_mode(self):
        keys = self.mesh.data.shape_keys
        keys.key_blocks[1].keyframe_insert("value", frame=1)
        data = keys.animation_data
        action, data.action = data.action, None
        data.nla_tracks.new().strips.new("strip", 1, action)
        data.use_tweak_mode = True
        if not data.use_tweak_mode:
            self.skipTest("this Blender tweaks strips only from its editor")
        self.assert_fails("are in NLA Tweak Mode: leave it first")
