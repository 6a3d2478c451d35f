# SPDX-License-Identifier: GPL-3.0-or-later
"""Hair that moves while a model is posed and played, without a simulation file."""

import itertools
import os
from unittest import mock

import bpy
import case
import keyed_physics
import numpy as np
import recorder
import scene
from keyed_physics import addon
from mathutils import Vector
from recorder import Recorder


class Live(keyed_physics.Keyed):
    """Live physics is on; time passes when a test says so."""

    def setUp(self):
        super().setUp()
        self.now = 100.0
        live = addon().physics.live
        live._forget_all()
        for name in ("clock", "_running"):
            patch = mock.patch.object(live, name, (lambda: self.now) if name == "clock" else True)
            patch.start()
            self.addCleanup(patch.stop)
        bpy.context.scene.frame_set(0)
        self.settings.physics_live = True
        self.settings.preview = True
        self.points()

    def points(self):
        points = scene.evaluated_positions(self.mesh)
        self.assertEqual(case.live_errors(), [])
        return points

    def wait(self, seconds):
        """As the timer does where the playhead does not move; returns the points."""
        self.now += seconds
        addon().preview.live_timer._advance()
        return self.points()

    def settle(self):
        scene.select(self.armature)
        self.assertEqual(bpy.ops.mmdskin.settle(), {"FINISHED"})

    def play(self, frames=range(16)):
        """{frame: matrices} of frames that are shown one after the other."""
        shown = {}
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            self.now += 0.3  # on a slow machine
            self.points()
            shown[frame] = self.bones().copy()
        return shown

    def bake_pose(self):
        scene.select(self.mesh)
        self.assertEqual(bpy.ops.mmdskin.bake(range="CURRENT"), {"FINISHED"})
        self.assertFalse(self.settings.preview)

    def bone(self, name):
        return next(bone for bone in self.armature.pose.bones if bone["mmd_name_j"] == name)

    def pose(self, angle):
        self.bone("センター").rotation_mode = "XYZ"
        self.bone("センター").rotation_euler[2] = angle
        self.armature.update_tag()
        return self.points()

    def stepped(self, frames, physics=None):
        """{frame: bone matrices} of steps of a Simulation with the keys, in order."""
        mmdskin = addon().blender.native.load()
        solver = self.solver()
        simulation = mmdskin.Simulation(solver.rig.pmx, None, solver.settings.physics.record())
        found = {}
        for frame in frames:
            local = self.local(solver, frame)
            pose = simulation.step(*local[:3], 1 / self.fps, ik=local.ik, physics=local.physics)
            found[frame] = pose.bone_matrices
        return found

    def solver(self):
        source = addon().pose.pose_source
        return source.load(self.armature, source.settings_of(self.armature, bpy.context.scene))

    def local(self, solver, frame):
        bpy.context.scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        return solver.local(self.armature.evaluated_get(depsgraph), {})

    def bones(self):
        """The shown matrices of the file's bones."""
        (live,) = addon().physics.live.of_armature(self.armature)
        return live._shown

    @property
    def hair(self):
        return [i for i, bone in enumerate(self.pmx.bones) if bone.name in keyed_physics.HAIR]


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
            self.assertGreater(np.abs(one - other).max(), 1e-6)

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
        addon().physics.live._forget_all()
        self.bake_pose()
        self.assert_close(self.points(), settled, 1e-5)

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


class InOrder(Live):
    def test_in_order_it_has_the_bytes_of_steps_whatever_the_first_frame_waited(self):
        self.pose(0.0)
        for _ in range(4):
            self.wait(0.5)
        shown = self.play(range(121))  # hair swings on after the last key
        self.settings.physics_live = False
        expected = self.stepped(range(121))
        for frame in range(1, 121):
            np.testing.assert_array_equal(shown[frame], expected[frame], str(frame))


