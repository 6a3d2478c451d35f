# SPDX-License-Identifier: GPL-3.0-or-later
"""MMD's pose for an armature's own channels: the posed or keyed bones, solved by mmdskin.

Constraints of bones are ignored: mmdskin solves append, fixed axes and IK. Only whether the IK of
a bone is on, by a constraint or a switch of mmd_tools, is read from the scene. Where only physics is
to be added to Blender's pose, the channels are those that give it without IK.
"""

import copy
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from bpy.types import Object, Scene

from ..blender import arrays, evaluated_bones, playhead
from ..blender.evaluated_bones import Evaluation
from ..blender.native import mmdskin
from ..scene import mmd_tools, model_file, names, setting_paths, sliders
from . import driving_rig, physics_settings, quaternions

SOURCE = "IK"  # the item of the setting
_MOVES_BONES = {"bone", "impulse"}  # kinds of morphs
_NONE = np.zeros(0, np.float32)


class Settings(NamedTuple):
    model_path: str  # may be empty: then the file that the armature was imported from
    physics: physics_settings.Settings | None = None  # None without a simulation
    fps: float = 30.0  # of the scene
    evaluated: bool = False  # whether the pose is Blender's, to which live physics is added
    # `driving_rig.key_of`, where another armature drives the model
    rig: tuple[str, ...] | None = None


class Local(NamedTuple):
    """Input values of the file's bones and sliders, in the file's axes, unsolved."""

    translations: np.ndarray  # (B, 3) float64
    rotations: np.ndarray  # (B, 4) float64 x y z w
    weights: np.ndarray  # (M,) float32
    ik: np.ndarray  # (B,) bool: whether the IK of each bone is on
    physics: np.ndarray  # (B,) bool: whether rigid bodies move the bone, else they follow it
    gravity: np.ndarray | None = None  # (3,) float64, if it has keyframes


class PosePostProcess(Protocol):
    """Poses a model: (B, 4, 4) matrices in the file's space, from a Local and the frame.

    `now`: the evaluation that shows the pose; None for others.
    """

    def __call__(self, local: Local, frame: float, now: Evaluation | None) -> np.ndarray: ...

    def version(self, now: Evaluation) -> Any:
        """Another one when the same input may have another result."""
        ...


class _Input(NamedTuple):
    """What Blender evaluated, of which a Local is made."""

    # (P, 4, 4) float32 of all pose bones, by column: of their own channels, or from rest to pose
    basis: np.ndarray
    weights: np.ndarray  # as in a Local; 0 for morphs that were not read
    ik: np.ndarray
    physics: np.ndarray
    gravity: np.ndarray  # () without keyframes
    rig: np.ndarray  # the pose of the armature that drives the model; () for none


def settings_of(
    armature: Object, scene: Scene, overrides: dict | None = None, live: bool = False
) -> Settings | None:
    """The Settings of a model, None if its pose has another source; with `live`, of one whose pose is
    Blender's and whose hair moves live.

    `overrides`: properties by name that replace the model's own.
    """
    own, overrides = armature.mmdskin, overrides or {}
    source = overrides.get("source", own.source)
    evaluated = live and source == "ARMATURE" and own.physics_live
    if not evaluated and source not in {SOURCE, driving_rig.SOURCE}:
        return None
    path = setting_paths.absolute(armature, "model_path", overrides)
    rig = driving_rig.key_of(armature) if source == driving_rig.SOURCE else None
    # The simulation always starts with the range that the scene plays.
    fps = playhead.fps(scene)
    first = playhead.frame_range(scene)[0] * playhead.stretch(scene)
    timing = physics_settings.Timing(first, fps / 30, playhead.end(scene))
    physics = physics_settings.settings_of(own, overrides, timing)
    if physics is None:
        return None if evaluated else Settings(path, rig=rig)
    return Settings(path, physics._replace(start=0), fps, evaluated, rig)


def of_all_meshes(of_each: Iterable[Iterable[tuple[str, float]]]) -> dict[str, float]:
    """{shape key: value} for a Solver, from (name, value) of each mesh of a model.

    Of keys with the same name the value farthest from 0: a slider acts on whichever mesh it is set.
    """
    found: dict[str, float] = {}
    for name, value in itertools.chain.from_iterable(of_each):
        if abs(value) >= abs(found.get(name, 0.0)):
            found[name] = value
    return found


