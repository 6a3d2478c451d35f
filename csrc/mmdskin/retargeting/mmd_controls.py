# SPDX-License-Identifier: MIT
"""Motion.from_skeleton(): the motion of any skeleton as keys of the bones that dances of MMD move."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import mmdskin
from mmdskin.retargeting.align import MMD_KNEE, STANDARD_LEG, Body
from mmdskin.retargeting.bones import MOST_TRANSFORMS, RATES
from mmdskin.retargeting.rotations import (
    about,
    across,
    apply,
    between,
    dot,
    frame_of,
    from_quaternions,
    slerp,
    to_quaternions,
    transpose,
    unit,
)
from mmdskin.retargeting.skeleton import Skeleton, of_model
from mmdskin.retargeting.slots import SIDES
from mmdskin.retargeting.transfer import retarget, world_of

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import ArrayLike, NDArray

    _Array = NDArray[np.float64]

_RATE = 30  # MMD's frames per second
_LEGS = ("both", "ik")
_KNEE = (-math.pi, MMD_KNEE)
_STRAIGHT = 0.03  # sine of the knee below which the thigh says where it points
_BENT = math.radians(20)


def from_skeleton(
    motion_type: type[mmdskin.Motion], *args: Any, **kwargs: Any
) -> tuple[mmdskin.Motion, mmdskin.FitReport]:
    return mmdskin.Fit(motion_type.from_skeleton, *args, **kwargs).result()


def fit_skeleton(
    model: mmdskin.Model,
    skeleton: Skeleton,
    poses: mmdskin.Pose | ArrayLike,
    *,
    fps: float = 30.0,
    legs: str = "both",
    tolerance: float = 0.1,
    feet: bool = True,
    hands: bool = False,
    scale: float | None = None,
) -> Generator[float, None, tuple[mmdskin.Motion, mmdskin.FitReport]]:
    """As `Fit` runs it: yields the share that is done."""
    if not isinstance(model, mmdskin.Model):
        raise TypeError(f"model: {type(model).__name__}, expected a Model")
    if not isinstance(skeleton, Skeleton):
        raise TypeError(f"skeleton: {type(skeleton).__name__}, expected a Skeleton")
    if legs not in _LEGS:
        raise ValueError(f'legs: "{legs}", expected one of {", ".join(_LEGS)}')
    if not RATES[0] <= fps <= RATES[1]:
        raise ValueError(f"fps: {fps}, expected {RATES[0]:g} to {RATES[1]:g}")
    sampled = _resampled(poses, skeleton, fps)
    target = of_model(model)
    out = retarget(skeleton, sampled, target, feet=feet, hands=hands, scale=scale, fps=_RATE)
    notes = [("", note) for note in out.notes]
    if fps != _RATE:
        notes.append(("", f"{fps:g} frames per second became {_RATE}"))
    values, more = controls(model, out.transforms, legs)
    # Where a leg is short, the same distance bends its knee further.
    tolerance *= min(1.0, Body(target, target.rest).leg / STANDARD_LEG)
    yield 0.0
    fit = mmdskin.Fit(mmdskin.Motion.from_locals, model, values, tolerance=tolerance)
    yield from fit
    motion, report = fit.result()
    return motion, report._replace(notes=(*notes, *more, *report.notes))


def controls(
    model: mmdskin.Model, poses: _Array, legs: str = "both"
) -> tuple[dict[str, tuple[_Array | None, _Array | None]], list[tuple[str, str]]]:
    """Local values for from_locals() of the bones that dances move, for world matrices (F,B,4,4) of a
    model's bones as retarget() gives them; and notes."""
    target = of_model(model)
    found = _Controls(model, Body(target, target.rest), poses)
    found.arms()
    found.center()
    for side in SIDES:
        found.leg(side, legs)
    return found.values(), found.notes


