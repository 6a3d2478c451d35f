# SPDX-License-Identifier: GPL-3.0-or-later
"""One file into one model: everything is read first, and nothing stays if a step fails."""

import contextlib
import os
import pathlib
from typing import NamedTuple

import bpy

from .. import importing, mmd_tools, model_file, names, native, reader_texts
from ..translations import tr
from ..user_error import UserError
from . import armature, bone_shapes, constraints, keys, materials, mesh, morphs, records, weights

_SUFFIX_ROOM = 8  # bytes for _arm, _mesh and Blender's own .001


class Options(NamedTuple):
    scale: float = mmd_tools.USUAL_SCALE
    parts: frozenset = frozenset({"MESH", "ARMATURE", "MORPHS", "PHYSICS", "DISPLAY"})
    pack: bool = False
    constraints: bool = True
    english: bool = False  # the names of bones, shape keys and materials


class Report:
    """Sentences about what a model lost or lacks."""

    def __init__(self):
        self.warnings = []

    def warn(self, text):
        self.warnings.append(text)


def import_file(
    context: bpy.types.Context, path: str, options: Options
) -> tuple[bpy.types.Object, Report]:
    """The new root object and the Report; UserError leaves everything as it was."""
    path = os.path.abspath(path)
    pmx, report = read(path), Report()
    with _removed_on_failure(context):
        root = _build(context, pmx, path, options, report)
    return root, report


def read(path):
    """The file as a `mmdskin.Model`."""
    file = os.path.basename(path)
    mmdskin = native.load()
    try:
        return model_file.read("load_model", path)
    except mmdskin.FormatError as error:
        raise UserError(
            "'{file}' is not a sound MMD model: {reason}", file=file, reason=reader_texts.of(error)
        ) from error
    except (OSError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or tr("there is not enough memory")
        raise UserError("'{file}' cannot be read: {reason}", file=file, reason=reason) from error


def _build(context, pmx, path, options, report):
    # Model and armature are always there, so that every tool finds its way from one to the other.
    stem = names.cut(pathlib.Path(path).stem, names.LIMIT - _SUFFIX_ROOM) or "model"
    _deselect_all(context)
    collection = importing.collection(context)
    root = _object(collection, stem, None, None)
    rig = _object(collection, f"{stem}_arm", bpy.data.armatures.new(stem), root)
    rig.mmdskin.model_path = path
    rig.show_in_front, rig.display_type = True, "WIRE"
    rig.lock_location = rig.lock_rotation = rig.lock_scale = (True, True, True)
    root.empty_display_size = options.scale / 0.2

    bone_names = names.bones(pmx.bones, options.english)
    if "ARMATURE" in options.parts:
        constrained = options.constraints
        armature.add_bones(context, rig, pmx.bones, bone_names, options.scale, constrained)
        bone_shapes.add(rig, pmx.bones, bone_names)
        if constrained:
            _constrain(rig, pmx, bone_names, report)
    if "DISPLAY" in options.parts:
        records.group_bones(rig, pmx.display_frames, bone_names)
    key_names, slider_names = {}, {}
    if "MESH" in options.parts:
        obj = _mesh_object(collection, pmx, stem, rig, bone_names, path, options, report)
        if len(pmx.positions):
            keys.add_sdef(obj, pmx, options.scale)
            if "MORPHS" in options.parts:
                key_names = keys.add_morphs(obj, pmx, options.scale, options.english)
                slider_names = morphs.add(
                    rig, obj, pmx, key_names, bone_names, options.scale, report
                )
    records.describe(root, pmx, key_names, slider_names, options)
    mmd_tools.introduce(root, rig, pmx, bone_names, key_names)
    _deselect_all(context)
    root.select_set(True)
    context.view_layer.objects.active = root
    return root


def _constrain(rig, pmx, bone_names, report):
    missing = constraints.add(rig, pmx.bones, bone_names)
    if missing:
        report.warn(
            tr(
                "{count} IK bones move nothing in Blender, whose chains go from bone to parent: {names}",
                count=len(missing),
                names=", ".join(missing),
            )
        )


def _mesh_object(collection, pmx, stem, rig, bone_names, path, options, report):
    data, kept = mesh.create(stem, pmx, options.scale, report)
    obj = _object(collection, f"{stem}_mesh", data, rig)
    weights.fill(obj, pmx, bone_names)
    weights.add_helpers(obj, pmx)
    materials.add(data, pmx, kept, os.path.dirname(path), options, report)
    modifier = obj.modifiers.new(mmd_tools.MODIFIER, "ARMATURE")
    modifier.object = rig
    return obj


def _deselect_all(context):
    for obj in context.view_layer.objects.selected[:]:
        obj.select_set(False)


def _object(collection, name, data, parent):
    obj = bpy.data.objects.new(name, data)
    collection.objects.link(obj)
    obj.parent = parent
    return obj


@contextlib.contextmanager
def _removed_on_failure(context):
    """When an exception leaves the block, what was created in it goes, and the selection is back."""
    kinds = (
        "objects",
        "meshes",
        "shape_keys",
        "armatures",
        "materials",
        "images",
        "actions",
        "node_groups",
    )
    before = {kind: set(getattr(bpy.data, kind)) for kind in kinds}
    layer_objects = context.view_layer.objects
    active, selected = layer_objects.active, layer_objects.selected[:]
    try:
        yield
    except BaseException:
        new = [thing for kind in kinds for thing in set(getattr(bpy.data, kind)) - before[kind]]
        bpy.data.batch_remove(new)
        for obj in selected:
            obj.select_set(True)
        layer_objects.active = active
        raise
