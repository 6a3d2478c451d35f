# SPDX-License-Identifier: GPL-3.0-or-later
"""Attach to Bone: objects follow bones of the pose that the mesh shows, whatever its source.

The judge is the mesh itself: a vertex of one bone (BDEF1) moves rigidly with it.
"""

import os
import shutil
from types import SimpleNamespace
from unittest import mock

import bpy
import numpy as np
import scene
from cases_motion import MotionCase, addon, dance
from cases_panel import Layout
from files import motion_file
from keyed_physics import HAIR, Keyed
from mathutils import Vector

FRAMES = (0, 12, 7.5, 3)  # forwards, between frames and backwards
BAR = 1e-4 * scene.SCALE  # 1e-4 model units
BONES = ("腕.R", "ひざ.R")


class Attached(MotionCase):
    def setUp(self):
        super().setUp()
        pmx = self.scene.pmx
        keys = dance(pmx)
        keys.morphs.clear()  # vertices follow their bone only
        self.motion_path = self.write("踊り.vmd", motion_file.write_vmd(keys))
        self.single = {
            name: next(
                i
                for i in range(len(pmx.positions))
                if pmx.deform[i] == 0
                and pmx.bone_indices[i, 0] == self.scene.bone_names.index(name)
            )
            for name in BONES
        }
        self.settings = self.armature.mmdskin
        self.settings.model_path = self.model_path

    def play_motion(self):
        self.settings.motion_path, self.settings.motion_start = self.motion_path, 0
        self.settings.source = "MOTION"
        self.settings.preview = True
        bpy.context.scene.frame_set(0)

    def vertex(self, bone):
        shown = scene.evaluated_positions(self.mesh)[self.single[bone]]
        return self.mesh.matrix_world @ Vector(shown)

    def attach(self, bone, *objects):
        scene.select(self.mesh)
        for obj in objects:
            obj.select_set(True)
        self.assertEqual(bpy.ops.mmdskin.attach(bone=bone), {"FINISHED"})

    def prop(self, bone):
        """An empty at the vertex as shown, attached to its bone."""
        obj = new_empty("prop")
        obj.location = self.vertex(bone)
        obj.rotation_euler = (0.3, 0.2, 0.1)
        bpy.context.view_layer.update()
        before = obj.matrix_world.copy()
        self.attach(bone, obj)
        bpy.context.view_layer.update()
        self.assert_close(np.array(place(obj)), np.array(before), BAR)  # the offset is kept
        return obj

    def save(self):
        path = self.folder.name + "/saved.blend"
        bpy.ops.wm.save_as_mainfile(filepath=path)
        return path

    def open_again(self):
        bpy.ops.wm.open_mainfile(filepath=self.save())
        self.mesh = bpy.data.objects["model_mesh"]

    def bring_all(self, link):
        """Save the file, and link or append its objects into an empty one."""
        path = self.save()
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        with bpy.data.libraries.load(path, link=link) as (of_file, loaded):
            loaded.objects = list(of_file.objects)
        for obj in loaded.objects:
            bpy.context.scene.collection.objects.link(obj)
        bpy.context.view_layer.update()
        self.mesh = bpy.data.objects["model_mesh"]

    def assert_follows(self, objects, frames=FRAMES):
        seen = []
        for frame in frames:
            bpy.context.scene.frame_set(int(frame), subframe=frame % 1)
            for bone, obj in objects.items():
                expected = np.array(self.vertex(bone))
                self.assert_close(np.array(place(obj).translation), expected, BAR)
                seen.append(expected)
        moved = np.ptp(np.array(seen).reshape(len(frames), len(objects), 3), axis=0).max(axis=1)
        self.assertGreater(moved.min(), 100 * BAR)


def new_empty(name):
    obj = bpy.data.objects.new(name, None)
    bpy.context.scene.collection.objects.link(obj)
    return obj


def place(obj):
    return obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world


