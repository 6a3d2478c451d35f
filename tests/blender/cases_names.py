# SPDX-License-Identifier: GPL-3.0-or-later
"""Japanese and English names: at import and by the operator, and that all references follow."""

import configparser
import sys
from unittest import mock

import bpy
import case
import fingerprint
import imported
import numpy as np
import scene
from cases_motion import dance, rig
from cases_sliders import morph
from files import motion_file, pmx_file
from mathutils import Quaternion

ENGLISH = ["center", "arm_L", "", "wrist_L", "arm_R", "leg", "leg", "ankle", "leg IK"]
SHOWN = ["center", "arm_L", "elbow.L", "wrist_L", "arm_R", "leg", "leg.001", "ankle", "leg IK"]


class Case(imported.Case):
    def setUp(self):
        super().setUp()
        self.pmx = rig()
        for bone, english in zip(self.pmx.bones, ENGLISH, strict=True):
            bone.name_english = english
        for record, english in zip(self.pmx.morphs, ("a", "sum", "", "a", " ", "x"), strict=True):
            record.name_english = english
        self.pmx.materials = [
            pmx_file.Material("肌", name_english="skin", index_count=3 * len(self.pmx.triangles))
        ]

    def load_model(self, **options):
        self.model = self.load(self.write(self.pmx), constraints=False, **options)
        self.armature, self.mesh = self.model.armature, self.model.mesh
        return self.model

    def bones(self):
        bones = sorted(self.armature.pose.bones, key=lambda bone: bone["mmd_bone_id"])
        return [bone.name for bone in bones]

    def keys(self):
        names = self.mesh.data.shape_keys.key_blocks.keys()
        return [name for name in names if not name.startswith(("Basis", "mmd_"))]

    def switch(self, **options):
        scene.select(self.mesh)
        self.assertEqual(bpy.ops.mmdskin.switch_names(**options), {"FINISHED"})

    def write_motion(self):
        return self.write(motion_file.write_vmd(dance(self.pmx)), "踊り.vmd")


class AtImport(Case):
    def test_english(self):
        self.load_model(names="ENGLISH")
        self.assertEqual(self.bones(), SHOWN)
        self.assertEqual(self.keys(), ["a", "sum", "i", "a.001", "中のまとめ"])
        self.assertEqual([m.name for m in self.mesh.data.materials], ["skin"])
        groups = {group.name for group in self.mesh.vertex_groups}
        self.assertLessEqual(set(SHOWN), groups)

    def test_long_names_are_cut_and_numbered(self):
        self.pmx.bones[0].name_english = self.pmx.bones[1].name_english = "x" * 90
        self.load_model(names="ENGLISH")
        self.assertEqual(self.bones()[:2], ["x" * 63, "x" * 59 + ".001"])

    def test_equals_the_operators_result(self):
        self.load_model(names="ENGLISH")
        names = self.bones(), self.keys()
        self.switch()
        japanese = self.bones(), self.keys()
        self.assertNotEqual(japanese, names)
        self.switch()
        self.assertEqual((self.bones(), self.keys()), names)
        scene.clear()
        self.load_model()
        self.assertEqual((self.bones(), self.keys()), japanese)


