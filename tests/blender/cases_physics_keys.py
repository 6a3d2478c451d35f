# SPDX-License-Identifier: GPL-3.0-or-later
"""Physics of what an armature's own channels hold: the pose source "MMD's IK", simulated once."""

import os
import sys
from unittest import mock

import bpy
import fingerprint
import imported
import numpy as np
import scene
from cases_bake_range import forget_file
from cases_rig import legged
from cases_sliders import morph
from files import motion_file, pmx_file

HAIR = ("髪", "紐")
BAR = 1e-4 * scene.SCALE
FRAMES = (0, 5, 11, 15)


def addon():
    return sys.modules["addon_package"]


def dressed():
    """The rig, with hair on its body and a lace on the foot that IK leads.

    Nothing touches and joints have no limits: rounding does not decide what happens.
    """
    pmx = legged()
    shape = {"mask": 0, "size": (0.2, 0, 0), "linear_damping": 0.1, "angular_damping": 0.1}
    free = {"rotation_lower": (1, 1, 1), "rotation_upper": (-1, -1, -1)}
    first = len(pmx.bones)
    hangs = [(0, (0, 9, 0.5)), (3, (1, 0.8, 0.6))]
    for name, (parent, place) in zip(HAIR, hangs, strict=True):
        pmx.bones.append(pmx_file.Bone(name, position=place, parent=parent))
    for bone in (0, 3):
        place = pmx.bones[bone].position
        pmx.rigid_bodies.append(pmx_file.RigidBody(f"f{bone}", bone=bone, position=place, **shape))
    for number, (body, (_, place)) in enumerate(zip((0, 1), hangs, strict=True)):
        low = (place[0], place[1] - 0.5, place[2])
        pmx.rigid_bodies.append(
            pmx_file.RigidBody(f"b{number}", bone=first + number, position=low, mode=1, **shape)
        )
        pmx.joints.append(
            pmx_file.Joint(f"j{number}", body_a=body, body_b=2 + number, position=place, **free)
        )
    hair = np.arange(30)
    pmx.bone_indices[-30:, 0], pmx.bone_indices[-30:, 1:] = first + hair % 2, -1
    pmx.bone_weights[-30:], pmx.deform[-30:] = (1, 0, 0, 0), 0
    return pmx


def with_wind(pmx):
    """Morphs that push the hair, one of them a group, added to the rig."""
    pmx.morphs += [
        morph("風", "impulse", [2], [(0, 0.4, 0, 0.3, 0, 0, 0)]),
        morph("嵐", "group", [len(pmx.morphs)], [2.5]),
        morph("回転", "impulse", [3], [(1, 0, 0.2, 0, 0, 0.02, 0)]),
    ]
    return pmx


def switch(name, *keys):
    """Bone keys that let the bodies of a bone go or hold them: (frame, on)."""
    flags = {True: b"\0\0", False: b"\x63\x0f"}
    straight = [[20, 20, 107, 107]] * 4
    return [
        motion_file.BoneKey(name, frame, block=motion_file.block(straight, flags[bool(on)]))
        for frame, on in keys
    ]


def dance(names):
    """Keys a sixth of a second apart: between them Blender's four curves of a turn are near MMD's."""
    random = np.random.default_rng(5)
    ways, axes = random.uniform(-1, 1, (2, len(names), 3))
    keys = []
    for name, way, axis in zip(names, ways, axes, strict=True):
        for frame in range(0, 16, 5):
            swing = np.sin(frame / 3)
            turn = np.append(0.08 * swing * axis, 1)
            turn = tuple(turn / np.linalg.norm(turn))
            keys.append(motion_file.BoneKey(name, frame, tuple(swing * way), turn))
    switches = [(0, 1), (10, 0), (13, 1)]
    properties = [motion_file.PropertyKey(f, 1, [("左足ＩＫ", on)]) for f, on in switches]
    return motion_file.Keys("踊り", keys, [], properties=properties)


