# SPDX-License-Identifier: MIT
"""Motion.for_model(): a dance that was made for one MMD model, for another one. Keys keep their frames and
curves; what they hold changes."""

from collections.abc import Callable, Container, Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mmdskin import BoneTrack, FitReport, Model, Motion, rotations
from mmdskin.argument import check_model
from mmdskin.retargeting.body import STANDARD_LEG, Body, Joints, alignment, body_of
from mmdskin.retargeting.limbs import meeting, nearness, two_bone
from mmdskin.retargeting.slots import ARM, SIDES
from mmdskin.rotations import Array, apply, between, multiply, transpose

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
    motion: Motion,
    target: Model,
    *,
    made_for: Model | None = None,
    hands: bool = True,
    scale: float | None = None,
) -> tuple[Motion, FitReport]:
    check_model(target, "target")
    check_model(target if made_for is None else made_for, "made_for")
    if scale is not None and not _SCALES[0] <= scale <= _SCALES[1]:
        raise ValueError(f"scale: {scale}, expected {_SCALES[0]} to {_SCALES[1]}")
    if made_for is not None:
        fit = _Fit(motion, made_for, target, scale)
        fit.merge()
        fit.turn()
        if hands:
            fit.join_hands()
        fitted, worst, notes = fit.motion, fit.worst, fit.all_notes()
    else:
        if scale is None:
            scale = body_of(target, "target").leg / STANDARD_LEG
        told = f"without the model it was made for, only positions are scaled, by {scale:.3f}"
        fitted = _with_tracks(motion, [_moved(track, scale) for track in motion.bones])
        worst, notes = 0.0, [("", told)]
    keys = sum(len(track.frames) for track in fitted.bones)
    keys += sum(len(track.frames) for track in fitted.morphs)
    named = _with_tracks(fitted, fitted.bones, target.name)
    return named, FitReport(keys, worst, tuple(notes))


def _with_tracks(motion: Motion, bones: Iterable[Any], name: str | None = None) -> Motion:
    others = motion.morphs, motion.camera, motion.light, motion.shadow, motion.properties
    return Motion.from_tracks(bones, *others, motion.name if name is None else name)


def _moved(track: BoneTrack, scale: float) -> BoneTrack:
    positions = np.clip(track.translations * scale, -1e10, 1e10)  # as far as motions may go
    return track._replace(translations=positions.astype(np.float32))


def _moves(track: BoneTrack) -> bool:
    turned = np.abs(track.rotations[:, :3]).max(initial=0)
    return bool(max(turned, np.abs(track.translations).max(initial=0)) > _STILL)


