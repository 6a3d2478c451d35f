# SPDX-License-Identifier: GPL-3.0-or-later
"""The animation of a model, read from the scene frame by frame, in the file's axes and units."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from bpy.types import Depsgraph, Object, Scene

from ..blender import actions, arrays, playhead
from ..blender.user_error import UserError
from ..import_motion import import_state
from ..physics.group import Member
from ..physics.playback import Baked
from ..pose import ik_source, motion_source, pose_source, scene_motion
from ..scene import mmd_tools, scene_model

_ROUNDING = 1e-4  # frames
# Forms of bones: the items of the operator's option.
AUTO, AS_KEYED, SOLVED_FK, SOLVED_BOTH = "AUTO", "AS_KEYED", "SOLVED_FK", "SOLVED_BOTH"


class Samples(NamedTuple):
    """Values at F frames of the file's B bones and M morphs."""

    # If solved, matrices (F, B, 4, 4) float32 from rest to pose; as keyed, translations (F, B, 3)
    # float32 and rotations (F, B, 4) float32 x y z w.
    pose: tuple[np.ndarray, ...]
    weights: np.ndarray  # (F, M) float32 of morphs
    ik: np.ndarray  # (F, B) bool: whether the IK of each bone is on
    visible: np.ndarray  # (F,) bool


def local_values(motion: motion_source.Motion, times: Any) -> tuple[np.ndarray, ...]:
    """Local values (F, B, 3) and (F, B, 4) of bones, values (F, M) of sliders, and whether the IK of each
    bone is on (F, B), of a motion file at animation times."""
    pmx, frames = motion.rig.pmx, motion.motion_frames(times)
    pose, switches = pmx.pose(motion.motion, frames, ik=False), motion.motion.properties
    ik = np.ones((len(frames), len(pmx.bones)), bool)
    # The first key has an effect before it, too.
    rows = np.maximum(np.searchsorted(switches.frames, frames + _ROUNDING, "right") - 1, 0)
    for i, bone in enumerate(pmx.bones):
        if bone.name in switches.ik_names:
            ik[:, i] = switches.ik_enabled[rows, switches.ik_names.index(bone.name)]
    return (*pmx.locals_of(pose), pose.morph_weights, ik)


class Sampler:
    """Reads one model at the scene's current frame."""

    def __init__(
        self, model: scene_model.SceneModel, scene: Scene, solved: bool, options: Any
    ) -> None:
        self.model, self._solved = model, solved
        armature = model.armature
        settings = pose_source.settings_of(armature, scene)
        self._is_shown = settings is None  # the pose is the one that Blender evaluates
        settings = settings or ik_source.Settings("", fps=playhead.fps(scene))
        if options.model_path:
            settings = settings._replace(model_path=options.model_path)
        self._opened = opened = pose_source.load(armature, settings)
        self.motion = opened if isinstance(opened, motion_source.Motion) else None
        self.rig = opened.rig
        # With the hair that physics moves, if that is to have keys.
        self.simulated: Baked | None = None
        if solved and not self._is_shown and options.physics == "KEYS":
            self.simulated = Baked(Member(model, self._opened))
        self._keys = scene_model.shape_keys(model.meshes)
        self._morphs = scene_motion.keys_of_morphs(self.rig.pmx, armature)
        # A model is visible if any of its meshes is; if that is not animated, it is always visible.
        self._root = scene_model.root_of(armature)
        animated = actions.animated_paths(self._root) if self._root is not None else ()
        self._by_root = mmd_tools.SHOWS_MESHES in animated
        self._by_meshes = any("hide_render" in actions.animated_paths(obj) for obj in model.meshes)
        self.animates_visibility = self._by_root or self._by_meshes

    def read(self, depsgraph: Depsgraph) -> tuple:
        """A row for `samples`."""
        armature = self.model.armature.evaluated_get(depsgraph)
        if not armature.is_evaluated:
            raise UserError(
                "The collection of '{name}' is hidden: show it first", name=armature.name
            )
        opened, frame = self._opened, playhead.time(depsgraph.scene)
        if self.simulated is not None:
            opened = self.simulated.opened
        if isinstance(opened, motion_source.Motion):
            *pose, weights, ik = (values[0] for values in local_values(opened, frame))
            if self._solved:
                pose = [opened.posed(opened.motion_frames(frame))[0]]
        else:
            keys = ik_source.of_all_meshes(
                [(key.name, 0.0 if key.mute else key.value) for key in blocks]
                for blocks in (keys.evaluated_get(depsgraph).key_blocks for keys in self._keys)
            )
            local = opened.local(armature, keys)
            weights, ik = local.weights, local.ik
            for morph, key in self._morphs:  # the solver has read those of our importer
                weights[morph] = keys.get(key, weights[morph])
            pose = [local.translations.astype(np.float32), local.rotations.astype(np.float32)]
            if self._solved and self._is_shown:
                columns = arrays.columns(armature.pose.bones, "matrix_channel")
                pose = [opened.in_file(columns).astype(np.float32)]
            elif self._solved:
                pose = [opened.posed(local, frame)]
        return (depsgraph.scene.frame_current, *pose, weights, ik, self._is_visible(depsgraph))

    def samples(self, rows: Sequence[tuple]) -> Samples:
        frames, *pose, weights, ik, visible = map(np.array, zip(*rows, strict=True))
        for values in pose:
            self._check_finite(frames, values)
        return Samples(tuple(pose), weights, ik, visible)

    def _is_visible(self, depsgraph: Depsgraph) -> bool:
        if self._by_root and not mmd_tools.shows_meshes(self._root.evaluated_get(depsgraph)):
            return False
        meshes = [obj.evaluated_get(depsgraph) for obj in self.model.meshes]
        return not self._by_meshes or not all(obj.hide_render for obj in meshes)

    def _check_finite(self, frames: np.ndarray, values: np.ndarray) -> None:
        finite = np.isfinite(values).all(axis=tuple(range(2, values.ndim)))
        if not finite.all():
            frame, bone = np.argwhere(~finite)[0]
            raise UserError(
                "'{name}' cannot be exported at frame {frame}:"
                " the pose of bone '{bone}' contains invalid numbers",
                name=self.model.name,
                frame=frames[frame],
                bone=self.rig.pmx.bones[bone].name,
            )


def form_of(model: scene_model.SceneModel, scene: Scene, options: Any) -> str:
    """The form of a model's bones: the chosen one, or the one that suits its animation."""
    if options.bones != AUTO:
        return options.bones
    settings = pose_source.settings_of(model.armature, scene)
    is_driven = getattr(settings, "rig", None) is not None  # another armature has the keys
    if options.physics == "KEYS" or is_driven:
        return SOLVED_BOTH
    if settings is not None:  # MMD's IK or a motion file
        return AS_KEYED
    state = import_state.Record(model.armature).state
    plays_original = bool(state.files) and state.form == import_state.ORIGINAL
    return AS_KEYED if plays_original and not _is_constrained(model.armature) else SOLVED_BOTH


def _is_constrained(armature: Object) -> bool:
    """Whether a constraint acts on bones other than those for IK, append, bone morphs and physics."""
    animated = actions.animated_paths(armature)
    return any(
        not constraint.mute
        and (
            constraint.influence > 0
            or actions.constraint_path(bone.name, constraint.name) in animated
        )
        and not (mmd_tools.is_ik(constraint, armature) or constraint.name.startswith("mmd_"))
        for bone in armature.pose.bones
        for constraint in bone.constraints
    )
