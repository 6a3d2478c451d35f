# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar: what it draws, and that it looks for the model once per redraw."""

import sys
from types import SimpleNamespace
from unittest import mock

import bpy
import case
import numpy as np
import scene

CHILDREN = (
    "MMDSKIN_PT_model",
    "MMDSKIN_PT_attach",
    "MMDSKIN_PT_details",
    "MMDSKIN_PT_motion",
    "MMDSKIN_PT_physics",
    "MMDSKIN_PT_more_physics",
    "MMDSKIN_PT_look",
    "MMDSKIN_PT_bake",
    "MMDSKIN_PT_morphs",
)


class Layout:
    """Records what is drawn into it."""

    def __init__(self, drawn):
        self.drawn = drawn

    def label(self, text="", **_):
        self.drawn.append(text)

    def operator(self, name, **options):
        self.drawn.append((name, options.get("depress")))
        return SimpleNamespace()

    def operator_menu_enum(self, name, choice, **_):
        self.drawn.append((name, choice))

    def prop(self, owner, name, **_):
        getattr(owner, name)
        self.drawn.append(f".{name}")

    def prop_search(self, owner, name, *_):
        self.prop(owner, name)

    def separator(self):
        pass

    def _inner(self, **_):
        return Layout(self.drawn)

    row = column = split = grid_flow = _inner


def redraw(obj):
    """Everything that Blender draws of the panels, in its order: a panel, then those below it."""
    scene.select(obj)
    return redraw_as_it_is(obj)


def redraw_as_it_is(obj):
    assert bpy.context.view_layer.objects.active == obj
    return drawn_by([getattr(bpy.types, name) for name in ("MMDSKIN_PT_skin", *CHILDREN)])


def drawn_by(kinds):
    """What these panels draw."""
    drawn = []
    context = SimpleNamespace(
        active_object=bpy.context.view_layer.objects.active,
        view_layer=bpy.context.view_layer,
        scene=bpy.context.scene,
        region=SimpleNamespace(width=0),
    )
    drawing = sys.modules["addon_package"].ui.drawing
    # Without a window letters have no breadth.
    whole = mock.patch.object(drawing, "wrapped", lambda layout, text, *_, **__: layout.label(text))
    with whole:
        for kind in kinds:
            if not hasattr(kind, "poll") or kind.poll(context):
                kind.draw(SimpleNamespace(layout=Layout(drawn)), context)
    return drawn


def drawn_texts(obj):
    return [text for text in redraw(obj) if isinstance(text, str)]


class NotGiven(case.Case):
    """A property that the bake operator is not given is the setting of the model."""

    def keys(self):
        return [key.name for key in self.mesh.data.shape_keys.key_blocks if "MMD" in key.name]

    def test_target_range_and_frames_are_the_models(self):
        settings = self.scene.armature.mmdskin
        settings.target, settings.range, settings.step = "SHAPE_KEYS", "CUSTOM", 2
        settings.frame_start, settings.frame_end = 3, 7
        bpy.ops.mmdskin.bake()
        self.assertEqual(self.keys(), ["MMD 0003", "MMD 0005", "MMD 0007"])

    def test_operator_options_override_settings(self):
        settings = self.scene.armature.mmdskin
        settings.range, settings.frame_start, settings.frame_end = "CUSTOM", 3, 7
        bpy.ops.mmdskin.bake(frame_start=6)
        self.assertEqual(self.keys(), ["MMD 0006", "MMD 0007"])
        bpy.ops.mmdskin.bake(range="CURRENT")
        self.assertEqual(self.keys(), ["MMD 0001"])

    def test_nothing_is_remembered_from_the_last_call(self):
        bpy.ops.mmdskin.bake(range="CUSTOM", frame_start=2, frame_end=4)
        bpy.ops.mmdskin.bake("INVOKE_DEFAULT")
        self.assertEqual(self.keys(), ["MMD 0001"])

    def test_of_all_models_the_active_one_gives_the_frames(self):
        other = scene.Scene(case.small_model(), "second")
        other.armature.mmdskin.range = "CUSTOM"
        other.armature.mmdskin.frame_start = other.armature.mmdskin.frame_end = 5
        for active, expected in ((other.mesh, "MMD 0005"), (self.mesh, "MMD 0001")):
            scene.select(active)
            bpy.ops.mmdskin.bake(all_models=True)
            self.assertIn(expected, self.keys())
            bpy.ops.mmdskin.clear_bake(all_models=True)


