# SPDX-License-Identifier: GPL-3.0-or-later
"""A model with MMD's IK and a simulation, linked into a file of another folder or overridden there."""

import os

import bpy
import case
import numpy as np
import scene
from cases_panel import drawn_texts
from cases_preview_truth import problem
from files import motion_file
from keyed_physics import BAR, HAIR, Keyed, addon, switch


class Elsewhere(Keyed):
    def setUp(self):
        super().setUp()
        self.settings.preview = True
        bpy.ops.mmdskin.simulate()
        self.assertEqual(self.settings.physics_cache, "//" + os.path.basename(self.file))
        self.known = {on: self.shown(on) for on in (True, False)}
        self.settings.physics = True
        bpy.ops.wm.save_mainfile()
        library = self.blend
        scene.clear()
        for kind in (bpy.data.shape_keys, bpy.data.materials):
            bpy.data.batch_remove(list(kind))
        shots = os.path.join(self.folder, "shots")
        os.mkdir(shots)
        self.shot = os.path.join(shots, "shot.blend")
        bpy.ops.wm.save_as_mainfile(filepath=self.shot)
        bpy.ops.wm.open_mainfile(filepath=self.shot)
        with bpy.data.libraries.load(library, link=True) as (there, here):
            here.objects = there.objects
        for obj in here.objects:
            bpy.context.scene.collection.objects.link(obj)
        self.arrive(here.objects)
        self.find()

    def arrive(self, objects):
        """What is done with the linked objects."""

    def find(self):
        objects = [obj for obj in bpy.data.objects if self.is_ours(obj)]
        self.mesh = next(obj for obj in objects if obj.type == "MESH")
        self.armature = next(obj for obj in objects if obj.type == "ARMATURE")
        bpy.context.view_layer.update()

    def is_ours(self, obj):
        return True

    def shown(self, physics):
        self.settings.physics = physics
        return self.frames()

    def open_again(self):
        bpy.ops.wm.save_mainfile()
        bpy.ops.wm.open_mainfile(filepath=self.shot)
        self.find()

    def frames(self):
        found = []
        for frame in (5, 11, 15):
            bpy.context.scene.frame_set(frame)
            found.append(scene.evaluated_positions(self.mesh))
        return np.array(found)


class Linked(Elsewhere):
    def test_shows_its_simulation(self):
        for _ in range(2):
            self.assert_close(self.frames(), self.known[True], BAR)
            self.assertIsNone(problem(self.mesh))
            self.assertEqual(case.physics_problems(), [])
            self.open_again()

    def test_a_missing_simulation_is_reported(self):
        os.remove(self.file)
        self.open_again()
        self.assert_close(self.frames(), self.known[False], BAR)
        self.assertTrue(any("no longer exists" in text for text in drawn_texts(self.mesh)))


