# SPDX-License-Identifier: GPL-3.0-or-later
"""Live normals are those of MMD's formulas, if this Blender can show custom normals."""

import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import bpy
import case
import fingerprint
import imported
import numpy as np
import recorder
import scene
from cases_bake import skinned
from cases_motion import dance
from cases_panel import drawn_texts
from cases_preview_arriving import Arriving
from cases_preview_methods import METHODS, Deformed
from cases_preview_truth import problem
from files import motion_file, pmx_file
from judges import twin
from live import BAR
from recorder import Recorder

FILE = pathlib.Path(__file__).resolve().parent / "files" / "normals_saved_by_4.2.blend"
DEGREES = 0.1
ABSENT = "MMD Normals require Blender 4.5 or later"
SETS_NORMALS = hasattr(bpy.types, "GeometryNodeSetMeshNormal")
ARRAYS = ("positions", "bone_indices", "bone_weights", "deform", "sdef")
with_normals = unittest.skipUnless(SETS_NORMALS, "before Blender 4.5 no node can set normals")


def addon():
    return sys.modules["addon_package"]


def shown(obj):
    """(C, 3): the normals of the evaluated mesh object's corners."""
    bpy.context.view_layer.update()
    return normals_of(obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data)


def normals_of(mesh):
    return imported.read(mesh.corner_normals, "vector", 3)


def corner_vertices(obj):
    return imported.read(obj.data.loops, "vertex_index", 1, np.int32)


def angles(actual, expected):
    """Degrees between unit vectors, exact for small ones, too."""
    halves = np.linalg.norm(np.asarray(actual, np.float64) - expected, axis=-1) / 2
    return np.degrees(2 * np.arcsin(np.minimum(halves, 1)))


def turned(pmx, matrices):
    """(V, 3) by the float64 twin, in Blender's axes."""
    return twin.skin(pmx, matrices)[1][:, [0, 2, 1]]


def turned_later(obj):
    """(3, 3): the rotation by a modifier that stands at the end of a mesh object's from now on."""
    hook = bpy.data.objects.new("hook", None)
    bpy.context.scene.collection.objects.link(hook)
    modifier = obj.modifiers.new("hook", "HOOK")
    last = len(obj.modifiers) - 1
    obj.modifiers.move(obj.modifiers.find(modifier.name), last)  # 5.2 puts it elsewhere
    modifier.object = hook
    modifier.vertex_indices_set(range(len(obj.data.vertices)))
    hook.rotation_euler = (0.5, 1.0, -0.7)
    bpy.context.view_layer.update()
    return np.array(hook.matrix_world)[:3, :3]


class Normals(Deformed):
    """The model has its file's normals, as importers give them, and shows them posed."""

    wanted = True

    def setUp(self):
        super().setUp()
        own = self.scene.pmx.normals[:, [0, 2, 1]]
        self.mesh.data.normals_split_custom_set_from_vertices(own.tolist())
        self.corners = corner_vertices(self.mesh)
        self.settings.use_mmd_normals = self.wanted

    def expected(self):
        return turned(self.scene.pmx, self.scene.bake_inputs())[self.corners]

    def assert_normals(self, bar=DEGREES):
        now = shown(self.mesh)
        self.assertEqual(case.live_errors(), [])
        self.assertLess(angles(now, self.expected()).max(), bar)


