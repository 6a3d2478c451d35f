# SPDX-License-Identifier: GPL-3.0-or-later
"""A model with hair whose armature has a motion's Original Keys, to check their simulation."""

import contextlib
import os
import pathlib

import bpy
import case
import imported
import numpy as np
import scene
from case import addon
from cases_bake_range import forget_file
from cases_rig import legged
from cases_sliders import morph
from files import motion_file, pmx_file

HAIR = ("髪", "紐")
BAR = 1e-4 * scene.SCALE
FRAMES = (0, 5, 11, 15)


def dressed():
    """The rig, with hair on its body and a lace on the foot that IK moves.

    Nothing touches and joints have no limits: rounding does not decide what happens.
    """
    pmx = legged()
    shape = {"mask": 0, "size": (0.2, 0, 0), "linear_damping": 0.9, "angular_damping": 0.999}
    free = {"rotation_lower": (1, 1, 1), "rotation_upper": (-1, -1, -1)}
    hangs = [(0, (0, 9, 0.5)), (3, (1, 0.8, 0.6))]
    first = len(pmx.bones)
    for number, (name, (parent, place)) in enumerate(zip(HAIR, hangs, strict=True)):
        bone, body = len(pmx.bones), len(pmx.rigid_bodies)
        pmx.bones.append(pmx_file.Bone(name, position=place, parent=parent))
        low = (place[0], place[1] - 0.5, place[2])
        holder = pmx.bones[parent].position
        pmx.rigid_bodies += [
            pmx_file.RigidBody(f"f{parent}", bone=parent, position=holder, **shape),
            pmx_file.RigidBody(f"b{number}", bone=bone, position=low, mode=1, **shape),
        ]
        pmx.joints.append(
            pmx_file.Joint(f"j{number}", body_a=body, body_b=body + 1, position=place, **free)
        )
    hair = np.arange(30)
    pmx.bone_indices[-30:, 0], pmx.bone_indices[-30:, 1:] = first + hair % 2, -1
    pmx.bone_weights[-30:], pmx.deform[-30:] = (1, 0, 0, 0), 0
    return pmx


def with_wind(pmx):
    """Impulse morphs for the hair, one of them a group, added to the rig."""
    pmx.morphs += [
        morph("風", "impulse", [2], [(0, 0.4, 0, 0.3, 0, 0, 0)]),
        morph("嵐", "group", [len(pmx.morphs)], [2.5]),
        morph("回転", "impulse", [4], [(1, 0, 0.2, 0, 0, 0.02, 0)]),
    ]
    return pmx


def switch(name, *keys):
    """Bone keys with physics switches: (frame, on)."""
    flags = {True: b"\0\0", False: b"\x63\x0f"}
    straight = [[20, 20, 107, 107]] * 4
    return [
        motion_file.BoneKey(name, frame, block=motion_file.block(straight, flags[bool(on)]))
        for frame, on in keys
    ]


def dance(names):
    """Keys a sixth of a second apart: between them Blender's rotation curves are close to MMD's."""
    random = np.random.default_rng(5)
    ways, axes = random.uniform(-1, 1, (2, len(names), 3))
    keys = []
    for name, way, axis in zip(names, ways, axes, strict=True):
        for frame in range(0, 16, 5):
            swing = np.sin(frame / 3)
            turn = np.append(0.08 * swing * axis, 1)
            turn = tuple(turn / np.linalg.norm(turn))
            keys.append(motion_file.BoneKey(name, frame, tuple(swing * way), turn))
    switches = [(0, 1), (10, 0), (13, 1)]
    properties = [motion_file.PropertyKey(f, 1, [("左足ＩＫ", on)]) for f, on in switches]
    return motion_file.Keys("踊り", keys, [], properties=properties)


class Keyed(imported.Case):
    """A model with a motion's Original Keys, in a saved file."""

    fps = 30

    def setUp(self):
        super().setUp()
        self.pmx = dressed()
        self.import_model()
        bpy.context.scene.render.fps = self.fps
        self.write_motion(self.keys())
        self.import_keys()
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 0, 15 * self.fps // 30
        self.blend = os.path.join(self.folder, "踊り.blend")
        bpy.ops.wm.save_as_mainfile(filepath=self.blend)
        self.addCleanup(forget_file)
        self.settings.source = "IK"
        self.settings.physics = True
        self.file = os.path.join(self.folder, f"踊り_{self.armature.name}_physics.npz")

    def import_model(self):
        self.path = self.write(self.pmx)
        self.model = self.load(self.path)
        self.armature, self.mesh = self.model.armature, self.model.mesh

    def keys(self):
        return dance([bone.name for bone in self.pmx.bones if bone.name not in HAIR])

    def write_motion(self, keys, name="踊り.vmd"):
        self.motion_path = self.write(motion_file.write_vmd(keys), name)

    def import_keys(self):
        scene.select(self.armature)
        bpy.ops.mmdskin.import_motion(filepath=self.motion_path, mode="ORIGINAL", frame_start=0)

    @property
    def settings(self):
        return self.armature.mmdskin

    @contextlib.contextmanager
    def found_again(self):
        """Objects are found again by name after the block, which opens a file or undoes a step."""
        names = self.mesh.name, self.armature.name
        yield
        self.mesh, self.armature = (bpy.data.objects[name] for name in names)

    def bone(self, name):
        return next(bone for bone in self.armature.pose.bones if bone["mmd_name_j"] == name)

    def curve(self, name, channel):
        """The F-curve of a bone's channel, such as ".location"."""
        path = f'pose.bones["{self.bone(name).name}"]{channel}'
        found = addon().blender.actions.played(self.armature.animation_data)
        return next(curve for curves in found for curve in curves if curve.data_path == path)

    def content(self):
        """Of the file of the simulation."""
        return pathlib.Path(self.file).read_bytes()

    @property
    def problem(self):
        return addon().physics.cache.state_of(self.armature).problem_text

    def simulate(self):
        self.assertEqual(bpy.ops.mmdskin.simulate(), {"FINISHED"})

    def expected(self, frame, physics=True, **settings):
        """(V, 3) of a frame of the motion."""
        mmdskin = addon().blender.native.load()
        model, motion = mmdskin.load_model(self.path), mmdskin.load_motion(self.motion_path)
        physics = mmdskin.Physics(start=0, **settings) if physics else None
        pose = model.pose(motion, frame, physics=physics)
        return scene.in_blender(mmdskin.skin(model, pose, normals=False).positions)

    def shown(self, frame):
        """(V, 3) at a frame of the motion."""
        whole, part = divmod(frame * self.fps, 30)
        bpy.context.scene.frame_set(int(whole), subframe=part / 30)
        return scene.evaluated_positions(self.mesh)

    def assert_shows(self, frames=FRAMES, bar=BAR, **settings):
        for frame in frames:
            shown = self.shown(frame)
            self.assertEqual(case.live_errors(), [])
            self.assertEqual(case.physics_problems(), [])
            self.assert_close(shown, self.expected(frame, **settings), bar, frame)

    def assert_plain(self, words, frame=11):
        self.assert_close(self.shown(frame), self.expected(frame, physics=False), BAR)
        self.assertIn(words, self.problem)
