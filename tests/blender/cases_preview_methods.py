# SPDX-License-Identifier: GPL-3.0-or-later
"""Every deformation of the enum: live and in each bake it equals `skin()` with its method."""

import json
import os
import sys
import tempfile
from unittest import mock

import bpy
import case
import imported
import numpy as np
import scene
from cases_motion import dance, rig
from cases_panel import drawn_texts
from files import motion_file, pmx_file
from live import BAR, Live

METHODS = (
    "MMD",
    "LINEAR",
    "DUAL_QUATERNION",
    "BULGE_FREE",
    "BULGE_COMPENSATED",
    "CENTERS_OF_ROTATION",
)
CORRECTED = ("BULGE_FREE", "BULGE_COMPENSATED")


def addon():
    return sys.modules["addon_package"]


def with_tails():
    """The small model; each bone has the length of its part of the limb."""
    pmx = SMALL_MODEL()
    for bone, following in zip(pmx.bones[1:], (2, 3, None), strict=True):
        bone.tail_bone = following
        bone.tail_offset = (1, 0, 0) if following is None else None
    pmx.bones[0].tail_bone, pmx.bones[0].tail_offset = None, (0, 3, 0)
    return pmx


SMALL_MODEL = case.small_model


class Deformed(Live):
    def setUp(self):
        with mock.patch.object(case, "small_model", with_tails):
            super().setUp()
        self.settings = self.armature.mmdskin

    def expected(self):
        mmdskin = addon().blender.native.load()
        keys = self.mesh.data.shape_keys
        keys = keys.evaluated_get(bpy.context.evaluated_depsgraph_get())
        name = self.settings.deformation
        out = mmdskin.skin(
            mmdskin.load_model(self.file),
            self.scene.bake_inputs(),
            [keys.key_blocks["ふくらみ"].value],
            method=name.lower(),
            correction=self.settings.correction if name in CORRECTED else 1.0,
            normals=False,
        )
        return scene.in_blender(out.positions)


class Shown(Deformed):
    def test_each_method_at_once_and_on_other_frames(self):
        bpy.context.scene.frame_set(15)
        seen = {}
        for name in METHODS:
            self.settings.deformation = name
            seen[name] = scene.evaluated_positions(self.mesh)
            for frame in (15, 4, 15):
                bpy.context.scene.frame_set(frame)
                self.assert_live()
        for name, shown in seen.items():
            for other in METHODS[: METHODS.index(name)]:
                self.assertGreater(np.abs(shown - seen[other]).max(), 1e-3, (name, other))

    def test_the_correction_at_once(self):
        bpy.context.scene.frame_set(15)
        for name in CORRECTED:
            self.settings.deformation = name
            seen = []
            for self.settings.correction in (1.0, 0.5, 0.0):
                seen.append(scene.evaluated_positions(self.mesh))
                self.assert_live()
            self.assertGreater(np.abs(seen[0] - seen[1]).max(), 1e-3)
            self.settings.deformation = "DUAL_QUATERNION"
            self.assert_close(scene.evaluated_positions(self.mesh), seen[2], BAR)

    def test_a_correction_without_a_meaning_is_left_aside(self):
        self.settings.correction = 0.3
        for name in METHODS:
            self.settings.deformation = name
            self.assert_live()

    def test_a_bone_moved_at_rest(self):
        self.settings.deformation = "BULGE_FREE"
        bpy.context.scene.frame_set(15)
        before = scene.evaluated_positions(self.mesh)
        scene.select(self.armature)
        bpy.ops.object.mode_set(mode="EDIT")
        self.armature.data.edit_bones["ひじ.L"].tail.z += 0.2
        bpy.ops.object.mode_set(mode="OBJECT")
        self.assert_like_its_bake(before)

    def test_a_mesh_moved_against_its_armature(self):
        self.settings.deformation = "BULGE_FREE"
        bpy.context.scene.frame_set(15)
        before = scene.evaluated_positions(self.mesh)
        self.mesh.location.z += 0.3
        self.assert_like_its_bake(before)

    def assert_like_its_bake(self, before):
        shown = scene.evaluated_positions(self.mesh)
        self.assertGreater(np.abs(shown - before).max(), 1e-3)
        bpy.ops.mmdskin.bake()
        self.assert_close(scene.evaluated_positions(self.mesh), shown, BAR)

    def test_saved_and_opened_again(self):
        self.settings.deformation, self.settings.correction = "BULGE_FREE", 0.25
        bpy.context.scene.frame_set(15)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "live.blend")
            bpy.ops.wm.save_as_mainfile(filepath=path)
            self.settings.deformation = "MMD"
            bpy.ops.wm.open_mainfile(filepath=path)
        self.find()
        self.assertEqual(
            (self.settings.deformation, self.settings.correction), ("BULGE_FREE", 0.25)
        )
        self.assert_live()

    def test_undo_and_redo(self):
        bpy.context.scene.frame_set(15)
        bpy.ops.ed.undo_push(message="as in MMD")
        self.settings.deformation = "BULGE_COMPENSATED"
        bpy.ops.ed.undo_push(message="compensated")
        steps = ((bpy.ops.ed.undo, "MMD"), (bpy.ops.ed.redo, "BULGE_COMPENSATED"))
        for step, name in (*steps, *steps):
            step()
            self.find()
            self.assertEqual(self.settings.deformation, name)
            self.assert_live()

    def find(self):
        self.mesh = bpy.data.objects["model_mesh"]
        self.armature = self.scene.armature = bpy.data.objects["model_arm"]
        self.settings = self.armature.mmdskin

    def test_the_panel_has_the_factor_where_it_means_something(self):
        for name in METHODS:
            self.settings.deformation = name
            drawn = drawn_texts(self.mesh)
            self.assertIn(".deformation", drawn)
            self.assertEqual(".correction" in drawn, name in CORRECTED)


