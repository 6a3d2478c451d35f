# SPDX-License-Identifier: GPL-3.0-or-later
"""A baked model goes out by Blender's exporters, comes back, and stands where it stood.

Only the mesh is exported: with its armature, exporters would let the bones act on the baked points
once more.
"""

import pathlib
import tempfile
import unittest.mock

import addon_utils
import bpy
import case
import numpy as np
import scene
from mathutils.kdtree import KDTree

FRAMES = range(1, 6)


class Exported(case.Case):
    """Reads a file back into an empty scene and compares points in world space."""

    def setUp(self):
        super().setUp()
        scene.transform(self.scene.root, (1, -2, 0.5), (0.3, 0.2, -1.0))
        self.mesh.data.shape_keys.key_blocks["ふくらみ"].value = 0.5
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = FRAMES[0], FRAMES[-1]

    def through_fbx(self):
        self.need_addon("io_scene_fbx")
        path = self.path("fbx")
        # By itself the exporter looks at the actions of objects, not at those of keys.
        bpy.ops.export_scene.fbx(
            filepath=path,
            use_selection=True,
            bake_anim_use_all_actions=False,
            bake_anim_use_nla_strips=False,
        )
        scene.clear()
        bpy.ops.import_scene.fbx(filepath=path, anim_offset=0)
        return self.only_mesh()

    def through_gltf(self):
        self.need_addon("io_scene_gltf2")
        if not hasattr(np, "bool"):  # which the importer of Debian's Blender asks for
            patch = unittest.mock.patch.object(np, "bool", bool, create=True)
            patch.start()
            self.addCleanup(patch.stop)
        path = self.path("glb")
        bpy.ops.export_scene.gltf(filepath=path, use_selection=True, export_skins=False)
        scene.clear()
        bpy.ops.import_scene.gltf(filepath=path)
        obj = self.only_mesh()
        data = obj.data.shape_keys.animation_data
        for track in data.nla_tracks if data else ():
            track.mute = False  # the importer of 3.4 plays the first of several actions only
        return obj

    def through_alembic(self):
        self.need_operator("alembic_export")
        path = self.path("abc")
        bpy.ops.wm.alembic_export(
            filepath=path, selected=True, start=FRAMES[0], end=FRAMES[-1], as_background_job=False
        )
        scene.clear()
        bpy.ops.wm.alembic_import(filepath=path, as_background_job=False)
        return self.only_mesh()

    def through_usd(self):
        self.need_operator("usd_export")
        path = self.path("usdc")
        # As it is shown; the alternative, blend shapes, does not keep values that do not move.
        bpy.ops.wm.usd_export(
            filepath=path,
            selected_objects_only=True,
            export_animation=True,
            export_armatures=False,
            export_shapekeys=False,
        )
        scene.clear()
        bpy.ops.wm.usd_import(filepath=path)
        return self.only_mesh()

    def need_addon(self, name):
        if addon_utils.enable(name) is None:
            self.skipTest(f"this Blender has no {name}")

    def need_operator(self, name):
        if name not in dir(bpy.ops.wm):
            self.skipTest(f"this Blender is built without {name}")

    def path(self, ending):
        scene.select(self.mesh)
        return str(self.folder / f"baked.{ending}")

    def only_mesh(self):
        meshes = [obj for obj in bpy.data.objects if obj.type == "MESH"]
        self.assertEqual(len(meshes), 1)
        return meshes[0]

    def assert_in_place(self, obj, expected):
        """Each point lies at an expected one and the other way round: files may split vertices."""
        points = in_world(obj)
        for here, there in ((points, expected), (expected, points)):
            self.assertLessEqual(farthest(here, there), case.BAR * scene.SCALE)


class Frame(Exported):
    """A bake of the current frame."""

    KEY = "MMD 0001"

    def setUp(self):
        super().setUp()
        self.assertEqual(bpy.ops.mmdskin.bake(), {"FINISHED"})
        self.baked = in_world(self.mesh)

    def assert_keys_in_place(self, obj):
        keys = obj.data.shape_keys.key_blocks
        self.assertIn(self.KEY, keys)
        self.assertEqual({key.name: key.value for key in keys[1:] if key.value}, {self.KEY: 1.0})
        self.assert_in_place(obj, self.baked)
        keys[self.KEY].value = 0
        self.assertGreater(farthest(in_world(obj), self.baked), 0.01)

    def test_fbx(self):
        self.assert_keys_in_place(self.through_fbx())

    def test_gltf(self):
        self.assert_keys_in_place(self.through_gltf())

    def test_alembic(self):
        self.assert_in_place(self.through_alembic(), self.baked)

    def test_usd(self):
        self.assert_in_place(self.through_usd(), self.baked)


class Range(Exported):
    """A bake of some frames: every one of them comes back at its time."""

    def setUp(self):
        super().setUp()
        for frame in (FRAMES[0], FRAMES[-1]):
            scene.pose(self.scene, seed=frame)
            for bone in self.scene.armature.pose.bones:
                bone.keyframe_insert("rotation_quaternion", frame=frame)
                bone.keyframe_insert("location", frame=frame)

    def bake(self, target):
        done = bpy.ops.mmdskin.bake(target=target, range="SCENE", folder=str(self.folder))
        self.assertEqual(done, {"FINISHED"})
        self.baked = {}
        for frame in FRAMES:
            bpy.context.scene.frame_set(frame)
            self.baked[frame] = in_world(self.mesh)

    def assert_frames_in_place(self, obj):
        for frame, expected in self.baked.items():
            bpy.context.scene.frame_set(frame)
            self.assert_in_place(obj, expected)

    def test_keys_by_fbx(self):
        self.bake("SHAPE_KEYS")
        self.assert_frames_in_place(self.through_fbx())

    def test_keys_by_gltf(self):
        self.bake("SHAPE_KEYS")
        self.assert_frames_in_place(self.through_gltf())

    def test_keys_by_alembic(self):
        self.bake("SHAPE_KEYS")
        self.assert_frames_in_place(self.through_alembic())

    def test_keys_by_usd(self):
        self.bake("SHAPE_KEYS")
        self.assert_frames_in_place(self.through_usd())

    def test_mesh_cache_by_alembic(self):
        self.bake("MESH_CACHE")
        self.assert_frames_in_place(self.through_alembic())

    def test_mesh_cache_by_usd(self):
        self.bake("MESH_CACHE")
        self.assert_frames_in_place(self.through_usd())


def in_world(obj):
    """(V, 3) float64 points of an object as evaluated, in world space."""
    points = scene.evaluated_positions(obj).astype(np.float64)
    matrix = np.array(obj.matrix_world, np.float64)
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def farthest(points, others):
    """The largest distance from one of the points to the nearest of the others."""
    tree = KDTree(len(others))
    for i, point in enumerate(others):
        tree.insert(point, i)
    tree.balance()
    return max(tree.find(point)[2] for point in points)
