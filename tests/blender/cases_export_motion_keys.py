# SPDX-License-Identifier: GPL-3.0-or-later
"""Export MMD Motion of imported Original Keys: what did not change is the file's, byte for byte."""

import os

import bpy
import case
import imported
import numpy as np
import scene
from cases_export_motion import ExportCase, addon
from cases_motion_keys import IK, dance
from files import motion_file


def records(path):
    """{(kind, name, frame): the key's bytes} of a file."""
    with open(path, "rb") as file:
        keys = motion_file.keys(file.read())
    found = {
        ("bone", k.name, k.frame): (*bits(k.translation), *bits(k.rotation), k.block)
        for k in keys.bones
    }
    found.update({("morph", k.name, k.frame): bits([k.weight]) for k in keys.morphs})
    found.update({("property", b"", k.frame): (k.visible, k.states) for k in keys.properties})
    return found


def differences(one, other):
    """Keys that differ, and keys that only one of them has."""
    return {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}


def bits(values):
    return tuple(np.array(values, np.float32).view(np.uint32).tolist())


class OriginalCase(ExportCase):
    def setUp(self):
        super().setUp()
        bpy.context.scene.frame_end = 60
        self.keys = self.dance()
        self.motion_path = self.write("踊り.vmd", motion_file.write_vmd(self.keys))
        self.add_ik()

    def dance(self):
        keys = dance(self.scene.pmx)
        states = [motion_file.PropertyKey(f, 1, [(IK, on)]) for f, on in ((0, 1), (9, 0), (20, 1))]
        morphs = [k for k in keys.morphs if k.name in "あい"]
        return keys._replace(morphs=morphs, properties=states)

    def add_ik(self):
        ik = self.armature.pose.bones["ひざ.R"].constraints.new("IK")
        ik.target, ik.subtarget, ik.chain_count = self.armature, "足ＩＫ.R", 2

    def imported(self, path=None, **options):
        return super().imported(path, **{"mode": "ORIGINAL", **options})

    def differences(self, path=None):
        """Keys of the export that differ from a file's, and keys that only one of them has."""
        self.exported()
        return differences(records(path or self.motion_path), records(self.out))

    def merged_with(self, later):
        """Import another file, without one of the arms; the path of a file of what then plays."""
        bones = [k for k in later.bones if k.name != "右腕"]
        later = later._replace(bones=bones, morphs=[])
        self.imported(self.write("later.vmd", motion_file.write_vmd(later)))
        keys = [k for k in self.keys.bones if k.frame < 7 or k.name == "右腕"]
        merged = self.keys._replace(bones=[*keys, *later.bones])
        return self.write("merged.vmd", motion_file.write_vmd(merged))

    def curve(self, path, index=0, block=None):
        found = self.curves(block or self.armature)
        return next(c for c in found if (c.data_path, c.array_index) == (path, index))


