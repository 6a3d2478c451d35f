# SPDX-License-Identifier: GPL-3.0-or-later
"""While a bake reads poses, modifiers that no pose depends on are off, and only then."""

import bpy
import case
import numpy as np
import scene
from case import addon
from cases_bake_range import Range

FRAMES = range(1, 6)


def moving_cube(name):
    """A cube that a modifier moves along x, by its frame number."""
    mesh = bpy.data.meshes.new(name)
    corners = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    mesh.from_pydata(corners, [], faces)
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.collection.objects.link(obj)
    obj.vertex_groups.new(name="all").add(range(8), 1.0, "REPLACE")
    mover = obj.modifiers.new("mover", "DISPLACE")
    mover.direction, mover.mid_level = "X", 0.0
    for frame in (FRAMES[0], FRAMES[-1]):
        mover.strength = frame
        mover.keyframe_insert("strength", frame=frame)
    for curve in addon().blender.actions.playing_curves(obj):
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
    return obj


def place(obj):
    """The mean x of the evaluated vertices."""
    return float(scene.evaluated_positions(obj)[:, 0].mean())


class Evaluation(Range):
    def setUp(self):
        super().setUp()
        self.cube = moving_cube("stage")
        self.seen = []

    def bake(self, target="SHAPE_KEYS", **options):
        super().bake(target, frame_start=FRAMES[0], frame_end=FRAMES[-1], **options)

    def look(self, *_):
        """What is evaluated at the bake's frames."""
        evaluated = self.cube.evaluated_get(bpy.context.evaluated_depsgraph_get())
        positions = np.empty(24, np.float32)
        evaluated.data.vertices.foreach_get("co", positions)
        self.seen.append(round(float(positions[::3].mean()), 4))

    def watched(self, function):
        bpy.app.handlers.frame_change_post.append(self.look)
        try:
            function()
        finally:
            bpy.app.handlers.frame_change_post.remove(self.look)

    def test_modifiers_of_others_are_off(self):
        self.watched(self.bake)
        self.assertEqual(self.seen[: len(FRAMES)], [0.0] * len(FRAMES))

    def test_afterwards_they_are_on(self):
        bpy.context.scene.frame_set(4)
        self.assertAlmostEqual(place(self.cube), 4, 4)
        self.bake()
        self.assertAlmostEqual(place(self.cube), 4, 4)
        bpy.context.scene.frame_set(2)
        self.assertAlmostEqual(place(self.cube), 2, 4)

    def test_one_that_does_not_move_is_shown_afterwards(self):
        fixed = moving_cube("fixed")
        fixed.animation_data_clear()
        fixed.modifiers[0].strength = 3
        self.bake()
        self.assertAlmostEqual(place(fixed), 3, 4)

    def test_the_file_does_not_change(self):
        bpy.context.view_layer.update()
        with case.unchanged(self):
            self.bake()
            bpy.ops.mmdskin.clear_bake()

    def follow(self):
        """A bone follows the vertices of the cube."""
        bone = self.scene.armature.pose.bones[2]
        constraint = bone.constraints.new("COPY_LOCATION")
        constraint.target, constraint.subtarget = self.cube, "all"

    def test_a_pose_that_depends_on_a_modifier(self):
        self.follow()
        expected = self.expected(FRAMES)
        self.assertGreater(np.abs(expected[5] - expected[1]).max(), 1)
        for target in ("SHAPE_KEYS", "MESH_CACHE"):
            with self.subTest(target):
                self.watched(lambda target=target: self.bake(target))
                self.assertEqual(self.seen[: len(FRAMES)], list(map(float, FRAMES)))
                self.assert_plays(expected)
                bpy.ops.mmdskin.clear_bake()
                self.seen.clear()

    def test_a_pose_that_depends_on_one_through_others(self):
        """The bone follows an empty, which follows the cube."""
        empty = bpy.data.objects.new("between", None)
        bpy.context.collection.objects.link(empty)
        constraint = empty.constraints.new("COPY_LOCATION")
        constraint.target, constraint.subtarget = self.cube, "all"
        bone = self.scene.armature.pose.bones[2]
        bone.constraints.new("COPY_LOCATION").target = empty
        expected = self.expected(FRAMES)
        self.bake()
        self.assert_plays(expected)

    def test_a_live_model(self):
        expected = self.expected(FRAMES)
        self.scene.armature.mmdskin.preview = True
        self.bake()
        self.assert_plays(expected)
        bpy.ops.mmdskin.clear_bake()
        self.assert_plays(expected)  # the preview is on again

    def job(self):
        return case.bake_job(self.mesh, "SHAPE_KEYS", FRAMES)

    def test_cancelled(self):
        bpy.context.scene.frame_set(4)
        job = self.job()
        next(job.steps)
        job.steps.close()
        self.assertAlmostEqual(place(self.cube), 4, 4)

    def test_what_a_window_draws_is_whole(self):
        expected = self.expected(FRAMES)
        job = self.job()
        for frame in FRAMES[:3]:
            next(job.steps).read.show()
            self.assertEqual(bpy.context.scene.frame_current, frame)
            self.assertAlmostEqual(place(self.cube), frame, 4)
        job.finish()
        self.assert_plays(expected)


