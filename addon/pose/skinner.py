# SPDX-License-Identifier: GPL-3.0-or-later
"""A mesh of the scene prepared for skinning: read once, used for any number of poses.

Bake and preview share this code, so that their results are equal. Positions are in mesh space.
"""

import functools
from collections.abc import Iterable, Sequence, Set

import bpy
import numpy as np
from bpy.types import ID, DriverVariable, Key, Modifier, Object, VertexGroup
from mathutils import Vector

from ..blender import arrays, blender_versions, drivers, native
from ..blender.user_error import UserError
from ..scene import mesh_source, mmd_tools, names, scene_model
from . import pose_source
from .deformation import Deformation

# Modifiers that do not move vertices; these may come before the Armature modifier.
HARMLESS = {
    "DATA_TRANSFER",
    "NORMAL_EDIT",
    "UV_PROJECT",
    "UV_WARP",
    "VERTEX_WEIGHT_EDIT",
    "VERTEX_WEIGHT_MIX",
    "VERTEX_WEIGHT_PROXIMITY",
    "WEIGHTED_NORMAL",
}

_AS_IN_MMD = Deformation()
_SHORTEST = 1e-4 * mmd_tools.USUAL_SCALE  # bone that has a segment


class Skinner:
    """Immutable, and safe to use from several threads at once."""

    def __init__(
        self,
        obj: Object,
        armature: Object,
        absent: Sequence[str] = (),
        normals: mesh_source.Normals | None = None,
    ) -> None:
        """Read the mesh object, ignoring the shape keys named in `absent`.

        `normals`: those at rest, if `skinned` will be called.
        """
        mmdskin = native.load()
        self.source = source = mesh_source.read(obj, armature)
        self.bones = source.bones
        morphs = mesh_source.morphs(obj, source.weights, absent)
        self.keys = tuple(name for name, _, _ in morphs)
        self.normals = normals
        # The elements with normals: first the vertices, with their triangles and morphs.
        each = self._each = self.normals.vertices if self.normals else slice(None)
        self.influence = _modifier_influence(obj, armature, source)
        self.vertex_count = len(source.deform)
        # Whether the positions are exactly what it writes to the first buffer.
        self.fills_buffers = normals is None and self.influence is None
        self._skinned = mmdskin.Skinned
        indices, weights, deform = _with_still_bone(source)
        try:
            mesh = mmdskin.Mesh(
                _turned(mesh_source.rest_positions(obj.data)[each]),
                indices[each],
                weights[each],
                normals=_turned(self.normals.values) if self.normals else None,
                deform=deform[each],
                sdef=None if source.sdef is None else _turned(source.sdef[each]),
                morphs=[(indices, _turned(offsets)) for _, indices, offsets in morphs],
                triangles=blender_versions.triangles(obj.data),
                segments=np.append(
                    _turned(segments(obj, armature, self.bones)), np.zeros((1, 2, 3), np.float32), 0
                ),
                parents=np.append(_parents(armature, self.bones), np.int32(-1)),
            )
        except ValueError as error:
            raise UserError(
                "'{name}' cannot be skinned: {reason}", name=obj.name, reason=error
            ) from error
        # On the CPU: transfers to and from the graphics card take longer than skinning one mesh.
        has_normals = normals is not None
        self._skin = functools.partial(mmdskin.skin, mesh, normals=has_normals, backend="cpu")

    def buffers(self, *frames: int) -> list[np.ndarray]:
        """Output arrays for `skinned`: allocating memory for each frame is slow."""
        count = self.vertex_count if self.normals is None else len(self.normals.values)
        members = 1 if self.normals is None else 2
        return [np.empty((*frames, count, 3), np.float32) for _ in range(members)]

    def skinned(
        self,
        matrices: np.ndarray,
        key_values: np.ndarray,
        deformation: Deformation = _AS_IN_MMD,
        buffers: list[np.ndarray] | None = None,
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Positions (V, 3) or (F, V, 3) float32 for skinning matrices (…, B, 4, 4) and key values (…, K),
        and the normals (…, N, 3) float32 of each of `normals`, None without them.

        Works on the calling thread only. ValueError for NaN or infinity.
        """
        options = deformation._asdict()
        out = None if buffers is None else self._skinned(*buffers, *[None] * (3 - len(buffers)))
        found = self._skin(_from_turned(matrices), key_values, out=out, **options)
        positions, normals = found.positions, found.normals
        if self.influence is not None:
            still = np.tile(np.eye(4, dtype=np.float32), (len(self.bones), 1, 1))
            mixed = self._skin(_from_turned(still), key_values, **options)
            influence = self.influence[self._each, None]
            positions = mixed.positions + influence * (positions - mixed.positions)
            if normals is not None:
                normals = mixed.normals + influence * (normals - mixed.normals)
                normals /= np.maximum(np.linalg.norm(normals, axis=-1, keepdims=True), 1e-30)
        return positions[..., : self.vertex_count, :], normals


# SDEF and QDEF extract a rotation from the first two columns of a matrix. Blender's bones are not
# quite orthonormal, so it matters that these are the file's x and y: Blender's x and z. The mesh at
# rest is therefore turned by 90 degrees, and the matrices turn it back: results are Blender's.
# Not by `np.negative(…, out=…)`: NumPy 2.2 to 2.4 writes wrong numbers into arrays with strides.


_TURNED_BACK = np.array([[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]], np.float32)
_CANCELLED = 1e-6  # of the sum of a vertex's weights


def _turned(points: np.ndarray) -> np.ndarray:
    """Points (…, 3) turned so that Blender's z is y."""
    result = np.empty_like(points)
    result[..., 0], result[..., 1] = points[..., 0], points[..., 2]
    result[..., 2] = -points[..., 1]
    return result


def _from_turned(matrices: np.ndarray) -> np.ndarray:
    """Matrices (…, B + 1, 4, 4) float32 of bones (…, B, 4, 4) and of the still bone, for points that
    were `_turned`."""
    *frames, bones = matrices.shape[:-2]
    result = np.empty((*frames, bones + 1, 4, 4), np.float32)
    moved = result[..., :bones, :, :]
    moved[..., 0], moved[..., 1] = matrices[..., 0], matrices[..., 2]
    moved[..., 2] = -matrices[..., 1]
    moved[..., 3] = matrices[..., 3]
    result[..., bones, :, :] = _TURNED_BACK
    return result


def _with_still_bone(source: mesh_source.Source) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bone indices, weights and deform types in which one more bone moves the vertices without any.

    Otherwise these would stay where they were turned. As in mmdskin, weights that cancel out count
    as none.
    """
    indices, weights = source.bone_indices, source.bone_weights
    used = np.where(indices >= 0, weights, 0).astype(np.float64)
    used[:, 0] = np.where(source.deform == mesh_source.BDEF1, indices[:, 0] >= 0, used[:, 0])
    used[source.deform == mesh_source.BDEF1, 1:] = 0
    used[np.isin(source.deform, (mesh_source.BDEF2, mesh_source.SDEF)), 2:] = 0
    still = ~(np.abs(used.sum(axis=1)) > _CANCELLED * np.abs(used).sum(axis=1))
    if not still.any():
        return indices, weights, source.deform
    indices, weights, deform = indices.copy(), weights.copy(), source.deform.copy()
    indices[still], weights[still] = (len(source.bones), -1, -1, -1), (1, 0, 0, 0)
    deform[still] = mesh_source.BDEF1
    return indices, weights, deform


def key_values(
    names: Sequence[str],
    evaluated_keys: Key | None,
    unmuted: Iterable[str] = (),
    pinned: str | None = None,
    muted_in: Key | None = None,
    indices: np.ndarray | None = None,
) -> np.ndarray:
    """(K,) float32 by which Blender mixes the named keys now.

    `evaluated_keys` is the evaluated Key datablock or None. Keys in `unmuted` count as not muted;
    `pinned` names the only key that is shown, if any. With `muted_in`, that datablock says which
    keys are muted. `indices`: theirs, if known.
    """
    if not names:
        return np.zeros(0, np.float32)
    blocks = evaluated_keys.key_blocks
    if indices is None:
        indices = key_indices(tuple(names), tuple(blocks.keys()))
    values = arrays.read(blocks, "value")[indices]
    mute = arrays.read((muted_in or evaluated_keys).key_blocks, "mute", dtype=bool)[indices]
    if unmuted:
        mute &= ~np.isin(names, tuple(unmuted))
    if pinned is not None:
        values = np.array([name == pinned for name in names], np.float32)
    return np.where(mute, np.float32(0), values)


def awaited_values(
    variables: Iterable[DriverVariable], start: str, names: Set[str]
) -> list[list[tuple[str, float]]]:
    """(name, value) by which Blender mixes those of the evaluated shape keys that have these names, of
    each mesh for which a driver waits by `drivers.keys_of` and a variable whose name has this start."""
    blocks = [drivers.awaited_keys(one) for one in variables if one.name.startswith(start)]
    acting = [[key for key in keys if key.name in names] for keys in blocks]
    return [[(key.name, 0.0 if key.mute else key.value) for key in keys] for keys in acting]


@functools.lru_cache(maxsize=64)
def key_indices(names: tuple[str, ...], all_names: tuple[str, ...]) -> np.ndarray:
    """(K,) the index of each name among all; shared, so do not write to it."""
    number = {name: i for i, name in enumerate(all_names)}
    return np.array([number[name] for name in names], np.intp)


def pinned_key(obj: Object) -> str | None:
    """The name of the only shape key that the object shows, or None."""
    return obj.active_shape_key.name if obj.show_only_shape_key and obj.active_shape_key else None


def check_writable(obj: Object) -> None:
    """UserError if the object or its mesh cannot be written now."""
    mesh = obj.data
    if obj.library or mesh.library or obj.override_library or mesh.override_library:
        raise scene_model.needs_local(obj.name)
    check_mode(obj)


def check_mode(obj: Object) -> None:
    """UserError if the object is in a mode that keeps its data elsewhere."""
    if obj.mode in {"EDIT", "SCULPT"}:
        raise UserError(
            "'{name}' is in Edit or Sculpt Mode: switch to Object Mode first", name=obj.name
        )


def check_editable(obj: Object) -> None:
    """UserError if nothing can be added to the object or its mesh now."""
    check_writable(obj)
    users = users_of(obj.data)
    if users > 1:
        raise shared_mesh(obj, users)


def users_of(mesh: ID) -> int:
    """The number of objects that have a mesh, without those that are about to be removed."""
    return sum(obj.data == mesh and obj.users > 0 for obj in bpy.data.objects)


def shared_mesh(obj: Object, users: int) -> UserError:
    """The error where objects share a mesh that can only be deformed for one of them."""
    return UserError(
        "The mesh of '{name}' is used by {count} objects: make it single-user first",
        name=obj.name,
        count=users,
    )


def nothing_to_skin(model: scene_model.SceneModel) -> UserError:
    """The error for a model without vertices that bones move."""
    if not any(len(obj.data.vertices) for obj in model.meshes):
        return UserError("'{name}' has no vertices", name=model.name)
    return UserError(
        "'{name}' has no vertex group named after a deform bone of '{armature}'",
        name=model.name,
        armature=model.armature.name,
    )


def check_modifiers(obj: Object, armature: Object, last: Modifier | None = None) -> None:
    """UserError if a modifier moves vertices before those of the armature, or before `last`, do."""
    for modifier in obj.modifiers:
        if modifier == last:
            return
        if modifier.type == "ARMATURE" and modifier.object == armature:
            if last is None:
                return
        elif moves(modifier):
            deforming = last or scene_model.armature_modifiers(obj, armature)[0]
            raise UserError(
                "Modifier '{modifier}' of '{name}' is above '{deforming}': move it below",
                modifier=modifier.name,
                name=obj.name,
                deforming=deforming.name,
            )


def moves(modifier: Modifier) -> bool:
    """Whether a modifier may move vertices."""
    still = modifier.type in HARMLESS or modifier.name.startswith(names.UV_MORPHS)
    return not still and (modifier.show_viewport or modifier.show_render)


def segments(obj: Object, armature: Object, names: Sequence[str]) -> np.ndarray:
    """(B, 2, 3) float32 in mesh space: head and tail of each bone's segment at rest, for the methods that
    reduce bulging: docs/methods.md#segments.

    Blender gives every bone a length. If the file gives none, which importers store, the bone uses
    the segment of the bone whose rotation it copies, else its parent's.
    """
    bones, sources = armature.data.bones, mmd_tools.rotation_sources(armature)
    tips = {bone.name for bone in armature.pose.bones if mmd_tools.is_tip(bone)}
    known: dict[str | None, tuple[Vector, Vector] | None] = {None: None}
    ends = []
    for start in names:
        name, passed = start, list[str]()
        while name not in known and name not in passed:
            bone = bones[name]
            if bone.length > _SHORTEST and name not in tips:
                known[name] = bone.head_local, bone.tail_local
            else:
                passed.append(name)
                name = sources.get(name) or (bone.parent.name if bone.parent else None)
        known.update(dict.fromkeys(passed, known.get(name)))
        ends.append(known[start] or (bones[start].head_local,) * 2)
    found = np.array(ends, np.float64).reshape(-1, 2, 3)
    if armature.matrix_world != obj.matrix_world:
        to_mesh = pose_source.mesh_from_armature(armature, obj)
        found = found @ to_mesh[:3, :3].T + to_mesh[:3, 3]
    return found.astype(np.float32)


def _parents(armature: Object, names: Sequence[str]) -> np.ndarray:
    """(B,) int32: for each named bone, the index of its nearest named ancestor, or -1."""
    number, bones = {name: i for i, name in enumerate(names)}, armature.data.bones
    named = (
        (number[above.name] for above in bones[name].parent_recursive if above.name in number)
        for name in names
    )
    return np.array([next(above, -1) for above in named], np.int32)


def _modifier_influence(
    obj: Object, armature: Object, source: mesh_source.Source
) -> np.ndarray | None:
    """(V,) influence of the modifier's vertex group on the deformation, or None."""
    modifiers = scene_model.armature_modifiers(obj, armature)
    if not modifiers:
        raise UserError(
            "'{name}' has no Armature modifier for '{armature}'",
            name=obj.name,
            armature=armature.name,
        )
    modifier = modifiers[0]
    group: VertexGroup | None = obj.vertex_groups.get(mmd_tools.users_group(modifier))
    if group is None:
        return None
    influence = mesh_source.group_weights(source.weights, group.index, len(source.deform))
    return 1 - influence if modifier.invert_vertex_group else influence