@with_normals
class Shown(Normals):
    def test_blenders_own_differ_at_a_bent_corner(self):
        bpy.context.scene.frame_set(21)
        self.settings.use_mmd_normals = False
        sdef = self.scene.pmx.deform[self.corners] == scene.SDEF
        self.assertGreater(angles(shown(self.mesh), self.expected())[sdef].max(), 10)

    def test_are_mmds_on_every_frame_in_any_order(self):
        for frame in (1, 21, 8, 21.5, 3.25):
            bpy.context.scene.frame_set(int(frame), subframe=frame % 1)
            self.assert_normals()

    def test_positions_do_not_change(self):
        bpy.context.scene.frame_set(15)
        with_normals = scene.evaluated_positions(self.mesh)
        self.settings.use_mmd_normals = False
        self.assert_close(scene.evaluated_positions(self.mesh), with_normals, 0)

    def test_follow_each_deformation(self):
        bpy.context.scene.frame_set(21)
        mmdskin = addon().blender.native.load()
        model = mmdskin.load_model(self.file)
        for name in METHODS:
            self.settings.deformation = name
            out = mmdskin.skin(model, self.scene.bake_inputs(), method=name.lower())
            expected = out.normals[:, [0, 2, 1]][self.corners]
            self.assertLess(angles(shown(self.mesh), expected).max(), DEGREES, name)

    def test_do_not_depend_on_the_place_of_the_model(self):
        for scale in ((2, 2, 2), (-1, 1, 1)):
            scene.transform(self.scene.root, (3, -2, 5), (0.3, 1.0, -2.0), scale)
            self.assert_normals()

    def test_a_mesh_turned_against_its_armature(self):
        self.mesh.rotation_euler = (0.2, -0.4, 1.0)
        bpy.context.scene.frame_set(15)
        matrix = np.array(self.mesh.matrix_basis)[:3, :3]
        rest = twin.Mesh(**{name: getattr(self.scene.pmx, name) for name in ARRAYS})
        # What is seen at rest turns with the bones, wherever the mesh lies.
        rest.normals = (self.scene.pmx.normals[:, [0, 2, 1]] @ matrix.T)[:, [0, 2, 1]]
        matrices = self.scene.bake_inputs()
        expected = twin.skin(rest, matrices)[1][:, [0, 2, 1]] @ matrix
        self.assertLess(angles(shown(self.mesh), expected[self.corners]).max(), DEGREES)

    def test_flat_faces_keep_a_normal_for_each_corner(self):
        self.make_flat()
        bpy.context.scene.frame_set(15)
        self.assert_flat()

    def test_a_mesh_that_becomes_flat_while_live(self):
        self.assert_normals()
        self.make_flat()
        for frame in (4, 5):
            bpy.context.scene.frame_set(frame)
            scene.evaluated_positions(self.mesh)
        bpy.context.scene.frame_set(15)
        self.assert_flat()

    def make_flat(self):
        mesh = self.mesh.data
        mesh.attributes.remove(mesh.attributes["custom_normal"])
        mesh.shade_flat()
        mesh.update_tag()
        bpy.context.view_layer.update()

    def assert_flat(self):
        """Each corner's normal rotates like a vertex normal with that value."""
        rest = self.mesh.data
        normals = normals_of(rest)
        of = {name: getattr(self.scene.pmx, name)[self.corners] for name in ARRAYS}
        of["normals"] = normals[:, [0, 2, 1]]
        expected = twin.skin(twin.Mesh(**of), self.scene.bake_inputs())[1][:, [0, 2, 1]]
        self.assertEqual(case.live_errors(), [])
        self.assertLess(angles(shown(self.mesh), expected).max(), DEGREES)
        self.assert_live_positions()

    def assert_live_positions(self):
        now = scene.evaluated_positions(self.mesh)
        self.settings.use_mmd_normals = False
        self.assert_close(scene.evaluated_positions(self.mesh), now, BAR)
        self.settings.use_mmd_normals = True

    def test_the_users_group_takes_its_share(self):
        group = self.mesh.vertex_groups.new(name="half")
        count = len(self.mesh.data.vertices)
        shares = np.arange(count) % 5 / 4
        for vertex, share in enumerate(shares):
            group.add([vertex], share, "REPLACE")
        self.mesh.modifiers["mmd_armature"].vertex_group = "half"
        bpy.context.scene.frame_set(15)
        still = self.scene.pmx.normals[:, [0, 2, 1]][self.corners]
        share = shares[self.corners, None]
        expected = twin.normalized_or(share * self.expected() + (1 - share) * still)
        self.assertLess(angles(shown(self.mesh), expected).max(), DEGREES)

    def test_later_modifiers_turn_them(self):
        self.assert_normals()
        turn = turned_later(self.mesh)
        for frame in (9, 15):  # the nodes follow in the first
            bpy.context.scene.frame_set(frame)
        self.assertLess(angles(shown(self.mesh), self.expected() @ turn.T).max(), DEGREES)
        self.mesh.modifiers.remove(self.mesh.modifiers["hook"])
        for frame in (9, 15):
            bpy.context.scene.frame_set(frame)
        self.assert_normals(0.001)

    def test_each_evaluation_has_its_own(self):
        layer = bpy.context.scene.view_layers.new("second")
        self.addCleanup(lambda: bpy.context.scene.view_layers.remove(layer))
        bpy.context.scene.frame_set(17)
        layer.depsgraph.update()
        other = self.mesh.evaluated_get(layer.depsgraph).data
        self.assertLess(angles(normals_of(other), self.expected()).max(), DEGREES)

    def test_nothing_of_it_gets_out(self):
        bpy.context.view_layer.update()
        mesh = self.mesh.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
        for name in ("mmdskin", "mmdskin_normal"):
            self.assertNotIn(name, mesh.attributes)

    def test_without_a_pose_blenders_normals_are_shown(self):
        bpy.context.scene.frame_set(15)
        self.assert_normals()
        self.bones["手首.L"].location[0] = float("nan")
        now = shown(self.mesh)
        self.mesh.modifiers["MMD Skin"].show_viewport = False
        np.testing.assert_array_equal(shown(self.mesh), now)


