# SPDX-License-Identifier: GPL-3.0-or-later
"""Hair that moves while a model is posed, without a simulation file: poses, rest and failures."""

import itertools
import os
from unittest import mock

import bpy
import case
import numpy as np
import scene
from cases_sliders import morph
from keyed_physics import addon
from live_physics import Live


class Poses(Live):
    def test_hair_swings_after_a_pose_and_the_head_does_not_lag(self):
        settled = self.points()
        posed = self.pose(0.6)
        self.assertGreater(np.abs(posed - settled).max(), 0.01)
        solver = self.solver()
        depsgraph = bpy.context.evaluated_depsgraph_get()
        local = solver.local(self.armature.evaluated_get(depsgraph), {})
        still = [i for i in range(len(self.pmx.bones)) if i not in self.hair]
        self.assert_close(self.bones()[still], solver.solved(local)[still], 1e-6)
        seen = [posed, *(self.wait(1 / 30) for _ in range(5))]
        for one, other in itertools.pairwise(seen):
            self.assertGreater(np.abs(one - other).max(), 1e-2)

    def test_hair_stays_on_a_head_that_nods(self):
        """By 0.6 units at 1.5 Hz, however many evaluations there are a second."""
        joint = self.pmx.joints[-2]
        head, hair = (self.pmx.rigid_bodies[i].bone for i in (joint.body_a, joint.body_b))
        self.assertEqual((head, hair), (0, self.hair[0]))
        root = np.append(joint.position, 1)
        for rate in (15, 40, 60):
            self.pose(0.0)
            self.settle()
            for number in range(rate):
                self.now += 1 / rate
                addon().preview.live_timer._advance()
                self.pose(0.08 * np.sin(2 * np.pi * 1.5 * number / rate))
                shown = self.bones()
                off = (shown[hair] - shown[head]) @ root
                self.assertLess(np.linalg.norm(off[:3]), 0.3, (rate, number))

    def test_a_bake_of_the_pose_has_the_hair_that_is_shown(self):
        self.pose(0.6)
        shown = self.wait(0.25)
        self.bake_pose()
        self.assert_close(self.points(), shown, 1e-5)

    def test_a_bake_of_a_pose_that_was_not_shown_has_hair_at_rest(self):
        self.pose(0.6)
        self.settle()
        settled = self.points()
        addon().physics.live._lives.clear()
        self.bake_pose()
        self.assert_close(self.points(), settled, 1e-5)

    def test_hair_that_is_shown_does_not_enter_a_bake_of_another_model_file(self):
        self.pose(0.6)
        self.settle()
        settled = self.points()
        self.pose(0.0)
        self.settle()
        swinging = self.pose(0.6)
        self.assertGreater(np.abs(swinging - settled).max(), 1e-3)
        scene.select(self.mesh)
        other = self.write(self.pmx, "other.pmx")
        baked = bpy.ops.mmdskin.bake(range="CURRENT", model_path=other)
        self.assertEqual(baked, {"FINISHED"})
        self.assert_close(self.points(), settled, 1e-5)

    def test_a_pose_file_has_the_hair_that_is_shown(self):
        self.pose(0.6)
        self.wait(0.25)
        shown, out = self.bones(), os.path.join(self.folder, "pose.vpd")
        scene.select(self.armature)
        bpy.ops.mmdskin.export_pose(filepath=out, bones="SOLVED_BOTH", model_path=self.path)
        mmdskin = addon().blender.native.load()
        model = mmdskin.load_model(self.path)
        posed = model.pose(mmdskin.load_motion(out), 0).bone_matrices
        self.assert_close(posed[self.hair], shown[self.hair], 1e-3)

    def test_settle_brings_hair_to_rest(self):
        posed = self.pose(0.6)
        self.settle()
        settled = self.points()
        self.assertGreater(np.abs(settled - posed).max(), 1e-3)
        self.assert_close(self.wait(0.25), settled, 1e-3)

    def test_a_pose_far_away_settles(self):
        """Whatever its hair did there would stretch its joints."""
        for place in (1, 32):
            for name in ("センター", "左足ＩＫ"):
                self.bone(name).location.x = place * scene.SCALE
            self.armature.update_tag()
            self.points()
            (live,) = addon().physics.live.of_armature(self.armature)
            self.assertLess(live._simulation.strain[0][:, 0].max(), 1)
            self.assertEqual(live._settled, place == 32)


class Smiles(Live):
    def import_model(self):
        self.pmx.morphs += [morph("笑い", "vertex", [0], [(0, 0.1, 0)])]
        super().import_model()

    def test_a_bake_of_the_pose_has_the_hair_that_is_shown(self):
        self.mesh.data.shape_keys.key_blocks["笑い"].value = 1.0
        self.pose(0.6)
        shown = self.wait(0.25)
        self.bake_pose()
        self.assert_close(self.points(), shown, 1e-5)


