# SPDX-License-Identifier: GPL-3.0-or-later
"""Corrective keys driven by joints: each acts as far as its joint is turned like in its pose.

The joint of a vertex is the deepest bone that moves it, turned against its parent. Of all joints and
frames `joint_choice` takes those that are worth a key.
"""

import numpy as np
from mathutils import Matrix

from ..translations import tr
from . import animation, joint_choice, joint_hats

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
        self._moving = set(self._joint_of[self._joint_of >= 0].tolist())
        self._moving.update(above for joint in list(self._moving) for above in self._above[joint])
        self._poses = {}  # frame: {joint: rotation against its parent, w x y z}
        self._keys = {}  # (frame, joint): (vertices, offsets), None of an earlier bake

    def add(self, frame, pose):
        """Note how each joint is turned in a pose, (B, 4, 4) in armature space."""
        turned, bones = _rotations(pose), self._armature.data.bones
        rotations = {}
        for joint in self._moving:
            parent, name = self._parents[joint], self._bones[joint]
            local = turned[parent].T @ turned[joint] if parent >= 0 else turned[joint]
            rest = bones[name].matrix_local.to_3x3()
            local = rest.inverted() @ Matrix(local.tolist()) @ rest
            rotations[name] = tuple(local.to_quaternion())
        self._poses[frame] = rotations

    def plan(self, found, given, state, most, tolerance):
        """Choose the keys from the corrections of all frames; `given` ones may have keys.

        Returns warnings. `vertices` and `added` (F, n, 3) say what the keys will add to these.
        """
        warnings = self._assign([one for one in found if one.frame in given])
        self._take_over(state)
        alike = self._drop_alike()
        self._choose(found, most, tolerance)
        return warnings + [
            tr(
                "Frames {frame} and {other} turn '{joint}' alike: only frame {other} is exact",
                frame=frame,
                other=other,
                joint=joint,
            )
            for frame, other, joint in alike
            if (other, joint) in self._keys
        ]

    def forget(self):
        """Make no key after all."""
        self._keys, self._hats = {}, {}

    @property
    def count(self):
        return len(self._keys)

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
        for key, name in names.items():
            expression = self._hats[key].expression
            animation.drive_by_bone(keys, name, self._armature, key[1], expression)
        frames = {frame for frame, _ in self._keys}
        state["joints"] = {
            "poses": [(frame, pose) for frame, pose in self._poses.items() if frame in frames],
            "names": [[frame, joint, name] for (frame, joint), name in names.items()],
        }

    def _assign(self, found):
        """The keys that there could be: those vertices follow a joint that is turned."""
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
        if not unexplained:
            return []
        return [
            tr(
                "{count} times a vertex of '{name}' needs correction where no joint"
                " is turned: it is left out",
                count=unexplained,
                name=self._obj.name,
            )
        ]

    def _take_over(self, state):
        """Keys of an earlier bake that stay, where no pose of now has their frame."""
        earlier = (state or {}).get("joints")
        if not earlier:
            return
        poses = dict(earlier["poses"])
        for frame, joint, _ in earlier["names"]:
            if frame not in self._poses:
                self._keys[frame, joint] = None
        self._poses = {f: pose for f, pose in poses.items() if f not in self._poses} | self._poses

    def _drop_alike(self):
        """Keys of poses that a joint cannot tell from a later one go: (frame, later, joint)."""
        dropped = []
        for joint in self._joints():
            poses = {
                frame: self._turned(frame, joint)
                for frame in self._poses
                if (frame, joint) in self._keys
            }

            def differ(frame, other, joint=joint):
                return self._differ((frame, joint), (other, joint))

            for frame, other in joint_hats.alike(poses, differ):
                dropped.append((frame, other, joint))
                del self._keys[frame, joint]
        return dropped

    def _choose(self, found, most, tolerance):
        self.vertices = np.unique(np.concatenate([one.vertices for one in found]))
        errors = np.zeros((len(found), len(self.vertices), 3), np.float32)
        for row, one in zip(errors, found, strict=True):
            row[np.searchsorted(self.vertices, one.vertices)] = one.offsets
        before = errors.copy()
        joints = {name: self._joint(name, [one.frame for one in found]) for name in self._joints()}
        earlier = {key: None for key, held in self._keys.items() if held is None}
        joint_choice.choose(list(joints.values()), errors, most - len(earlier), tolerance)
        self.added = before - errors
        chosen = {
            (frame, name): self._keys[frame, name]
            for name, joint in joints.items()
            for frame in joint.chosen
        }
        self._hats = {
            (frame, name): hat
            for name, joint in joints.items()
            for frame, hat in joint.hats(
                joint.chosen, joint.kind, {*joint.chosen, *joint.earlier}
            ).items()
        }
        self._keys = {key: held for key, held in (earlier | chosen).items() if key in self._hats}

    def _joint(self, name, frames):
        keys, earlier = {}, {}
        for (frame, joint), held in self._keys.items():
            if joint == name and held is None:
                earlier[frame] = self._turned(frame, name)
            elif joint == name:
                keys[frame] = (np.searchsorted(self.vertices, held[0]), held[1])
        turned = {frame: self._turned(frame, name) for frame in frames}
        return joint_choice.Joint(turned, keys, earlier)

    def _joints(self):
        return sorted({joint for _, joint in self._keys})

    def _turned(self, frame, joint):
        return tuple(self._poses[frame].get(joint, (1, 0, 0, 0)))

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
        """Name of the nearest joint that is turned in the pose: itself, one above or one below."""
        rotations = self._poses[frame]
        for nearby in ((joint, *self._above[joint]), self._below(joint)):
            for one in nearby:
                if joint_hats.bend(rotations.get(self._bones[one], (1, 0, 0, 0))):
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