@with_normals
class Switched(Normals):
    def test_off_by_default(self):
        self.assertFalse(self.settings.bl_rna.properties["use_mmd_normals"].default)

    def test_switched_off_everything_is_as_before(self):
        self.settings.preview = self.settings.use_mmd_normals = False
        bpy.context.view_layer.update()
        before = fingerprint.of_file()
        self.settings.use_mmd_normals = True
        self.settings.preview = True
        self.assert_normals()
        self.settings.preview = self.settings.use_mmd_normals = False
        bpy.context.view_layer.update()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_turned_off_while_live_keeps_what_live_needs(self):
        self.settings.use_mmd_normals = False
        names = self.mesh.data.attributes.keys()
        self.assertIn("mmdskin", names)
        self.assertNotIn("mmdskin_normal", names)
        self.assertEqual(len(bpy.data.node_groups), 1)
        self.settings.use_mmd_normals = True
        self.assert_normals()
        self.assertEqual(len(bpy.data.node_groups), 1)

    def test_two_models_that_differ(self):
        other = scene.Scene(case.small_model(), "second")
        scene.pose(other, seed=5)
        other.armature.mmdskin.preview = True
        bpy.context.scene.frame_set(8)
        self.assert_normals()
        other.armature.mmdskin.use_mmd_normals = True
        expected = turned(other.pmx, other.bake_inputs())
        # Made without custom normals: Blender's at rest are a little off the file's.
        self.assertLess(angles(shown(other.mesh), expected[corner_vertices(other.mesh)]).max(), 10)
        other.armature.mmdskin.preview = False
        self.assert_normals()

    def test_another_attribute_of_that_name_is_rejected(self):
        self.settings.preview = False
        self.mesh.data.attributes.new("mmdskin_normal", "FLOAT", "POINT")
        with self.assertRaisesRegex(RuntimeError, "mmdskin_normal"):
            bpy.ops.mmdskin.preview(action="ENABLE")
        self.assertIn("mmdskin_normal", self.mesh.data.attributes)

    def test_saved_and_opened_again(self):
        bpy.context.scene.frame_set(15)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "live.blend")
            bpy.ops.wm.save_as_mainfile(filepath=path)
            bpy.ops.wm.open_mainfile(filepath=path)
        self.find()
        self.assertTrue(self.settings.use_mmd_normals)
        self.assert_normals()

    def test_undo_and_redo(self):
        bpy.context.scene.frame_set(15)
        self.settings.use_mmd_normals = False
        bpy.ops.ed.undo_push(message="Blender's")
        self.settings.use_mmd_normals = True
        bpy.ops.ed.undo_push(message="MMD's")
        for _ in range(2):
            bpy.ops.ed.undo()
            self.find()
            self.assertFalse(self.settings.use_mmd_normals)
            self.assertNotIn("mmdskin_normal", self.mesh.data.attributes)
            self.assertGreater(angles(shown(self.mesh), self.expected()).max(), 5)
            bpy.ops.ed.redo()
            self.find()
            self.assert_normals()

    def find(self):
        self.mesh = bpy.data.objects["model_mesh"]
        self.armature = self.scene.armature = bpy.data.objects["model_arm"]
        self.settings = self.armature.mmdskin


