# SPDX-License-Identifier: GPL-3.0-or-later
"""Pose sources with their physics: as MMD Skinning plays it, and as bakes and exports need it.

A mesh and the objects on its bones share what is played, so that each pose is solved once per frame.
For bakes and exports, what no file has is simulated, by a run through the scene: own keyframes are read
frame by frame, and motion files follow.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from bpy.types import Context, Depsgraph, Object, Scene

from ..blender import caches, evaluated_bones, playhead
from ..blender.evaluated_bones import Evaluation
from ..blender.native import mmdskin
from ..blender.pose_evaluation import PoseFrames
from ..blender.user_error import UserError
from ..operator_base.modal_job import Steps, frames_done
from ..pose import pose_source
from ..pose.ik_source import Local, Solver
from ..pose.motion_source import Motion
from . import cache, dependencies, group, keyed, simulation
from .group import Member

_SAMPLES = 24  # minimum rate per second at which the scene is sampled, else once per frame


class _Newest(NamedTuple):
    settings: pose_source.Settings
    simulation: tuple | None  # the version of its file
    bones: evaluated_bones.Bones  # changes with anything of the armature object
    opened: pose_source.Opened


_newest: caches.Cache[_Newest] = caches.of_file()  # by `identity` of the armature object


def load(now: Evaluation, settings: pose_source.Settings) -> pose_source.Opened:
    """The pose source of Settings, read again."""
    opened = pose_source.load(now.armature, settings)
    simulated, _ = _with_physics(opened, now.armature, settings, False)
    return _kept(now, settings, simulated)


def shared(
    now: Evaluation, settings: pose_source.Settings, check_file: bool = True
) -> pose_source.Opened:
    """The pose source that was loaded last, if that is still valid, else a new one.

    `check_file`: whether it is read again if the file of the simulation has changed.
    """
    newest = _newest.get(now.bones.identity)
    if newest is None or newest.settings != settings:
        return load(now, settings)
    if check_file and newest.simulation != _simulation(now.armature, settings):
        return load(now, settings)
    known, bones = newest.bones, now.bones
    if known is bones:
        return newest.opened
    same = known.names == bones.names and np.array_equal(known.rests, bones.rests)
    return _kept(now, settings, newest.opened) if same else load(now, settings)


def _kept(
    now: Evaluation, settings: pose_source.Settings, opened: pose_source.Opened
) -> pose_source.Opened:
    newest = _Newest(settings, _simulation(now.armature, settings), now.bones, opened)
    return _newest.put(now.bones.identity, newest).opened


def _simulation(armature: Object, settings: pose_source.Settings) -> tuple | None:
    return cache.version_of(armature) if settings.physics else None


def _with_physics(
    opened: pose_source.Opened,
    armature: Object,
    settings: Any,
    strict: bool,
    simulated: cache.Cache | None = None,
    scene: Scene | None = None,
) -> tuple[pose_source.Opened, cache.Checked | None]:
    """A pose source with its physics, and the file of the simulation if it needs one.

    The other arguments are those of `keyed.Playing`.
    """
    if not cache.has_physics(armature, settings, opened.rig.pmx):
        return opened, None
    if isinstance(opened, Solver):
        playing = keyed.Playing(opened, armature, strict, simulated, scene)
        return opened.with_post_process(playing), playing
    if group.needs_file(settings):
        grouped = cache.Grouped(opened, settings, armature, strict, simulated)
        return grouped.motion(), grouped
    return (simulation.baked if strict else simulation.shown)(opened, armature, settings), None


class Baked:
    """For bakes and exports. `opened` is the pose source with its physics, without which posing raises a UserError."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.load()

    def load(self, simulated: cache.Cache | None = None, scene: Scene | None = None) -> None:
        """Again: with a simulation that is in no file, or with hair as the viewport shows it in a scene's
        current frame, where it moves live if no simulation matches."""
        model, settings, opened = self.member
        self.opened, self._checked = _with_physics(
            opened, model.armature, settings, True, simulated, scene
        )

    def lacks_simulation(self, first: float, last: float) -> bool:
        """Whether its file has no simulation of these keys and settings, or not from an animation
        time to another."""
        found = self._checked
        return found is not None and (bool(found.changed()) or not found.covers(first, last))


def simulate(context: Context, sources: Sequence[Baked], first: float, last: float) -> Steps[None]:
    """Simulate those that lack it, with their groups, and so that two frames of the scene and all
    between them are covered."""
    stretch = playhead.stretch(context.scene)
    times = first * stretch, last * stretch
    lacking = [source.member for source in sources if source.lacks_simulation(*times)]
    if not lacking:
        return
    batches = group.batches(lacking, context.view_layer)
    covered = math.floor(first), math.ceil(last)
    found = yield from simulated(context, batches, covered)
    for source in sources:
        if source.member.model.armature in found:
            source.load(found[source.member.model.armature])


