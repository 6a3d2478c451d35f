# SPDX-License-Identifier: GPL-3.0-or-later
"""Models that are simulated together: a body of one moves the hair of the other."""

import os
from unittest import mock

import bpy
import case
import fingerprint
import numpy as np
import scene
from cases_panel import redraw
from files import pmx_file
from keyed_physics import BAR, Keyed, addon, dressed

NEAR = 20 * BAR  # contacts amplify the rounding of Blender's matrices and curves
HIDDEN = (0, 0, 0, 0, 0, 0, 1)


def with_hair(pmx):
    """Only the hair touches others."""
    for body in pmx.rigid_bodies:
        if body.mode:
            body.mask, body.group = 0xFFFF, 1
    return pmx


def with_hand(pmx):
    """Only a large body touches others: it is held out to the side."""
    body = pmx.rigid_bodies[0]
    body.mask, body.size, body.position = 0xFFFF, (0.9, 0, 0), (2, 8, 0)
    return pmx


class Group(Keyed):
    """Two models in a group, with a motion each, as own keys and as files."""

    place = (-0.088, 0.032, 0.032)  # of the second one's object: its body is beside the hair

    def setUp(self):
        super().setUp()
        with_hair(self.pmx)
        with open(self.path, "wb") as file:
            file.write(pmx_file.write(self.pmx))
        self.other_path = self.write(with_hand(dressed()), "手.pmx")
        other = self.load(self.other_path)
        self.other, self.other_mesh = other.armature, other.mesh
        scene.select(self.other)
        bpy.ops.mmdskin.import_motion(filepath=self.motion_path, mode="ORIGINAL", frame_start=0)
        self.put(self.place)
        self.armatures = self.armature, self.other
        for armature in self.armatures:
            settings = armature.mmdskin
            settings.source, settings.motion_path = "MOTION", self.motion_path
            settings.motion_start, settings.physics_settle = 0, 20
            settings.physics, settings.physics_group = True, "二人"
            settings.preview = True
        bpy.ops.wm.save_mainfile()
        scene.select(self.mesh)

    def put(self, location, turn=0.0):
        root = self.other.parent
        root.location, root.rotation_euler = location, (0, 0, turn)
        bpy.context.view_layer.update()

    def both(self, frame, place=None, physics=True, offsets=(0, 0)):
        """(V, 3) of both models, in their own spaces."""
        mmdskin = addon().blender.native.load()
        models = [mmdskin.load_model(path) for path in (self.path, self.other_path)]
        motion = mmdskin.load_motion(self.motion_path)
        x, y, z = np.array(self.place) / scene.SCALE
        transforms = np.array([HIDDEN, (x, z, y, 0, 0, 0, 1) if place is None else place])
        if physics:
            settings = mmdskin.Physics(start=0, settle=20)
            # in the order of the armatures' names
            run = mmdskin.Simulation(
                models[::-1],
                [motion] * 2,
                settings,
                transforms=transforms[::-1],
                offsets=offsets[::-1],
            )
            poses = run.pose(frame)[::-1]
        else:
            poses = [model.pose(motion, frame) for model in models]
        return [
            scene.in_blender(mmdskin.skin(model, pose, normals=False).positions)
            for model, pose in zip(models, poses, strict=True)
        ]

    def assert_both(self, frames=(11, 4), bar=NEAR, **options):
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            found = [scene.evaluated_positions(mesh) for mesh in (self.mesh, self.other_mesh)]
            self.assertEqual(case.live_errors(), [])
            self.assertEqual(case.physics_problems(), [])
            for shown, expected in zip(found, self.both(frame, **options), strict=True):
                self.assert_close(shown, expected, bar, frame)

    def problems(self, frame=11):
        bpy.context.scene.frame_set(frame)
        for mesh in (self.mesh, self.other_mesh):
            scene.evaluated_positions(mesh)
        state_of = addon().physics.cache.state_of
        return [state_of(armature).problem_text for armature in self.armatures]

    def assert_outdated(self):
        for problem in self.problems():
            self.assertRegex(problem, "have changed since the simulation")

    def own_keys(self, *armatures):
        for armature in armatures:
            armature.mmdskin.source = "IK"

    def files(self):
        return sorted(name for name in os.listdir(self.folder) if name.endswith(".npz"))

    def caches(self):
        return [armature.mmdskin.physics_cache for armature in self.armatures]

    def assert_refused(self, words):
        before = self.files(), self.caches()
        with self.assertRaisesRegex(RuntimeError, words):
            bpy.ops.mmdskin.simulate()
        self.assertEqual((self.files(), self.caches()), before)


