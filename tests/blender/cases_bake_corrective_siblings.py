# SPDX-License-Identifier: GPL-3.0-or-later
"""Corrective keys of joints that are far apart in the tree of bones."""

import math
import os
import tempfile

import bpy
import case
import scene
from cases_bake_corrective import Corrective
from mathutils import Quaternion


class FarApart(Corrective):
    """Driven keys of a joint whose bones are not parent and child: they are siblings."""

    def setUp(self):
        case.Case.setUp(self)
        scene.clear()
        model = case.small_model()
        model.bones[2].parent = 0
        self.scene = scene.Scene(model)
        self.mesh = self.scene.mesh
        self.path = case.write_model(self, self.scene.pmx)
        self.bend(arm=-35, elbow=50)

    @property
    def properties(self):
        names = list(self.mesh.data.keys())
        return [name for name in names if name.startswith("mmdskin_turn")]

    def drivers(self):
        """The number of these keys, and of all keys of the mesh."""
        blocks = self.mesh.data.shape_keys, self.mesh.data
        return [len(b.animation_data.drivers) if b.animation_data else 0 for b in blocks]

    def test_are_exact_in_the_pose(self):
        self.assertGreater(self.difference(), 0.01)
        self.bake()
        self.assert_exact()
        self.assertEqual([key.name for key in self.baked_keys()], ["MMD 腕.L ひじ.L 1"])

    def test_do_not_depend_on_rotations_of_both(self):
        self.bake()
        self.scene.armature.pose.bones["センター"].rotation_mode = "XYZ"
        self.scene.armature.pose.bones["センター"].rotation_euler = (1, 2, 3)
        self.assert_exact()
        scene.transform(self.scene.root, (1, 2, 3), (0.4, -2, 1), (1.5, 1.5, 1.5))
        self.assert_exact()

    def test_follow_their_angle_whichever_of_them_turns(self):
        self.bake()
        for arm, elbow in ((0, 85), (-85, 0), (10, 95)):
            self.bend(arm=arm, elbow=elbow)
            self.assertAlmostEqual(self.baked_keys()[0].value, 1, delta=1e-4)

    def test_drivers_need_no_permission_for_scripts(self):
        self.bake()
        for block in (self.mesh.data.shape_keys, self.mesh.data):
            simple = {c.driver.is_simple_expression for c in block.animation_data.drivers}
            self.assertEqual(simple, {True})
        self.assertEqual(self.drivers(), [1, 4])

    def test_clear_brings_everything_back(self):
        with case.unchanged(self):
            self.bake()
            self.assertEqual(self.properties, ["mmdskin_turn_1"])
            bpy.ops.mmdskin.clear_bake()
        self.assertEqual(self.properties, [])
        self.assertIsNone(self.mesh.data.animation_data)

    def test_baked_again_they_leave_nothing_behind(self):
        self.bake()
        self.bend(arm=20, elbow=-60)
        bpy.context.scene.frame_set(2)
        self.bake()
        self.assertEqual(self.properties, ["mmdskin_turn_1"])
        self.assertEqual(self.drivers(), [len(self.driven_keys()), 4])

    def test_in_a_saved_file_they_need_no_addon(self):
        self.bake()
        expected = self.expected()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "baked.blend")
            bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
            scene.clear()
            bpy.ops.wm.open_mainfile(filepath=path)
        self.mesh = bpy.data.objects["model_mesh"]
        self.assert_close(scene.evaluated_positions(self.mesh), expected)
        bone = bpy.data.objects["model_arm"].pose.bones["ひじ.L"]
        bone.rotation_quaternion = Quaternion((0, 0, 1), math.radians(-35))
        bpy.context.view_layer.update()
        self.assertAlmostEqual(self.baked_keys()[0].value, 0, places=4)

    def test_undone_and_done_again(self):
        bpy.ops.ed.undo_push(message="before")
        self.bake()
        bpy.ops.ed.undo_push(message="baked")
        bpy.ops.ed.undo()
        self.mesh = bpy.data.objects["model_mesh"]
        self.assertEqual(self.properties, [])
        bpy.ops.ed.redo()
        self.scene.armature = bpy.data.objects["model_arm"]
        self.mesh = bpy.data.objects["model_mesh"]
        self.assert_exact()
