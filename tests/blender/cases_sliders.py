# SPDX-License-Identifier: GPL-3.0-or-later
"""Sliders of morphs that do not move vertices: they act as mmdskin computes from the file."""

from types import SimpleNamespace

import bpy
import case
import imported
import numpy as np
import scene
from cases_motion import addon
from cases_panel import redraw
from files import pmx_file
from mathutils import Color, Matrix

WEIGHTS = (0.0, 0.3, 1.0)
HAS_UVS = bpy.app.version >= (3, 5)


def morph(name, kind, indices, values, panel=4):
    return pmx_file.Morph(
        name,
        panel=panel,
        kind=pmx_file.MORPH_KINDS.index(kind),
        indices=np.array(indices),
        values=np.array(values, np.float32).reshape(len(indices), -1),
    )


def change(adds, **columns):
    """A material morph's record that changes only the named columns."""
    first = {"diffuse": 1, "ambient": 9, "edge_color": 12, "edge_size": 16}
    record = np.full(29, 0.0 if adds else 1.0)
    record[0] = adds
    for name, values in columns.items():
        values = np.atleast_1d(values)
        record[first[name] : first[name] + len(values)] = values
    return record


class Sliders(imported.Case):
    def setUp(self):
        super().setUp()
        self.pmx = pmx = case.small_model()
        count = len(pmx.positions)
        pmx.uvs = np.random.default_rng(3).random((count, 2)).astype(np.float32)
        pmx.additional_uvs = np.random.default_rng(4).random((count, 1, 4)).astype(np.float32)
        pmx.materials = [
            pmx_file.Material(
                "肌", diffuse=(0.5, 0.6, 0.7, 1), ambient=(0.2, 0.1, 0), index_count=300
            ),
            pmx_file.Material("服", texture=0, index_count=3 * len(pmx.triangles) - 300),
        ]
        pmx.textures = ["服.png"]
        turn = (0.0, 0.6, 0.0, 0.8)
        tilt = (0.28, 0.0, 0.0, 0.96)
        pmx.morphs += [
            morph("骨", "bone", [1, 2], [(0.5, 1, -2, *turn), (0, 0, 0, *tilt)], panel=2),
            morph("骨2", "bone", [1], [(0, 0, 3, *tilt)]),
            morph("位置", "uv", [0, 5], [(0.25, -0.5, 0, 0), (1, 0, 0, 0)], panel=3),
            morph("追加", "uv1", [3], [(0.5, 0.25, -0.5, 1)]),
            morph("赤", "material", [0], [change(0, diffuse=(1, 0, 0, 0.25), ambient=(0.5, 1, 1))]),
            morph("全部", "material", [-1], [change(1, diffuse=(0, 0.3, 0, -0.5), edge_size=2)]),
            morph(
                "縁",
                "material",
                [1],
                [change(0, edge_color=(0.5, 0, 1, 0.5), diffuse=(0, 1, 1, 0))],
            ),
            morph("組", "group", [1, 3, 5, 7], [0.5, 1, 0.5, 0.25], panel=1),
            morph("混合", "group", [0, 2, 6], [1, 0.5, 0.5]),
            morph("切替", "flip", [0], [1]),
        ]
        image = bpy.data.images.new("服", 2, 2, alpha=True)
        image.filepath_raw, image.file_format = f"{self.folder}/服.png", "PNG"
        image.save()
        bpy.data.images.remove(image)
        self.model = self.load(self.write(pmx))
        self.armature, self.mesh = self.model.armature, self.model.mesh
        self.names = [one.name for one in pmx.morphs]
        self.acting = [name for name in self.names[1:-1] if HAS_UVS or name not in ("位置", "追加")]
        self.file = addon().blender.native.load().load_model(pmx_file.write(pmx))

    def set(self, **values):
        """Move sliders; returns the resulting weights of the file's morphs."""
        keys = self.mesh.data.shape_keys.key_blocks
        for name, value in values.items():
            if name in keys:
                keys[name].value = value
            else:
                self.armature[name] = value
        self.armature.update_tag()
        bpy.context.view_layer.update()
        return np.array([values.get(name, 0) for name in self.names], np.float32)

    def every_one(self):
        """Each slider alone, at some weights, then all together."""
        for name in self.acting:
            for weight in WEIGHTS:
                yield self.set(**{name: weight})
            self.set(**{name: 0.0})
        yield self.set(**dict.fromkeys(self.acting, 0.2))

    def evaluated(self, thing):
        return thing.evaluated_get(bpy.context.evaluated_depsgraph_get())

    def test_are_named_as_in_the_file_and_grouped_by_panel(self):
        model = addon().scene.scene_model.model_of(self.mesh, bpy.context.view_layer)
        listed = {
            panel: [slider.label for slider in found]
            for panel, found in addon().scene.sliders.by_panel(model).items()
        }
        others = ["ふくらみ", "骨2", "追加", "赤", "全部", "縁", "混合"]
        expected = {"EYEBROW": ["組"], "EYE": ["骨"], "MOUTH": ["位置"], "OTHER": others}
        for names in expected.values():
            names[:] = [name for name in names if name in (self.names[0], *self.acting)]
        self.assertEqual(listed, expected)
        for slider in (
            slider for found in addon().scene.sliders.by_panel(model).values() for slider in found
        ):
            self.assertEqual(slider.owner.path_resolve(slider.path), 0.0)

    def test_go_from_0_to_1_and_can_be_keyed(self):
        limits = self.armature.id_properties_ui("骨").as_dict()
        self.assertEqual((limits["soft_min"], limits["soft_max"]), (0.0, 1.0))
        self.set(骨=0.5)
        expected = self.pose()
        for frame, value in ((1, 0.0), (11, 1.0)):
            self.armature["骨"] = value
            self.armature.keyframe_insert('["骨"]', frame=frame)
        for curve in actions_of(self.armature):
            for point in curve.keyframe_points:
                point.interpolation = "LINEAR"
        bpy.context.scene.frame_set(6)
        self.assert_close(self.pose(), expected)

    def pose(self):
        return np.array(self.evaluated(self.armature).pose.bones["腕.L"].matrix)

    def test_the_panel_draws_them_by_mmds_panels(self):
        drawn = []
        layout = SimpleNamespace(prop=lambda owner, path, text, **_: drawn.append(text))
        layout.column = lambda **_: layout
        redraw(self.mesh)
        for name, label in (("brows", "組"), ("eyes", "骨"), ("others", "ふくらみ")):
            panel = getattr(bpy.types, f"MMDSKIN_PT_{name}")
            self.assertTrue(panel.poll(bpy.context))
            panel.draw(SimpleNamespace(layout=layout, panel=panel.panel), bpy.context)
            self.assertIn(label, drawn)
        nothing = SimpleNamespace(active_object=None, view_layer=bpy.context.view_layer)
        self.assertFalse(bpy.types.MMDSKIN_PT_morphs.poll(nothing))

    def test_bones_equal_mmd(self):
        bone_names = ["センター", "腕.L", "ひじ.L", "手首.L"]
        scene.pose(type("Posed", (), {"armature": self.armature, "bone_names": bone_names}))
        own = {}
        to_file = np.linalg.inv(scene.TO_BLENDER)
        for record, name in zip(self.file.bones, bone_names, strict=True):
            bone = self.armature.pose.bones[name]
            rest = np.array(bone.bone.matrix_local.to_3x3())
            turn = rest @ np.array(bone.matrix_basis.to_3x3()) @ rest.T
            moved = rest @ np.array(bone.location)
            swap = np.eye(3)[[0, 2, 1]]
            own[record.name] = (to_file[:3, :3] @ moved, quaternion(swap @ turn @ swap))
        translations = np.array([own[bone.name][0] for bone in self.file.bones])
        rotations = np.array([own[bone.name][1] for bone in self.file.bones])
        for weights in self.every_one():
            pose = self.file.pose_from(translations, rotations, weights)
            bones = self.evaluated(self.armature).pose.bones
            for name, matrix in zip(bone_names, pose.bone_matrices, strict=True):
                expected = scene.TO_BLENDER @ matrix @ to_file
                expected = expected @ np.array(bones[name].bone.matrix_local)
                self.assert_close(np.array(bones[name].matrix), expected, 1e-4, (name, weights))

    def test_live_moves_by_them_once(self):
        self.armature.mmdskin.preview = True
        self.assert_live_moves()

    def test_live_solved_as_in_mmd_moves_by_them_once(self):
        self.armature.mmdskin.source = "IK"
        self.armature.mmdskin.preview = True
        self.assert_live_moves()

    def assert_live_moves(self):
        for sliders in ({"骨": 0.7}, {"骨": 0.7, "組": 0.5}):
            weights = self.set(**sliders)
            count = len(self.file.bones)
            rest = np.tile(np.float32((0, 0, 0, 1)), (count, 1))
            pose = self.file.pose_from(np.zeros((count, 3), np.float32), rest, weights)
            expected = addon().blender.native.load().skin(self.file, pose).positions
            self.assert_close(
                scene.evaluated_positions(self.mesh), scene.in_blender(expected), 1e-5
            )

    def test_materials_equal_the_file(self):
        for weights in self.every_one():
            expected = self.file.materials_at(weights)
            for material, record in zip(self.mesh.data.materials, expected, strict=True):
                shown = self.evaluated(material)
                for name in ("diffuse", "ambient", "edge_color", "edge_size"):
                    actual = np.atleast_1d(np.array(shown[f"mmd_{name}"]))
                    self.assert_close(actual, np.atleast_1d(getattr(record, name)), 1e-5, name)
                lit = np.array(record.ambient) + np.array(record.diffuse[:3]) * 154 / 255
                linear = Color(np.clip(lit, 0, 1)).from_srgb_to_scene_linear()
                alpha = min(max(record.diffuse[3], 0), 1)
                self.assert_close(shown.diffuse_color[:], (*linear, alpha), 1e-4)

    def test_shader_shows_them(self):
        self.set(赤=1.0)
        shader = self.shader(0)
        linear = Color((min(0.1 + 0.5 * 154 / 255, 1), 0.1, 0)).from_srgb_to_scene_linear()
        self.assert_close(shader["Base Color"].default_value[:3], linear[:], 1e-4)
        self.assertAlmostEqual(shader["Alpha"].default_value, 0.25)

    def test_textures_are_multiplied(self):
        shader = self.shader(1)
        color = shader["Base Color"].links[0].from_node
        self.assertEqual((color.type, color.blend_type), ("MIX", "MULTIPLY"))
        factor = [s for s in color.inputs if s.enabled and s.type == "RGBA"][1]
        alpha = shader["Alpha"].links[0].from_node.inputs[1]
        self.assertAlmostEqual(alpha.default_value, 1)
        self.assert_close(factor.default_value[:3], (1, 1, 1), 1e-5)
        self.set(縁=0.5)
        color = self.shader(1)["Base Color"].links[0].from_node
        factor = [s for s in color.inputs if s.enabled and s.type == "RGBA"][1]
        alpha = self.shader(1)["Alpha"].links[0].from_node.inputs[1]
        self.assertAlmostEqual(alpha.default_value, 0.5, 6)
        self.assertLess(factor.default_value[0], 0.9)
        self.assert_close(factor.default_value[1:3], (1, 1), 1e-5)

    def shader(self, number):
        nodes = self.evaluated(self.mesh.data.materials[number]).node_tree.nodes
        return next(node for node in nodes if node.type == "BSDF_PRINCIPLED").inputs

    def test_uvs_equal_the_file(self):
        if not HAS_UVS:
            self.skipTest("nodes of Blender 3.4 cannot write UV maps")
        corners = self.pmx.triangles[:, ::-1].ravel()
        for weights in self.every_one():
            mesh = self.evaluated(self.mesh).to_mesh()
            channels = [self.file.uvs_at(weights), self.file.uvs_at(weights, channel=1)]
            for name, uvs in (
                ("UVMap", channels[0]),
                ("UV1", channels[1][:, :2]),
                ("_UV1", channels[1][:, 2:]),
            ):
                actual = imported.read(mesh.uv_layers[name].data, "uv", 2)
                self.assert_close(actual, (uvs * (1, -1) + (0, 1))[corners], 1e-5, name)

    def test_outlive_the_mesh(self):
        """Blender 3.4 crashes where a driver refers to shape keys that are gone with their mesh."""
        self.set(混合=0.5)
        bpy.data.objects.remove(self.mesh)
        bpy.ops.outliner.orphans_purge(do_recursive=True)
        read = [
            (target.id, target.data_path)
            for driver in self.armature.animation_data.drivers
            for variable in driver.driver.variables
            for target in variable.targets
        ]
        self.assertIn((None, 'shape_keys.key_blocks["混合"].value'), read)
        for frame in (1, 2):
            bpy.context.scene.frame_set(frame)

    def test_a_model_without_them_gets_nothing(self):
        self.load(self.write(case.small_model(), "plain.pmx"))
        armature = bpy.context.view_layer.objects.active.children[0]
        self.assertEqual(set(armature.keys()) - {"mmdskin", "mmdskin_files"}, set())
        self.assertEqual([m.type for m in armature.children[0].modifiers], ["ARMATURE"])

    def test_too_many_variables_for_a_driver_are_reported(self):
        self.pmx.morphs = [
            morph(f"色{number}", "material", [0], [change(0, edge_size=0.123456)])
            for number in range(30)
        ]
        with case.reports() as said:
            self.load(self.write(self.pmx, "many.pmx"))
        self.assertIn("30 morphs affect one value", "".join(said))


def actions_of(owner):
    return addon().blender.actions.curves_of(owner.animation_data.action)


def quaternion(matrix):
    """x y z w of a rotation (3, 3)."""
    w, x, y, z = Matrix(matrix.tolist()).to_quaternion()
    return x, y, z, w