class Together(Group):
    def test_a_hand_moves_the_hair_of_the_other_model(self):
        """Of motion files nothing is stored."""
        self.assert_refused("needs no simulation")
        self.assertNotIn(("mmdskin.simulate", None), redraw(self.mesh))
        self.assert_both((11, 4, 14))
        self.assertGreater(np.abs(self.both(11)[0] - self.expected(11, settle=20)).max(), 0.01)

    def test_each_file_is_enough_to_play(self):
        self.own_keys(*self.armatures)
        self.simulate()
        self.assertEqual(len(self.files()), 2)
        os.remove(bpy.path.abspath(self.other.mmdskin.physics_cache))
        bpy.context.scene.frame_set(11)
        self.assert_close(scene.evaluated_positions(self.mesh), self.both(11)[0], NEAR)

    def test_own_keys_of_both(self):
        self.own_keys(*self.armatures)
        self.simulate()
        self.assert_both()

    def test_own_keys_beside_a_motion_file(self):
        for keyed in self.armatures:
            for armature in self.armatures:
                armature.mmdskin.source = "IK" if armature == keyed else "MOTION"
            with self.subTest(keyed.name):
                self.simulate()
                self.assert_both()

    def test_models_meet_where_they_are_seen(self):
        """The second one is turned by a quarter, so that its body is beside the hair only if that counts."""
        self.put((0.072, -0.128, 0.032), np.pi / 2)
        x, y, z = np.array((0.072, -0.128, 0.032)) / scene.SCALE
        half = np.sqrt(0.5)
        # about Blender's z, which is the file's y: mirrored axes turn the other way
        place = x, z, y, 0, -half, 0, half
        for frame in (11, 4):
            bpy.context.scene.frame_set(frame)
            self.assert_close(
                scene.evaluated_positions(self.mesh), self.both(frame, place=place)[0], NEAR
            )
        self.assertEqual(case.physics_problems(), [])
        for other in ((*place[:4], half, 0, half), (99, *place[1:])):
            hair = self.both(11, place=other)[0]
            self.assertGreater(np.abs(self.both(11, place=place)[0] - hair).max(), 0.01)

    def test_motions_that_start_at_different_frames(self):
        self.other.mmdskin.motion_start = 3
        bpy.context.scene.frame_set(11)
        hair, _ = self.both(11, offsets=(0, -3))
        self.assert_close(scene.evaluated_positions(self.mesh), hair, NEAR)

    def test_a_model_without_physics_is_simulated_alone(self):
        self.other.mmdskin.physics = False
        bpy.context.scene.frame_set(11)
        shown = scene.evaluated_positions(self.mesh)
        self.assert_close(shown, self.expected(11, settle=20), BAR)

    def test_bakes(self):
        """Of own keys without a simulation they simulate all models, once."""
        for sources in (("MOTION", "MOTION"), ("IK", "MOTION"), ("IK", "IK")):
            for armature, source in zip(self.armatures, sources, strict=True):
                armature.mmdskin.source = source
            with self.subTest(sources):
                self.assert_bakes(runs=int("IK" in sources))
                self.assertEqual(self.files(), [])
        self.simulate()
        self.assert_bakes(runs=0)

    def test_bakes_of_frames_beyond_the_simulation(self):
        self.own_keys(self.armature)
        bpy.context.scene.frame_end = 8
        self.simulate()
        self.assert_bakes(runs=1)

    def assert_bakes(self, runs):
        """Both models, with so many runs of their physics."""
        scene.select(self.mesh)
        self.other_mesh.select_set(True)
        for armature in self.armatures:
            armature.mmdskin.preview = False
        run = addon().physics.simulation.scene_run
        with mock.patch.object(addon().physics.simulation, "scene_run", wraps=run) as started:
            baked = bpy.ops.mmdskin.bake(
                target="SHAPE_KEYS", range="CUSTOM", frame_start=10, frame_end=11
            )
        self.assertEqual((baked, started.call_count), ({"FINISHED"}, runs))
        bpy.context.scene.frame_set(11)
        found = [scene.evaluated_positions(mesh) for mesh in (self.mesh, self.other_mesh)]
        for shown, expected in zip(found, self.both(11), strict=True):
            self.assert_close(shown, expected, NEAR)
        bpy.ops.mmdskin.clear_bake()


