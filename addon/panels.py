# SPDX-License-Identifier: GPL-3.0-or-later
"""Sidebar of the 3D view, tab MMD."""

import unicodedata
from itertools import pairwise
from typing import NamedTuple

import bpy
import numpy as np

from . import (
    ik_source,
    mesh_source,
    native,
    properties,
    registration,
    saved_state,
    scene_model,
    sliders,
    translations,
)
from .bake import operators, record
from .physics import cache
from .preview import switch, tick
from .preview.operators import MMDSKIN_OT_preview
from .translations import label, name_of, tr
from .user_error import UserError

_BACKENDS = {"gl": "OpenGL", "cpu": "CPU"}
_NAMES = 0.47  # of the width: for the names of settings
_NOT_FIRST, _NOT_LAST = " 。、，：；）」”ー", "（「“"  # of a line
_drawn = None  # the model of the redraw that is going on: finding it takes time in a large scene
_found = None  # its sliders
_summaries = {}  # name of a mesh object: (sizes, _Summary)


class _Summary(NamedTuple):
    deform: np.ndarray  # vertices per deform type
    limited: int  # vertices with more than four bones


class _Panel:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "MMD"
    bl_translation_context = translations.CONTEXT


class MMDSKIN_PT_skin(_Panel, bpy.types.Panel):
    bl_idname = "MMDSKIN_PT_skin"
    bl_label = "MMD Skin"

    def draw(self, context):
        global _drawn, _found
        layout = self.layout
        translations.follow()
        try:
            _drawn = _found = None
            _drawn = model = scene_model.of_object(context.active_object, context.view_layer)
        except UserError as error:
            _without_model(layout, context, error)
            return
        layout.label(text=model.name, icon="ARMATURE_DATA", translate=False)
        row = layout.row()
        row.scale_y = 1.3
        live = any(switch.is_live(obj) for obj in model.meshes)
        row.operator(MMDSKIN_OT_preview.bl_idname, icon="HIDE_OFF", depress=live)
        trouble = switch.trouble_of(model)
        if trouble:
            _wrapped(layout, trouble, context.region.width, alert=True)
        _deformation(layout, model.armature.mmdskin, context.region.width)
        _pose_source(layout, model.armature, context.scene, context.region.width)


def _without_model(layout, context, error):
    """A way to begin; and out, where only the armature is gone."""
    stranded = scene_model.stranded([context.active_object])
    if not stranded:
        row = layout.row()
        row.scale_y = 1.3
        row.operator("mmdskin.import_model", icon="IMPORT")
    _wrapped(layout, str(error), context.region.width)
    for obj in (obj for model in stranded for obj in model.meshes):
        if saved_state.PREVIEW in obj:
            operator = layout.operator(MMDSKIN_OT_preview.bl_idname, icon="HIDE_OFF", depress=True)
            operator.action = "DISABLE"
        if saved_state.BAKE in obj:
            layout.operator(operators.MMDSKIN_OT_clear_bake.bl_idname, icon="LOOP_BACK")


class _Below(_Panel):
    """A panel that Blender asks for and draws right after the first one, for the same model."""

    bl_parent_id = MMDSKIN_PT_skin.bl_idname

    @classmethod
    def poll(cls, context):
        return _drawn is not None


class MMDSKIN_PT_bake(_Below, bpy.types.Panel):
    bl_idname = "MMDSKIN_PT_bake"
    bl_label = "Bake"

    def draw(self, context):
        layout = self.layout
        settings = _drawn.armature.mmdskin
        options = layout.column()
        for name in properties.shown_of_target(settings) + properties.shown_of_range(settings):
            _setting(options, settings, name)
        column = layout.column(align=True)
        column.operator(operators.MMDSKIN_OT_bake.bl_idname, icon="SHAPEKEY_DATA")
        column.operator(operators.MMDSKIN_OT_clear_bake.bl_idname, icon="LOOP_BACK")
        layout.operator_menu_enum("mmdskin.export", "format", icon="EXPORT")
        if any(record.STATE in obj for obj in _drawn.meshes):
            layout.label(text=label("Baked"), icon="CHECKMARK", translate=False)


