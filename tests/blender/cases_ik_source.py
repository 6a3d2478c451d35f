# SPDX-License-Identifier: GPL-3.0-or-later
"""The pose source "MMD's IK": poses and keys are solved as MMD solves a motion with these keys."""

import math
import os
import sys

import bpy
import case
import imported
import numpy as np
import scene
from cases_rig import Rig, legged
from files import motion_file, pmx_file
from judges import pose_twin
from mathutils import Quaternion

FRAMES = (0, 4, 11, 15)
BAR = 1e-4 * scene.SCALE


def addon():
    return sys.modules["addon_package"]


def dance(names, seed=5):
    """Keys of bones half a second apart, and a switch of the leg's IK in between."""
    random = np.random.default_rng(seed)
    keys = []
    for name in names:
        for frame in (0, 15):
            turn = np.append(random.uniform(-0.3, 0.3, 3), 1)
            turn = tuple(turn / np.linalg.norm(turn))
            keys.append(motion_file.BoneKey(name, frame, tuple(random.uniform(-1, 1, 3)), turn))
    switches = [(0, 1), (10, 0), (13, 1)]
    properties = [motion_file.PropertyKey(f, 1, [("左足ＩＫ", on)]) for f, on in switches]
    return motion_file.Keys("踊り", keys, [], properties=properties)


class Channels(Rig):
    """A model whose bones have the values of a motion's keys."""

    def setUp(self):
        super().setUp()
        self.open_motion(self.pmx)
        self.armature.mmdskin.source = "IK"

    def open_motion(self, pmx):
        names = [bone.name for bone in pmx.bones]
        self.motion_path = self.write(motion_file.write_vmd(dance(names)), "踊り.vmd")
        self.motion = motion_file.read(self.motion_path)

    def put(self, frame):
        """Set the bones to the sampled values of the motion at a frame, without solving."""
        for track in self.motion.bones:
            if track.name in self.bones:
                place, turn = pose_twin.bone_at(track, frame)
                self.pose({track.name: place})
                self.pose({track.name: Quaternion((turn[3], *turn[:3]))})

    def expected(self, frame, motion=True, weights=None, **options):
        """(V, 3) in Blender's axes and scale: of the motion, or of local values that `pose_from` takes."""
        mmdskin = addon().blender.native.load()
        model = mmdskin.load_model(self.path)
        if motion:
            pose = model.pose(mmdskin.load_motion(self.motion_path), frame)
        else:
            pose = model.pose_from(frame, morph_weights=weights, **options)
        return scene.in_blender(mmdskin.skin(model, pose, normals=False).positions)

    def switch(self, on):
        for bone in self.bones.values():
            for constraint in bone.constraints:
                if constraint.type == "IK" and constraint.subtarget == "足ＩＫ.L":
                    constraint.influence = on

    def assert_live(self, expected):
        shown = scene.evaluated_positions(self.model.mesh)
        self.assertEqual(case.live_errors(), [])
        self.assert_close(shown, expected, BAR)