class Panel(Normals):
    def test_the_option_is_shown_where_it_acts(self):
        texts = drawn_texts(self.mesh)
        self.assertEqual(".use_mmd_normals" in texts, SETS_NORMALS)
        self.assertEqual(ABSENT in texts, not SETS_NORMALS)
        self.settings.use_mmd_normals = False
        self.assertNotIn(ABSENT, drawn_texts(self.mesh))

    def test_where_no_node_sets_normals_live_is_as_without(self):
        if SETS_NORMALS:
            self.skipTest("this Blender has the node")
        bpy.context.scene.frame_set(15)
        before = scene.evaluated_positions(self.mesh)
        self.assertEqual(self.mesh.data.attributes.find("mmdskin_normal"), -1)
        self.settings.use_mmd_normals = False
        self.assert_close(scene.evaluated_positions(self.mesh), before, 0)
        self.assertEqual(case.live_errors(), [])


@with_normals
class OfFiles(imported.Case):
    """Whole models, by our importer and by mmd_tools, against the normals of their files."""

    def assert_like_file(self, path, load, bar):
        load(filepath=str(path))
        mesh = next(o for o in bpy.data.objects if o.type == "MESH" and o.find_armature())
        armature, pmx = mesh.find_armature(), addon().blender.native.load().load_model(str(path))
        armature.mmdskin.preview = armature.mmdskin.use_mmd_normals = True
        bones = addon().scene.model_file.match_bones(armature, pmx)
        for name, number in bones.items():
            pose_bone = armature.pose.bones[name]
            pose_bone.rotation_mode = "XYZ"
            pose_bone.rotation_euler = np.sin(np.arange(3) + 5 * number) * 0.4
        bpy.context.view_layer.update()
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
        matrices = np.tile(np.eye(4), (len(pmx.bones), 1, 1))
        for name, number in bones.items():
            matrix = posed[name].matrix @ posed[name].bone.matrix_local.inverted()
            matrices[number] = np.linalg.inv(scene.TO_BLENDER) @ np.array(matrix) @ scene.TO_BLENDER
        expected = twin.skin(pmx, matrices)[1][:, [0, 2, 1]][corner_vertices(mesh)]
        found = angles(shown(mesh), expected)
        self.assertEqual(case.live_errors(), [])
        # Of 100,000 corners a handful lies on triangles so thin that Blender keeps them badly.
        self.assertLess(np.quantile(found, 0.9995), DEGREES)
        self.assertLess(found.max(), bar)
        armature.mmdskin.use_mmd_normals = False
        self.assertGreater(np.quantile(angles(shown(mesh), expected), 0.99), 5)
        scene.clear()

    def test_ours(self):
        for name in ("初音ミク_sdefr.pmx", "巡音ルカ_sdefr.pmx"):
            with self.subTest(name):
                path = case.shared_model(name)
                self.assert_like_file(path, bpy.ops.mmdskin.import_model, 0.25)

    def test_of_mmd_tools(self):
        with imported.MmdTools():
            for name in ("初音ミク_sdefr.pmx", "巡音ルカ_sdefr.pmx"):
                with self.subTest(name):
                    path = case.shared_model(name)
                    self.assert_like_file(path, bpy.ops.mmd_tools.import_model, 0.25)
            scene.clear()

    def test_of_a_motion_file(self):
        pmx = case.small_model()
        pmx.materials = [pmx_file.Material("肌", index_count=pmx.triangles.size)]
        path = self.write(pmx)
        motion = os.path.join(self.folder, "踊り.vmd")
        with open(motion, "wb") as file:
            file.write(motion_file.write_vmd(dance(pmx)))
        model = self.load(path)
        settings = model.armature.mmdskin
        settings.source, settings.motion_path, settings.motion_start = "MOTION", motion, 0
        settings.motion_real_time = False
        settings.preview = settings.use_mmd_normals = True
        mmdskin = addon().blender.native.load()
        pose = mmdskin.load_model(path).pose(mmdskin.load_motion(motion), [12.0])
        bpy.context.scene.frame_set(12)
        expected = turned(pmx, pose.bone_matrices[0])[corner_vertices(model.mesh)]
        self.assertLess(angles(shown(model.mesh), expected).max(), DEGREES)


