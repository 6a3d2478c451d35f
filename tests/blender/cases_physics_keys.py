# SPDX-License-Identifier: GPL-3.0-or-later
"""Physics for an armature's own channels: the pose source "MMD's IK", simulated once."""

import os
from unittest import mock

import bpy
import case
import fingerprint
import imported
import numpy as np
import scene
from files import pmx_file
from keyed_physics import BAR, FRAMES, HAIR, Keyed, addon
from mathutils import Matrix, Vector


class Live(Keyed):
    def setUp(self):
        super().setUp()
        self.settings.preview = True

    def test_equals_the_simulation_of_the_same_motion(self):
        self.assert_plain("Not simulated yet")
        self.simulate()
        self.assert_shows()
        plain = self.expected(11, physics=False)
        self.assertGreater(np.abs(self.expected(11) - plain)[-30:].max(), 0.02)

    def test_settings_reach_the_simulation(self):
        settings = {"ground": False, "settle": 7, "hz": 120}
        for name, value in settings.items():
            setattr(self.settings, f"physics_{name}", value)
        self.simulate()
        self.assert_shows(**settings)

    def test_keyframes_of_gravity(self):
        """From the start of the scene's range, at 30 frames per second."""
        for frame, x in ((0, 0), (10, 90)):
            self.settings.physics_gravity = x, 0, -98
            at = frame * self.fps / 30
            self.settings.keyframe_insert("physics_gravity", index=0, frame=at)
        curves = addon().blender.actions.played(self.armature.animation_data)[0]
        curve = curves.find("mmdskin.physics_gravity", index=0)
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
        self.settings.physics_ground = False  # contacts amplify what differs between frames
        self.simulate()
        x = np.interp(range(16), (0, 10), (0, 90))
        self.assert_shows(ground=False, gravity=np.stack([x, 0 * x - 98, 0 * x], axis=1))
        self.assertGreater(np.abs(self.expected(11) - self.shown(11)).max(), 0.02)
        curve.keyframe_points[1].co.y += 5
        curve.update()
        self.assert_told("files or settings have changed")

    def test_any_frame_in_any_order_and_between(self):
        self.simulate()
        self.assert_shows((15, 2, 9, 0))
        for frame, share in ((3, 0.5), (3, 0.25), (8, 0.5)):
            shown = self.shown(frame + share)
            self.assertEqual(case.physics_problems(), [])
            self.assert_close(shown, self.between(frame, share), 10 * BAR, (frame, share))

    def between(self, frame, share):
        """(V, 3) where hair bones are interpolated between two frames of the motion."""
        mmdskin = addon().blender.native.load()
        model, motion = mmdskin.load_model(self.path), mmdskin.load_motion(self.motion_path)
        frames = [frame, frame + 1, frame + share]
        *ends, pose = model.pose(motion, frames, physics=mmdskin.Physics(start=0)).bone_matrices
        for bone in (model.bones.names.index(name) for name in HAIR):
            one, other = (Matrix(end[bone]) for end in ends)
            root = Vector(model.bones[bone].position)
            turn = one.to_quaternion().slerp(other.to_quaternion(), share)
            place = (one @ root).lerp(other @ root, share)
            pose[bone] = (
                Matrix.Translation(place) @ turn.to_matrix().to_4x4() @ Matrix.Translation(-root)
            )
        return scene.in_blender(mmdskin.skin(model, pose, normals=False).positions)

    def test_changed_keys_are_reported(self):
        self.simulate()
        curve = self.curve("センター", ".location")
        curve.keyframe_points[1].co.y += 0.01
        curve.update()
        self.assert_told("keyframes have changed")
        curve.keyframe_points[1].co.y -= 0.01
        curve.update()
        self.assert_shows()

    def test_a_changed_overshoot_is_reported_where_a_keyframe_has_one(self):
        point = self.curve("センター", ".location").keyframe_points[0]
        for kind, name in (("ELASTIC", "amplitude"), ("ELASTIC", "period"), ("BACK", "back")):
            point.interpolation = kind
            self.simulate()
            setattr(point, name, getattr(point, name) + 0.5)
            with self.subTest(kind, name=name):
                self.assert_told("keyframes have changed")
            point.interpolation = "BEZIER"
            self.simulate()
            setattr(point, name, getattr(point, name) + 0.5)
            with self.subTest("BEZIER", name=name):
                self.shown(11)
                self.assertEqual(case.physics_problems(), [])

    def test_keys_of_a_bone_with_a_quote_in_its_name_are_noticed(self):
        curve = self.curve("センター", ".location")
        self.bone("センター").name = 'cen"]ter'
        self.simulate()
        curve.keyframe_points[1].co.y += 0.01
        curve.update()
        self.assert_told("keyframes have changed")

    def test_a_pose_without_keys_is_reported(self):
        self.simulate()
        self.shown(11)
        bone = self.bone("左足ＩＫ")
        bone.location.x += 0.1
        bpy.context.view_layer.update()
        self.assertIn("This pose was not", self.problem)
        self.assertGreater(
            np.abs(scene.evaluated_positions(self.mesh) - self.expected(11)).max(), BAR
        )
        self.assert_shows()

    def test_a_frame_change_evaluates_a_live_mesh_once(self):
        self.simulate()
        tick = addon().preview.driver_function
        with mock.patch.object(tick, "_show", wraps=tick._show) as show:
            for frame in range(3, 8):
                bpy.context.scene.frame_set(frame)
        self.assertEqual(show.call_count, 5)

    def test_frames_outside_the_simulation_are_reported(self):
        bpy.context.scene.frame_end = 10
        self.simulate()
        self.assert_shows((0, 10))
        self.shown(12)
        self.assertIn("Only frames 0 to 10", self.problem)

    def test_the_preview_range_is_simulated_where_it_is_on(self):
        current = bpy.context.scene
        self.addCleanup(setattr, current, "use_preview_range", False)
        current.use_preview_range = True
        current.frame_preview_start, current.frame_preview_end = 3, 8
        self.simulate()
        with np.load(self.file) as file:
            last = file["first"] + (len(file["points"]) - 1) / file["rate"]
            self.assertEqual((file["first"], last), (3, 8))
        for frame, problem in ((8, ""), (15, "Only frames 3 to 8"), (4, "")):
            self.shown(frame)
            self.assertIn(problem, self.problem)
            self.assertEqual(bool(problem), bool(self.problem))

    def assert_told(self, words):
        self.shown(11)
        self.assertIn(words, self.problem)

    def test_changed_settings_and_files_are_reported(self):
        self.simulate()
        self.settings.physics_settle = 3
        self.assert_plain("files or settings have changed")
        self.settings.physics_settle = 300
        self.assert_shows((11,))
        bpy.context.scene.render.fps = 24
        self.shown(11)
        self.assertIn("files or settings have changed", self.problem)
        bpy.context.scene.render.fps = 30
        self.pmx.rigid_bodies[-1].mass = 7
        self.write(self.pmx)
        self.settings.model_path = self.path  # looks again
        self.assert_plain("files or settings have changed")

    def test_a_moved_strip_is_reported(self):
        data = self.armature.animation_data
        action, slots = addon().blender.actions.assigned(self.armature)
        strip = data.nla_tracks.new().strips.new("踊り", 0, action)
        if hasattr(strip, "action_slot"):
            strip.action_slot = action.slots[slots[0]]
        data.action = None
        self.simulate()
        self.assert_shows((11,))
        strip.frame_start, strip.frame_end = 2, 17
        self.shown(11)
        self.assertIn("simulate again", self.problem)

    def test_found_again_with_the_blend(self):
        self.simulate()
        bpy.ops.wm.save_mainfile()
        with self.found_again():
            bpy.ops.wm.open_mainfile(filepath=self.blend)
        self.assert_shows((11, 4))

    def test_undone_and_redone(self):
        bpy.ops.ed.undo_push()
        self.simulate()
        bpy.ops.ed.undo_push()
        with self.found_again():
            bpy.ops.ed.undo()
        self.assert_plain("Not simulated yet")
        with self.found_again():
            bpy.ops.ed.redo()
        self.assert_shows((11,))