class Keyed(imported.Case):
    """A model with a motion's own keys, in a file of the disk."""

    fps = 30

    def setUp(self):
        super().setUp()
        self.pmx = dressed()
        self.import_model()
        bpy.context.scene.render.fps = self.fps
        self.addCleanup(lambda: setattr(bpy.context.scene.render, "fps", 24))
        self.write_motion(self.keys())
        self.import_keys()
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 0, 15 * self.fps // 30
        self.blend = os.path.join(self.folder, "踊り.blend")
        bpy.ops.wm.save_as_mainfile(filepath=self.blend)
        self.addCleanup(forget_file)
        self.settings.source = "IK"
        self.settings.physics = True
        self.file = os.path.join(self.folder, f"踊り_{self.armature.name}_physics.npz")

    def import_model(self):
        self.path = self.write(self.pmx)
        self.model = self.load(self.path)
        self.armature, self.mesh = self.model.armature, self.model.mesh

    def keys(self):
        return dance([bone.name for bone in self.pmx.bones if bone.name not in HAIR])

    def write_motion(self, keys, name="踊り.vmd"):
        self.motion_path = self.write(motion_file.write_vmd(keys), name)

    def import_keys(self):
        scene.select(self.armature)
        bpy.ops.mmdskin.import_motion(filepath=self.motion_path, mode="KEYS", frame_start=0)

    @property
    def settings(self):
        return self.armature.mmdskin

    def simulate(self):
        self.assertEqual(bpy.ops.mmdskin.simulate(), {"FINISHED"})

    def expected(self, frame, physics=True, **settings):
        """(V, 3) of a frame of the motion."""
        mmdskin = addon().native.load()
        model, motion = mmdskin.load_model(self.path), mmdskin.load_motion(self.motion_path)
        physics = mmdskin.Physics(start=0, **settings) if physics else None
        pose = model.pose(motion, frame, physics=physics)
        return scene.in_blender(mmdskin.skin(model, pose, normals=False).positions)

    def shown(self, frame):
        """(V, 3) at a frame of the motion."""
        whole, part = divmod(frame * self.fps, 30)
        bpy.context.scene.frame_set(int(whole), subframe=part / 30)
        return scene.evaluated_positions(self.mesh)

    def assert_shows(self, frames=FRAMES, bar=BAR, **settings):
        for frame in frames:
            shown = self.shown(frame)
            self.assertEqual(addon().preview.tick.errors, {})
            self.assertEqual(addon().physics.cache.troubles, {})
            self.assert_close(shown, self.expected(frame, **settings), bar, frame)

    def assert_plain(self, words, frame=11):
        self.assert_close(self.shown(frame), self.expected(frame, physics=False), BAR)
        self.assertIn(words, addon().physics.cache.troubles.get(self.armature.name, ""))


class Switched(Keyed):
    """A motion whose keys switch the physics of bones."""

    def keys(self):
        keys = super().keys()
        hair = switch(HAIR[0], (0, 1), (6, 0), (11, 1)), switch(HAIR[1], (3, 0), (8, 1))
        return keys._replace(bones=sum(hair, keys.bones))

    def setUp(self):
        super().setUp()
        self.settings.preview = True

    def test_equals_the_simulation_of_the_same_motion(self):
        self.simulate()
        self.assert_shows((*FRAMES, 7, 8, 9, 12))
        self.write_motion(super().keys())
        self.assertGreater(np.abs(self.expected(9) - self.shown(9))[-30:].max(), 0.01)

    def test_are_keys_of_the_bones_that_an_artist_may_change(self):
        curves = {name: self.curve(name) for name in HAIR}
        points = {name: self.points(curve) for name, curve in curves.items()}
        self.assertEqual(points, {"髪": [(0, 1), (6, 0), (11, 1)], "紐": [(3, 0), (8, 1)]})
        self.simulate()
        curves["髪"].keyframe_points[1].co.x += 1
        curves["髪"].update()
        self.shown(11)
        told = addon().physics.cache.troubles.get(self.armature.name, "")
        self.assertIn("Keys have changed", told)

    def test_a_switch_that_is_not_keyed_is_told(self):
        self.simulate()
        self.shown(10)
        self.bone("髪")["mmd_physics"] = True
        self.armature.update_tag()
        bpy.context.view_layer.update()
        told = addon().physics.cache.troubles.get(self.armature.name, "")
        self.assertIn("This pose is not", told)

    def test_go_with_clear_motion(self):
        self.bone("紐")["mmd_physics"] = False
        bpy.ops.mmdskin.clear_motion()
        before = fingerprint.of_file()
        self.assertNotIn("mmd_physics", self.bone("髪"))
        self.import_keys()
        self.assertIn("mmd_physics", self.bone("髪"))
        bpy.ops.mmdskin.clear_motion()
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_a_later_motion_switches_from_its_first_key_on(self):
        later = [*switch(HAIR[0], (9, 1)), *switch(HAIR[1], (12, 0), (14, 1))]
        self.write_motion(motion_file.Keys("次", later, []), "次.vmd")
        self.import_keys()
        found = {name: self.points(self.curve(name)) for name in HAIR}
        wanted = {"髪": [(0, 1), (6, 0), (9, 1)], "紐": [(3, 0), (8, 1), (12, 0), (14, 1)]}
        self.assertEqual(found, wanted)

    def points(self, curve):
        return [(point.co.x * 30 / self.fps, point.co.y) for point in curve.keyframe_points]

    def bone(self, name):
        return next(bone for bone in self.armature.pose.bones if bone["mmd_name_j"] == name)

    def curve(self, name):
        path = f'pose.bones["{self.bone(name).name}"]["mmd_physics"]'
        found = addon().actions.played(self.armature.animation_data)
        return next(curve for curves in found for curve in curves if curve.data_path == path)


