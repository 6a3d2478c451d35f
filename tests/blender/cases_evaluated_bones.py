# SPDX-License-Identifier: GPL-3.0-or-later
"""What the add-on remembers of the bones of an evaluated armature: until it may have changed."""

import sys
from unittest import mock

import bpy
import numpy as np
import scene
from live import Live


class Remembered(Live):
    """The judge is what Blender says of the same evaluated armature now."""

    def setUp(self):
        super().setUp()
        self.blender = sys.modules["addon_package"].blender
        self.of = self.blender.evaluated_bones.of

    def evaluated(self):
        return self.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())

    def assert_up_to_date(self):
        armature = self.evaluated()
        found = self.of(armature)
        self.assertEqual(found.names, armature.pose.bones.keys())
        rests = np.array([np.array(bone.matrix_local) for bone in armature.data.bones])
        np.testing.assert_array_equal(found.rests.transpose(0, 2, 1), rests.astype(np.float32))
        return found

    def edit(self, change):
        scene.select(self.armature)
        bpy.ops.object.mode_set(mode="EDIT")
        change(self.armature.data.edit_bones)
        bpy.ops.object.mode_set(mode="OBJECT")

    def test_bones_are_read_once_while_frames_change(self):
        first = self.assert_up_to_date()
        for frame in (3, 7):
            bpy.context.scene.frame_set(frame)
            self.assertIs(self.of(self.evaluated()), first)

    def test_two_hundred_other_armatures_stay_known(self):
        known = self.blender.evaluated_bones._read
        others = dict.fromkeys(range(200))
        with mock.patch.dict(known, others):
            self.armature.data.bones[-1].name = "renamed"
            bpy.context.view_layer.update()
            self.assertIs(self.of(self.evaluated()), self.of(self.evaluated()))
            self.assertLessEqual(others.keys(), known.keys())

    def test_the_oldest_is_forgotten_for_the_newest(self):
        known = self.blender.caches.Cache(4)
        for address in (1, 2, 3, 4, 2, 5):
            known.put(address, None)
            self.assertLessEqual(len(known), 4)
        self.assertEqual(list(known), [3, 4, 2, 5])

    def test_an_object_whose_data_the_user_has_renamed_is_searched_once(self):
        caches = self.blender.caches
        self.armature.data.name = "renamed by the user"
        for _ in range(2):
            self.assertEqual(caches.objects_of([self.armature.data]), [self.armature])
            patch = mock.patch.object(caches, "bpy")  # with no objects
            patch.start()
            self.addCleanup(patch.stop)

    def test_bones_are_read_again_after_a_change(self):
        bones = self.armature.data.bones
        last = bones[-1].name

        def rename():
            bones[last].name = "renamed"

        def move(edited):
            edited["renamed"].tail.x += 0.25

        def add(edited):
            edited.new("new").tail = (0, 0, 1)

        def remove(edited):
            edited.remove(edited["new"])

        for change in (
            rename,
            lambda: self.edit(move),
            lambda: self.edit(add),
            lambda: self.edit(remove),
        ):
            before = self.assert_up_to_date()
            change()
            bpy.context.scene.frame_set(bpy.context.scene.frame_current + 1)
            self.assertIsNot(self.assert_up_to_date(), before)

    def test_settings_are_read_again_after_a_change(self):
        settings_of = sys.modules["addon_package"].pose.pose_source.settings_of
        settings = self.armature.mmdskin
        settings.source = "MOTION"
        for start in (2, 5):
            settings.motion_start = start
            bpy.context.view_layer.update()
            found = settings_of(self.evaluated(), bpy.context.scene)
            self.assertEqual(found.start, start)
        bpy.context.scene.render.fps = 25
        self.assertEqual(settings_of(self.evaluated(), bpy.context.scene).fps, 25)

    def test_the_users_bones_stay_as_they_are(self):
        bones = self.armature.pose.bones
        bones[0].lock_rotation_w = True
        self.assert_up_to_date()
        self.of(self.armature)
        self.assertEqual([b.lock_rotation_w for b in bones], [True] + [False] * (len(bones) - 1))
