# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the cases of live physics."""

from unittest import mock

import bpy
import case
import keyed_physics
import scene
from keyed_physics import addon


class Live(keyed_physics.Keyed):
    """Live physics is on; time passes when a test says so."""

    def setUp(self):
        super().setUp()
        self.now = 100.0
        live = addon().physics.live
        live._lives.clear()
        for name in ("clock", "is_running"):
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
