# SPDX-License-Identifier: GPL-3.0-or-later
"""A pose file on a model with keyframes is keyed at the current frame; otherwise it would be hidden."""

import bpy
import case
import numpy as np
import scene
from cases_motion import dance
from cases_motion_clear import ClearCase
from cases_motion_merge import laid
from files import motion_file

POSED = ("センター", "左腕", "右足ＩＫ")
AT = 6  # of the motion; it begins at frame 1 of the scene


class PosedCase(ClearCase):
    def setUp(self):
        super().setUp()
        self.keys = dance(self.scene.pmx)
        self.dance = self.motion_path
        turned = [k for k in self.keys.bones if k.frame == 0 and k.name in POSED]
        self.pose = self.keys._replace(bones=turned, morphs=[motion_file.MorphKey("あ", 0, 0.125)])
        self.vpd_path = self.write_pose(self.pose)

    def write_pose(self, pose):
        return self.write("立ち.vpd", motion_file.write_vpd(pose))

    def merged(self, at=AT):
        """The file of the dance with the pose merged in."""
        later = self.pose._replace(
            bones=[k._replace(frame=at) for k in self.pose.bones],
            morphs=[k._replace(frame=at) for k in self.pose.morphs],
        )
        return self.write("合わせ.vmd", motion_file.write_vmd(laid(self.keys, later)))

    def drop(self, at=AT, **options):
        """The reports."""
        bpy.context.scene.frame_set(at + 1)
        with case.reports() as said:
            self.assertEqual(self.imported(self.vpd_path, **options), {"FINISHED"})
        bpy.context.view_layer.update()
        return said

    def key_frames(self, name):
        start = f'pose.bones["{name}"]'
        curves = [c for c in self.curves(self.armature) if c.data_path.startswith(start)]
        return {point.co.x for curve in curves for point in curve.keyframe_points}


class OverSolvedKeys(PosedCase):
    def setUp(self):
        super().setUp()
        self.imported()

    def test_is_solved_together_with_the_dance(self):
        said = self.drop()
        self.assertTrue(any("bones at frame 7" in line for line in said), said)
        self.motion_path = self.merged()
        self.assert_stands(AT)
        bpy.context.scene.frame_set(1)
        self.assert_plays([AT + 1])
        [wanted] = self.open().key_values(["あ", "い", "う"], [AT])
        shown = self.shown(AT + 1)
        for name, value in zip("あいう", wanted, strict=True):
            self.assertAlmostEqual(shown[name], value, places=6)
        self.assertEqual(self.armature.mmdskin.source, "ARMATURE")

    def test_other_frames_stay_as_they_are(self):
        before = self.shown(AT), self.shown(AT + 2)
        self.drop()
        self.assert_plays([1, 3, AT, AT + 2, 12, 16])
        self.assertEqual((self.shown(AT), self.shown(AT + 2)), before)

    def test_whatever_form_is_chosen(self):
        self.drop(mode="ORIGINAL")
        self.motion_path = self.merged()
        self.assert_plays([AT + 1])

    def test_at_another_frame_rate(self):
        bpy.ops.mmdskin.clear_motion()
        bpy.context.scene.render.fps = 60
        self.imported()
        self.drop(2 * AT)
        self.assert_plays([2 * AT, 2 * AT + 2], speed=0.5)
        self.motion_path = self.merged()
        self.assert_plays([2 * AT + 1], speed=0.5)

    def test_an_unchanged_channel_moves_at_its_frame_only(self):
        """Unchanged curves have keyframes at both ends only."""
        bpy.ops.mmdskin.clear_motion()
        still = [k for k in self.keys.bones if k.frame == 0]
        still += [k._replace(frame=15) for k in still]
        self.motion_path = self.write(
            "静か.vmd", motion_file.write_vmd(self.keys._replace(bones=still))
        )
        self.imported()
        self.drop()
        self.assert_plays([1, 3, AT, AT + 2, 12, 16])