def _sliders():
    """Those of the drawn model, looked for once per redraw."""
    global _found
    if _found is None:
        _found = sliders.of(_drawn) if _drawn is not None else {}
    return _found


class MMDSKIN_PT_morphs(_Below, bpy.types.Panel):
    bl_idname = "MMDSKIN_PT_morphs"
    bl_label = "Morphs"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return any(_sliders().values())

    def draw(self, context):
        pass


class _Sliders(_Panel):
    """One of MMD's panels of morphs."""

    bl_parent_id = MMDSKIN_PT_morphs.bl_idname
    panel = ""

    @classmethod
    def poll(cls, context):
        return bool(_sliders().get(cls.panel))

    def draw(self, context):
        column = self.layout.column(align=True)
        for slider in _sliders()[self.panel]:
            column.prop(slider.owner, slider.path, text=slider.label, translate=False, slider=True)


class MMDSKIN_PT_eyes(_Sliders, bpy.types.Panel):
    bl_idname, bl_label, panel = "MMDSKIN_PT_eyes", "Eyes", "EYE"


class MMDSKIN_PT_mouth(_Sliders, bpy.types.Panel):
    bl_idname, bl_label, panel = "MMDSKIN_PT_mouth", "Mouth", "MOUTH"


class MMDSKIN_PT_brows(_Sliders, bpy.types.Panel):
    bl_idname, bl_label, panel = "MMDSKIN_PT_brows", "Brows", "EYEBROW"


class MMDSKIN_PT_others(_Sliders, bpy.types.Panel):
    bl_idname, bl_label, panel = "MMDSKIN_PT_others", "Other", "OTHER"


class MMDSKIN_PT_files(_Panel, bpy.types.Panel):
    bl_idname = "MMDSKIN_PT_files"
    bl_label = "Files"
    bl_parent_id = MMDSKIN_PT_skin.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        column = self.layout.column(align=True)
        column.operator("mmdskin.import_model", icon="IMPORT")
        if _drawn is not None:
            column.operator("mmdskin.import_motion", icon="ANIM")
            column.operator("mmdskin.clear_motion", icon="LOOP_BACK")
            column.operator("mmdskin.load_deform_data", icon="FILE_REFRESH")
            column.operator("mmdskin.switch_names", icon="SORTALPHA")


class MMDSKIN_PT_details(_Below, bpy.types.Panel):
    bl_idname = "MMDSKIN_PT_details"
    bl_label = "Details"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        layout, model = self.layout, _drawn
        summaries = [_summary(obj, model.armature) for obj in model.meshes]
        total = sum(summary.deform for summary in summaries)
        grid = layout.grid_flow(columns=2, even_columns=True)
        for name, count in zip(mesh_source.DEFORM_NAMES, total, strict=True):
            grid.label(text=f"{name}: {count}", translate=False)
        limited = sum(summary.limited for summary in summaries)
        if limited:
            text = tr(
                "{count} vertices have more than four bones: the strongest four are used",
                count=limited,
            )
            _wrapped(layout, text, context.region.width)
        cost = tick.cost_of(model)
        if cost is not None:
            text = label("Last evaluation: {ms:.2f} ms", ms=cost)
            layout.label(text=text, icon="TIME", translate=False)
        if native.loaded():
            for backend in native.backends():
                text = backend.device if backend.available else label("not available")
                name = _BACKENDS.get(backend.name, backend.name)
                layout.label(text=f"{name}: {text}", translate=False)


def _setting(column, settings, name):
    """A property beside its name, for which Blender's own division leaves too little room."""
    place = column.split(factor=_NAMES)
    words = place.row()
    words.alignment = "RIGHT"
    words.label(text=name_of(settings, name), translate=False)
    place.prop(settings, name, text="")


def _deformation(layout, settings, width):
    column = layout.column()
    normals = properties.shown_of_normals()
    for name in properties.shown_of_deformation(settings) + normals:
        _setting(column, settings, name)
    if settings.use_mmd_normals and not normals:  # of a newer Blender's file
        _wrapped(layout, tr("MMD Normals need Blender 4.5 or later"), width)