class Live(Channels):
    def setUp(self):
        super().setUp()
        self.armature.mmdskin.preview = True

    def test_values_of_a_motion_give_its_pose(self):
        for frame in FRAMES:
            self.put(frame)
            self.switch(float(frame < 10 or frame >= 13))
            self.assert_live(self.expected(frame))

    def test_a_bone_that_is_moved_by_hand_moves_the_mesh(self):
        before = scene.evaluated_positions(self.model.mesh)
        self.pose({"左足ＩＫ": (0, 2, -1)})
        self.assertGreater(np.abs(scene.evaluated_positions(self.model.mesh) - before).max(), 0.01)
        self.assert_live(self.expected({"左足ＩＫ": ((0, 2, -1), None)}, motion=False))

    def test_other_rotation_modes_drivers_and_scaled_bones(self):
        for mode in ("XYZ", "AXIS_ANGLE"):
            self.bones["センター"].rotation_mode = mode
        self.bones["センター"].rotation_axis_angle = (0.5, 0, 1, 0)  # its y is the file's
        self.bones["左足"].scale = (2, 2, 2)
        curve = self.bones["左足ＩＫ"].driver_add("location", 0)
        curve.driver.expression = "frame * 0.01"
        bpy.context.scene.frame_set(10)
        moved = self.bones["左足ＩＫ"].bone.matrix_local.to_3x3().col[0].xzy * 0.1 / scene.SCALE
        turn = (0, -math.sin(0.25), 0, math.cos(0.25))
        given = {"センター": (None, turn), "左足ＩＫ": (tuple(moved), None)}
        self.assert_live(self.expected(given, motion=False))

    def test_a_bone_that_is_scaled_to_zero_turns_as_without_scale(self):
        self.pose({"センター": Quaternion((0.8, 0.36, 0.48, 0))})
        turned = scene.evaluated_positions(self.model.mesh)
        for scale in ((1, 1, 0), (0, 2, 1), (1e-30, 1, 1)):
            self.bones["センター"].scale = scale
            self.assert_live(turned)
        self.bones["左足"].scale = self.bones["左ひざ"].scale = (0, 0, 0)
        self.assert_live(turned)

    def test_switches_that_are_keyed(self):
        self.pose({"左足ＩＫ": (0, 2, -1)})
        constraint = self.bones["左ひざ"].constraints["IK"]
        for frame, value in ((1, 1.0), (5, 0.0)):
            constraint.influence = value
            constraint.keyframe_insert("influence", frame=frame)
        for curve in scene.curves(self.armature):
            for point in curve.keyframe_points:
                point.interpolation = "CONSTANT"
        given = {"左足ＩＫ": ((0, 2, -1), None)}
        for frame, on in ((1, True), (4, True), (5, False), (8, False), (2, True)):
            bpy.context.scene.frame_set(frame)
            self.assert_live(self.expected(given, motion=False, ik=on))
        constraint.mute = True
        self.assert_live(self.expected(given, motion=False, ik=False))

    def test_bones_that_are_turned_at_rest(self):
        scene.select(self.armature)
        bpy.ops.object.mode_set(mode="EDIT")
        for bone in self.armature.data.edit_bones:
            bone.roll += 1.0
        bpy.ops.object.mode_set(mode="OBJECT")
        self.bones = {bone["mmd_name_j"]: bone for bone in self.armature.pose.bones}
        self.put(4)
        self.assert_live(self.expected(4))

    def test_a_model_that_is_moved_turned_and_scaled(self):
        scene.transform(self.model.root, (1, 2, 3), (0.4, 0.2, 1), (2, 2, 2))
        scene.transform(self.armature, (0, 1, 0), (0, 0.3, 0))
        self.put(4)
        shown = scene.evaluated_positions(self.model.mesh)
        self.assert_close(shown, self.expected(4), BAR)

    def test_back_to_the_armature(self):
        self.pose({"左足ＩＫ": (0, 2, -1)})
        exact = scene.evaluated_positions(self.model.mesh)
        self.armature.mmdskin.source = "ARMATURE"
        near = scene.evaluated_positions(self.model.mesh)
        self.assertGreater(np.abs(near - exact).max(), 0)
        self.assertLess(np.abs(near - exact).max(), 0.05)
        self.armature.mmdskin.source = "IK"
        self.assert_live(scene.evaluated_positions(self.model.mesh))
        self.assert_close(scene.evaluated_positions(self.model.mesh), exact, 0)

    def test_without_constraints(self):
        self.armature.mmdskin.preview = False
        self.open(legged(), constraints=False)
        self.armature.mmdskin.source = "IK"
        self.armature.mmdskin.preview = True
        self.put(4)
        self.assert_live(self.expected(4))


class Calls(Channels):
    """Times vary on shared machines; calls from one module of the add-on into another do not."""

    def test_a_live_frame_passes_few_modules(self):
        self.armature.mmdskin.preview = True
        for source, most in (("ARMATURE", 16), ("IK", 23)):
            with self.subTest(source):
                self.armature.mmdskin.source = source
                self.assertLessEqual(self.passed(), most)

    def passed(self):
        preview, calls = addon().preview.driver_function, []

        def profile(frame, event, _):
            files = [one.f_code.co_filename for one in (frame, frame.f_back)]
            if event == "call" and files[0] != files[1] and files[0].startswith(folder):
                calls.append(files[0])

        folder = os.path.dirname(addon().__file__)
        for _ in range(2):  # the second one finds all read
            depsgraph = bpy.context.evaluated_depsgraph_get()
            mesh = self.model.mesh.data.evaluated_get(depsgraph)
            for ready in preview.live_of(mesh).copies.values():
                getattr(ready.opened, "_last", {}).clear()  # as if the pose was another
            calls.clear()
            sys.setprofile(profile)
            try:
                self.assertEqual(preview.evaluate(mesh, depsgraph), 1)
            finally:
                sys.setprofile(None)
        return len(calls)


