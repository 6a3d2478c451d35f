# SPDX-License-Identifier: GPL-3.0-or-later
"""Hair moved by physics is exported by each exporter and read back at the module's positions."""

import pathlib

import addon_utils
import bpy
import scene
from cases_motion import MotionCase
from cases_physics import Hair
from exported import FRAMES, Exported
from keyed_physics import Keyed


class OfAMotion(Hair, MotionCase, Exported):
    """A motion file as the pose source."""

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.folder.name)
        for name in ("io_scene_fbx", "io_scene_gltf2"):
            addon_utils.enable(name)
        settings = self.armature.mmdskin
        settings.source, settings.motion_path = "MOTION", self.motion_path
        settings.model_path, settings.motion_start = self.model_path, 0
        settings.physics = True
        self.shown = dict(zip(FRAMES, self.expected(FRAMES), strict=True))
        plain = self.of_file(FRAMES[-1:])[0]
        self.assertGreater(abs(self.shown[FRAMES[-1]] - plain).max(), 0.05 * scene.SCALE)

    def survives_baked(self, form, target="SHAPE_KEYS"):
        self.bake(target, True)
        self.assert_survives(form)

    def test_gltf(self):
        self.survives_baked("GLTF")

    def test_fbx(self):
        self.survives_baked("FBX")

    def test_usd(self):
        self.survives_baked("USD", "MESH_CACHE")

    def test_alembic(self):
        self.survives_baked("ALEMBIC", "MESH_CACHE")


class OfOwnKeys(Keyed, Exported):
    """MMD's IK as the pose source, simulated, and live."""

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.folder)
        bpy.context.scene.frame_end = FRAMES[-1]
        self.simulate()
        self.shown = {frame: self.expected(frame) for frame in FRAMES}

    def survives_live(self, form):
        self.settings.preview = True
        bpy.context.scene.frame_set(FRAMES[0])
        self.assert_survives(form)

    def test_usd(self):
        self.survives_live("USD")

    def test_alembic(self):
        self.survives_live("ALEMBIC")

    def test_alembic_of_a_mesh_cache(self):
        self.bake("MESH_CACHE", True)
        self.assert_survives("ALEMBIC")
