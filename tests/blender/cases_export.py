# SPDX-License-Identifier: GPL-3.0-or-later
"""A baked model goes out by Blender's exporters, comes back, and stands where it stood."""

import pathlib
import tempfile
import unittest.mock

import addon_utils
import bpy
import case
import numpy as np
import scene
from mathutils.kdtree import KDTree

KEY = "MMD 0001"


class ReadBack(case.Case):
    """Each test bakes, exports, reads the file into an empty scene and compares points in world space."""

    def setUp(self):
        super().setUp()
        scene.transform(self.scene.root, (1, -2, 0.5), (0.3, 0.2, -1.0))
        self.mesh.data.shape_keys.key_blocks["ふくらみ"].value = 0.5
        self.assertEqual(bpy.ops.mmdskin.bake(), {"FINISHED"})
        self.baked = in_world(self.mesh)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        scene.select(self.mesh)

    def read_back(self, exporter, importer, file, addon=None, **options):
        """Through the file; returns the mesh object that came back."""
        if addon:
            if addon_utils.enable(addon) is None:
                self.skipTest(f"this Blender has no {addon}")
        elif exporter[1] not in dir(getattr(bpy.ops, exporter[0])):
            self.skipTest(f"this Blender is built without {'.'.join(exporter)}")
        path = str(self.folder / file)
        operator(exporter)(filepath=path, **options)
        scene.clear()
        operator(importer)(filepath=path)
        meshes = [obj for obj in bpy.data.objects if obj.type == "MESH"]
        self.assertEqual(len(meshes), 1)
        return meshes[0]

    def assert_in_place(self, obj):
        """Each point lies at a baked one and the other way round: files may split vertices."""
        points = in_world(obj)
        for here, there in ((points, self.baked), (self.baked, points)):
            self.assertLessEqual(farthest(here, there), case.BAR * scene.SCALE)

    def assert_keys_in_place(self, obj):
        keys = obj.data.shape_keys.key_blocks
        self.assertIn(KEY, keys)
        self.assertEqual({key.name: key.value for key in keys[1:] if key.value}, {KEY: 1.0})
        self.assert_in_place(obj)
        keys[KEY].value = 0
        rest = in_world(obj)
        self.assertGreater(farthest(rest, self.baked), 0.01)

    def test_fbx(self):
        for key in self.mesh.data.shape_keys.key_blocks:
            key.value = float(key.name == KEY)  # FBX has no muted keys: their values act
        self.assert_keys_in_place(
            self.read_back(
                ("export_scene", "fbx"),
                ("import_scene", "fbx"),
                "baked.fbx",
                addon="io_scene_fbx",
                use_selection=True,
            )
        )

    def test_gltf(self):
        if not hasattr(np, "bool"):  # which the importer of Debian's Blender asks for
            patch = unittest.mock.patch.object(np, "bool", bool, create=True)
            patch.start()
            self.addCleanup(patch.stop)
        self.assert_keys_in_place(
            self.read_back(
                ("export_scene", "gltf"),
                ("import_scene", "gltf"),
                "baked.glb",
                addon="io_scene_gltf2",
                use_selection=True,
                export_skins=False,
            )
        )

    def test_alembic(self):
        self.assert_in_place(
            self.read_back(
                ("wm", "alembic_export"),
                ("wm", "alembic_import"),
                "baked.abc",
                selected=True,
                start=1,
                end=1,
            )
        )

    def test_usd(self):
        plain = {}
        if bpy.app.version >= (4, 2):  # older ones write the mesh as it is shown anyway
            plain = {"export_armatures": False, "export_shapekeys": False}
        self.assert_in_place(
            self.read_back(
                ("wm", "usd_export"),
                ("wm", "usd_import"),
                "baked.usdc",
                selected_objects_only=True,
                **plain,
            )
        )


def operator(names):
    return getattr(getattr(bpy.ops, names[0]), names[1])


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
