# SPDX-License-Identifier: GPL-3.0-or-later
"""An imported model equals its file: mesh, weights, keys, bones, and all data that is only stored."""

import os
import sys

import bpy
import case
import imported
import numpy as np
import scene
from files import pmd_file, pmx_file

FREE, LOCKED = (False,) * 3, (True,) * 3


class Mesh(imported.Case):
    def setUp(self):
        super().setUp()
        self.pmx = case.small_model()
        count = len(self.pmx.positions)
        numbers = np.random.default_rng(3)
        self.pmx.uvs = numbers.random((count, 2)).astype(np.float32)
        self.pmx.additional_uvs = numbers.random((count, 2, 4)).astype(np.float32)
        self.pmx.additional_uvs[:, 1, 2:] = 0
        self.pmx.normals = self.pmx.normals + numbers.normal(0, 0.2, (count, 3))
        self.pmx.edge_scales = np.linspace(0, 1, count).round(1).astype(np.float32)
        self.pmx.materials = [
            pmx_file.Material("肌", index_count=300),
            pmx_file.Material("服", index_count=3 * len(self.pmx.triangles) - 300),
        ]
        self.model = self.load(self.write(self.pmx))
        self.data = self.model.mesh.data

    def test_objects_are_laid_out_as_by_mmd_tools(self):
        root, armature, mesh = self.model.root, self.model.armature, self.model.mesh
        self.assertEqual((root.name, armature.name, mesh.name), ("見本", "見本_arm", "見本_mesh"))
        self.assertEqual(scene.KINDS["ROOT"], root["mmd_type"])
        self.assertEqual((root["mmd_name_j"], mesh.parent), ("小さい", armature))
        path = os.path.normpath(bpy.path.abspath(armature.mmdskin.model_path))
        self.assertTrue(os.path.isabs(path) and os.path.samefile(path, self.write(self.pmx)))
        modifier = mesh.modifiers[0]
        self.assertEqual((modifier.name, modifier.object), ("mmd_armature", armature))

    def test_vertices_and_triangles(self):
        positions = imported.read(self.data.vertices, "co", 3)
        self.assert_close(positions, scene.in_blender(self.pmx.positions))
        corners = imported.read(self.data.loops, "vertex_index", 1, np.int32)
        np.testing.assert_array_equal(corners.reshape(-1, 3), self.pmx.triangles[:, ::-1])
        self.assertTrue(imported.read(self.data.polygons, "use_smooth", 1, bool).all())

    def test_materials_by_index_count(self):
        numbers = imported.read(self.data.polygons, "material_index", 1, np.int32)
        np.testing.assert_array_equal(numbers, np.arange(len(numbers)) >= 100)
        self.assertEqual([m.name for m in self.data.materials], ["肌", "服"])

    def test_uv_maps(self):
        corners = self.pmx.triangles[:, ::-1].ravel()
        extra = self.pmx.additional_uvs
        expected = {"UVMap": self.pmx.uvs, "UV1": extra[:, 0, :2], "UV2": extra[:, 1, :2]}
        expected["_UV1"] = extra[:, 0, 2:]
        self.assertEqual([layer.name for layer in self.data.uv_layers], list(expected))
        for name, uvs in expected.items():
            stored = imported.read(self.data.uv_layers[name].data, "uv", 2)
            self.assert_close(stored, (uvs * (1, -1) + (0, 1))[corners])
        self.assertTrue(self.data.uv_layers["UVMap"].active_render)

    def test_normals(self):
        corners = self.pmx.triangles[:, ::-1].ravel()
        # Blender stores custom normals as two 16-bit angles.
        expected = imported.expected_normals(self.pmx)[corners]
        self.assert_close(self.model.normals(), expected, 5e-3)

    def test_helper_groups(self):
        groups = self.model.weights()
        count = len(self.pmx.positions)
        order = np.zeros(count)
        order[list(groups["mmd_vertex_order"])] = list(groups["mmd_vertex_order"].values())
        self.assert_close(order, np.arange(count) / count)
        edge = np.zeros(count)
        edge[list(groups["mmd_edge_scale"])] = list(groups["mmd_edge_scale"].values())
        self.assert_close(edge, self.pmx.edge_scales)

    def test_weights_and_deform_types(self):
        names = ["センター", "腕.L", "ひじ.L", "手首.L"]
        groups = self.model.weights()
        self.assertEqual(list(groups)[:4], names)
        for name, expected in imported.expected_weights(self.pmx, names).items():
            self.assertEqual(groups[name].keys(), expected.keys())
            self.assert_close([groups[name][v] for v in expected], list(expected.values()))
        deform = imported.read(self.data.attributes["mmd_deform"].data, "value", 1, np.int32)
        np.testing.assert_array_equal(deform, self.pmx.deform)
        self.assertNotIn("mmd_weight_1", self.data.attributes)

    def test_sdef_keys(self):
        rest = scene.in_blender(self.pmx.positions)
        chosen = self.pmx.deform == scene.SDEF
        # Every pair of this model has the higher bone first: R0 and R1 change places.
        for column, name in ((0, "mmd_sdef_c"), (2, "mmd_sdef_r0"), (1, "mmd_sdef_r1")):
            key = self.data.shape_keys.key_blocks[name]
            self.assertEqual((key.value, key.mute), (0, True))
            points = scene.in_blender(self.pmx.sdef[:, column])
            self.assert_close(self.model.key(name), np.where(chosen[:, None], points, rest))

    def test_bake_equals_the_file_after_vertex_groups_were_sorted(self):
        """Then the bones of most SDEF pairs have groups in the other order."""
        before = [group.name for group in self.model.mesh.vertex_groups]
        with bpy.context.temp_override(object=self.model.mesh, active_object=self.model.mesh):
            bpy.ops.object.vertex_group_sort(sort_type="NAME")
        after = [group.name for group in self.model.mesh.vertex_groups]
        names = ["センター", "腕.L", "ひじ.L", "手首.L"]
        for bones in np.unique(self.pmx.bone_indices[self.pmx.deform == scene.SDEF, :2], axis=0):
            pair = [names[bone] for bone in bones]
            self.assertNotEqual(*(sorted(pair, key=order.index) for order in (before, after)))
        self.test_bake_equals_the_file()

    def test_bake_equals_the_file(self):
        armature = self.model.armature
        names = [bone.name for bone in armature.pose.bones]
        posed = type("Posed", (), {"armature": armature, "pmx": self.pmx, "bone_names": names})
        scene.pose(posed)
        matrices = scene.Scene.bake_inputs(posed)
        mmdskin = sys.modules["addon_package"].blender.native.load()
        model = mmdskin.load_model(pmx_file.write(self.pmx))
        expected = scene.in_blender(mmdskin.skin(model, matrices).positions)
        bpy.ops.mmdskin.bake()
        self.assert_close(scene.evaluated_positions(self.model.mesh), expected, 1e-5)


