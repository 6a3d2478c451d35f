# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and rest poses of the bones of evaluated armatures, read once for each copy.

To read them takes longer than to solve the pose. Blender makes a new copy of an armature object after
any change to it or its bones, often at the address of the old one. So a copy that was read is marked:
a lock of its first bone differs from the original's. Only tools that edit the original obey locks.
`foreach_set` sets it, which tags nothing for an update.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from bpy.types import Depsgraph, Object, Scene

from . import arrays, blender_versions, caches, playhead

_MARK = "lock_rotation_w"


@dataclass(eq=False)
class Bones:
    names: list[str]  # of the pose bones
    rests: np.ndarray  # (B, 4, 4) float32 `matrix_local`, column by column as Blender stores them
    deforming: np.ndarray  # (B,) whether they deform meshes
    identity: int  # of the armature object
    # What was found out about the armature object, which stays as it is until it is copied again.
    cache: dict[Any, Any] = field(default_factory=dict)

    def indices(self, names: Iterable[str]) -> np.ndarray:
        """(N,) indices of the named bones."""
        known = {name: number for number, name in enumerate(self.names)}
        return np.array([known[name] for name in names], np.intp)

    def deform_as(self, other: "Bones") -> bool:
        """Whether bones of the same names deform meshes."""
        same = self.names == other.names
        return same and np.array_equal(self.deforming, other.deforming)


class Evaluation(NamedTuple):
    """A moment at which Blender asks for a pose: what it has evaluated when it calls a driver, and the
    time of the animation."""

    depsgraph: Depsgraph
    scene: Scene
    is_in_viewport: bool
    frame: float
    armature: Object
    bones: Bones  # of the armature
    # Whether its rest is shown, whatever its pose source: Rest Position is on, or its bones are edited.
    is_at_rest: bool
    mesh: Any  # if the driver is one of a mesh
    obj: Any  # its object


_read: caches.Cache[Bones] = caches.of_file()  # by address of the evaluated armature object


def at(
    depsgraph: Depsgraph, armature: Any, frame: float = 0.0, mesh: Any = None, obj: Any = None
) -> Evaluation:
    """The Evaluation of a driver's call. The armature is None if it was removed."""
    scene = depsgraph.scene
    bones: Any = of(armature) if armature is not None else None
    data = getattr(armature, "data", None)
    at_rest = data is not None and (data.pose_position == "REST" or data.is_editmode)
    time = playhead.exact(frame, scene) if frame else frame
    in_viewport = depsgraph.mode == "VIEWPORT"
    return Evaluation(depsgraph, scene, in_viewport, time, armature, bones, at_rest, mesh, obj)


def of(armature: Object) -> Bones:
    """The Bones of an armature object: the same ones until Blender copies it again.

    An original is read each time, and so is an evaluated object from another file, which `foreach_set`
    does not write to.
    """
    bones = armature.pose.bones
    if not armature.is_evaluated or not bones:  # `len` would count them
        return _bones(armature)
    address = armature.as_pointer()
    before = getattr(armature.original.pose.bones[0], _MARK)
    known = _read.get(address) if getattr(bones[0], _MARK) != before else None
    if known is None:
        known = _read.put(address, _bones(armature))
        locks = arrays.read(bones, _MARK, dtype=bool)
        locks[0] = not before
        bones.foreach_set(_MARK, locks)
    return known


def rest_matrices(armature: Object) -> np.ndarray:
    """(B, 4, 4) float64 of all bones at rest, in the armature's space."""
    return arrays.columns(armature.data.bones, "matrix_local").transpose(0, 2, 1).astype(np.float64)


def _bones(armature: Object) -> Bones:
    of_data: Any = armature.data.bones
    return Bones(
        names=armature.pose.bones.keys(),
        rests=arrays.columns(of_data, "matrix_local"),
        deforming=arrays.read(of_data, "use_deform", dtype=bool),
        identity=blender_versions.identity(armature),
    )