class Plays(InOrder):
    def test_keyframes_of_gravity_act(self):
        for frame, x in ((0, 0), (16, 90)):
            self.settings.physics_gravity = x, 0, -98
            self.settings.keyframe_insert("physics_gravity", index=0, frame=frame)
        for curves in addon().blender.actions.played(self.armature.animation_data):
            curve = curves.find("mmdskin.physics_gravity", index=0)
            for point in curve.keyframe_points if curve else ():
                point.interpolation = "LINEAR"
        bpy.context.scene.frame_set(0)
        self.points()
        shown = self.play()
        self.settings.physics_live = False
        expected = self.stepped(range(16))
        for frame in range(1, 16):
            self.assert_close(shown[frame], expected[frame], 1e-3)

    def test_what_was_played_is_kept_as_simulate_writes_it(self):
        self.assertRaisesRegex(RuntimeError, "Play all frames", bpy.ops.mmdskin.keep_physics)
        self.play([0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])  # one left out
        self.assertRaisesRegex(RuntimeError, "Play all frames", bpy.ops.mmdskin.keep_physics)
        shown = self.play()
        self.assertEqual(bpy.ops.mmdskin.keep_physics(), {"FINISHED"})
        kept = self.samples()
        for frame in (3, 12, 0, 8):
            bpy.context.scene.frame_set(frame)
            self.points()
            self.assertEqual(case.physics_troubles(), [])
            self.assert_close(self.bones(), shown[frame], 1e-5)
        self.simulate()
        for one, other in zip(kept, self.samples(), strict=True):
            np.testing.assert_array_equal(one, other)

    def test_settle_and_keep_act_on_all_selected_models(self):
        other = self.load(self.write(self.pmx, "other.pmx"), live=True, live_physics=True)
        other.armature.mmdskin.source = "IK"
        shown = [self.armature, other.armature]
        self.play()
        self.wait(0.1)
        found = [live for one in shown for live in addon().physics.live.of_armature(one)]
        self.assertEqual([live._settled for live in found], [False, False])
        scene.select(other.mesh)
        self.mesh.select_set(True)
        self.assertEqual(bpy.ops.mmdskin.keep_physics(), {"FINISHED"})
        for one in shown:
            self.assertTrue(os.path.isfile(bpy.path.abspath(one.mmdskin.physics_cache)))
            one.mmdskin.physics_cache = ""
        self.assertEqual(bpy.ops.mmdskin.settle(), {"FINISHED"})
        self.points()
        self.assertEqual([live._settled for live in found], [True, True])

    def samples(self):
        with np.load(self.file) as file:
            return [file[name] for name in sorted(file.files) if name != "made_of"]

    def test_hair_goes_on_from_a_file_that_no_longer_matches(self):
        self.simulate()
        bpy.context.scene.frame_set(11)
        kept = self.points()
        self.assertEqual(case.physics_troubles(), [])
        posed = self.pose(0.01)
        self.assertNotEqual(case.physics_troubles(), [])
        self.assert_close(posed, kept, 0.3 * scene.SCALE)
        self.assertGreater(np.abs(self.wait(0.2) - posed).max(), 1e-4)

    def test_jumps_settle_and_short_ways_back_do_not(self):
        (live,) = addon().physics.live.of_armature(self.armature)
        bpy.context.scene.frame_end = 200
        for frame, settles in ((1, False), (10, False), (8, False), (90, True), (70, False)):
            self.now += 0.1
            bpy.context.scene.frame_set(frame)
            self.points()
            self.assertEqual(live._settled, settles, frame)
        bpy.context.scene.frame_set(0)
        self.points()
        self.assertTrue(live._settled)


class Stretched(Live):
    """Drivers get the time in single precision: 0.8 times a frame is not what Python computes."""

    def setUp(self):
        super().setUp()
        render = bpy.context.scene.render
        self.addCleanup(setattr, render, "frame_map_new", render.frame_map_new)
        render.frame_map_new = 125
        bpy.context.scene.frame_start = 1
        self.play([1])

    def test_the_first_frame_settles_fully(self):
        (live,) = addon().physics.live.of_armature(self.armature)
        with mock.patch.object(live, "_settle", wraps=live._settle) as settle:
            self.play([3, 1])
        settle.assert_called_once_with(mock.ANY, True)

    def test_what_was_played_is_kept(self):
        self.play(range(1, 16))
        self.assertEqual(bpy.ops.mmdskin.keep_physics(), {"FINISHED"})

    def test_a_bake_of_the_pose_has_the_hair_that_is_shown(self):
        for subframe in (0.0, 0.3):
            self.settings.preview = True
            bpy.context.scene.frame_set(3, subframe=subframe)
            self.pose(0.6)
            shown = self.wait(0.25)
            self.bake_pose()
            self.assert_close(self.points(), shown, 1e-5)
            bpy.ops.mmdskin.clear_bake()