class InRestPosition(Attached):
    def assert_rests(self):
        """The armature's Rest Position, without a change of the frame, and back."""
        prop = self.prop(BONES[0])
        danced, at = scene.evaluated_positions(self.mesh), np.array(place(prop))
        rest = scene.in_blender(self.scene.pmx.positions)
        self.assertGreater(np.abs(danced - rest).max(), 0.1)
        self.armature.data.pose_position = "REST"
        self.assert_close(scene.evaluated_positions(self.mesh), rest, BAR)
        self.assert_close(np.array(place(prop))[:3, 3], np.array(self.vertex(BONES[0])), BAR)
        self.armature.data.pose_position = "POSE"
        self.assert_close(scene.evaluated_positions(self.mesh), danced, BAR)
        self.assert_close(np.array(place(prop)), at, BAR)

    def test_of_a_motion_file(self):
        self.play_motion()
        self.assert_rests()

    def test_of_mmds_ik(self):
        self.settings.source = "IK"
        self.settings.preview = True
        self.armature.pose.bones[BONES[0]].rotation_quaternion = 0.8, 0.6, 0, 0
        self.assert_rests()

    def test_bakes_do_not_look_at_it(self):
        self.play_motion()
        for source in ("MOTION", "IK"):
            self.settings.source = source
            self.armature.pose.bones[BONES[0]].rotation_quaternion = 0.8, 0.6, 0, 0
            self.armature.data.pose_position = "POSE"
            bpy.context.scene.frame_set(3)
            danced = scene.evaluated_positions(self.mesh)
            self.armature.data.pose_position = "REST"
            rest = scene.evaluated_positions(self.mesh)
            self.assertGreater(np.abs(danced - rest).max(), 0.1)
            scene.select(self.mesh)
            frames = {"range": "CUSTOM", "frame_start": 3, "frame_end": 4}
            self.assertEqual(bpy.ops.mmdskin.bake(target="SHAPE_KEYS", **frames), {"FINISHED"})
            self.assert_close(scene.evaluated_positions(self.mesh), danced, BAR)
            self.assertEqual(bpy.ops.mmdskin.clear_bake(), {"FINISHED"})

    def test_a_prop_follows_a_bake_and_then_the_live_mesh(self):
        self.play_motion()
        prop = self.prop(BONES[0])
        scene.select(self.mesh)
        frames = {"range": "CUSTOM", "frame_start": 3, "frame_end": 4}
        self.assertEqual(bpy.ops.mmdskin.bake(target="SHAPE_KEYS", **frames), {"FINISHED"})
        bpy.context.scene.frame_set(3)
        self.armature.data.pose_position = "REST"
        for danced in (True, False):
            bpy.context.view_layer.update()
            rest = scene.in_blender(self.scene.pmx.positions)
            moved = np.abs(scene.evaluated_positions(self.mesh) - rest).max()
            self.assertEqual(moved > 0.1, danced)
            self.assert_close(np.array(place(prop))[:3, 3], np.array(self.vertex(BONES[0])), BAR)
            if danced:
                self.assertEqual(bpy.ops.mmdskin.clear_bake(), {"FINISHED"})

    def test_drivers_are_not_built_again_and_again(self):
        """With a window, each of them would cause another evaluation."""
        self.play_motion()
        self.armature.data.pose_position = "REST"
        bpy.context.view_layer.update()
        with mock.patch.object(addon().preview.switch, "wait_for") as built:
            for frame in (1, 2):
                bpy.context.scene.frame_set(frame)
        built.assert_not_called()

    def test_of_a_motion_file_in_a_file_of_an_earlier_version(self):
        """Whose drivers do not wait for it, until the first frame."""
        self.play_motion()
        driver = addon().preview.switch.driver_of(self.mesh.data).driver
        driver.variables.remove(driver.variables["rest"])
        self.open_again()
        self.armature, self.settings = self.mesh.find_armature(), self.mesh.find_armature().mmdskin
        bpy.context.scene.frame_set(1)
        bpy.context.view_layer.update()
        self.assert_rests()