class UnusualWeights(imported.Case):
    def test_weights_that_groups_cannot_hold(self):
        pmx = case.small_model()
        pmx.deform[:] = pmx_file.BDEF4
        pmx.bone_indices[:], pmx.bone_weights[:] = (0, 1, 2, -1), (0.5, 0.5, 0, 0)
        pmx.bone_indices[0], pmx.bone_weights[0] = (1, 1, 2, 3), (0.25, 0.25, 0.4, 0.1)
        pmx.bone_weights[1] = (1.5, -0.5, 0, 0)
        model = self.load(self.write(pmx))
        groups = model.weights()
        self.assertAlmostEqual(groups["腕.L"][0], 0.5)
        self.assertEqual(groups["センター"][1], 1.0)
        self.assertNotIn(1, groups["腕.L"])
        attributes = model.mesh.data.attributes
        for slot in range(4):
            weights = imported.read(attributes[f"mmd_weight_{slot + 1}"].data, "value", 1)
            self.assert_close(weights, pmx.bone_weights[:, slot])
            bones = imported.read(attributes[f"mmd_group_{slot + 1}"].data, "value", 1, np.int32)
            np.testing.assert_array_equal(bones, pmx.bone_indices[:, slot])
        model.mesh.vertex_groups.clear()  # they still have numbers of groups
        mesh_source = sys.modules["addon_package"].scene.mesh_source
        self.assertEqual(mesh_source.read(model.mesh, model.armature).bones, ())