class Scene(Keyed):
    """The state of the scene after Simulate has run through it."""

    def setUp(self):
        super().setUp()
        self.settings.preview = True
        bpy.context.scene.frame_set(7, subframe=0.25)
        self.armature.pose.bones[0].location.x += 0.3  # not keyed: another frame would take it
        bpy.context.view_layer.update()

    def test_everything_but_the_cache(self):
        before = self.state()
        self.simulate()
        self.settings.physics_cache = ""
        self.assert_as_before(before)

    def test_live_meshes_rest_meanwhile(self):
        tick, playhead = addon().preview.driver_function, addon().blender.playhead
        with mock.patch.object(tick, "_show", wraps=tick._show) as show:
            self.simulate()
        self.assertLess(show.call_count, 5)  # of 16 frames
        with self.assertRaises(ValueError), playhead.restored(bpy.context):
            playhead.go_to(bpy.context.scene, 1e20, skip_live_update=True)
        self.assertFalse(playhead._skip_live_update)
        self.assert_shows((3, 11))

    def test_escape(self):
        before = self.state()
        model = addon().scene.scene_model.model_of(self.mesh, bpy.context.view_layer)
        job = addon().physics.operators.job_of([model], bpy.context)
        self.assertEqual(job.frames, 16)
        said = [next(job.steps).text for _ in range(5)]
        self.assertIn("frame 5 of 16", said[-1])
        self.assertEqual(bpy.context.scene.frame_current, 4)
        job.steps.close()
        self.assert_as_before(before)
        self.assertFalse(os.path.exists(self.file))

    def test_a_pose_that_is_not_a_number(self):
        curve = self.armature.driver_add('pose.bones["センター"].location', 0)
        curve.driver.expression = "0 if frame < 9 else 1e60"
        bpy.context.view_layer.update()
        before = self.state()
        with self.assertRaisesRegex(RuntimeError, "cannot be simulated at frame 9"):
            bpy.ops.mmdskin.simulate()
        self.assert_as_before(before)

    def state(self):
        place = bpy.context.scene.frame_current, bpy.context.scene.frame_subframe
        moved = tuple(self.armature.pose.bones[0].location)
        return place, moved, fingerprint.of_file()

    def assert_as_before(self, before):
        after = self.state()
        self.assertEqual(after[:2], before[:2])
        self.assertEqual(fingerprint.differences(before[2], after[2]), [])


