# SPDX-License-Identifier: GPL-3.0-or-later
"""Constraints of imported models: legs follow their IK bones, other bones their append sources."""

import itertools
import math
import sys

import bpy
import case
import imported
import numpy as np
import scene
from files import pmx_file
from judges import pose_twin
from mathutils import Matrix, Quaternion, Vector

KNEE = ((-math.pi, 0, 0), (-0.01, 0, 0))


def legged():
    """A body with an IK leg, D bones and appends with several ratios."""
    pmx = case.small_model()
    pmx.bones = [
        pmx_file.Bone("センター", position=(0, 8, 0), tail_offset=(0, 1, 0)),
        pmx_file.Bone("左足", position=(1, 8, 0), parent=0, tail_bone=2, tail_offset=None),
        pmx_file.Bone("左ひざ", position=(1, 4.2, -0.1), parent=1, tail_bone=3, tail_offset=None),
        pmx_file.Bone("左足首", position=(1, 0.8, 0.3), parent=2, tail_bone=4, tail_offset=None),
        pmx_file.Bone("左つま先", position=(1, 0, -1.2), parent=3),
        pmx_file.Bone("左足ＩＫ", position=(1, 0.8, 0.3), tail_offset=(0, 0, 1), layer=1),
        pmx_file.Bone("左つま先ＩＫ", position=(1, 0, -1.2), parent=5, layer=1),
        pmx_file.Bone("左足D", position=(1, 8, 0), parent=0, layer=2, tail_offset=(0.5, 0, 0.2)),
        pmx_file.Bone("左ひざD", position=(1, 4.2, -0.1), parent=7, layer=2),
        pmx_file.Bone("左腕捩", position=(3, 9, 0), parent=0, tail_offset=(0, -1, 0)),
        pmx_file.Bone("隠れ", position=(0, 3, 0), parent=0, flags=0x2),
        pmx_file.Bone("半分", position=(2, 9, 0), parent=0, tail_offset=(1, 1, 0)),
        pmx_file.Bone("逆", position=(4, 9, 1), parent=11, tail_offset=(0, 0.3, 1)),
        pmx_file.Bone("先", position=(5, 9, 1), parent=12, tail_offset=(0.3, 1, 0)),
        pmx_file.Bone("移動", position=(5, 9, 1), parent=12, tail_offset=(0.3, 1, 0)),
    ]
    pmx.bones[5].ik = pmx_file.IK(3, 40, 2.0, [pmx_file.IKLink(2, *KNEE), pmx_file.IKLink(1)])
    pmx.bones[6].ik = pmx_file.IK(4, 3, 4.0, [pmx_file.IKLink(3)])
    pmx.bones[7].append = pmx_file.Append(1, 1.0)
    pmx.bones[8].append = pmx_file.Append(2, 1.0)
    pmx.bones[9].fixed_axis = (0.8, -0.6, 0)
    pmx.bones[11].append = pmx_file.Append(0, 0.5)
    pmx.bones[12].append = pmx_file.Append(11, -0.6)
    pmx.bones[13].append = pmx_file.Append(0, -1.0)
    pmx.bones[14].append = pmx_file.Append(0, -1.5, False, True)
    pmx.bone_indices[pmx.bone_indices > 2] = 2
    return pmx