class Morphs(imported.Case):
    def setUp(self):
        super().setUp()
        self.pmx = case.small_model()
        self.offsets = np.array([(0.1, 0.2, 0.3), (1, 0, 0)], np.float32)

    def vertex(self, name, *indices):
        indices = np.array(indices, np.int32)
        return pmx_file.Morph(name, kind=1, indices=indices, values=self.offsets[: len(indices)])

    def moved(self, model, name):
        return (model.key(name) - model.key(None)) / scene.SCALE

    def test_vertex_morphs(self):
        # One of them moves a vertex twice: offsets add up.
        self.pmx.morphs = [self.vertex("あ", 5, 7), self.vertex("い", 9, 9)]
        model = self.load(self.write(self.pmx))
        expected = np.zeros((len(self.pmx.positions), 3))
        expected[[5, 7]] = self.offsets[:, [0, 2, 1]]
        self.assert_close(self.moved(model, "あ"), expected, 1e-5)
        expected[:] = 0
        expected[9] = self.offsets.sum(0)[[0, 2, 1]]
        self.assert_close(self.moved(model, "い"), expected, 1e-5)
        self.assertEqual({k.value for k in model.mesh.data.shape_keys.key_blocks[1:]}, {0.0})

    def test_groups_become_sums_of_their_morphs(self):
        group = pmx_file.Morph(
            "笑い",
            kind=0,
            indices=np.array([0, 1, 3], np.int32),
            values=np.array([[0.5], [-2.0], [1.0]], np.float32),
        )
        nested = pmx_file.Morph(
            "二重",
            kind=0,
            indices=np.array([2], np.int32),
            values=np.array([[1.0]], np.float32),
        )
        self.pmx.morphs = [self.vertex("あ", 5), self.vertex("い", 6), group, nested]
        model = self.load(self.write(self.pmx))
        expected = 0.5 * self.moved(model, "あ") - 2 * self.moved(model, "い")
        self.assert_close(self.moved(model, "笑い"), expected, 1e-5)
        # MMD ignores groups inside of groups.
        self.assertNotIn("二重", model.mesh.data.shape_keys.key_blocks)
        self.assertEqual([m["key"] for m in model.root["mmd_morphs"]], ["あ", "い", "笑い", ""])

    def test_names(self):
        long = "長" * 30
        names = ["あ", "あ", long, long, "Basis", "", "mmd_sdef_c"]
        self.pmx.morphs = [self.vertex(name, 5) for name in names]
        model = self.load(self.write(self.pmx))
        morphs = [morph.to_dict() for morph in model.root["mmd_morphs"]]
        self.assertEqual([morph["name"] for morph in morphs], names)
        keys = [morph["key"] for morph in morphs]
        expected = ["あ", "あ.001", "長" * 21, "長" * 19 + ".001", "Basis.001", "Morph"]
        self.assertEqual(keys, [*expected, "mmd_sdef_c.001"])
        blocks = model.mesh.data.shape_keys.key_blocks
        self.assertEqual([key.name for key in blocks[4:]], keys)

    def test_other_morphs_are_kept(self):
        numbers = np.random.default_rng(1)
        for kind, columns in enumerate(pmx_file.MORPH_COLUMNS):
            if pmx_file.MORPH_KINDS[kind] == "vertex":
                continue
            values = numbers.random((1, columns)).astype(np.float32)
            if pmx_file.MORPH_KINDS[kind] in ("material", "impulse"):
                values[0, 0] = 1
            name = pmx_file.MORPH_KINDS[kind]
            self.pmx.morphs.append(
                pmx_file.Morph(name, "e", 2, kind, np.zeros(1, np.int32), values)
            )
        self.pmx.version = 2.1
        self.pmx.materials = [pmx_file.Material("材", index_count=self.pmx.triangles.size)]
        model = self.load(self.write(self.pmx))
        for stored, morph in zip(model.root["mmd_morphs"], self.pmx.morphs, strict=True):
            self.assertEqual(
                (stored["name"], stored["kind"]), (morph.name, pmx_file.MORPH_KINDS[morph.kind])
            )
            if pmx_file.MORPH_KINDS[morph.kind] not in ("vertex", "bone"):
                self.assert_close(stored["values"].to_list(), np.ravel(morph.values))