class Solver:
    """Any thread may use it: it only remembers its last result."""

    def __init__(self, armature: Object, settings: Settings) -> None:
        self.settings = settings
        self.rig = rig = model_file.rig(armature, settings.model_path)
        self._driving: driving_rig.DrivingRig | None = None
        if settings.rig is not None:
            self._driving = driving_rig.DrivingRig(armature, rig.pmx)
        self._post_process: PosePostProcess | None = None
        self._last: dict[str, tuple[tuple, np.ndarray]] = {}  # by mode: input and result of `shown`
        self._names = [bone.name for bone in armature.pose.bones if bone.name in rig.bones]
        self.waits_for: Sequence[str] = self._names  # the bones whose channels are read
        self._bones_in_file = np.array([rig.bones[name] for name in self._names], np.intp)
        bones = evaluated_bones.of(armature)
        self._bone_indices = bones.indices(self._names)
        self._above = _nearest(rig.pmx, self._bones_in_file)
        self._to_file = np.linalg.inv(rig.to_armature)
        self.rests = bones.rests  # (P, 4, 4) float32 of the armature's bones, by column
        # From each bone's own axes to the file's, with the armature's scale and without.
        rests = self.rests[self._bone_indices, :3, :3].transpose(0, 2, 1)
        self._moves = np.linalg.inv(rig.to_armature[:3, :3]) @ rests.astype(np.float64)
        self._turns = quaternions.turns(self._moves)
        axes = {i: bone.fixed_axis for i, bone in enumerate(rig.pmx.bones) if bone.fixed_axis}
        self._fixed = np.array(list(axes), np.intp)
        self._axes = np.array(list(axes.values()), np.float64).reshape(-1, 3)
        by_ik_bone = mmd_tools.by_ik_bone(armature)
        self._switches = {
            name: [
                (bone.name, one.name) for bone, one in by_ik_bone.get(name, ()) if one.type == "IK"
            ]
            for name in self._names
            if rig.pmx.bones[rig.bones[name]].ik
        }
        self._switched_bones = [rig.bones[name] for name in self._switches]
        moved = physics_settings.moved_bones(rig.pmx)
        self._moved = {name: rig.bones[name] for name in self._names if rig.bones[name] in moved}
        keyed = settings.physics and settings.physics.gravity
        self._has_gravity = isinstance(keyed, physics_settings.GravityRows)
        # The shape key and the custom property of the armature of each morph, "" for none; () if unknown.
        noted = sliders.of_morphs(armature, rig.pmx)
        self.keys = [one.key for one in noted]
        self.properties = [one.name for one in noted]
        # (S,) indices of the morphs that may move bones.
        self.acting = _acting(rig.pmx)
        self.acting_keys = self.acting_of(self.keys)
        self._morphs = range(len(self.keys))  # with known sliders
        self._acting_morphs = self.acting.tolist() if self.keys else ()

    def with_post_process(self, post_process: PosePostProcess) -> "Solver":
        """A copy that passes each solved pose to `post_process`."""
        other = copy.copy(self)
        other._post_process, other._last = post_process, {}
        return other

    @property
    def waits_for_rig(self) -> Sequence[str]:
        """Names of the bones of the armature that drives the model."""
        return self._driving.waits_for if self._driving is not None else ()

    def acting_of(self, names: Sequence[str]) -> set[str]:
        """Names, of `keys` or `properties`, of morphs that may move bones."""
        return {names[i] for i in self.acting if names and names[i]}

    def shown(self, now: Evaluation, keys: Mapping[str, float]) -> np.ndarray:
        """(B, 4, 4) float32 as `posed`, read-only, with values of shape keys, since morphs may move bones.

        Solved once for all objects that show the model in an evaluation.
        """
        reads_physics, mode = self._post_process is not None, now.depsgraph.mode
        found = self._input(now.armature, keys, self._acting_morphs, reads_physics)
        state: tuple = tuple(one.tobytes() for one in found)
        if self._post_process is not None:
            state += (self._post_process.version(now), now.frame)
        last = self._last.get(mode)
        if last is None or last[0] != state:
            posed = self.posed(self._local(found), now.frame, now)
            posed.flags.writeable = False
            last = self._last[mode] = state, posed
        return last[1]

    def posed(self, local: Local, frame: float = 0.0, now: Evaluation | None = None) -> np.ndarray:
        """(B, 4, 4) float32 from rest to pose of all bones, in the file's space."""
        if self._post_process is not None:
            return self._post_process(local, frame, now)
        return self.solved(local)

    def solved(self, local: Local) -> np.ndarray:
        """As `posed`, without physics."""
        return self.rig.pmx.pose_from(*local[:3], ik=local.ik).bone_matrices

    def local(self, armature: Object, keys: Mapping[str, float]) -> Local:
        """The input values from an evaluated armature object and shape key values."""
        return self._local(self._input(armature, keys, self._morphs))

    def _input(
        self,
        armature: Object,
        keys: Mapping[str, float],
        morphs: Sequence[int],
        reads_physics: bool = True,
    ) -> _Input:
        """`morphs`: those whose weights are read; `reads_physics`: whether `physics` is, which matters
        to simulations only. Both take time."""
        pmx, bones, by_blender = self.rig.pmx, armature.pose.bones, self.settings.evaluated
        weights = np.zeros(len(pmx.morphs), np.float32)
        ik, physics = np.ones((2, len(pmx.bones)), bool)
        if by_blender:
            ik[:] = False
        else:
            weights[list(morphs)] = [
                armature.get(self.properties[morph], 0.0) + keys.get(self.keys[morph], 0.0)
                for morph in morphs
            ]
            ik[self._switched_bones] = self._switched(bones)
        if reads_physics:
            enabled = [bool(bones[name].get(names.PHYSICS, True)) for name in self._moved]
            physics[list(self._moved.values())] = enabled
        gravity = armature.mmdskin.physics_gravity if self._has_gravity else ()
        return _Input(
            arrays.columns(bones, "matrix_channel" if by_blender else "matrix_basis"),
            weights,
            ik,
            physics,
            np.array(gravity),
            self._driving.pose(armature) if self._driving is not None else _NONE,
        )

    def _local(self, found: _Input) -> Local:
        ik, gravity = found.ik, found.gravity[[0, 2, 1]] if len(found.gravity) else None
        if self.settings.evaluated:
            channels = self.rig.pmx.locals_of(self.in_file(found.basis))
        else:
            channels = self._channels(found.basis[self._bone_indices])
        if self._driving is not None:
            self._driving.apply(found.rig, *channels)
            ik = ik & ~self._driving.solved
        return Local(*channels, found.weights, ik, found.physics, gravity)

    def in_file(self, columns: np.ndarray) -> np.ndarray:
        """(B, 4, 4) from rest to pose of the file's bones in its space, from those of all pose bones in
        armature space, by column. A bone that the scene lacks moves with its parent."""
        matrices = np.eye(4)[None].repeat(len(self._names) + 1, 0)  # the last one for bones without
        turned = columns[self._bone_indices].transpose(0, 2, 1).astype(np.float64)
        matrices[:-1] = self._to_file @ turned @ self.rig.to_armature
        return matrices[self._above]

    def _channels(self, basis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Local translations (B, 3) and rotations (B, 4) x y z w, of the file's bones and axes."""
        columns = basis.astype(np.float64)
        count = len(self.rig.pmx.bones)
        translations, rotations = np.zeros((count, 3)), np.tile((0.0, 0.0, 0.0, 1.0), (count, 1))
        moves = self._moves @ columns[:, 3, :3, None]
        translations[self._bones_in_file] = moves[..., 0]
        turns = quaternions.unit_rows(np.ascontiguousarray(columns[:, :3, :3].transpose(2, 1, 0)))
        rotations[self._bones_in_file, :3] = (self._turns @ turns[1:].T[..., None])[..., 0]
        rotations[self._bones_in_file, 3] = turns[0]
        rotations[self._fixed, :3] = quaternions.about_axes(rotations[self._fixed, :3], self._axes)
        return translations, rotations

    def _switched(self, pose_bones: Any) -> list[bool]:
        """Whether the IK of each bone with a switch is on."""
        on = []
        toggles = mmd_tools.ik_toggles([pose_bones[name] for name in self._switches])
        for toggle, switches in zip(toggles, self._switches.values(), strict=True):
            found = (pose_bones[bone].constraints.get(name) for bone, name in switches)
            are_on = (
                not one.mute and (toggle or one.influence > 0) for one in found if one is not None
            )
            on.append(toggle is not False and all(are_on))
        return on


def _acting(pmx: "mmdskin.Model") -> np.ndarray:
    """(S,) indices of bone and impulse morphs, and of groups and flips of these."""
    acting = {i for i, morph in enumerate(pmx.morphs) if morph.kind in _MOVES_BONES}
    through = [(i, one) for i, one in enumerate(pmx.morphs) if one.kind in {"group", "flip"}]
    while more := {i for i, one in through if not acting.isdisjoint(one.indices.tolist())} - acting:
        acting |= more
    return np.array(sorted(acting), np.intp)


def _nearest(pmx: "mmdskin.Model", bones: np.ndarray) -> np.ndarray:
    """(B,) for each bone its index, or that of the nearest bone above it, among these; else -1."""
    indices = {int(bone): index for index, bone in enumerate(bones)}
    found = []
    for bone in range(len(pmx.bones)):
        while bone >= 0 and bone not in indices:
            bone = pmx.bones[bone].parent
        found.append(indices.get(bone, -1))
    return np.array(found, np.intp)