class Panel(case.Case):
    def count_searches(self, obj):
        scene_model = sys.modules["addon_package"].scene.scene_model
        with mock.patch.object(scene_model, "model_of", wraps=scene_model.model_of) as searches:
            drawn = redraw(obj)
        return searches.call_count, drawn

    def test_looks_for_the_model_once_per_redraw(self):
        count, drawn = self.count_searches(self.mesh)
        self.assertEqual(count, 1)
        self.assertIn(("mmdskin.bake", None), drawn)
        self.assertIn(("mmdskin.export", "format"), drawn)
        self.assertIn(("mmdskin.import_motion", None), drawn)
        self.assertTrue(any("SDEF: " in str(text) for text in drawn))

    def test_draws_the_last_known_state_in_edit_mode(self):
        mesh_source = sys.modules["addon_package"].scene.mesh_source
        count = len(self.mesh.data.vertices)
        none = np.full((count, 4), -1, np.int32), np.zeros((count, 4), np.float32)
        mesh_source.store_deform_data(self.mesh.data, np.full(count, 3), *none)
        known = redraw(self.mesh)
        scene.select(self.mesh)
        bpy.ops.object.mode_set(mode="EDIT")
        self.addCleanup(bpy.ops.object.mode_set, mode="OBJECT")
        bpy.ops.object.vertex_group_add()  # a size has changed
        self.assertEqual(redraw_as_it_is(self.mesh), known)
        sys.modules["addon_package"].ui.panels._summaries.clear()
        self.assertNotEqual(redraw_as_it_is(self.mesh), known)

    def test_searches_once_without_a_model(self):
        redraw(self.mesh)
        cup = bpy.data.objects.new("cup", bpy.data.meshes.new("cup"))
        bpy.context.scene.collection.objects.link(cup)
        count, drawn = self.count_searches(cup)
        self.assertEqual(count, 1)
        self.assertEqual(drawn[0], ("mmdskin.import_model", None))
        self.assertIn("'cup' has no armature", drawn[1])
        self.assertNotIn(("mmdskin.bake", None), drawn)

    def test_tells_that_ik_is_muted_where_mmds_ik_is_the_source(self):
        armature = self.scene.armature
        constraint = armature.pose.bones[0].constraints.new("IK")
        constraint.target, constraint.subtarget = armature, armature.pose.bones[-1].name
        for source, mute, told in (("IK", True, 1), ("IK", False, 0), ("ARMATURE", True, 0)):
            armature.mmdskin.source, constraint.mute = source, mute
            lines = [text for text in redraw(self.mesh) if "IK is muted" in str(text)]
            self.assertEqual(len(lines), told, (source, mute))

    def test_the_button_shows_the_switch(self):
        for on in (True, False):
            bpy.ops.mmdskin.preview()
            self.assertIn(("mmdskin.preview", on), redraw(self.mesh))

    def test_fields_of_paths_take_relative_ones(self):
        """Where Blender can tell so, others are drawn in red: from 4.5 on."""
        if bpy.app.version < (4, 5):
            self.skipTest("Blender draws all paths alike")
        settings = self.scene.armature.mmdskin
        paths = [
            one for one in settings.bl_rna.properties if one.subtype in ("FILE_PATH", "DIR_PATH")
        ]
        self.assertEqual({one.identifier for one in paths}, {"model_path", "motion_path", "folder"})
        for one in paths:
            self.assertTrue(one.is_path_supports_blend_relative, one.identifier)


