# SPDX-License-Identifier: GPL-3.0-or-later
"""Which corrective keys earn their place: the best next one, until none is worth it.

Gain is what a key takes from the sum of the fourth powers of all errors, which large ones rule, over
all frames looked at: those that keys are made for and those between.
"""

import numpy as np

from . import joint_hats

_WORTH = 1e-3  # least gain of a key, of the sum that is left
_TRIED = 12  # frames of a joint with the greatest errors, one of which gets the next key


class Joint:
    """One joint, the keys that could follow it and those that shall."""

    def __init__(self, rotations, keys, earlier):
        """`rotations`: {frame: w x y z} of all frames; `keys`: {frame: (vertices, offsets)};
        `earlier`: {frame: rotation} where keys of an earlier bake act and these must not.
        """
        self.rotations, self.earlier = rotations, earlier
        self.chosen, self.kind = [], joint_hats.by_angle
        self._all = np.array(list(rotations.values()))
        self._still = {f: one for f, one in rotations.items() if not joint_hats.bend(one)}
        self.vertices = np.unique(
            np.concatenate([np.empty(0, int), *(one for one, _ in keys.values())])
        )
        self.offsets = {}
        for frame, (vertices, offsets) in keys.items():
            dense = np.zeros((len(self.vertices), 3), np.float32)
            dense[np.searchsorted(self.vertices, vertices)] = offsets
            self.offsets[frame] = dense

    def hats(self, chosen, kind, keyed=None):
        """{frame: hat} of keyed frames (the chosen ones), where the chosen and the earlier act.

        `kind`: the function of `joint_hats` that is asked first.
        """
        poses = self._still | self.earlier
        poses |= {frame: self.rotations[frame] for frame in sorted(chosen)}
        keyed = set(chosen if keyed is None else keyed)
        found = kind(poses, keyed)
        return joint_hats.by_distance(poses, keyed) if found is None else found

    def shown(self, chosen, kind):
        """(F, n, 3) float32 that the keys of these frames add in all frames to `vertices`."""
        hats = self.hats(chosen, kind)
        if not hats:
            return np.zeros((len(self.rotations), len(self.vertices), 3), np.float32)
        values = np.stack([hat.values(self._all) for hat in hats.values()], axis=1)
        offsets = np.stack([self.offsets[frame] for frame in hats])
        return np.tensordot(values.astype(np.float32), offsets, 1)


def choose(joints, errors, most, tolerance):
    """Give each joint its `chosen` frames, `most` keys in all, and take what they add from errors.

    `errors` (F, V, 3) float32 before any key; no more keys where none is above `tolerance`.
    """
    best = {joint: _best(joint, errors) for joint in joints}
    for _ in range(most):
        if not best or np.linalg.norm(errors, axis=2).max(initial=0) <= tolerance:
            return
        joint = max(best, key=lambda one: best[one][0])
        gain, frame, kind = best[joint]
        if gain <= _WORTH * _sum(errors):
            return
        errors[:, joint.vertices] += joint.shown(joint.chosen, joint.kind)
        joint.chosen.append(frame)
        joint.kind = kind
        errors[:, joint.vertices] -= joint.shown(joint.chosen, kind)
        for other in joints:
            if other is joint or np.isin(other.vertices, joint.vertices, True).any():
                best[other] = _best(other, errors)


def _best(joint, errors):
    """(gain, frame, kind of hats) of the joint's next key."""
    now = errors[:, joint.vertices]
    without = now + joint.shown(joint.chosen, joint.kind)
    before, order = _sum(now), list(joint.rotations)
    open_frames = [frame for frame in joint.offsets if frame not in joint.chosen]
    open_frames.sort(key=lambda frame: -_sum(now[order.index(frame)]))
    best = 0.0, None, joint.kind
    for frame in open_frames[:_TRIED]:
        for kind in (joint_hats.by_angle, joint_hats.by_distance):
            gain = before - _sum(without - joint.shown([*joint.chosen, frame], kind))
            best = max(best, (gain, frame, kind), key=lambda one: one[0])
    return best


def _sum(errors):
    return float(np.square(np.square(errors).sum(axis=-1, dtype=np.float64)).sum())