class Bones(imported.Case):
    def setUp(self):
        super().setUp()
        self.pmx = case.small_model()
        extra = [
            pmx_file.Bone("左手首先", position=(9, 10, 1), parent=3, flags=0),
            pmx_file.Bone("右親指１", position=(-3, 9, 0), parent=0, tail_offset=(-1, -1, 0.5)),
            pmx_file.Bone("軸", position=(0, 5, 0), fixed_axis=(1, 1, 0), flags=0x1A),
            pmx_file.Bone("斜め", position=(0, 6, 0), tail_offset=(0, 1, 0.2)),
            pmx_file.Bone("足ＩＫ", position=(8, 10, 0), layer=1),
            pmx_file.Bone("付与", "append", position=(1, 2, 3), layer=-1, after_physics=True),
            pmx_file.Bone("左腕", position=(2, 2, 2), tail_bone=0, tail_offset=None),
        ]
        extra[3].local_axes = ((1, 0.1, 0), (0, 0, -1))
        links = [pmx_file.IKLink(2, (-3, 0, 0), (-0.01, 0, 0)), pmx_file.IKLink(1)]
        extra[4].ik = pmx_file.IK(3, 40, 2.0, links)
        extra[5].append = pmx_file.Append(1, -0.5, True, True, False)
        extra[5].external_parent = 7
        self.pmx.bones += extra
        self.pmx.display_frames = [
            pmx_file.DisplayFrame("Root", "Root", True, [(0, 0)]),
            pmx_file.DisplayFrame("表情", "Exp", True, [(1, 0)]),
            pmx_file.DisplayFrame("腕", "arm", False, [(0, 1), (0, 2), (0, 0)]),
        ]
        self.model = self.load(self.write(self.pmx))
        self.bones = {bone["mmd_bone_id"]: bone for bone in self.model.armature.pose.bones}

    def test_names_and_numbers(self):
        names = ["センター", "腕.L", "ひじ.L", "手首.L", "手首先.L", "親指１.R", "軸", "斜め"]
        names += ["足ＩＫ", "付与", "腕.001.L"]
        self.assertEqual([self.bones[i].name for i in range(len(self.bones))], names)
        for number, record in enumerate(self.pmx.bones):
            bone = self.bones[number]
            self.assertEqual(bone["mmd_name_j"], record.name)
            parent = bone.parent["mmd_bone_id"] if bone.parent else -1
            self.assertEqual(parent, record.parent)

    def test_rest_matrices(self):
        for number, bone in self.bones.items():
            expected = imported.rest_matrix(self.pmx, number)
            self.assert_rest(bone.bone, expected)

    def test_links_without_length_look_at_the_next(self):
        self.assert_close(self.bones[1].bone.tail_local, self.bones[2].bone.head_local)

    def test_locks_and_visibility(self):
        tip, wrist, twist = self.bones[4], self.bones[3], self.bones[6]
        hidden = [getattr(bone, "hide", bone.bone.hide) for bone in (tip, wrist)]
        self.assertEqual(hidden, [True, False])
        self.assertEqual((tuple(tip.lock_rotation), tuple(wrist.lock_rotation)), (LOCKED, FREE))
        self.assertEqual((tuple(tip.lock_location), tuple(wrist.lock_location)), (LOCKED, FREE))
        self.assertEqual(tuple(twist.lock_rotation), (True, False, True))

    def test_data_that_is_only_stored(self):
        ik = self.bones[8]["mmd_ik"].to_dict()
        self.assertEqual((ik["target"], ik["loop_count"], ik["unit_angle"]), (3, 40, 2.0))
        self.assertEqual([link["bone"] for link in ik["links"]], [2, 1])
        self.assert_close(ik["links"][0]["lower"], (-3, 0, 0))
        self.assertNotIn("lower", ik["links"][1])
        append = self.bones[9]["mmd_append"].to_dict()
        self.assertEqual(
            append,
            {"source": 1, "ratio": -0.5, "rotation": True, "translation": True, "local": False},
        )
        bone = self.bones[9]
        self.assertEqual((bone["mmd_name_e"], bone["mmd_layer"]), ("append", -1))
        self.assertEqual(bone["mmd_external_parent"], 7)
        self.assertTrue(bone["mmd_flags"] & pmx_file.AFTER_PHYSICS)
        self.assertEqual(self.bones[10]["mmd_tail_bone"], 0)
        self.assert_close(self.bones[7]["mmd_local_axis_z"], (0, 0, -1))
        self.assertNotIn("mmd_ik", self.bones[0])

    def test_display_frames(self):
        groups = {}
        for bone in self.bones.values():
            if hasattr(bone, "bone_group"):
                group = bone.bone_group.name if bone.bone_group else None
            else:
                group = next((collection.name for collection in bone.bone.collections), None)
            groups.setdefault(group, []).append(bone.name)
        self.assertEqual(groups["Root"], ["センター"])
        self.assertEqual(sorted(groups["腕"]), sorted(["腕.L", "ひじ.L"]))
        frames = [frame.to_dict() for frame in self.model.root["mmd_display_frames"]]
        self.assertEqual([frame["name"] for frame in frames], ["Root", "表情", "腕"])
        self.assertEqual(frames[1]["elements"], [{"kind": "morph", "index": 0}])


