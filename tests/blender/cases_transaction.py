# SPDX-License-Identifier: GPL-3.0-or-later
"""Every operator that writes changes all or nothing: it fails at calls throughout its run, and the
file is as before.

The call that fails is any function of the add-on after `editing` has begun, except those that put
things back.
"""

import itertools
import os
import sys

import bpy
import case
import fingerprint
import scene
from cases_motion_import import ImportCase, faster
from files import motion_file

AT = 6  # places in each run


def addon():
    return sys.modules["addon_package"]


class BrokenError(Exception):
    """An unexpected exception."""


class Failing:
    """Raises at the n-th call of a function of the add-on between the beginning and the end of an edit.

    `n` 0 only counts. Evaluation handles its own exceptions, so it is left alone.
    """

    def __init__(self, n=0):
        self.n, self.calls, self.is_on = n, 0, False
        package = os.path.dirname(addon().__file__)
        self.package = package + os.sep
        self.left_alone = (
            "snapshots.py",
            "editing.py",
            "driver_function.py",
            "playhead.py",
        )

    def __enter__(self):
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_):
        sys.settrace(None)

    def trace(self, frame, event, argument):
        code = frame.f_code
        if not code.co_filename.startswith(self.package):
            return
        if code.co_filename.endswith("editing.py"):
            self.is_on = {"save": True, "editing": False}.get(code.co_name, self.is_on)
        if self.is_on and not self.is_left_alone(frame):
            self.calls += 1
            if self.calls == self.n:
                raise BrokenError(f"{code.co_filename}:{code.co_name}")

    def is_left_alone(self, frame):
        while frame is not None:
            if frame.f_code.co_filename.endswith(self.left_alone):
                return frame.f_code.co_name != "editing"
            frame = frame.f_back
        return False


class Transaction(case.Case):
    def assert_all_or_nothing(self, run):
        """`run` succeeds; it runs again with failures from the state before."""
        before = fingerprint.of_file()
        places = []
        self.assert_fails(before, run, 1, places)
        # How many calls there are is known only from a run that goes through.
        bpy.ops.wm.save_as_mainfile(filepath=self.blend(), copy=True)
        with Failing() as counted:
            self.assertEqual(run(), {"FINISHED"})
        self.assertGreater(counted.calls, 1)
        self.assertNotEqual(fingerprint.differences(before, fingerprint.of_file()), [])
        bpy.ops.wm.open_mainfile(filepath=self.blend())
        bpy.context.view_layer.update()
        before = fingerprint.of_file()
        for number in sorted({1 + counted.calls * i // AT for i in range(AT)} | {counted.calls}):
            if not self.assert_fails(before, run, number, places):
                break
        self.assertGreater(len(set(places)), 1, places)

    def assert_fails(self, before, run, number, places):
        """Returns whether it failed: a run may have fewer calls than the one that was counted."""
        text = ""
        try:
            with Failing(number):
                run()
        except RuntimeError as error:
            text = str(error)
            places += [line for line in text.splitlines() if "BrokenError" in line]
        if not text:
            return False
        bpy.context.view_layer.update()
        lines = fingerprint.differences(before, fingerprint.of_file())
        self.assertEqual("\n".join(line[:200] for line in lines[:9]), "", text)
        return True

    def blend(self):
        return os.path.join(self.kept, "before.blend")


class Bakes(Transaction):
    """Two models; keys with curves, drivers and values of their own."""

    def setUp(self):
        super().setUp()
        self.other = scene.Scene(case.small_model(), "second")
        self.kept = case.folder(self)
        for mesh in (self.mesh, self.other.mesh):
            key = mesh.data.shape_keys.key_blocks["ふくらみ"]
            key.value = 0.5
            key.keyframe_insert("value", frame=1)
            key.value = 0.75
            key.keyframe_insert("value", frame=9)
        driven = self.mesh.data.shape_keys.key_blocks["mmd_sdef_c"]
        driven.driver_add("value").driver.expression = "0.25"
        bpy.context.view_layer.update()

    def bake(self, **options):
        options = {"range": "CUSTOM", "frame_start": 1, "frame_end": 4, **options}
        return bpy.ops.mmdskin.bake(all_models=True, folder=self.kept, **options)

    def test_a_first_bake(self):
        for live in (False, True):
            bpy.ops.mmdskin.preview(action="ENABLE" if live else "DISABLE", all_models=True)
            self.assert_all_or_nothing(self.bake)
            bpy.ops.mmdskin.clear_bake(all_models=True)

    def test_one_bake_in_place_of_another(self):
        bpy.ops.mmdskin.preview(action="ENABLE", all_models=True)
        targets = ("SHAPE_KEYS", "MESH_CACHE", "CORRECTIVE", "SHAPE_KEYS")
        for old, new in itertools.pairwise(targets):
            with self.subTest(old=old, new=new):
                self.bake(target=old)
                self.assert_all_or_nothing(lambda new=new: self.bake(target=new))

    def test_a_frame_that_is_added(self):
        bpy.ops.mmdskin.bake(all_models=True)
        bpy.context.scene.frame_set(3)
        self.assert_all_or_nothing(lambda: bpy.ops.mmdskin.bake(all_models=True))

    def test_cleared_bakes(self):
        bpy.ops.mmdskin.preview(action="ENABLE", all_models=True)
        for target in ("SHAPE_KEYS", "MESH_CACHE", "CORRECTIVE"):
            with self.subTest(target=target):
                self.bake(target=target)
                self.assert_all_or_nothing(lambda: bpy.ops.mmdskin.clear_bake(all_models=True))

    def test_a_cleared_bake_of_a_mesh_without_keys(self):
        for mesh in (self.mesh, self.other.mesh):
            mesh.shape_key_clear()
        self.bake()
        self.assert_all_or_nothing(lambda: bpy.ops.mmdskin.clear_bake(all_models=True))


class Motions(Transaction, ImportCase):
    def setUp(self):
        ImportCase.setUp(self)
        self.kept = case.folder(self)
        self.camera_path = self.write(
            "both.vmd",
            motion_file.write_vmd(
                faster(self.scene.pmx)._replace(
                    camera=[motion_file.CameraKey(0), motion_file.CameraKey(30)]
                )
            ),
        )
        arm = self.armature.pose.bones["腕.L"]
        for frame, angle in ((1, 0.1), (7, 0.6)):
            arm.rotation_euler = (angle, 0, 0)
            arm.keyframe_insert("rotation_euler", frame=frame)
        key = self.mesh.data.shape_keys.key_blocks["い"]
        key.driver_add("value").driver.expression = "0.25"
        bpy.context.view_layer.update()

    def test_a_motion_with_a_camera(self):
        self.assert_all_or_nothing(lambda: self.imported(self.camera_path, mode="ORIGINAL"))

    def test_a_motion_over_another(self):
        self.imported()
        self.assert_all_or_nothing(lambda: self.imported(self.camera_path))

    def test_a_motion_in_place_of_one_in_the_other_form(self):
        self.imported()
        self.assert_all_or_nothing(lambda: self.imported(self.camera_path, mode="ORIGINAL"))

    def test_a_cleared_motion(self):
        self.imported(self.camera_path, mode="ORIGINAL")
        self.assert_all_or_nothing(bpy.ops.mmdskin.clear_motion)