class ShapeKeys(Evaluation):
    """Their values are read; their mix is not needed."""

    def setUp(self):
        super().setUp()
        self.key = self.mesh.data.shape_keys.key_blocks["ふくらみ"]
        self.key.value = 1.0
        bpy.context.view_layer.update()

    def look(self, *_):
        """Whether the mesh is at rest, at the bake's frames."""
        self.seen.append(np.abs(scene.evaluated_positions(self.mesh) - self.rest()).max() < 1e-6)

    def expected(self, frames):
        """As of the other cases, with the key."""
        mmdskin, result = addon().blender.native.load(), {}
        model = mmdskin.load_model(case.write_model(self, self.scene.pmx))
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            inputs = self.scene.bake_inputs()
            result[frame] = scene.in_blender(mmdskin.skin(model, inputs, [1.0]).positions)
        return result

    def rest(self):
        flat = np.empty(3 * len(self.mesh.data.vertices), np.float32)
        self.mesh.data.shape_keys.reference_key.data.foreach_get("co", flat)
        return flat.reshape(-1, 3)

    def shown(self):
        return scene.evaluated_positions(self.mesh)

    def test_modifiers_of_others_are_off(self):
        """And keys are not mixed."""
        expected = self.expected(FRAMES)
        self.watched(self.bake)
        self.assertEqual(self.seen[: len(FRAMES)], [True] * len(FRAMES))
        self.assert_plays(expected)

    def test_keys_of_a_hidden_mesh_stay_as_they_are(self):
        """It has no evaluated copy."""
        key = self.cube.shape_key_add(name="hidden")
        self.cube.hide_viewport = True
        seen = []

        def look(*_):
            seen.append(key.mute)

        bpy.app.handlers.frame_change_post.append(look)
        self.addCleanup(bpy.app.handlers.frame_change_post.remove, look)
        self.bake()
        self.assertEqual(seen, [False] * len(seen))
        self.assertGreaterEqual(len(seen), len(FRAMES))

    def test_a_pose_that_depends_on_a_modifier(self):
        """Of the mesh itself: then its keys are mixed."""
        self.mesh.vertex_groups.new(name="tip").add([0], 1.0, "REPLACE")
        self.follow()
        constraint = self.scene.armature.pose.bones[2].constraints[-1]
        constraint.target, constraint.subtarget = self.mesh, "tip"
        self.watched(self.bake)
        self.assertNotIn(True, self.seen[: len(FRAMES)])

    def test_cancelled(self):
        before = self.shown()
        job = self.job()
        next(job.steps)
        job.steps.close()
        np.testing.assert_array_equal(self.shown(), before)

    def test_afterwards_they_are_on(self):
        before = self.shown()
        self.bake()
        bpy.ops.mmdskin.clear_bake()
        np.testing.assert_array_equal(self.shown(), before)

    def test_what_is_muted_may_be_animated(self):
        """As if the value were zero."""
        for name, values in (("mute", (False, True)), ("value", (1.0, 0.0))):
            self.mesh.data.shape_keys.animation_data_clear()
            self.key.mute, self.key.value = False, 1.0
            for frame, value in zip((1, 3), values, strict=True):
                setattr(self.key, name, value)
                self.key.keyframe_insert(name, frame=frame)
            (curve,) = addon().blender.actions.playing_curves(self.mesh.data.shape_keys)
            for point in curve.keyframe_points:
                point.interpolation = "CONSTANT"
            self.bake()
            self.seen.append(self.baked())
            bpy.ops.mmdskin.clear_bake()
        by_mute, by_value = self.seen
        self.assertGreater(np.abs(by_value[0] - self.seen[0][3]).max(), 1e-3)
        np.testing.assert_array_equal(by_mute, by_value)

    def baked(self):
        found = []
        for frame in FRAMES:
            bpy.context.scene.frame_set(frame)
            found.append(self.shown())
        return np.array(found)


class LiveBefore(case.Case):
    def test_another_live_model_is_live_afterwards(self):
        other = scene.Scene(case.small_model(), "other")
        scene.pose(other, seed=3)
        other.armature.mmdskin.preview = True
        before = scene.evaluated_positions(other.mesh)
        scene.select(self.mesh)
        bpy.ops.mmdskin.bake(range="CUSTOM", frame_start=1, frame_end=3)
        self.assert_close(scene.evaluated_positions(other.mesh), before)
