# SPDX-License-Identifier: MIT
"""Motion.for_model(): a dance that was made for one MMD model, for another one. Keys keep their frames and
curves; what they hold changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import mmdskin
from mmdskin.retargeting.align import STANDARD_LEG, Body, alignment
from mmdskin.retargeting.body_check import require
from mmdskin.retargeting.feet import two_bone
from mmdskin.retargeting.hands import nearness
from mmdskin.retargeting.rotations import (
    apply,
    between,
    from_quaternions,
    multiply,
    to_quaternions,
    transpose,
)
from mmdskin.retargeting.skeleton import of_model
from mmdskin.retargeting.slots import SIDES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    _Array = NDArray[Any]
    _Notes = list[tuple[str, str]]

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
        side + lost: _Heirs(tuple(side + heir for heir in heirs.names), heirs.above)
        for side in "左右"
        for lost, heirs in {
            "親指０": _Heirs(("親指１",), above=True),
            "手捩": _Heirs(("手首",), above=True),
            "腕捩": _Heirs(("腕",), above=False),
            "肩P": _Heirs(("肩",), above=True),
            "足IK親": _Heirs(("足ＩＫ",), above=True),
        }.items()
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
        notes.append(
            ("", f"without the model it was made for, only places are scaled, by {scale:.3f}")
        )
        fitted = _with_tracks(motion, [_moved(track, scale) for track in motion.bones])
    else:
        source, body = _body(made_for, "made_for"), _body(target, "target")
        if scale is None:
            scale = body.leg / source.leg
        notes.append(("", f"places are scaled by {scale:.3f}"))
        solved = _arm_ik(made_for, source) + _arm_ik(target, body)
        notes += [(name, "IK that moves an arm: its keys are scaled only") for name in solved]
        merged, worst = _merge(motion, made_for, target, notes)
        fitted = _Fit(source, body, scale).apply(merged, notes)
        if hands and not solved:
            fitted, off = _Meeting(made_for, source, target, body).apply(motion, fitted, notes)
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
    return mmdskin.Motion.from_tracks(
        bones,
        motion.morphs,
        motion.camera,
        motion.light,
        motion.shadow,
        motion.properties,
        motion.name if name is None else name,
    )


def _moved(track: mmdskin.BoneTrack, scale: float) -> mmdskin.BoneTrack:
    places = np.clip(track.translations * scale, -1e10, 1e10)  # as far as motions may go
    return track._replace(translations=places.astype(np.float32))


def _moves(track: mmdskin.BoneTrack) -> bool:
    turned = np.abs(track.rotations[:, :3]).max(initial=0)
    return bool(max(turned, np.abs(track.translations).max(initial=0)) > _STILL)


def _arm_ik(model: mmdskin.Model, body: Body) -> list[str]:
    """The bones whose IK moves an arm."""
    arms = {body.human[side + part] for side in SIDES for part in ("UpperArm", "LowerArm", "Hand")}
    return [
        bone.name
        for bone in model.bones
        if bone.ik and arms & {link.bone for link in bone.ik.links}
    ]


# Values of keys


class _Fit:
    """q' = A_parent⁻¹ q A and t' = k t, A being the turn from the target's rest to the source's. Curves
    between keys are slerp, which does not change where all of it is turned by the same on both sides."""

    def __init__(self, source: Body, target: Body, scale: float) -> None:
        self.skeletons = (target.skeleton, source.skeleton)
        self.scale = scale
        self.turns: dict[str, _Array] = {}  # quaternions
        turns = {slot: to_quaternions(turn) for slot, turn in alignment(source, target).items()}
        for body in (source, target):
            bones = body.skeleton.names
            for slot, bone in (*body.human.items(), *body.twists.items()):
                if slot in source.human and slot in target.human:
                    self.turns[bones[bone]] = turns.get(slot, _NO_TURN)
        self.shift = {
            name: scale * _to_legs(source, name) - _to_legs(target, name)
            for name in _PIVOTS
            if name in source.skeleton.names and name in target.skeleton.names
        }

    def _turns(self, name: str) -> tuple[_Array, _Array] | None:
        """(A_parent⁻¹, A) of a bone; without a slot it has its parent's. None if nothing turns."""
        skeleton = next((one for one in self.skeletons if name in one.names), None)
        if skeleton is None:
            return None
        bone = skeleton.names.index(name)
        above = _NO_TURN
        while (bone := int(skeleton.parents[bone])) >= 0:
            if skeleton.names[bone] in self.turns:
                above = self.turns[skeleton.names[bone]]
                break
        own = self.turns.get(name, above)
        still = max(np.abs(above[:3]).max(), np.abs(own[:3]).max()) < _STILL_TURN
        return None if still else (above * _INVERSE, own)

    def apply(self, motion: mmdskin.Motion, notes: _Notes) -> mmdskin.Motion:
        tracks: list[Any] = []
        for track in motion.bones:
            fitted = _moved(track, self.scale)
            turns = self._turns(track.name)
            if track.name in self.shift:
                swing = from_quaternions(track.rotations.astype(float)) - np.eye(3)
                shift = (swing @ self.shift[track.name]).astype(np.float32)
                fitted = fitted._replace(translations=fitted.translations + shift)
            if turns is not None:
                turned = multiply(multiply(turns[0], track.rotations), turns[1])
                fitted = fitted._replace(rotations=turned.astype(np.float32))
            tracks.append(fitted)
        for name in self.turns:
            if motion.bones.get(name) or name not in self.skeletons[0].names:
                continue
            turns = self._turns(name)
            if turns is None:
                continue
            rotation = multiply(*turns)
            if np.abs(rotation[:3]).max() > _STILL:
                tracks.append((name, [0], None, rotation[None], None))
                notes.append((name, "one key: the models' rest poses differ"))
        return _with_tracks(motion, tracks)