class Rig(imported.Case):
    def setUp(self):
        super().setUp()
        self.pmx = legged()
        self.open(self.pmx)

    def open(self, pmx, **options):
        self.path = self.write(pmx)
        self.model = self.load(self.path, **options)
        self.armature = self.model.armature
        self.bones = {bone["mmd_name_j"]: bone for bone in self.armature.pose.bones}
        for bone in self.bones.values():
            bone.rotation_mode = "QUATERNION"

    def pose(self, values):
        """Set translations or rotation quaternions of bones, in the file's units and axes."""
        for name, value in values.items():
            bone = self.bones[name]
            turn = bone.bone.matrix_local.to_3x3()
            if isinstance(value, Quaternion):
                swapped = Quaternion((value.w, -value.x, -value.z, -value.y)).to_matrix()
                bone.rotation_quaternion = (turn.inverted() @ swapped @ turn).to_quaternion()
            else:
                bone.location = turn.inverted() @ (Vector(value).xzy * scene.SCALE)
        bpy.context.view_layer.update()

    def shown(self, name):
        """(4, 4) transform from rest to pose, in the file's axes and units."""
        evaluated = self.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        bone = evaluated.pose.bones[self.bones[name].name]
        to_file = np.linalg.inv(scene.TO_BLENDER)
        moved = np.array(bone.matrix @ bone.bone.matrix_local.inverted())
        return to_file @ moved @ scene.TO_BLENDER

    def place(self, name):
        """The position of a bone's head, in the file's units."""
        number = [bone.name for bone in self.pmx.bones].index(name)
        return (self.shown(name) @ np.append(self.pmx.bones[number].position, 1))[:3]

    def of_mmd(self, values):
        """{bone: (4, 4)} as MMD has them, by mmdskin."""
        mmdskin = sys.modules["addon_package"].blender.native.load()
        model = mmdskin.load_model(self.path)
        given = {
            name: (None, (*value[1:], value[0])) if isinstance(value, Quaternion) else (value, None)
            for name, value in values.items()
        }
        matrices = model.pose_from(given).bone_matrices
        return {bone.name: matrix for bone, matrix in zip(model.bones, matrices, strict=True)}

    def assert_turned(self, name, expected, degrees):
        """Checks that a bone's rotation equals that of a matrix within some degrees."""
        difference = Matrix(self.shown(name)[:3, :3] @ np.array(expected)[:3, :3].T)
        self.assertLessEqual(math.degrees(difference.to_quaternion().angle), degrees, name)


class Chains(Rig):
    def test_a_foot_follows_its_ik_bone_and_the_knee_bends_forward(self):
        for goal in ((0, 1, 0), (0, 3, -2), (1, 2, 1), (-0.5, 4, -3)):
            self.pose({"左足ＩＫ": goal})
            self.assert_close(self.place("左足首"), np.array((1, 0.8, 0.3)) + goal, 0.02)
            expected = self.of_mmd({"左足ＩＫ": goal})
            for name, degrees in (("左足", 8), ("左ひざ", 8), ("左足首", 12)):
                self.assert_turned(name, expected[name], degrees)
            self.assertLess(self.place("左ひざ")[2], self.place("左足首")[2])  # to the front

    def test_straight_legs_and_those_modelled_backwards_do_not_fold(self):
        birds = ((0.01, 0, 0), (math.pi, 0, 0))
        for limits, back in ((KNEE, 0), (KNEE, 0.04), (KNEE, 0.3), (birds, -0.1)):
            pmx = legged()
            pmx.bones[5].ik.links[0].lower, pmx.bones[5].ik.links[0].upper = limits
            hip, foot = np.array(pmx.bones[1].position), np.array(pmx.bones[3].position)
            pmx.bones[2].position = pmx.bones[8].position = (1, 4.2, 0.158 + back)
            self.open(pmx)
            for share, fore in itertools.product((0.35, 0.5, 0.7, 0.9), (-2, -0.5, 0, 0.5, 2)):
                goal = hip + (foot - hip) * share + (0, 0, fore)
                self.pose({"左足ＩＫ": goal - foot})
                self.assert_close(self.place("左足首"), goal, 0.02, f"{back}, {share}, {fore}")

    def test_the_toe_follows_its_own_and_the_leg_the_body(self):
        self.pose({"センター": (0, -1.5, 0), "左つま先ＩＫ": (0.3, 0.5, 0)})
        self.assert_close(self.place("左足首"), (1, 0.8, 0.3), 0.02)
        toe = np.array((1.3, 0.5, -1.2)) - (1, 0.8, 0.3)
        shown = self.place("左つま先") - self.place("左足首")
        self.assertGreater(shown @ toe / np.linalg.norm(shown) / np.linalg.norm(toe), 0.9999)

    def test_d_bones_follow_legs_that_ik_bends(self):
        self.pose({"左足ＩＫ": (0.5, 3, -1)})
        for name in ("左足", "左ひざ"):
            self.assert_turned(f"{name}D", self.shown(name), 0.1)

    def test_constraints_are_those_that_users_of_mmd_tools_know(self):
        knee, foot = self.bones["左ひざ"], self.bones["左足首"]
        leg, toe = knee.constraints["IK"], foot.constraints["IK"]
        self.assertEqual((leg.target, leg.subtarget), (self.armature, "足ＩＫ.L"))
        self.assertEqual((leg.chain_count, toe.chain_count), (2, 1))
        self.assertEqual((knee.lock_ik_x, knee.lock_ik_y, knee.lock_ik_z), (False, True, True))
        self.assertTrue(knee.use_ik_limit_x)
        self.assertAlmostEqual(knee.ik_max_x, math.pi, places=5)
        bent = knee.constraints["mmd_ik_limit_override"]
        self.assertAlmostEqual(bent.min_x, 0.01, places=5)
        self.assertFalse(self.bones["左足"].use_ik_limit_x)

    def test_bones_between_links_do_not_turn(self):
        pmx = legged()
        pmx.bones[5].ik.links.pop(0)
        self.open(pmx)
        self.pose({"左足ＩＫ": (0, 0.5, -1)})
        self.assertEqual(self.bones["左ひざ"].constraints["IK"].chain_count, 2)
        self.assert_turned("左ひざ", self.shown("左足"), 0.1)
        self.assertGreater(np.abs(self.place("左足首") - (1, 0.8, 0.3)).max(), 0.5)

    def test_links_without_a_chain_in_blender_are_reported(self):
        pmx = legged()
        pmx.bones[5].ik.links[1].bone = 11
        path = self.write(pmx)
        with case.reports() as said:
            self.load(path)
        self.assertTrue(any("1 IK bone " in line and "足ＩＫ.L" in line for line in said), said)

    def test_the_first_link_points_to_the_effector(self):
        pmx = legged()
        pmx.bones[2].tail_bone, pmx.bones[2].tail_offset = None, (0, -1, 0)
        self.open(pmx)
        self.assert_close(
            self.bones["左ひざ"].bone.tail_local, self.bones["左足首"].bone.head_local
        )
        self.pose({"左足ＩＫ": (0, 2, -1)})
        self.assert_close(self.place("左足首"), (1, 2.8, -0.7), 0.02)


