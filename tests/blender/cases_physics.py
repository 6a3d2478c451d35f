# SPDX-License-Identifier: GPL-3.0-or-later
"""Hair moved by a motion: baked, imported as keyframes, simulated for the preview."""

import os
from types import SimpleNamespace
from unittest import mock

import bpy
import case
import fingerprint
import numpy as np
import recorder
import scene
from case import addon
from cases_bake_range import forget_file
from cases_motion import MotionCase, dance, rig
from cases_motion_clear import ClearCase
from files import motion_file, pmx_file
from recorder import Recorder

PHYSICS, WITH_BONE = 1, 2
HAIR = ["髪1", "髪2", "髪3"]


def with_hair():
    """The rig, with three links of hair attached to its first bone, a bone that appends from the second
    one before physics, and vertices on them."""
    pmx = rig()
    first = len(pmx.bones)
    for link, name in enumerate(HAIR):
        parent = first + link - 1 if link else 0
        pmx.bones.append(pmx_file.Bone(name, position=(0, 14 - link, 0.5), parent=parent))
    append = pmx_file.Append(first + 1, -0.1)
    pmx.bones.append(pmx_file.Bone("髪飾り", position=(1, 14, 0), append=append))
    count = len(pmx.positions)
    pmx.bone_indices[count - 60 :, 0] = first + np.arange(60) % 4
    pmx.bone_indices[count - 60 :, 1:] = -1
    pmx.bone_weights[count - 60 :] = (1, 0, 0, 0)
    pmx.deform[count - 60 :] = 0
    shape = {"mask": 0, "size": (0.2, 0, 0), "linear_damping": 0.1, "angular_damping": 0.1}
    pmx.rigid_bodies = [pmx_file.RigidBody("頭", bone=0, position=(0, 14.2, 0.5), **shape)]
    pmx.joints = []
    limits = {"rotation_lower": (-0.6, -0.3, -0.6), "rotation_upper": (0.6, 0.3, 0.6)}
    for link in range(3):
        mode = WITH_BONE if link == 2 else PHYSICS
        place = (0, 13.5 - link, 0.5)
        pmx.rigid_bodies.append(
            pmx_file.RigidBody(f"b{link}", bone=first + link, position=place, mode=mode, **shape)
        )
        at = (0, 14 - link, 0.5)
        pmx.joints.append(
            pmx_file.Joint(f"j{link}", body_a=link, body_b=link + 1, position=at, **limits)
        )
    return pmx


def keyed_gravity(armature):
    curves = addon().blender.actions.played(armature.animation_data)[0]
    return [curve for curve in curves if curve.data_path == "mmdskin.physics_gravity"]


class Hair:
    """The model of these cases instead of that of the motion cases."""

    def setUp(self):
        super().setUp()
        scene.clear()
        self.scene = scene.Scene(with_hair())
        self.mesh, self.armature = self.scene.mesh, self.scene.armature
        self.model_path = self.write("髪.pmx", pmx_file.write(self.scene.pmx))
        bpy.context.scene.render.fps = 30

    def physics(self, **settings):
        return addon().blender.native.load().Physics(**{"start": 0, **settings})

    def expected(self, frames, **settings):
        """(F, V, 3) positions that the module computes from the file."""
        model, motion = self.loaded()
        pose = model.pose(motion, np.array(frames, float), physics=self.physics(**settings))
        positions = addon().blender.native.load().skin(model, pose, normals=False).positions
        return scene.in_blender(positions.reshape(-1, 3)).reshape(positions.shape)

    def assert_shows(self, frames, **settings):
        for frame, expected in zip(frames, self.expected(frames, **settings), strict=True):
            bpy.context.scene.frame_set(frame)
            self.assert_close(scene.evaluated_positions(self.mesh), expected)


