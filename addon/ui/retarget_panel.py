# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel Retargeting: the map of an armature's bones, and the operators that use it."""

from typing import Any

from bpy.types import Context, Panel, UILayout, UIList

from ..blender import native, registration
from ..blender.translations import label, tr
from ..retarget import bone_map
from . import drawing, panels


class MMDSKIN_UL_bone_map(UIList):
    def draw_item(  # type: ignore[override]
        self,
        context: Context,
        layout: UILayout,
        data: Any,
        item: Any,
        icon: int,
        active_data: Any,
        active_property: str,
    ) -> None:
        row = layout.split(factor=0.45)
        row.alert = bool(item.doubt)
        row.label(text=bone_map.title(item.name), translate=False)
        row.prop_search(item, "bone", data.id_data.data, "bones", text="")


class MMDSKIN_PT_retarget(drawing.Tab, Panel):
    bl_label = "Retargeting"
    bl_parent_id = panels.MMDSKIN_PT_motion.__name__
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Context) -> None:
        layout, obj = self.layout, context.active_object
        column = layout.column(align=True)
        column.operator("mmdskin.retarget_to_armature", icon="EXPORT")
        column.operator("mmdskin.motion_from_armature", icon="IMPORT")
        column.operator("mmdskin.fit_motion", icon="ANIM")
        if obj.type != "ARMATURE":
            return
        layout.label(
            text=label("Bones of '{name}'", name=obj.name), icon="ARMATURE_DATA", translate=False
        )
        row = layout.row(align=True)
        row.operator("mmdskin.map_bones", icon="FILE_REFRESH")
        row.operator("mmdskin.mirror_bone_map", icon="MOD_MIRROR")
        settings = obj.mmdskin
        if not len(settings.bone_map):
            text = tr("Bones are found automatically: use Automatic to see and change them")
            drawing.wrapped(layout, text, context.region.width)
            return
        layout.template_list(
            "MMDSKIN_UL_bone_map", "", settings, "bone_map", settings, "bone_map_active", rows=8
        )
        for item in settings.bone_map:
            if item.doubt:
                text = f"{bone_map.title(item.name)}: {native.translated(item.doubt)}"
                drawing.wrapped(layout, text, context.region.width, alert=True)


register, unregister = registration.functions(MMDSKIN_UL_bone_map, MMDSKIN_PT_retarget)