def _pose_source(layout, armature, scene, width):
    column, settings = layout.column(), armature.mmdskin
    shown = properties.shown_of_pose(settings, scene)
    for name in shown:
        _setting(column, settings, name)
    if "physics" in shown and settings.physics:
        column.operator("mmdskin.simulate", icon="PHYSICS")
        if switch.is_on(armature) and armature.name in cache.troubles:
            _wrapped(column, cache.troubles[armature.name], width)
    if settings.source == ik_source.SOURCE and ik_source.has_muted_ik(armature):
        text = tr(
            "IK is muted here, as by solved keys: import a motion as MMD's Own Keys to move feet"
        )
        _wrapped(column, text, width)


def _summary(obj, armature):
    """Counted again only when a size has changed, as counting is slow, and not in edit mode."""
    keys = obj.data.shape_keys
    sizes = (
        len(obj.data.vertices),
        len(obj.vertex_groups),
        len(obj.data.attributes),
        len(keys.key_blocks) if keys else 0,
        len(armature.data.bones),
    )
    known = _summaries.get(obj.name_full)
    if obj.data.is_editmode:  # attributes are empty meanwhile
        return known[1] if known else _Summary(np.zeros(len(mesh_source.DEFORM_NAMES), int), 0)
    if known is None or known[0] != sizes:
        try:
            source = mesh_source.read(obj, armature)
            deform, limited = source.deform, source.limited
        except UserError:
            deform, limited = np.empty(0, np.uint8), 0
        counts = np.bincount(deform, minlength=len(mesh_source.DEFORM_NAMES))
        known = _summaries[obj.name_full] = (sizes, _Summary(counts, limited))
    return known[1]


def _wrapped(layout, text, width, alert=False):
    column = layout.column(align=True)
    column.alert = alert
    room = width / (8 * bpy.context.preferences.system.ui_scale)
    for line in _lines(text, room):
        column.label(text=line, translate=False)


def _lines(text, room):
    """The text in lines with room for so many letters; wide letters take twice as much."""
    lines, line = [], ""
    for piece in _pieces(text):
        if line and _breadth(line) + _breadth(piece.rstrip()) > room:
            lines.append(line.rstrip())
            line = ""
        line += piece
    return [*lines, line.rstrip()]


def _pieces(text):
    """What must stay on one line: words, each with its space, and wide letters with their marks."""
    pieces = [text[:1]]
    for before, letter in pairwise(text):
        broken = before == " " or _is_wide(before) or _is_wide(letter)
        if broken and letter not in _NOT_FIRST and before not in _NOT_LAST:
            pieces.append("")
        pieces[-1] += letter
    return pieces


def _breadth(text):
    return sum(2 if _is_wide(letter) else 1 for letter in text)


def _is_wide(letter):
    return unicodedata.east_asian_width(letter) in "WFA"


_classes = (
    MMDSKIN_PT_skin,
    MMDSKIN_PT_bake,
    MMDSKIN_PT_morphs,
    MMDSKIN_PT_eyes,
    MMDSKIN_PT_mouth,
    MMDSKIN_PT_brows,
    MMDSKIN_PT_others,
    MMDSKIN_PT_files,
    MMDSKIN_PT_details,
)
_register, _unregister = registration.of(*_classes)


def _others_in_tab(kind=bpy.types.Panel):
    """The panels of other add-ons that are in our tab already."""
    for panel in kind.__subclasses__():
        in_tab = getattr(panel, "bl_category", "") == _Panel.bl_category
        if in_tab and panel.is_registered and panel not in _classes:
            yield panel
        yield from _others_in_tab(panel)


def register():
    # Ours comes first among equals if it comes before them, else if it has no header.
    follows = any(not getattr(panel, "bl_order", 0) for panel in _others_in_tab())
    MMDSKIN_PT_skin.bl_options = {"HIDE_HEADER"} if follows else set()
    _register()


def unregister():
    global _drawn, _found
    _drawn = _found = None
    _summaries.clear()
    _unregister()
