# SPDX-License-Identifier: GPL-3.0-or-later
"""Report: what a bug report needs, copied to the clipboard. No names and contents of files."""

import platform
import sys
from typing import Any

import bpy

from ..blender import native, registration
from ..blender.translations import Reports
from ..blender.user_error import UserError
from ..preview import driver_function, switch
from ..scene import mesh_source, scene_model


class MMDSKIN_OT_report(Reports, bpy.types.Operator):
    """Copy versions, system, backends and statistics of the models to the clipboard, for a bug report"""

    bl_idname = "mmdskin.report"
    bl_label = "Copy Report"
    bl_options = {"REGISTER"}

    def execute(self, context: bpy.types.Context) -> set[Any]:
        context.window_manager.clipboard = text(context)
        self.inform("Copied the report to the clipboard")
        return {"FINISHED"}


def text(context: bpy.types.Context) -> str:
    """The report, in English."""
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


def _types(obj: bpy.types.Object, armature: bpy.types.Object) -> str:
    """Vertices of each deform type."""
    try:
        deform = mesh_source.read(obj, armature).deform.tolist()
    except UserError:
        return "no deform data"
    named = enumerate(mesh_source.DEFORM_NAMES)
    return ", ".join(f"{name} {deform.count(number)}" for number, name in named)


register, unregister = registration.functions(__name__)
