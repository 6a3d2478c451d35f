# SPDX-License-Identifier: GPL-3.0-or-later
"""Importing as a user meets it: options, textures, several files, broken files, undo."""

import os
import struct
import sys
from unittest import mock

import bpy
import case
import imported
import numpy as np
import scene
from files import pmx_file


class Options(imported.Case):
    def test_scale(self):
        pmx = case.small_model()
        model = self.load(self.write(pmx), scale=1.0)
        positions = imported.read(model.mesh.data.vertices, "co", 3)
        self.assert_close(positions, pmx.positions[:, [0, 2, 1]])
        self.assert_close(model.armature.data.bones["手首.L"].head_local, (8, 0, 10))
        self.assertEqual(model.root["mmd_scale"], 1.0)

    def test_armature_alone(self):
        model = self.load(self.write(case.small_model()), types={"ARMATURE"})
        self.assertIsNone(model.mesh)
        self.assertEqual(len(model.armature.data.bones), 4)
        self.assertFalse({"mmd_morphs", "mmd_joints"} & set(model.root.keys()))

    def test_mesh_alone(self):
        model = self.load(self.write(case.small_model()), types={"MESH"})
        self.assertEqual(len(model.armature.data.bones), 0)
        self.assertNotIn("ふくらみ", model.mesh.data.shape_keys.key_blocks)

    def test_parts_include_what_they_need(self):
        model = self.load(self.write(case.small_model()), types={"MORPHS"})
        self.assertIn("ふくらみ", model.mesh.data.shape_keys.key_blocks)
        self.assertEqual(len(model.armature.data.bones), 4)

    def test_active_collection_that_is_excluded(self):
        collection = bpy.data.collections.new("off")
        bpy.context.scene.collection.children.link(collection)
        layer = bpy.context.view_layer.layer_collection.children["off"]
        bpy.context.view_layer.active_layer_collection = layer
        layer.exclude = True
        model = self.load(self.write(case.small_model()))
        self.assertEqual(model.armature.users_collection, (bpy.context.scene.collection,))

    def test_twice(self):
        path = self.write(case.small_model())
        first, second = self.load(path), self.load(path)
        self.assertNotEqual(first.root, second.root)
        self.assertNotEqual(first.mesh.data, second.mesh.data)
        self.assertEqual(second.mesh.modifiers[0].object, second.armature)
        self.assertEqual(second.root.name, "見本.001")

    def test_several_files(self):
        for name in ("一.pmx", "二.pmx"):
            self.write(case.small_model(), name)
        bpy.ops.mmdskin.import_model(
            directory=self.folder, files=[{"name": "一.pmx"}, {"name": "二.pmx"}]
        )
        self.assertLessEqual({"一", "二"}, {obj.name for obj in bpy.data.objects})

    def test_broken_files_do_not_stop_the_others(self):
        self.write(case.small_model(), "一.pmx")
        self.write(b"Pmx nothing", "二.pmx")
        files = [{"name": name} for name in ("二.pmx", "無い.pmx", "一.pmx")]
        with case.reports() as said:
            result = bpy.ops.mmdskin.import_model(directory=self.folder, files=files)
        self.assertEqual(result, {"FINISHED"})
        self.assertIn("一", bpy.data.objects)
        self.assertNotIn("二", bpy.data.objects)
        self.assertEqual(len(said), 3, said)
        self.assertTrue(said[0].startswith("Warning: '二.pmx' cannot be read: "), said)
        self.assertTrue(said[1].startswith("Warning: '無い.pmx' cannot be opened: "), said)
        self.assertEqual(said[2], "Info: Imported 1 model")

    def test_only_broken_files_give_an_error_that_names_each(self):
        self.write(b"Pmx nothing", "二.pmx")
        files = [{"name": name} for name in ("二.pmx", "無い.pmx")]
        with self.assertRaisesRegex(
            RuntimeError, r"(?s)'二.pmx' cannot be read: .*'無い.pmx' cannot be"
        ):
            bpy.ops.mmdskin.import_model(directory=self.folder, files=files)

    def test_undo(self):
        path = self.write(case.small_model())
        bpy.ops.ed.undo_push(message="before")
        before = imported.everything()
        bpy.ops.mmdskin.import_model("EXEC_DEFAULT", True, filepath=path)
        self.assertNotEqual(imported.everything(), before)
        bpy.ops.ed.undo()
        self.assertEqual(imported.everything(), before)


