# SPDX-License-Identifier: GPL-3.0-or-later
"""The .pmx or .pmd file of a model in the scene, and the mapping of its bones and space.

Other importers store neither the file nor the scale, and users rename, scale, mirror and move their
models. So bones are found by name, and the space by a map from the file's bones to the scene's.
"""

import functools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import bpy
import numpy as np
from bpy.types import Object
from numpy.typing import ArrayLike

from ..blender import details, file_access, native, registration
from ..blender.native import mmdskin
from ..blender.translations import tr
from ..blender.user_error import UserError
from . import mmd_tools, scene_model, setting_paths, stored
from .names import unique, with_side, without_number

_logger = details.logger(__name__)
_AXES = np.eye(3)[[0, 2, 1]]  # the file's y is Blender's z
_TOLERANCE = 2e-5  # of the armature's size
_BLENDERS_SIDE = re.compile(r"^(.*)[._]([LR])(\.\d{3})?$")


class Rig:
    """A model file matched to an armature, without references to Blender data.

    Any thread may use it: it only remembers the bones that it was asked for last.
    """

    def __init__(self, armature: Object, path: str) -> None:
        """UserError if the file is not that of the armature's model."""
        self.path = path
        self.pmx = load_model(path)  # in the form of a PMX even if the file is a PMD
        # By the name of a scene bone: the bone in the file, and the one that moves it, or -1.
        self.bones = match_bones(armature, self.pmx)
        self._moving: dict[str, int] = {}
        name, total = os.path.basename(path), len(self.pmx.bones)
        if 2 * len(self.bones) < total or not self.bones:
            raise UserError(
                "'{file}' does not match '{name}': only {found} of its {total} bones found",
                file=name,
                name=armature.name,
                found=len(self.bones),
                total=total,
            )
        heads: list[Any] = [armature.data.bones[bone].head_local for bone in self.bones]
        points = [self.pmx.bones[number].position for number in self.bones.values()]
        to_armature = fit(points, heads, _scale_of_import(armature))
        if to_armature is None:
            raise UserError(
                "'{file}' does not match '{name}': its bones have the same names but different"
                " positions",
                file=name,
                name=armature.name,
            )
        self.to_armature = to_armature  # (4, 4) float64: from the file's space to the armature's
        # T M inverse(T), as one matrix that multiplies the 16 elements of M.
        self._conjugate = np.kron(to_armature, np.linalg.inv(to_armature).T).T
        for bone in armature.data.bones:  # parents first
            above = self._moving[bone.parent.name] if bone.parent else -1
            self._moving[bone.name] = self.bones.get(bone.name, above)
        self._last: tuple[tuple[str, ...], np.ndarray] = (), np.zeros(0, np.intp)

    def bone_indices(self, bones: Iterable[str]) -> np.ndarray:
        """(B,) indices of the file's bones that move the named scene bones, or -1."""
        return np.array([self._moving.get(name, -1) for name in bones], np.intp)

    def matrices(self, of_file: np.ndarray, bones: Sequence[str]) -> np.ndarray:
        """(F, B, 4, 4) float32 from rest to pose of the named scene bones, in armature space.

        `of_file` are all skinning matrices of the file's model, (F, …, 4, 4). A bone that the file
        lacks moves with its parent.
        """
        names, indices = self._last
        if names != tuple(bones):  # a live mesh asks for the same bones in each frame
            indices = self.bone_indices(bones)
            self._last = tuple(bones), indices
        chosen = of_file[:, indices]
        chosen[:, indices < 0] = np.eye(4)
        # NumPy multiplies matrices of one type an order of magnitude faster. A product per frame is
        # too small for OpenBLAS's threads, which would spin for a while after each of them.
        moved = chosen.reshape(*chosen.shape[:2], 16).astype(np.float64) @ self._conjugate
        return moved.reshape(chosen.shape).astype(np.float32)


def load_model(path: str) -> "mmdskin.Model":
    return _load("load_model", path)


def load_motion(path: str, pmx: "mmdskin.Model | None" = None) -> "mmdskin.Motion":
    """For a model, with names in the encoding in which it has most of them."""
    return _load("load_motion", path, pmx)


def rig(armature: Object, path: str = "") -> Rig:
    """The Rig of an armature object; without a path, its file is searched for."""
    kept = setting_paths.absolute(armature, "model_path")
    path = setting_paths.resolved(path) or (kept if file_access.exists(kept) else "")
    if path:
        return Rig(armature, path)
    native.load()  # first, so that a missing module is not reported as a missing file
    best = None
    for candidate in _candidates(armature.original):
        try:
            found = Rig(armature, candidate)
        except UserError as error:
            _logger.debug("skipped '%s': %s", candidate, error)
            continue
        if best is None or len(found.bones) > len(best.bones):
            best = found
        if len(best.bones) == len(best.pmx.bones):
            break
    if best is None:
        raise UserError(
            "The model file of '{name}' is unknown: choose its .pmx or .pmd file",
            name=armature.name,
        )
    return best


def _load(kind: str, path: str, pmx: "mmdskin.Model | None" = None) -> Any:
    """Load a file with the native module's function `kind`, with a cache."""
    name = os.path.basename(path)
    try:
        stat = file_access.check(path)
        return _loaded(kind, path, stat.st_mtime_ns, stat.st_size, pmx)
    except OSError as error:
        raise UserError(
            "'{file}' cannot be opened: {reason}", file=name, reason=error.strerror or error
        ) from error
    except (ValueError, MemoryError) as error:
        reason = native.sentence(error) or tr("not enough memory")
        raise UserError("'{file}' cannot be read: {reason}", file=name, reason=reason) from error


