# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the export cases: a model to export, readers of files, and comparisons."""

import os
import pathlib
import sys
import unittest.mock

import addon_utils
import bpy
import case
import fingerprint
import numpy as np
import scene
from mathutils.kdtree import KDTree

FRAMES = range(3, 8)
SLIDER = "ふくらみ"


def formats():
    return sys.modules["addon_package"].export.formats.FORMATS


def executed_by(function):
    """A patch: the operator runs `function(operator, context)`, for without a window none is invoked."""
    operators = bpy.types.Operator.__subclasses__()
    names = {cls.__name__: cls for cls in operators if cls.is_registered}
    return unittest.mock.patch.object(names["MMDSKIN_OT_export"], "execute", function)


class Exported(case.Case):
    """Compares points in world space."""

    def setUp(self):
        super().setUp()
        scene.transform(self.scene.root, (1, -2, 0.5), (0.3, 0.2, -1.0))
        self.slider.value = 0.5
        self.folder = pathlib.Path(case.folder(self))
        for name in ("io_scene_fbx", "io_scene_gltf2"):
            addon_utils.enable(name)

    @property
    def slider(self):
        return self.mesh.data.shape_keys.key_blocks[SLIDER]

    def animate(self):
        """Poses and a face that move during FRAMES, in a longer scene."""
        for frame in (FRAMES[0], FRAMES[-1]):
            scene.pose(self.scene, seed=frame)
            for bone in self.scene.armature.pose.bones:
                bone.keyframe_insert("rotation_quaternion", frame=frame)
                bone.keyframe_insert("location", frame=frame)
            self.slider.value = frame / 10
            self.slider.keyframe_insert("value", frame=frame)
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 20
        bpy.context.scene.frame_set(FRAMES[0])

    def bake(self, target, moves, **options):
        if moves:
            options.update(range="CUSTOM", frame_start=FRAMES[0], frame_end=FRAMES[-1])
        options.setdefault("folder", str(self.folder))
        self.assertEqual(bpy.ops.mmdskin.bake(target=target, **options), {"FINISHED"})

    def note(self, frames):
        """The file must contain what is shown now."""
        self.shown = {}
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            self.shown[frame] = in_world(self.mesh)

    def export(self, form, **options):
        """Write a file; nothing in the scene changes."""
        try:
            formats()[form].exporter()
        except Exception as error:
            self.skipTest(str(error))
        path = str(self.folder / f"baked{formats()[form].ending}")
        before = everything()
        self.assertEqual(bpy.ops.mmdskin.export(filepath=path, **options), {"FINISHED"})
        self.assertEqual(fingerprint.differences(before, everything()), [])
        return path

    def assert_refused(self, words, file, **options):
        """A sentence with `words`, no file, and nothing in the scene changes."""
        before, files = everything(), set(self.folder.iterdir())
        with self.assertRaises(RuntimeError) as caught:
            bpy.ops.mmdskin.export(filepath=str(self.folder / file), **options)
        self.assertIn(words, str(caught.exception))
        self.assertEqual(len(str(caught.exception).strip().splitlines()), 1)
        self.assertEqual(fingerprint.differences(before, everything()), [])
        self.assertEqual({*self.folder.iterdir()} - files, set())

    def read(self, path):
        """The only mesh of a file, in an empty scene."""
        scene.clear()
        {".glb": read_gltf, ".fbx": read_fbx, ".usdc": read_usd, ".abc": read_alembic}[
            os.path.splitext(path)[1]
        ](self, path)
        # The importer of glTF draws bones with a mesh of its own.
        drawn = [
            bone.custom_shape for obj in bpy.data.objects if obj.pose for bone in obj.pose.bones
        ]
        meshes = [obj for obj in bpy.data.objects if obj.type == "MESH" and obj not in drawn]
        self.assertEqual(len(meshes), 1)
        return meshes[0]

    def assert_as_shown(self, obj):
        """Each point is at an expected one and vice versa: files may split vertices."""
        for frame, expected in self.shown.items():
            bpy.context.scene.frame_set(frame)
            points = in_world(obj)
            for here, there in ((points, expected), (expected, points)):
                self.assertLessEqual(farthest(here, there), case.BAR * scene.SCALE, frame)

    def assert_survives(self, form):
        self.assert_as_shown(self.read(self.export(form)))


def read_gltf(test, path):
    if not hasattr(np, "bool"):  # which the importer of Debian's Blender asks for
        patch = unittest.mock.patch.object(np, "bool", bool, create=True)
        patch.start()
        test.addCleanup(patch.stop)
    bpy.ops.import_scene.gltf(filepath=path)
    for block in (*bpy.data.objects, *bpy.data.shape_keys):
        for track in block.animation_data.nla_tracks if block.animation_data else ():
            # The importer of 3.4 plays the first of several actions only, and from frame 1 on.
            track.mute = False
            for strip in track.strips:
                strip.frame_end += strip.action_frame_start - strip.frame_start
                strip.frame_start = strip.action_frame_start


def read_fbx(test, path):
    bpy.ops.import_scene.fbx(filepath=path, anim_offset=0)


def read_usd(test, path):
    bpy.ops.wm.usd_import(filepath=path)


def read_alembic(test, path):
    bpy.ops.wm.alembic_import(filepath=path, as_background_job=False)


def everything():
    """The content of the .blend, and what else an export might change."""
    layer = bpy.context.view_layer
    standing = {
        "selected": sorted(obj.name for obj in layer.objects if obj.select_get()),
        "active": layer.objects.active and layer.objects.active.name,
        "modes": {obj.name: obj.mode for obj in layer.objects},
        "hidden": {obj.name: obj.hide_get() for obj in layer.objects},
    }
    return {**fingerprint.of_file(), "view layer": "\n".join(map(str, standing.items()))}


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