class Refused(imported.Case):
    """One sentence, and nothing of the model remains."""

    def assert_refused(self, words, path):
        before = imported.everything()
        with self.assertRaisesRegex(RuntimeError, words):
            bpy.ops.mmdskin.import_model(filepath=path)
        self.assertEqual(imported.everything(), before)
        self.assertEqual(bpy.context.mode, "OBJECT")

    def test_cut_file(self):
        data = pmx_file.write(case.small_model())
        words = r"'見本.pmx' cannot be read: joints: .* \(byte \d+\)"
        self.assert_refused(words, self.write(data[:-9]))

    def test_file_of_another_kind(self):
        self.assert_refused("not a PMX or PMD file", self.write(b"PNG" * 50))

    def test_missing_file(self):
        path = os.path.join(self.folder, "無い.pmx")
        self.assert_refused("'無い.pmx' cannot be opened: No such file", path)

    def test_no_file(self):
        kinds = (
            (bpy.ops.mmdskin.import_model, r"\(.pmx, .pmd\)"),
            (bpy.ops.mmdskin.import_motion, r"\(.vmd, .vpd\)"),
        )
        for operator, endings in kinds:
            with self.assertRaisesRegex(RuntimeError, f"No file selected: .* {endings}"):
                operator()

    def test_no_parts(self):
        with self.assertRaisesRegex(RuntimeError, "at least one part"):
            bpy.ops.mmdskin.import_model(filepath=self.write(case.small_model()), types=set())

    def test_failure_half_way(self):
        path = self.write(case.small_model())
        import_model = sys.modules["addon_package"].import_model
        for module, name in (
            (import_model.build.armature, "_lock"),
            (import_model.build.armature, "_roll"),
            (import_model.build.mesh, "add_morphs"),
            (import_model.build, "_describe"),
        ):
            with mock.patch.object(module, name, side_effect=MemoryError("on purpose")):
                self.assert_refused("on purpose", path)
        before = self.load(path).root
        with mock.patch.object(
            import_model.build.mesh, "add_weights", side_effect=KeyError("on purpose")
        ):
            self.assert_refused("on purpose", path)
        objects = bpy.context.view_layer.objects
        self.assertEqual((objects.active, objects.selected[:]), (before, [before]))

    def test_native_module_missing(self):
        addon = sys.modules["addon_package"]
        missing = addon.blender.user_error.UserError("It is missing")
        with mock.patch.object(addon.blender.native, "load", side_effect=missing):
            self.assert_refused("It is missing", self.write(case.small_model()))

    def test_edit_mode(self):
        model = self.load(self.write(case.small_model()))
        bpy.context.view_layer.objects.active = model.mesh
        bpy.ops.object.mode_set(mode="EDIT")
        with self.assertRaisesRegex(RuntimeError, "Switch to Object Mode"):
            bpy.ops.mmdskin.import_model(filepath=self.write(case.small_model()))
        bpy.ops.object.mode_set(mode="OBJECT")