class Live(Keyed):
    def setUp(self):
        super().setUp()
        self.settings.preview = True

    def test_equals_the_simulation_of_the_same_motion(self):
        self.assert_plain("Not simulated yet")
        self.simulate()
        self.assert_shows()
        plain = self.expected(11, physics=False)
        self.assertGreater(np.abs(self.expected(11) - plain)[-30:].max(), 0.02)

    def test_settings_reach_the_simulation(self):
        settings = {"ground": False, "settle": 7, "hz": 120}
        for name, value in settings.items():
            setattr(self.settings, f"physics_{name}", value)
        self.simulate()
        self.assert_shows(**settings)

    def test_any_frame_in_any_order_and_between(self):
        self.simulate()
        self.assert_shows((15, 2, 9, 0))
        for subframe in (0.5, 0.25):
            bpy.context.scene.frame_set(8, subframe=subframe)
            shown = scene.evaluated_positions(self.mesh)
            self.assertEqual(addon().physics.cache.troubles, {})
            # Blender's curves of a turn leave MMD's a little between keys.
            self.assert_close(shown, self.expected(8 + subframe), 10 * BAR)

    def test_keys_that_have_changed_are_told(self):
        self.simulate()
        curve = self.curve("センター", "location")
        curve.keyframe_points[1].co.y += 0.01
        curve.update()
        self.assert_told("Keys have changed")
        curve.keyframe_points[1].co.y -= 0.01
        curve.update()
        self.assert_shows()

    def test_a_pose_that_is_not_keyed_is_told(self):
        self.simulate()
        self.shown(11)
        bone = self.bone("左足ＩＫ")
        bone.location.x += 0.1
        bpy.context.view_layer.update()
        self.assertIn("This pose is not", self.trouble)
        self.assertGreater(
            np.abs(scene.evaluated_positions(self.mesh) - self.expected(11)).max(), BAR
        )
        self.assert_shows()

    def test_frames_that_were_not_simulated_are_told(self):
        bpy.context.scene.frame_end = 10
        self.simulate()
        self.assert_shows((0, 10))
        self.shown(12)
        self.assertIn("Only frames 0 to 10", self.trouble)

    @property
    def trouble(self):
        return addon().physics.cache.troubles.get(self.armature.name, "")

    def assert_told(self, words):
        self.shown(11)
        self.assertIn(words, self.trouble)

    def bone(self, name):
        return next(bone for bone in self.armature.pose.bones if bone["mmd_name_j"] == name)

    def curve(self, name, channel):
        path = f'pose.bones["{self.bone(name).name}"].{channel}'
        found = addon().actions.played(self.armature.animation_data)
        return next(curve for curves in found for curve in curves if curve.data_path == path)

    def test_changed_settings_and_files_are_told(self):
        self.simulate()
        self.settings.physics_settle = 3
        self.assert_plain("files or settings have changed")
        self.settings.physics_settle = 60
        self.assert_shows((11,))
        bpy.context.scene.render.fps = 24
        self.shown(11)
        self.assertIn("files or settings have changed", self.trouble)
        bpy.context.scene.render.fps = 30
        self.pmx.rigid_bodies[-1].mass = 7
        self.write(self.pmx)
        self.settings.model_path = self.path  # looks again
        self.assert_plain("files or settings have changed")

    def test_a_simulation_of_the_motion_file_is_not_that_of_the_keys(self):
        self.settings.motion_path, self.settings.motion_start = self.motion_path, 0
        self.settings.source = "MOTION"
        self.simulate()
        self.settings.source = "IK"
        self.assert_plain("files or settings have changed")

    def test_a_strip_that_is_moved_is_told(self):
        data = self.armature.animation_data
        action, slots = addon().actions.held(self.armature)
        strip = data.nla_tracks.new().strips.new("踊り", 0, action)
        if hasattr(strip, "action_slot"):
            strip.action_slot = action.slots[slots[0]]
        data.action = None
        self.simulate()
        self.assert_shows((11,))
        strip.frame_start, strip.frame_end = 2, 17
        self.shown(11)
        self.assertIn("simulate again", self.trouble)

    def test_found_again_with_the_blend(self):
        self.simulate()
        bpy.ops.wm.save_mainfile()
        names = self.mesh.name, self.armature.name
        bpy.ops.wm.open_mainfile(filepath=self.blend)
        self.mesh, self.armature = (bpy.data.objects[name] for name in names)
        self.assert_shows((11, 4))

    def test_undone_and_redone(self):
        bpy.ops.ed.undo_push()
        self.simulate()
        bpy.ops.ed.undo_push()
        name = self.mesh.name, self.armature.name
        bpy.ops.ed.undo()
        self.mesh, self.armature = (bpy.data.objects[one] for one in name)
        self.assert_plain("Not simulated yet")
        bpy.ops.ed.redo()
        self.mesh, self.armature = (bpy.data.objects[one] for one in name)
        self.assert_shows((11,))