class Baked(Deformed):
    def setUp(self):
        super().setUp()
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)

    def expected_on(self, frames):
        expected = {}
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            expected[frame] = self.expected()
        return expected

    def options(self, target):
        options = {"target": target, "range": "CUSTOM", "frame_start": 3, "frame_end": 15}
        options.update(step=6, folder=self.temporary.name, corrective="KEYED")
        return options

    def test_each_method_in_each_target(self):
        for target in ("SHAPE_KEYS", "MESH_CACHE", "CORRECTIVE"):
            for name in METHODS:
                self.settings.deformation = name
                expected = self.expected_on((3, 9, 15))  # a bake takes the sliders over
                bpy.ops.mmdskin.bake(**self.options(target))
                for frame, positions in expected.items():
                    with self.subTest(target=target, name=name, frame=frame):
                        bpy.context.scene.frame_set(frame)
                        shown = scene.evaluated_positions(self.mesh)
                        self.assert_close(shown, positions, 2 * BAR)
                bpy.ops.mmdskin.clear_bake()
                self.assert_live()

    def test_operator_options_override_the_models_settings(self):
        self.settings.deformation, self.settings.correction = "BULGE_FREE", 0.5
        expected = self.expected_on([15])[15]
        self.settings.deformation, self.settings.correction = "MMD", 1.0
        bpy.ops.mmdskin.bake(deformation="BULGE_FREE", correction=0.5)
        self.assertEqual(self.settings.deformation, "MMD")
        self.assert_close(scene.evaluated_positions(self.mesh), expected, BAR)

    def test_its_note_says_which(self):
        bpy.ops.mmdskin.bake(deformation="BULGE_FREE", correction=0.5)
        noted = json.loads(self.mesh["mmdskin_bake"])["deformation"]
        self.assertEqual(noted, ["bulge_free", 0.5])

    def test_driven_keys_of_another_method_do_not_gather(self):
        for frame, name in ((5, "MMD"), (15, "BULGE_FREE"), (9, "BULGE_FREE")):
            bpy.context.scene.frame_set(frame)
            self.settings.deformation = name
            bpy.ops.mmdskin.bake(target="CORRECTIVE")
        frames = {
            frame for frame, _ in json.loads(self.mesh["mmdskin_bake"])["single_poses"]["poses"]
        }
        self.assertEqual(frames, {9, 15})


class OfFile(imported.Case):
    """The recorded data about the file of an imported model."""

    def assert_segments(self, armature, model, bones):
        names = [name for name, number in bones.items() if armature.data.bones[name].use_deform]
        actual = addon().pose.skinner.segments(armature, armature, names)
        expected = model.segments[[bones[name] for name in names]].reshape(-1, 3)
        self.assert_close(actual.reshape(-1, 3), scene.in_blender(expected), 1e-5)

    def assert_segments_of(self, path, load):
        load(filepath=str(path))
        armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
        model = addon().blender.native.load().load_model(str(path))
        self.assert_segments(armature, model, addon().scene.model_file.match_bones(armature, model))
        scene.clear()

    def test_bones_have_the_segments_of_their_file(self):
        for name in ("初音ミク.pmx", "巡音ルカ_sdefr.pmx", "mmt_test_model.pmx"):
            with self.subTest(name):
                self.assert_segments_of(case.shared_model(name), bpy.ops.mmdskin.import_model)

    def test_also_where_mmd_tools_has_imported_it(self):
        with imported.MmdTools():
            for name in ("初音ミク.pmx", "巡音ルカ_sdefr.pmx"):
                with self.subTest(name):
                    self.assert_segments_of(case.shared_model(name), bpy.ops.mmd_tools.import_model)
            scene.clear()

    def test_a_twist_bone_without_length_has_its_parents_segment(self):
        pmx = with_tails()
        pmx.bones[2].tail_bone, pmx.bones[2].tail_offset = None, (0, 0, 0)
        pmx.bones[3].tail_offset, pmx.bones[3].append = (0, 0, 0), pmx_file.Append(0, 0.5)
        armature = self.load(self.write(pmx)).armature
        found = addon().pose.skinner.segments(
            armature, armature, [bone.name for bone in armature.data.bones]
        )
        ends = [((0, 10, 0), (0, 13, 0)), ((0, 10, 0), (4, 10, 0))]
        self.assert_close(
            found.reshape(-1, 3),
            scene.in_blender(np.float32([ends[0], ends[1], ends[1], ends[0]]).reshape(-1, 3)),
        )

    def test_a_motion_moves_each_method(self):
        pmx = rig()
        for bone, tail in zip(pmx.bones, (1, 2, 3, None, None, 6, 7, None, None), strict=True):
            bone.tail_bone, bone.tail_offset = tail, None if tail else (1, 0, 0.5)
        path = self.write(pmx)
        motion = os.path.join(self.folder, "踊り.vmd")
        with open(motion, "wb") as file:
            file.write(motion_file.write_vmd(dance(pmx)))
        model = self.load(path)
        settings = model.armature.mmdskin
        settings.source, settings.motion_path, settings.motion_start = "MOTION", motion, 0
        settings.motion_real_time = False
        settings.preview = True
        mmdskin = addon().blender.native.load()
        file = mmdskin.load_model(path)
        pose = file.pose(mmdskin.load_motion(motion), [12.0])
        bpy.context.scene.frame_set(12)
        for settings.deformation in METHODS:
            shown = scene.evaluated_positions(model.mesh)
            self.assertEqual(case.live_errors(), [])
            out = mmdskin.skin(file, pose, method=settings.deformation.lower(), normals=False)
            self.assert_close(shown, scene.in_blender(out.positions[0]), BAR)
