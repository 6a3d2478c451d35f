# SPDX-License-Identifier: MIT
"""Motion.for_model(): a dance that was made for one MMD model, for another one. Keys keep their frames and
curves; what they hold changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import mmdskin
from mmdskin.retargeting.body import STANDARD_LEG, Body, alignment
from mmdskin.retargeting.limbs import meeting, nearness, two_bone
from mmdskin.retargeting.rotations import (
    Array,
    apply,
    between,
    from_quaternions,
    multiply,
    to_quaternions,
    transpose,
)
from mmdskin.retargeting.skeleton import Skeleton, of_model
from mmdskin.retargeting.slots import ARM, SIDES, require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    _Notes = list[tuple[str, str]]
    _Locals = tuple[Array, Array]  # translations (F,3) and rotations (F,4) of a bone

_TOLERANCE = 0.02  # units, of tracks that get new keys
_STILL, _STILL_TURN = 1e-4, 1e-6  # less is no movement: of keys, in units; of rests, as quaternions
_NO_TURN, _INVERSE = np.array([0.0, 0.0, 0.0, 1.0]), np.array([-1.0, -1.0, -1.0, 1.0])
_SCALES = (1e-3, 1e3)
_FRAMES_AT_ONCE = 1024
_MOST_FRAMES = 1_000_000  # 9 hours: more is the key of a damaged file
_PIVOTS = ("センター", "グルーブ")  # turn the body about a place that differs among models


class _Heirs(NamedTuple):
    """Which bones take over from one that the target lacks; `above`: it turns them as their parent
    does, else as their child. Of `carriers`, the first that exists moves the body where it did."""

    names: tuple[str, ...]
    above: bool
    carriers: tuple[str, ...] = ()


# In the order from the tips to the root: what one takes over goes on to the next.
_HEIRS = {
    "腰": _Heirs(("下半身", "上半身"), above=True, carriers=("グルーブ", "センター")),
    "グルーブ": _Heirs(("センター",), above=False),
    "上半身3": _Heirs(("上半身2",), above=False),
    "上半身2": _Heirs(("上半身",), above=False),
    **{
        side + lost: _Heirs((side + heir,), above)
        for side in "左右"
        for lost, heir, above in (
            *(("親指０", "親指１", True), ("手捩", "手首", True), ("腕捩", "腕", False)),
            *(("肩P", "肩", True), ("足IK親", "足ＩＫ", True)),
        )
    },
    "全ての親": _Heirs(("センター", "左足ＩＫ", "右足ＩＫ"), above=True),
}
_MOVED = ("センター", "左足ＩＫ", "右足ＩＫ")  # heirs that also move; the others only turn


def for_model(
    motion: mmdskin.Motion,
    target: mmdskin.Model,
    *,
    made_for: mmdskin.Model | None = None,
    hands: bool = True,
    scale: float | None = None,
) -> tuple[mmdskin.Motion, mmdskin.FitReport]:
    for model, name in ((target, "target"), (target if made_for is None else made_for, "made_for")):
        if not isinstance(model, mmdskin.Model):
            raise TypeError(f"{name}: {type(model).__name__}, expected a Model")
    if scale is not None and not _SCALES[0] <= scale <= _SCALES[1]:
        raise ValueError(f"scale: {scale}, expected {_SCALES[0]} to {_SCALES[1]}")
    notes: _Notes = []
    worst = 0.0
    if made_for is None:
        if scale is None:
            scale = _body(target, "target").leg / STANDARD_LEG
        told = f"without the model it was made for, only places are scaled, by {scale:.3f}"
        notes.append(("", told))
        fitted = _with_tracks(motion, [_moved(track, scale) for track in motion.bones])
    else:
        source, body = _body(made_for, "made_for"), _body(target, "target")
        if scale is None:
            scale = body.leg / source.leg
        notes.append(("", f"places are scaled by {scale:.3f}"))
        solved = _arm_ik(made_for, source) + _arm_ik(target, body)
        notes += [(name, "IK that moves an arm: its keys are scaled only") for name in solved]
        merged, worst = _merge(motion, made_for, target, notes)
        fitted = _turned(merged, source, body, scale, notes)
        if hands and not solved:
            values = _with_gap(motion, fitted, (made_for, source), (target, body), notes)
            fitted, off = _refit(target, values, _frames(motion), fitted)
            worst = max(worst, off)
        notes += [
            (name, f"{target.name or 'the target'} has no such bone")
            for name in fitted.unmatched(target).bones
            if made_for.bones.get(name) and _moves(fitted.bones[name])
        ]
    keys = sum(len(track.frames) for track in fitted.bones)
    keys += sum(len(track.frames) for track in fitted.morphs)
    named = _with_tracks(fitted, fitted.bones, target.name)
    return named, mmdskin.FitReport(keys, worst, tuple(notes))


def _body(model: mmdskin.Model, name: str) -> Body:
    skeleton = of_model(model)
    require(skeleton.human, name)
    return Body(skeleton, skeleton.rest)


def _with_tracks(
    motion: mmdskin.Motion, bones: Iterable[Any], name: str | None = None
) -> mmdskin.Motion:
    others = motion.morphs, motion.camera, motion.light, motion.shadow, motion.properties
    return mmdskin.Motion.from_tracks(bones, *others, motion.name if name is None else name)


def _moved(track: mmdskin.BoneTrack, scale: float) -> mmdskin.BoneTrack:
    places = np.clip(track.translations * scale, -1e10, 1e10)  # as far as motions may go
    return track._replace(translations=places.astype(np.float32))


def _moves(track: mmdskin.BoneTrack) -> bool:
    turned = np.abs(track.rotations[:, :3]).max(initial=0)
    return bool(max(turned, np.abs(track.translations).max(initial=0)) > _STILL)


def _arm_ik(model: mmdskin.Model, body: Body) -> list[str]:
    """The bones whose IK moves an arm."""
    arms = {body.human[side + part] for side in SIDES for part in ARM}
    return [
        bone.name
        for bone in model.bones
        if bone.ik and arms & {link.bone for link in bone.ik.links}
    ]


# Values of keys


def _turned(
    motion: mmdskin.Motion, source: Body, target: Body, scale: float, notes: _Notes
) -> mmdskin.Motion:
    """q' = A_parent⁻¹ q A and t' = k t, A being the turn from the target's rest to the source's. Curves
    between keys are slerp, which does not change where all of it is turned by the same on both sides."""
    A = {slot: to_quaternions(turn) for slot, turn in alignment(source, target).items()}
    own: dict[str, Array] = {}
    for body in (source, target):
        for slot, bone in (*body.human.items(), *body.twists.items()):
            if slot in source.human and slot in target.human:
                own[body.skeleton.names[bone]] = A.get(slot, _NO_TURN)
    turns = _with_parents(own, source.skeleton) | _with_parents(own, target.skeleton)
    pivots = {*_PIVOTS}.intersection(source.skeleton.names, target.skeleton.names)
    shift = {name: scale * _to_legs(source, name) - _to_legs(target, name) for name in pivots}
    tracks: list[Any] = []
    for track in motion.bones:
        fitted = _moved(track, scale)
        if track.name in shift:
            swing = (from_quaternions(track.rotations) - np.eye(3)) @ shift[track.name]
            moved = fitted.translations + swing.astype(np.float32)
            fitted = fitted._replace(translations=moved)
        if track.name in turns:
            before, after = turns[track.name]
            turned = multiply(multiply(before, track.rotations), after)
            fitted = fitted._replace(rotations=turned.astype(np.float32))
        tracks.append(fitted)
    for name in own:
        if name not in turns or name not in target.skeleton.names or name in motion.bones.names:
            continue
        rotation = multiply(*turns[name])
        if np.abs(rotation[:3]).max() > _STILL:
            tracks.append((name, [0], None, rotation[None], None))
            notes.append((name, "one key: the models' rest poses differ"))
    return _with_tracks(motion, tracks)


def _with_parents(own: dict[str, Array], skeleton: Skeleton) -> dict[str, tuple[Array, Array]]:
    """(A_parent⁻¹, A) of the bones that something turns, by name; A goes on to those without one."""
    turns = {-1: _NO_TURN}
    for bone in skeleton.tree.order:
        turns[bone] = own.get(skeleton.names[bone], turns[int(skeleton.parents[bone])])
    found = {}
    for bone in reversed(range(len(skeleton.names))):  # keys of a name move its first bone
        pair = turns[int(skeleton.parents[bone])], turns[bone]
        found[skeleton.names[bone]] = pair[0] * _INVERSE, pair[1]
    return {
        name: pair
        for name, pair in found.items()
        if max(np.abs(turn[:3]).max() for turn in pair) >= _STILL_TURN
    }


def _to_legs(body: Body, name: str) -> Array:
    """From the pivot of a bone to the middle between the legs, at rest."""
    names, rest = body.skeleton.names, body.skeleton.rest[:, :3, 3]
    legs = [body.human[side + "UpperLeg"] for side in SIDES]
    return rest[legs].mean(0) - rest[names.index(name)]


# New keys


def _refit(
    model: mmdskin.Model, values: dict[str, _Locals], frames: Array, like: mmdskin.Motion
) -> tuple[mmdskin.Motion, float]:
    """The motion with these tracks fitted to values of every frame, by its own curves where they
    still fit."""
    if not values:
        return like, 0.0
    new, report = mmdskin.Motion.from_locals(
        model, values, frames=frames, tolerance=_TOLERANCE, like=like
    )
    kept = [track for track in like.bones if track.name not in values]
    fitted = kept + [track for track in new.bones if track.name in values]
    return _with_tracks(like, fitted), report.worst


def _frames(motion: mmdskin.Motion) -> Array:
    """The frames of the bones, all of them."""
    numbers = [track.frames[[0, -1]] for track in motion.bones]
    if not numbers:
        return np.arange(0)
    first, last = int(np.min(numbers)), int(np.max(numbers))
    if last - first >= _MOST_FRAMES:
        raise ValueError(
            f"motion: keys in frames {first} to {last}, expected at most {_MOST_FRAMES:,} frames"
        )
    return np.arange(first, last + 1)


def _by_parts(compute: Callable[[Array], tuple[Array, ...]], frames: Array) -> list[Array]:
    """What `compute` returns for all frames, some at a time: all bones in all frames are too much."""
    starts = range(0, len(frames), _FRAMES_AT_ONCE)
    parts = [compute(frames[first : first + _FRAMES_AT_ONCE]) for first in starts]
    return [np.concatenate(one) for one in zip(*parts, strict=True)]


def _locals_of(
    model: mmdskin.Model, motion: mmdskin.Motion, frames: Array, names: Iterable[str]
) -> dict[str, _Locals]:
    """Of some bones, float64."""
    bones = [model.bone(name) for name in names]

    def of(some: Array) -> tuple[Array, ...]:
        return tuple(values[:, bones].astype(float) for values in model.locals_at(motion, some))

    places, turns = _by_parts(of, frames)
    return {name: (places[:, i], turns[:, i]) for i, name in enumerate(names)}


def _merge(
    motion: mmdskin.Motion, source: mmdskin.Model, target: mmdskin.Model, notes: _Notes
) -> tuple[mmdskin.Motion, float]:
    """The motion of the source without bones that the target lacks: others do what they did."""
    lost: dict[str, _Heirs] = {}
    for name, heirs in _HEIRS.items():
        track = motion.bones.get(name)
        active = track is not None and _moves(track)
        inherits = any(name in one.names + one.carriers for one in lost.values())
        if (active or inherits) and source.bones.get(name) and not target.bones.get(name):
            known = [tuple(filter(source.bones.get, one)) for one in (heirs.names, heirs.carriers)]
            if known[0]:
                lost[name] = heirs._replace(names=known[0], carriers=known[1][:1])
    if not lost:
        return motion, 0.0
    names = dict.fromkeys(
        name for lose, heirs in lost.items() for name in (lose, *heirs.names, *heirs.carriers)
    )
    at = {name: np.array(source.bones[name].position) for name in names}
    frames = _frames(motion)
    values = _locals_of(source, motion, frames, names)
    for name, heirs in lost.items():
        for heir in heirs.names:
            parent, child = (name, heir) if heirs.above else (heir, name)
            place, turn = _as_one(
                values[parent], values[child], at[parent] - at[heir], at[child] - at[heir]
            )
            values[heir] = place if heir in _MOVED else values[heir][0], turn
        for carrier in heirs.carriers:  # of the last heir
            (shift, turned), (place, turn) = values[name], values[carrier]
            pivot = at[heir] - at[name]
            shift = shift + apply(from_quaternions(turned), pivot) - pivot
            values[carrier] = place + apply(from_quaternions(turn), shift), turn
        notes += [
            (heir, f"new keys: it does what {name} did, which the target lacks")
            for heir in heirs.names + heirs.carriers
            if heir not in lost
        ]
    kept = [track for track in motion.bones if track.name not in lost]
    new = {name: value for name, value in values.items() if name not in lost}
    return _refit(source, new, frames, _with_tracks(motion, kept))


def _as_one(parent: _Locals, child: _Locals, above: Array, below: Array) -> _Locals:
    """Of one bone that does what a parent and its child do; above, below: the pivots of these, from
    its own."""
    inner = child[0] + below - above - apply(from_quaternions(child[1]), below)
    place = parent[0] + above + apply(from_quaternions(parent[1]), inner)
    return place, multiply(parent[1], child[1])


def _with_gap(
    original: mmdskin.Motion,
    fitted: mmdskin.Motion,
    source: tuple[mmdskin.Model, Body],
    target: tuple[mmdskin.Model, Body],
    notes: _Notes,
) -> dict[str, _Locals]:
    """Values of the arms with which hands that are near each other keep their gap, scaled by the
    length of the arms: both wrists move by half of what is missing. {} if no hands meet."""
    (dancer, read), (model, body) = source, target
    frames = _frames(original)
    if not len(frames):
        return {}
    hands = [read.human[side + "Hand"] for side in SIDES]

    def gap(some: Array) -> tuple[Array]:
        world = dancer.transforms(dancer.pose(original, some, ik=False))
        left, right = (world[:, hand, :3, 3].astype(float) for hand in hands)
        return (left - right,)

    (gaps,) = _by_parts(gap, frames)
    nears = nearness(gaps, read.arm)
    near = np.flatnonzero(nears)
    if not len(near):
        return {}
    arms = np.array([[body.human[side + part] for part in ARM] for side in SIDES])
    names = [model.bones[bone].name for bone in arms.ravel()]
    if [body.skeleton.names.index(name) if name else -1 for name in names] != arms.ravel().tolist():
        notes.append(
            ("", "hands do not keep their gap: bones of the arms have no name of their own")
        )
        return {}
    gaps *= body.arm / read.arm

    def solved(some: Array) -> tuple[Array]:
        values = model.locals_at(fitted, frames[some])
        return (_arms_turned(model, body, arms, values, gaps[some], nears[some]),)

    values = _locals_of(model, fitted, frames, names)
    (turns,) = _by_parts(solved, near)
    for i, name in enumerate(names):
        values[name][1][near] = turns[:, i]
    notes += [(name, f"new keys where hands meet, {len(near)} frames") for name in names]
    return values


def _arms_turned(
    model: mmdskin.Model, body: Body, arms: Array, values: _Locals, gaps: Array, nears: Array
) -> Array:
    """Rotations (F,6,4) of the arms (2,3), whose elbows move in the planes they bend in. The second
    time corrects what twist bones beside the arms' lines have left."""
    parents, rotations = body.skeleton.parents, values[1].astype(float)
    for _ in range(2):
        pose = model.pose_from(values[0], rotations, ik=False)
        world = model.transforms(pose).astype(float)
        shoulder, elbow, wrist = np.moveaxis(world[..., :3, 3][:, arms], 2, 0)
        goals = meeting(wrist, gaps, nears)
        bent, reached = two_bone(shoulder, goals, body.arm_bones, elbow - shoulder)
        first = between(elbow - shoulder, bent - shoulder)
        second = between(apply(first, wrist - elbow), reached - bent) @ first
        # How the parent has turned, and the bone; the hand keeps its turn in the world.
        steps = ((np.eye(3), first), (first, second), (second, np.eye(3)))
        for bones, (above, own) in zip(arms.T, steps, strict=True):
            parent = above @ world[:, parents[bones], :3, :3]
            local = transpose(parent) @ own @ world[:, bones, :3, :3]
            rotations[:, bones] = to_quaternions(local)
    return rotations[:, arms.ravel()]