class Original(OriginalCase):
    def test_an_unchanged_import_is_written_key_for_key(self):
        for fps in (30, 24, 60):
            with self.subTest(fps=fps):
                bpy.context.scene.render.fps = fps
                self.imported(replace=True)
                self.assertEqual(self.differences(), set())

    def test_although_the_file_is_gone(self):
        self.imported()
        kept = records(self.motion_path)
        os.remove(self.motion_path)
        self.exported()
        self.assertEqual(records(self.out), kept)

    def test_although_handles_are_rounded_otherwise(self):
        """As by a build or a system that computes them in another order."""
        self.imported()
        for curve in self.curves(self.armature):
            for name in ("handle_left", "handle_right"):
                handles = np.empty(2 * len(curve.keyframe_points), np.float32)
                curve.keyframe_points.foreach_get(name, handles)
                handles[1::2] = np.nextafter(handles[1::2], np.float32(9))
                curve.keyframe_points.foreach_set(name, handles)
        self.assertEqual(self.differences(), set())

    def test_no_frame_is_visited(self):
        self.imported()
        seen = []

        def look(*_):
            seen.append(1)

        bpy.app.handlers.frame_change_pre.append(look)
        self.addCleanup(bpy.app.handlers.frame_change_pre.remove, look)
        self.exported()
        self.assertEqual(seen, [])

    def test_one_turned_key_changes_nothing_else(self):
        self.imported()
        for index in range(4):
            point = self.curve('pose.bones["腕.L"].rotation_quaternion', index).keyframe_points[1]
            point.co.y += 0.05
        name = "左腕".encode("cp932")
        allowed = {("bone", name, frame) for frame in range(14)}
        found = self.differences()
        self.assertIn(("bone", name, 4), found)
        self.assertEqual(found - allowed, set())

    def test_one_moved_key_changes_nothing_else(self):
        self.imported()
        channels = ("location", 3), ("rotation_quaternion", 4)
        for channel, count in channels:
            for index in range(count):
                curve = self.curve(f'pose.bones["腕.L"].{channel}', index)
                curve.keyframe_points[2].co.x += 2
                curve.update()
        name = "左腕".encode("cp932")
        found = self.differences()
        self.assertLessEqual({("bone", name, 13), ("bone", name, 15)}, found)
        self.assertEqual(found - {("bone", name, frame) for frame in range(4, 31)}, set())

    def test_keys_between_mmds_frames_first_last_or_alone_are_not_lost(self):
        bpy.context.scene.render.fps = 24
        bones = [
            k for k in self.keys.bones if k.name != "右腕" and (k.name != "左腕" or k.frame > 4)
        ]
        self.imported(
            self.write("部分.vmd", motion_file.write_vmd(self.keys._replace(bones=bones)))
        )
        for name, frames in (("腕.L", (3, 40)), ("腕.R", (20, 34))):
            bone = self.armature.pose.bones[name]
            bone.rotation_mode = "QUATERNION"
            for frame, rotation in zip(frames, ((0.8, 0.6, 0, 0), (0.6, 0, 0, 0.8)), strict=True):
                self.assertNotEqual((frame - 1) * 30 / 24 % 1, 0)
                bone.rotation_quaternion = rotation
                bone.keyframe_insert("rotation_quaternion", frame=frame)
                bone.keyframe_insert("location", frame=frame)
        before = self.locals_of("腕.L", "腕.R")
        self.exported()
        self.imported(self.out, replace=True)
        miss = np.abs(self.locals_of("腕.L", "腕.R") - before).max()
        self.assertLess(miss, 0.01)  # a key lies up to half a frame beside its place

    def locals_of(self, *names):
        """(F, B, 4, 4) of bones on the frames of the scene."""
        found = []
        for frame in range(1, 61):
            bpy.context.scene.frame_set(frame)
            found.append([np.array(self.armature.pose.bones[n].matrix_basis) for n in names])
        return np.array(found)

    def test_a_removed_bone_track_is_gone_and_others_stay(self):
        self.imported()
        data = self.armature.animation_data
        holder = addon().blender.actions.channels(self.armature)[0]
        paths = set(addon().blender.actions.bone_paths("手首.L").values())
        addon().blender.actions.drop(holder.fcurves, paths)
        self.armature.pose.bones["手首.L"].matrix_basis.identity()
        for channel in ("location", "rotation_quaternion"):
            self.armature.pose.bones["手首.L"].property_unset(channel)
        name = "左手首".encode("cp932")
        self.assertEqual(self.differences(), {("bone", name, frame) for frame in (0, 4, 13, 30)})
        self.assertIsNotNone(data)

    def test_two_merged_files(self):
        self.imported()
        later = dance(self.scene.pmx, seed=9, frames=(7, 21))
        self.assertEqual(self.differences(self.merged_with(later)), set())

    def test_bones_and_morphs_that_the_scene_lacks(self):
        other = motion_file.BoneKey("知らない骨", 3, (1, 2, 3))
        keys = self.keys._replace(
            bones=[*self.keys.bones, other],
            morphs=[*self.keys.morphs, motion_file.MorphKey("知らない", 2, 0.5)],
        )
        path = self.write("more.vmd", motion_file.write_vmd(keys))
        self.imported(path)
        self.assertEqual(self.differences(path), set())

    def test_a_changed_morph_changes_nothing_else(self):
        """Not even a key of another morph that the scene lacks, as it changes nothing."""
        morphs = [k for k in self.keys.morphs if k.name == "あ"]
        morphs += [motion_file.MorphKey("い", frame, 0.5) for frame in (0, 5, 9)]
        path = self.write("口.vmd", motion_file.write_vmd(self.keys._replace(morphs=morphs)))
        self.imported(path)
        curve = self.curve('key_blocks["あ"].value', 0, self.mesh.data.shape_keys)
        curve.keyframe_points[1].co.y = 0.25
        key = "morph", "あ".encode("cp932"), int(curve.keyframe_points[1].co.x) - 1
        self.assertEqual(self.differences(path), {key})

    def test_a_morph_that_holds_its_value_jumps_between_two_frames(self):
        self.imported()
        curve = self.curve('key_blocks["あ"].value', 0, self.mesh.data.shape_keys)
        for point, (frame, value) in zip(
            curve.keyframe_points, ((1, 0.25), (8, 0.75)), strict=False
        ):
            point.co, point.interpolation = (frame, value), "CONSTANT"
        while len(curve.keyframe_points) > 2:
            curve.keyframe_points.remove(curve.keyframe_points[2])
        (track,) = (one for one in self.exported().morphs if one.name == "あ")
        keys = zip(track.frames.tolist(), track.weights.tolist(), strict=True)
        self.assertEqual(list(keys), [(0, 0.25), (6, 0.25), (7, 0.75)])

    def test_a_changed_ik_switch_changes_the_switches_only(self):
        self.imported()
        curve = self.curve('pose.bones["ひざ.R"].constraints["IK"].influence')
        curve.keyframe_points[1].co.x += 3
        self.assertEqual(self.differences(), {("property", b"", frame) for frame in (9, 12)})

    def test_a_part_of_the_range(self):
        self.imported()
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 5, 20
        self.exported()
        found, whole = records(self.out), records(self.motion_path)
        self.assertLessEqual({number for _, _, number in found}, set(range(16)))
        for (kind, name, number), key in whole.items():
            if kind == "bone" and number == 13:
                self.assertEqual(found[kind, name, 9], key)

    def test_a_pose_without_keys_is_exported(self):
        keys = self.keys._replace(bones=[k for k in self.keys.bones if k.name != "右腕"])
        self.imported(self.write("less.vmd", motion_file.write_vmd(keys)))
        self.armature.pose.bones["腕.R"].location.y = 0.08
        name = "右腕".encode("cp932")
        self.assertIn(("bone", name, 0), self.differences())
        self.assertEqual(records(self.out)["bone", name, 0][:3], bits((0, 1, 0)))


