# SPDX-License-Identifier: GPL-3.0-or-later
"""How files come in: by the file browser, or dropped on the window (4.1), which asks for options."""

import os
from typing import Any

import bpy
from bpy.props import FloatProperty
from bpy_extras.io_utils import ImportHelper

from . import mmd_tools, registration
from .blender_versions import HAS_FILE_HANDLERS
from .translations import label, name_of


class Importer(ImportHelper):
    """What an operator inherits from to read files."""

    # The options that are the same from file to file: dialogs begin with those of the preferences.
    preferred: tuple[str, ...] = ()
    # All of them, as dialogs and the redo panel (F9) show them.
    shown: tuple[str, ...] = ()

    def is_used(self, option: str) -> bool:
        """Whether an option means something, as the others stand."""
        return True

    def draw(self, context):
        layout = self.layout
        layout.use_property_split, layout.use_property_decorate = True, False
        for option in filter(self.is_used, self.shown):
            # In a column of its own flags stand one below the other: beside each other they are cut.
            name = name_of(self.properties, option)
            layout.column().prop(self, option, text=name, translate=False)

    def invoke(self, context, event):
        self._prefer(context)
        if HAS_FILE_HANDLERS and self.properties.is_property_set("filepath"):
            return self._ask(context, self._title())
        return super().invoke(context, event)

    def _ask(self, context, title):
        confirm = bpy.app.translations.pgettext_iface(self.bl_label, "Operator")
        words = {"title": title, "confirm_text": confirm} if bpy.app.version >= (4, 2) else {}
        return context.window_manager.invoke_props_dialog(self, width=400, **words)

    def _title(self):
        files = getattr(self, "files", ())
        if len(files) > 1:
            return label("Import {count} files", count=len(files))
        return os.path.basename(self.filepath)

    def _prefer(self, context):
        addon = context.preferences.addons.get(__package__)
        if addon is None:  # registered by a script
            return
        for option in self.preferred:
            if not self.properties.is_property_set(option):
                setattr(self, option, getattr(addon.preferences, preference(type(self), option)))


def scale_property(name: str, description: str) -> Any:
    """Blender units of an MMD unit, as the annotation of an option."""
    return FloatProperty(
        name=name,
        description=description,
        default=mmd_tools.USUAL_SCALE,
        min=1e-4,
        max=1e4,
        soft_min=0.001,
        soft_max=10.0,
        precision=3,
    )


def collection(context: bpy.types.Context) -> bpy.types.Collection:
    """Where new objects go: the active collection if they can be added and are seen there."""
    active = context.view_layer.active_layer_collection
    found = active.collection
    is_local = not found.library and not found.override_library
    is_seen = active.is_visible and not active.exclude
    return found if is_local and is_seen else context.scene.collection


def preference(operator: type, option: str) -> str:
    """The name in the preferences of an operator's option."""
    # An instance has another `bl_idname` than its class.
    return f"{operator.bl_idname.partition('.')[2]}_{option}"


_classes: list[type] = []

if HAS_FILE_HANDLERS:

    class MMDSKIN_FH_model(bpy.types.FileHandler):
        bl_idname = "MMDSKIN_FH_model"
        bl_label = "MMD model"
        bl_import_operator = "mmdskin.import_model"
        bl_file_extensions = ".pmx;.pmd"

        @classmethod
        def poll_drop(cls, context):
            return context.area is not None and context.area.type in {"VIEW_3D", "OUTLINER"}

    class MMDSKIN_FH_motion(bpy.types.FileHandler):
        bl_idname = "MMDSKIN_FH_motion"
        bl_label = "MMD motion"
        bl_import_operator = "mmdskin.import_motion"
        bl_file_extensions = ".vmd;.vpd"

        @classmethod
        def poll_drop(cls, context):
            animation = {"DOPESHEET_EDITOR", "GRAPH_EDITOR", "NLA_EDITOR"}
            places = {"VIEW_3D", "OUTLINER", *animation}
            return context.area is not None and context.area.type in places

    _classes += [MMDSKIN_FH_model, MMDSKIN_FH_motion]


register, unregister = registration.of(*_classes)