class Switch(Case):
    def setUp(self):
        super().setUp()
        self.load_model()

    def animate(self):
        """One of each kind of reference to bones and keys by name."""
        arm = self.armature.pose.bones["腕.L"]
        for frame, x in ((1, 0.0), (9, 0.5)):
            arm.location.x = x
            arm.keyframe_insert("location", frame=frame)
            key = self.mesh.data.shape_keys.key_blocks["あ"]
            key.value = x
            key.keyframe_insert("value", frame=frame)
        copy = self.armature.pose.bones["足.R"].constraints.new("COPY_ROTATION")
        copy.target, copy.subtarget = self.armature, "腕.L"
        driver = self.mesh.data.shape_keys.key_blocks["い"].driver_add("value").driver
        variable = driver.variables.new()
        variable.name, variable.type = "v", "TRANSFORMS"
        variable.targets[0].id, variable.targets[0].bone_target = self.armature, "腕.L"
        variable.targets[0].transform_type, driver.expression = "LOC_X", "v"
        bpy.context.scene.frame_set(5)

    def test_there_and_back_changes_nothing(self):
        self.animate()
        self.armature.mmdskin.preview = True
        bpy.context.view_layer.update()
        before = fingerprint.of_file()
        self.switch()
        self.assertEqual(self.bones(), SHOWN)
        self.assertTrue(fingerprint.differences(before, fingerprint.of_file()))
        self.switch(language="ENGLISH")
        self.switch()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_everything_follows_and_live_stays(self):
        self.animate()
        bpy.ops.mmdskin.preview(action="ENABLE")
        before = scene.evaluated_positions(self.mesh)
        self.switch()
        for frame in (9, 5):
            bpy.context.scene.frame_set(frame)
        self.assert_close(scene.evaluated_positions(self.mesh), before)
        self.assertTrue(self.armature.mmdskin.preview)
        self.assertEqual(self.armature.pose.bones["leg"].constraints[0].subtarget, "arm_L")
        self.assertEqual(case.live_errors(), [])

    def test_bone_morphs_move_on_as_do_those_of_copies(self):
        self.pmx.morphs += [morph("骨", "bone", [1], [(0.5, 1, -2, 0, 0.6, 0, 0.8)])]
        self.load_model()
        copies = []
        for linked in (False, True):
            scene.select(self.armature)
            bpy.ops.object.duplicate(linked=linked)
            copies.append(bpy.context.view_layer.objects.active)
        before = self.moved(self.armature)
        self.assertGreater(
            np.abs(before - np.array(self.armature.data.bones[1].matrix_local)).max(), 0.1
        )
        self.switch()
        self.assert_close(self.moved(self.armature), before)
        for copy in copies:
            self.assert_close(self.moved(copy), before)
        self.switch()
        self.assert_close(self.moved(self.armature), before)

    def test_a_failure_gives_the_action_of_bone_morphs_back(self):
        self.pmx.morphs += [morph("骨", "bone", [1], [(0.5, 1, -2, 0, 0.6, 0, 0.8)])]
        self.load_model()
        scene.select(self.armature)
        bpy.ops.object.duplicate()
        scene.select(self.mesh)
        before = fingerprint.of_file()
        rename = sys.modules["addon_package"].rename
        broken = mock.patch.object(rename, "_changes_of_materials", side_effect=KeyError("x"))
        with broken, self.assertRaises(RuntimeError):
            bpy.ops.mmdskin.switch_names()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_a_failure_between_two_bones_renames_none(self):
        self.load_model()
        before = fingerprint.of_file()
        edit_class, done = sys.modules["addon_package"].rename.Edit, []
        change = edit_class.set

        def change_some(*arguments):
            if len(done) == count:
                raise KeyError("x")
            done.append(change(*arguments))

        for count in (1, 2, 4):
            done.clear()
            broken = mock.patch.object(edit_class, "set", change_some)
            with broken, self.assertRaises(RuntimeError):
                bpy.ops.mmdskin.switch_names()
            self.assertEqual(len(done), count)
            self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def moved(self, armature):
        """The arm as a bone morph moves it."""
        number = [bone["mmd_bone_id"] for bone in armature.pose.bones].index(1)
        for value in (0.0, 1.0):
            armature["骨"] = value
            armature.update_tag()
            bpy.context.view_layer.update()
        shown = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        return np.array(shown.pose.bones[number].matrix)

    def test_single_poses_of_driven_keys_gather_on(self):
        shown = []
        for frame, angle in ((1, 1.2), (2, -1.2)):
            self.bend(angle)
            bpy.context.scene.frame_set(frame)
            scene.select(self.mesh)
            bpy.ops.mmdskin.bake(target="CORRECTIVE", corrective="DRIVEN", range="CURRENT")
            shown.append(scene.evaluated_positions(self.mesh))
            self.switch()
        for angle, expected in zip((1.2, -1.2), shown, strict=True):
            self.bend(angle)
            self.assert_close(scene.evaluated_positions(self.mesh), expected)

    def test_single_poses_gather_on_where_a_morph_has_the_name_of_a_bone(self):
        self.pmx.bones[2].name = self.pmx.morphs[0].name = "誰も知らない"
        self.load_model()
        self.test_single_poses_of_driven_keys_gather_on()

    def bend(self, angle):
        elbow = self.armature.pose.bones[self.bones()[2]]
        elbow.rotation_mode, elbow.rotation_euler.z = "XYZ", angle
        bpy.context.view_layer.update()

    def test_names_that_change_places(self):
        for bone, english in zip(self.pmx.bones, ("左腕", "センター"), strict=False):
            bone.name_english = english
        self.load_model()
        self.assertEqual(self.bones()[:2], ["センター", "腕.L"])
        self.pmx.bones[1].name_english = "センター"
        self.switch()
        self.assertEqual(self.bones()[:2], ["腕.L", "センター"])
        self.switch()
        self.assertEqual(self.bones()[:2], ["センター", "腕.L"])

    def test_names_given_by_the_user_are_kept(self):
        self.armature.data.bones["腕.L"].name = "mine"
        self.mesh.data.shape_keys.key_blocks["あ"].name = "my key"
        self.mesh.data.materials[0].name = "my skin"
        self.switch()
        self.assertEqual(self.bones()[:2], ["center", "mine"])
        self.assertEqual(self.keys()[:2], ["my key", "sum"])
        self.assertEqual(self.mesh.data.materials[0].name, "my skin")

    def test_in_pose_mode(self):
        scene.select(self.armature)
        bpy.ops.object.mode_set(mode="POSE")
        self.addCleanup(bpy.ops.object.mode_set, mode="OBJECT")
        bpy.ops.mmdskin.switch_names(language="ENGLISH")
        self.assertEqual(self.bones(), SHOWN)

    def test_a_bake_can_be_cleared_afterwards(self):
        self.animate()
        before = fingerprint.of_file()
        scene.select(self.mesh)
        bpy.ops.mmdskin.bake()
        shown = scene.evaluated_positions(self.mesh)
        self.switch()
        self.assert_close(scene.evaluated_positions(self.mesh), shown)
        bpy.ops.mmdskin.clear_bake()
        self.switch()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_the_list_of_mmd_tools_follows(self):
        with imported.MmdTools():
            self.load_model()
            listed = self.model.root.mmd_root.vertex_morphs
            before = [item.name for item in listed]
            self.switch()
            self.assertEqual([item.name for item in listed], ["a", "i", "a.001"])
            self.assertEqual(self.keys(), ["a", "sum", "i", "a.001", "中のまとめ"])
            self.switch()
            self.assertEqual([item.name for item in listed], before)

    def test_other_models_are_rejected(self):
        scene.clear()
        other = scene.Scene(rig())
        scene.select(other.mesh)
        with self.assertRaisesRegex(
            RuntimeError, "an mmd_tools model: use Translate in its Model Production panel"
        ):
            bpy.ops.mmdskin.switch_names()
        del other.root["mmd_type"]
        with self.assertRaisesRegex(RuntimeError, "was not imported by MMD Skin"):
            bpy.ops.mmdskin.switch_names()


