# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator Restore Deform Data: set the file's skinning data on a model of another importer.

It restores deform types, weights and SDEF points of every vertex that matches the file; all other
vertices are unchanged. `_prepare_meshes` reads and may fail, `_write` only writes.
"""

import contextlib
import os
from itertools import pairwise
from typing import Any

import numpy as np
from bpy.props import StringProperty
from bpy.types import Context, Event, Object, Operator
from bpy_extras.io_utils import ImportHelper

from ..blender import arrays, blender_versions, file_access, registration
from ..blender.native import mmdskin
from ..blender.user_error import UserError, cancels
from ..operator_base.editing import editing
from ..operator_base.model_operator import PosingOperator
from ..pose import pose_source, skinner
from ..preview import switch
from ..scene import mesh_source, mmd_tools, model_file, scene_model, setting_paths
from ..scene.mesh_source import BDEF2, SDEF
from ..scene.mmd_tools import SDEF_KEYS
from . import vertex_match

_SAME_WEIGHT = 1e-6


class MMDSKIN_OT_restore_deform_data(PosingOperator, ImportHelper, Operator):
    """Restore from the model file what the importer lost (QDEF, SDEF, exact weights)"""

    bl_idname = "mmdskin.restore_deform_data"
    bl_label = "Restore Deform Data"
    bl_options = {"REGISTER", "UNDO"}

    filename_ext = ".pmx"
    filter_glob: StringProperty(default="*.pmx;*.pmd", options={"HIDDEN"})

    def invoke(self, context: Context, event: Event) -> set[Any]:
        with contextlib.suppress(UserError):  # the user will choose the file
            model = scene_model.model_of(context.active_object, context.view_layer)
            self.filepath = model_file.rig(model.armature).path
        return super().invoke(context, event)

    @cancels
    def execute(self, context: Context) -> set[Any]:
        model = scene_model.model_of(context.active_object, context.view_layer)
        file_access.choose(self.filepath)
        rig = model_file.rig(model.armature, self.filepath)
        restored, missing = _prepare_meshes(model, rig)
        with editing(restored, _Restored.check) as edit:
            edit.save(item.obj for item in restored)
            for item, before in edit.checked:
                edit.on_failure(item.restore, *before)
                item.write()
        name, settings = os.path.basename(rig.path), model.armature.mmdskin
        settings.model_path = setting_paths.chosen(model.armature, "model_path", rig.path)
        problem = switch.refresh(model.armature)
        if missing:
            self.caution(
                "1 vertex has no match in '{file}' and was left unchanged",
                "{count} vertices have no match in '{file}' and were left unchanged",
                count=missing,
                file=name,
            )
        if problem:
            self.report({"WARNING"}, problem)
        matched = sum(int(item.matched.sum()) for item in restored)
        self.inform(
            "Restored 1 vertex from '{file}'",
            "Restored {count} vertices from '{file}'",
            count=matched,
            file=name,
        )
        return {"FINISHED"}


def _prepare_meshes(
    model: scene_model.SceneModel, rig: model_file.Rig
) -> "tuple[list[_Restored], int]":
    """What to restore of each mesh with matching vertices, and the number of vertices without a match."""
    for obj in model.meshes:
        skinner.check_editable(obj)
    if not len(rig.pmx.positions):
        raise UserError("'{name}' has no vertices", name=os.path.basename(rig.path))
    restored = [_Restored(obj, model.armature, rig) for obj in model.meshes]
    matched = sum(item.matched.sum() for item in restored)
    total = sum(len(item.matched) for item in restored)
    if 2 * matched < total or not matched:
        raise UserError(
            "'{file}' does not match '{name}': only {found} of {total} vertices found",
            file=os.path.basename(rig.path),
            name=model.name,
            found=matched,
            total=total,
        )
    return [item for item in restored if item.matched.any()], total - matched


class _Restored:
    """What to restore of one mesh object; only `write` changes it."""

    def __init__(self, obj: Object, armature: Object, rig: model_file.Rig) -> None:
        self.obj = obj
        source = mesh_source.read(obj, armature)
        to_mesh = pose_source.mesh_from_armature(armature, obj) @ rig.to_armature
        numbers = vertex_match.match(obj, source.weights, rig.pmx, to_mesh)
        group_of_bone, self._new_groups = _groups(obj, rig, numbers)
        # The mesh's own data, which vertices without a match keep.
        group_of_source = np.array([obj.vertex_groups[name].index for name in source.bones] + [-1])
        groups, weights = group_of_source[source.bone_indices], source.bone_weights.copy()
        deform = source.deform.copy()

        bones = rig.pmx.bone_indices[numbers]
        matched = (numbers >= 0) & ((bones < 0) | (group_of_bone[bones] >= 0)).all(axis=1)
        number = numbers[matched]
        groups[matched] = np.where(bones < 0, -1, group_of_bone[bones])[matched]
        weights[matched] = rig.pmx.bone_weights[number]
        deform[matched] = rig.pmx.deform[number]
        # All-zero points could not be told apart from vertices without SDEF.
        empty = matched & (deform == SDEF)
        empty[empty] = ~rig.pmx.sdef[numbers[empty]].any(axis=(1, 2))
        deform[empty] = BDEF2
        self.matched = matched  # (V,) bool: the vertices that match the file
        # (V,) uint8; (V, 4) vertex group indices, -1 is empty; (V, 4) float32
        self._deform, self._groups, self._weights = deform, groups, weights
        self._changes = self._changed_weights(source.weights, armature)
        self._points = self._sdef_points(armature, rig.pmx, numbers, to_mesh)

    def _changed_weights(
        self, present: mesh_source.Weights, armature: Object
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(vertices, groups, weights, weights before) of the changes to vertex groups, sorted for
        writing; -1 for a vertex that is not in the group."""
        matched = self.matched
        width = max(int(self._groups.max(initial=0)), len(self.obj.vertex_groups)) + 1
        of_bone = np.zeros(width, bool)
        of_bone[[g.index for g in self.obj.vertex_groups if g.name in armature.data.bones]] = True
        kept = matched[present.vertex] & of_bone[present.group]
        now = present.vertex[kept] * width + present.group[kept]
        vertex, slot = np.nonzero(matched[:, None] & (self._groups >= 0))
        wanted = vertex * width + self._groups[vertex, slot]
        place, index = np.unique(np.concatenate([now, wanted]), return_inverse=True)
        index = index.ravel()
        goal = np.bincount(index[len(now) :], self._weights[vertex, slot], len(place))
        goal = np.clip(goal, 0, 1).astype(np.float32)
        before = np.full(len(place), -1, np.float32)
        before[index[: len(now)]] = present.weight[kept]
        changed = np.abs(goal - np.maximum(before, 0)) > _SAME_WEIGHT
        vertex, group = np.divmod(place[changed], width)
        goal, before = np.where(goal > 0, goal, -1)[changed], before[changed]
        order = np.lexsort((goal, group))
        return vertex[order], group[order], goal[order], before[order]

    def _sdef_points(
        self, armature: Object, pmx: "mmdskin.Model", numbers: np.ndarray, to_mesh: np.ndarray
    ) -> np.ndarray | None:
        """(V, 3, 3) float32 C, R0 and R1 in mesh space, the vertex itself if it has none; None without
        SDEF vertices."""
        keys = self.obj.data.shape_keys
        blocks = [keys.key_blocks.get(name) for name in SDEF_KEYS] if keys else [None] * 3
        sdef = self.matched & (self._deform == SDEF)
        if not sdef.any() and None in blocks:
            return None
        rest = mesh_source.rest_positions(self.obj.data)
        points = np.stack(
            [rest if one is None else mesh_source.key_positions(one) for one in blocks], axis=1
        )
        points[self.matched] = rest[self.matched, None]
        of_file = pmx.sdef[numbers[sdef]].astype(np.float64)
        points[sdef] = of_file @ to_mesh[:3, :3].T + to_mesh[:3, 3]
        present = [group.name for group in self.obj.vertex_groups]
        order = mesh_source.group_order(present + self._new_groups, armature)
        first, second = order[self._groups[sdef, :2]].T
        swapped = np.flatnonzero(sdef)[first > second]
        points[swapped, 1:] = points[swapped, :0:-1]
        return points.astype(np.float32)

    def check(self) -> tuple[int, dict[str, np.ndarray]]:
        """Arguments of `restore`."""
        return len(self.obj.vertex_groups), mesh_source.deform_attributes(self.obj.data)

    def write(self) -> None:
        for name in self._new_groups:
            self.obj.vertex_groups.new(name=name)
        vertex, group, weight, _ = self._changes
        self._write_weights(vertex, group, weight)
        if self._points is not None:
            self._write_points()
        mesh = self.obj.data
        mesh_source.store_deform_data(mesh, self._deform, self._groups, self._weights)
        mesh.update_tag()
        mmd_tools.refresh_sdef(self.obj)

    def restore(self, count: int, attributes: dict[str, np.ndarray]) -> None:
        """Undo: `count` vertex groups, with the weights that were changed, and the attributes."""
        groups = self.obj.vertex_groups
        for group in list(groups)[count:]:
            groups.remove(group)
        vertex, number, _, before = self._changes
        had = number < count
        self._write_weights(vertex[had], number[had], before[had])
        mesh_source.set_deform_attributes(self.obj.data, attributes)

    def _write_weights(self, vertex: np.ndarray, group: np.ndarray, weight: np.ndarray) -> None:
        groups = self.obj.vertex_groups
        starts = np.flatnonzero((np.diff(group) != 0) | (np.diff(weight) != 0)) + 1
        for start, end in pairwise([0, *starts.tolist(), len(vertex)] if len(vertex) else []):
            vertices, value = vertex[start:end].tolist(), float(weight[start])
            if value >= 0:
                groups[int(group[start])].add(vertices, value, "REPLACE")
            else:
                groups[int(group[start])].remove(vertices)

    def _write_points(self) -> None:
        obj = self.obj
        shown = obj.active_shape_key_index
        if not obj.data.shape_keys:
            obj.shape_key_add(name="Basis", from_mix=False)
        for name, points in zip(SDEF_KEYS, self._points.transpose(1, 0, 2), strict=True):
            key = obj.data.shape_keys.key_blocks.get(name)
            if key is None:
                key = obj.shape_key_add(name=name, from_mix=False)
                key.mute = True
            key.value = 0.0
            arrays.write(*blender_versions.key_positions(key), points)
        obj.active_shape_key_index = shown


def _groups(obj: Object, rig: model_file.Rig, numbers: np.ndarray) -> tuple:
    """Vertex group of each bone of the file (-1: the armature has no such bone), names to add."""
    used = np.unique(rig.pmx.bone_indices[numbers[numbers >= 0]])
    names = {number: name for name, number in rig.bones.items()}
    group_of_bone = np.full(max(len(rig.pmx.bones), 1), -1)
    groups = obj.vertex_groups.keys()
    for bone in [bone for bone in used.tolist() if bone in names]:
        if names[bone] not in groups:
            groups.append(names[bone])
        group_of_bone[bone] = groups.index(names[bone])
    return group_of_bone, groups[len(obj.vertex_groups) :]


register, unregister = registration.functions(__name__)
