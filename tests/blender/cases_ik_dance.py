# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole dances as Original Keys: with "MMD's IK" they equal the file as MMD plays it.

At the keys, that is: between them Blender rotates bones nearly as MMD does (docs/measurements.md#own-keys).
"""

import sys

import bpy
import case
import imported
import numpy as np
import scene
from files import motion_file
from judges import pose_twin

STEP = 52  # frames: at 24 a second keys lie between frames of the scene
# Of the file's units, between keys.
USUAL, WORST = 1e-3, 0.05


def addon():
    return sys.modules["addon_package"]


class Dances(imported.Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(scene.clear)
        self.addCleanup(setattr, bpy.context.scene.render, "fps", bpy.context.scene.render.fps)

    def test_realize_of_luka(self):
        self.dance("巡音ルカ.pmx", "realize_motion.vmd", 30)

    def test_wavefile_of_miku_at_another_rate(self):
        self.dance("初音ミク.pmx", "wavefile_v2.vmd", 24)

    def dance(self, model, motion, fps):
        bpy.context.scene.render.fps = fps
        path, motion = (str(case.shared_model(name)) for name in (model, motion))
        self.model = addon().blender.native.load().load_model(path)
        self.imported = self.load(path)
        self.imported.armature.mmdskin.source = "IK"
        self.imported.armature.mmdskin.preview = True
        frames = range(0, motion_file.read(motion).frame_range[1] + 1, STEP)

        off = self.off(motion, [*frames[::2], 100.5, 1000.25])
        self.assertLess(np.median(off), USUAL)
        self.assertLess(max(off), WORST)
        for frame, one in zip(frames, self.off(self.keyed_on(frames, motion), frames), strict=True):
            self.assertLess(one, case.BAR, frame)

    def keyed_on(self, frames, path):
        """The path of a motion that keys all bones with the poses of another motion at these frames."""
        motion = motion_file.read(path)
        names = {bone.name for bone in self.model.bones}
        bones = [
            motion_file.BoneKey(track.name, frame, *pose_twin.bone_at(track, frame))
            for track in motion.bones
            if track.name in names
            for frame in frames
        ]
        morphs = [
            motion_file.MorphKey(track.name, frame, pose_twin.morph_at(track, frame))
            for track in motion.morphs
            for frame in frames
        ]
        with open(path, "rb") as file:
            whole = motion_file.keys(file.read())
        return self.write(
            motion_file.write_vmd(whole._replace(bones=bones, morphs=morphs)), "k.vmd"
        )

    def off(self, path, frames):
        """The largest distance of the mesh from the motion's at each frame, in the file's units."""
        mmdskin = addon().blender.native.load()
        motion = mmdskin.load_motion(path)
        scene.select(self.imported.armature)
        bpy.ops.mmdskin.import_motion(filepath=path, mode="ORIGINAL", frame_start=0, replace=True)
        self.assertEqual(self.imported.armature.mmdskin.source, "IK")
        off = []
        for frame in frames:
            whole, part = divmod(frame * bpy.context.scene.render.fps / 30, 1)
            bpy.context.scene.frame_set(int(whole), subframe=part)
            skinned = mmdskin.skin(self.model, self.model.pose(motion, frame), normals=False)
            shown = scene.evaluated_positions(self.imported.mesh)
            self.assertEqual(case.live_errors(), [])
            away = scene.in_file(shown) - skinned.positions
            off.append(np.linalg.norm(away, axis=1).max())
        return off