class Morphs(Channels):
    """Sliders of bone morphs, alone and in a group: they are not in the bones' channels."""

    def setUp(self):
        super().setUp()
        self.pmx.morphs += [
            pmx_file.Morph(
                "のび", kind=2, indices=np.array([0]), values=np.float32([[0, 2, 0, 0, 0, 0, 1]])
            ),
            pmx_file.Morph(
                "まとめ", kind=0, indices=np.array([0, 1]), values=np.float32([[0.5], [1]])
            ),
        ]
        self.open(self.pmx)
        self.armature.mmdskin.source = "IK"
        self.armature.mmdskin.preview = True

    def test_a_group_moves_bones(self):
        self.model.mesh.data.shape_keys.key_blocks["まとめ"].value = 0.5
        self.assert_live(self.expected({}, motion=False, weights=[0, 0, 0.5]))

    def test_a_bone_morph_moves_bones(self):
        for value in (0.75, 0.25):
            self.armature["のび"] = value
            self.armature.update_tag()
            self.assert_live(self.expected({}, motion=False, weights=[0, value, 0]))


class TwoMeshes(Morphs):
    """Each has the shape keys; a slider that is set on one of them moves the bones of both."""

    def setUp(self):
        super().setUp()
        first = self.model.mesh
        self.armature.mmdskin.preview = False
        second = first.copy()
        second.data = first.data.copy()
        bpy.context.collection.objects.link(second)
        self.meshes = first, second
        self.armature.mmdskin.preview = True

    def of_morph(self, value, shown):
        """With the bones of the group at a value, and its vertices at another one."""
        mmdskin = addon().blender.native.load()
        model = mmdskin.load_model(self.path)
        pose = model.pose_from({}, morph_weights=[0, 0, value])
        of_vertices = model.pose_from({}, morph_weights=[0, 0, shown]).morph_weights
        found = mmdskin.skin(model, pose.bone_matrices, of_vertices, normals=False)
        return scene.in_blender(found.positions)

    def assert_shown(self, value, *shown):
        for mesh, own in zip(self.meshes, shown, strict=True):
            positions = scene.evaluated_positions(mesh)
            self.assert_close(positions, self.of_morph(value, own), BAR)
        self.assertEqual(case.live_errors(), [])

    def test_either_moves_both(self):
        sliders = [mesh.data.shape_keys.key_blocks["まとめ"] for mesh in self.meshes]
        for values in ((0.5, 0), (0, 0.5), (0.25, 0.5), (0, -0.5), (0, 0)):
            with self.subTest(values):
                for slider, value in zip(sliders, values, strict=True):
                    slider.slider_min = -1
                    slider.value = value
                farthest = max(values, key=abs)
                self.assert_shown(farthest, *values)
                bpy.ops.mmdskin.bake(target="SHAPE_KEYS", range="CURRENT")
                self.assert_shown(farthest, *values)
                bpy.ops.mmdskin.clear_bake()

    def test_either_may_be_deleted(self):
        """Blender 3.4 crashes where a driver refers to shape keys that are gone with their mesh."""
        scene.select(self.armature)
        bpy.ops.mmdskin.show_pose()
        self.assert_shown(0, 0, 0)
        other = self.meshes[1]
        self.meshes = self.meshes[:1]
        slider = self.meshes[0].data.shape_keys.key_blocks["まとめ"]
        bpy.data.objects.remove(other)
        for value in (0.5, 0.25):
            slider.value = value
            self.assert_shown(value, value)
        bpy.data.meshes.remove(next(mesh for mesh in bpy.data.meshes if not mesh.users))
        for value in (0.5, 0.25):
            slider.value = value
            self.assert_shown(value, value)

    def test_show_pose_on_bones_and_exports_take_the_same(self):
        self.meshes[0].data.shape_keys.key_blocks["まとめ"].value = 0.5
        scene.select(self.armature)
        bpy.ops.mmdskin.show_pose()
        display = addon().attach.display_armature.find(self.armature)
        bpy.context.view_layer.update()
        shown = display.evaluated_get(bpy.context.evaluated_depsgraph_get())
        moved = shown.pose.bones[1].matrix.translation - shown.pose.bones[1].bone.head_local
        self.assertGreater(moved.length, 0.01)
        path = os.path.join(self.folder, "姿勢.vpd")
        bpy.ops.mmdskin.export_pose(filepath=path)
        pose = addon().blender.native.load().load_motion(path)
        weights = {track.name: track.weights[0] for track in pose.morphs}
        self.assertAlmostEqual(weights["まとめ"], 0.5, places=5)