class Appends(Rig):
    def test_rotations_by_any_factor_and_in_a_chain(self):
        turn = Quaternion(Vector((0.3, 1, -0.5)).normalized(), 1.4)
        own = Quaternion(Vector((1, 0.2, 0.4)).normalized(), 0.6)
        values = {"センター": turn, "半分": own, "逆": own}
        self.pose(values)
        expected = self.of_mmd(values)
        for name in ("半分", "逆", "先"):
            self.assert_turned(name, expected[name], 0.05)

    def test_translations(self):
        self.pose({"センター": (1, 2, -0.5)})
        expected = self.of_mmd({"センター": (1, 2, -0.5)})["移動"]
        self.assert_close(self.shown("移動"), expected, 1e-4)

    def test_factors_above_one(self):
        pmx = legged()
        pmx.bones[13].append.ratio = -2.4
        self.open(pmx)
        turn = Quaternion(Vector((0.3, 1, -0.5)).normalized(), 0.9)
        self.pose({"センター": turn})
        self.assert_turned("先", self.of_mmd({"センター": turn})["先"], 0.05)

    def test_those_marked_local_follow_the_parents_of_their_source_too(self):
        turn = Quaternion(Vector((0.3, 1, -0.5)).normalized(), 0.9)
        own = Quaternion(Vector((1, 0.2, 0.4)).normalized(), 0.5)
        for ratio in (1.0, -0.6, 1.7):
            pmx = legged()
            pmx.bones[12].append = pmx.bones[13].append = None
            for number, parts in ((9, (True, False)), (14, (False, True)), (10, (True, True))):
                pmx.bones[number].append = pmx_file.Append(12, ratio, *parts, True)
                pmx.bones[number].parent, pmx.bones[number].layer = -1, 3
            pmx.bones[9].fixed_axis = None
            self.open(pmx)
            values = {"センター": turn, "逆": own, "左腕捩": own, "隠れ": own}
            self.pose(values)
            self.pose({"半分": (1, 2, -0.5)})
            expected = self.of_mmd({**values, "半分": (1, 2, -0.5)})
            for name in ("左腕捩", "移動", "隠れ"):
                self.assert_close(self.shown(name), expected[name], 1e-4, f"{name} {ratio}")

    def test_no_bone_depends_on_its_descendants(self):
        pmx = legged()
        pmx.bones[0].append = pmx_file.Append(13, 1.0)
        self.open(pmx)
        self.assertFalse(self.bones["センター"].constraints)