@with_normals
class Rendered(Normals):
    def test_in_a_render(self):
        bpy.utils.register_class(Recorder)
        self.addCleanup(bpy.utils.unregister_class, Recorder)
        engine = bpy.context.scene.render.engine
        self.addCleanup(setattr, bpy.context.scene.render, "engine", engine)
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 14, 16
        Recorder.seen = {}
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(recorder, "positions_of", normals_of),
        ):
            recorder.prepare(bpy.context.scene, os.path.join(folder, "frame"))
            bpy.ops.render.render(animation=True)
        self.assertEqual([frame for frame, _ in Recorder.seen], [14, 15, 16])
        for (frame, _), normals in Recorder.seen.items():
            bpy.context.scene.frame_set(frame)
            self.assertLess(angles(normals, self.expected()).max(), DEGREES)


@with_normals
class Arrived(Arriving, Normals):
    """In a session without live models."""

    def test_appended(self):
        self.bring(link=False)
        bpy.context.scene.frame_set(15)
        self.assert_normals()

    def test_overridden(self):
        self.override()
        bpy.context.scene.frame_set(15)
        self.assert_normals()
        self.assertIsNone(problem(self.mesh))
        self.armature.mmdskin.use_mmd_normals = False
        self.assertGreater(angles(shown(self.mesh), self.expected()).max(), 5)


@with_normals
class ArrivedWithout(Arriving, Normals):
    wanted = False

    def test_an_overrides_error_says_what_to_do(self):
        self.override()
        self.assertIsNone(problem(self.mesh))
        self.armature.mmdskin.use_mmd_normals = True
        bpy.context.scene.frame_set(15)
        self.assertGreater(angles(shown(self.mesh), self.expected()).max(), 5)
        self.assertIn("shows no MMD Normals", problem(self.mesh))


class SavedBy42(case.Case):
    """A file of Blender 4.5, live with MMD's normals, that 4.2 has saved again."""

    def setUp(self):
        super().setUp()
        if bpy.app.version < (4, 0):
            self.skipTest("Blender 3.4 crashes when it opens any file of 4.2")
        self.shape = skinned(case.write_model(self, self.scene.pmx), self.scene.bake_inputs())
        self.normals = turned(self.scene.pmx, self.scene.bake_inputs())
        bpy.ops.wm.open_mainfile(filepath=str(FILE))
        self.mesh = bpy.data.objects["model_mesh"]
        self.settings = bpy.data.objects["model_arm"].mmdskin

    def test_it_is_live_in_both(self):
        self.assert_close(scene.evaluated_positions(self.mesh), self.shape)
        self.assertEqual(case.live_errors(), [])

    @with_normals
    def test_it_has_mmds_normals_where_they_can_be(self):
        expected = self.normals[corner_vertices(self.mesh)]
        self.assertLess(angles(shown(self.mesh), expected).max(), DEGREES)

    def test_without_the_driver_it_shows_the_armatures_shape(self):
        """As without the add-on."""
        self.mesh.data.animation_data.drivers[0].mute = True
        self.mesh.data.update_tag()
        now = scene.evaluated_positions(self.mesh)
        self.mesh.modifiers["MMD Skin"].show_viewport = False
        self.assert_close(scene.evaluated_positions(self.mesh), now, 0)

    def test_it_is_switched_off(self):
        self.settings.preview = False
        self.assertEqual([m.name for m in self.mesh.modifiers], ["mmd_armature"])
        for name in ("mmdskin", "mmdskin_normal"):
            self.assertNotIn(name, self.mesh.data.attributes)
        self.assertEqual(len(bpy.data.node_groups), 0)

    def test_it_is_switched_off_and_on(self):
        self.settings.preview = False
        self.settings.preview = True
        self.assert_close(scene.evaluated_positions(self.mesh), self.shape)
        self.assertEqual("mmdskin_normal" in self.mesh.data.attributes, SETS_NORMALS)