class Follows(Attached):
    def test_a_motion_file(self):
        self.play_motion()
        self.assert_follows({bone: self.prop(bone) for bone in BONES})

    def test_mmds_ik(self):
        self.settings.source = "IK"
        self.settings.preview = True
        goal = self.armature.pose.bones["足ＩＫ.R"]
        arm = self.armature.pose.bones["腕.R"]
        for frame, height in ((0, 0.0), (12, 0.25)):
            goal.location.z = goal.location.y = height
            goal.keyframe_insert("location", frame=frame)
            arm.rotation_mode, arm.rotation_euler = "XYZ", (height, 2 * height, 0)
            arm.keyframe_insert("rotation_euler", frame=frame)
        bpy.context.scene.frame_set(0)
        self.assert_follows({bone: self.prop(bone) for bone in BONES})

    def test_the_armature(self):
        arm = self.armature.pose.bones["腕.R"]
        arm.rotation_mode = "XYZ"
        for frame in (0, 12):
            arm.rotation_euler = (0.1 * frame, 0.05 * frame, 0)
            arm.keyframe_insert("rotation_euler", frame=frame)
        self.assert_follows({"腕.R": self.prop("腕.R")})


class Changes(Attached):
    """What is shown changes after attaching."""

    def test_the_pose_source(self):
        prop = self.prop("腕.R")
        self.play_motion()
        self.assert_follows({"腕.R": prop})
        self.settings.preview = False
        self.armature.pose.bones["腕.R"].location.y = 0.1
        bpy.context.view_layer.update()
        self.assert_close(np.array(place(prop).translation), np.array(self.vertex("腕.R")), BAR)

    def test_the_model_moves(self):
        self.play_motion()
        prop = self.prop("腕.R")
        self.scene.root.location = (1, 2, 3)
        self.scene.root.rotation_euler = (0.1, 0.2, 0.3)
        self.assert_follows({"腕.R": prop})

    def test_the_collection_is_not_in_the_scene_for_a_while(self):
        self.play_motion()
        prop, everything = self.prop("腕.R"), bpy.context.scene.collection
        collection = bpy.data.collections.new("model")
        everything.children.link(collection)
        for obj in [one for one in everything.objects if one != prop]:
            everything.objects.unlink(obj)
            collection.objects.link(obj)
        bpy.context.view_layer.update()
        everything.children.unlink(collection)
        for _ in range(2):
            bpy.context.view_layer.update()
        everything.children.link(collection)
        bpy.context.view_layer.update()
        self.assert_follows({"腕.R": prop})

    def test_bones_are_renamed(self):
        self.play_motion()
        prop = self.prop("腕.R")
        self.armature.pose.bones["腕.R"]["mmd_name_j"] = "右腕"
        self.armature.pose.bones["腕.R"].name = "Arm"
        self.scene.bone_names[self.scene.bone_names.index("腕.R")] = "Arm"
        bpy.context.view_layer.update()
        self.assert_follows({"腕.R": prop})

    def test_a_bake(self):
        self.play_motion()
        prop = self.prop("腕.R")
        scene.select(self.mesh)
        done = bpy.ops.mmdskin.bake(
            target="MESH_CACHE",
            range="CUSTOM",
            frame_start=0,
            frame_end=12,
            folder=self.folder.name,
        )
        self.assertEqual(done, {"FINISHED"})
        self.assert_follows({"腕.R": prop}, frames=(0, 12, 3))

    def test_saved_and_loaded(self):
        self.play_motion()
        self.prop("腕.R")
        self.open_again()
        self.assert_follows({"腕.R": bpy.data.objects["prop"]})

    def test_appended(self):
        self.play_motion()
        self.prop("腕.R")
        self.bring_all(link=False)
        self.assert_follows({"腕.R": bpy.data.objects["prop"]})

    def test_linked_as_the_armature(self):
        """Blender does not write poses of bones to linked data, even in evaluated copies."""
        arm = self.armature.pose.bones["腕.R"]
        for frame in (0, 12):
            arm.location.y = 0.05 * frame
            arm.keyframe_insert("location", frame=frame)
        self.play_motion()
        self.prop("腕.R")
        armature = self.armature.name
        self.bring_all(link=True)
        places = []
        for frame in (0, 12):
            bpy.context.scene.frame_set(frame)
            bone = bpy.data.objects[armature].evaluated_get(bpy.context.evaluated_depsgraph_get())
            head = bone.matrix_world @ bone.pose.bones["腕.R"].head
            places.append(np.array(place(bpy.data.objects["prop"]).translation - head))
        # The arm does not rotate.
        self.assert_close(places[1], places[0], BAR)

    def test_to_a_linked_model(self):
        self.play_motion()
        self.bring_all(link=True)
        bpy.context.scene.frame_set(0)
        self.assert_follows({bone: self.prop(bone) for bone in BONES})

    def test_to_a_linked_model_with_attachments_of_its_own(self):
        """Those follow its armature; here, objects follow what the link shows."""
        self.play_motion()
        self.prop(BONES[0]).name = "of the library"
        self.bring_all(link=True)
        bpy.context.scene.frame_set(0)
        self.assert_follows({bone: self.prop(bone) for bone in BONES})
        scene.select(self.mesh)
        self.assertEqual(bpy.ops.mmdskin.show_pose(), {"FINISHED"})
        self.assert_follows({BONES[1]: self.prop(BONES[1])})

    def test_to_a_linked_model_whose_library_is_missing_for_a_while(self):
        self.play_motion()
        self.bring_all(link=True)
        bpy.context.scene.frame_set(0)
        names = {bone: self.prop(bone).name for bone in BONES}
        shot = os.path.join(self.folder.name, "shot.blend")
        bpy.ops.wm.save_as_mainfile(filepath=shot)
        library = os.path.join(self.folder.name, "saved.blend")
        away = shutil.move(library, f"{library}.away")
        with mock.patch.object(addon().blender.details, "log") as logged:
            bpy.ops.wm.open_mainfile(filepath=shot)
            bpy.context.scene.frame_set(3)
        logged.assert_not_called()
        bpy.ops.wm.save_mainfile()
        shutil.move(away, library)
        bpy.ops.wm.open_mainfile(filepath=shot)
        self.mesh = bpy.data.objects["model_mesh"]
        self.assert_follows({bone: bpy.data.objects[name] for bone, name in names.items()})