class Pushed(Keyed):
    """Morphs that push bodies."""

    def import_model(self):
        with_wind(self.pmx)
        super().import_model()

    def keys(self):
        weights = {"風": (0, 0.5, 1, 0), "嵐": (0.2, 0, 0, 0.6), "回転": (0, 1, 0, 0)}
        morphs = [
            motion_file.MorphKey(name, 5 * number, weight)
            for name, of_name in weights.items()
            for number, weight in enumerate(of_name)
        ]
        return super().keys()._replace(morphs=morphs)

    def test_their_sliders_act_in_the_simulation(self):
        for name in ("風", "嵐", "回転"):
            self.assertIn(name, self.armature)
        self.settings.preview = True
        self.simulate()
        self.assert_shows()
        self.write_motion(super().keys())
        self.assertGreater(np.abs(self.expected(11) - self.shown(11))[-30:].max(), 0.02)

    def test_a_slider_that_is_moved_is_told(self):
        self.settings.preview = True
        self.simulate()
        self.shown(11)
        self.armature["風"] = 0.9
        self.armature.update_tag()
        bpy.context.view_layer.update()
        told = addon().physics.cache.troubles.get(self.armature.name, "")
        self.assertIn("This pose is not", told)


class Scene(Keyed):
    """What Simulate leaves of the scene that it goes through."""

    def setUp(self):
        super().setUp()
        self.settings.preview = True
        bpy.context.scene.frame_set(7, subframe=0.25)
        self.armature.pose.bones[0].location.x += 0.3  # not keyed: another frame would take it
        bpy.context.view_layer.update()

    def test_everything_but_the_cache(self):
        before = self.state()
        self.simulate()
        self.settings.physics_cache = ""
        self.assert_as_before(before)

    def test_live_meshes_rest_meanwhile(self):
        tick, playhead = addon().preview.tick, addon().playhead
        with mock.patch.object(tick, "_show", wraps=tick._show) as show:
            self.simulate()
        self.assertLess(show.call_count, 5)  # of 31 places
        with self.assertRaises(ValueError), playhead.Playhead(bpy.context) as head:
            head.go_to(1e20, unseen=True)
        self.assertFalse(playhead._unseen)
        self.assert_shows((3, 11))

    def test_escape(self):
        before = self.state()
        model = addon().scene_model.of_object(self.mesh, bpy.context.view_layer)
        job = addon().physics.operators.Job([model], bpy.context)
        self.assertEqual(job.frames, 16)
        said = [next(job).text for _ in range(9)]
        self.assertIn("frame 5 of 16", said[-1])
        self.assertEqual(bpy.context.scene.frame_current, 4)
        job.close()
        self.assert_as_before(before)
        self.assertFalse(os.path.exists(self.file))

    def test_a_pose_that_is_not_a_number(self):
        curve = self.armature.driver_add('pose.bones["センター"].location', 0)
        curve.driver.expression = "0 if frame < 9 else 1e60"
        bpy.context.view_layer.update()
        before = self.state()
        with self.assertRaisesRegex(RuntimeError, "cannot be simulated at frame 9"):
            bpy.ops.mmdskin.simulate()
        self.assert_as_before(before)

    def state(self):
        place = bpy.context.scene.frame_current, bpy.context.scene.frame_subframe
        moved = tuple(self.armature.pose.bones[0].location)
        return place, moved, fingerprint.of_file()

    def assert_as_before(self, before):
        after = self.state()
        self.assertEqual(after[:2], before[:2])
        self.assertEqual(fingerprint.differences(before[2], after[2]), [])


