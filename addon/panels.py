# SPDX-License-Identifier: GPL-3.0-or-later
"""Sidebar of the 3D view, tab MMD."""

import bpy
import numpy as np

from . import bake, mesh_source, model, native, operators

_BACKENDS = {"gl": "OpenGL", "cpu": "CPU"}
_counts = {}  # (name, sizes) of a mesh object: vertices per deform type


class MMDSKIN_PT_skin(bpy.types.Panel):
    bl_idname = "MMDSKIN_PT_skin"
    bl_label = "MMD Skin"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "MMD"

    def draw(self, context):
        layout = self.layout
        try:
            found = model.of_object(context.active_object, context.view_layer)
        except model.ModelError as error:
            _wrapped(layout, str(error), context.region.width)
            found = None
        else:
            _summary(layout, found)
        column = layout.column(align=True)
        column.enabled = found is not None
        column.operator(operators.MMDSKIN_OT_bake.bl_idname, icon="SHAPEKEY_DATA")
        column.operator(operators.MMDSKIN_OT_clear_bake.bl_idname, icon="LOOP_BACK")
        if found and any(bake.STATE in obj for obj in found.meshes):
            layout.label(text="Baked", icon="CHECKMARK")
        if native.loaded():
            for backend in native.backends():
                text = backend.device if backend.available else "not available"
                layout.label(text=f"{_BACKENDS.get(backend.name, backend.name)}: {text}")


def _summary(layout, found):
    layout.label(text=found.name, icon="ARMATURE_DATA")
    total = sum(_deform_counts(obj, found.armature) for obj in found.meshes)
    grid = layout.grid_flow(columns=2, even_columns=True)
    for name, count in zip(mesh_source.DEFORM_NAMES, total, strict=True):
        grid.label(text=f"{name}: {count}")


def _deform_counts(obj, armature):
    """Vertices per deform type; counted again only when a size has changed, as counting is slow."""
    keys = obj.data.shape_keys
    sizes = (
        len(obj.data.vertices),
        len(obj.vertex_groups),
        len(keys.key_blocks) if keys else 0,
        len(armature.data.bones),
    )
    known = _counts.get(obj.name_full)
    if known is None or known[0] != sizes:
        try:
            deform = mesh_source.read(obj, armature).deform
        except mesh_source.SourceError:
            deform = np.empty(0, np.uint8)
        known = _counts[obj.name_full] = (
            sizes,
            np.bincount(deform, minlength=len(mesh_source.DEFORM_NAMES)),
        )
    return known[1]


def _wrapped(layout, text, width):
    column = layout.column(align=True)
    line = ""
    for word in text.split():
        if line and len(line) + len(word) > width / 8:
            column.label(text=line)
            line = ""
        line = f"{line} {word}" if line else word
    column.label(text=line)


def register():
    if not MMDSKIN_PT_skin.is_registered:
        bpy.utils.register_class(MMDSKIN_PT_skin)


def unregister():
    _counts.clear()
    if MMDSKIN_PT_skin.is_registered:
        bpy.utils.unregister_class(MMDSKIN_PT_skin)
