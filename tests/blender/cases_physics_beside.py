# SPDX-License-Identifier: GPL-3.0-or-later
"""Live physics beside all else: Blender's pose, props, links, scenes and modes, and acts in any order."""

import os
from unittest import mock

import bpy
import case
import keyed_physics
import numpy as np
import scene
from keyed_physics import addon
from live_physics import Live
from mathutils import Vector


class ByBlender(Live):
    """Blender's own pose, with constraints: only what physics moves is ours."""

    def setUp(self):
        super().setUp()
        self.settings.source = "ARMATURE"
        self.points()

    def test_hair_swings_and_the_rest_is_blenders(self):
        settled = self.points()
        posed = self.pose(0.6)
        self.assertGreater(np.abs(self.wait(0.2) - posed).max(), 1e-3)
        self.settings.physics_live = False
        plain = self.points()
        self.assert_close(posed[:-30], plain[:-30], 1e-6)
        self.assertGreater(np.abs(posed - plain)[-30:].max(), 1e-2)
        self.assertGreater(np.abs(posed - settled).max(), 1e-2)

    def test_it_is_that_of_mmds_ik_where_both_have_the_same_pose(self):
        """Settled: the hair hangs from the same point in the same direction; its twist is free."""
        self.pose(0.6)
        scene.select(self.armature)
        seen = []
        for source in ("ARMATURE", "IK"):
            self.settings.source = source
            self.points()
            bpy.ops.mmdskin.settle()
            self.points()
            hair = self.bones()[self.hair[0]]
            seen.append((hair @ (*self.pmx.bones[self.hair[0]].position, 1), hair[:, 1]))
        self.assert_close(seen[0][0], seen[1][0], 1e-4)
        self.assert_close(seen[0][1], seen[1][1], 0.01)

    def test_a_bake_is_without_it(self):
        scene.select(self.mesh)
        self.settings.physics_live = False
        plain = self.points()
        self.settings.physics_live = True
        bpy.ops.mmdskin.bake(range="CURRENT")
        self.assert_close(scene.evaluated_positions(self.mesh), plain, 1e-5)


