# SPDX-License-Identifier: GPL-3.0-or-later
"""A model exported by each exporter and imported into an empty scene is at the same place."""

import json

import bpy
import case
import scene
from exported import FRAMES, Exported, farthest, in_world, read_fbx


class Frame(Exported):
    """A bake of the current frame as shape keys."""

    KEY = "MMD 0001"

    def setUp(self):
        super().setUp()
        self.bake("SHAPE_KEYS", False)
        self.note([1])

    def assert_keys_survive(self, path):
        obj = self.read(path)
        keys = obj.data.shape_keys.key_blocks
        self.assertEqual({key.name: key.value for key in keys[1:] if key.value}, {self.KEY: 1.0})
        self.assert_as_shown(obj)
        keys[self.KEY].value = 0
        self.assertGreater(farthest(in_world(obj), self.shown[1]), 0.01)

    def test_gltf(self):
        self.assert_keys_survive(self.export("GLTF"))

    def test_fbx(self):
        self.assert_keys_survive(self.export("FBX"))

    def test_fbx_as_blender_exports_it_by_default(self):
        path = str(self.folder / "default.fbx")
        scene.select(self.mesh)
        bpy.ops.export_scene.fbx(filepath=path, use_selection=True)
        self.assert_keys_survive(path)

    def test_usd(self):
        self.assert_survives("USD")

    def test_alembic(self):
        self.assert_survives("ALEMBIC")


class Keys(Exported):
    """A bake of a range as shape keys."""

    def setUp(self):
        super().setUp()
        self.animate()
        self.bake("SHAPE_KEYS", True)
        self.note(FRAMES)

    def test_gltf(self):
        self.assert_survives("GLTF")

    def test_fbx(self):
        self.assert_survives("FBX")

    def test_usd(self):
        self.assert_survives("USD")

    def test_alembic(self):
        self.assert_survives("ALEMBIC")


class Cache(Exported):
    """A bake of a range as a mesh cache."""

    def setUp(self):
        super().setUp()
        self.animate()
        self.bake("MESH_CACHE", True)
        self.note(FRAMES)

    def test_usd(self):
        self.assert_survives("USD")

    def test_alembic(self):
        self.assert_survives("ALEMBIC")


class Corrective(Exported):
    """Keyed and driven corrective keys are exported with their armature."""

    def survive(self, form, corrective):
        self.animate()
        self.bake("CORRECTIVE", True, corrective=corrective)
        self.note(FRAMES)
        if form == "GLTF" and corrective == "DRIVEN":
            self.need_scenes_in_gltf()
        self.assert_survives(form)

    def need_scenes_in_gltf(self):
        """Before 3.6 the exporter sees keyframes only, so the export is rejected."""
        if bpy.app.version < (3, 6):
            self.assert_refused(
                "needs keyframes on both the corrective keys and the armature", "x.glb"
            )
            self.skipTest("glTF of this Blender holds keyed corrective keys only")

    def test_keyed_by_gltf(self):
        self.survive("GLTF", "KEYED")

    def test_keyed_by_fbx(self):
        self.survive("FBX", "KEYED")

    def test_keyed_by_usd(self):
        self.survive("USD", "KEYED")

    def test_keyed_by_alembic(self):
        self.survive("ALEMBIC", "KEYED")

    def test_driven_by_gltf(self):
        self.survive("GLTF", "DRIVEN")

    def test_driven_by_fbx(self):
        self.survive("FBX", "DRIVEN")

    def test_driven_by_alembic(self):
        self.survive("ALEMBIC", "DRIVEN")

    def part_elbow_from_arm(self):
        """Then they are siblings, whose keys need a property with drivers."""
        scene.select(self.scene.armature)
        bpy.ops.object.mode_set(mode="EDIT")
        bones = self.scene.armature.data.edit_bones
        bones["ひじ.L"].parent = bones["センター"]
        bpy.ops.object.mode_set(mode="OBJECT")
        scene.select(self.mesh)

    def test_driven_by_siblings_by_gltf(self):
        self.part_elbow_from_arm()
        self.survive("GLTF", "DRIVEN")

    def test_driven_by_siblings_by_fbx(self):
        self.part_elbow_from_arm()
        self.survive("FBX", "DRIVEN")

    def survive_posed(self, form):
        self.bake("CORRECTIVE", False)
        self.note([1])
        if form == "GLTF":
            self.need_scenes_in_gltf()
        self.assert_survives(form)

    def test_a_pose_by_gltf(self):
        self.survive_posed("GLTF")

    def test_a_pose_by_fbx(self):
        self.survive_posed("FBX")

    def test_a_pose_by_usd(self):
        self.survive_posed("USD")