class Rendered(Live):
    def setUp(self):
        super().setUp()
        bpy.utils.register_class(Recorder)
        self.addCleanup(bpy.utils.unregister_class, Recorder)
        engine = bpy.context.scene.render.engine
        self.addCleanup(setattr, bpy.context.scene.render, "engine", engine)
        watched = mock.patch.object(Recorder, "watched", self.mesh.name)
        watched.start()
        self.addCleanup(watched.stop)

    def test_renders_never_show_it(self):
        """Amid a swing: the same bytes as with the switch off, without a file and with one."""
        for angle in (0.6, 0.9):
            bpy.context.scene.frame_set(4)
            self.pose(angle)
            swinging = self.wait(0.1)
            live = self.rendered()
            self.assertGreater(np.abs(live - swinging).max(), 1e-2)
            self.assertGreater(np.abs(self.wait(0.1) - swinging).max(), 1e-4)  # it goes on
            self.settings.physics_live = False
            np.testing.assert_array_equal(live, self.rendered())
            self.settings.physics_live = True
            self.simulate()

    def rendered(self):
        Recorder.seen = {}
        recorder.prepare(bpy.context.scene, os.path.join(self.folder, "frame"))
        bpy.ops.render.render()
        (seen,) = Recorder.seen.values()
        return seen


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
        self.assertFalse(addon().physics.live.is_running())

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
        self.assertEqual(live.all_of(), [])

    def test_it_is_live_again_in_a_file_that_was_opened(self):
        bpy.ops.wm.save_mainfile()
        names = self.mesh.name, self.armature.name
        bpy.ops.wm.open_mainfile(filepath=self.blend)
        self.mesh, self.armature = (bpy.data.objects[name] for name in names)
        self.assertTrue(self.settings.physics_live)
        settled = self.points()
        posed = self.pose(0.6)
        self.assertGreater(np.abs(self.wait(0.1) - posed).max(), 1e-4)
        self.assertGreater(np.abs(posed - settled).max(), 1e-2)

    def test_in_a_file_that_was_reverted_and_not_in_a_new_one(self):
        live = addon().physics.live
        bpy.ops.wm.save_mainfile()
        names = self.mesh.name, self.armature.name
        settled = self.points()
        self.pose(0.6)
        bpy.ops.wm.revert_mainfile()
        self.mesh, self.armature = (bpy.data.objects[name] for name in names)
        self.assert_close(self.points(), settled, 1e-3)
        self.pose(0.6)
        scene.clear()
        bpy.ops.wm.open_mainfile(filepath=self.empty_file())
        self.assertEqual(live.all_of(), [])
        self.assertIsNone(addon().preview.live_timer.passed())

    def empty_file(self):
        path = os.path.join(self.folder, "empty.blend")
        bpy.data.libraries.write(path, {bpy.context.scene})
        return path

    def test_undo_and_redo_settle(self):
        bpy.ops.ed.undo_push()
        self.pose(0.6)
        bpy.ops.ed.undo_push()
        names = self.mesh.name, self.armature.name
        for step in (bpy.ops.ed.undo, bpy.ops.ed.redo):
            self.wait(0.1)
            step()
            self.mesh, self.armature = (bpy.data.objects[name] for name in names)
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
        addon().physics.live._forget_all()

    def test_it_is_told_and_bakes_without_a_simulation(self):
        panel = addon().ui.physics_panel
        for source in ("MOTION", "IK"):
            self.settings.source = source
            self.settings.model_path = self.path
            self.settings.motion_path = self.motion_path
            self.points()
            self.assertEqual(addon().physics.live.of_armature(self.armature), [])
            self.assertFalse(addon().physics.cache.state_of(self.armature).moves)
            model = addon().scene.scene_model.model_of(self.mesh, bpy.context.view_layer)
            text = "This model has no rigid bodies that move bones"
            self.assertEqual(panel._physics_trouble(model, False), text)
            self.settings.physics = False
            self.points()
            self.assertEqual(case.physics_troubles(), [])
            self.settings.physics = True
        scene.select(self.mesh)
        self.assertEqual(bpy.ops.mmdskin.bake(range="CURRENT"), {"FINISHED"})


class Film(Plays):
    fps = 24


class Smooth(InOrder):
    fps = 60