class Baked(Channels):
    def test_shape_keys_and_caches_of_keyed_poses(self):
        for frame in FRAMES:
            self.put(frame)
            self.switch(float(frame < 10 or frame >= 13))
            for bone in self.bones.values():
                bone.keyframe_insert("location", frame=frame)
                bone.keyframe_insert("rotation_quaternion", frame=frame)
                for constraint in bone.constraints:
                    constraint.keyframe_insert("influence", frame=frame)
        scene.select(self.model.mesh)
        for target in ("SHAPE_KEYS", "MESH_CACHE"):
            bpy.ops.mmdskin.bake(
                target=target, range="CUSTOM", frame_start=0, frame_end=15, folder=self.folder
            )
            for frame in FRAMES:
                bpy.context.scene.frame_set(frame)
                shown = scene.evaluated_positions(self.model.mesh)
                self.assert_close(shown, self.expected(frame), BAR)
            bpy.ops.mmdskin.clear_bake()


class Problems(imported.Case):
    def test_a_model_without_its_file(self):
        model = scene.Scene(case.small_model())
        model.armature.mmdskin.source = "IK"
        with self.assertRaisesRegex(RuntimeError, "choose its .pmx or .pmd"):
            bpy.ops.mmdskin.bake()
        self.assertFalse(addon().preview.switch.is_on(model.armature))


class OfMmdTools(Channels):
    """The same on models imported with mmd_tools: bones with local axes, its helper bones, its keys."""

    def setUp(self):
        tools = imported.MmdTools()
        tools.__enter__()
        self.addCleanup(tools.__exit__)
        self.addCleanup(scene.clear)
        super().setUp()

    def open(self, pmx, **options):
        pmx.materials = [pmx_file.Material("肌", index_count=pmx.triangles.size)]
        pmx.bones[1].local_axes = ((0, -1, 0), (0.2, 0, -1))
        self.path = self.write(pmx)
        bpy.ops.mmd_tools.import_model(filepath=self.path, clean_model=False)
        self.model = imported.Imported(bpy.context.view_layer.objects.active)
        self.armature = self.model.armature
        self.armature.mmdskin.model_path = self.path
        self.bones = {
            bone.mmd_bone.name_j: bone
            for bone in self.armature.pose.bones
            if not bone.is_mmd_shadow_bone
        }

    def test_its_own_import_of_a_motion(self):
        self.assertIn("_dummy_足D.L", [bone.name for bone in self.armature.pose.bones])
        scene.select(self.armature)
        self.armature.mmdskin.preview = True
        bpy.ops.mmd_tools.import_vmd(
            filepath=self.motion_path,
            directory=self.folder,
            files=[{"name": "踊り.vmd"}],
            margin=0,
        )
        for frame in (0, 15):
            bpy.context.scene.frame_set(frame + 1)
            self.assert_live(self.expected(frame))

    def test_its_switches(self):
        self.armature.mmdskin.preview = True
        goal = self.bones["左足ＩＫ"]
        self.pose({"左足ＩＫ": (0, 2, -1)})
        given = {"左足ＩＫ": ((0, 2, -1), None)}
        for on in (True, False, True):
            goal.mmd_ik_toggle = on
            self.assert_live(self.expected(given, motion=False, ik=on))
        for frame, on in ((1, True), (5, False)):
            goal.mmd_ik_toggle = on
            goal.keyframe_insert("mmd_ik_toggle", frame=frame)
        for frame, on in ((1, True), (6, False), (2, True)):
            bpy.context.scene.frame_set(frame)
            self.assert_live(self.expected(given, motion=False, ik=on))
