# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake as a job: checks first, then frame after frame, and the scene is written only at the end.

So whatever fails, or is cancelled, leaves the scene as it was.
"""

from typing import NamedTuple

import numpy as np

from .. import modal_job, playhead, pose_source, skinner
from ..deformation import gives_normals
from ..translations import tr
from ..user_error import UserError
from . import corrective, mesh_cache, record, shape_keys, sliders, sources

STATE = record.STATE
clear = record.clear

_TARGETS = {
    "SHAPE_KEYS": shape_keys.ShapeKeys,
    "MESH_CACHE": mesh_cache.MeshCache,
    "CORRECTIVE": corrective.Corrective,
}
_BLOCK = 1 << 21  # vertices times frames that are computed at once


class Options(NamedTuple):
    target: str
    frames: tuple  # numbers of the frames to bake, in order
    moves: bool  # a range of frames, not only the pose as it stands
    stretch: float = 1.0  # frames of animation per frame of the scene (render.frame_map_old, _new)
    step: int = 1
    folder: str = ""  # of mesh caches; empty is beside the .blend
    normals: bool | None = None  # MMD's, in mesh caches; None is as each model shows them live
    driven: bool = True  # corrective keys follow joints, not the time
    most: int = 40  # driven keys of a mesh
    tolerance: float = 0.0  # Blender units up to which an error needs no more of them
    between: tuple = ()  # frames in which driven keys shall be good, too

    @property
    def visited(self):
        return sorted({*self.frames, *self.between})

    @property
    def times(self):
        """Where the frames lie in animation."""
        return np.asarray(self.frames) * self.stretch


class Block(NamedTuple):
    """Some frames of one mesh."""

    frames: tuple
    pose: np.ndarray  # (F, B, 4, 4) in armature space, bones as in Group.bones
    matrices: np.ndarray  # (F, B, 4, 4) in mesh space, bones as in Part.bones
    values: np.ndarray  # (F, K)
    positions: np.ndarray  # (F, V, 3) float32 in mesh space
    normals: np.ndarray | None  # (F, V or C, 3) where they are baked, too


class Result(NamedTuple):
    meshes: int
    vertices: int
    warnings: list
    notes: list


class Job(modal_job.Job):
    """Dropping it half-way leaves everything as it was. Afterwards `result` says what was done.

    `poses` has, for each model, None or settings of its pose source; `deformations` has one for each.
    """

    def __init__(self, context, models, poses, deformations, options):
        self.options, self.result = options, None
        self._context = context
        wanted = list(zip(models, poses, deformations, strict=True))
        super().__init__(self._run(wanted), len(options.visited))

    def _run(self, wanted):
        options = self.options
        depsgraph = self._context.evaluated_depsgraph_get()
        for model, *_ in wanted:
            _check(model, depsgraph)
        groups = [
            _Group(model, settings, deformation, options) for model, settings, deformation in wanted
        ]
        targets = [target for group in groups for _, target in group.parts]
        done = False
        try:
            for target in targets:
                target.start()
            parts = [target.part for target in targets]
            with (
                sliders.brought_back(parts),
                _Frames(self._context, options, groups) as frames,
            ):
                for block in frames:
                    depsgraph = self._context.evaluated_depsgraph_get()
                    for group in groups:
                        group.add(block, depsgraph)
                    yield modal_job.frames_done(frames.done, self.frames)
            for target in targets:
                _check_unchanged(target.part)
                for share in target.finish():
                    yield _finishing(target, share)
            for target in targets:
                _check_unchanged(target.part)
            done = True
            self.result = _write(targets, options)
        finally:
            for target in targets:
                target.close(done)


def _finishing(target, share):
    text = tr("MMD Skin: choosing keys of '{name}'   Esc: cancel", name=target.part.obj.name)
    return modal_job.Progress(share, text)


class _Group:
    """A model: where its poses come from, and a target for each mesh."""

    def __init__(self, model, settings, deformation, options):
        normals = options.target == "MESH_CACHE" and gives_normals(model.armature, options.normals)
        parts = [
            sources.Part(obj, model.armature, record.of(obj), deformation, normals)
            for obj in model.meshes
        ]
        parts = [part for part in parts if part.bones and part.skinner.vertex_count]
        if not parts:
            if not any(len(obj.data.vertices) for obj in model.meshes):
                raise UserError("'{name}' has no vertices", name=model.name)
            raise UserError(
                "No vertex group of '{name}' is named after a deforming bone of '{armature}'",
                name=model.name,
                armature=model.armature.name,
            )
        self.armature = model.armature
        self.bones = _with_parents(model.armature, {name for part in parts for name in part.bones})
        self.poses = sources.open(model.armature, self.bones, settings)
        self.poses.prepare(parts)
        kind = _TARGETS[options.target]
        self.parts = [
            ([self.bones.index(name) for name in part.bones], kind(part, self.bones, options))
            for part in parts
        ]

    def add(self, frames, depsgraph):
        pose = self.poses.matrices(frames, depsgraph)
        self._check_finite(pose, frames)
        armature = self.armature.evaluated_get(depsgraph)
        for chosen, target in self.parts:
            part = target.part
            _check_unchanged(part)
            obj = part.obj.evaluated_get(depsgraph)
            matrices = pose_source.in_mesh_space(pose[:, chosen], armature, obj)
            values = self.poses.key_values(part, frames, depsgraph)
            try:
                positions, normals = part.positions_and_normals(matrices, values)
            except ValueError as error:
                raise UserError(
                    "'{name}' cannot be skinned: {reason}", name=part.obj.name, reason=error
                ) from error
            target.add(Block(frames, pose, matrices, values, positions, normals))

    def _check_finite(self, pose, frames):
        finite = np.isfinite(pose).all(axis=(2, 3))
        if not finite.all():
            frame, bone = np.argwhere(~finite)[0]
            raise UserError(
                "'{name}' cannot be skinned at frame {frame}:"
                " the pose of bone '{bone}' is not a number",
                name=self.armature.name,
                frame=frames[frame],
                bone=self.bones[bone],
            )


class _Frames:
    """The frames in blocks; the scene goes along where poses are read from it, and comes back."""

    def __init__(self, context, options, groups):
        self._scene, self._options = context.scene, options
        self._playhead = playhead.Playhead(context)
        self._moves = options.moves and any(group.poses.moves_scene for group in groups)
        vertices = sum(t.part.skinner.vertex_count for group in groups for _, t in group.parts)
        self._size = 1 if self._moves else max(1, min(32, _BLOCK // max(vertices, 1)))
        self.done, self._last = 0, None

    def __enter__(self):
        if self._moves:
            self._playhead.__enter__()
        return self

    def __exit__(self, *of):
        if self._moves:
            self._playhead.__exit__(*of)

    def __iter__(self):
        frames = self._options.visited
        for first in range(0, len(frames), self._size):
            block = frames[first : first + self._size]
            if self._moves:
                self._go_to(block[0])
            self.done = first + len(block)
            yield block

    def _go_to(self, frame):
        # Rigid bodies are simulated frame by frame.
        world = self._scene.rigidbody_world
        if world and world.enabled and self._last is not None:
            for between in range(self._last + 1, frame):
                self._playhead.go_to(between)
        self._last = frame
        self._playhead.go_to(frame)


def _check(model, depsgraph):
    _check_evaluated(model.armature, depsgraph)
    if model.armature.mode == "EDIT":
        raise UserError("'{name}' is in edit mode: leave edit mode first", name=model.armature.name)
    for obj in model.meshes:
        skinner.check_editable(obj)
        _check_evaluated(obj, depsgraph)
        skinner.check_modifiers(obj, model.armature)
        pose_source.mesh_from_armature(  # an error where one of them has no inverse
            model.armature.evaluated_get(depsgraph), obj.evaluated_get(depsgraph)
        )
        keys = obj.data.shape_keys
        if keys and keys.animation_data and keys.animation_data.use_tweak_mode:
            raise UserError(
                "The shape keys of '{name}' are in tweak mode: leave it first", name=obj.name
            )


def _check_evaluated(obj, depsgraph):
    # Where Blender does not evaluate an object its pose, place and key values are old ones.
    if not obj.evaluated_get(depsgraph).is_evaluated:
        raise UserError("'{name}' is disabled in viewports: enable it first", name=obj.name)


def _check_unchanged(part):
    if len(part.obj.data.vertices) != part.skinner.vertex_count:
        raise UserError("'{name}' was edited during the bake", name=part.obj.name)


def _with_parents(armature, names):
    """The named bones and all bones above them, sorted as the armature has them."""
    wanted = set()
    for name in names:
        bone = armature.data.bones[name]
        while bone is not None and bone.name not in wanted:
            wanted.add(bone.name)
            bone = bone.parent
    return [bone.name for bone in armature.data.bones if bone.name in wanted]


def _write(targets, options):
    warnings, notes = [], []
    for target in targets:
        obj, armature, state = target.part.obj, target.part.armature, target.part.state
        live = False
        if state is not None and not target.adds_to(state):
            live, state = record.clear_mesh(obj), None
        warnings += target.warnings
        notes += target.notes
        if state is None:
            state = record.begin(obj, armature, live)
        state["target"], state["deformation"] = options.target, list(target.part.deformation)
        if options.moves:
            state["frames"] = [options.frames[0], options.frames[-1]]
        target.write(state)
        record.store(obj, state)
    limited = sum(target.part.skinner.source.limited for target in targets)
    if limited:
        warnings.append(
            tr(
                "{count} vertices have more than four bones: the strongest four were used",
                count=limited,
            )
        )
    vertices = sum(target.part.skinner.vertex_count for target in targets)
    return Result(len(targets), vertices, warnings, notes)