class UnusualModels(imported.Case):
    def test_nothing_at_all(self):
        model = self.load(self.write(pmx_file.PMX(name="空")))
        self.assertEqual(len(model.mesh.data.vertices), 0)

    def test_no_bones(self):
        pmx = case.small_model()
        pmx.bones, pmx.bone_indices[:] = [], -1
        model = self.load(self.write(pmx))
        names = [group.name for group in model.mesh.vertex_groups]
        self.assertEqual(names, ["mmd_edge_scale", "mmd_vertex_order"])

    def test_no_faces(self):
        pmx = case.small_model()
        pmx.triangles = pmx.triangles[:0]
        model = self.load(self.write(pmx))
        self.assertEqual(len(model.mesh.data.vertices), len(pmx.positions))

    def test_points_and_lines(self):
        pmx = case.small_model()
        pmx.triangles[0], pmx.triangles[5] = (3, 3, 3), (7, 8, 7)
        pmx.materials = [
            pmx_file.Material("一", index_count=6),
            pmx_file.Material("二", index_count=pmx.triangles.size - 6),
        ]
        model = self.load(self.write(pmx))
        corners = imported.read(model.mesh.data.loops, "vertex_index", 1, np.int32)
        expected = np.delete(pmx.triangles, [0, 5], axis=0)[:, ::-1]
        np.testing.assert_array_equal(corners.reshape(-1, 3), expected)
        numbers = imported.read(model.mesh.data.polygons, "material_index", 1, np.int32)
        np.testing.assert_array_equal(numbers, np.arange(len(expected)) >= 1)

    def test_triangles_on_another_of_their_material_are_left_out(self):
        pmx = case.small_model()
        count = len(pmx.triangles)
        first = pmx.triangles[0].copy()
        pmx.triangles[1], pmx.triangles[2], pmx.triangles[-1] = first[::-1], first[[1, 2, 0]], first
        pmx.materials = [
            pmx_file.Material("一", index_count=3 * count - 3),
            pmx_file.Material("二", index_count=3),
        ]
        model = self.load(self.write(pmx))
        corners = imported.read(model.mesh.data.loops, "vertex_index", 1, np.int32).reshape(-1, 3)
        expected = np.delete(pmx.triangles, [1, 2], axis=0)[:, ::-1]
        self.assertEqual(corners.tolist(), expected.tolist())
        numbers = imported.read(model.mesh.data.polygons, "material_index", 1, np.int32)
        self.assertEqual(numbers.tolist(), [0] * (count - 3) + [1])
        self.assertTrue(np.isfinite(model.normals()).all())

    def test_counts_that_do_not_add_up(self):
        for count, last in ((30, 1), (30000, 0)):
            pmx = case.small_model()
            pmx.materials = [pmx_file.Material("一", index_count=count), pmx_file.Material("二")]
            model = self.load(self.write(pmx))
            numbers = imported.read(model.mesh.data.polygons, "material_index", 1, np.int32)
            self.assertEqual((numbers[0], numbers[-1]), (0, last))

    def test_parents_in_a_circle(self):
        pmx = case.small_model()
        pmx.bones[0].parent = 3
        self.assertEqual(len(self.load(self.write(pmx)).armature.data.bones), 4)

    def test_bones_out_of_this_world(self):
        """Numbers of files are at most 1e10."""
        pmx = case.small_model()
        pmx.bones[1].position, pmx.bones[3].position = (0, 2e38, 0), (0, 0, -1e30)
        model = self.load(self.write(pmx))
        self.assertEqual(len(model.armature.data.bones), 4)
        self.assertAlmostEqual(model.armature.pose.bones["腕.L"]["mmd_position"][1], 1e10)

    def test_two_thousand_bones(self):
        pmx = case.small_model()
        pmx.bones = [
            pmx_file.Bone("左骨", position=(0, 0.1 * i, 0), parent=i - 1) for i in range(2000)
        ]
        bones = self.load(self.write(pmx)).armature.pose.bones
        self.assertEqual(sorted(bone["mmd_bone_id"] for bone in bones), list(range(2000)))

    def test_a_hundred_thousand_vertices(self):
        count, numbers = 100_000, np.random.default_rng(4)
        pmx = case.small_model()
        pmx.positions = numbers.random((count, 3)).astype(np.float32)
        pmx.normals = pmx.positions.copy()
        pmx.uvs, pmx.edge_scales = pmx.positions[:, :2], np.ones(count, np.float32)
        pmx.additional_uvs = np.zeros((count, 0, 4), np.float32)
        pmx.deform = np.zeros(count, np.uint8)
        pmx.bone_indices = np.tile(np.array([0, -1, -1, -1], np.int32), (count, 1))
        pmx.bone_weights = np.tile(np.array([1, 0, 0, 0], np.float32), (count, 1))
        pmx.triangles = numbers.permutation(count - 1).astype(np.int32).reshape(-1, 3)
        model = self.load(self.write(pmx))
        self.assertEqual(len(model.mesh.data.vertices), count)