class _Fit:
    """A motion on the way from its model to another one, with the notes and `worst` of its report."""

    def __init__(self, motion: Motion, made_for: Model, target: Model, scale: float | None) -> None:
        self.motion, self.original, self.worst = motion, motion, 0.0
        self.source, self.target = made_for, target
        self.read, self.body = body_of(made_for, "made_for"), body_of(target, "target")
        self.scale = self.body.leg / self.read.leg if scale is None else scale
        self.notes = [("", f"positions are scaled by {self.scale:.3f}")]
        self.solved = _arm_ik(made_for, self.read) + _arm_ik(target, self.body)
        told = "IK that moves an arm: its keys are scaled only"
        self.notes += [(name, told) for name in self.solved]

    def all_notes(self) -> list[tuple[str, str]]:
        lost = f"{self.target.name or 'the target'} has no such bone"
        tracks = (self.motion.bones[name] for name in self.motion.unmatched(self.target).bones)
        moving = (track.name for track in tracks if _moves(track))
        return self.notes + [(name, lost) for name in moving if self.source.bones.get(name)]

    @cached_property
    def frames(self) -> Array:
        """Those of the bones, all of them."""
        numbers = [track.frames[[0, -1]] for track in self.original.bones]
        if not numbers:
            return np.arange(0)
        first, last = int(np.min(numbers)), int(np.max(numbers))
        if last - first >= _MOST_FRAMES:
            keys = f"motion: keys in frames {first} to {last}"
            raise ValueError(f"{keys}, expected at most {_MOST_FRAMES:,} frames")
        return np.arange(first, last + 1)

    # Values of keys

    def turn(self) -> None:
        """q' = A_parent⁻¹ q A and t' = k t, A being the turn from the target's rest to the source's.
        Curves between keys are slerp, which does not change where all of it is turned by the same on
        both sides. What turns the body moves so that the legs are where they were."""
        read, body = self.read, self.body
        A = dict.fromkeys(read.human.keys() & body.human.keys(), _NO_TURN)
        A |= {slot: rotations.to_quaternions(one) for slot, one in alignment(read, body).items()}
        turns = _turns_of(read, A) | _turns_of(body, A)
        pivots = {*_PIVOTS}.intersection(read.skeleton.names, body.skeleton.names)
        tracks: list[Any] = []
        for track in self.motion.bones:
            fitted, name = _moved(track, self.scale), track.name
            if name in pivots:
                shift = self.scale * _to_legs(read, name) - _to_legs(body, name)
                swing = apply(rotations.from_quaternions(track.rotations), shift) - shift
                moved = fitted.translations + swing.astype(np.float32)
                fitted = fitted._replace(translations=moved)
            if name in turns:
                before, after = turns[name]
                turned = multiply(multiply(before, track.rotations), after)
                fitted = fitted._replace(rotations=turned.astype(np.float32))
            tracks.append(fitted)
        for name in dict.fromkeys(body.skeleton.names):
            if name and name in turns and name not in self.motion.bones.names:
                rotation = multiply(*turns[name])
                if np.abs(rotation[:3]).max() > _STILL:
                    tracks.append((name, [0], None, rotation[None], None))
                    self.notes.append((name, "one key: the models' rest poses differ"))
        self.motion = _with_tracks(self.motion, tracks)

    # New keys

    def _refit(self, model: Model, values: dict[str, _Locals], lost: Container[str] = ()) -> None:
        """Fits these tracks to values of every frame, by their own curves where they still fit."""
        kept = [track for track in self.motion.bones if track.name not in lost]
        like = _with_tracks(self.motion, kept)
        new, report = Motion.from_locals(
            model, values, frames=self.frames, tolerance=_TOLERANCE, like=like
        )
        tracks = [track for track in kept if track.name not in values]
        tracks += [track for track in new.bones if track.name in values]
        self.motion, self.worst = _with_tracks(like, tracks), max(self.worst, report.worst)

    def _locals_of(self, model: Model, names: Iterable[str]) -> dict[str, _Locals]:
        """Of some bones, float64."""
        bones = [model.bone(name) for name in names]

        def of(some: Array) -> Array:
            return np.concatenate(model.locals_at(self.motion, some), -1)[:, bones].astype(float)

        values = _by_parts(of, self.frames)
        return {name: (values[:, i, :3], values[:, i, 3:]) for i, name in enumerate(names)}

    def merge(self) -> None:
        """Leaves out bones that the target lacks: others do what they did."""
        source, target = self.source.bones, self.target.bones
        lost: dict[str, _Heirs] = {}
        for name, heirs in _HEIRS.items():
            track = self.motion.bones.get(name)
            inherits = any(name in one.names + one.carriers for one in lost.values())
            acts = inherits or (track is not None and _moves(track))
            if acts and source.get(name) and not target.get(name):
                known = [tuple(filter(source.get, one)) for one in (heirs.names, heirs.carriers)]
                if known[0]:
                    lost[name] = heirs._replace(names=known[0], carriers=known[1][:1])
        if not lost:
            return
        names = dict.fromkeys(
            name for lose, heirs in lost.items() for name in (lose, *heirs.names, *heirs.carriers)
        )
        at = {name: np.array(source[name].position) for name in names}
        values = self._locals_of(self.source, names)
        for name, heirs in lost.items():
            for heir in heirs.names:
                upper, lower = (name, heir) if heirs.above else (heir, name)
                pivots = at[upper] - at[heir], at[lower] - at[heir]
                place, turn = _as_one(values[upper], values[lower], *pivots)
                values[heir] = place if heir in _MOVED else values[heir][0], turn
            for carrier in heirs.carriers:  # of the last heir
                (shift, turned), (place, turn) = values[name], values[carrier]
                pivot = at[heir] - at[name]
                shift = shift + apply(rotations.from_quaternions(turned), pivot) - pivot
                values[carrier] = place + apply(rotations.from_quaternions(turn), shift), turn
            told = f"new keys: it does what {name} did, which the target lacks"
            new = [one for one in heirs.names + heirs.carriers if one not in lost]
            self.notes += [(heir, told) for heir in new]
        self._refit(self.source, {n: v for n, v in values.items() if n not in lost}, lost)

    def join_hands(self) -> None:
        """Hands that are near each other keep their gap, scaled by the length of the arms: both wrists
        move by half of what is missing."""
        if self.solved or not len(self.frames):
            return

        def gap(some: Array) -> Array:
            world = self.source.transforms(self.source.pose(self.original, some, ik=False))
            return Joints(world[..., :3, 3].astype(float), self.read.human).gap()

        gaps = _by_parts(gap, self.frames)
        nears = nearness(gaps, self.read.arm)
        near = np.flatnonzero(nears)
        if not len(near):
            return
        arms = np.array([[self.body.human[side + part] for part in ARM] for side in SIDES])
        known = self.body.skeleton.names
        names = [known[bone] for bone in arms.flat]
        if "" in names or [known.index(name) for name in names] != arms.ravel().tolist():
            told = "hands do not keep their gap: bones of the arms have no name of their own"
            self.notes.append(("", told))
            return
        gaps *= self.body.arm / self.read.arm

        def turned(some: Array) -> Array:
            return self._arms_turned(arms, self.frames[some], gaps[some], nears[some])

        values = self._locals_of(self.target, names)
        turns = _by_parts(turned, near)
        for i, name in enumerate(names):
            values[name][1][near] = turns[:, i]
        self.notes += [(name, f"new keys where hands meet (frames: {len(near)})") for name in names]
        self._refit(self.target, values)

    def _arms_turned(self, arms: Array, frames: Array, gaps: Array, nears: Array) -> Array:
        """Rotations (F,6,4) of the arms (2,3), whose elbows move in the planes they bend in. The second
        time corrects what twist bones beside the arms' lines have left."""
        parents, model = self.body.skeleton.parents, self.target
        translations, turns = model.locals_at(self.motion, frames)
        turns = turns.astype(float)
        for _ in range(2):
            pose = model.pose_from(translations, turns, ik=False)
            world = model.transforms(pose).astype(float)
            joints = Joints(world[..., :3, 3], self.body.human)
            shoulder, elbow, wrist = (joints.sides(part) for part in ARM)
            goals = meeting(wrist, gaps, nears)
            bent, reached = two_bone(shoulder, goals, self.body.arm_bones, elbow - shoulder)
            first = between(elbow - shoulder, bent - shoulder)
            second = between(apply(first, wrist - elbow), reached - bent) @ first
            # How the parent has turned, and the bone; the hand keeps its turn in the world.
            steps = ((np.eye(3), first), (first, second), (second, np.eye(3)))
            for bones, (above, own) in zip(arms.T, steps, strict=True):
                parent = above @ world[:, parents[bones], :3, :3]
                local = transpose(parent) @ own @ world[:, bones, :3, :3]
                turns[:, bones] = rotations.to_quaternions(local)
        return turns[:, arms.ravel()]


