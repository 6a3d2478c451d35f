# SPDX-License-Identifier: GPL-3.0-or-later
"""Import one file as one model: read everything first, and remove everything if a step fails."""

import os
import pathlib
from typing import Any

import bpy
from bpy.types import Armature, Collection, Context, Mesh, Object

from ..blender import snapshots
from ..blender.native import mmdskin
from ..mmd_look import switch as look
from ..operator_base.editing import editing
from ..operator_base.importing import collection as active_collection
from ..scene import light, mmd_tools, model_file, names, scene_model, setting_paths, sliders
from . import armature, constraints, materials, mesh, morphs
from .model_import import ModelImport, group

_SUFFIX_ROOM = 8  # bytes for _arm, _mesh and Blender's .001


def import_file(context: Context, path: str, options: Any) -> ModelImport:
    """The finished import of a model, whose root is active; `options` is the operator.

    A UserError leaves everything unchanged.
    """
    path = os.path.abspath(path)
    with editing([path], model_file.load_model) as edit:
        [(_, pmx)] = edit.checked
        edit.on_failure(light.disconnect_lost, context.scene)
        edit.restore_on_failure(snapshots.Snapshot())
        importing = ModelImport(options, path, pmx)
        edit.on_failure(importing.folder.unpack)
        layer_objects = context.view_layer.objects
        edit.on_failure(_select, context, layer_objects.active, layer_objects.selected[:])
        importing.model = _build(importing, context)
    return importing


def _build(importing: ModelImport, context: Context) -> scene_model.SceneModel:
    # Root and armature are always created, so that every tool can find one from the other.
    pmx, parts = importing.pmx, importing.parts
    stem = names.cut(pathlib.Path(importing.path).stem, names.LIMIT - _SUFFIX_ROOM) or "model"
    _select(context, None, [])
    collection = active_collection(context)
    root = _object(collection, stem, None, None)
    rig = _object(collection, f"{stem}_arm", bpy.data.armatures.new(stem), root)
    rig.mmdskin.model_path = setting_paths.chosen(rig, "model_path", importing.path)
    rig.show_in_front, rig.display_type = True, "WIRE"
    rig.lock_location = rig.lock_rotation = rig.lock_scale = (True, True, True)  # type: ignore[assignment]
    root.empty_display_size = importing.scale / 0.2

    if "ARMATURE" in parts:
        armature.add_bones(importing, context, rig)
        if importing.options.constraints:
            constraints.add(importing, rig)
    if "DISPLAY" in parts:
        armature.group_bones(importing, rig)
    model = scene_model.SceneModel(root.name, rig, ())
    if "MESH" in parts:
        data = mesh.create(importing, stem)
        obj = _object(collection, f"{stem}_mesh", data, rig)
        mesh.add_weights(importing, obj)
        mesh.add_helpers(obj, pmx)
        materials.add(importing, data)
        modifier: Any = obj.modifiers.new(mmd_tools.MODIFIER, "ARMATURE")
        modifier.object = rig
        if len(pmx.positions):
            mesh.add_sdef(importing, obj)
            if "MORPHS" in parts:
                mesh.add_morphs(importing, obj)
                morphs.add(importing, rig, obj)
        model = model._replace(meshes=(obj,))
        if importing.options.look:
            look.enable(context.scene, model, importing.folder)
        importing.folder.report(importing)
    _describe(importing, root)
    mmd_tools.introduce(root, rig, pmx, importing.bone_names, importing.key_names)
    _select(context, root, [root])
    return model


def _describe(importing: ModelImport, root: Object) -> None:
    """Custom properties of the root."""
    pmx, parts = importing.pmx, importing.parts
    root[mmd_tools.NAME], root["mmd_name_e"] = pmx.name, pmx.name_english
    root["mmd_comment_j"], root["mmd_comment_e"] = pmx.comment, pmx.comment_english
    root["mmd_version"] = pmx.version
    root[mmd_tools.SCALE] = importing.scale
    root[names.LANGUAGE] = importing.options.names
    if "MORPHS" in parts:
        root[mmd_tools.MORPHS] = [_morph(importing, number) for number in range(len(pmx.morphs))]
    if "DISPLAY" in parts:
        root["mmd_display_frames"] = [_frame(frame) for frame in pmx.display_frames]
    if "PHYSICS" in parts:
        root["mmd_rigid_bodies"] = [group(body) for body in pmx.rigid_bodies]
        root["mmd_joints"] = [group(joint) for joint in pmx.joints]


def _morph(importing: ModelImport, number: int) -> dict[str, Any]:
    morph, key = importing.pmx.morphs[number], importing.key_names.get(number, "")
    fields = group(morph)
    fields |= {"key": key, sliders.SLIDER: importing.slider_names.get(number, "")}
    if morph.kind == "vertex" and key:
        # The shape key has the offsets.
        del fields["indices"], fields["values"]
    else:
        fields["indices"], fields["values"] = morph.indices.copy(), morph.values.ravel()
    return fields


def _frame(frame: "mmdskin.DisplayFrame") -> dict[str, Any]:
    return group(frame) | {"elements": [{"kind": kind, "index": i} for kind, i in frame.elements]}


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