class Live(Exported):
    """A live model is exported point by point, without a bake."""

    def setUp(self):
        super().setUp()
        self.animate()
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = FRAMES[0], FRAMES[-1]
        bpy.ops.mmdskin.preview(action="ENABLE")
        self.note(FRAMES)

    def test_usd(self):
        self.assert_survives("USD")

    def test_alembic(self):
        self.assert_survives("ALEMBIC")


class Moved(Exported):
    """If the root of a model is animated, the imported model moves, too."""

    def setUp(self):
        super().setUp()
        self.animate()
        for frame in (FRAMES[0], FRAMES[-1]):
            self.scene.root.location.x = frame
            self.scene.root.keyframe_insert("location", frame=frame)

    def survive(self, form, target="SHAPE_KEYS"):
        self.bake(target, True)
        self.note(FRAMES)
        self.assert_survives(form)

    def test_gltf(self):
        self.survive("GLTF")

    def test_fbx(self):
        self.survive("FBX")

    def test_usd(self):
        self.survive("USD")

    def test_alembic(self):
        self.survive("ALEMBIC", "MESH_CACHE")


class Frames(Exported):
    """Only the range of the bake is compared, however long the model and others move."""

    def setUp(self):
        super().setUp()
        self.animate()
        other = scene.Scene(case.small_model(), "second").armature
        for bone in (*self.scene.armature.pose.bones, *other.pose.bones):
            for frame in (-50, 200):
                bone.keyframe_insert("rotation_quaternion", frame=frame)
        self.other = other.animation_data.action
        self.other.use_frame_range = True
        self.other.frame_start, self.other.frame_end = -20, -10
        bpy.context.scene.frame_end = 200
        bpy.context.scene.frame_set(FRAMES[0])
        scene.select(self.mesh)
        self.frames = []
        bpy.app.handlers.frame_change_post.append(self.look)
        self.addCleanup(bpy.app.handlers.frame_change_post.remove, self.look)

    def look(self, looked_at, *_):
        self.frames.append(looked_at.frame_current)

    def assert_bake_is_looked_at(self, form, target="SHAPE_KEYS"):
        self.bake(target, True, corrective="KEYED")
        self.frames.clear()
        path = self.export(form)
        self.assertLessEqual({*self.frames}, {0, *FRAMES})  # glTF begins at 0, whatever it takes
        self.assertLess(len(self.frames), 2 * len(FRAMES))
        return path

    def test_gltf(self):
        self.assert_bake_is_looked_at("GLTF")

    def test_gltf_with_the_armature(self):
        path = self.assert_bake_is_looked_at("GLTF", "CORRECTIVE")
        with open(path, "rb") as file:
            self.assertNotIn(f'"{self.other.name}"'.encode(), file.read())

    def test_fbx(self):
        self.assert_bake_is_looked_at("FBX")

    def test_fbx_with_the_armature(self):
        self.assert_bake_is_looked_at("FBX", "CORRECTIVE")

    def test_usd(self):
        self.assert_bake_is_looked_at("USD")

    def test_alembic(self):
        self.assert_bake_is_looked_at("ALEMBIC")


