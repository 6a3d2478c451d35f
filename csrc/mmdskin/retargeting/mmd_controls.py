# SPDX-License-Identifier: MIT
"""Motion.from_skeleton(): the motion of any skeleton as keys of the bones that dances of MMD move."""

import itertools
import math
from collections.abc import Generator

import numpy as np
from numpy.typing import ArrayLike

from mmdskin import Fit, FitReport, Model, Motion, Pose, rotations
from mmdskin.argument import check_model
from mmdskin.retargeting.body import MMD_KNEE, STANDARD_LEG, Body, body_of
from mmdskin.retargeting.bones import MOST_TRANSFORMS, RATES
from mmdskin.retargeting.skeleton import Skeleton, require
from mmdskin.retargeting.slots import ARM, LEG, SIDES
from mmdskin.retargeting.transfer import retarget, world_of
from mmdskin.rotations import Array, about, dot, frame_of, transpose, unit

_Values = dict[str, "tuple[Array | None, Array | None]"]  # translations and rotations by name
_Notes = list[tuple[str, str]]

_RATE = 30  # MMD's frames per second
_KNEE = (-math.pi, MMD_KNEE)
_STRAIGHT = 0.03  # sine of the knee below which the thigh says where it points
_BENT = math.radians(20)


def fit_skeleton(
    model: Model,
    skeleton: Skeleton,
    poses: Pose | ArrayLike,
    *,
    fps: float = 30.0,
    legs: str = "both",
    tolerance: float = 0.1,
    feet: bool = True,
    hands: bool = False,
    scale: float | None = None,
) -> Generator[float, None, tuple[Motion, FitReport]]:
    """As `Fit` runs it: yields the share that is done."""
    check_model(model)
    require(skeleton, "skeleton")
    if legs not in ("both", "ik"):
        raise ValueError(f'legs: "{legs}", expected both or ik')
    if not RATES[0] <= fps <= RATES[1]:
        raise ValueError(f"fps: {fps}, expected {RATES[0]:g} to {RATES[1]:g}")
    sampled = _resampled(poses, skeleton, fps)
    body = body_of(model, "model")
    out = retarget(skeleton, sampled, body.skeleton, feet=feet, hands=hands, scale=scale, fps=_RATE)
    notes = [("", note) for note in out.notes]
    if fps != _RATE:
        notes.append(("", f"frames per second: {fps:g} became {_RATE}"))
    values, more = Controls(model, body, out.transforms).values(legs)
    # Where a leg is short, the same distance bends its knee further.
    tolerance *= min(1.0, body.leg / STANDARD_LEG)
    yield 0.0
    fit = Fit(Motion.from_locals, model, values, tolerance=tolerance)
    yield from fit
    motion, report = fit.result()
    return motion, report._replace(notes=(*notes, *more, *report.notes))


def _resampled(poses: Pose | ArrayLike, skeleton: Skeleton, fps: float) -> Array:
    """Poses of 30 frames per second: rotations by slerp, positions along lines."""
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
    start, end = found[first], found[np.minimum(first + 1, len(found) - 1)]
    moved = start + share * (end - start)
    moved[..., :3, :3] = rotations.slerp(start[..., :3, :3], end[..., :3, :3], share[..., 0])
    return moved