class Bakes(Hair, MotionCase):
    def bake(self, **options):
        files = {"source": "MOTION", "motion_path": self.motion_path}
        files |= {"model_path": self.model_path, "motion_start": 0, "physics": True}
        range_ = {"range": "CUSTOM", "frame_start": 0, "frame_end": 16}
        self.assertEqual(bpy.ops.mmdskin.bake(**files, **range_, **options), {"FINISHED"})

    def test_hair_swings_as_in_the_module(self):
        self.bake()
        self.assert_shows(range(17))
        plain = self.of_file((12,))[0]
        bpy.context.scene.frame_set(12)
        apart = np.abs(scene.evaluated_positions(self.mesh) - plain).max(axis=1)
        self.assertGreater(apart[-60:].max(), 0.1 * scene.SCALE)
        self.assertLess(apart[:-60].max(), case.BAR * scene.SCALE)

    def test_settings_reach_the_simulation(self):
        self.bake(physics_ground=False, physics_settle=7, physics_hz=120, physics_start=3)
        self.assert_shows(range(17), ground=False, settle=7, hz=120, start=3)
        bpy.ops.mmdskin.clear_bake()
        self.assertGreater(
            np.abs(self.expected([12]) - self.expected([12], settle=7, start=3)).max(), case.BAR
        )

    def test_settings_of_the_model(self):
        settings = self.armature.mmdskin
        settings.source, settings.motion_path = "MOTION", self.motion_path
        settings.model_path, settings.motion_start = self.model_path, 0
        settings.physics, settings.physics_settle = True, 11
        bpy.ops.mmdskin.bake(range="CUSTOM", frame_start=0, frame_end=9)
        self.assert_shows(range(10), settle=11)

    def test_further_settings_of_the_model(self):
        """Gravity is along Blender's axes: y backward, z up."""
        settings = self.armature.mmdskin
        settings.physics_gravity, settings.physics_iterations = (30, 50, -60), 3
        settings.physics_ground_height, settings.physics_teleport = 2.5, 0.5
        self.bake()
        module = {"iterations": 3, "ground": 2.5, "teleport": 0.5}
        self.assert_shows(range(17), gravity=(30, -60, 50), **module)

    def test_keyframes_of_gravity(self):
        """Two axes are keyed, the third is not."""
        settings = self.armature.mmdskin
        settings.physics_gravity = (0, 40, 0)
        for frame, x, z in ((2, 0, -98), (12, 90, -20)):
            settings.physics_gravity[0], settings.physics_gravity[2] = x, z
            for axis in (0, 2):
                settings.keyframe_insert("physics_gravity", index=axis, frame=frame)
        for curve in keyed_gravity(self.armature):
            for point in curve.keyframe_points:
                point.interpolation = "LINEAR"
        self.bake()
        x, z = (np.interp(range(17), (2, 12), ends) for ends in ((0, 90), (-98, -20)))
        self.assert_shows(range(17), gravity=np.stack([x, z, 0 * x + 40], axis=1))

    def test_a_bake_that_is_dropped_leaves_everything(self):
        before = fingerprint.of_file()
        motion = addon().pose.motion_source.Settings(
            self.model_path, self.motion_path, 0, physics=addon().pose.physics_settings.Settings()
        )
        job = case.bake_job(self.mesh, "SHAPE_KEYS", range(17), motion)
        self.assertIn("of 17", next(job.steps).text)
        job.steps.close()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_a_model_that_cannot_be_simulated_is_reported(self):
        pmx = self.scene.pmx
        pmx.rigid_bodies[1].size = (-1, 0, 0)
        self.model_path = self.write("負.pmx", pmx_file.write(pmx))
        with self.assertRaises(RuntimeError) as caught:
            self.bake()
        self.assertIn("負.pmx", str(caught.exception))