class Motions(Case):
    def pose(self):
        """The state in the middle of the dance."""
        bpy.context.scene.frame_set(8)
        return scene.evaluated_positions(self.mesh)

    def test_find_their_tracks_either_way(self):
        shown = []
        for names in ("JAPANESE", "ENGLISH"):
            self.load_model(names=names)
            scene.select(self.mesh)
            bpy.ops.mmdskin.import_motion(filepath=self.write_motion())
            shown.append(self.pose())
            scene.clear()
        self.assert_close(*shown)

    def test_play_on_and_can_be_cleared(self):
        self.load_model()
        scene.select(self.mesh)
        bone = self.armature.pose.bones["腕.L"]
        bone.rotation_mode = "XYZ"
        bone.keyframe_insert("rotation_euler", frame=3)
        self.armature.animation_data.action.name = "mine"
        before = fingerprint.of_file()
        bpy.ops.mmdskin.import_motion(filepath=self.write_motion(), extend_range=False)
        bpy.context.scene.frame_set(1)
        shown = self.pose()
        self.switch()
        bpy.context.scene.frame_set(1)
        self.assert_close(self.pose(), shown)
        bpy.ops.mmdskin.clear_motion()
        self.switch()
        bpy.context.scene.frame_set(1)
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])


class Table(Case):
    """Names that the community uses where the file has no English ones."""

    def find(self, kind, name):
        return sys.modules["addon_package"].scene.names.english_name(kind, name)

    def test_sides_and_digits(self):
        for name, english in (
            ("左腕", "arm.L"),
            ("右足ＩＫ", "leg IK.R"),
            ("右親指１", "thumb 1.R"),
            ("上半身2", "upper body 2"),
            ("左髪１先", "hair 1 tip.L"),
            ("スカート左前", "front skirt.L"),
            ("誰も知らない", ""),
            ("左右", ""),
        ):
            self.assertEqual(self.find("bones", name), english)

    def test_numbered_bones_of_hair_tails_and_ornaments(self):
        for name, english in (
            ("テール1", "tail 1"),
            ("左テール２", "tail 2.L"),
            ("テール先", "tail tip"),
            ("腰飾り", "waist ornament"),
            ("右後髪後列１", "back hair back row 1.R"),
            ("左ひも1", "string 1.L"),
            ("下あご", "lower jaw"),
        ):
            self.assertEqual(self.find("bones", name), english)

    def test_the_usual_morphs_of_published_models(self):
        """Those of Tda's models, and of ours."""
        usual = """
            真面目 困る にこり 怒り 喜び 悲しむ 敵意 上 下 前 眉頭左 眉頭右 左眉上げ 右眉怒り
            まばたき 笑い ウィンク ウィンク右 ウィンク２ ｳｨﾝｸ２右 なごみ なごみω はぅ びっくり わぉ?!
            じと目 ｷﾘｯ はちゅ目 はちゅ目縦潰れ はちゅ目横潰れ 星目 はぁと 瞳小 瞳縦潰れ 瞳大 光下
            恐ろしい子！ ハイライト消 映り込み消 ぐるぐる目 白目 ヤンデレ目
            あ い う え お あ２ ん ▲ ∧ □ ワ ω ω□ ああ にやり にやり２ にっこり ぺろっ てへぺろ てへぺろ２
            口角上げ 口角下げ 口横広げ 歯無し上 歯無し下 ハンサム えー はんっ！ べー むっ ぷくー
            照れ 涙 がーん みっぱい 頬染め 青ざめ メガネ
        """
        missing = [name for name in usual.split() if not self.find("morphs", name)]
        self.assertEqual(missing, [])
        self.assertEqual(self.find("morphs", "はちゅ目縦潰れ"), "blank eyes squashed")

    def test_morphs_that_name_one_side(self):
        for name, english in (
            ("ウィンク", "wink.L"),
            ("ｳｨﾝｸ２右", "wink 2.R"),
            ("左ウィンク", "wink.L"),
        ):
            self.assertEqual(self.find("morphs", name), english)

    def test_blender_finds_the_other_side(self):
        for bone in self.pmx.bones:
            bone.name_english = ""
        self.load_model(names="ENGLISH")
        self.assertEqual(self.bones()[1:5], ["arm.L", "elbow.L", "wrist.L", "arm.R"])

    def test_what_stays_japanese_is_reported(self):
        self.pmx.bones[2].name = "誰も知らない"
        self.load_model()
        scene.select(self.mesh)
        with case.reports() as said:
            bpy.ops.mmdskin.switch_names()
        # The bone and 中のまとめ.
        self.assertTrue(any("2 keep their Japanese names" in line for line in said), said)

    def test_a_table_with_an_invalid_line_is_refused(self):
        read = sys.modules["addon_package"].scene.names.read_table
        for text in ("a = b", "[bones]\na", "[bones]\nａ = b\na = c"):
            with self.assertRaises(configparser.Error):
                read(text)


