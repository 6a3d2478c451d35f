# SPDX-License-Identifier: GPL-3.0-or-later
"""A library override is baked into a mesh cache: a modifier of its own, for the mesh stays in its file."""

import os

import bpy
import case
import fingerprint
import numpy as np
import scene
from cases_panel import redraw
from cases_physics_override import Elsewhere
from cases_preview_arriving import addon
from cases_preview_linked import Linked, said
from cases_preview_normals import angles, shown, with_normals
from cases_preview_truth import problem
from cases_transaction import Transaction

FRAMES = range(1, 21)
BAR = 1e-4 * scene.SCALE


class Override(Linked):
    """An override of all linked objects, in a saved file, whose arm is posed there."""

    def setUp(self):
        super().setUp()
        self.folder = os.path.dirname(self.path)
        self.shot = os.path.join(self.folder, "shot.blend")
        bpy.ops.wm.save_as_mainfile(filepath=self.shot)
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = FRAMES[0], FRAMES[-1]
        bpy.context.scene.collection.children.link(self.collection())
        scene.select(self.armature)
        bpy.ops.mmdskin.make_override()
        self.find_override()
        self.armature.pose.bones["腕.L"].location = 0.1, 0.2, 0
        self.open_again()

    def find_override(self):
        self.find([obj for obj in bpy.context.scene.objects if obj.override_library])
        scene.select(self.mesh)

    def open_again(self):
        bpy.ops.wm.save_mainfile()
        bpy.ops.wm.open_mainfile(filepath=self.shot)
        self.find_override()

    def reload(self):
        self.mesh.override_library.reference.library.reload()
        self.find_override()

    def lose_the_record(self):
        """As Blender does where the add-on, which declares the property, is disabled."""
        self.mesh.property_unset("mmdskin_bake_of_override")
        self.assertFalse(addon().scene.saved_state.is_baked(self.mesh))
        self.open_again()

    def bake(self, target="MESH_CACHE", **options):
        return bpy.ops.mmdskin.bake(target=target, range="SCENE", **options)

    def frames(self):
        found = []
        for frame in FRAMES:
            bpy.context.scene.frame_set(frame)
            found.append(scene.evaluated_positions(self.mesh))
        bpy.context.scene.frame_set(FRAMES[0])
        return np.array(found)

    def caches(self):
        return [name for name in sorted(os.listdir(self.folder)) if name.endswith(".pc2")]

    def overridden(self):
        """What Blender has noted as different from the library, once saved."""
        bpy.ops.wm.save_mainfile()
        return sorted(
            (one.rna_path, [operation.operation for operation in one.operations])
            for one in self.mesh.override_library.properties
            if len(one.operations)
        )

    def content(self):
        """All of the file, with what is overridden as noted at a save, without empty notes."""
        overridden = self.overridden()
        found = fingerprint.of_file()
        for name, text in found.items():
            lines = [line for line in text.splitlines() if ".override_library" not in line]
            found[name] = "\n".join(lines)
        return found, overridden

    def assert_same(self, before):
        (first, overridden), (second, now) = before, self.content()
        self.assertEqual(fingerprint.differences(first, second), [])
        self.assertEqual(overridden, now)


