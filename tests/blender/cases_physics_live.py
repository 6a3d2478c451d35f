# SPDX-License-Identifier: GPL-3.0-or-later
"""Hair that moves while a model is posed and played, without a simulation file."""

import itertools
from unittest import mock

import bpy
import case
import keyed_physics
import numpy as np
import scene
from keyed_physics import addon


class Live(keyed_physics.Keyed):
    """Live physics is on; time passes when a test says so."""

    def setUp(self):
        super().setUp()
        self.now = 100.0
        live = addon().physics.live
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

    def pose(self, angle):
        self.armature.pose.bones["センター"].rotation_mode = "XYZ"
        self.armature.pose.bones["センター"].rotation_euler[2] = angle
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
            self.assertGreater(np.abs(one - other).max(), 1e-4)

    def test_played_in_order_it_has_the_bytes_of_steps(self):
        self.pose(0.0)
        for _ in range(4):
            self.wait(0.5)
        bpy.context.scene.frame_set(0)
        shown = {}
        for frame in range(16):
            bpy.context.scene.frame_set(frame)
            self.now += 0.3  # on a slow machine
            self.points()
            shown[frame] = self.bones().copy()
        self.settings.physics_live = False
        expected = self.stepped(range(16))
        for frame in range(1, 16):
            np.testing.assert_array_equal(shown[frame], expected[frame], str(frame))
