# SPDX-License-Identifier: GPL-3.0-or-later
"""Map poses of a model file's bones to the bones of the scene."""

from collections.abc import Iterable, Sequence

import bpy
import numpy as np

from ..scene.model_file import Rig


class Placement:
    """A Rig matched to an armature object, without references to Blender data.

    Any thread may use it: it only remembers the bones that it was asked for last.
    """

    def __init__(self, rig: Rig, armature: bpy.types.Object) -> None:
        self._bones = {bone.name: _number(rig, bone) for bone in armature.data.bones}
        self._last: tuple[tuple[str, ...], np.ndarray] = (), np.zeros(0, np.intp)
        # T M inverse(T), as one matrix that multiplies the 16 elements of M.
        self.to_armature = to_armature = rig.to_armature
        to_file = np.linalg.inv(to_armature)
        self._conjugate = np.kron(to_armature, to_file.T).T

    def numbers(self, bones: Iterable[str]) -> np.ndarray:
        """(B,) indices of the file's bones that move the named scene bones, or -1."""
        return np.array([self._bones.get(name, -1) for name in bones], np.intp)

    def matrices(self, of_file: np.ndarray, bones: Sequence[str]) -> np.ndarray:
        """(F, B, 4, 4) float32 from rest to pose of the named scene bones, in armature space.

        `of_file` are all skinning matrices of the file's model, (F, …, 4, 4). A bone that the file
        lacks moves with its parent.
        """
        names, numbers = self._last
        if names != tuple(bones):  # a live mesh asks for the same bones in each frame
            numbers = self.numbers(bones)
            self._last = tuple(bones), numbers
        chosen = of_file[:, numbers]
        chosen[:, numbers < 0] = np.eye(4)
        # NumPy multiplies matrices of one type an order of magnitude faster. A product per frame is
        # too small for OpenBLAS's threads, which would spin for a while after each of them.
        moved = chosen.reshape(*chosen.shape[:2], 16).astype(np.float64) @ self._conjugate
        return moved.reshape(chosen.shape).astype(np.float32)


def _number(rig: Rig, bone: bpy.types.Bone) -> int:
    """The file's bone that moves a scene bone, or -1."""
    while bone is not None:
        if bone.name in rig.bones:
            return rig.bones[bone.name]
        bone = bone.parent
    return -1