class Bakes(Override):
    def test_shows_what_the_live_override_showed(self):
        live = self.frames()
        self.assertEqual(self.bake(), {"FINISHED"})
        kinds = [(one.type, one.show_viewport, one.show_render) for one in self.mesh.modifiers]
        off, on = (False, False), (True, True)
        self.assertEqual(
            kinds, [("ARMATURE", *off), ("MESH_CACHE", *on), ("NODES", *off)], "at its position"
        )
        self.assert_close(self.frames(), live, BAR)
        self.armature.pose.bones["腕.L"].location = 0, 0, 0
        self.assert_close(self.frames(), live, BAR)
        bpy.context.scene.frame_set(8)
        self.armature.pose.bones["腕.L"].location = 0.1, 0.2, 0
        self.assert_close(scene.evaluated_positions(self.mesh), self.expected(), BAR)
        self.assertIsNone(problem(self.mesh))

    def test_the_panel_shows_the_bake(self):
        self.bake()
        self.assertFalse(self.armature.mmdskin.preview)
        drawn = redraw(self.mesh)
        self.assertIn("Shows the bake", said(drawn))
        for action in ("ENABLE", "DISABLE"):
            with case.unchanged(self):
                try:
                    bpy.ops.mmdskin.preview(action=action)
                except RuntimeError as error:
                    self.assertIn("clear the bake first", str(error))

    def test_a_baked_override_is_not_computed(self):
        self.bake()
        cost = addon().preview.driver_function.live_of(self.mesh.data)
        cost.cost = None
        self.frames()
        self.assertIsNone(cost.cost)

    def test_a_second_bake_replaces_the_first(self):
        self.bake()
        first = self.content()
        self.assertEqual(self.bake(), {"FINISHED"})
        self.assertEqual([one.type for one in self.mesh.modifiers].count("MESH_CACHE"), 1)
        path = self.mesh.modifiers["MMD Skin Cache"].filepath
        changed = fingerprint.differences(first[0], self.content()[0])
        self.assertEqual(len(changed), 2, changed)  # the name of the file
        self.assertTrue(any(path in line for line in changed), changed)

    def test_two_overrides_have_their_own(self):
        other, pose = self.mesh, self.armature.pose.bones["腕.L"]
        bpy.context.scene.collection.children.link(
            next(one for one in bpy.data.collections if one.library)
        )
        scene.select(next(obj for obj in bpy.context.scene.objects if obj.library))
        bpy.ops.mmdskin.make_override()
        self.armature = bpy.context.active_object
        self.mesh = next(one for one in self.armature.children if one.type == "MESH")
        self.assertNotEqual(self.mesh, other)
        pose.location = 0.3, 0, 0
        shown = []
        for mesh in (other, self.mesh):
            scene.select(mesh)
            self.bake()
            self.mesh = mesh
            shown.append(self.frames())
        self.assertGreater(np.abs(shown[0] - shown[1]).max(), 0.01)
        self.assertEqual(len(self.caches()), 2)


class Lasts(Override):
    def setUp(self):
        super().setUp()
        self.shown = self.frames()
        self.bake()

    def assert_plays(self):
        self.assertFalse(self.armature.mmdskin.preview)
        self.assert_close(self.frames(), self.shown, BAR)
        self.assertEqual(self.mesh.modifiers[1].type, "MESH_CACHE")
        self.assertTrue(addon().scene.saved_state.is_baked(self.mesh))

    def test_when_the_shot_is_opened_again(self):
        for _ in range(2):
            self.open_again()
            self.assert_plays()

    def test_samples_when_the_shot_is_opened_again(self):
        bpy.ops.mmdskin.clear_bake()
        self.bake(samples=4)
        times = [(frame, part / 8) for frame in (1, 7, 13) for part in range(8)]
        shown = self.at(times)
        for _ in range(2):
            self.open_again()
            self.assert_close(self.at(times), shown, 0)
            self.assertEqual(addon().bake.bake_state.state_of(self.mesh).samples, 4)
        bpy.ops.mmdskin.clear_bake()
        exact = slice(None, None, 2)
        self.assert_close(self.at(times[exact]), shown[exact], BAR)

    def at(self, times):
        found = []
        for frame, part in times:
            bpy.context.scene.frame_set(frame, subframe=part)
            found.append(scene.evaluated_positions(self.mesh))
        bpy.context.scene.frame_set(FRAMES[0])
        return np.array(found)

    def test_when_the_library_is_reloaded(self):
        for _ in range(2):
            self.reload()
            self.assert_plays()

    def test_when_the_library_has_changed(self):
        """Its own pose and a modifier that is new there."""
        bpy.ops.wm.save_mainfile()
        bpy.ops.wm.open_mainfile(filepath=self.path)
        mesh = next(obj for obj in bpy.data.objects if obj.type == "MESH")
        mesh.modifiers.new("edges", "SOLIDIFY").show_viewport = False
        mesh.find_armature().pose.bones["腕.L"].location = 0.5, 0, 0
        bpy.ops.wm.save_mainfile()
        bpy.ops.wm.open_mainfile(filepath=self.shot)
        self.find_override()
        self.assertIn("edges", self.mesh.modifiers)
        self.assert_plays()

    def test_when_it_is_made_local_and_can_then_be_cleared(self):
        if bpy.app.version < (4, 2):
            self.skipTest("Blender 3.4 leaves an override as it is")
        bpy.ops.object.make_local(type="SELECT_OBJECT")
        self.mesh = bpy.context.active_object
        self.assertIsNone(self.mesh.override_library)
        self.assert_close(self.frames(), self.shown, BAR)
        bpy.ops.mmdskin.clear_bake()
        self.assertFalse(addon().scene.saved_state.is_baked(self.mesh))
        self.assertNotIn("MESH_CACHE", [one.type for one in self.mesh.modifiers])

    def test_when_it_was_saved_without_the_add_on(self):
        known = vars(addon().bake.bake_state.state_of(self.mesh))
        self.lose_the_record()
        self.assertEqual(vars(addon().bake.bake_state.state_of(self.mesh)), known)
        self.assert_plays()
        bpy.ops.mmdskin.clear_bake()
        self.assertTrue(self.armature.mmdskin.preview)
        self.assertEqual(len(self.mesh.modifiers), 2)
        self.assert_close(self.frames(), self.shown, 0)

    def test_undone_and_done_again(self):
        bpy.ops.mmdskin.clear_bake()
        self.open_again()
        live = fingerprint.of_file()
        bpy.ops.ed.undo_push(message="before")
        self.bake()
        bpy.ops.ed.undo_push(message="baked")
        baked = fingerprint.of_file()
        bpy.ops.ed.undo()
        self.find_override()
        self.assertEqual(fingerprint.differences(live, fingerprint.of_file()), [])
        self.assert_close(self.frames(), self.shown, BAR)
        bpy.ops.ed.redo()
        self.find_override()
        self.assertEqual(fingerprint.differences(baked, fingerprint.of_file()), [])
        self.assert_plays()