class Physics(imported.Case):
    def test_bodies_and_joints_are_kept(self):
        pmx = case.small_model()
        body = pmx_file.RigidBody("髪", "hair", 2, 3, 0xFFF7, 1, (1, 2, 3), (4, 5, 6), (0.1, 0, 0))
        joint = pmx_file.Joint("節", body_a=0, body_b=1, rotation_upper=(0.5, 0, 0))
        pmx.rigid_bodies.append(body)
        pmx.joints = [joint]
        root = self.load(self.write(pmx)).root
        stored = root["mmd_rigid_bodies"][1].to_dict()
        self.assertEqual((stored["name"], stored["shape"], stored["mask"]), ("髪", "box", 0xFFF7))
        self.assert_close(stored["position"], (4, 5, 6))
        stored = root["mmd_joints"][0].to_dict()
        self.assertEqual((stored["body_a"], stored["body_b"]), (0, 1))
        self.assert_close(stored["rotation_upper"], (0.5, 0, 0))


class RealModels(imported.Case):
    """Every real model against the independent reader."""

    def test_miku(self):
        self.check("初音ミク.pmx")

    def test_miku_qdef(self):
        self.check("初音ミク_qdef.pmx")

    def test_miku_sdef(self):
        self.check("初音ミク_sdefr.pmx")

    def test_luka(self):
        self.check("巡音ルカ.pmx")

    def test_luka_sdef(self):
        self.check("巡音ルカ_sdefr.pmx")

    def test_mmt(self):
        self.check("mmt_test_model.pmx")

    def test_pmd(self):
        self.check("miku_v2.pmd")

    def test_mixed_deform_types(self):
        self.check("fixtures/mixed-deform-types.pmx")

    def test_many_kinds_of_bones(self):
        self.check("fixtures/test_given_bone_comprehensive.pmx")

    def test_hair(self):
        self.check("fixtures/test_hair_physics.pmx")

    def test_fixed_axis(self):
        self.check("fixtures/test_fix_axis.pmx")

    def check(self, name):
        path = case.shared_model(name)
        read = pmd_file.read_as_pmx if path.suffix == ".pmd" else pmx_file.read
        pmx, model = read(path), self.load(path)
        data = model.mesh.data
        bones = {bone["mmd_bone_id"]: bone for bone in model.armature.pose.bones}
        for number in range(len(pmx.bones)):
            self.assert_rest(bones[number].bone, imported.rest_matrix(pmx, number))
        positions = imported.read(data.vertices, "co", 3)
        self.assert_close(positions, scene.in_blender(pmx.positions))
        groups = model.weights()
        names = [bones[number].name for number in range(len(pmx.bones))]
        for group, expected in imported.expected_weights(pmx, names).items():
            self.assertEqual(groups[group].keys(), expected.keys())
            self.assert_close([groups[group][v] for v in expected], list(expected.values()))
        corners = imported.read(data.loops, "vertex_index", 1, np.int32)
        numbers = imported.read(data.polygons, "material_index", 1, np.int32)
        triangles = np.column_stack([numbers, corners.reshape(-1, 3)])
        np.testing.assert_array_equal(triangles, imported.expected_triangles(pmx))
        uvs = imported.read(data.uv_layers["UVMap"].data, "uv", 2)
        self.assert_close(uvs, (pmx.uvs * (1, -1) + (0, 1))[corners])
        normals = imported.expected_normals(pmx)[corners]
        off = np.abs(model.normals() - normals)[normals.any(axis=1)].max(axis=1) > 5e-3
        # Where triangles cancel each other Blender has no direction to store a normal against.
        self.assertLessEqual(off.sum(), len(off) // 10_000)
        self.check_keys(pmx, model)

    def check_keys(self, pmx, model):
        for morph, stored in zip(pmx.morphs, model.root["mmd_morphs"], strict=True):
            self.assertEqual(stored["name"], morph.name)
            if morph.kind != scene.VERTEX_MORPH:
                continue
            expected = model.key(None)
            np.add.at(expected, morph.indices, scene.in_blender(morph.values))
            self.assert_close(model.key(stored["key"]), expected)
