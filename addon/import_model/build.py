# SPDX-License-Identifier: GPL-3.0-or-later
"""Import one file as one model: read everything first, and remove everything if a step fails."""

import os
import pathlib
from typing import TYPE_CHECKING

import bpy
from bpy.types import Armature, Collection, Context, Mesh, Object

from ..blender import native, snapshots
from ..blender.translations import tr, tr_count
from ..blender.user_error import UserError
from ..mmd_look import switch as look
from ..operator_base import importing
from ..operator_base.editing import editing
from ..scene import light, mmd_tools, model_file, names, scene_model, setting_paths, textures
from . import armature, constraints, materials, mesh, morphs, root_data
from .options import Options, Report

if TYPE_CHECKING:
    import mmdskin

_SUFFIX_ROOM = 8  # bytes for _arm, _mesh and Blender's .001


def import_file(
    context: Context, path: str, options: Options
) -> tuple[scene_model.SceneModel, Report]:
    """The new model, whose root is active, and the Report; a UserError leaves everything unchanged."""
    path = os.path.abspath(path)
    with editing([path], read) as edit:
        [(_, pmx)] = edit.checked
        edit.on_failure(light.disconnect_lost, context.scene)
        edit.restore_on_failure(snapshots.DatablocksSnapshot())
        folder = textures.TextureFolder(os.path.dirname(path), options.pack)
        edit.on_failure(folder.unpack)
        report = Report()
        layer_objects = context.view_layer.objects
        edit.on_failure(_select, context, layer_objects.active, layer_objects.selected[:])
        model = _build(context, pmx, path, folder, options, report)
    return model, report


def read(path: str) -> "mmdskin.Model":
    """The file as a `mmdskin.Model`."""
    file = os.path.basename(path)
    mmdskin = native.load()
    try:
        return model_file.read("load_model", path)
    except mmdskin.FormatError as error:
        raise UserError(
            "'{file}' is not a valid MMD model: {reason}",
            file=file,
            reason=native.sentence(error),
        ) from error
    except (OSError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or tr("not enough memory")
        raise UserError("'{file}' cannot be read: {reason}", file=file, reason=reason) from error


def _build(
    context: Context,
    pmx: "mmdskin.Model",
    path: str,
    folder: textures.TextureFolder,
    options: Options,
    report: Report,
) -> scene_model.SceneModel:
    # Root and armature are always created, so that every tool can find one from the other.
    stem = names.cut(pathlib.Path(path).stem, names.LIMIT - _SUFFIX_ROOM) or "model"
    _deselect_all(context)
    collection = importing.collection(context)
    root = _object(collection, stem, None, None)
    rig = _object(collection, f"{stem}_arm", bpy.data.armatures.new(stem), root)
    rig.mmdskin.model_path = setting_paths.chosen(rig, "model_path", path)
    rig.show_in_front, rig.display_type = True, "WIRE"
    rig.lock_location = rig.lock_rotation = rig.lock_scale = (True, True, True)  # type: ignore[assignment]
    root.empty_display_size = options.scale / 0.2

    bone_names = names.bones(pmx.bones, options.english)
    if "ARMATURE" in options.parts:
        constrained = options.constraints
        armature.add_bones(
            context, rig, pmx.bones, bone_names, options.scale, constrained, options.english
        )
        armature.add_shapes(rig, pmx.bones, bone_names)
        if constrained:
            _constrain(rig, pmx, bone_names, report)
    if "DISPLAY" in options.parts:
        root_data.group_bones(rig, pmx.display_frames, bone_names)
    key_names, slider_names = {}, {}
    model = scene_model.SceneModel(root.name, rig, ())
    if "MESH" in options.parts:
        obj = _mesh_object(collection, pmx, stem, rig, bone_names, folder, options, report)
        if len(pmx.positions):
            mesh.add_sdef(obj, pmx, options.scale)
            if "MORPHS" in options.parts:
                key_names = mesh.add_morphs(obj, pmx, options.scale, options.english)
                slider_names = morphs.add(
                    rig, obj, pmx, key_names, bone_names, options.scale, report
                )
        model = model._replace(meshes=(obj,))
        if options.look:
            look.enable(context.scene, model, folder)
        report.textures(folder)
    root_data.describe(root, pmx, key_names, slider_names, options)
    mmd_tools.introduce(root, rig, pmx, bone_names, key_names)
    _deselect_all(context)
    root.select_set(True)
    context.view_layer.objects.active = root
    return model


def _constrain(rig: Object, pmx: "mmdskin.Model", bone_names: list[str], report: Report) -> None:
    missing = constraints.add(rig, pmx.bones, bone_names)
    if missing:
        text = tr_count(
            "1 IK bone has no effect, because IK chains in Blender follow bone parents: {names}",
            "{count} IK bones have no effect, because IK chains in Blender follow bone"
            " parents: {names}",
            count=len(missing),
            names=", ".join(missing),
        )
        report.warn(text)


def _mesh_object(
    collection: Collection,
    pmx: "mmdskin.Model",
    stem: str,
    rig: Object,
    bone_names: list[str],
    folder: textures.TextureFolder,
    options: Options,
    report: Report,
) -> Object:
    data, kept = mesh.create(stem, pmx, options.scale, report)
    obj = _object(collection, f"{stem}_mesh", data, rig)
    mesh.add_weights(obj, pmx, bone_names)
    mesh.add_helpers(obj, pmx)
    materials.add(data, pmx, kept, folder, options, report)
    modifier = obj.modifiers.new(mmd_tools.MODIFIER, "ARMATURE")
    modifier.object = rig
    return obj


def _deselect_all(context: Context) -> None:
    for obj in context.view_layer.objects.selected[:]:
        obj.select_set(False)


def _select(context: Context, active: Object | None, selected: list[Object]) -> None:
    _deselect_all(context)
    for obj in selected:
        obj.select_set(True)
    context.view_layer.objects.active = active


def _object(
    collection: Collection, name: str, data: Armature | Mesh | None, parent: Object | None
) -> Object:
    obj = bpy.data.objects.new(name, data)
    collection.objects.link(obj)
    obj.parent = parent
    return obj