class Cleared(Override):
    def test_restores_the_override(self):
        live, before = self.frames(), self.content()
        self.bake()
        bpy.ops.mmdskin.clear_bake()
        self.assert_same(before)
        self.assert_close(self.frames(), live, 0)

    def test_after_it_was_opened_again_and_reloaded(self):
        live, before = self.frames(), self.content()
        self.bake()
        self.open_again()
        self.reload()
        self.assertEqual(bpy.ops.mmdskin.clear_bake(), {"FINISHED"})
        self.assert_same(before)
        self.assert_close(self.frames(), live, 0)
        self.open_again()
        self.assert_same(before)

    def test_restores_what_is_shown_only_in_renders(self):
        self.mesh.modifiers["MMD Skin"].show_viewport = False
        before = self.content()
        self.bake()
        bpy.ops.mmdskin.clear_bake()
        self.assert_same(before)

    def test_restores_one_that_was_switched_off(self):
        bpy.ops.mmdskin.preview(action="DISABLE")
        plain, before = self.frames(), self.content()
        self.bake()
        self.assertGreater(np.abs(self.frames() - plain).max(), 0.01)
        bpy.ops.mmdskin.clear_bake()
        self.assert_same(before)
        self.assert_close(self.frames(), plain, 0)


class Fails(Override, Transaction):
    def setUp(self):
        super().setUp()
        self.kept = case.folder(self)

    def test_at_any_place_all_is_as_before(self):
        self.assert_all_or_nothing(self.bake)

    def test_cancelled(self):
        with case.unchanged(self):
            job = case.bake_job(self.mesh, "MESH_CACHE", FRAMES)
            for _ in range(5):
                next(job.steps)
            job.steps.close()
        self.assertEqual(self.caches(), [])

    def assert_refused(self, words, **options):
        with case.unchanged(self), self.assertRaisesRegex(RuntimeError, words):
            self.bake(**options)
        self.assertEqual(self.caches(), [])

    def test_shape_keys_are_refused_and_a_mesh_cache_offered(self):
        for target in ("SHAPE_KEYS", "CORRECTIVE"):
            self.assert_refused("cannot get shape keys: bake a library override", target=target)
            self.armature.mmdskin.target = target
            drawn = redraw(self.mesh)
            self.assertIn("cannot get shape keys: bake a library override", said(drawn))
            self.assertIn(("mmdskin.use_mesh_cache", None), drawn)
            bpy.ops.mmdskin.use_mesh_cache()
            self.assertNotIn(("mmdskin.use_mesh_cache", None), redraw(self.mesh))
        self.assertEqual(bpy.ops.mmdskin.bake(range="CURRENT"), {"FINISHED"})


