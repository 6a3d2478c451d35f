# SPDX-License-Identifier: GPL-3.0-or-later
"""The add-on's preferences: defaults for the import dialogs, and a report for bug reports.

A script that sets no option gets the operator's own default, independent of the preferences.
"""

import inspect
import platform
import sys
from collections import ChainMap
from typing import Any

import bpy
from bpy.props import BoolProperty
from bpy.types import AddonPreferences, Context, Object, Operator

from ..blender import ADDON, native, registration
from ..blender.translations import Reports, name_of
from ..blender.user_error import UserError
from ..import_model.operators import MMDSKIN_OT_import_model
from ..import_motion.operators import MMDSKIN_OT_import_motion
from ..operator_base import properties
from ..operator_base.importing import preference
from ..preview import driver_function, switch
from ..scene import mesh_source, scene_model

_IMPORTERS = (MMDSKIN_OT_import_model, MMDSKIN_OT_import_motion)


def _declared(operator: type, option: str) -> Any:
    """The annotation of an operator's property, from the base class that defines it."""
    return ChainMap(*map(inspect.get_annotations, operator.__mro__))[option]


_Options = properties.declaring(
    "_Options",
    {
        preference(operator, option): _declared(operator, option)
        for operator in _IMPORTERS
        for option in operator.preferred
    }
    | {
        # On for people, off for scripts, as in the versions before these options.
        preference(MMDSKIN_OT_import_model, option): properties.changed(
            _declared(MMDSKIN_OT_import_model, option), default=True
        )
        for option in ("live", "live_physics")
    },
)


class MMDSKIN_AP_preferences(_Options, AddonPreferences):
    bl_idname = ADDON

    details: BoolProperty(
        name="Details in the Console",
        description="Print tracebacks of unexpected errors in MMD Skinning, for bug reports",
    )

    def draw(self, context: Context) -> None:
        for operator in _IMPORTERS:
            box = self.layout.box()
            box.use_property_split = True
            box.use_property_decorate = False
            box.label(text=operator.bl_label, text_ctxt="Operator")
            for option in operator.preferred:
                name = preference(operator, option)
                box.column().prop(self, name, text=name_of(self, name), translate=False)
        self.layout.prop(self, "details", text=name_of(self, "details"), translate=False)
        self.layout.operator("mmdskin.report", icon="COPYDOWN")


# The report


class MMDSKIN_OT_report(Reports, Operator):
    """Copy versions, system, backends and statistics of the models to the clipboard, for a bug report"""

    bl_idname = "mmdskin.report"
    bl_label = "Copy Report"
    bl_options = {"REGISTER"}

    def execute(self, context: Context) -> set[Any]:
        context.window_manager.clipboard = report(context)
        self.inform("Copied the report to the clipboard")
        return {"FINISHED"}


def report(context: Context) -> str:
    """What a bug report needs, in English. No names and contents of files."""
    lines = [
        f"Blender {bpy.app.version_string}, Python {sys.version.split()[0]}",
        f"{platform.system()} {platform.release()}, {platform.machine()}",
        *_of_module(),
    ]
    try:
        models = scene_model.all_models(context.view_layer)
    except UserError:
        models = []
    for number, model in enumerate(models, 1):
        lines += [f"Model {number}:", *(f"  {line}" for line in _of_model(model))]
    return "\n".join(lines) + "\n"


def _of_module() -> list[str]:
    try:
        module = native.load()
    except UserError as error:
        return [f"mmdskin: {error}"]
    backends = [
        f"  {one.name}: {one.device if one.available else 'not available'}"
        for one in module.backends()
    ]
    return [f"mmdskin {module.__version__}", *backends]


def _of_model(model: scene_model.SceneModel) -> list[str]:
    armature = model.armature
    settings = armature.mmdskin
    live, physics = ("on" if one else "off" for one in (switch.is_on(armature), settings.physics))
    lines = [
        f"{_count(armature.data.bones, 'bone')}, {_count(model.meshes, 'mesh', 'meshes')}",
        f"MMD Skinning {live}, source {settings.source}, physics {physics}",
        f"deformation {settings.deformation}",
    ]
    for obj in model.meshes:
        vertices = _count(obj.data.vertices, "vertex", "vertices")
        keys = _count(obj.data.shape_keys.key_blocks if obj.data.shape_keys else (), "shape key")
        lines.append(f"{vertices}, {keys}; {_types(obj, armature)}")
    cost = driver_function.cost_of(model)
    if cost is not None:
        lines.append(f"last evaluation {cost:.2f} ms")
    return lines


def _count(things: Any, one: str, many: str = "") -> str:
    return f"{len(things)} {one if len(things) == 1 else many or one + 's'}"


def _types(obj: Object, armature: Object) -> str:
    """Vertices of each deform type."""
    try:
        deform = mesh_source.read(obj, armature).deform.tolist()
    except UserError:
        return "no deform data"
    named = enumerate(mesh_source.DEFORM_NAMES)
    return ", ".join(f"{name} {deform.count(number)}" for number, name in named)


register, unregister = registration.functions(__name__)
