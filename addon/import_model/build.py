# SPDX-License-Identifier: GPL-3.0-or-later
"""Import one file as one model: read everything first, and remove everything if a step fails."""

import os
import pathlib
from typing import Any, NamedTuple

import bpy
from bpy.types import Armature, Collection, Context, Mesh, Object

from ..blender import native, snapshots
from ..blender.native import mmdskin
from ..blender.translations import tr
from ..blender.user_error import UserError
from ..mmd_look import switch as look
from ..operator_base import importing
from ..operator_base.editing import editing
from ..scene import (
    light,
    mmd_tools,
    model_file,
    names,
    scene_model,
    setting_paths,
    sliders,
    textures,
)
from . import armature, constraints, materials, mesh, morphs

_SUFFIX_ROOM = 8  # bytes for _arm, _mesh and Blender's .001


class Options(NamedTuple):
    scale: float = mmd_tools.USUAL_SCALE
    parts: frozenset = frozenset({"MESH", "ARMATURE", "MORPHS", "PHYSICS", "DISPLAY"})
    pack: bool = False
    constraints: bool = True
    english: bool = False  # for names of bones, shape keys and materials
    look: bool = True  # the MMD Look


def import_file(
    context: Context, path: str, options: Options
) -> tuple[scene_model.SceneModel, list[str]]:
    """The new model, whose root is active, and warnings of what it lost or lacks.

    A UserError leaves everything unchanged.
    """
    path = os.path.abspath(path)
    with editing([path], read) as edit:
        [(_, pmx)] = edit.checked
        edit.on_failure(light.disconnect_lost, context.scene)
        edit.restore_on_failure(snapshots.Snapshot())
        folder = textures.TextureFolder(os.path.dirname(path), options.pack)
        edit.on_failure(folder.unpack)
        warnings: list[str] = []
        layer_objects = context.view_layer.objects
        edit.on_failure(_select, context, layer_objects.active, layer_objects.selected[:])
        model = _build(context, pmx, path, folder, options, warnings)
    return model, warnings


def read(path: str) -> "mmdskin.Model":
    """The file as a `mmdskin.Model`."""
    file = os.path.basename(path)
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
    warnings: list[str],
) -> scene_model.SceneModel:
    # Root and armature are always created, so that every tool can find one from the other.
    stem = names.cut(pathlib.Path(path).stem, names.LIMIT - _SUFFIX_ROOM) or "model"
    _select(context, None, [])
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
        if constrained:
            constraints.add(rig, pmx.bones, bone_names, warnings)
    if "DISPLAY" in options.parts:
        armature.group_bones(rig, pmx.display_frames, bone_names)
    key_names, slider_names = {}, {}
    model = scene_model.SceneModel(root.name, rig, ())
    if "MESH" in options.parts:
        data, kept = mesh.create(stem, pmx, options.scale, warnings)
        obj = _object(collection, f"{stem}_mesh", data, rig)
        mesh.add_weights(obj, pmx, bone_names)
        mesh.add_helpers(obj, pmx)
        materials.add(data, pmx, kept, folder, options.english, warnings)
        modifier: Any = obj.modifiers.new(mmd_tools.MODIFIER, "ARMATURE")
        modifier.object = rig
        if len(pmx.positions):
            mesh.add_sdef(obj, pmx, options.scale)
            if "MORPHS" in options.parts:
                key_names = mesh.add_morphs(obj, pmx, options.scale, options.english)
                slider_names = morphs.add(
                    rig, obj, pmx, key_names, bone_names, options.scale, warnings
                )
        model = model._replace(meshes=(obj,))
        if options.look:
            look.enable(context.scene, model, folder)
        warnings += folder.warnings()
    _describe(root, pmx, key_names, slider_names, options)
    mmd_tools.introduce(root, rig, pmx, bone_names, key_names)
    _select(context, root, [root])
    return model


def _describe(
    root: Object,
    pmx: "mmdskin.Model",
    key_names: dict[int, str],
    slider_names: dict[int, str],
    options: Options,
) -> None:
    """Custom properties of the root; the names are those of shape keys and properties by morph index."""
    root[mmd_tools.NAME], root["mmd_name_e"] = pmx.name, pmx.name_english
    root["mmd_comment_j"], root["mmd_comment_e"] = pmx.comment, pmx.comment_english
    root["mmd_version"] = pmx.version
    root[mmd_tools.SCALE] = options.scale
    root[names.LANGUAGE] = names.language(options.english)
    if "MORPHS" in options.parts:
        root[mmd_tools.MORPHS] = [
            _morph(morph, key_names.get(number, ""), slider_names.get(number, ""))
            for number, morph in enumerate(pmx.morphs)
        ]
    if "DISPLAY" in options.parts:
        root["mmd_display_frames"] = [_frame(frame) for frame in pmx.display_frames]
    if "PHYSICS" in options.parts:
        root["mmd_rigid_bodies"] = [body._asdict() for body in pmx.rigid_bodies]
        root["mmd_joints"] = [joint._asdict() for joint in pmx.joints]


def _morph(morph: "mmdskin.Morph", key: str, slider: str) -> dict:
    fields = {**morph._asdict(), "key": key, sliders.SLIDER: slider}
    if morph.kind == "vertex" and key:
        # The shape key has the offsets.
        del fields["indices"], fields["values"]
    else:
        fields["indices"], fields["values"] = morph.indices.copy(), morph.values.ravel()
    return fields


def _frame(frame: "mmdskin.DisplayFrame") -> dict[str, bool | list[dict[str, int | str]] | str]:
    elements = [{"kind": kind, "index": index} for kind, index in frame.elements]
    return {**frame._asdict(), "elements": elements}


def _select(context: Context, active: Object | None, selected: list[Object]) -> None:
    objects = context.view_layer.objects
    for obj in objects.selected[:]:
        obj.select_set(False)
    for obj in selected:
        obj.select_set(True)
    objects.active = active


def _object(
    collection: Collection, name: str, data: Armature | Mesh | None, parent: Object | None
) -> Object:
    obj = bpy.data.objects.new(name, data)
    collection.objects.link(obj)
    obj.parent = parent
    return obj