def _resampled(poses: mmdskin.Pose | ArrayLike, skeleton: Skeleton, fps: float) -> _Array:
    """Poses of 30 frames per second: rotations by slerp, places along lines."""
    found, _ = world_of(skeleton, poses)
    if not len(found):
        raise ValueError("poses: no frames")
    if fps == _RATE:
        return found
    count = int((len(found) - 1) * _RATE / fps + 1e-6) + 1
    most = MOST_TRANSFORMS // len(skeleton.names)
    if count > most:
        raise ValueError(f"fps: {fps:g} makes {count:,} frames, expected at most {most:,}")
    at = np.minimum(np.arange(count) * (fps / _RATE), len(found) - 1)
    first = np.round(at, 6).astype(int)
    share = (at - first)[:, None, None, None]
    start: _Array = found[first]
    end = found[np.minimum(first + 1, len(found) - 1)]
    if np.abs(share).max() > 1e-6:
        turns = slerp(start[..., :3, :3], end[..., :3, :3], share[..., 0])
        start += share * (end - start)
        start[..., :3, :3] = turns
    return start


class _Controls:
    """Local values of the bones that dances move, for poses of a model's skeleton."""

    def __init__(self, model: mmdskin.Model, body: Body, poses: _Array) -> None:
        self.model, self.body = model, body
        self.turns, self.places = poses[..., :3, :3], poses[..., :3, 3]
        self.rest = body.skeleton.rest[:, :3, 3]
        self.parents = body.skeleton.parents
        self.translations: dict[int, _Array] = {}
        self.notes: list[tuple[str, str]] = []
        self.local = {
            bone: self._relative(bone, self.turns[:, bone])
            for bone in (*body.human.values(), *body.spine)
        }

    def values(self) -> dict[str, tuple[_Array | None, _Array | None]]:
        """Of the bones that keys can name: of several with one name MMD moves the first."""
        found = {}
        for bone in sorted({*self.local, *self.translations}):
            name = self.body.skeleton.names[bone]
            if not name or self.body.skeleton.names.index(name) != bone:
                self.notes.append((name, f"bone {bone} has no name of its own, so it gets no keys"))
                continue
            turns = to_quaternions(self.local[bone]) if bone in self.local else None
            found[name] = self.translations.get(bone), turns
        return found

    def _relative(self, bone: int, turn: _Array) -> _Array:
        parent = self.parents[bone]
        return turn if parent < 0 else transpose(self.turns[:, parent]) @ turn

    def center(self) -> None:
        """Above the hips nothing turns, so the center moves as the hips do."""
        hips = self.body.human["hips"]
        self.translations[self.body.carrier] = self.places[:, hips] - self.rest[hips]

    def arms(self) -> None:
        """The arm's own turn goes to 腕捩, the forearm's to 手捩."""
        for side in SIDES:
            above = self.turns[:, self.parents[self.body.human[side + "UpperArm"]]]
            for part, following in (("UpperArm", "LowerArm"), ("LowerArm", "Hand")):
                bone = self.body.human[side + part]
                if side + part in self.body.twists:
                    above = self._twist(side + part, side + following, above)
                else:
                    self.local[bone] = transpose(above) @ self.turns[:, bone]
                    above = self.turns[:, bone]
                end = self.body.human[side + following]
                self.local[end] = transpose(above) @ self.turns[:, end]

    def _twist(self, slot: str, following: str, above: _Array) -> _Array:
        """Splits a limb's turn; returns the turn of what hangs on its twist bone. Twist bones may lie
        beside the line to the next joint: the limb swings once more until that is in place."""
        bone, end = self.body.human[slot], self.body.human[following]
        twist = self.body.twists[slot]
        fixed = self.model.bones[twist].fixed_axis
        axis = unit(self.rest[end] - self.rest[bone] if fixed is None else np.array(fixed))
        turn = transpose(above) @ self.turns[:, bone]
        own = _twist_about(turn, axis)
        swing = turn @ transpose(own)
        if slot.endswith("LowerArm"):  # by as much as the hand needs
            hand = own @ transpose(self.turns[:, bone]) @ self.turns[:, end]
            own = _twist_about(hand, axis)
        limb = above @ swing
        line = self.rest[twist] - self.rest[bone] + apply(own, self.rest[end] - self.rest[twist])
        reached = apply(limb, line)
        limb = between(reached, self.places[:, end] - self.places[:, bone]) @ limb
        self.local[bone], self.local[twist] = transpose(above) @ limb, own
        return limb @ own

    def leg(self, side: str, legs: str) -> None:
        """Keys of the leg, and of the bones whose IK moves it."""
        thigh, knee, foot = (
            self.body.human[side + part] for part in ("UpperLeg", "LowerLeg", "Foot")
        )
        upper, bend = self._hinge(thigh, knee, foot)
        self.local[thigh] = self._relative(thigh, upper)
        self.local[knee] = bend
        self.local[foot] = transpose(upper @ bend) @ self.turns[:, foot]
        solvers = {i: bone.ik.target for i, bone in enumerate(self.model.bones) if bone.ik}
        ik = [i for i, target in solvers.items() if target == foot]
        if not ik:
            name = self.model.bones[foot].name
            self.notes.append((name, "no IK moves it: only the leg's own bones have keys"))
            return
        for i in ik[:1]:
            self.translations[i] = self.places[:, foot] - self.rest[i]
            self.local[i] = self.turns[:, foot]
        for i, tip in solvers.items():  # the toe's: its goal on the toe, once
            if self.parents[tip] == foot and self.parents[i] in ik:
                self.local.pop(tip, None)  # it moves nothing; 足先EX bends
                self.translations[i] = np.repeat(
                    (self.rest[tip] - self.rest[i])[None], len(upper), 0
                )
        if legs == "ik":
            del self.local[knee]

    def _hinge(self, thigh: int, knee: int, foot: int) -> tuple[_Array, _Array]:
        """The thigh's turn in the world, and the knee's about its own x axis, which is all that MMD's
        IK leaves of it, so that knee and ankle are in place.

        d1 · Rx(t) d2 = u · v, of the directions of thigh and shin at rest (d) and in the pose (u, v).
        """
        lower, upper = self._limits(knee, foot)
        sign = -1 if lower + upper < 0 else 1
        d1 = unit(self.rest[knee] - self.rest[thigh])
        d2 = unit(self.rest[foot] - self.rest[knee])
        u = unit(self.places[:, knee] - self.places[:, thigh])
        v = unit(self.places[:, foot] - self.places[:, knee])
        along, across = d1[1] * d2[1] + d1[2] * d2[2], d1[2] * d2[1] - d1[1] * d2[2]
        cosine = (np.sum(u * v, -1) - d1[0] * d2[0]) / max(math.hypot(along, across), 1e-12)
        angle = math.atan2(across, along) + sign * np.arccos(np.clip(cosine, -1, 1))
        angle = np.clip((angle + np.pi) % (2 * np.pi) - np.pi, lower, upper)
        bend = about(0, angle)
        straight = (np.linalg.norm(np.cross(u, v), axis=-1) < _STRAIGHT)[:, None]
        shown = _beside(about(0, np.array(sign * _BENT)) @ d2, d1)
        front = np.where(straight, _beside(self.turns[:, thigh] @ shown, u), _beside(v, u))
        own = np.where(straight, shown, _beside(bend @ d2, d1))
        rest = frame_of(np.broadcast_to(d1, u.shape), own)
        return frame_of(u, front) @ transpose(rest), bend

    def _limits(self, knee: int, foot: int) -> tuple[float, float]:
        for bone in self.model.bones:
            for link in bone.ik.links if bone.ik and bone.ik.target == foot else ():
                if link.bone == knee and link.lower and link.upper:
                    return link.lower[0], link.upper[0]
        return _KNEE


def _twist_about(turn: _Array, axis: _Array) -> _Array:
    """The part of a turn that is about an axis."""
    q = to_quaternions(turn)
    part = np.concatenate([dot(q[..., :3], axis) * axis, q[..., 3:]], -1)
    size = np.linalg.norm(part, axis=-1, keepdims=True)
    return from_quaternions(np.where(size > 1e-12, part, (0, 0, 0, 1)) / np.maximum(size, 1e-12))


def _beside(vector: _Array, axis: _Array) -> _Array:
    """The direction of what a vector has at right angles to an axis."""
    return unit(across(vector, axis))
