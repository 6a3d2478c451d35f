# SPDX-License-Identifier: GPL-3.0-or-later
"""BVH files: joints are where Blender's importer puts them."""

import os
import sys
import unittest

import addon_utils
import bpy
import case
import numpy as np
import scene
from retarget import bvh_file

HEIGHT = 170  # of the walker


class BvhCase(unittest.TestCase):
    def setUp(self):
        if bpy.app.version < (3, 5) and sys.version_info >= (3, 11):
            self.skipTest("Blender 3.4 reads BVH in a mode that Debian's Python 3.11 lacks (rU)")
        scene.clear()
        self.mmdskin = sys.modules["addon_package"].blender.native.load()
        if not hasattr(bpy.ops.import_anim, "bvh"):
            addon_utils.enable("io_anim_bvh")
        bpy.context.scene.render.fps = bvh_file.FPS

    def tearDown(self):
        bpy.context.scene.render.fps = 24

    def imported(self, joints, values):
        """(our places (F,B,3), Blender's) of the joints that are bones in Blender, in MMD's axes."""
        path = os.path.join(case.folder(self), "walk.bvh")
        with open(path, "w", encoding="ascii") as file:
            file.write(bvh_file.text(joints, values))
        bpy.ops.import_anim.bvh(filepath=path, rotate_mode="NATIVE", update_scene_duration=True)
        armature = bpy.context.object
        heads = []
        for frame in range(len(values)):
            bpy.context.scene.frame_set(frame + 1)
            heads.append([armature.matrix_world @ bone.head for bone in armature.pose.bones])
        skeleton, poses, _ = self.mmdskin.load_bvh(path)
        order = [skeleton.names.index(bone.name) for bone in armature.pose.bones]
        meters = self.mmdskin.convert(np.array(heads, np.float32), "positions", source="blender")
        return poses[..., :3, 3][:, order], meters / 12.5  # the file's unit is Blender's

    def test_a_walk_is_where_blender_puts_it(self):
        joints, values = bvh_file.walk(0.4)
        ours, theirs = self.imported(joints, values[::6])
        self.assertEqual(ours.shape[1], sum(not bvh_file.is_end(joint) for joint in joints))
        self.assertLess(np.abs(ours - theirs).max(), 1e-6 * HEIGHT)

    def test_channels_in_any_order_turn_as_in_blender(self):
        orders = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
        joints = [bvh_file.Joint("Hips", -1, (3, 90, 1), bvh_file.ROOT)]
        for i, order in enumerate(orders):
            channels = tuple(f"{axis}rotation" for axis in order)
            joints.append(bvh_file.Joint(order, i, (2 + i, 9, 5 - i), channels))
        joints.append(bvh_file.Joint("ZYX end", len(orders), (0, 5, 0)))
        values = np.random.default_rng(4).uniform(-80, 80, (5, 24))
        ours, theirs = self.imported(joints, values)
        self.assertLess(np.abs(ours - theirs).max(), 1e-6 * HEIGHT)