class Looks(Rig):
    def test_fixed_axes_lock_the_other_channels(self):
        twist = self.bones["左腕捩"]
        self.assertEqual(tuple(twist.lock_rotation), (True, False, True))
        along = twist.bone.matrix_local.to_3x3() @ Vector((0, 1, 0))
        self.assert_close(along, (0.8, 0, -0.6), 1e-5)

    def test_ik_bones_and_hidden_ones_have_shapes(self):
        shapes = {
            name: bone.custom_shape.name
            for name, bone in self.bones.items()
            if bone.custom_shape is not None
        }
        ik, hidden = "mmd_shape_ik", "mmd_shape_hidden"
        self.assertEqual(shapes, {"左足ＩＫ": ik, "左つま先ＩＫ": ik, "隠れ": hidden})
        count = len(bpy.data.objects)
        self.open(legged())
        self.assertEqual(len(bpy.data.objects), count + 3)  # shapes are shared


class Switches(Rig):
    def test_without_the_option_nothing_is_solved(self):
        self.open(legged(), constraints=False)
        self.assertFalse(any(bone.constraints for bone in self.bones.values()))
        along = self.bones["左腕捩"].bone.matrix_local.to_3x3() @ Vector((0, 1, 0))
        self.assert_close(along, (0, 0, -1), 1e-5)

    def test_mmd_tools_replaces_and_removes_appends(self):
        with imported.MmdTools():
            self.open(legged())
            before = {name: len(bone.constraints) for name, bone in self.bones.items()}
            scene.select(self.model.root)
            bpy.ops.mmd_tools.apply_additional_transform()
            after = {name: len(bone.constraints) for name, bone in self.bones.items()}
            self.assertEqual(after, before)
            bpy.ops.mmd_tools.clean_additional_transform()
            left = [c.name for bone in self.bones.values() for c in bone.constraints]
            self.assertEqual(sorted(left), ["IK", "IK", "mmd_ik_limit_override"])
            scene.clear()


class Dances(Rig):
    """How close Blender's IK comes to MMD's in dances: docs/measurements.md#blender-ik has the numbers."""

    def test_realize_of_luka(self):
        self.measure("巡音ルカ.pmx", "realize_motion.vmd")

    def test_wavefile_of_miku(self):
        self.measure("初音ミク.pmx", "wavefile_v2.vmd")

    def measure(self, model_name, motion_name):
        paths = [str(case.shared_model(name)) for name in (model_name, motion_name)]
        mmdskin = sys.modules["addon_package"].blender.native.load()
        model, motion = mmdskin.load_model(paths[0]), mmdskin.load_motion(paths[1])
        self.armature = self.load(paths[0], types={"ARMATURE"}).armature
        self.bones = {bone["mmd_name_j"]: bone for bone in self.armature.pose.bones}
        off = {"足首": [], "ひざ": []}
        for frame in np.linspace(0, motion.frame_range[1], 40).astype(int):
            for track in motion.bones:
                if track.name in self.bones:
                    place, turn = pose_twin.bone_at(track, frame)
                    self.put(track.name, place, turn)
            bpy.context.view_layer.update()
            expected = model.pose(motion, frame).bone_matrices
            for number, bone in enumerate(model.bones):
                if bone.name[1:] in off:
                    rest = np.append(bone.position, 1)
                    away = (self.shown(bone.name) - expected[number]) @ rest
                    off[bone.name[1:]].append(np.linalg.norm(away))
        for part, middle, most in (("足首", 0.02, 0.12), ("ひざ", 0.2, 1.0)):
            self.assertLess(np.median(off[part]), middle)
            self.assertLess(np.percentile(off[part], 95), most)
        self.assertLess(np.max(off["足首"]), 0.4)

    def put(self, name, place, turn):
        rest = np.array(self.bones[name].bone.matrix_local)[:3, :3]
        swap = np.eye(3)[[0, 2, 1]]
        matrix = rest.T @ swap @ pose_twin.matrix(turn) @ swap @ rest
        self.bones[name].location = rest.T @ swap @ place * scene.SCALE
        self.bones[name].rotation_quaternion = Matrix(matrix).to_quaternion()
