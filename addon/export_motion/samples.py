# SPDX-License-Identifier: GPL-3.0-or-later
"""The animation of a model, read from the scene frame by frame, in the file's axes and units, and fitted
by a motion with few keys.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from bpy.types import Depsgraph, Object, Scene

from ..blender import actions, evaluated_bones, playhead
from ..blender.native import mmdskin
from ..blender.user_error import UserError
from ..operator_base import modal_job
from ..operator_base.modal_job import Steps
from ..physics.group import Member
from ..physics.playback import Baked
from ..pose import ik_source, motion_source, pose_source, scene_motion
from ..scene import mmd_tools, model_file, scene_model
from .timing import Timing

# Forms of bones: the items of the operator's option.
AUTO, AS_KEYED, SOLVED_FK, SOLVED_BOTH = "AUTO", "AS_KEYED", "SOLVED_FK", "SOLVED_BOTH"
_Result = TypeVar("_Result")


class Samples(NamedTuple):
    """Values at F frames of the file's B bones and M morphs."""

    # If solved, matrices (F, B, 4, 4) float32 from rest to pose; as keyed, translations (F, B, 3)
    # float32 and rotations (F, B, 4) float32 x y z w.
    pose: tuple[np.ndarray, ...]
    weights: np.ndarray  # (F, M) float32 of morphs
    ik: np.ndarray  # (F, B) bool: whether the IK of each bone is on
    visible: np.ndarray  # (F,) bool