class PasteFlipped(Case):
    def test_mirrors_a_pose(self):
        """The mirror image of the left arm's rotation, about the plane x = 0."""
        for bone in self.pmx.bones:
            bone.name_english = ""
        sides = [pmx_file.Bone("右ひじ", position=(-4, 10, 0), parent=4)]
        self.pmx.bones[4] = pmx_file.Bone("右腕", position=(0, 10, 0), parent=0)
        self.pmx.bones[1].tail_offset, self.pmx.bones[4].tail_offset = (4, 0.3, 0), (-4, 0.3, 0)
        self.pmx.bones[2].tail_offset, sides[0].tail_offset = (4, -1, 1), (-4, -1, 1)
        self.pmx.bones += sides
        self.model = self.load(self.write(self.pmx), names="ENGLISH")
        self.armature, self.mesh = self.model.armature, self.model.mesh
        left = self.bones()[1:3]
        right = [self.bones()[4], self.bones()[-1]]
        scene.select(self.armature)
        bpy.ops.object.mode_set(mode="POSE")
        bones = self.armature.pose.bones
        for name, turn, place in zip(
            left,
            ((0.9, 0.2, 0.3, -0.4), (0.8, -0.5, 0.1, 0.3)),
            ((0.1, 0.2, 0.05), (0, 0, 0)),
            strict=True,
        ):
            bones[name].rotation_mode = "QUATERNION"
            bones[name].rotation_quaternion = Quaternion(turn).normalized()
            bones[name].location = place
        bpy.context.view_layer.update()
        before = [
            np.array(bones[name].matrix @ bones[name].bone.matrix_local.inverted()) for name in left
        ]
        bpy.ops.pose.select_all(action="DESELECT")
        for name in left:
            pose_bone = bones[name]
            (pose_bone if hasattr(pose_bone, "select") else pose_bone.bone).select = True
        bpy.ops.pose.copy()
        bpy.ops.pose.paste(flipped=True)
        bpy.context.view_layer.update()
        after = [
            np.array(bones[name].matrix @ bones[name].bone.matrix_local.inverted())
            for name in right
        ]
        mirror = np.diag([-1.0, 1, 1, 1])
        for one, other in zip(before, after, strict=True):
            self.assert_close(other, mirror @ one @ mirror, 1e-4)
        bpy.ops.object.mode_set(mode="OBJECT")