class Imports(Hair, ClearCase):
    def setUp(self):
        super().setUp()
        scene.select(self.armature)
        self.tracks = []
        for name in HAIR:  # as mmd_tools lets its rigid bodies move bones
            bone = self.armature.pose.bones[name]
            track = bone.constraints.new("COPY_TRANSFORMS")
            track.name, track.target = addon().scene.mmd_tools.PHYSICS_CONSTRAINT, self.scene.root
            track.influence = 0.5
            self.tracks.append(track)
        bpy.context.view_layer.update()

    def assert_stands(self, motion_frame, names=None, **settings):
        model, motion = self.loaded()
        pose = model.pose(motion, motion_frame, physics=self.physics(**settings))
        armature = self.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        to_file = np.linalg.inv(scene.TO_BLENDER)
        for name, matrix in zip(self.scene.bone_names, pose.bone_matrices, strict=True):
            bone = armature.pose.bones[name]
            expected = scene.TO_BLENDER @ matrix @ to_file @ np.array(bone.bone.matrix_local)
            error = np.abs(np.array(bone.matrix) - expected)
            error[:3, 3] /= scene.SCALE
            self.assertLessEqual(float(error.max()), 2 * case.BAR, f"{name}, {motion_frame}")

    def test_keys_are_where_physics_has_the_bones(self):
        self.assertEqual(self.imported(physics=True), {"FINISHED"})
        self.assert_plays(range(1, 17))

    def test_settings_reach_the_simulation(self):
        self.imported(physics=True, physics_hz=120, physics_settle=3, physics_ground=False)
        bpy.context.scene.frame_set(9)
        self.assert_stands(8, hz=120, settle=3, ground=False)

    def test_further_settings_are_those_of_the_model(self):
        self.armature.mmdskin.physics_gravity = (30, 50, -60)
        self.imported(physics=True, physics_settle=3)
        bpy.context.scene.frame_set(9)
        self.assert_stands(8, settle=3, gravity=(30, -60, 50))

    def test_tracks_rest_where_physics_is_keyed(self):
        self.imported()
        self.assertEqual([track.mute for track in self.tracks], [False] * 3)
        bpy.ops.mmdskin.clear_motion()
        self.imported(physics=True)
        self.assertEqual([track.mute for track in self.tracks], [True] * 3)
        bpy.ops.mmdskin.clear_motion()
        self.assertEqual([track.mute for track in self.tracks], [False] * 3)

    def test_is_restored(self):
        self.assert_comes_back({"physics": True})
        self.assert_comes_back({}, {"physics": True})
        self.assert_comes_back({"physics": True, "replace": True})

    def test_a_source_with_physics(self):
        self.imported(mode="FILE", physics=True, physics_settle=9)
        self.assertEqual(
            (self.armature.mmdskin.physics, self.armature.mmdskin.physics_settle), (True, 9)
        )
        bpy.ops.mmdskin.clear_motion()
        self.assertEqual(
            (self.armature.mmdskin.physics, self.armature.mmdskin.physics_settle), (False, 300)
        )

    def test_hair_hangs_in_a_pose(self):
        self.motion_path = self.vpd()
        self.imported(physics=True)
        bpy.context.view_layer.update()
        self.assert_stands(0)

    def test_a_second_motion_keeps_the_physics_of_the_first(self):
        self.imported(physics=True)
        names = [name for name in self.scene.bone_names if name.startswith("髪")]
        before = [self.curve_of(name) for name in names]
        keys = self.write("face.vmd", self.face())
        self.imported(keys)
        self.assertEqual(before, [self.curve_of(name) for name in names])

    def test_switches_of_both_motions_count(self):
        """Physics is off from frame 5 on for one link, in the first of two motions."""
        keys = dance(self.scene.pmx, HAIR)
        off = motion_file.block([[20, 20, 107, 107]] * 4, b"\x63\x0f")
        switch = motion_file.BoneKey(HAIR[1], 5, (0, 0, 0), (0, 0, 0, 1), off)
        first = self.write(
            "hair.vmd", motion_file.write_vmd(keys._replace(bones=[*keys.bones, switch]))
        )
        arms = self.write("arms.vmd", motion_file.write_vmd(dance(self.scene.pmx, ["左腕"])))
        merged = addon().pose.scene_motion.merged
        joined = merged([self.open(motion=first), self.open(motion=arms, start=3)])
        tracks = {track.name: track for track in joined.motion.bones}
        self.assertEqual(list(tracks[HAIR[1]].physics), [True, False, True])
        self.assertTrue(tracks["左腕"].physics.all())
        for track in self.open(motion=first).motion.bones:
            curves = tracks[track.name].interpolation
            self.assertTrue(np.array_equal(curves, track.interpolation))

    def test_of_own_keys_it_is_simulated(self):
        settings = self.armature.mmdskin
        for path in (self.motion_path, self.vpd()):
            with case.reports() as said:
                self.imported(path, mode="ORIGINAL", physics=True, physics_settle=9)
            self.assertTrue(any("use Simulate" in line for line in said), said)
            self.assertEqual((settings.source, settings.physics_settle), ("IK", 9))
            self.assertTrue(settings.physics)
            bpy.ops.mmdskin.clear_motion()
            self.assertEqual((settings.source, settings.physics), ("ARMATURE", False))

    def curve_of(self, name):
        path = f'pose.bones["{name}"].rotation_quaternion'
        curves = [curve for curve in self.curves(self.armature) if curve.data_path == path]
        return [[point.co.y for point in curve.keyframe_points] for curve in curves]

    def face(self):
        return motion_file.write_vmd(dance(self.scene.pmx)._replace(bones=[]))