class Controls:
    """Local values for from_locals() of the bones that dances move, for world matrices (F,B,4,4) of a
    model's bones as retarget() gives them."""

    def __init__(self, model: Model, body: Body, poses: Array) -> None:
        self.model, self.body, self.human = model, body, body.human
        self.positions = poses[..., :3, 3]
        still = np.broadcast_to(np.eye(3), (len(poses), 1, 3, 3))  # [-1], the parent of roots
        self.turns = np.concatenate([poses[..., :3, :3], still], 1)
        self.rest = body.skeleton.rest[:, :3, 3]
        self.parents = body.skeleton.parents
        self.solvers = {i: bone.ik for i, bone in enumerate(model.bones) if bone.ik}
        self.translations: dict[int, Array] = {}
        self.notes: _Notes = []
        bones = [*self.human.values(), *body.spine]
        local = transpose(self.turns[:, self.parents[bones]]) @ self.turns[:, bones]
        self.local = {bone: local[:, i] for i, bone in enumerate(bones)}

    def values(self, legs: str) -> tuple[_Values, _Notes]:
        """Of the bones that keys can name: of several with one name MMD moves the first. And notes."""
        hips = self.human["hips"]  # above them nothing turns, so the center moves as they do
        self.translations[self.body.carrier] = self.positions[:, hips] - self.rest[hips]
        for side in SIDES:
            self.arm(side)
            self.leg(side, legs)
        found: _Values = {}
        names = self.body.skeleton.names
        for bone in sorted({*self.local, *self.translations}):
            name = names[bone]
            if not name or names.index(name) != bone:
                self.notes.append((name, f"bone {bone} has no name of its own, so it gets no keys"))
                continue
            turns = rotations.to_quaternions(self.local[bone]) if bone in self.local else None
            found[name] = self.translations.get(bone), turns
        return found, self.notes

    def arm(self, side: str) -> None:
        """The arm's own turn goes to 腕捩, the forearm's to 手捩."""
        above = self.turns[:, self.parents[self.human[side + "UpperArm"]]]
        for slot, following in itertools.pairwise(side + part for part in ARM):
            bone, end = self.human[slot], self.human[following]
            if slot in self.body.twists:
                above = self._twist(slot, bone, end, above)
            else:
                above = self.turns[:, bone]
            self.local[end] = transpose(above) @ self.turns[:, end]

    def _twist(self, slot: str, bone: int, end: int, above: Array) -> Array:
        """Splits a limb's turn; returns the turn of what hangs on its twist bone. Twist bones may lie
        beside the line to the next joint: the limb swings once more until that is in place."""
        twist = self.body.twists[slot]
        fixed = self.model.bones[twist].fixed_axis
        axis = unit(self.rest[end] - self.rest[bone] if fixed is None else np.array(fixed))
        turn = transpose(above) @ self.turns[:, bone]
        own = _twist_about(turn, axis)
        limb = above @ turn @ transpose(own)  # swings only
        if slot.endswith("LowerArm"):  # by as much as the hand needs
            own = _twist_about(own @ transpose(self.turns[:, bone]) @ self.turns[:, end], axis)
        line = self.rest[twist] - self.rest[bone] + own @ (self.rest[end] - self.rest[twist])
        reached = rotations.apply(limb, line)
        limb = rotations.between(reached, self.positions[:, end] - self.positions[:, bone]) @ limb
        self.local[bone], self.local[twist] = transpose(above) @ limb, own
        return limb @ own

    def leg(self, side: str, legs: str) -> None:
        """Keys of the leg, and of the bones whose IK moves it."""
        thigh, knee, foot = (self.human[side + part] for part in LEG)
        upper, bend = self._hinge(thigh, knee, foot)
        self.local[thigh] = transpose(self.turns[:, self.parents[thigh]]) @ upper
        self.local[knee] = bend
        self.local[foot] = transpose(upper @ bend) @ self.turns[:, foot]
        ik = [i for i, solver in self.solvers.items() if solver.target == foot]
        if not ik:
            name = self.model.bones[foot].name
            self.notes.append((name, "no IK moves it: only the leg's own bones have keys"))
            return
        self.translations[ik[0]] = self.positions[:, foot] - self.rest[ik[0]]
        self.local[ik[0]] = self.turns[:, foot]
        for i, solver in self.solvers.items():  # the toe's: its goal on the toe, once
            tip = solver.target
            if self.parents[tip] == foot and self.parents[i] in ik:
                self.local.pop(tip, None)  # it moves nothing; 足先EX bends
                self.translations[i] = np.tile(self.rest[tip] - self.rest[i], (len(upper), 1))
        if legs == "ik":
            del self.local[knee]

    def _hinge(self, thigh: int, knee: int, foot: int) -> tuple[Array, Array]:
        """The thigh's turn in the world, and the knee's about its own x axis, which is all that MMD's
        IK leaves of it, so that knee and ankle are in place.

        d1 · Rx(t) d2 = u · v, of the directions of thigh and shin at rest (d) and in the pose (u, v).
        """
        solvers = (solver for solver in self.solvers.values() if solver.target == foot)
        links = (link for solver in solvers for link in solver.links if link.bone == knee)
        limits = ((one.lower[0], one.upper[0]) for one in links if one.lower and one.upper)
        lower, upper = next(limits, _KNEE)
        sign = -1 if lower + upper < 0 else 1
        bones = [thigh, knee, foot]
        d1, d2 = unit(np.diff(self.rest[bones], axis=0))
        u, v = np.moveaxis(unit(np.diff(self.positions[:, bones], axis=1)), 1, 0)
        along, aside = d1[1:] @ d2[1:], d1[2] * d2[1] - d1[1] * d2[2]
        cosine = (np.sum(u * v, -1) - d1[0] * d2[0]) / max(math.hypot(along, aside), 1e-12)
        angle = math.atan2(aside, along) + sign * np.arccos(np.clip(cosine, -1, 1))
        angle = np.clip((angle + np.pi) % (2 * np.pi) - np.pi, lower, upper)
        bend = about(0, angle)
        straight = (rotations.length(rotations.cross(u, v)) < _STRAIGHT)[:, None]
        shown = about(0, sign * _BENT) @ d2
        front = np.where(straight, self.turns[:, thigh] @ shown, v)
        own = np.where(straight, shown, bend @ d2)
        return frame_of(u, front) @ transpose(frame_of(np.broadcast_to(d1, u.shape), own)), bend


def _twist_about(turn: Array, axis: Array) -> Array:
    """The part of a turn that is about an axis."""
    q = rotations.to_quaternions(turn)
    return rotations.from_quaternions(np.append(dot(q[..., :3], axis) * axis, q[..., 3:], axis=-1))