class ByBlender(Live):
    """Blender's own pose, with constraints: only what physics moves is ours."""

    def setUp(self):
        super().setUp()
        self.settings.source = "ARMATURE"
        self.points()

    def test_hair_swings_and_the_rest_is_blenders(self):
        settled = self.points()
        posed = self.pose(0.6)
        self.assertGreater(np.abs(self.wait(0.2) - posed).max(), 1e-3)
        self.settings.physics_live = False
        plain = self.points()
        self.assert_close(posed[:-30], plain[:-30], 1e-6)
        self.assertGreater(np.abs(posed - plain)[-30:].max(), 1e-2)
        self.assertGreater(np.abs(posed - settled).max(), 1e-2)

    def test_it_is_that_of_mmds_ik_where_both_have_the_same_pose(self):
        """Settled: the hair hangs from the same point in the same direction; its twist is free."""
        self.pose(0.6)
        scene.select(self.armature)
        seen = []
        for source in ("ARMATURE", "IK"):
            self.settings.source = source
            self.points()
            bpy.ops.mmdskin.settle()
            self.points()
            hair = self.bones()[self.hair[0]]
            seen.append((hair @ (*self.pmx.bones[self.hair[0]].position, 1), hair[:, 1]))
        self.assert_close(seen[0][0], seen[1][0], 0.1)  # joints are soft
        self.assert_close(seen[0][1], seen[1][1], 0.06)

    def test_a_bake_is_without_it(self):
        scene.select(self.mesh)
        self.settings.physics_live = False
        plain = self.points()
        self.settings.physics_live = True
        bpy.ops.mmdskin.bake(range="CURRENT")
        self.assert_close(scene.evaluated_positions(self.mesh), plain, 1e-5)


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


