# SPDX-License-Identifier: GPL-3.0-or-later
"""A second motion on a model: as in MMD it replaces the tracks that it has keys for, and nothing else.

The judge is one VMD that holds the keys as MMD would after both, written by `motion_file`.
"""

import dataclasses
import json
import os

import bpy
import case
import numpy as np
from cases_motion import addon, dance
from cases_motion_import import ImportCase, faster
from files import motion_file

ARM = "左腕"
FOOT = "右足ＩＫ"


def key(name, frame, seed):
    turn = np.append(np.random.default_rng(seed).uniform(-0.4, 0.4, 3), 1)
    place = tuple(np.random.default_rng(seed + 1).uniform(-0.5, 0.5, 3))
    return motion_file.BoneKey(name, frame, place, tuple(turn / np.linalg.norm(turn)))


def laid(old, new):
    """The keys of both: for each name the older ones before the first newer one."""

    def layer(old, new):
        first = {}
        for one in new:
            first[one.name] = min(one.frame, first.get(one.name, one.frame))
        return [one for one in old if one.frame < first.get(one.name, np.inf)] + list(new)

    return old._replace(bones=layer(old.bones, new.bones), morphs=layer(old.morphs, new.morphs))


class Merge(ImportCase):
    def setUp(self):
        super().setUp()
        self.first = dance(self.scene.pmx)
        self.imported()

    def merge(self, keys, shift=0, name="second.vmd", **options):
        """Import a second motion, `shift` frames later, and merge both in the judge."""
        path = self.write(name, motion_file.write_vmd(keys))
        options = {"frame_start": 1 + shift, **options}
        self.assertEqual(self.imported(path, **options), {"FINISHED"})
        later = keys._replace(
            bones=[one._replace(frame=one.frame + shift) for one in keys.bones],
            morphs=[one._replace(frame=one.frame + shift) for one in keys.morphs],
        )
        judge = motion_file.write_vmd(laid(self.first, later))
        self.motion_path = self.write("judge.vmd", judge)

    def assert_keys_play(self, frames, start=1, speed=1.0):
        source = self.open(start=0, fps=30)
        names = ["あ", "い", "う"]
        for frame in frames:
            shown = self.shown(frame)
            expected = source.key_values(names, [(frame - start) * speed])[0]
            for name, value in zip(names, expected, strict=True):
                self.assertAlmostEqual(shown[name], value, places=5, msg=f"{name} at {frame}")

    def points(self, bone):
        """Keyframes of a bone's channels."""
        return [
            tuple(point.co)
            for curve in self.curves(self.armature)
            if curve.data_path.startswith(f'pose.bones["{bone}"].')
            for point in curve.keyframe_points
        ]

    def test_bones_that_the_second_lacks_go_on(self):
        wrist = self.points("手首.L")
        self.merge(motion_file.Keys("arm", [key(ARM, 0, 5), key(ARM, 8, 6)], []))
        self.assert_plays(range(1, 17))
        self.assertEqual(self.points("手首.L"), wrist)

    def test_names_that_are_too_long_for_a_vmd_stay_whole(self):
        name = "とても長い名前のボーン"
        motion = addon().blender.native.load().Motion
        source = self.open()
        pose = motion.from_tracks(bones=[(name, [0], [[0, 1, 0]], None, None)])
        later = dataclasses.replace(source, motion=pose, path="立ち.vpd", start=5, speed=1)
        whole = addon().pose.scene_motion.merged([source, later])
        [track] = [track for track in whole.motion.bones if track.name == name]
        self.assertEqual(track.translations.tolist(), [[0, 1, 0]])

    def test_bones_that_follow_by_append_follow_the_second(self):
        before = self.points("腕.R")
        self.merge(motion_file.Keys("arm", [key(ARM, 0, 5), key(ARM, 8, 6)], []))
        self.assertNotEqual(self.points("腕.R"), before)
        self.assert_plays((1, 6, 12))

    def test_the_feet_of_the_first_hold_the_hips_of_the_second(self):
        self.merge(motion_file.Keys("hips", [key("センター", 0, 5), key("センター", 9, 6)], []))
        self.assert_plays(range(1, 17))

    def test_keys_before_the_second_begins_stay(self):
        self.merge(motion_file.Keys("foot", [key(FOOT, 3, 5), key(FOOT, 9, 6)], []), shift=5)
        self.assert_plays((1, 9, 10, 15, 16))
        self.assertIn(1.0, [x for x, _ in self.points("足ＩＫ.R")])

    def test_unchanged_channels_hold_until_the_first_ends(self):
        still = key(ARM, 0, 5)
        self.first = motion_file.Keys("still", [still, still._replace(frame=10)], [])
        path = self.write("first.vmd", motion_file.write_vmd(self.first))
        self.imported(path, replace=True)
        self.merge(motion_file.Keys("arm", [key(ARM, 0, 7), key(ARM, 5, 9)], []), shift=20)
        self.assert_plays((1, 4, 8, 11, 21, 23, 26))

    def bent(self):
        curves = motion_file.block([(64, 0, 127, 127), (0, 127, 30, 127)] * 2)
        return motion_file.Keys("arm", [key(ARM, 2, 5)._replace(block=curves), key(ARM, 8, 6)], [])

    def test_the_way_from_the_first_to_the_second_has_the_curve_of_the_second(self):
        self.merge(self.bent(), shift=20)
        self.assert_plays(range(1, 32))

    def test_that_way_at_another_frame_rate(self):
        bpy.context.scene.render.fps = 60
        self.imported(replace=True)
        self.merge(self.bent(), shift=20, frame_start=41)
        self.assert_plays(range(1, 62), speed=0.5)

    def test_that_way_in_steps(self):
        self.merge(self.bent(), shift=20, step=3)
        self.assert_plays((1, 8, 15, 16, 19, 22, 23, 26, 29))

    def test_that_way_begins_where_the_bones_own_keys_end(self):
        short = [one for one in self.first.bones if one.name != ARM]
        self.first = self.first._replace(bones=[*short, key(ARM, 0, 1), key(ARM, 4, 2)])
        path = self.write("first.vmd", motion_file.write_vmd(self.first))
        self.imported(path, replace=True)
        self.merge(self.bent(), shift=8)
        self.assert_plays(range(1, 20))

    def test_tracks_missing_in_the_first_hold_until_the_second_starts(self):
        """Then the legs bend differently, too."""
        others = [one for one in self.first.bones if one.name != "センター"]
        self.first = self.first._replace(bones=others)
        path = self.write("first.vmd", motion_file.write_vmd(self.first))
        self.imported(path, replace=True)
        hips = motion_file.Keys("hips", [key("センター", 0, 5), key("センター", 9, 6)], [])
        self.merge(hips, shift=8)
        self.assert_plays(range(1, 20))

    def test_a_second_that_ends_earlier_holds_its_last_key(self):
        self.merge(faster(self.scene.pmx))
        self.assert_plays((1, 4, 6, 16))
        self.assert_keys_play((1, 4, 6, 16))

    def test_motion_of_the_face_leaves_the_bones(self):
        before = [tuple(p.co) for c in self.curves(self.armature) for p in c.keyframe_points]
        keys = [motion_file.MorphKey("あ", 0, 0.25), motion_file.MorphKey("あ", 6, 0.75)]
        self.merge(motion_file.Keys("face", [], keys))
        after = [tuple(p.co) for c in self.curves(self.armature) for p in c.keyframe_points]
        self.assertEqual(before, after)
        self.assert_keys_play(range(1, 17))

    def test_frame_rates_that_no_frame_of_the_motion_meets(self):
        for rate in (24, 60, 23.976):
            with self.subTest(rate=rate):
                bpy.context.scene.render.fps = round(rate)
                bpy.context.scene.render.fps_base = round(rate) / rate
                self.motion_path = self.write("踊り.vmd", motion_file.write_vmd(self.first))
                self.imported(replace=True)
                arm = motion_file.Keys("arm", [key(ARM, 0, 5), key(ARM, 8, 6)], [])
                self.merge(arm, frame_start=1)
                self.assert_plays((1, 3, 8), speed=30 / rate)
        bpy.context.scene.render.fps_base = 1

    def test_three_motions(self):
        arm = motion_file.Keys("arm", [key(ARM, 0, 5), key(ARM, 8, 6)], [])
        self.merge(arm, name="arm.vmd")
        self.first = laid(self.first, arm)
        self.merge(motion_file.Keys("hips", [key("センター", 0, 7)], []))
        self.assert_plays(range(1, 17))

    def test_a_motion_of_which_nothing_is_left_is_forgotten(self):
        arm = motion_file.Keys("arm", [key(ARM, 0, 5), key(ARM, 8, 6)], [])
        for name in ("arm.vmd", "again.vmd"):
            self.merge(arm, name=name)
        files = json.loads(self.armature["mmdskin_motion"])["files"]
        names = [os.path.basename(path) for path, _, _ in files]
        self.assertEqual(names, ["踊り.vmd", "again.vmd"])
        self.assert_plays(range(1, 17))

    def test_ik_switches_of_the_second_hold_from_then_on(self):
        off = motion_file.PropertyKey(4, 1, [(FOOT, 0)])
        arm = motion_file.Keys("arm", [key(ARM, 0, 5)], [], properties=[off])
        self.first = self.first._replace(properties=[off])
        self.merge(arm)
        self.assert_plays((1, 3, 5, 9, 16))

    def test_first_motion_that_is_gone(self):
        wrist = self.points("手首.L")
        os.remove(self.motion_path)
        path = self.write(
            "arm.vmd", motion_file.write_vmd(motion_file.Keys("", [key(ARM, 0, 5)], []))
        )
        with case.reports() as said:
            self.imported(path)
        self.assertIn("'踊り.vmd' cannot be opened", said[0])
        self.assertEqual(self.points("手首.L"), wrist)

    def test_the_users_own_keyframes_count_as_a_first_motion(self):
        bpy.ops.mmdskin.clear_motion()
        wrist = self.armature.pose.bones["手首.L"]
        wrist.rotation_mode = "QUATERNION"
        for frame, x in ((1, 0.0), (9, 0.25)):
            wrist.rotation_quaternion.x = x
            wrist.keyframe_insert("rotation_quaternion", frame=frame)
        before = self.points("手首.L")
        path = self.write(
            "arm.vmd", motion_file.write_vmd(motion_file.Keys("", [key(ARM, 0, 5)], []))
        )
        self.imported(path)
        self.assertEqual(self.points("手首.L"), before)

    def test_replace(self):
        second = faster(self.scene.pmx)
        arm = second._replace(bones=[one for one in second.bones if one.name == ARM], morphs=[])
        self.motion_path = self.write("arm.vmd", motion_file.write_vmd(arm))
        self.imported(replace=True)
        self.assert_plays((1, 4, 6, 16))
        keyed = {curve.data_path.split('"')[1] for curve in self.curves(self.armature)}
        self.assertEqual(keyed, {"腕.L", "腕.R"})  # the right one follows the left
        self.assertFalse(self.mesh.data.shape_keys.animation_data)