class Overridden(Elsewhere):
    def arrive(self, objects):
        root = next(obj for obj in objects if obj.parent is None and obj.children)
        root.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)

    def is_ours(self, obj):
        return obj.override_library is not None

    def assert_shows_both(self):
        for on in (False, True):
            self.assert_close(self.shown(on), self.known[on], BAR)
            self.assertIsNone(problem(self.mesh))
            self.assertEqual(case.physics_problems(), [])

    def test_shows_the_same_as_its_library(self):
        self.assertGreater(np.abs(self.known[True] - self.known[False]).max(), 0.02)
        self.assertTrue(self.settings.physics)
        self.assert_shows_both()

    def test_when_opened_again(self):
        self.open_again()
        self.assert_shows_both()

    def test_when_saved_as_in_another_folder(self):
        """Its paths are those of the library, which has not moved."""
        self.shot = os.path.join(self.folder, "他所", "shot.blend")
        os.mkdir(os.path.dirname(self.shot))
        bpy.ops.wm.save_as_mainfile(filepath=self.shot)
        self.assertEqual(self.settings.physics_cache, "//" + os.path.basename(self.file))
        self.assert_shows_both()
        bpy.ops.wm.open_mainfile(filepath=self.shot)
        self.find()
        self.assert_shows_both()

    def test_is_baked(self):
        bpy.context.scene.frame_set(11)
        opened = addon().pose.pose_source.load(
            self.armature, addon().pose.pose_source.settings_of(self.armature, bpy.context.scene)
        )
        model = addon().scene.scene_model.model_of(self.armature, bpy.context.view_layer)
        member = addon().physics.group.Member(model, opened)
        played = addon().physics.playback.Baked(member).opened
        names = [bone.name for bone in self.armature.pose.bones]
        depsgraph = bpy.context.evaluated_depsgraph_get()
        armature = self.armature.evaluated_get(depsgraph)
        plain, simulated = (
            one.rig.matrices(one.posed(one.local(armature, {}), 11.0)[None], names)
            for one in (opened, played)
        )
        self.assertGreater(np.abs(plain - simulated).max(), 0.02)

    def test_a_missing_simulation_is_reported(self):
        os.remove(self.file)
        self.assert_close(self.shown(True), self.known[False], BAR)
        self.assertTrue(any("no longer exists" in text for text in drawn_texts(self.mesh)))

    def test_is_simulated_for_itself(self):
        """Also if its file has the library's name: the library's cache is not changed."""
        other = os.path.join(os.path.dirname(self.shot), os.path.basename(self.blend))
        for path in (self.shot, other):
            bpy.ops.wm.save_as_mainfile(filepath=path)
            before = self.content()
            self.settings.physics = True
            self.settings.physics_settle = 7
            scene.select(self.mesh)
            bpy.ops.mmdskin.simulate()
            os.rename(self.file, self.file + ".gone")
            self.shown(True)
            self.assertEqual(case.physics_problems(), [])
            os.rename(self.file + ".gone", self.file)
            self.assertEqual(self.content(), before)

    def test_its_own_simulation_lasts(self):
        self.settings.physics = True
        self.settings.physics_settle = 7
        scene.select(self.mesh)
        self.simulate()
        shown, path = self.frames(), self.settings.physics_cache
        self.assertEqual(case.physics_problems(), [])
        for _ in range(2):
            self.open_again()
            self.assertEqual(self.settings.physics_cache, path)
            self.assert_close(self.frames(), shown, BAR)
            self.assertEqual(case.physics_problems(), [])

    def import_switches(self):
        """A motion of the override; returns what it shows and its switches."""
        later = [*switch(HAIR[0], (0, 0), (9, 1)), *switch(HAIR[1], (3, 0), (8, 1))]
        self.write_motion(motion_file.Keys("次", later, []), "次.vmd")
        self.armature.override_library.is_system_override = False
        self.import_keys()
        self.settings.physics = True
        self.simulate()
        shown = self.frames()
        self.assertGreater(np.abs(shown - self.known[True]).max(), 0.01)
        return shown, self.switches()

    def assert_still_shows(self, shown, switches):
        self.assertEqual(self.switches(), switches)
        self.assert_close(self.frames(), shown, BAR)
        self.assertEqual(case.physics_problems(), [])

    def test_physics_switches_of_its_own_motion_last(self):
        """They are custom properties of bones that the library does not have."""
        before = self.switches()
        known = self.import_switches()
        for _ in range(2):
            self.open_again()
            self.assert_still_shows(*known)
        bpy.ops.mmdskin.clear_motion()
        for _ in range(2):
            self.assertEqual(self.switches(), before)
            self.assert_close(self.shown(False), self.known[False], BAR)
            self.assertEqual(bpy.ops.mmdskin.clear_motion(), {"CANCELLED"}, "the library's")
            self.open_again()

    def test_physics_switches_last_when_the_library_is_reloaded(self):
        known = self.import_switches()
        for _ in range(2):
            self.armature.override_library.reference.library.reload()
            self.find()
            self.assert_still_shows(*known)

    def switches(self):
        """The switches of bones, by frame."""
        found = []
        for frame in (0, 6, 11):
            bpy.context.scene.frame_set(frame)
            bones = self.armature.pose.bones
            found.append({bone.name: bool(bone.get("mmd_physics", True)) for bone in bones})
        return found
