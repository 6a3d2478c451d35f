# SPDX-License-Identifier: GPL-3.0-or-later
"""A motion imported onto a library override is cleared exactly, also after its file is opened again."""

import json
import os
import shutil
from unittest import mock

import bpy
import case
import numpy as np
import scene
from cases_motion import addon
from cases_motion_import import ImportCase, faster
from files import motion_file

FRAMES = (1, 5, 9, 16)


class Overridden(ImportCase):
    """A library override in a saved file, whose arm is posed and keyed there."""

    keyed = True  # whether the override has an action of its own

    def setUp(self):
        super().setUp()
        self.addCleanup(scene.clear)
        collection = bpy.data.collections.new("cast")
        bpy.context.scene.collection.children.link(collection)
        for obj in list(bpy.context.scene.collection.objects):
            collection.objects.link(obj)
            bpy.context.scene.collection.objects.unlink(obj)
        library = os.path.join(self.folder.name, "library.blend")
        bpy.ops.wm.save_as_mainfile(filepath=library, copy=True)
        self.override_from(library, "shot.blend")
        self.arm.rotation_mode = "XYZ"
        self.arm.location = 0.1, 0.2, 0
        if self.keyed:
            for frame, angle in ((1, 0.1), (9, 0.6)):
                self.arm.rotation_euler = angle, 0, 0
                self.arm.keyframe_insert("rotation_euler", frame=frame)
        bpy.context.scene.frame_set(1)
        self.open_again()

    def override_from(self, library, name):
        """A new file with an override of the model in the library."""
        scene.clear()
        for kind in (bpy.data.shape_keys, bpy.data.materials, bpy.data.collections):
            bpy.data.batch_remove(list(kind))
        self.shot = os.path.join(self.folder.name, name)
        bpy.ops.wm.save_as_mainfile(filepath=self.shot)
        with bpy.data.libraries.load(library, link=True) as (_, here):
            here.collections = ["cast"]
        bpy.context.scene.collection.children.link(here.collections[0])
        linked = here.collections[0].all_objects
        scene.select(next(obj for obj in linked if obj.type == "ARMATURE"))
        bpy.ops.mmdskin.make_override()
        self.find()

    def find(self):
        own = {obj.type: obj for obj in bpy.context.scene.objects if obj.override_library}
        self.assertLessEqual({"MESH", "ARMATURE"}, own.keys(), list(bpy.data.objects))
        self.mesh, self.armature = own["MESH"], own["ARMATURE"]
        self.armature_name = self.armature.name
        scene.select(self.mesh)
        bpy.context.view_layer.update()

    @property
    def arm(self):
        return self.armature.pose.bones["腕.L"]

    def open_again(self):
        bpy.ops.wm.save_mainfile()
        bpy.ops.wm.open_mainfile(filepath=self.shot)
        self.find()

    def frames(self):
        found = []
        for frame in FRAMES:
            bpy.context.scene.frame_set(frame)
            found.append(scene.evaluated_positions(self.mesh))
        bpy.context.scene.frame_set(1)
        return np.array(found)

    def content(self):
        """What an import changes on the override, and what it adds to the file."""
        bones = [
            [str(list(getattr(bone, name))) for name in ("location", "rotation_quaternion")]
            + [bone.rotation_mode, [one.mute for one in bone.constraints]]
            for bone in self.armature.pose.bones
        ]
        data = self.armature.animation_data
        settings = self.armature.mmdskin
        return {
            "bones": bones,
            "action": data.action.name if data and data.action else None,
            "actions": sorted(one.name for one in bpy.data.actions),
            "settings": [settings.source, settings.motion_path, settings.model_path],
            "properties": [
                name
                for name in list(self.armature.keys())
                if "mmdskin_" in name and self.armature[name]
            ],
            "frame_end": bpy.context.scene.frame_end,
        }

    def overridden(self):
        """What Blender has noted as different from the library, once saved."""
        bpy.ops.wm.save_mainfile()
        return sorted(
            one.rna_path
            for one in self.armature.override_library.properties
            if len(one.operations) and "mmdskin_" in one.rna_path
        )


class Newer(Overridden):
    keyed = False

    def test_a_motion_of_a_newer_version_stops_no_handler(self):
        """They run at each update of the scene and when a file is opened."""
        handlers = addon().import_motion.handlers
        self.armature.mmdskin_motion_of_override = json.dumps({"version": 99})
        with mock.patch.object(handlers, "_recover", wraps=handlers._recover) as recovered:
            self.armature.location.x = 1
            bpy.context.view_layer.update()
        self.assertTrue(recovered.called)
        handlers.follow()