class OverOwnKeys(PosedCase):
    def setUp(self):
        super().setUp()
        self.imported(mode="ORIGINAL")

    def test_the_bones_of_the_pose_have_a_key_more(self):
        before = {name: self.key_frames(name) for name in self.scene.bone_names}
        self.drop()
        for number, name in enumerate(self.scene.bone_names):
            more = {AT + 1.0} if self.scene.pmx.bones[number].name in POSED else set()
            self.assertEqual(self.key_frames(name), before[name] | more, name)

    def test_is_seen_and_stays(self):
        self.drop()
        shown = scene.evaluated_positions(self.mesh)
        bpy.context.scene.frame_set(1)
        bpy.context.scene.frame_set(AT + 1)
        self.assert_close(scene.evaluated_positions(self.mesh), shown)
        bone = self.armature.pose.bones["腕.L"]
        [key] = [k for k in self.pose.bones if k.name == "左腕"]
        self.assertAlmostEqual(abs(bone.rotation_quaternion.w), abs(key.rotation[3]), places=5)

    def test_live_with_mmds_ik_it_equals_mmd_and_the_source_stays(self):
        settings = self.armature.mmdskin
        settings.model_path, settings.source, settings.preview = self.model_path, "IK", True
        self.pose = self.pose._replace(morphs=[])
        self.vpd_path = self.write_pose(self.pose)
        key = 15  # between its keys the dance's turns are near only
        self.drop(key)
        self.assertEqual(settings.source, "IK")
        shown = scene.evaluated_positions(self.mesh)
        self.assertGreater(np.abs(shown - self.of_file([key])[0]).max(), 0.01)
        self.motion_path = self.merged(key)
        self.assert_close(shown, self.of_file([key])[0])
        settings.preview = False


class OverKeysOfTheUser(PosedCase):
    def key(self, name, mode):
        bone = self.armature.pose.bones[name]
        bone.rotation_mode = mode
        channel = "rotation_axis_angle" if mode == "AXIS_ANGLE" else "rotation_euler"
        for frame in (1, 15):
            bone.keyframe_insert(channel, frame=frame)
        return bone

    def test_bones_turn_as_they_are_keyed(self):
        for mode in ("XZY", "AXIS_ANGLE"):
            bone = self.key("腕.L", mode)
            self.drop(mode="ORIGINAL")
            self.assertEqual(bone.rotation_mode, mode)
            bpy.context.scene.frame_set(AT + 1)
            shown = np.array(bone.matrix_basis.to_quaternion())
            [key] = [k for k in self.pose.bones if k.name == "左腕"]
            self.assertAlmostEqual(abs(shown[0]), abs(key.rotation[3]), places=5)
            bpy.ops.mmdskin.clear_motion()

    def test_bones_without_keys_are_posed_at_this_frame_only(self):
        self.key("腕.L", "XYZ")
        center = self.armature.pose.bones["センター"]
        self.drop(mode="ORIGINAL")
        [key] = [k for k in self.pose.bones if k.name == "センター"]
        for frame, moved in ((1, 0), (AT, 0), (AT + 1, 1), (AT + 2, 0), (15, 0)):
            bpy.context.scene.frame_set(frame)
            wanted = moved * np.linalg.norm(key.translation) * scene.SCALE
            self.assertAlmostEqual(center.location.length, wanted, places=5)

    def test_by_mmds_ik_it_keeps_the_source(self):
        self.key("腕.L", "XYZ")
        self.armature.mmdskin.source = "IK"
        self.drop()
        self.assertEqual(self.armature.mmdskin.source, "IK")


class ComesBack(PosedCase):
    def test_over_a_dance(self):
        pose = {"path": self.vpd_path}
        for mode in ("SOLVED", "ORIGINAL"):
            self.assert_comes_back({"mode": mode}, pose)

    def test_over_keys_of_the_user(self):
        bone = self.armature.pose.bones["腕.L"]
        bone.rotation_mode = "XZY"
        for frame in (1, 15):
            bone.keyframe_insert("rotation_euler", frame=frame)
        self.mesh.data.shape_keys.key_blocks["あ"].keyframe_insert("value", frame=4)
        for source in ("ARMATURE", "IK"):
            self.armature.mmdskin.source = source
            for mode in ("SOLVED", "ORIGINAL"):
                self.assert_comes_back({"path": self.vpd_path, "mode": mode})

    def test_without_keys_mmds_ik_stays(self):
        self.armature.mmdskin.source = "IK"
        self.imported(self.vpd_path)
        self.assertEqual(self.armature.mmdskin.source, "IK")
        self.assertIsNone(self.armature.animation_data)