class Detach(Attached):
    def test_puts_back(self):
        self.play_motion()
        before = {data.name for data in bpy.data.armatures}
        obj = new_empty("prop")
        obj.location = (1, 2, 3)
        bpy.context.view_layer.update()
        matrix = np.array(obj.matrix_world)
        self.attach("腕.R", obj)
        bpy.context.scene.frame_set(12)
        self.assertGreater(np.abs(np.array(place(obj)) - matrix).max(), 0.01)
        scene.select(obj)
        self.assertEqual(bpy.ops.mmdskin.detach(), {"FINISHED"})
        bpy.context.view_layer.update()
        self.assert_close(np.array(place(obj)), matrix, 0)
        self.assertEqual({data.name for data in bpy.data.armatures}, before)

    def test_others_on_the_bone_stay(self):
        self.play_motion()
        props = [self.prop("腕.R"), self.prop("腕.R"), self.prop("ひざ.R")]
        for gone in (props[0], props[2]):
            scene.select(gone)
            bpy.ops.mmdskin.detach()
        self.assert_follows({"腕.R": props[1]})
        bones = next(o for o in bpy.data.objects if o.name.endswith("_pose")).pose.bones
        self.assertEqual(bones.keys(), ["MMD Skin", "腕.R"])


class Operator(Attached):
    def test_makes_an_empty_at_the_bone(self):
        self.play_motion()
        bpy.context.scene.frame_set(3)
        self.attach("腕.R")
        empty = bpy.data.objects["腕.R"]
        model, motion = self.loaded()
        number = self.scene.bone_names.index("腕.R")
        frame = 3 * 30 / bpy.context.scene.render.fps
        matrix = model.pose(motion, [frame]).bone_matrices[0, number]
        head = matrix[:3, :3] @ model.bones[number].position + matrix[:3, 3]
        expected = scene.in_blender(np.array([head]))[0]
        self.assert_close(np.array(place(empty).translation), expected, BAR)

    def test_snaps_to_the_bone_and_returns(self):
        """A prop with a scale, a parent and a constraint of its own."""
        self.play_motion()
        bpy.context.scene.frame_set(3)
        self.attach("腕.R")  # what an empty shows is compared with the file by another test
        empty = bpy.data.objects["腕.R"]
        parent, prop = map(new_empty, ("parent", "prop"))
        parent.location, parent.rotation_euler = (3, 1, 2), (0.2, 0.4, 1)
        prop.parent, prop.location, prop.scale = parent, (1, 2, 3), (2, 2, 2)
        prop.constraints.new("COPY_ROTATION").target = parent
        bpy.context.view_layer.update()
        before = place(prop)
        scene.select(self.mesh)
        prop.select_set(True)
        self.assertEqual(bpy.ops.mmdskin.attach(bone="腕.R", snap=True), {"FINISHED"})
        for frame in (3, 9):
            bpy.context.scene.frame_set(frame)
            expected = np.array(place(empty)) @ np.diag([2, 2, 2, 1])
            self.assert_close(np.array(place(prop)), expected, BAR)
        scene.select(prop)
        bpy.ops.mmdskin.detach()
        bpy.context.view_layer.update()
        self.assert_close(np.array(place(prop)), np.array(before), BAR)

    def test_keeps_mode_and_selection(self):
        prop = new_empty("prop")
        scene.select(self.armature)
        bpy.ops.object.mode_set(mode="POSE")
        prop.select_set(True)
        self.armature.data.bones.active = self.armature.data.bones["腕.R"]
        self.assertEqual(bpy.ops.mmdskin.attach(), {"FINISHED"})
        self.assertEqual((self.armature.mode, bpy.context.active_object), ("POSE", self.armature))
        self.assertEqual(set(bpy.context.selected_objects), {self.armature, prop})
        self.assertEqual([c.target.parent for c in prop.constraints], [self.armature])

    def test_the_dialog_says_what_will_follow(self):
        for names, text in (
            ((), "A new empty will follow the bone"),
            (("prop",), "'prop' will follow the bone"),
            (("prop", "hat"), "2 objects will follow the bone"),
        ):
            scene.select(self.mesh)
            for name in names:
                obj = bpy.data.objects.get(name) or new_empty(name)
                obj.select_set(True)
            drawn = []
            owner = SimpleNamespace(layout=Layout(drawn), bone="", snap=False)
            bpy.types.MMDSKIN_OT_attach.draw(owner, bpy.context)
            self.assertEqual(drawn, [text, *[".snap"] * bool(names), ".bone"])

    def test_refuses_and_changes_nothing(self):
        child = new_empty("child")
        child.parent = self.armature
        scene.select(self.mesh)
        child.select_set(True)
        before = set(bpy.data.objects)
        for options, words in (({"bone": "腕.R"}, "is a child of"), ({"bone": "x"}, "has no bone")):
            with self.assertRaisesRegex(RuntimeError, words):
                bpy.ops.mmdskin.attach(**options)
        self.assertEqual(set(bpy.data.objects), before)
        self.assertEqual(len(child.constraints), 0)


class Physics(Keyed):
    """Hair that a simulation moves; its last vertices follow only one bone each."""

    def test_simulated_bones(self):
        self.settings.preview = True
        self.simulate()
        self.shown(0)
        attached = {}
        for vertex, bone in zip((-2, -1), HAIR, strict=True):
            scene.select(self.mesh)
            attached[vertex] = new_empty(bone)
            attached[vertex].location = self.vertex(vertex)
            attached[vertex].select_set(True)
            bpy.ops.mmdskin.attach(bone=bone)
        for frame in (11, 4.5, 15, 0):
            self.shown(frame)
            for vertex, obj in attached.items():
                self.assert_close(np.array(place(obj).translation), self.vertex(vertex), BAR)
        self.assertGreater(np.abs(self.expected(11) - self.expected(11, physics=False)).max(), BAR)

    def vertex(self, number):
        point = Vector(scene.evaluated_positions(self.mesh)[number])
        return np.array(self.mesh.matrix_world @ point)