class Clears(Overridden):
    def assert_cleared_after_opening_again(self, *imports):
        known, before = self.frames(), self.content()
        for options in imports:
            self.assertEqual(self.imported(**options), {"FINISHED"})
        moved = self.frames()
        if self.armature.mmdskin.source == "ARMATURE":
            self.assertGreater(np.abs(moved - known).max(), 0.1)
        for _ in range(2):
            self.open_again()
            self.assert_close(self.frames(), moved, case.BAR * scene.SCALE)
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
        self.assertEqual(self.content(), before)
        self.assertEqual(self.overridden(), [])
        self.assertTrue(np.array_equal(self.frames(), known))
        self.open_again()
        self.assertEqual(self.content(), before)
        self.assertTrue(np.array_equal(self.frames(), known))

    def test_solved_keyframes(self):
        self.assert_cleared_after_opening_again({"mode": "SOLVED"})

    def test_original_keyframes(self):
        self.assert_cleared_after_opening_again({"mode": "ORIGINAL"})

    def test_a_motion_source(self):
        self.assert_cleared_after_opening_again({"mode": "FILE"})

    def test_two_motions(self):
        second = self.write("second.vmd", motion_file.write_vmd(faster(self.scene.pmx)))
        self.assert_cleared_after_opening_again({}, {"path": second, "frame_start": 30})


class FromAnOverride(Overridden):
    def test_the_motion_of_an_override_in_another_file_is_not_cleared(self):
        self.imported()
        known = self.frames()
        bpy.ops.wm.save_mainfile()
        self.override_from(self.shot, "next.blend")
        moved = self.frames()
        self.assert_close(moved, known, case.BAR * scene.SCALE)
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"CANCELLED"})
        np.testing.assert_array_equal(self.frames(), moved)


class Moved(Overridden):
    """The shot's own motion file, which the library does not know."""

    def setUp(self):
        super().setUp()
        self.before = self.content()
        self.imported(mode="FILE")
        self.moved = self.frames()
        bpy.ops.wm.save_mainfile()
        self.assertEqual(self.armature.mmdskin.motion_path, "//踊り.vmd")
        self.elsewhere = os.path.join(self.folder.name, "他所")
        os.mkdir(self.elsewhere)

    def open_in(self, folder):
        self.shot = shutil.move(self.shot, folder)
        bpy.ops.wm.open_mainfile(filepath=self.shot)
        self.find()

    def assert_cleared(self):
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})
        self.assertEqual(self.content(), self.before)
        self.open_again()
        self.assertEqual(self.content(), self.before)

    def test_a_motion_of_a_shot_that_was_moved_is_cleared(self):
        self.motion_path = shutil.move(self.motion_path, self.elsewhere)
        self.open_in(self.elsewhere)
        self.assertEqual(self.file_of("motion_path"), self.motion_path)
        self.assert_close(self.frames(), self.moved, case.BAR * scene.SCALE)
        self.assert_cleared()

    def test_a_motion_of_a_shot_that_was_moved_alone_is_found_and_cleared(self):
        self.open_in(self.elsewhere)
        self.assertEqual(self.file_of("motion_path"), self.motion_path)
        self.assert_close(self.frames(), self.moved, case.BAR * scene.SCALE)
        self.open_again()
        self.assertEqual(self.armature.mmdskin.motion_path, "//../踊り.vmd")
        self.assert_cleared()

    def test_an_override_of_the_override_in_another_folder_plays_its_motion(self):
        self.override_from(self.shot, os.path.join(self.elsewhere, "next.blend"))
        for _ in range(2):
            self.assertEqual(self.file_of("motion_path"), self.motion_path)
            self.assert_close(self.frames(), self.moved, case.BAR * scene.SCALE)
            self.open_again()

    def test_an_override_that_is_linked_into_another_folder_plays_its_motion(self):
        shot = self.shot
        scene.clear()
        bpy.ops.wm.save_as_mainfile(filepath=os.path.join(self.elsewhere, "next.blend"))
        with bpy.data.libraries.load(shot, link=True) as (_, here):
            here.objects = [self.armature_name]
        self.armature = here.objects[0]
        self.assertEqual(self.file_of("motion_path"), self.motion_path)


class Stopped(Overridden):
    def test_a_failed_clear_changes_nothing(self):
        self.imported()
        self.open_again()
        before, known = self.content(), self.frames()
        error = addon().blender.user_error.UserError("no room")
        place = addon().import_motion.import_state
        with mock.patch.object(place, "restore_range", side_effect=error):
            self.assertRaises(RuntimeError, bpy.ops.mmdskin.clear_motion)
        self.assertEqual(self.content(), before)
        self.assertTrue(np.array_equal(self.frames(), known))
        self.open_again()
        self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"FINISHED"})


class ClearsUnkeyed(Clears):
    keyed = False