class Refused(Linked):
    """Links, overrides that are not editable, and what is baked in its own file."""

    def assert_refused(self, words):
        with case.unchanged(self):
            folder = os.path.dirname(self.path)
            scene.select(self.mesh)
            with self.assertRaisesRegex(RuntimeError, words):
                bpy.ops.mmdskin.bake(target="MESH_CACHE", folder=folder)

    def test_a_link(self):
        self.bring(link=True)
        self.assert_refused("make a library override first")
        self.assertNotIn(("mmdskin.use_mesh_cache", None), redraw(self.mesh))
        with self.assertRaisesRegex(RuntimeError, "bake a library override of the model into"):
            bpy.ops.mmdskin.bake(target="SHAPE_KEYS")

    def test_an_override_that_blender_made_for_another(self):
        self.override()
        self.assertTrue(self.mesh.override_library.is_system_override)
        self.assert_refused("not editable: select it and use Object > Library Override > Make")
        self.mesh.override_library.is_system_override = False
        bpy.ops.mmdskin.bake(target="MESH_CACHE", folder=os.path.dirname(self.path))

    def test_one_that_is_baked_in_its_own_file(self):
        bpy.ops.wm.open_mainfile(filepath=self.path)
        scene.select(next(obj for obj in bpy.data.objects if obj.type == "MESH"))
        bpy.ops.mmdskin.bake(target="MESH_CACHE")
        bpy.ops.wm.save_mainfile()
        bpy.ops.wm.read_homefile(use_empty=True)
        self.override()
        self.assert_refused("is baked in its own file: clear the bake there")
        with self.assertRaisesRegex(RuntimeError, "clear the bake there"):
            bpy.ops.mmdskin.clear_bake()


class NotLiveInItsFile(Override):
    live = False

    def test_is_baked_all_the_same(self):
        before = self.content()
        self.bake()
        for frame in FRAMES[::6]:
            bpy.context.scene.frame_set(frame)
            self.assert_close(scene.evaluated_positions(self.mesh), self.expected(), BAR)
        self.assertIsNone(problem(self.mesh))
        bpy.context.scene.frame_set(1)
        bpy.ops.mmdskin.clear_bake()
        self.assert_same(before)


@with_normals
class Normals(Override):
    def finish_its_file(self):
        super().finish_its_file()
        self.armature.mmdskin.use_mmd_normals = True

    def normals(self):
        found = []
        for frame in FRAMES[::6]:
            bpy.context.scene.frame_set(frame)
            found.append(shown(self.mesh))
        bpy.context.scene.frame_set(FRAMES[0])
        return np.array(found)

    def test_are_baked_and_last(self):
        live, before, positions = self.normals(), self.content(), self.frames()
        self.bake()
        for change in (lambda: None, self.open_again, self.reload, self.lose_the_record):
            change()
            self.assertLess(angles(self.normals(), live).max(), 0.1)
            self.assert_close(self.frames(), positions, BAR)
        self.assertEqual(len(self.caches()), 2)
        bpy.ops.mmdskin.clear_bake()
        self.assert_same(before)


class Physics(Elsewhere):
    """MMD's IK and a simulation, from the library's folder."""

    def arrive(self, objects):
        scene.select(next(obj for obj in objects if obj.type == "ARMATURE"))
        bpy.ops.mmdskin.make_override()

    def is_ours(self, obj):
        return obj.override_library is not None

    def test_is_baked(self):
        self.assert_close(self.shown(True), self.known[True], BAR)
        scene.select(self.mesh)
        bpy.ops.mmdskin.bake(target="MESH_CACHE", range="CUSTOM", frame_start=1, frame_end=16)
        self.assert_close(self.frames(), self.known[True], BAR)
        bpy.ops.wm.save_mainfile()
        bpy.ops.wm.open_mainfile(filepath=self.shot)
        self.find()
        self.assert_close(self.frames(), self.known[True], BAR)
