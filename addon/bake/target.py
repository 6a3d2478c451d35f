# SPDX-License-Identifier: GPL-3.0-or-later
"""A mesh that is being baked: it skins blocks of frames, and a subclass stores the result."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from bpy.types import Depsgraph, Object

from ..blender import actions
from ..blender.translations import Reports
from ..blender.user_error import UserError
from ..pose import skinner
from ..pose.deformation import Deformation, gives_normals
from ..scene import mesh_source
from . import bake_state
from .frames import Options


class Block(NamedTuple):
    """The poses of some frames of one mesh, few enough for `Target.skinned` to take them at once."""

    frames: tuple
    pose: np.ndarray  # (F, B, 4, 4) in armature space, bones as in Target.bones
    matrices: np.ndarray  # the same in mesh space, or (B, 4, 4) for all frames
    values: np.ndarray  # (F, K) of the shape keys in Target.keys


class Target(Reports, ABC):
    """A mesh and what a bake writes to; ignores what an earlier bake added. Its reports are for the end."""

    stores_normals = False

    def __init__(
        self, obj: Object, armature: Object, deformation: Deformation, options: Options
    ) -> None:
        self.obj, self.armature = obj, armature
        self.deformation, self.options = deformation, options
        self.state = state = bake_state.state_of(obj)  # of an earlier bake
        wants_normals = self.stores_normals and gives_normals(armature, options.normals)
        normals = mesh_source.normals(obj.data) if wants_normals else None
        self.skinner = skinner.Skinner(obj, armature, state.keys if state else (), normals)
        self.bones, self.keys = self.skinner.bones, self.skinner.keys
        self._buffers = self.skinner.buffers(0)
        self._unmuted = state.muted if state else ()
        keys = obj.data.shape_keys
        self._mutes_move = bool(keys) and actions.animates(keys, ".mute")
        if state is None:
            self.pinned = skinner.pinned_key(obj)
        else:
            self.pinned = state.active[0] if state.pinned else None
        self.reports: list[tuple[set[Any], str]] = []

    def report(self, kind: set[Any], text: str) -> None:
        self.reports.append((kind, text))

    @property
    def adds_to_earlier(self) -> bool:
        """Whether the earlier bake is kept, if there is one."""
        return False

    @abstractmethod
    def start(self) -> None:
        """Called before the first block; UserError if the mesh cannot be baked."""

    @abstractmethod
    def add(self, block: Block) -> None:
        """Take the next block."""

    def finish(self) -> Iterable[float]:
        """Called after the last block; yields how much of it is done."""
        return ()

    @abstractmethod
    def write(self, state: bake_state.BakeState) -> None:
        """Change the mesh."""

    def close(self, done: bool) -> None:  # noqa: B027, as only mesh caches have files
        """Called at the end in any case; without `done`, the mesh is as before."""

    def check_unchanged(self) -> None:
        if len(self.obj.data.vertices) != self.skinner.vertex_count:
            raise UserError("'{name}' was edited during the bake", name=self.obj.name)

    def scene_values(self, depsgraph: Depsgraph) -> np.ndarray:
        """(K,) float32 by which Blender mixes the keys at the current frame."""
        keys = self.obj.data.shape_keys
        evaluated = keys.evaluated_get(depsgraph) if keys else None
        # While poses are read, all keys of evaluated copies may be muted (`PoseFrames`).
        muted_in = evaluated if self._mutes_move else keys
        return skinner.key_values(self.keys, evaluated, self._unmuted, self.pinned, muted_in)

    def skinned(self, block: Block) -> tuple[np.ndarray, np.ndarray | None]:
        """(F, V, 3) float32 positions in mesh space, and the normals if they are baked, else None.

        Valid until the next call: allocating memory takes longer than skinning. UserError for
        poses that cannot be skinned.
        """
        count = len(block.frames)
        if len(self._buffers[0]) < count:
            self._buffers = self.skinner.buffers(count)
        buffers = [array[:count] for array in self._buffers]
        try:
            positions, normals = self.skinner.skinned(
                block.matrices, block.values, self.deformation, buffers
            )
        except ValueError as error:
            raise UserError(
                "'{name}' cannot be skinned: {reason}", name=self.obj.name, reason=error
            ) from error
        finite = np.isfinite(positions)
        if not finite.all():  # of huge values of sliders or positions of bones, which overflow
            frame, vertex, _ = np.argwhere(~finite)[0]
            raise UserError(
                "'{name}' cannot be skinned at frame {frame}:"
                " the position of vertex {vertex} contains invalid numbers",
                name=self.obj.name,
                frame=block.frames[frame],
                vertex=vertex,
            )
        return positions, normals
