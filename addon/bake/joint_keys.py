# SPDX-License-Identifier: GPL-3.0-or-later
"""Corrective keys driven by joints: each acts as far as its joint is bent like in its pose.

The joint of a vertex is the deepest bone that moves it, the bend is the angle by which that bone
is turned against its parent. The key of a pose is 1 at the pose's angle and falls to 0, linearly,
towards the next angles of other poses and of rest; beyond the greatest angle it stays 1.
"""

import math

import numpy as np

from ..translations import tr
from . import animation

_APART = math.radians(0.5)  # angles nearer than this are one to a joint
_SAME = 1e-5  # Blender units: offsets that nobody tells apart


class Joints:
    """The keys of one mesh."""

    def __init__(self, part, bones, blend):
        self._obj, self._armature, self._bones = part.obj, part.armature, bones
        number = {name: i for i, name in enumerate(bones)}
        self._parents, self._depth = [], []
        for name in bones:
            bone = part.armature.data.bones[name]
            parent = number[bone.parent.name] if bone.parent else -1
            self._depth.append(self._depth[parent] + 1 if parent >= 0 else 0)
            self._parents.append(parent if bone.use_inherit_rotation else -1)
        self._above = [self._chain(name) for name in bones]
        self._joint_of = self._deepest(blend, [number[name] for name in part.bones], part)
        self._poses = {}  # frame: {joint: angle}
        self._keys = {}  # (frame, joint): (vertices, offsets), None of an earlier bake

    def add(self, frame, pose):
        """Note the bend of each joint in a pose, (B, 4, 4) in armature space."""
        turned = _rotations(pose)
        above = np.where(
            np.array(self._parents)[:, None, None] >= 0, turned[self._parents], np.eye(3)
        )
        bends = _angles(np.swapaxes(above, 1, 2) @ turned)
        joints = set(self._joint_of[self._joint_of >= 0].tolist())
        for joint in list(joints):
            joints.update(self._above[joint])
        self._poses[frame] = {self._bones[j]: float(bends[j]) for j in joints}

    def plan(self, found, state):
        """Decide which key acts on what, from the corrections; returns warnings."""
        unexplained = 0
        for one in found:
            joints = self._joint_of[one.vertices]
            for joint in np.unique(joints):
                chosen = joints == joint
                bent = self._bent(one.frame, joint)
                if bent is None:
                    unexplained += int(chosen.sum())
                    continue
                key = (one.frame, bent)
                held = self._keys.get(key, (one.vertices[:0], one.offsets[:0]))
                self._keys[key] = tuple(
                    np.concatenate(pair)
                    for pair in zip(held, (one.vertices[chosen], one.offsets[chosen]), strict=True)
                )
        self._take_over(state)
        warnings = self._separate()
        if unexplained:
            warnings.append(
                tr(
                    "{count} times a vertex of '{name}' needs correction where no joint"
                    " is bent: it is left out",
                    count=unexplained,
                    name=self._obj.name,
                )
            )
        return warnings

    def write(self, state, add_key):
        names = state.get("joints", {}).get("names", [])
        names = {(frame, joint): name for frame, joint, name in names}
        for (frame, joint), offsets in self._keys.items():
            if offsets is not None:
                names[frame, joint] = add_key(state, f"MMD {frame:04d} {joint}", *offsets)
        keys = self._obj.data.shape_keys
        for key in names.keys() - self._keys.keys():
            block = keys.key_blocks.get(names.pop(key))
            if block is not None:
                state["keys"].remove(block.name)
                block.driver_remove("value")
                self._obj.shape_key_remove(block)
        for (frame, joint), name in names.items():
            low, angle, high = self._knots(frame, joint)
            animation.drive_by_bend(keys, name, self._armature, joint, low, angle, high)
        state["joints"] = {
            "poses": list(self._poses.items()),
            "names": [[frame, joint, name] for (frame, joint), name in names.items()],
        }

    def _take_over(self, state):
        """Keys of an earlier bake that stay, where no pose of now has their frame."""
        earlier = (state or {}).get("joints")
        if not earlier:
            return
        poses = dict(earlier["poses"])
        for frame, joint, _ in earlier["names"]:
            if frame not in self._poses:
                self._keys[frame, joint] = None
        self._poses = {f: bends for f, bends in poses.items() if f not in self._poses} | self._poses

    def _separate(self):
        """Of poses that a joint has the same bend in, only the last keeps its key."""
        lost = set()
        self._angles = {}
        for joint in {joint for _, joint in self._keys}:
            knots = []
            for frame in reversed(self._poses):
                bend = self._poses[frame].get(joint, 0.0)
                near = [f for f, angle in knots if abs(angle - bend) <= _APART]
                if bend <= _APART:
                    continue
                if not near:
                    knots.append((frame, bend))
                elif self._differ((frame, joint), (near[0], joint)):
                    lost.add((frame, near[0], joint))
                if near:
                    self._keys.pop((frame, joint), None)
            rest = [bends.get(joint, 0.0) for bends in self._poses.values()]
            rest = max((bend for bend in rest if bend <= _APART), default=0.0)
            self._angles[joint] = [(None, rest), *sorted(knots, key=lambda knot: knot[1])]
        return [
            tr(
                "Frames {frame} and {other} bend '{joint}' by the same angle:"
                " only frame {other} is exact",
                frame=frame,
                other=other,
                joint=joint,
            )
            for frame, other, joint in sorted(lost)
        ]

    def _knots(self, frame, joint):
        """The bends at which a key is 0, 1 and 0 again; the last is None where it stays 1."""
        angles = self._angles[joint]
        place = next(i for i, (one, _) in enumerate(angles) if one == frame)
        after = angles[place + 1][1] if place + 1 < len(angles) else None
        return angles[place - 1][1], angles[place][1], after

    def _differ(self, one, other):
        pair = [self._keys.get(key, ((), ())) for key in (one, other)]
        if None in pair:
            return True
        dense = np.zeros((2, len(self._joint_of), 3), np.float32)
        for row, (vertices, offsets) in zip(dense, pair, strict=True):
            if len(vertices):
                row[vertices] = offsets
        return np.abs(dense[0] - dense[1]).max(initial=0) > _SAME

    def _bent(self, frame, joint):
        """Name of the nearest joint that is bent in the pose: itself, one above or one below."""
        bends = self._poses[frame]
        for nearby in ((joint, *self._above[joint]), self._below(joint)):
            for one in nearby:
                if bends.get(self._bones[one], 0.0) > _APART:
                    return self._bones[one]
        return None

    def _below(self, joint):
        below = (one for one, above in enumerate(self._above) if joint in above)
        return sorted(below, key=self._depth.__getitem__)

    def _chain(self, name):
        """Numbers of the bones above one, the nearest first."""
        above, bone = [], self._armature.data.bones[name].parent
        while bone is not None:
            above.append(self._bones.index(bone.name))
            bone = bone.parent
        return above

    def _deepest(self, blend, numbers, part):
        """(V,) number of the deepest bone of each vertex, -1 without any."""
        result = np.full(part.skinner.vertex_count, -1)
        depth = np.array(self._depth)[numbers]
        order = np.argsort(depth[blend.bone], kind="stable")
        # Of several entries of a vertex the last one stays.
        result[blend.vertex[order]] = np.array(numbers)[blend.bone[order]]
        return result


def _rotations(pose):
    """(B, 3, 3) float64 rotations of matrices, their scale taken away."""
    axes = pose[:, :3, :3].astype(np.float64)
    lengths = np.linalg.norm(axes, axis=1, keepdims=True)
    return axes / np.where(lengths > 0, lengths, 1)


def _angles(rotations):
    """(B,) angle of each rotation, exact for small and great ones alike."""
    cosine = (np.trace(rotations, axis1=1, axis2=2) - 1) / 2
    skew = rotations - np.swapaxes(rotations, 1, 2)
    sine = np.linalg.norm(skew[:, [2, 0, 1], [1, 2, 0]], axis=1) / 2
    return np.arctan2(sine, cosine)