def local_values(
    motion: motion_source.Motion, times: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Local values (F, B, 3) and (F, B, 4) of bones and values (F, M) of sliders, of a motion file at
    animation times."""
    pmx = motion.rig.pmx
    pose = pmx.pose(motion.motion, motion.motion_frames(times), ik=False)
    return (*pmx.locals_of(pose), pose.morph_weights)


class Sampler:
    """Reads one model at the scene's current frame."""

    def __init__(
        self, model: scene_model.SceneModel, scene: Scene, solved: bool, options: Any
    ) -> None:
        self.model, self._solved = model, solved
        armature = model.armature
        settings = pose_source.settings_of(armature, scene)
        # With other sources, bones, morphs and IK switches are read in the same way.
        path = options.model_path or getattr(settings, "model_path", "")
        physics = settings.physics if isinstance(settings, ik_source.Settings) else None
        fps = playhead.fps(scene)
        rig = getattr(settings, "rig", None)
        self.solver = ik_source.Solver(armature, ik_source.Settings(path, physics, fps, rig=rig))
        self.rig = self.solver.rig
        self.motion: motion_source.Motion | None = None
        if isinstance(settings, motion_source.Settings):
            settings = settings._replace(model_path=path)
            self.motion = motion_source.load(armature, settings)
        elif settings is not None:
            settings = self.solver.settings
        # With the hair that physics moves, if that is to have keys.
        self.simulated: Baked | None = None
        if solved and settings is not None and options.physics == "KEYS":
            self.simulated = Baked(Member(model, settings, self.motion or self.solver))
        self._shown = _Shown(armature, self.rig) if settings is None else None
        blocks = [obj.data.shape_keys for obj in model.meshes]
        self._keys = list(dict.fromkeys(block for block in blocks if block))
        # Our importer's sliders are read by the solver, else the shape keys with the morphs' names.
        has_sliders = len(model_file.morph_keys(armature)) == len(self.rig.pmx.morphs)
        morphs = {} if has_sliders else scene_motion.morphs_of_keys(self.rig.pmx, armature)
        self._morphs = {key: morph for key, morph in morphs.items() if morph >= 0}
        self._visible = _Visibility(model)
        self._name = model.name
        self._frames: list[int] = []
        self._rows: list[tuple] = []

    @property
    def animates_visibility(self) -> bool:
        return self._visible.is_animated

    def read(self, depsgraph: Depsgraph) -> None:
        armature = self.model.armature.evaluated_get(depsgraph)
        if not armature.is_evaluated:
            raise UserError(
                "The collection of '{name}' is hidden: show it first", name=armature.name
            )
        keys = ik_source.of_all_meshes(
            [(key.name, 0.0 if key.mute else key.value) for key in blocks]
            for blocks in (keys.evaluated_get(depsgraph).key_blocks for keys in self._keys)
        )
        local = self.solver.local(armature, keys)
        weights = local.weights
        for key in self._morphs.keys() & keys.keys():
            weights[self._morphs[key]] = keys[key]
        frame = playhead.time(depsgraph.scene)
        pose: tuple[np.ndarray, ...]
        pose = local.translations.astype(np.float32), local.rotations.astype(np.float32)
        if self.motion is not None:
            translations, rotations, values = local_values(self.motion, frame)
            pose, weights = (translations[0], rotations[0]), values[0]
        if self._solved:
            pose = (self._matrices(armature, local, frame),)
        visible = self._visible.value(depsgraph)
        self._frames.append(depsgraph.scene.frame_current)
        self._rows.append((*pose, weights, local.ik, visible))

    def result(self) -> Samples:
        columns = [np.array(column) for column in zip(*self._rows, strict=True)]
        self._rows.clear()
        *pose, weights, ik, visible = columns
        for values in pose:
            self._check_finite(values)
        return Samples(tuple(pose), weights, ik, visible)

    def _matrices(self, armature: Object, local: ik_source.Local, frame: float) -> np.ndarray:
        """(B, 4, 4) of a solved pose, in the file's space."""
        if self._shown is not None:
            return self._shown.matrices(armature)
        source: pose_source.Opened = self.motion or self.solver
        if self.simulated is not None:
            source = self.simulated.opened
        if isinstance(source, motion_source.Motion):
            return source.posed(source.motion_frames(frame))[0]
        return source.posed(local, frame)

    def _check_finite(self, values: np.ndarray) -> None:
        finite = np.isfinite(values).all(axis=tuple(range(2, values.ndim)))
        if not finite.all():
            frame, bone = np.argwhere(~finite)[0]
            raise UserError(
                "'{name}' cannot be exported at frame {frame}:"
                " the pose of bone '{bone}' contains invalid numbers",
                name=self._name,
                frame=self._frames[frame],
                bone=self.rig.pmx.bones[bone].name,
            )


class _Shown:
    """The armature as Blender evaluates it, in the file's space."""

    def __init__(self, armature: Object, rig: model_file.Rig) -> None:
        self._to_armature, self._to_file = rig.to_armature, np.linalg.inv(rig.to_armature)
        scene_bones = {number: name for name, number in rig.bones.items()}
        names = [scene_bones[number] for number in sorted(scene_bones)]
        self._numbers = evaluated_bones.of(armature).indices(names)
        column = {number: i for i, number in enumerate(sorted(scene_bones))}
        # A bone that the scene lacks moves with its parent; the last column is at rest.
        self._columns = [_nearest(rig.pmx.bones, i, column) for i in range(len(rig.pmx.bones))]

    def matrices(self, armature: Object) -> np.ndarray:
        matrices = pose_source.matrices(armature, armature, self._numbers).astype(np.float64)
        in_file = self._to_file @ matrices @ self._to_armature
        return np.append(in_file, np.eye(4)[None], axis=0)[self._columns].astype(np.float32)


def _nearest(bones: Any, number: int, column: dict[int, int]) -> int:
    while number >= 0:
        if number in column:
            return column[number]
        number = bones[number].parent
    return -1


class _Visibility:
    """A model is visible if any of its meshes is; if that is not animated, it is always visible."""

    def __init__(self, model: scene_model.SceneModel) -> None:
        self._meshes = model.meshes
        self._root = scene_model.root_of(model.armature)
        self._by_meshes = any("hide_render" in actions.animated_paths(obj) for obj in model.meshes)
        self._by_root = self._root is not None and (
            mmd_tools.SHOWS_MESHES in actions.animated_paths(self._root)
        )

    @property
    def is_animated(self) -> bool:
        return self._by_meshes or self._by_root

    def value(self, depsgraph: Depsgraph) -> bool:
        """At the scene's current frame."""
        if self._by_root and not mmd_tools.shows_meshes(self._root.evaluated_get(depsgraph)):
            return False
        meshes = [obj.evaluated_get(depsgraph) for obj in self._meshes]
        return not self._by_meshes or not all(obj.hide_render for obj in meshes)


class Fitted(NamedTuple):
    motion: "mmdskin.Motion"
    worst: float  # largest distance of a vertex, in the file's units
    notes: tuple  # (bone, reason) of what was left out or lost
    offs: tuple[str, ...] = ()  # IK bones that had to be switched off


class ModelFit(ABC):
    """From frames of a model to a motion; UserError if the native module refuses them."""

    needs_frames = True  # whether the scene has to be read frame by frame
    off_frames = 0  # keys of the scene between the frames of the file

    def __init__(self, pmx: "mmdskin.Model", timing: Timing, options: Any) -> None:
        self._pmx, self._timing, self._options = pmx, timing, options

    @abstractmethod
    def fit(self, samples: Samples | None) -> Steps[Fitted]:
        """`samples` are of the scene, if it has to be read."""

    def of_locals(
        self, values: tuple[np.ndarray, np.ndarray, np.ndarray], like: "mmdskin.Motion"
    ) -> Steps[tuple]:
        """The motion of local values of bones and weights of morphs, keyed like another, and a report."""
        *bones, weights = values
        columns, make = (*bones, self._weights(weights)), mmdskin.Motion.from_locals
        return made(make, self._pmx, *columns, like=like, **self._common())

    def _weights(self, weights: np.ndarray) -> np.ndarray:
        return weights if self._options.morphs else np.zeros_like(weights)

    def _common(self) -> dict[str, Any]:
        return {
            "frames": self._timing.file_frames,
            "tolerance": self._options.tolerance,
            "physics_tolerance": self._options.physics_tolerance,
            "physics": self._options.physics.lower(),
        }


class Solved(ModelFit):
    def __init__(self, pmx: "mmdskin.Model", timing: Timing, options: Any, form: str) -> None:
        super().__init__(pmx, timing, options)
        self._form = form

    def fit(self, samples: Samples | None) -> Steps[Fitted]:
        assert samples is not None
        pmx, options, with_ik = self._pmx, self._options, self._form != SOLVED_FK
        poses = (*samples.pose, self._weights(samples.weights))
        make, ik = mmdskin.Motion.from_poses, "both" if with_ik else "off"
        motion, report = yield from made(make, pmx, poses, ik=ik, **self._common())
        on = np.full(samples.ik.shape, with_ik)
        offs: tuple[str, ...] = ()
        if with_ik and report.worst > options.tolerance:
            offs = self._bent(motion, samples)
            on[:, [i for i, bone in enumerate(pmx.bones) if bone.name in offs]] = False
        visible = samples.visible if options.visibility else np.ones_like(samples.visible)
        track = property_track(pmx, self._timing.file_frames, visible, on)
        return Fitted(with_tracks(motion, properties=track), report.worst, report.notes, offs)

    def _bent(self, motion: "mmdskin.Motion", samples: Samples) -> tuple[str, ...]:
        """IK bones whose chain MMD's IK would pull away from where the keys put it."""
        bones, found = self._pmx.bones, []
        poses = self._pmx.pose(motion, self._timing.file_frames).bone_matrices, *samples.pose
        for bone in bones:
            if not bone.ik:
                continue
            chain = [bone.ik.target, *(link.bone for link in bone.ik.links)]
            pivots = np.array([[*bones[i].position, 1] for i in chain], np.float32)
            at = [np.einsum("fkij,kj->fki", pose[:, chain], pivots) for pose in poses]
            if np.linalg.norm(at[0] - at[1], axis=-1).max() > self._options.tolerance:
                found.append(bone.name)
        return tuple(dict.fromkeys(found))


def property_track(
    pmx: "mmdskin.Model", frames: np.ndarray, visible: np.ndarray, ik: np.ndarray
) -> "mmdskin.PropertyTrack":
    """A key at the first of the frames and at each change; like MMD, each names all IK bones.

    `visible` (F,) and `ik` (F, B) are values at frames `frames` (F,) of the file.
    """
    goals = {bone.name: i for i, bone in reversed([*enumerate(pmx.bones)]) if bone.ik}
    names = tuple(dict.fromkeys(bone.name for bone in pmx.bones if bone.ik))
    states = ik[:, [goals[name] for name in names]]
    values = np.column_stack([visible, states])
    changes = np.flatnonzero(np.append(True, (values[1:] != values[:-1]).any(axis=1)))
    return mmdskin.PropertyTrack(frames[changes], visible[changes], names, states[changes])


def made(function: Callable[..., _Result], /, *args: Any, **kwargs: Any) -> Steps[_Result]:
    """The result of a fit; UserError if the native module refuses its arguments."""
    try:
        return (yield from modal_job.fitted(mmdskin.Fit(function, *args, **kwargs)))
    except (ValueError, MemoryError) as error:
        raise UserError("The motion cannot be made: {reason}", reason=error) from error


def with_tracks(motion: "mmdskin.Motion", **tracks: Any) -> "mmdskin.Motion":
    """The motion with other tracks, or another name."""
    parts = {
        name: getattr(motion, name)
        for name in ("bones", "morphs", "camera", "light", "shadow", "properties", "name")
    }
    return type(motion).from_tracks(**{**parts, **tracks})