class Beside(Live):
    def test_props_on_hair_follow_it_in_each_tick(self):
        prop = bpy.data.objects.new("prop", None)
        bpy.context.scene.collection.objects.link(prop)
        for source in ("IK", "ARMATURE"):
            self.settings.source = source
            hair = len(self.points()) - 30  # of the first hair bone alone
            prop.location = self.vertex(hair)
            scene.select(self.mesh)
            prop.select_set(True)
            bpy.ops.mmdskin.attach(bone=self.bone("髪").name)
            for angle in (0.6, 0.2):
                self.pose(angle)
                for _ in range(3):
                    self.wait(0.1)
                    found = prop.evaluated_get(bpy.context.evaluated_depsgraph_get())
                    place = np.array(found.matrix_world.translation)
                    self.assert_close(place, self.vertex(hair), 1e-4 * scene.SCALE)
            scene.select(prop)
            bpy.ops.mmdskin.detach()

    def vertex(self, number):
        return np.array(self.mesh.matrix_world @ Vector(self.points()[number]))

    def test_with_mmd_normals(self):
        if not addon().blender.blender_versions.HAS_FREE_NORMALS:
            self.skipTest("this Blender has no node for normals")
        self.settings.use_mmd_normals = True
        self.points()
        seen = []
        for angle in (0.6, 0.2):
            self.pose(angle)
            for _ in range(3):
                self.wait(0.1)
                mesh = self.mesh.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
                normals = np.empty(3 * len(mesh.loops), np.float32)
                mesh.corner_normals.foreach_get("vector", normals)
                vertices = np.empty(len(mesh.loops), np.intc)
                mesh.loops.foreach_get("vertex_index", vertices)
                mmdskin = addon().blender.native.load()
                skinned = mmdskin.skin(mmdskin.load_model(self.path), self.bones())
                expected = scene.in_blender(skinned.normals) / scene.SCALE
                self.assert_close(normals.reshape(-1, 3), expected[vertices], 1e-4)
                seen.append(normals)
        self.assertGreater(np.abs(seen[0] - seen[1]).max(), 1e-3)

    def test_linked(self):
        self.link()
        self.points()
        bpy.context.scene.frame_set(5)
        first = self.points()
        self.assertGreater(np.abs(self.wait(0.1) - first).max(), 1e-2)

    def test_overridden(self):
        """In a shot, where the override is posed."""
        self.pose(0.6)
        self.settle()
        settled = self.points()
        self.pose(0.0)
        self.link()
        root = self.armature.parent or self.armature
        root.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
        self.find(lambda obj: obj.override_library is not None, bpy.data.objects)
        bpy.context.scene.frame_set(0)
        self.points()
        swinging = self.pose(0.6)
        self.assertGreater(np.abs(self.wait(0.1) - swinging).max(), 1e-5)
        self.settle()
        self.assert_close(self.points(), settled, 1e-4)

    def link(self):
        """The model of a file that has it on, in an empty scene."""
        path = os.path.join(self.folder, "model.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
        scene.clear()
        with bpy.data.libraries.load(path, link=True) as (there, here):
            here.objects = there.objects
        for obj in here.objects:
            bpy.context.scene.collection.objects.link(obj)
        self.find(lambda obj: obj.library is not None, here.objects)

    def find(self, is_wanted, objects):
        self.armature = next(obj for obj in objects if obj.type == "ARMATURE" and is_wanted(obj))
        self.mesh = next(obj for obj in self.armature.children if obj.type == "MESH")

    def test_in_two_view_layers_and_two_scenes_time_passes_once(self):
        layers = bpy.context.scene.view_layers
        self.addCleanup(layers.remove, layers.new("second"))
        other = bpy.data.scenes.new("other")
        self.addCleanup(bpy.data.scenes.remove, other)
        for obj in (self.armature, self.mesh):
            other.collection.objects.link(obj)
        other.frame_set(9)
        live, passed = addon().physics.live, {}
        step = live.step

        def counted(simulation, inputs, seconds):
            passed[id(simulation)] = passed.get(id(simulation), 0) + seconds
            return step(simulation, inputs, seconds)

        with mock.patch.object(live, "step", counted):
            for _ in range(20):
                self.wait(0.1)
                for layer in (*bpy.context.scene.view_layers, *other.view_layers):
                    layer.update()
        self.assertEqual(len(passed), 2)
        for seconds in passed.values():
            self.assertTrue(1.8 <= seconds <= 2.2, seconds)
        self.assertEqual(case.live_errors(), [])

    def test_in_other_modes(self):
        for obj, mode in (
            (self.mesh, "EDIT"),
            (self.mesh, "WEIGHT_PAINT"),
            (self.mesh, "SCULPT"),
            (self.armature, "POSE"),
            (self.armature, "EDIT"),
        ):
            scene.select(obj)
            bpy.ops.object.mode_set(mode=mode)
            self.wait(0.1)
            bpy.ops.object.mode_set(mode="OBJECT")
        before = self.pose(0.6)
        self.assertGreater(np.abs(self.wait(0.1) - before).max(), 1e-2)


class Anything(Live):
    def test_in_any_order_leaves_no_trace(self):
        """Random acts with ticks in between; switched off, the mesh is as if it had never been on.

        MMDSKIN_ACTS=2000 does more of them, in some minutes."""
        names = self.mesh.name, self.armature.name
        random = np.random.default_rng(11)
        count = int(os.environ.get("MMDSKIN_ACTS", "100"))
        acts = {
            "frame": lambda: bpy.context.scene.frame_set(int(random.integers(0, 16))),
            "pose": lambda: self.pose(float(random.uniform(-1, 1))),
            "undo": self.undo,
            "redo": self.redo,
            "push": self.push,
            "live": lambda: setattr(self.settings, "physics_live", random.random() < 0.7),
            "skin": lambda: setattr(self.settings, "preview", random.random() < 0.7),
            "source": lambda: setattr(self.settings, "source", random.choice(["IK", "ARMATURE"])),
            "rate": lambda: setattr(self.settings, "physics_hz", int(random.integers(60, 62))),
            "settle": lambda: (scene.select(self.armature), bpy.ops.mmdskin.settle()),
            "mesh": lambda: self.mesh.data.update_tag(),
            "rename": lambda: setattr(self.armature, "name", f"{names[1]}.{random.integers(9)}"),
            "duplicate": self.duplicate,
            "load": self.load_another,
            "delete": self.delete_another,
        }
        self.steps = -1  # that can be undone; before them are those of other tests
        self.push()
        done = []
        for name in random.choice(list(acts), count):
            done.append(str(name))
            acts[name]()
            self.mesh = bpy.data.objects[names[0]]
            self.armature = self.mesh.find_armature()
            self.now += 0.05
            addon().preview.live_timer.passed()
            self.points()
            self.assertTrue(np.isfinite(self.points()).all(), done)
        self.settings.source, self.settings.preview = "IK", True
        self.settings.physics_live = False
        bpy.context.scene.frame_set(7)
        self.pose(0.4)
        solver = self.solver()
        evaluated = self.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        posed = solver.solved(solver.local(evaluated, {}))
        mmdskin = addon().blender.native.load()
        expected = mmdskin.skin(mmdskin.load_model(self.path), posed, normals=False).positions
        self.assert_close(self.points(), scene.in_blender(expected), keyed_physics.BAR)

    def load_another(self):
        self.load(self.path, live=True, live_physics=True)
        self.push()

    def push(self):
        bpy.ops.ed.undo_push()
        self.steps += 1

    def undo(self):
        if self.steps:
            bpy.ops.ed.undo()
            self.steps -= 1

    def redo(self):
        if bpy.ops.ed.redo.poll():
            bpy.ops.ed.redo()
            self.steps += 1

    def delete_another(self):
        own = {self.armature.parent, self.armature, self.mesh}
        for obj in bpy.context.view_layer.objects:
            obj.select_set(obj not in own)
        bpy.ops.object.delete()
        self.push()

    def duplicate(self):
        scene.select(self.armature)
        self.mesh.select_set(True)
        bpy.ops.object.duplicate()
        bpy.context.view_layer.update()
        bpy.ops.object.delete()
