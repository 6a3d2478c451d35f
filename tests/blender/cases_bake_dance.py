# SPDX-License-Identifier: GPL-3.0-or-later
"""Driven corrective keys bring a real dance close to MMD, also between the baked frames."""

import os
import re
import sys
import unittest

import bpy
import case
import numpy as np
import scene
from files import motion_file

FIRST, LAST, STEP = 1, 121, 8
NEAR = 0.2  # of the error of the modifier alone that may stay


class Dance(unittest.TestCase):
    MODEL = "初音ミク_sdefr.pmx"

    def setUp(self):
        model = str(case.shared_model(self.MODEL))
        whole = motion_file.keys(case.shared_model("realize_motion.vmd").read_bytes())
        keys = [k._replace(frame=k.frame - 500) for k in whole.bones if 500 <= k.frame <= 620]
        motion = os.path.join(case.folder(self), "part.vmd")
        with open(motion, "wb") as file:
            file.write(motion_file.write_vmd(motion_file.Keys("", keys, [])))
        self.mmdskin = sys.modules["addon_package"].blender.native.load()
        self.model, self.motion = self.mmdskin.load_model(model), self.mmdskin.load_motion(motion)
        scene.clear()
        self.addCleanup(scene.clear)
        fps = bpy.context.scene.render.fps
        self.addCleanup(setattr, bpy.context.scene.render, "fps", fps)
        bpy.context.scene.render.fps = 30
        bpy.ops.mmdskin.import_model(filepath=model)
        self.mesh = next(obj for obj in bpy.data.objects if obj.type == "MESH")
        scene.select(self.mesh)
        bpy.ops.mmdskin.import_motion(filepath=motion)

    def farthest_off(self, frames):
        """The largest distance of a vertex from `mmdskin.skin`, in Blender units."""
        farthest = 0.0
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            pose = self.model.pose(self.motion, float(frame - 1))
            skinned = self.mmdskin.skin(self.model, pose, normals=False).positions
            off = scene.evaluated_positions(self.mesh) - scene.in_blender(skinned)
            farthest = max(farthest, float(np.linalg.norm(off, axis=1).max()))
        return farthest

    def test_the_largest_error_falls_as_reported(self):
        looked_at = range(FIRST, LAST + 1, STEP // 2)
        others = range(FIRST + 2, LAST, STEP // 2)
        before = self.farthest_off(looked_at)
        self.assertGreater(before, 0.02)
        with case.reports() as said:
            bpy.ops.mmdskin.bake(
                target="CORRECTIVE", range="CUSTOM", frame_start=FIRST, frame_end=LAST, step=STEP
            )
        after = self.farthest_off(looked_at)
        self.assertLess(after, NEAR * before)
        self.assertLess(self.farthest_off(others), 1.5 * NEAR * before)
        reported = re.search(
            r" reduced from (\S+) to (\S+) with (\d+) keys?", "".join(said)
        ).groups()
        self.assertAlmostEqual(float(reported[0]) / before, 1, delta=0.06)
        self.assertAlmostEqual(float(reported[1]) / after, 1, delta=0.06)
        self.assertLessEqual(int(reported[2]), 40)


class DanceOfSiblings(Dance):
    """Her legs and the hem of her skirt share vertices, although none of these bones is another's parent."""

    MODEL = "巡音ルカ_sdefr.pmx"


class DanceOfQDEF(Dance):
    MODEL = "初音ミク_qdef.pmx"
