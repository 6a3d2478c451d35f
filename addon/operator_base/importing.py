# SPDX-License-Identifier: GPL-3.0-or-later
"""Importing files: from the file browser, or dropped on the window (4.1), with a dialog for options."""

import os
from typing import Any

import bpy
from bpy.props import CollectionProperty, FloatProperty, StringProperty
from bpy.types import Addon, Collection, Context, Event, OperatorFileListElement
from bpy_extras.io_utils import ImportHelper

from ..blender import ADDON, file_access, registration
from ..blender.blender_versions import HAS_FILE_HANDLERS
from ..blender.translations import label
from ..blender.user_error import UserError
from ..scene import mmd_tools, setting_paths
from .model_operator import OptionsDialog


class Importer(OptionsDialog, ImportHelper):
    """Base class of operators that import files, one or more at once."""

    files: CollectionProperty(type=OperatorFileListElement, options={"HIDDEN", "SKIP_SAVE"})
    directory: StringProperty(subtype="DIR_PATH", options={"HIDDEN", "SKIP_SAVE"})
    filter_glob: str
    # The options whose defaults are in the add-on's preferences.
    preferred: tuple[str, ...] = ()

    def invoke(self, context: Context, event: Event) -> set[Any]:
        self._prefer(context)
        if HAS_FILE_HANDLERS and self.properties.is_property_set("filepath"):
            several = label("Import {count} Files", count=len(self.files))
            one = os.path.basename(self.filepath)
            return self._ask(context, several if len(self.files) > 1 else one)
        return super().invoke(context, event)

    def _ask(self, context: Context, title: str) -> set[Any]:
        words: dict[str, Any] = {}
        if bpy.app.version >= (4, 2):
            confirm = bpy.app.translations.pgettext_iface(self.bl_label, "Operator")
            words = {"title": title, "confirm_text": confirm}
        return context.window_manager.invoke_props_dialog(self, width=400, **words)  # type: ignore[arg-type]

    def _paths(self) -> list[str]:
        """The absolute paths of the chosen files, one or more."""
        files = [file.name for file in self.files if file.name]
        paths = [os.path.join(self.directory, name) for name in files] or [self.filepath]
        if not all(paths):
            endings = self.filter_glob.replace("*", "").replace(";", ", ")
            raise UserError("No file selected: choose a file ({endings})", endings=endings)
        for path in paths:
            file_access.choose(path)
        return [setting_paths.resolved(path) for path in paths]

    def _prefer(self, context: Context) -> None:
        addon: Addon | None = context.preferences.addons.get(ADDON)
        if addon is None:  # registered by a script
            return
        for option in self.preferred:
            if not self.properties.is_property_set(option):
                setattr(self, option, getattr(addon.preferences, preference(type(self), option)))


def scale_property(name: str, description: str) -> Any:
    """The annotation of an option: Blender units per MMD unit."""
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


def camera_scale() -> Any:
    """The annotation of the option for cameras, of imports and exports."""
    return scale_property(
        "Camera Scale", "Size of one MMD unit for the camera, the same as for the scene's models"
    )


def collection(context: Context) -> Collection:
    """The collection for new objects: the active one if it is editable and visible."""
    active = context.view_layer.active_layer_collection
    found = active.collection
    is_local = not found.library and not found.override_library
    is_seen = active.is_visible and not active.exclude
    return found if is_local and is_seen else context.scene.collection


def preference(operator: type, option: str) -> str:
    """The name of an operator's option in the preferences."""
    # The `bl_idname` of an instance differs from its class's.
    return f"{operator.bl_idname.partition('.')[2]}_{option}"


class _Dropped:
    """Files that are dropped into some kinds of areas."""

    areas = {"VIEW_3D", "OUTLINER"}

    @classmethod
    def poll_drop(cls, context: Context) -> bool:
        return context.area is not None and context.area.type in cls.areas


if HAS_FILE_HANDLERS:

    class MMDSKIN_FH_model(_Dropped, bpy.types.FileHandler):
        bl_label = "MMD Model"
        bl_import_operator = "mmdskin.import_model"
        bl_file_extensions = ".pmx;.pmd"

    class MMDSKIN_FH_motion(_Dropped, bpy.types.FileHandler):
        bl_label = "MMD Motion"
        bl_import_operator = "mmdskin.import_motion"
        bl_file_extensions = ".vmd;.vpd"
        areas = {*_Dropped.areas, "DOPESHEET_EDITOR", "GRAPH_EDITOR", "NLA_EDITOR"}


register, unregister = registration.functions(__name__)