def _turns_of(body: Body, A: dict[str, Array]) -> dict[str, tuple[Array, Array]]:
    """(A_parent⁻¹, A) of the bones that something turns, by name; A goes on to those without one."""
    names, parents = body.skeleton.names, body.skeleton.parents.tolist()
    slots = {bone: slot for slot, bone in (*body.human.items(), *body.twists.items())}
    turns, found = {-1: _NO_TURN}, {}
    for bone in body.skeleton.tree.order:
        turns[bone] = A.get(slots.get(bone, ""), turns[parents[bone]])
    for bone in reversed(range(len(names))):  # keys of a name move its first bone
        found[names[bone]] = turns[parents[bone]] * _INVERSE, turns[bone]
    return {n: p for n, p in found.items() if np.abs(np.array(p)[:, :3]).max() >= _STILL_TURN}


def _to_legs(body: Body, name: str) -> Array:
    """From the pivot of a bone to the middle between the legs, at rest."""
    rest = Joints(body.skeleton.rest[:, :3, 3], body.human)
    return rest.legs() - rest.positions[body.skeleton.names.index(name)]


def _by_parts(compute: Callable[[Array], Array], frames: Array) -> Array:
    """What `compute` returns for all frames, some at a time: all bones in all frames are too much."""
    parts = np.split(frames, range(_FRAMES_AT_ONCE, len(frames), _FRAMES_AT_ONCE))
    return np.concatenate([compute(some) for some in parts])


def _as_one(parent: _Locals, child: _Locals, above: Array, below: Array) -> _Locals:
    """Of one bone that does what a parent and its child do; above, below: the pivots of these, from
    its own."""
    inner = child[0] + below - above - apply(rotations.from_quaternions(child[1]), below)
    place = parent[0] + above + apply(rotations.from_quaternions(parent[1]), inner)
    return place, multiply(parent[1], child[1])


def _arm_ik(model: Model, body: Body) -> list[str]:
    """The bones whose IK moves an arm."""
    arms = {body.human[side + part] for side in SIDES for part in ARM}
    solvers = ((bone.name, bone.ik) for bone in model.bones)
    return [name for name, ik in solvers if ik and arms & {link.bone for link in ik.links}]