class Baked(Keyed):
    def test_shape_keys_and_caches_show_it(self):
        self.simulate()
        for target in ("SHAPE_KEYS", "MESH_CACHE"):
            self.bake(target=target)
            self.assert_shows()
            bpy.ops.mmdskin.clear_bake()

    def test_what_is_not_simulated_is_not_baked(self):
        before = fingerprint.of_file()
        with self.assertRaisesRegex(RuntimeError, "cannot be baked: Not simulated yet"):
            self.bake()
        self.simulate()
        self.settings.physics_hz = 61
        with self.assertRaisesRegex(RuntimeError, "settings have changed"):
            self.bake()
        self.settings.physics_hz, self.settings.physics_cache = 60, ""
        self.assertEqual(fingerprint.differences(before, fingerprint.of_file()), [])

    def test_without_physics_none_is_baked(self):
        self.bake(physics=False)
        self.assert_close(self.shown(11), self.expected(11, physics=False), BAR)

    def bake(self, **options):
        scene.select(self.mesh)
        bpy.ops.mmdskin.bake(
            range="CUSTOM", frame_start=0, frame_end=15, folder=self.folder, **options
        )


class EveryPlace(Keyed):
    """At 60 frames a second every place is a frame."""

    fps = 60

    def test_time_is_that_of_the_scene(self):
        self.settings.preview = True
        self.simulate()
        self.assert_shows()


class Film(Keyed):
    """At 24 frames a second three in four are between places."""

    fps = 24

    def test_time_is_that_of_the_scene(self):
        self.settings.preview = True
        self.simulate()
        for frame in range(13):
            self.assert_shows((frame * 30 / self.fps,))


class Television(Film):
    fps = 25


class OfMmdTools(Keyed):
    """Its imports, with its own rigid bodies there."""

    def setUp(self):
        tools = imported.MmdTools()
        tools.__enter__()
        self.addCleanup(tools.__exit__)
        self.addCleanup(scene.clear)
        super().setUp()

    def import_model(self):
        self.pmx.materials = [pmx_file.Material("肌", index_count=self.pmx.triangles.size)]
        self.path = self.write(self.pmx)
        bpy.ops.mmd_tools.import_model(filepath=self.path, clean_model=False)
        self.model = imported.Imported(bpy.context.view_layer.objects.active)
        self.armature, self.mesh = self.model.armature, self.model.mesh
        self.settings.model_path = self.path

    def test_equals_the_simulation_of_the_same_motion(self):
        bpy.ops.mmd_tools.build_rig()
        self.settings.preview = True
        self.simulate()
        self.assert_shows()