class Beside(Live):
    def test_props_on_hair_follow_it_in_each_tick(self):
        prop = bpy.data.objects.new("prop", None)
        bpy.context.scene.collection.objects.link(prop)
        for source in ("IK", "ARMATURE"):
            self.settings.source = source
            hair = len(self.points()) - 30  # of the first hair bone alone
            prop.location = self.vertex(hair)
            scene.select(self.mesh)
            prop.select_set(True)
            bpy.ops.mmdskin.attach(bone=self.bone("髪").name)
            for angle in (0.6, 0.2):
                self.pose(angle)
                for _ in range(3):
                    self.wait(0.1)
                    found = prop.evaluated_get(bpy.context.evaluated_depsgraph_get())
                    place = np.array(found.matrix_world.translation)
                    self.assert_close(place, self.vertex(hair), 1e-4 * scene.SCALE)
            scene.select(prop)
            bpy.ops.mmdskin.detach()

    def vertex(self, number):
        return np.array(self.mesh.matrix_world @ Vector(self.points()[number]))

    def test_with_mmd_normals(self):
        if not addon().blender.blender_versions.HAS_FREE_NORMALS:
            self.skipTest("this Blender has no node for normals")
        self.settings.use_mmd_normals = True
        self.points()
        seen = []
        for angle in (0.6, 0.2):
            self.pose(angle)
            for _ in range(3):
                self.wait(0.1)
                mesh = self.mesh.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
                normals = np.empty(3 * len(mesh.loops), np.float32)
                mesh.corner_normals.foreach_get("vector", normals)
                vertices = np.empty(len(mesh.loops), np.intc)
                mesh.loops.foreach_get("vertex_index", vertices)
                mmdskin = addon().blender.native.load()
                skinned = mmdskin.skin(mmdskin.load_model(self.path), self.bones())
                expected = scene.in_blender(skinned.normals) / scene.SCALE
                self.assert_close(normals.reshape(-1, 3), expected[vertices], 1e-3)
                seen.append(normals)
        self.assertGreater(np.abs(seen[0] - seen[1]).max(), 1e-3)

    def test_linked(self):
        self.link()
        self.points()
        bpy.context.scene.frame_set(5)
        first = self.points()
        self.assertGreater(np.abs(self.wait(0.1) - first).max(), 1e-5)

    def test_overridden(self):
        """In a shot, where the override is posed."""
        self.pose(0.6)
        self.settle()
        settled = self.points()
        self.pose(0.0)
        self.link()
        root = self.armature.parent or self.armature
        root.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
        self.find(lambda obj: obj.override_library is not None, bpy.data.objects)
        bpy.context.scene.frame_set(0)
        self.points()
        swinging = self.pose(0.6)
        self.assertGreater(np.abs(self.wait(0.1) - swinging).max(), 1e-5)
        self.settle()
        self.assert_close(self.points(), settled, 1e-4)

    def link(self):
        """The model of a file that has it on, in an empty scene."""
        path = os.path.join(self.folder, "model.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
        scene.clear()
        with bpy.data.libraries.load(path, link=True) as (there, here):
            here.objects = there.objects
        for obj in here.objects:
            bpy.context.scene.collection.objects.link(obj)
        self.find(lambda obj: obj.library is not None, here.objects)

    def find(self, is_wanted, objects):
        self.armature = next(obj for obj in objects if obj.type == "ARMATURE" and is_wanted(obj))
        self.mesh = next(obj for obj in self.armature.children if obj.type == "MESH")

    def test_in_two_view_layers_and_two_scenes_time_passes_once(self):
        layers = bpy.context.scene.view_layers
        self.addCleanup(layers.remove, layers.new("second"))
        other = bpy.data.scenes.new("other")
        self.addCleanup(bpy.data.scenes.remove, other)
        for obj in (self.armature, self.mesh):
            other.collection.objects.link(obj)
        other.frame_set(9)
        live, passed = addon().physics.live, {}
        step = live.step

        def counted(simulation, inputs, seconds):
            passed[id(simulation)] = passed.get(id(simulation), 0) + seconds
            return step(simulation, inputs, seconds)

        with mock.patch.object(live, "step", counted):
            for _ in range(20):
                self.wait(0.1)
                for layer in (*bpy.context.scene.view_layers, *other.view_layers):
                    layer.update()
        self.assertEqual(len(passed), 2)
        for seconds in passed.values():
            self.assertTrue(1.8 <= seconds <= 2.2, seconds)
        self.assertEqual(case.live_errors(), [])

    def test_in_other_modes(self):
        for obj, mode in (
            (self.mesh, "EDIT"),
            (self.mesh, "WEIGHT_PAINT"),
            (self.mesh, "SCULPT"),
            (self.armature, "POSE"),
            (self.armature, "EDIT"),
        ):
            scene.select(obj)
            bpy.ops.object.mode_set(mode=mode)
            self.wait(0.1)
            bpy.ops.object.mode_set(mode="OBJECT")
        before = self.pose(0.6)
        self.assertGreater(np.abs(self.wait(0.1) - before).max(), 1e-4)


class Anything(Live):
    def test_in_any_order_leaves_no_trace(self):
        """Random acts with ticks in between; switched off, the mesh is as if it had never been on.

        MMDSKIN_ACTS=2000 does more of them, in some minutes."""
        names = self.mesh.name, self.armature.name
        random = np.random.default_rng(11)
        count = int(os.environ.get("MMDSKIN_ACTS", "100"))
        acts = {
            "frame": lambda: bpy.context.scene.frame_set(int(random.integers(0, 16))),
            "pose": lambda: self.pose(float(random.uniform(-1, 1))),
            "undo": self.undo,
            "redo": self.redo,
            "push": self.push,
            "live": lambda: setattr(self.settings, "physics_live", random.random() < 0.7),
            "skin": lambda: setattr(self.settings, "preview", random.random() < 0.7),
            "source": lambda: setattr(self.settings, "source", random.choice(["IK", "ARMATURE"])),
            "rate": lambda: setattr(self.settings, "physics_hz", int(random.integers(60, 62))),
            "settle": lambda: (scene.select(self.armature), bpy.ops.mmdskin.settle()),
            "mesh": lambda: self.mesh.data.update_tag(),
            "rename": lambda: setattr(self.armature, "name", f"{names[1]}.{random.integers(9)}"),
            "duplicate": self.duplicate,
            "load": self.load_another,
            "delete": self.delete_another,
        }
        self.steps = -1  # that can be undone; before them are those of other tests
        self.push()
        done = []
        for name in random.choice(list(acts), count):
            done.append(str(name))
            acts[name]()
            self.mesh = bpy.data.objects[names[0]]
            self.armature = self.mesh.find_armature()
            self.now += 0.05
            addon().preview.live_timer.passed()
            self.points()
            self.assertTrue(np.isfinite(self.points()).all(), done)
        self.settings.source, self.settings.preview = "IK", True
        self.settings.physics_live = False
        bpy.context.scene.frame_set(7)
        self.pose(0.4)
        solver = self.solver()
        evaluated = self.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        posed = solver.solved(solver.local(evaluated, {}))
        mmdskin = addon().blender.native.load()
        expected = mmdskin.skin(mmdskin.load_model(self.path), posed, normals=False).positions
        self.assert_close(self.points(), scene.in_blender(expected), keyed_physics.BAR)

    def load_another(self):
        self.load(self.path, live=True, live_physics=True)
        self.push()

    def push(self):
        bpy.ops.ed.undo_push()
        self.steps += 1

    def undo(self):
        if self.steps:
            bpy.ops.ed.undo()
            self.steps -= 1

    def redo(self):
        if bpy.ops.ed.redo.poll():
            bpy.ops.ed.redo()
            self.steps += 1

    def delete_another(self):
        own = {self.armature.parent, self.armature, self.mesh}
        for obj in bpy.context.view_layer.objects:
            obj.select_set(obj not in own)
        bpy.ops.object.delete()
        self.push()

    def duplicate(self):
        scene.select(self.armature)
        self.mesh.select_set(True)
        bpy.ops.object.duplicate()
        bpy.context.view_layer.update()
        bpy.ops.object.delete()