class ShowsCase(Hair, MotionCase):
    def setUp(self):
        super().setUp()
        self.blend = os.path.join(self.folder.name, "踊り.blend")
        bpy.ops.wm.save_as_mainfile(filepath=self.blend)
        self.addCleanup(forget_file)
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 0, 20
        settings = self.armature.mmdskin
        settings.source, settings.motion_path = "MOTION", self.motion_path
        settings.model_path, settings.motion_start = self.model_path, 0
        settings.physics = settings.preview = True

    def assert_shows_at(self, frames):
        for frame, expected in zip(frames, self.expected(list(frames.values())), strict=True):
            bpy.context.scene.frame_set(frame)
            self.assert_close(scene.evaluated_positions(self.mesh), expected)


class Shows(ShowsCase):
    """MMD Skinning: any frame of a motion file, without a simulation file."""

    def test_any_frame_in_any_order(self):
        self.assert_shows([12, 3, 16, 0, 20])
        self.assertEqual(case.physics_problems(), [])
        names = os.listdir(self.folder.name)
        self.assertFalse([name for name in names if "physics" in name])

    def test_between_frames(self):
        bpy.context.scene.render.fps = 60
        self.assert_shows_at({5: 2.5, 11: 5.5})
        bpy.context.scene.render.fps = 24
        self.assert_shows_at({1: 1.25, 2: 2.5, 7: 8.75})
        bpy.context.scene.render.fps = 25
        self.assert_shows_at({1: 1.2, 3: 3.6, 7: 8.4})

    def test_renders_show_it_in_any_order(self):
        bpy.utils.register_class(Recorder)
        self.addCleanup(bpy.utils.unregister_class, Recorder)
        current = bpy.context.scene
        self.addCleanup(setattr, current.render, "engine", current.render.engine)
        current.render.fps = 24
        with mock.patch.object(Recorder, "watched", self.mesh.name):
            for frame in (13, 2, 8):
                current.frame_set(frame)
                Recorder.seen = {}
                recorder.prepare(current, os.path.join(self.folder.name, "frame"))
                bpy.ops.render.render()
                (shown,) = Recorder.seen.values()
                self.assert_close(shown, self.expected([frame * 30 / 24])[0])

    def test_before_and_after(self):
        self.armature.mmdskin.motion_start = 5
        self.assert_shows_at({2: -3, 25: 20, 30: 25})

    def test_changed_settings_and_files_act_at_once(self):
        self.armature.mmdskin.physics_hz = 120
        self.assert_shows([12, 5], hz=120)
        self.armature.mmdskin.physics_hz = 60
        self.scene.pmx.rigid_bodies[2].mass = 5
        self.write("髪.pmx", pmx_file.write(self.scene.pmx))
        self.armature.mmdskin.motion_start = 0  # looks again
        self.assert_shows([12])

    def test_found_again_with_the_blend(self):
        expected = self.expected([12])[0]
        bpy.ops.wm.save_mainfile()
        name = self.mesh.name
        bpy.ops.wm.open_mainfile(filepath=self.blend)
        self.mesh = bpy.data.objects[name]
        bpy.context.scene.frame_set(12)
        self.assert_close(scene.evaluated_positions(self.mesh), expected)

    def test_a_run_lasts_when_the_mesh_is_read_again(self):
        self.assert_shows([20])
        with mock.patch.object(addon().physics.simulation, "Run", None):
            self.mesh.data.update_tag()
            self.armature.data.update_tag()
            self.assert_shows([12])

    def test_a_far_frame_is_computed_by_the_timer_and_hair_is_stiff_until_then(self):
        run = addon().physics.simulation
        window = SimpleNamespace(app=SimpleNamespace(background=False))
        state = addon().physics.cache.state_of(self.armature)
        timer = addon().preview.live_timer
        with (
            mock.patch.object(run, "_FAR", 5),
            mock.patch.object(timer, "_SLICES", (0, 0)),
            mock.patch.object(addon().pose.scene_motion, "bpy", window),
        ):
            bpy.context.scene.frame_set(16)
            self.assert_close(scene.evaluated_positions(self.mesh), self.of_file((16,))[0])
            for percent in ("0", "31", "62", "94"):
                self.assertEqual(state.problem_text, f"Physics: {percent}%")
                timer.passed()
            self.assertFalse(run.waiting())
            self.assert_close(scene.evaluated_positions(self.mesh), self.expected([16])[0])
            self.assertEqual(state.problem_text, "")

    def test_it_needs_no_simulation(self):
        with self.assertRaisesRegex(RuntimeError, "needs no simulation"):
            bpy.ops.mmdskin.simulate()
