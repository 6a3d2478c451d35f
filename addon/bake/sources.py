# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses of a model for frames of the scene: as Blender evaluates them, as MMD, or of a motion file.

Matrices (F, B, 4, 4) are in armature space. What is asked of a scene is asked of the frame it
stands at, so `moves_scene` poses come one frame at a time.
"""

import numpy as np

from .. import ik_source, playhead, pose_source, skinner
from ..physics import keyed, simulation
from . import animation


def open(armature, bones, settings):
    """The poses of named bones that settings mean, None being the armature's."""
    if settings is None:
        return ArmaturePoses(armature, bones)
    opened = pose_source.open(armature, settings)
    if isinstance(opened, ik_source.Solver):
        return IkPoses(armature, bones, keyed.of(opened, armature, strict=True))
    return MotionPoses(bones, simulation.of(opened, settings.physics))


class ArmaturePoses:
    moves_scene = True

    def __init__(self, armature, bones):
        self._armature = armature
        self._numbers = pose_source.numbers(armature, bones)

    def prepare(self, parts):
        pass

    def matrices(self, frames, depsgraph):
        armature = self._armature.evaluated_get(depsgraph)
        return pose_source.matrices(armature, armature, self._numbers)[None]

    def key_values(self, part, frames, depsgraph):
        return part.scene_values(depsgraph)[None]


class IkPoses(ArmaturePoses):
    def __init__(self, armature, bones, solver):
        super().__init__(armature, bones)
        self._bones, self._solver = bones, solver
        self._parts = []

    def prepare(self, parts):
        """Shape keys that stand for groups of morphs may move bones, too."""
        self._parts = parts

    def matrices(self, frames, depsgraph):
        armature = self._armature.evaluated_get(depsgraph)
        keys = {
            name: value
            for part in self._parts
            for name, value in zip(part.keys, part.scene_values(depsgraph), strict=True)
        }
        frame = playhead.time(depsgraph.scene)
        return self._solver.matrices(armature, self._bones, keys, frame)[None]


class MotionPoses:
    def __init__(self, bones, motion):
        self._bones, self._motion = bones, motion
        self.moves_scene = False

    def prepare(self, parts):
        """Keys that the motion does not know stay as the scene has them, which then must move."""
        for part in parts:
            unknown = [
                name for name, known in zip(part.keys, self._known(part), strict=True) if not known
            ]
            if animation.is_animated(part.obj.data.shape_keys, unknown):
                self.moves_scene = True

    def matrices(self, frames, depsgraph):
        return self._motion.matrices(self._bones, _times(frames, depsgraph))

    def key_values(self, part, frames, depsgraph):
        held = part.scene_values(depsgraph)
        if part.pinned is not None or not len(part.keys):
            return np.tile(held, (len(frames), 1))
        values = self._motion.key_values(part.keys, _times(frames, depsgraph))
        return np.where(self._known(part), values, held).astype(np.float32)

    def _known(self, part):
        return np.asarray(self._motion.known_keys(part.keys), bool)


def _times(frames, depsgraph):
    """Where frames of the scene lie in animation."""
    return np.asarray(frames, np.float64) * playhead.stretch(depsgraph.scene)


class Part:
    """A mesh of a model that is being baked; what an earlier bake has added counts as not there."""

    def __init__(self, obj, armature, state, deformation, normals=False):
        self.obj, self.armature, self.state = obj, armature, state
        self.deformation = deformation
        absent = state["keys"] if state else ()
        self.skinner = skinner.Skinner(obj, armature, absent, normals)
        self.bones, self.keys = self.skinner.bones, self.skinner.keys
        self.unmuted = state["muted"] if state else ()
        if state is None:
            self.pinned = skinner.pinned_key(obj)
        else:
            self.pinned = state["active"][0] if state["pinned"] else None

    def positions(self, matrices, values):
        """(F, V, 3) float32 in mesh space, for matrices (F, B, 4, 4) and key values (F, K)."""
        return self.positions_and_normals(matrices, values)[0]

    def positions_and_normals(self, matrices, values):
        """As `positions`, and the normals where they are baked, too, else None."""
        return self.skinner.positions_and_normals(matrices, values, self.deformation)

    def scene_values(self, depsgraph):
        """(K,) float32 by which Blender mixes the keys in the frame it stands at."""
        keys = self.obj.data.shape_keys
        evaluated = keys.evaluated_get(depsgraph) if keys else None
        return skinner.key_values(self.obj, self.keys, evaluated, self.unmuted, self.pinned)