class Bytes(OriginalCase):
    """Keys as other programs write them."""

    def dance(self):
        return self.odd(super().dance())

    def odd(self, keys):
        r = np.random.default_rng(3)

        def odd(key):
            block = bytearray(key.block)
            block[16:] = r.integers(0, 127, 48, np.uint8).tobytes()
            q = np.array(key.rotation) * 1.001
            return key._replace(block=bytes(block), rotation=tuple(q.tolist()))

        return keys._replace(bones=[odd(k) for k in keys.bones])

    def test_rotations_and_copies_of_curves_stay_as_they_were(self):
        self.imported()
        self.assertEqual(self.differences(), set())

    def test_so_do_those_of_two_merged_files(self):
        self.imported()
        later = self.odd(dance(self.scene.pmx, seed=9, frames=(7, 21)))
        self.assertEqual(self.differences(self.merged_with(later)), set())


class RealModels(imported.Case):
    """Published models and dances."""

    def test_a_dance_is_written_key_for_key(self):
        for name, motion in (
            ("初音ミク.pmx", "wavefile_v2.vmd"),
            ("巡音ルカ.pmx", "realize_motion.vmd"),
        ):
            with self.subTest(model=name):
                scene.clear()
                bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 250
                model = self.load(case.shared_model(name))
                path = str(case.shared_model(motion))
                scene.select(model.armature)
                bpy.ops.mmdskin.import_motion(filepath=path, mode="ORIGINAL")
                out = os.path.join(self.folder, "out.vmd")
                bpy.ops.mmdskin.export_motion(filepath=out)
                self.assertEqual(differences(records(path), records(out)), set())