class Unavailable(case.Case):
    """Buttons that cannot act are grayed out, and their tooltips say why."""

    def reason(self, kind):
        return kind.description(bpy.context, None)

    def test_clear_bake_export_and_the_preview(self):
        preview = bpy.types.MMDSKIN_OT_preview
        clear, export = bpy.types.MMDSKIN_OT_clear_bake, bpy.types.MMDSKIN_OT_export
        self.assertEqual(self.reason(preview), "")
        self.assertIn("no bake to clear", self.reason(clear))
        self.assertIn("MMD Skinning is off: bake it first", self.reason(export))
        bpy.ops.mmdskin.bake()
        self.assertIn("is baked: clear the bake first", self.reason(preview))
        self.assertEqual(self.reason(clear), "")
        self.assertEqual(self.reason(export), "")

    def test_clear_motion_and_switch_names(self):
        self.assertIn("no imported motion", self.reason(bpy.types.MMDSKIN_OT_clear_motion))
        self.assertIn("is an mmd_tools model", self.reason(bpy.types.MMDSKIN_OT_switch_names))

    def test_simulate(self):
        simulate = bpy.types.MMDSKIN_OT_simulate
        self.scene.armature.mmdskin.source = "MOTION"
        self.assertIn("needs no simulation", self.reason(simulate))

    def test_without_a_model(self):
        bpy.context.view_layer.objects.active = None
        self.assertEqual(self.reason(bpy.types.MMDSKIN_OT_clear_bake), "")


class BigScene(case.Case):
    """Redraws do as much in a scene of many objects as in one with the model only."""

    def setUp(self):
        super().setUp()
        self.scene.armature.mmdskin.preview = True
        bpy.context.view_layer.update()

    def operations(self):
        """How many bytecodes Python runs for a redraw; 3.13 leaves out some."""
        count = 0

        def step(frame, event, _):
            nonlocal count
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            count += event == "opcode"
            return step

        tracing = sys.gettrace()
        sys.settrace(step)
        try:
            redraw_as_it_is(bpy.context.view_layer.objects.active)
        finally:
            sys.settrace(tracing)
        return count

    def crowd(self, meshes):
        """Add 300 objects."""
        for number in range(300):
            mesh = bpy.data.meshes.new("prop") if meshes else None
            obj = bpy.data.objects.new(f"prop {number}", mesh)
            bpy.context.scene.collection.objects.link(obj)
        bpy.context.view_layer.update()

    def test_costs_no_more_with_many_objects(self):
        for active in (self.mesh, self.scene.armature, self.scene.root):
            scene.select(active)
            redraw_as_it_is(active)
        self.change_pose_and_frame()
        few = {}
        for active in (self.mesh, self.scene.root):
            scene.select(active)
            self.operations()
            few[active] = self.operations()
        self.crowd(meshes=False)
        self.crowd(meshes=True)
        for active in few:
            scene.select(active)
            with self.assertRaises(AssertionError):  # it looks again
                self.assert_fewer_than_objects(self.operations() - few[active])
            for change in (lambda: None, self.change_pose_and_frame):
                change()
                self.assert_fewer_than_objects(self.operations() - few[active])

    def assert_fewer_than_objects(self, more):
        """A look at each object would take several bytecodes."""
        self.assertLess(more, 600)

    def change_pose_and_frame(self):
        self.scene.armature.pose.bones[0].location.x += 0.1
        bpy.context.view_layer.update()
        bpy.context.scene.frame_set(bpy.context.scene.frame_current + 1)

    def test_shows_what_changed(self):
        redraw(self.mesh)
        self.crowd(meshes=True)
        other = bpy.data.objects["prop 7"]
        other.modifiers.new("arm", "ARMATURE").object = self.scene.armature
        bpy.context.view_layer.update()
        self.assertEqual(len(self.shown().meshes), 2)
        other.modifiers.clear()
        bpy.context.view_layer.update()
        self.assertEqual(self.shown().meshes, (self.mesh,))
        self.scene.root.name = "renamed"
        self.assertEqual(self.shown().name, "renamed")
        bpy.data.objects.remove(other)
        self.assertEqual(self.shown().meshes, (self.mesh,))
        bpy.data.objects.remove(self.mesh)
        scene.select(self.scene.armature)
        self.assertIn("has no mesh", drawn_texts(self.scene.armature)[-1])

    def shown(self):
        of_redraw = sys.modules["addon_package"].ui.shown_model.of_redraw
        active, layer = self.scene.armature, bpy.context.view_layer
        context = SimpleNamespace(active_object=active, view_layer=layer)
        return of_redraw(context, is_first=True).model
