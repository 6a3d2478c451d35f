# SPDX-License-Identifier: GPL-3.0-or-later
"""Shape keys that add to the armature modifier what its linear blend lacks.

The modifier stays on and so do the user's keys: a key holds what must be added before the blend so
that MMD's result comes out behind it. Keys follow the time, or the bend of joints (`joint_keys`).
"""

import numpy as np

from .. import mesh_source, saved_state
from ..translations import tr
from ..user_error import UserError
from . import animation, joint_keys, linear_blend, record, sliders
from .joint_keys import Correction

_SMALL = 1e-6  # Blender units, times the model's size; less is the noise of float32
_LITTLE = 0.9  # of the error that stays under keys which are not worth it


class Corrective:
    """Corrective keys of one mesh."""

    def __init__(self, part, bones, options):
        self.part, self.options = part, options
        self.warnings, self.notes, self._found = [], [], []
        obj, state = part.obj, part.state
        linear_blend.check(obj, part.armature, state["modifiers"] if state else {})
        if part.pinned is not None:
            raise UserError(
                "'{name}' shows only its active shape key: unpin it first", name=obj.name
            )
        self._blend = linear_blend.LinearBlend.read(obj, part.skinner)
        self._still = np.tile(np.eye(4, dtype=np.float32), (len(part.bones), 1, 1))
        self._rest = mesh_source.rest_positions(obj.data)
        self._least = _SMALL * max(1.0, float(np.abs(self._rest).max()))
        self._before = 0.0  # the largest error without keys
        self._flat, self._lost = 0, 0.0  # vertices no offset brings back, what they lack at most
        self._joints = joint_keys.Joints(part, bones, self._blend) if options.driven else None
        self._gathers = options.driven and not options.moves

    def adds_to(self, state):
        """Whether an earlier bake stays: single poses gather."""
        alike = state["target"] == "CORRECTIVE" and saved_state.POSES in state
        return self._gathers and alike and state["deformation"] == list(self.part.deformation)

    def start(self):
        pass

    def add(self, block):
        mixed = self.part.positions(self._still, block.values)
        for i, frame in enumerate(block.frames):
            found = self._correction(frame, block.matrices[i], mixed[i], block.positions[i])
            self._found.append(found)
            self._before = max(self._before, _longest(found.wanted))
            if self._joints:
                self._joints.add(found, block.pose[i])

    def finish(self):
        if self._flat:
            self.warnings.append(
                tr(
                    "{count} times a vertex of '{name}' is folded so flat that no"
                    " shape key can bring it back wholly",
                    count=self._flat,
                    name=self.part.obj.name,
                )
            )
        if self._joints:
            yield from self._choose_keys()
        if not any(len(found.vertices) for found in self._found) and not self._has_joints():
            self.notes.append(
                tr(
                    "'{name}' needs no corrective keys: the Armature modifier shows the same",
                    name=self.part.obj.name,
                )
            )

    def write(self, state):
        obj = self.part.obj
        if obj.data.shape_keys:
            sliders.put_aside(obj, state)
        if self._joints:
            record.remove_keys(obj, state)  # of earlier poses, which these stand for too
            self._joints.write(state, self._add_key, self._gathers)
            return
        frames = [place for place, found in enumerate(self._found) if len(found.vertices)]
        names = [
            self._add_key(state, f"MMD {self._found[place].frame:04d}", *self._found[place][1:3])
            for place in frames
        ]
        keys = obj.data.shape_keys
        if self.options.moves and names:
            state["curves"] = animation.add_pulses(keys, names, self.options.times, frames)
        else:
            for name in names:
                keys.key_blocks[name].value = 1.0

    def close(self, done):
        self._found.clear()

    def _has_joints(self):
        return self._joints is not None and self._joints.count

    def _correction(self, frame, matrices, mixed, target):
        maps = self._blend.maps(matrices)
        shown = linear_blend.moved(maps, mixed) + maps[:, :, 3]
        wanted = target - shown
        chosen = np.flatnonzero(np.abs(wanted).max(axis=1, initial=0) > self._least)
        offsets, flat = linear_blend.offsets(maps[chosen], wanted[chosen])
        self._flat += len(flat)
        lacks = wanted[chosen][flat] - linear_blend.moved(maps[chosen][flat], offsets[flat])
        self._lost = max(self._lost, _longest(lacks))
        offsets, wanted = offsets.astype(np.float32), wanted[chosen].astype(np.float32)
        return Correction(frame, chosen, offsets, wanted, matrices)

    def _choose_keys(self):
        joints, options, state = self._joints, self.options, self.part.state
        gathered = state is not None and self.adds_to(state)
        if gathered:
            joints.remember(state, self._rest)
        tolerance = max(options.tolerance, self._least)
        for count in joints.plan(options.most, tolerance):
            yield count / options.most
        before, after = self._before, 0.0
        for error in joints.errors(len(self._found)):
            after = max(error, self._lost)
            yield 1.0
        if after >= before and not gathered:
            joints.forget()
            after = before
        text = tr(
            "Corrective keys of '{name}': {before:.2g} -> {after:.2g} units with {count} keys",
            name=self.part.obj.name,
            before=before,
            after=after,
            count=joints.count,
        )
        if before:
            self.notes.append(text)
        if after > _LITTLE * before:
            self.warnings.append(
                tr(
                    "Driven keys bring little to '{name}' in these frames: choose keyed ones,"
                    " which are exact",
                    name=self.part.obj.name,
                )
            )

    def _add_key(self, state, name, vertices, offsets):
        record.base_key(self.part.obj)
        positions = self._rest.copy()
        positions[vertices] += offsets
        return record.add_key(self.part.obj, state, name, positions).name


def _longest(vectors):
    return float(np.linalg.norm(vectors, axis=1).max(initial=0))