class Reopened(Group):
    def test_shows_the_simulation_before_the_frame_changes(self):
        """Where the models are is known only after they were evaluated."""
        bpy.context.scene.frame_set(11)
        expected = self.both(11)
        for source in ("MOTION", "IK"):
            with self.subTest(source):
                for armature in self.armatures:
                    armature.mmdskin.source = source
                if source == "IK":
                    self.simulate()
                bpy.ops.wm.save_mainfile()
                names = [obj.name for obj in (*self.armatures, self.mesh, self.other_mesh)]
                bpy.ops.wm.open_mainfile(filepath=self.blend)
                found = [bpy.data.objects[name] for name in names]
                self.armatures, meshes = tuple(found[:2]), found[2:]
                self.assertEqual(case.physics_problems(), [])
                for mesh, positions in zip(meshes, expected, strict=True):
                    self.assert_close(scene.evaluated_positions(mesh), positions, NEAR)
                self.mesh, self.other_mesh = meshes
                scene.select(self.mesh)

    def test_a_move_of_the_other_model_shows_at_once(self):
        place = (-0.088, 0.042, 0.032)
        bpy.context.scene.frame_set(11)
        self.put(place)
        x, y, z = np.array(place) / scene.SCALE
        hair, _ = self.both(11, place=(x, z, y, 0, 0, 0, 1))
        self.assert_close(scene.evaluated_positions(self.mesh), hair, NEAR)
        self.put(self.place)
        self.assertGreater(np.abs(self.both(11)[0] - hair).max(), 2 * NEAR)
        self.assert_both((11,))
        self.own_keys(*self.armatures)
        self.simulate()
        bpy.context.scene.frame_set(11)
        expected = scene.evaluated_positions(self.mesh)
        self.put((-0.088, 0.042, 0.032))
        scene.evaluated_positions(self.mesh)
        self.assertRegex(" ".join(case.physics_problems()), "have changed since the simulation")
        self.put(self.place)
        self.assert_close(scene.evaluated_positions(self.mesh), expected, 0)
        self.assertEqual(case.physics_problems(), [])