class Rests(Live):
    """The timer, as in a window."""

    def test_nothing_is_evaluated_once_all_is_calm(self):
        self.pose(0.6)
        evaluated = 0
        with mock.patch.object(
            addon().preview.driver_function, "_show", wraps=addon().preview.driver_function._show
        ) as show:
            for _ in range(100):
                self.now += 0.1
                wait = addon().preview.live_timer.passed()
                self.points()
                evaluated += show.call_count > 0
                show.reset_mock()
        self.assertTrue(35 <= evaluated <= 42, evaluated)  # ten a second, for four seconds
        self.assertEqual(wait, 0.25)
        self.assertFalse(addon().physics.live.is_running)

    def test_a_mesh_is_not_read_again(self):
        self.pose(0.6)
        prepared = addon().preview.driver_function.skinner
        with mock.patch.object(prepared, "Skinner", None):
            for _ in range(3):
                self.wait(0.1)

    def test_what_was_deleted_is_forgotten(self):
        live = addon().physics.live
        for obj in (self.mesh, self.armature):
            bpy.data.objects.remove(obj)
            self.now += 0.1
            addon().preview.live_timer.passed()
        self.assertEqual(live.every(), [])

    def test_it_is_live_again_in_a_file_that_was_opened(self):
        bpy.ops.wm.save_mainfile()
        with self.found_again():
            bpy.ops.wm.open_mainfile(filepath=self.blend)
        self.assertTrue(self.settings.physics_live)
        settled = self.points()
        posed = self.pose(0.6)
        self.assertGreater(np.abs(self.wait(0.1) - posed).max(), 1e-2)
        self.assertGreater(np.abs(posed - settled).max(), 1e-2)

    def test_in_a_file_that_was_reverted_and_not_in_a_new_one(self):
        live = addon().physics.live
        bpy.ops.wm.save_mainfile()
        settled = self.points()
        self.pose(0.6)
        with self.found_again():
            bpy.ops.wm.revert_mainfile()
        self.assert_close(self.points(), settled, 1e-3)
        self.pose(0.6)
        scene.clear()
        bpy.ops.wm.open_mainfile(filepath=self.empty_file())
        self.assertEqual(live.every(), [])
        self.assertIsNone(addon().preview.live_timer.passed())

    def empty_file(self):
        path = os.path.join(self.folder, "empty.blend")
        bpy.data.libraries.write(path, {bpy.context.scene})
        return path

    def test_undo_and_redo_settle(self):
        bpy.ops.ed.undo_push()
        self.pose(0.6)
        bpy.ops.ed.undo_push()
        for step in (bpy.ops.ed.undo, bpy.ops.ed.redo):
            self.wait(0.1)
            with self.found_again():
                step()
            self.points()
            (live,) = addon().physics.live.of_armature(self.armature)
            self.assertTrue(live._settled)


class Fails(Live):
    def test_a_pose_that_is_not_a_number(self):
        (live,) = addon().physics.live.of_armature(self.armature)
        center = self.bone("センター")
        center.location.x = 1e30
        self.armature.update_tag()
        scene.evaluated_positions(self.mesh)
        center.location.x = 0
        self.armature.update_tag()
        self.points()
        self.assertEqual(str(live.problem), "")
        self.assertTrue(live._settled)

    def test_a_keyframe_that_is_not_a_number(self):
        (live,) = addon().physics.live.of_armature(self.armature)
        center = self.bone("センター")
        center.keyframe_insert("location", index=0, frame=0)
        bpy.context.scene.frame_set(0)
        curve = next(
            found
            for curves in addon().blender.actions.played(self.armature.animation_data)
            if (found := curves.find(center.path_from_id("location"), index=0)) is not None
        )
        kept = curve.keyframe_points[0].co.y
        curve.keyframe_points[0].co.y = float("nan")
        bpy.context.scene.frame_set(0)
        scene.evaluated_positions(self.mesh)
        self.assertNotEqual(str(live.problem), "")
        curve.keyframe_points[0].co.y = kept
        bpy.context.scene.frame_set(0)
        self.points()
        self.assertEqual(str(live.problem), "")
        self.assertTrue(live._settled)

    def test_too_many_bodies(self):
        self.pose(0.6)
        with mock.patch.object(addon().physics.live, "_TOO_MANY_BODIES", 3):
            self.settings.physics_hz = 61  # makes another simulation
            self.points()
            (live,) = addon().physics.live.of_armature(self.armature)
            self.assertEqual(str(live.problem), "Too many bodies to move live")
            self.assertEqual(live._opened[1].hz, 61)
        self.settings.physics_hz = 60
        self.points()
        self.assertEqual(str(live.problem), "")


class Stiff(Live):
    """A model without rigid bodies that move bones."""

    def setUp(self):
        super().setUp()
        self.pmx.rigid_bodies, self.pmx.joints = self.pmx.rigid_bodies[:1], []
        self.write(self.pmx)
        addon().physics.live._lives.clear()

    def test_it_is_told_and_bakes_without_a_simulation(self):
        panel = addon().ui.motion_panels
        for source in ("MOTION", "IK"):
            self.settings.source = source
            self.settings.model_path = self.path
            self.settings.motion_path = self.motion_path
            self.points()
            self.assertEqual(addon().physics.live.of_armature(self.armature), [])
            self.assertFalse(addon().physics.cache.state_of(self.armature).moves)
            model = addon().scene.scene_model.model_of(self.mesh, bpy.context.view_layer)
            text = "This model has no rigid bodies that move bones"
            self.assertEqual(panel._physics_problem(model, False), text)
            self.settings.physics = False
            self.points()
            self.assertEqual(case.physics_problems(), [])
            self.settings.physics = True
        scene.select(self.mesh)
        self.assertEqual(bpy.ops.mmdskin.bake(range="CURRENT"), {"FINISHED"})


class Imported(Live):
    def test_with_physics_where_bodies_move_bones(self):
        for bodies in (self.pmx.rigid_bodies, self.pmx.rigid_bodies[:1]):
            self.pmx.rigid_bodies, self.pmx.joints = bodies, []
            path = self.write(self.pmx, "other.pmx")
            settings = self.load(path, live=True, live_physics=True).armature.mmdskin
            moves = len(bodies) > 1
            self.assertEqual((settings.physics, settings.physics_live), (moves, moves))
            self.assertEqual((settings.source, settings.preview), ("ARMATURE", True))
        self.assertFalse(self.load(path, live=True).armature.mmdskin.physics_live)
