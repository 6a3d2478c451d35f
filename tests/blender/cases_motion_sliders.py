# SPDX-License-Identifier: GPL-3.0-or-later
"""A motion file moves UV, material and edge morphs, alone and in groups, as it moves the mesh."""

import json
import os
import sys

import bpy
import numpy as np
import scene
from cases_bake_range import forget_file
from cases_motion_files import FORMS, FilesCase, small_pmx
from cases_sliders import HAS_UVS, change, morph
from files import motion_file

OWN, GROUP = "own.vmd", "group.vmd"
MORPHS = ("あ", "UV", "材質", "加算")


def pmx_with_morphs():
    pmx = small_pmx()
    pmx.uvs[:] = 0
    changed = change(0, diffuse=(1, 0.5, 1, 0.25), edge_size=3)
    pmx.morphs += [
        morph("UV", "uv", [1], [(0.25, 0.5, 0, 0)]),
        morph("材質", "material", [0], [changed]),
        morph("加算", "material", [0], [change(1, ambient=(0.25, 0, 0))]),
        morph("全部", "group", [2, 3, 4, 0], [1, 1, 1, 1]),
        morph("材質だけ", "group", [3], [0.5]),
    ]
    return pmx


class Sliders(FilesCase):
    def load_model(self, live=True):
        model = self.load(self.write(pmx_with_morphs()), live=live)
        self.armature, self.mesh = model.armature, model.mesh
        self.settings = self.armature.mmdskin
        scene.select(self.armature)
        for name, morphs in ((OWN, MORPHS), (GROUP, ["全部"])):
            keys = [
                motion_file.MorphKey(one, frame, weight)
                for one in morphs
                for frame, weight in ((0, 0.0), (10, 1.0))
            ]
            self.write_motion(name, [motion_file.BoneKey("センター", 0)], keys)

    def shown(self, frame):
        """Of the evaluated model: あ, UV of vertex 1, diffuse, edge size and red of ambient."""
        lips = self.offsets(frame)[0, 1]
        depsgraph = bpy.context.evaluated_depsgraph_get()
        material = self.mesh.material_slots[0].material.evaluated_get(depsgraph)
        obj = self.mesh.evaluated_get(depsgraph)
        uvs = obj.data.uv_layers[0].uv if HAS_UVS else obj.data.uv_layers[0].data
        place = next(i for i, loop in enumerate(obj.data.loops) if loop.vertex_index == 1)
        uv = np.array(uvs[place].vector if HAS_UVS else uvs[place].uv)
        if not HAS_UVS:
            uv = np.array([0, 1]) + (0.25 * lips, -0.5 * lips)  # Blender 3.4 has no UV morphs
        return [
            lips,
            *(uv * (1, -1) + (0, 1)),
            *material["mmd_diffuse"],
            material["mmd_edge_size"],
            material["mmd_ambient"][0],
        ]

    def expected(self, weight):
        edge = pmx_with_morphs().materials[0].edge_size
        red = pmx_with_morphs().materials[0].ambient[0]
        return [
            weight,
            *(0.25 * weight, 0.5 * weight),
            *(0.8, 0.4 * (1 - 0.5 * weight), 0.8, 1 - 0.75 * weight),
            edge * (1 + 2 * weight),
            red + 0.25 * weight,
        ]

    def assert_moved(self, weight, frame):
        self.assert_close(self.shown(frame), self.expected(weight), 1e-5)

    def test_move_with_a_motion_file(self):
        for name in (OWN, GROUP):
            self.play(name)
            for frame, weight in ((1, 0), (4, 0.3), (11, 1), (40, 1)):
                self.assert_moved(weight, frame)
            bpy.ops.mmdskin.clear_motion()
            self.assert_moved(0, 11)

    def test_equal_solved_keys(self):
        for name in (OWN, GROUP):
            self.play(name, "SOLVED")
            self.assert_moved(1, 11)
            self.play(name, "FILE")
            self.assert_moved(1, 11)
            bpy.ops.mmdskin.clear_motion()

    def test_weights_beyond_the_slider(self):
        keys = [motion_file.MorphKey("加算", frame, w) for frame, w in ((0, 0), (10, 2), (20, -1))]
        self.write_motion(OWN, morphs=keys)
        for form in FORMS:
            self.play(OWN, form)
            for frame, weight in ((6, 1), (11, 2), (21, -1)):
                red = pmx_with_morphs().materials[0].ambient[0] + 0.25 * weight
                self.assertAlmostEqual(self.shown(frame)[-1], red, places=5, msg=form)
            bpy.ops.mmdskin.clear_motion()

    def test_keys_mute_drivers_of_their_sliders(self):
        curve = self.armature.driver_add('["加算"]')
        curve.driver.expression = "0.25"
        for form in ("SOLVED", "ORIGINAL"):
            self.play(OWN, form)
            self.assert_moved(1, 11)
            bpy.ops.mmdskin.clear_motion()
            self.assertFalse(self.armature.animation_data.drivers[0].mute)

    def test_follow_settings_that_the_user_changes(self):
        self.settings.motion_path = os.path.join(self.folder, OWN)
        self.settings.source = "MOTION"
        self.assert_moved(1, 11)
        self.settings.motion_start = 6
        self.assert_moved(0.5, 11)
        self.settings.motion_path = os.path.join(self.folder, DANCE_WITHOUT)
        self.assert_moved(0, 11)
        self.settings.source = "ARMATURE"
        self.assert_moved(0, 11)

    def test_have_their_own_values_again_afterwards(self):
        self.armature["加算"] = 0.5
        red = pmx_with_morphs().materials[0].ambient[0]
        for name in (OWN, GROUP):
            self.play(name, replace=True)
            self.assert_moved(1, 11)
        bpy.ops.mmdskin.clear_motion()
        self.assertAlmostEqual(self.shown(11)[-1], red + 0.125, places=5)
        self.assertIsNone(self.armature.animation_data)
        self.assertNotIn("mmdskin_motion_sliders", self.armature)

    def test_stay_in_a_bake(self):
        self.play(OWN)
        bpy.context.scene.frame_end = 11
        bpy.ops.mmdskin.bake(range="SCENE", target="SHAPE_KEYS")
        self.assert_moved(1, 11)

    def test_a_driver_of_the_user_is_kept(self):
        curve = self.armature.driver_add('["加算"]')
        curve.driver.expression = "0.25"
        self.play(OWN)
        red = pmx_with_morphs().materials[0].ambient[0]
        self.assertAlmostEqual(self.shown(11)[-1], red + 0.0625, places=5)
        bpy.ops.mmdskin.clear_motion()
        self.assertEqual(len(self.armature.animation_data.drivers), 1)

    def test_beside_an_armature_that_a_newer_version_saved(self):
        other = bpy.data.objects.new("other", bpy.data.armatures.new("other"))
        self.addCleanup(bpy.data.armatures.remove, other.data)
        newer = sys.modules["addon_package"].scene.saved_state.VERSION + 1
        other["mmdskin_motion_sliders"] = json.dumps({"version": newer, "values": {"UV": 0.5}})
        self.play(GROUP)
        driven = sys.modules["addon_package"].preview.motion_sliders.driven()
        self.assertEqual({obj for obj, _ in driven}, {self.armature})
        self.assert_moved(0.3, 4)

    def test_in_a_file_that_is_opened_again(self):
        self.addCleanup(forget_file)
        self.play(GROUP)
        blend = os.path.join(self.folder, "x.blend")
        bpy.ops.wm.save_as_mainfile(filepath=blend)
        bpy.ops.wm.open_mainfile(filepath=blend, use_scripts=False)
        self.find_model()
        self.assert_moved(1, 11)
        self.assert_moved(0.3, 4)


DANCE_WITHOUT = "踊り.vmd"