class Live(Group):
    """Own keys without a file."""

    def setUp(self):
        super().setUp()
        live = addon().physics.live
        live._lives.clear()
        self.now = 100.0
        for name, value in (("clock", lambda: self.now), ("is_running", True)):
            patch = mock.patch.object(live, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        bpy.context.scene.frame_set(0)
        for armature in self.armatures:
            armature.mmdskin.source, armature.mmdskin.physics_live = "IK", True
        for _ in self.armatures:  # each waits until the other was shown
            self.wait(0.1)

    def wait(self, seconds):
        self.now += seconds
        addon().preview.live_timer._advance()
        shown = [scene.evaluated_positions(mesh) for mesh in (self.mesh, self.other_mesh)]
        self.assertEqual(case.live_errors(), [])
        return shown

    def test_a_hand_that_is_posed_moves_the_hair_of_the_other_model(self):
        """Though nobody poses that one; a Simulation of both has the same hair."""
        lives = [addon().physics.live.of_armature(armature)[0] for armature in self.armatures]
        self.assertEqual([len(live._others) for live in lives], [1, 1])
        center = next(b for b in self.other.pose.bones if b["mmd_name_j"] == "センター")
        bpy.ops.mmdskin.settle()
        settled, _ = self.wait(0)
        mmdskin = addon().blender.native.load()
        x, y, z = np.array(self.place) / scene.SCALE
        run = mmdskin.Simulation(
            [live._whole.model[0] for live in lives],
            None,
            mmdskin.Physics(settle=20),
            transforms=[HIDDEN, (x, z, y, 0, 0, 0, 1)],
        )
        addon().physics.live.step(run, [live.input for live in lives], 0)
        for number in range(12):
            self.now += 5  # calm: only the pose of the hand wakes the other model
            center.location.x -= 0.02 * scene.SCALE * number
            self.other.update_tag()
            scene.evaluated_positions(self.other_mesh)
            inputs = [live.input for live in lives]
            hair, _ = self.wait(1 / 30)
            pose, _ = addon().physics.live.step(run, inputs, 0.25)
            self.assert_close(lives[0]._shown, pose.bone_matrices, 0.1)  # contacts amplify
        self.assertGreater(np.abs(hair - settled).max(), 0.25 * scene.SCALE)

    def test_models_that_cannot_touch_are_told(self):
        self.other.mmdskin.physics_iterations = 20
        self.wait(0.1)
        told = redraw(self.mesh)
        self.assertTrue(any("set Solver Iterations to the same value" in str(one) for one in told))
        self.armature.pose.bones[0].location.z += 0.1
        self.armature.update_tag()
        self.assertGreater(np.abs(np.subtract(*[self.wait(0.1)[0] for _ in "ab"])).max(), 10 * BAR)
        self.other.mmdskin.source = "MOTION"
        self.wait(0.1)
        told = "Models with a motion file do not touch the others live"
        self.assertIn(told, redraw(self.mesh))


class Chosen(Group):
    """The group is chosen by selection."""

    def groups(self):
        return [armature.mmdskin.physics_group for armature in self.armatures]

    def select(self, *objects):
        scene.select(objects[0])
        for obj in objects:
            obj.select_set(True)

    def test_selected_models_are_simulated_together_and_alone_again(self):
        for armature in self.armatures:
            armature.mmdskin.physics_group = ""
        self.select(self.mesh, self.other.parent)  # any objects of the models
        self.assertEqual(bpy.ops.mmdskin.simulate_together(), {"FINISHED"})
        self.assertEqual(len({*self.groups(), ""}), 2)
        drawn = redraw(self.mesh)
        self.assertIn(f"Simulated together with {self.other.parent.name}", drawn)
        self.assert_both()
        self.assertIn(("mmdskin.simulate_alone", None), drawn)
        self.assertEqual(bpy.ops.mmdskin.simulate_alone(), {"FINISHED"})
        self.assertEqual(self.groups(), ["", ""])
        self.assertNotIn(("mmdskin.simulate_alone", None), redraw(self.mesh))

    def test_a_model_joins_the_group_of_another(self):
        self.armature.mmdskin.physics_group = ""
        self.select(self.mesh, self.other_mesh)
        bpy.ops.mmdskin.simulate_together()
        self.assertEqual(self.groups(), ["二人", "二人"])

    def test_what_cannot_be_is_refused_and_changes_nothing(self):
        self.armature.mmdskin.physics_group = ""
        self.select(self.mesh, self.armature)
        before = self.groups()
        with self.assertRaisesRegex(RuntimeError, "Select two or more models"):
            bpy.ops.mmdskin.simulate_together()
        self.armature.mmdskin.physics = False
        self.select(self.mesh, self.other_mesh)
        with self.assertRaisesRegex(RuntimeError, "has no physics to simulate"):
            bpy.ops.mmdskin.simulate_together()
        self.assertEqual(self.groups(), before)


class Elsewhere(Group):
    def test_a_linked_model_is_refused(self):
        """Blender would not save where its simulation is."""
        self.own_keys(*self.armatures)
        bpy.ops.wm.save_mainfile()
        library = bpy.data.filepath
        bpy.ops.wm.read_homefile(use_empty=True)
        bpy.ops.wm.save_as_mainfile(filepath=os.path.join(self.folder, "shot.blend"))
        with bpy.data.libraries.load(library, link=True) as (there, here):
            here.objects = there.objects
        for obj in here.objects:
            bpy.context.scene.collection.objects.link(obj)
        found = [obj for obj in here.objects if obj.type == "ARMATURE"]
        bpy.context.view_layer.update()
        scene.select(found[0])
        bpy.ops.mmdskin.make_override()
        self.armatures = bpy.context.active_object, found[1]
        self.assertEqual({obj.mmdskin.physics_group for obj in self.armatures}, {"二人"})
        self.assert_refused("is linked from another file: make a library override first")
        scene.select(found[1])
        self.assert_refused("is linked from another file: make a library override first")
        bpy.ops.mmdskin.make_override()
        self.assertEqual(bpy.ops.mmdskin.simulate(), {"FINISHED"})


class Outdated(Group):
    def setUp(self):
        super().setUp()
        self.own_keys(*self.armatures)
        self.simulate()
        self.assertEqual(self.problems(), ["", ""])

    def test_when_a_setting_of_the_other_model_changes(self):
        self.other.mmdskin.physics_hz = 120
        self.assert_outdated()
        self.other.mmdskin.physics_hz = 60
        self.assertEqual(self.problems(), ["", ""])

    def test_when_the_other_model_is_moved(self):
        self.put((-0.088, 0.042, 0.032))
        self.assert_outdated()
        self.put(self.place)
        self.assertEqual(self.problems(), ["", ""])

    def test_when_the_other_model_leaves_the_group(self):
        """A motion file alone needs no simulation."""
        self.settings.source = "MOTION"
        self.other.mmdskin.physics_group = ""
        self.assertEqual(self.problems()[0], "")
        self.assertRegex(self.problems()[1], "have changed since the simulation")

    def test_when_keys_of_the_other_model_change(self):
        for sources in (("MOTION", "IK"), ("IK", "IK")):
            for armature, source in zip(self.armatures, sources, strict=True):
                armature.mmdskin.source = source
            self.simulate()
            self.assertEqual(self.problems(), ["", ""])
            curves = addon().blender.actions.played(self.other.animation_data)[0]
            curve = next(c for c in curves if c.data_path.endswith("location"))
            curve.keyframe_points[1].co.y += 0.01
            curve.update()
            with self.subTest(sources):
                self.assertRegex(self.problems()[0], "have changed since the simulation")
            curve.keyframe_points[1].co.y -= 0.01
            curve.update()


class Deleted(Group):
    def test_a_model_that_is_left_alone_is_simulated_alone(self):
        """Its place was waited for; the model is still live."""
        for number in range(2):
            with self.subTest(number):
                scene.select(self.other)
                objects = [self.other, self.other_mesh, self.other.parent]
                if number:
                    bpy.data.batch_remove(objects)
                else:
                    for obj in objects:
                        obj.select_set(True)
                    bpy.ops.object.delete()
                for frame in (11, 4):
                    bpy.context.scene.frame_set(frame)
                    shown = scene.evaluated_positions(self.mesh)
                    self.assert_close(shown, self.expected(frame, settle=20), BAR)
                self.assertEqual(case.live_errors(), [])
                self.assertEqual(self.problem, "")
                if not number:
                    self.setUp()


class Refused(Group):
    """Motion files say so in the panel, and show no physics; own keys are not simulated."""

    def assert_neither(self, words):
        for shown in (self.mesh, self.other_mesh):
            scene.evaluated_positions(shown)
        self.assertRegex(self.problems()[0], words)
        self.own_keys(self.armature)
        self.assert_refused(words)

    def test_different_settings(self):
        self.other.mmdskin.physics_iterations = 20
        self.assert_neither("simulated together: set Solver Iterations to the same value")

    def test_different_scales(self):
        self.other.parent.scale = (2, 2, 2)
        bpy.context.view_layer.update()
        self.assert_neither("different scales")

    def test_mirrored_models(self):
        self.other.parent.scale = (-1, 1, 1)
        bpy.context.view_layer.update()
        self.assert_neither("mirrored or scaled unevenly")

    def test_objects_that_move(self):
        root = self.other.parent
        root.keyframe_insert("location", frame=0)
        root.location.x += 1
        root.keyframe_insert("location", frame=15)
        self.assert_neither("moves as an object")

    def test_objects_that_something_else_moves(self):
        """Which is seen frame by frame."""
        self.own_keys(self.armature)
        driver = self.other.parent.driver_add("location", 0).driver
        driver.expression = "frame / 100"
        self.assert_refused("moves as an object")

    def test_another_speed(self):
        bpy.context.scene.render.fps = 60
        self.other.mmdskin.motion_real_time = False
        self.assert_neither("plays at a different speed")

    def test_a_missing_motion_of_the_other_model(self):
        self.other.mmdskin.motion_path = os.path.join(self.folder, "無.vmd")
        self.assert_neither("cannot be opened")

    def test_a_file_that_cannot_be_written(self):
        self.own_keys(*self.armatures)
        cache = addon().physics.cache
        write, written = cache.write, []

        def fails(*arguments):
            if written:
                raise addon().blender.user_error.UserError("full")
            written.append(write(*arguments))
            return written[0]

        with mock.patch.object(cache, "write", fails):
            self.assert_refused("full")
        self.assertEqual(len(written), 1)


class Cancelled(Group):
    def test_escape_leaves_the_simulations_before(self):
        self.own_keys(*self.armatures)
        self.simulate()
        for armature in self.armatures:
            armature.mmdskin.physics_settle = 5
        model = addon().scene.scene_model.model_of(self.mesh, bpy.context.view_layer)
        bpy.context.scene.frame_end = 40
        bpy.context.scene.frame_set(3)
        self.other.pose.bones[1].location.x += 0.25  # without a keyframe
        bpy.context.view_layer.update()
        for sources in (("MOTION", "IK"), ("IK", "IK")):
            for armature, source in zip(self.armatures, sources, strict=True):
                armature.mmdskin.source = source
            before = fingerprint.of_file(), self.contents(), self.caches()
            for steps in (0, 1, 2):
                with self.subTest(sources, steps=steps):
                    job = addon().physics.operators.job_of([model], bpy.context)
                    self.assertEqual(job.frames, 41)
                    for _ in range(steps):
                        next(job.steps)
                    job.steps.close()
                    self.assertEqual(fingerprint.differences(before[0], fingerprint.of_file()), [])
                    self.assertEqual((self.contents(), self.caches()), before[1:])

    def contents(self):
        found = {}
        for name in self.files():
            with open(os.path.join(self.folder, name), "rb") as file:
                found[name] = file.read()
        return found