@functools.lru_cache(maxsize=16)
def _loaded(kind: str, path: str, mtime: int, size: int, pmx: "mmdskin.Model | None" = None) -> Any:
    _logger.debug("%s '%s': %d bytes", kind, path, size)
    options = {"model": pmx} if pmx is not None else {}
    return getattr(native.load(), kind)(path, **options)


def _candidates(armature: Object) -> Iterator[str]:
    """Model files in folders that an importer has stored or loaded textures from; that with the model's
    name comes first."""
    named = {obj.name for obj in scene_model.ancestors(armature)}
    for folder in filter(file_access.may_look, dict.fromkeys(_folders(armature))):
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in sorted(names, key=lambda name: (os.path.splitext(name)[0] not in named, name)):
            if name.lower().endswith((".pmx", ".pmd")):
                yield os.path.join(folder, name)


def _folders(armature: Object) -> Iterator[str]:
    for obj in scene_model.ancestors(armature):
        folder = obj.get(mmd_tools.FOLDER, "")
        if isinstance(folder, str) and folder:
            yield bpy.path.abspath(folder)
    materials = (slot.material for obj in armature.children for slot in obj.material_slots)
    for material in materials:
        for node in material.node_tree.nodes if material and material.node_tree else ():
            image = getattr(node, "image", None)
            if image and image.filepath and not image.packed_file:
                folder = os.path.dirname(bpy.path.abspath(image.filepath, library=image.library))
                yield folder
                yield os.path.dirname(folder)


def _scale_of_import(armature: Object) -> float:
    root = scene_model.ancestor_with(armature.original, mmd_tools.SCALE)
    scale = stored.value(root, mmd_tools.SCALE, 0.0)
    return scale if 0 < scale < np.inf else mmd_tools.USUAL_SCALE


def match_bones(armature: Object, pmx: "mmdskin.Model") -> dict[str, int]:
    """{scene bone: file bone}, by the name that an importer has stored, else by the bone's own."""
    bones, found = pmx.bones, dict[str, int]()
    by_name = {name: i for i, name in enumerate(unique(bone.name for bone in bones))}
    free = set(by_name.values())
    # A bone that was duplicated in Blender has the same stored data as the original.
    pose_bones = sorted(armature.pose.bones, key=lambda one: without_number(one.name) != one.name)
    for pose_bone in pose_bones:
        kept, number = mmd_tools.bone_in_file(pose_bone)
        is_known = kept and 0 <= number < len(bones) and bones[number].name == kept
        candidates = number if is_known else -1, by_name.get(kept, -1), by_name.get(pose_bone.name)
        number = next((one for one in candidates if one in free), None)
        if number is not None:
            free.remove(number)
            found[pose_bone.name] = number
    by_side = {with_side(name): number for name, number in by_name.items() if number in free}
    for name in [one.name for one in pose_bones if one.name not in found]:
        number = by_side.pop(_BLENDERS_SIDE.sub(r"\1\3.\2", name), None)
        if number is not None:
            found[name] = number
    return found


def fit(points: ArrayLike, targets: ArrayLike, scale: float) -> np.ndarray | None:
    """(4, 4) float64 that maps the file's points to the targets, or None.

    `scale` is that of points that are all in one place. The simplest map that fits is used, since it
    is the best determined. If none fits all points, up to a quarter of them are ignored as moved by
    the user.
    """
    points = np.asarray(points, np.float64).reshape(-1, 3) @ _AXES.T
    targets = np.asarray(targets, np.float64).reshape(-1, 3)
    tolerance = _TOLERANCE * max(np.ptp(targets, axis=0).max(), 1e-3)
    scaled = functools.partial(_scaled, usual=scale)
    for rounds in (1, 5):
        for solve in (scaled, _similar, _affine):
            used = np.ones(len(points), bool)
            for _ in range(rounds):
                middle, goal = points[used].mean(axis=0), targets[used].mean(axis=0)
                linear = solve(points[used] - middle, targets[used] - goal)
                if linear is None:
                    break
                offset = goal - linear @ middle
                error = np.linalg.norm(points @ linear.T + offset - targets, axis=1)
                if (error[used] <= tolerance).all():
                    result = np.eye(4)
                    result[:3, :3], result[:3, 3] = linear @ _AXES, offset
                    return result
                used = error <= max(tolerance, np.quantile(error, 0.75))
    return None


# (3, 3) from points p to points q, both about their means, or None


def _scaled(p: np.ndarray, q: np.ndarray, usual: float) -> np.ndarray | None:
    """Default axes, uniform scale."""
    spread = (p * p).sum()
    scale = (p * q).sum() / spread if spread > 1e-12 else usual
    return scale * np.eye(3) if scale > 0 else None


def _similar(p: np.ndarray, q: np.ndarray) -> np.ndarray | None:
    """Rotated and perhaps mirrored, uniform scale."""
    left, sizes, right = np.linalg.svd(q.T @ p)
    if sizes[1] <= 1e-9 * sizes[0] or sizes[0] == 0:
        return None  # collinear points
    if sizes[2] <= 1e-9 * sizes[0]:  # coplanar points: assume not mirrored
        left[:, 2] *= np.sign(np.linalg.det(left @ right))
    return np.sqrt((q * q).sum() / (p * p).sum()) * (left @ right)


def _affine(p: np.ndarray, q: np.ndarray) -> np.ndarray | None:
    """Any linear map."""
    if np.linalg.matrix_rank(p, 1e-4 * np.abs(p).max()) < 3:
        return None
    linear = np.linalg.lstsq(p, q, rcond=None)[0].T
    return linear if abs(np.linalg.det(linear)) > 1e-15 else None


register, unregister = registration.handlers((), afterwards=_loaded.cache_clear)