def _to_legs(body: Body, name: str) -> _Array:
    """From the pivot of a bone to the middle between the legs, at rest."""
    rest = body.skeleton.rest[:, :3, 3]
    legs = [rest[body.human[side + "UpperLeg"]] for side in SIDES]
    to_legs: _Array = np.mean(legs, 0) - rest[body.skeleton.names.index(name)]
    return to_legs


# New keys


def _refit(
    model: mmdskin.Model, values: dict[str, Any], frames: _Array, like: mmdskin.Motion
) -> tuple[mmdskin.Motion, float]:
    """The motion with these tracks fitted to values of every frame, by its own curves where they
    still fit."""
    new, report = mmdskin.Motion.from_locals(
        model, values, frames=frames, tolerance=_TOLERANCE, like=like
    )
    kept = [track for track in like.bones if track.name not in values]
    return _with_tracks(
        like, kept + [track for track in new.bones if track.name in values]
    ), report.worst


def _frames(motion: mmdskin.Motion) -> _Array:
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


def _parts(frames: _Array) -> Iterator[_Array]:
    for first in range(0, len(frames), _FRAMES_AT_ONCE):
        yield frames[first : first + _FRAMES_AT_ONCE]


def _locals_of(
    model: mmdskin.Model, motion: mmdskin.Motion, frames: _Array, names: list[str]
) -> dict[str, tuple[_Array, _Array]]:
    """Translations and rotations of some bones, float64."""
    bones = [model.bone(name) for name in names]
    parts: list[tuple[_Array, _Array]] = []
    for some in _parts(frames):
        translations, rotations = model.locals_at(motion, some)
        parts.append((translations[:, bones], rotations[:, bones]))
    places, turns = (np.concatenate(one).astype(float) for one in zip(*parts, strict=True))
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
            known, carriers = (
                tuple(one for one in some if source.bones.get(one))
                for some in (heirs.names, heirs.carriers)
            )
            if known:
                lost[name] = heirs._replace(names=known, carriers=carriers[:1])
    if not lost:
        return motion, 0.0
    frames = _frames(motion)
    names = dict.fromkeys(
        name for lose, heirs in lost.items() for name in (lose, *heirs.names, *heirs.carriers)
    )
    values = _locals_of(source, motion, frames, list(names))
    for name, heirs in lost.items():
        for heir in heirs.names:
            pivot = np.subtract(source.bones[heir].position, source.bones[name].position)
            joined = _joined if heirs.above else _extended
            values[heir] = joined(values[name], values[heir], pivot, heir in _MOVED)
        for carrier in heirs.carriers:
            place, turn = values[carrier]
            shift = values[name][0] + apply(from_quaternions(values[name][1]), pivot) - pivot
            values[carrier] = place + apply(from_quaternions(turn), shift), turn
        notes += [
            (heir, f"new keys: it does what {name} did, which the target lacks")
            for heir in heirs.names + heirs.carriers
            if heir not in lost
        ]
    kept = [track for track in motion.bones if track.name not in lost]
    new = {name: value for name, value in values.items() if name not in lost}
    return _refit(source, new, frames, _with_tracks(motion, kept))


def _joined(
    parent: tuple[_Array, _Array], child: tuple[_Array, _Array], pivot: _Array, moves: bool
) -> tuple[_Array, _Array]:
    """A child that does what its lost parent did, whose pivot is at -pivot."""
    turn = from_quaternions(parent[1])
    place = parent[0] + apply(turn, pivot + child[0]) - pivot
    return place if moves else child[0], multiply(parent[1], child[1])


