# SPDX-License-Identifier: GPL-3.0-or-later
"""From a .pmx and a .vmd to a file for another program, by script."""

import pathlib
import sys
import unittest.mock

import addon_utils
import bpy
import case
import numpy as np
import scene
from exported import farthest, in_world
from sample import model as sample
from sample import motion as sample_motion

FIRST, LAST = 1, 12
FRAMES = (1, 5, 12)


class Chain(case.Case):
    """Import, bake a motion, export, read back: on several frames the mesh equals `skin()`."""

    def setUp(self):
        scene.clear()
        self.folder = pathlib.Path(case.folder(self)) / "書き出し"
        self.folder.mkdir()
        sample.write_sample(self.folder)
        sample_motion.write_motion(self.folder)
        bpy.context.scene.render.fps = 30
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = FIRST, LAST
        bpy.context.scene.frame_set(FIRST)
        bpy.ops.mmdskin.import_model(filepath=str(self.folder / "sample.pmx"))
        mmdskin = sys.modules["addon_package"].blender.native.load()
        model = mmdskin.load_model(self.folder / "sample.pmx")
        pose = model.pose(mmdskin.load_motion(self.folder / "sample.vmd"), np.array(FRAMES) - 1.0)
        positions = mmdskin.skin(model, pose, normals=False).positions
        self.expected = [scene.in_blender(points) for points in positions]

    def bake(self, target):
        bpy.ops.mmdskin.bake(
            target=target,
            range="SCENE",
            source="MOTION",
            motion_path=str(self.folder / "sample.vmd"),
            folder=str(self.folder),
        )
        mesh = next(obj for obj in bpy.data.objects if obj.type == "MESH")
        self.assert_shown(mesh, exact=True)
        scene.select(mesh)

    def read_back(self, exporter, importer, file, addon=None, reading=None, **options):
        if addon:
            if addon_utils.enable(addon) is None:
                self.skipTest(f"this Blender has no {addon}")
        elif exporter[1] not in dir(getattr(bpy.ops, exporter[0])):
            self.skipTest(f"this Blender is built without {'.'.join(exporter)}")
        path = str(self.folder / file)
        getattr(getattr(bpy.ops, exporter[0]), exporter[1])(filepath=path, **options)
        scene.clear()
        getattr(getattr(bpy.ops, importer[0]), importer[1])(filepath=path, **(reading or {}))
        return next(obj for obj in bpy.data.objects if obj.type == "MESH")

    def assert_shown(self, obj, exact=False):
        for frame, expected in zip(FRAMES, self.expected, strict=True):
            bpy.context.scene.frame_set(frame)
            shown = in_world(obj)
            if exact:
                self.assert_close(shown.astype(np.float32), expected)
            else:
                self.assertLessEqual(farthest(shown[::7], expected), case.BAR * scene.SCALE)
                self.assertLessEqual(farthest(expected[::7], shown), case.BAR * scene.SCALE)

    def test_shape_keys_by_fbx(self):
        self.bake("SHAPE_KEYS")
        back = self.read_back(
            ("export_scene", "fbx"),
            ("import_scene", "fbx"),
            "dance.fbx",
            addon="io_scene_fbx",
            use_selection=True,
            # Blender's exporter looks for keys' curves only in the scene as a whole.
            bake_anim_use_nla_strips=False,
            bake_anim_use_all_actions=False,
            bake_anim_simplify_factor=0.0,
            reading={"anim_offset": 0.0},
        )
        self.assert_shown(back)

    def test_shape_keys_by_gltf(self):
        if not hasattr(np, "bool"):  # which the importer of Debian's Blender asks for
            patch = unittest.mock.patch.object(np, "bool", bool, create=True)
            patch.start()
            self.addCleanup(patch.stop)
        self.bake("SHAPE_KEYS")
        back = self.read_back(
            ("export_scene", "gltf"),
            ("import_scene", "gltf"),
            "dance.glb",
            addon="io_scene_gltf2",
            use_selection=True,
            export_skins=False,
        )
        animation = back.data.shape_keys.animation_data
        if animation.action is None:  # 3.4 keeps all animations but the first in muted tracks
            animation.nla_tracks[0].mute = False
        self.assert_shown(back)

    def test_mesh_cache_by_alembic(self):
        self.bake("MESH_CACHE")
        back = self.read_back(
            ("wm", "alembic_export"),
            ("wm", "alembic_import"),
            "dance.abc",
            selected=True,
            start=FIRST,
            end=LAST,
        )
        self.assert_shown(back)

    def test_mesh_cache_by_usd(self):
        self.bake("MESH_CACHE")
        plain = {}
        if bpy.app.version >= (4, 2):  # older ones write the mesh as it is shown anyway
            plain = {"export_armatures": False, "export_shapekeys": False}
        back = self.read_back(
            ("wm", "usd_export"),
            ("wm", "usd_import"),
            "dance.usdc",
            selected_objects_only=True,
            export_animation=True,
            **plain,
        )
        self.assert_shown(back)