def simulated(
    context: Context, batches: Sequence[Sequence[Member]], covered: tuple[int, ...] = ()
) -> Steps[dict[Object, cache.Cache]]:
    """The simulation of each model over the range that the scene plays, by its armature object.

    `batches`: models that touch each other; `covered`: frames of the scene that the range is extended to.
    """
    frames = *playhead.frame_range(context.scene), *covered
    found: dict[Object, cache.Cache] = {}
    for number, members in enumerate(batches):
        place = number, len(batches)
        found |= yield from scene_run(context, members, min(frames), max(frames), place)
    return found


def scene_run(
    context: Context, members: Sequence[Member], first: int, last: int, place: tuple[int, int]
) -> Steps[dict[Object, cache.Cache]]:
    """The simulation of models from one of the scene's frames to another, sample by sample.

    `place`: how many runs of so many are done.
    """
    fps, stretch = playhead.fps(context.scene), playhead.stretch(context.scene)
    samples = max(1, math.ceil(_SAMPLES * stretch / fps - 1e-6))  # of each frame
    rate, start = samples / stretch, first * stretch
    parts = [_Part(member, start, rate, fps) for member in members]
    opened = [member.opened for member in members]
    record = group.record(members)._replace(start=0)
    offsets = [part.offset for part in parts]
    simulation = group.simulation(opened, record, group.places(members), offsets)
    count = last - first + 1
    before, total = count * place[0], count * place[1]
    models = [member.model for member in members]
    objects = [obj for model in models for obj in (model.armature, *model.meshes)]
    with PoseFrames(context, objects) as read:
        for sample in range((last - first) * samples + 1):
            read.go_to((start + sample / rate) / stretch)
            group.check_still(members)
            _add(context, simulation, parts, 1 / rate / fps)
            yield frames_done(before + sample // samples + 1, total, read)
    return {part.armature: part.result() for part in parts}


def _add(context: Context, simulation: Any, parts: "list[_Part]", seconds: float) -> None:
    """Simulate the scene's current frame."""
    depsgraph = context.evaluated_depsgraph_get()
    locals_ = [part.local(depsgraph) for part in parts]
    values = [[local and local[i] for local in locals_] for i in range(3)]
    try:
        poses = simulation.step(
            *values,
            seconds,
            ik=[local is None or local.ik for local in locals_],
            physics=[local is None or local.physics for local in locals_],
        )
    except ValueError as error:
        raise UserError(
            "'{name}' cannot be simulated at frame {frame}: {reason}",
            name=parts[0].member.model.name,
            frame=context.scene.frame_current,
            reason=error,
        ) from error
    for part, local, pose in zip(parts, locals_, poses, strict=True):
        part.add(local, pose)


class _Part:
    """What a run keeps of a member."""

    def __init__(self, member: Member, start: float, rate: float, fps: float) -> None:
        """`start`: the animation time of the first sample; `rate`: samples until one later."""
        self.member, opened = member, member.opened
        self.armature: Any = member.model.armature
        self.offset = 0.0  # by which a motion is ahead of the run
        self._first, self._rate = start, rate
        if isinstance(opened, Motion):
            group.check_speed(member, opened.speed, 30 / fps)
            self._first = self.offset = opened.motion_frames(start)[0]
            self._rate = rate / opened.speed
        self._inputs = dependencies.inputs_of(opened, self.armature)
        self._fingerprint = dependencies.fingerprint(opened, member.settings, self._inputs)
        self._bones = dependencies.moved_bones(opened.rig.pmx)
        self._samples: list[tuple] = []

    def local(self, depsgraph: Depsgraph) -> Local | None:
        """The input of its bones; None if a motion file moves them."""
        if self._inputs is None or not isinstance(self.member.opened, Solver):
            return None
        keys = dependencies.key_values(self.member.model.meshes, self._inputs.keys, depsgraph)
        return self.member.opened.local(self.armature.evaluated_get(depsgraph), keys)

    def add(self, local: Local | None, pose: "mmdskin.Pose") -> None:
        if self._inputs is not None and local is not None:
            self._samples.append(self._inputs.sample(pose.bone_matrices, local))
        else:
            self._samples.append((pose.bone_matrices[self._bones],))

    def result(self) -> cache.Cache:
        pmx, first, rate = self.member.opened.rig.pmx, self._first, self._rate
        return cache.of_samples(self._fingerprint, pmx, self._samples, first, rate)