def _extended(
    child: tuple[_Array, _Array], parent: tuple[_Array, _Array], pivot: _Array, moves: bool
) -> tuple[_Array, _Array]:
    """A parent that does what its lost child did, whose pivot is at -pivot."""
    arm = child[0] - pivot + apply(from_quaternions(child[1]), pivot)
    place = parent[0] + apply(from_quaternions(parent[1]), arm)
    return place if moves else parent[0], multiply(parent[1], child[1])


class _Meeting:
    """Hands that are near each other keep their gap, scaled by the length of the arms: both wrists move
    by half of what is missing, and their elbows in the planes they bend in."""

    def __init__(
        self, source: mmdskin.Model, source_body: Body, target: mmdskin.Model, body: Body
    ) -> None:
        self.source, self.source_body, self.target, self.body = source, source_body, target, body

    def apply(
        self, original: mmdskin.Motion, fitted: mmdskin.Motion, notes: _Notes
    ) -> tuple[mmdskin.Motion, float]:
        frames = _frames(original)
        if not len(frames):
            return fitted, 0.0
        gaps = np.concatenate([self._gaps(original, some) for some in _parts(frames)])
        weights = nearness(gaps, self.source_body.arm)
        near = np.flatnonzero(weights)
        if not len(near):
            return fitted, 0.0
        bones = [
            self.body.human[side + part]
            for side in SIDES
            for part in ("UpperArm", "LowerArm", "Hand")
        ]
        names = [self.target.bones[bone].name for bone in bones]
        if [self.body.skeleton.names.index(name) if name else -1 for name in names] != bones:
            notes.append(
                ("", "hands do not keep their gap: bones of the arms have no name of their own")
            )
            return fitted, 0.0
        values = _locals_of(self.target, fitted, frames, names)
        for some in _parts(near):
            turns = self._solved(fitted, frames[some], gaps[some], weights[some])
            for name, bone in zip(names, bones, strict=True):
                values[name][1][some] = turns[:, bone]
        notes += [(name, f"new keys where hands meet, {len(near)} frames") for name in names]
        return _refit(self.target, values, frames, fitted)

    def _gaps(self, motion: mmdskin.Motion, frames: _Array) -> _Array:
        places = self.source.transforms(self.source.pose(motion, frames, ik=False))[..., :3, 3]
        left, right = (self.source_body.human[side + "Hand"] for side in SIDES)
        return places[:, left].astype(float) - places[:, right]

    def _solved(
        self, motion: mmdskin.Motion, frames: _Array, gaps: _Array, weights: _Array
    ) -> _Array:
        """Rotations of all bones (F,B,4) with the arms moved. The second time corrects what twist
        bones beside the arms' lines have left."""
        human, model = self.body.human, self.target
        translations, turns = model.locals_at(motion, frames)
        rotations = turns.astype(float)
        wanted = gaps * (self.body.arm / self.source_body.arm)
        for _ in range(2):
            world = model.transforms(model.pose_from(translations, rotations, ik=False)).astype(
                float
            )
            hands = [world[:, human[side + "Hand"], :3, 3] for side in SIDES]
            missing = weights[:, None] * (wanted - (hands[0] - hands[1])) / 2
            for side, step in zip(SIDES, (missing, -missing), strict=True):
                self._move(side, step, world, rotations)
        return rotations

    def _move(self, side: str, step: _Array, world: _Array, rotations: _Array) -> None:
        parents = self.body.skeleton.parents
        bones = [self.body.human[side + part] for part in ("UpperArm", "LowerArm", "Hand")]
        shoulder, elbow, wrist = (world[:, bone, :3, 3] for bone in bones)
        rest = self.body.skeleton.rest[bones, :3, 3]
        upper, lower = np.linalg.norm(np.diff(rest, axis=0), axis=-1)
        bent, reached = two_bone(shoulder, wrist + step, upper, lower, elbow - shoulder)
        first = between(elbow - shoulder, bent - shoulder)
        second = between(apply(first, wrist - elbow), reached - bent) @ first
        above = (np.eye(3), first, second)  # how the parents have turned
        own = (first, second, np.eye(3))  # the hand keeps its turn in the world
        for bone, up, turn in zip(bones, above, own, strict=True):
            parent = up @ world[:, parents[bone], :3, :3]
            rotations[:, bone] = to_quaternions(transpose(parent) @ turn @ world[:, bone, :3, :3])
