# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses of a model for frames of the scene: from Blender, from MMD's IK or from a motion file.

Matrices (F, B, 4, 4) are in armature space. Sources with `moves_scene` read the
scene's current frame, so they give one frame at a time.
"""

import numpy as np
from bpy.types import Depsgraph, Object

from ..blender import actions, evaluated_bones, playhead
from ..blender.user_error import UserError
from ..physics.group import Member
from ..physics.playback import Baked
from ..pose import ik_source, pose_source, skinner
from ..pose.deformation import Deformation
from ..pose.motion_source import Motion
from ..scene import mesh_source, scene_model
from .bake_state import BakeState


def poses_of(
    model: scene_model.SceneModel,
    bones: list[str],
    settings: pose_source.Settings | None,
    parts: "list[Part]",
) -> "Poses":
    """The pose source of the named bones of a model's parts; settings of None mean the armature."""
    if settings is None:
        return Poses(model.armature, bones)
    opened = pose_source.load(model.armature, settings)
    source = Baked(Member(model, settings, opened))
    kind = IkPoses if isinstance(opened, ik_source.Solver) else MotionPoses
    return kind(bones, source, parts)


class Poses:
    """Those that Blender shows."""

    moves_scene = True
    source: Baked | None = None

    def __init__(self, armature: Object, bones: list[str]) -> None:
        self._armature = armature
        self._bone_indices = evaluated_bones.of(armature).indices(bones)

    def matrices(self, frames: list[float], depsgraph: Depsgraph) -> np.ndarray:
        armature = self._armature.evaluated_get(depsgraph)
        return pose_source.matrices(armature, armature, self._bone_indices)[None]

    def key_values(self, part: "Part", frames: list[float], depsgraph: Depsgraph) -> np.ndarray:
        return part.scene_values(depsgraph)[None]


class IkPoses(Poses):
    source: Baked

    def __init__(self, bones: list[str], source: Baked, parts: "list[Part]") -> None:
        super().__init__(source.member.model.armature, bones)
        self._bones, self.source = bones, source
        self._parts = parts  # shape keys of group morphs may also move bones

    def matrices(self, frames: list[float], depsgraph: Depsgraph) -> np.ndarray:
        armature = self._armature.evaluated_get(depsgraph)
        keys = ik_source.of_all_meshes(
            zip(part.keys, part.scene_values(depsgraph), strict=True) for part in self._parts
        )
        frame = playhead.time(depsgraph.scene)
        assert isinstance(self.source.opened, ik_source.Solver)
        return self.source.opened.matrices(armature, self._bones, keys, frame)[None]


class MotionPoses(Poses):
    source: Baked

    def __init__(self, bones: list[str], source: Baked, parts: "list[Part]") -> None:
        self._bones, self.source = bones, source
        # Keys that the motion lacks keep the scene's values, so the scene's frame must change.
        self.moves_scene = any(map(self._lacks_moving, parts))

    @property
    def _motion(self) -> Motion:
        assert isinstance(self.source.opened, Motion)
        return self.source.opened

    def matrices(self, frames: list[float], depsgraph: Depsgraph) -> np.ndarray:
        return self._motion.matrices(self._bones, _times(frames, depsgraph))

    def key_values(self, part: "Part", frames: list[float], depsgraph: Depsgraph) -> np.ndarray:
        held = part.scene_values(depsgraph)
        if part.pinned is not None or not len(part.keys):
            return np.tile(held, (len(frames), 1))
        values = self._motion.key_values(part.keys, _times(frames, depsgraph))
        return np.where(self._known(part), values, held).astype(np.float32)

    def _lacks_moving(self, part: "Part") -> bool:
        """Whether a key moves that the motion lacks."""
        moving = actions.animated_paths(part.obj.data.shape_keys) if part.keys else ()
        known = zip(part.keys, self._known(part), strict=True)
        return any(actions.value_path(name) in moving for name, is_known in known if not is_known)

    def _known(self, part: "Part") -> np.ndarray:
        return np.asarray(self._motion.known_keys(part.keys), bool)


def _times(frames: list[float], depsgraph: Depsgraph) -> np.ndarray:
    """The animation times of scene frames."""
    return np.asarray(frames, np.float64) * playhead.stretch(depsgraph.scene)


class Part:
    """A mesh of a model that is being baked; ignores what an earlier bake added."""

    def __init__(
        self,
        obj: Object,
        armature: Object,
        state: BakeState | None,
        deformation: Deformation,
        normals: bool = False,
    ) -> None:
        self.obj, self.armature, self.state = obj, armature, state
        self.deformation = deformation
        absent = state.keys if state else ()
        at_rest = mesh_source.normals(obj.data) if normals else None
        self.skinner = skinner.Skinner(obj, armature, absent, at_rest)
        self.bones, self.keys = self.skinner.bones, self.skinner.keys
        self._room = self.skinner.buffers(0)
        self.unmuted = state.muted if state else ()
        keys = obj.data.shape_keys
        self._mutes_move = bool(keys) and actions.animates(keys, ".mute")
        if state is None:
            self.pinned = skinner.pinned_key(obj)
        else:
            self.pinned = state.active[0] if state.pinned else None

    def skinned(
        self,
        frames: tuple,
        matrices: np.ndarray,
        values: np.ndarray,
        buffers: list[np.ndarray] | None = None,
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """(F, V, 3) float32 positions in mesh space, for matrices (F, B, 4, 4) and key values (F, K), and
        the normals if they are baked, else None; in `buffers` if possible.

        UserError for poses that cannot be skinned.
        """
        try:
            positions, normals = self.skinner.skinned(matrices, values, self.deformation, buffers)
        except ValueError as error:
            raise UserError(
                "'{name}' cannot be skinned: {reason}", name=self.obj.name, reason=error
            ) from error
        finite = np.isfinite(positions)
        if not finite.all():  # of huge values of sliders or places of bones, which overflow
            frame, vertex, _ = np.argwhere(~finite)[0]
            raise UserError(
                "'{name}' cannot be skinned at frame {frame}:"
                " the position of vertex {vertex} contains invalid numbers",
                name=self.obj.name,
                frame=frames[frame],
                vertex=vertex,
            )
        return positions, normals

    def skinned_in_place(
        self, frames: tuple, matrices: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """As `skinned`, valid until the next call: allocating memory takes longer than skinning."""
        if len(self._room[0]) < len(frames):
            self._room = self.skinner.buffers(len(frames))
        room = [array[: len(frames)] for array in self._room]
        return self.skinned(frames, matrices, values, room)

    def scene_values(self, depsgraph: Depsgraph) -> np.ndarray:
        """(K,) float32 by which Blender mixes the keys at the current frame."""
        keys = self.obj.data.shape_keys
        evaluated = keys.evaluated_get(depsgraph) if keys else None
        # While poses are read, all keys of evaluated copies may be muted (`PoseFrames`).
        muted_in = evaluated if self._mutes_move else keys
        return skinner.key_values(self.keys, evaluated, self.unmuted, self.pinned, muted_in)