class Materials(imported.Case):
    def setUp(self):
        super().setUp()
        self.pmx = case.small_model()
        os.mkdir(os.path.join(self.folder, "Tex"))
        self.record = pmx_file.Material(
            "肌",
            "skin",
            diffuse=(0.5, 0.25, 1.0, 0.5),
            specular=(0.1, 0.2, 0.3),
            specular_power=7.0,
            ambient=(0.1, 0.9, 0.0),
            flags=0x1E,
            edge_color=(0.1, 0.2, 0.3, 0.4),
            edge_size=1.5,
            texture=0,
            sphere_texture=1,
            sphere_mode=2,
            shared_toon=True,
            toon=4,
            memo="メモ",
            index_count=self.pmx.triangles.size,
        )
        self.pmx.materials = [self.record]

    def image(self, name, kind="PNG", pixel=(1, 0, 0, 1)):
        image = bpy.data.images.new("made", 4, 4, alpha=True)
        image.pixels = pixel * 16
        image.filepath_raw, image.file_format = os.path.join(self.folder, name), kind
        image.save()
        bpy.data.images.remove(image)

    def material(self, *textures, **options):
        self.pmx.textures = list(textures)
        model = self.load(self.write(self.pmx), **options)
        return model.mesh.data.materials[0]

    def inputs(self, material):
        shader = next(n for n in material.node_tree.nodes if n.type == "BSDF_PRINCIPLED")
        return shader.inputs

    def test_everything_of_the_record_is_kept(self):
        material = self.material("Tex\\肌.png", "髪.spa")
        expected = {
            "name_j": "肌",
            "name_e": "skin",
            "material_id": 0,
            "texture": "Tex\\肌.png",
            "sphere_texture": "髪.spa",
            "sphere_mode": "add",
            "shared_toon": True,
            "toon": 4,
            "memo": "メモ",
            "flags": 0x1E,
            "index_count": self.record.index_count,
        }
        for name, value in expected.items():
            self.assertEqual(material[f"mmd_{name}"], value, name)
        for name in ("diffuse", "specular", "specular_power", "ambient", "edge_color", "edge_size"):
            self.assert_close(material[f"mmd_{name}"], getattr(self.record, name))

    def test_double_sided(self):
        self.assertTrue(self.material().use_backface_culling)
        self.record.flags |= 1
        self.assertFalse(self.material().use_backface_culling)

    def test_color_without_texture(self):
        self.record.texture = -1
        material = self.material()
        # 0.5 * 154 / 255 + 0.1, then from sRGB to linear; green is more than white.
        red = ((0.5 * 154 / 255 + 0.1 + 0.055) / 1.055) ** 2.4
        inputs = self.inputs(material)
        self.assert_close(inputs["Base Color"].default_value[:2], (red, 1.0), 1e-4)
        self.assertAlmostEqual(inputs["Alpha"].default_value, 0.5)
        self.assertFalse(inputs["Base Color"].is_linked)

    def test_color_in_the_viewport_has_the_alpha_of_the_file(self):
        for alpha in (0.875, 0.0):
            self.record.diffuse = (*self.record.diffuse[:3], alpha)
            self.assertAlmostEqual(self.material().diffuse_color[3], alpha)

    def test_texture_with_either_slash_and_any_case(self):
        self.image("Tex/肌.PNG")
        for path in ("tex\\肌.png", "Tex/肌.PNG", ".\\TEX\\肌.Png"):
            material = self.material(path)
            node = self.inputs(material)["Base Color"].links[0].from_node
            self.assertEqual(tuple(node.image.size), (4, 4), path)
            self.assertTrue(self.inputs(material)["Alpha"].is_linked)

    def test_formats(self):
        self.image("a.bmp", "BMP")
        self.image("a.tga", "TARGA")
        self.image("a.jpg", "JPEG")
        with open(os.path.join(self.folder, "a.dds"), "wb") as file:
            file.write(dds())
        for name in ("a.bmp", "a.tga", "a.jpg", "a.dds"):
            node = self.inputs(self.material(name))["Base Color"].links[0].from_node
            self.assertEqual(tuple(node.image.size), (4, 4), name)

    def test_the_same_texture_is_loaded_once(self):
        self.image("a.png")
        half = self.pmx.triangles.size // 2
        self.record.index_count = half
        self.pmx.materials.append(pmx_file.Material("二", texture=0, index_count=half))
        self.material("a.png")
        names = [image.name for image in bpy.data.images]
        self.assertEqual([name for name in names if not name.startswith("toon")], ["a.png"])

    def test_missing_texture(self):
        with case.reports() as said:
            material = self.material("tex/無い.png")
        self.assertEqual(said[0], "Warning: 見本.pmx: 1 texture is missing: tex/無い.png")
        node = self.inputs(material)["Base Color"].links[0].from_node
        self.assertIn("無い.png", node.image.filepath)

    def test_texture_that_is_not_an_image(self):
        with open(os.path.join(self.folder, "a.png"), "w", encoding="utf-8") as file:
            file.write("not an image")
        with case.reports() as said:
            self.material("a.png")
        words = "Texture 'a.png' is not an image that Blender can read"
        self.assertEqual(said[0], f"Warning: 見本.pmx: {words}")

    def test_pack(self):
        self.image("a.png")
        self.assertIsNone(self.texture(self.material("a.png")).packed_file)
        bpy.data.images.remove(bpy.data.images[0])
        self.assertIsNotNone(self.texture(self.material("a.png", pack_textures=True)).packed_file)

    def test_an_import_that_fails_leaves_images_unpacked(self):
        self.image("a.png")
        image = self.texture(self.material("a.png"))
        build = sys.modules["addon_package"].import_model.build
        broken = mock.patch.object(build, "_describe", side_effect=OSError)
        with broken, self.assertRaises(RuntimeError):
            self.material("a.png", pack_textures=True)
        self.assertIsNone(image.packed_file)

    def texture(self, material):
        return self.inputs(material)["Base Color"].links[0].from_node.image