class Scenes(Exported):
    """The other objects of the scene do not matter and do not change."""

    def setUp(self):
        super().setUp()
        self.bake("CORRECTIVE", False)
        self.note([1])

    def test_only_the_model_is_exported(self):
        scene.Scene(case.small_model(), "second")
        cup = bpy.data.objects.new("cup", bpy.data.meshes.new("cup"))
        bpy.context.scene.collection.objects.link(cup)
        scene.select(self.scene.root)
        cup.select_set(True)
        self.assert_survives("FBX")

    def test_all_models(self):
        scene.pose(scene.Scene(case.small_model(), "second"))
        self.bake("CORRECTIVE", False)
        path = self.export("FBX", all_models=True)
        scene.clear()
        read_fbx(self, path)
        names = sorted(obj.name for obj in bpy.data.objects if obj.type == "MESH")
        self.assertEqual(names, ["model_mesh", "second_mesh"])

    def test_from_pose_mode(self):
        scene.select(self.scene.armature)
        bpy.ops.object.mode_set(mode="POSE")
        self.assert_survives("FBX")

    def test_from_pose_mode_beside_an_armature_in_object_mode(self):
        other = scene.Scene(case.small_model(), "second")
        scene.select(self.scene.armature)
        bpy.ops.object.mode_set(mode="POSE")
        other.armature.select_set(True)
        self.assert_survives("FBX")

    def test_objects_hidden_in_renders(self):
        self.mesh.hide_render = True
        self.assert_survives("USD")

    def test_objects_hidden_in_renders_by_alembic(self):
        self.mesh.hide_render = True
        self.assert_survives("ALEMBIC")

    def test_objects_that_are_not_selected(self):
        with bpy.context.temp_override(selected_objects=[]):
            self.assert_survives("FBX")

    def test_gltf_as_a_file_with_others_beside_it(self):
        if bpy.app.version < (3, 6):
            self.skipTest("glTF of this Blender holds keyed corrective keys only")
        neighbor = self.folder / "baked.glb"
        neighbor.write_bytes(b"another")
        path = self.folder / "baked.gltf"
        self.assertEqual(bpy.ops.mmdskin.export(filepath=str(path)), {"FINISHED"})
        self.assertEqual(json.loads(path.read_text("utf-8"))["asset"]["version"], "2.0")
        self.assertEqual(neighbor.read_bytes(), b"another")

    def test_a_model_that_needs_no_corrective_keys(self):
        bpy.ops.mmdskin.clear_bake()
        for bone in self.scene.armature.pose.bones:
            bone.matrix_basis.identity()
        bpy.context.view_layer.update()
        self.bake("CORRECTIVE", False)
        self.note([1])
        self.assert_survives("FBX")

    def test_from_weight_paint(self):
        bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
        self.assert_survives("FBX")

    def test_a_hidden_armature(self):
        self.scene.armature.hide_set(True)
        self.scene.armature.hide_select = True
        self.assert_survives("FBX")

    def test_an_armature_that_is_off_in_viewports(self):
        self.scene.armature.hide_viewport = True
        self.assert_survives("FBX")

    def test_values_that_were_changed_without_a_keyframe_stay(self):
        bone = self.scene.armature.pose.bones[1]
        bone.keyframe_insert("location", frame=1)
        bone.location.x = 0.25
        bpy.context.view_layer.update()
        self.export("FBX")
        self.assertEqual(bone.location.x, 0.25)

    def test_modifiers_that_shape_keys_do_not_allow_are_reported(self):
        self.mesh.modifiers.new("smooth", "SUBSURF")
        with case.reports() as said:
            self.export("FBX")
        self.assertIn("skipped smooth of 'model_mesh'", "".join(said))

    def test_the_ending_of_another_format_gives_way(self):
        bpy.ops.mmdskin.export(filepath=str(self.folder / "x.glb"), format="FBX")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["x.fbx"])