class Baked(Keyed):
    def test_shape_keys_and_caches_show_it(self):
        self.simulate()
        for target in ("SHAPE_KEYS", "MESH_CACHE"):
            self.bake(target=target)
            self.assert_shows()
            bpy.ops.mmdskin.clear_bake()

    def test_what_was_not_simulated_is_simulated_by_the_bake(self):
        """Without a file, and with one of other settings; the scene and the file stay as they are."""
        before = fingerprint.of_file()
        self.bake()
        bpy.ops.mmdskin.clear_bake()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])
        self.assertFalse(os.path.exists(self.file))
        self.simulate()
        for steps in (40, 300):
            self.settings.physics_settle = steps
            self.bake()
            for frame in FRAMES:
                self.assert_close(self.shown(frame), self.expected(frame, settle=steps), BAR)
            bpy.ops.mmdskin.clear_bake()

    def test_frames_beyond_the_simulation_are_simulated_by_the_bake(self):
        """Those of a file, and those that the scene plays."""
        bpy.context.scene.frame_end = 8
        for has_file in (False, True):
            if has_file:
                self.simulate()
            self.bake()
            for frame in FRAMES:
                self.assert_close(self.shown(frame), self.expected(frame), BAR, frame)
            bpy.ops.mmdskin.clear_bake()

    def test_a_frame_alone_is_baked_from_a_file_only(self):
        before = fingerprint.of_file()
        with self.assertRaisesRegex(RuntimeError, "is missing: Not simulated yet"):
            bpy.ops.mmdskin.bake(range="CURRENT")
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_without_physics_none_is_baked(self):
        self.bake(physics=False)
        self.assert_close(self.shown(11), self.expected(11, physics=False), BAR)

    def bake(self, **options):
        scene.select(self.mesh)
        bpy.ops.mmdskin.bake(
            range="CUSTOM", frame_start=0, frame_end=15, folder=self.folder, **options
        )


class EveryPlace(Keyed):
    """At 60 frames per second every stored step is a frame."""

    fps = 60

    def test_time_is_that_of_the_scene(self):
        self.settings.preview = True
        self.simulate()
        self.assert_shows()


class Film(Keyed):
    """At 24 frames per second the simulation has other samples than the motion."""

    fps = 24

    def test_time_is_that_of_the_scene(self):
        self.settings.preview = True
        self.simulate()
        for frame, expected in enumerate(self.stepped(13)):
            self.assert_close(self.shown(frame * 30 / self.fps), expected, 10 * BAR, frame)
            self.assertEqual(case.physics_problems(), [])

    def stepped(self, count):
        """(V, 3) of each frame of the scene: steps of the module from frame to frame."""
        mmdskin = addon().blender.native.load()
        model, motion = mmdskin.load_model(self.path), mmdskin.load_motion(self.motion_path)
        simulation = mmdskin.Simulation(model)
        for frame in np.arange(count) * 30 / self.fps:
            channels = model.locals_of(model.pose(motion, frame, ik=False))
            is_on = [bone.name != "左足ＩＫ" or not 10 <= frame < 13 for bone in model.bones]
            pose = simulation.step(*channels, None, 1 / self.fps, ik=is_on)
            yield scene.in_blender(mmdskin.skin(model, pose, normals=False).positions)


class Television(Film):
    fps = 25


class OfMmdTools(Keyed):
    """Models imported with mmd_tools, together with its own rigid bodies."""

    def setUp(self):
        tools = imported.MmdTools()
        tools.__enter__()
        self.addCleanup(tools.__exit__)
        self.addCleanup(scene.clear)
        super().setUp()

    def import_model(self):
        self.pmx.materials = [pmx_file.Material("肌", index_count=self.pmx.triangles.size)]
        self.path = self.write(self.pmx)
        bpy.ops.mmd_tools.import_model(filepath=self.path, clean_model=False)
        self.model = imported.Imported(bpy.context.view_layer.objects.active)
        self.armature, self.mesh = self.model.armature, self.model.mesh
        self.settings.model_path = self.path

    def test_equals_the_simulation_of_the_same_motion(self):
        bpy.ops.mmd_tools.build_rig()
        self.settings.preview = True
        self.simulate()
        self.assert_shows()