class AgainstMmdTools(imported.Case):
    """The same files imported by mmd_tools."""

    MODELS = ("初音ミク.pmx", "巡音ルカ_sdefr.pmx", "mmt_test_model.pmx")

    def test_rest_matrices_weights_and_keys(self):
        paths = [case.shared_model(name) for name in self.MODELS]
        with imported.MmdTools():
            for path in paths:
                scene.clear()
                ours = self.load(path)
                bpy.ops.mmd_tools.import_model(filepath=str(path), clean_model=False)
                theirs = imported.Imported(bpy.context.view_layer.objects.active)
                self.compare(ours, theirs)
                self.assertTrue(all(bone.mmd_bone.name_j for bone in ours.armature.pose.bones))
            scene.clear()

    def compare(self, ours, theirs):
        bones = theirs.armature.data.bones
        for bone in ours.armature.data.bones:
            self.assert_close(bone.matrix_local, bones[bone.name].matrix_local)
        groups, expected = ours.weights(), theirs.weights()
        self.assertEqual(list(groups), list(expected)[: len(groups)])
        for name, group in groups.items():
            self.assertEqual(group.keys(), expected[name].keys())
            self.assert_close([group[v] for v in group], [expected[name][v] for v in group])
        for key in theirs.mesh.data.shape_keys.key_blocks if theirs.mesh.data.shape_keys else ():
            self.assert_close(ours.key(key.name), theirs.key(key.name))


def dds():
    """A picture of 4 by 4 pixels, uncompressed BGRA."""
    header = struct.pack("<4s7I44x", b"DDS ", 124, 0x100F, 4, 4, 16, 0, 0)
    form = struct.pack("<8I", 32, 0x41, 0, 32, 0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    return header + form + struct.pack("<5I", 0x1000, 0, 0, 0, 0) + b"\x00\x00\xff\xff" * 16
