# SPDX-License-Identifier: MIT
"""Scenes simulated by Bullet 2.75 (tests/reference/physics): bodies, joints, paths and states."""

import mmdskin
import numpy as np
from conftest import recorded_file

RIGS = (
    "afloat ball chain fall frames frames_shift hair limited locked loop offset rest "
    "springs_shift springs_turn"
).split()
MODELS = "luka_pmx", "miku_pmx", "miku_v2_pmd"

SHAPES = "sphere", "box", "capsule"
MODES = "follow_bone", "physics", "physics_and_bone"
BODY_FIELDS = (
    "group mask size position rotation mass linear_damping angular_damping restitution friction"
).split()
JOINT_FIELDS = (
    "body_a body_b position rotation translation_lower translation_upper rotation_lower "
    "rotation_upper translation_spring rotation_spring"
).split()


def archive(name):
    return np.load(recorded_file(f"physics/{name}.npz"))


class Scene:
    """One scene of an archive: `prefix` is its name and a slash, `index` selects from stacked scenes."""

    def __init__(self, archive, prefix="", index=...):
        self.archive, self.prefix, self.index = archive, prefix, index

    def __getitem__(self, name):
        return self.archive[self.prefix + name][self.index]

    def get(self, name):
        """None if the scene does not have it."""
        return self[name] if self.prefix + name in self.archive.files else None

    def bodies(self):
        count = len(self["body_mass"])
        columns = {name: self["body_" + name] for name in BODY_FIELDS}
        return [
            mmdskin.RigidBody(
                name="",
                name_english="",
                bone=-1,
                shape=SHAPES[self["body_shape"][i]],
                mode=MODES[self["body_mode"][i]],
                **{name: column[i] for name, column in columns.items()},
            )
            for i in range(count)
        ]

    def joints(self):
        if self.get("joint_body_a") is None:
            return []
        columns = {name: self["joint_" + name] for name in JOINT_FIELDS}
        return [
            mmdskin.Joint(
                name="",
                name_english="",
                kind="spring_6dof",
                **{name: column[i] for name, column in columns.items()},
            )
            for i in range(len(columns["body_a"]))
        ]

    def path(self):
        """(steps + 1, K, 7): the transforms of the kinematic bodies."""
        path = self.get("path")
        return np.zeros((len(self["state"]), 0, 7)) if path is None else path

    def world(self, **settings):
        """A world at the start of the scene, with its settings."""
        ground, contacts, additional_damping = map(bool, self["flags"])
        world = mmdskin.World(
            self.bodies(),
            self.joints(),
            ground=ground,
            contacts=contacts,
            additional_damping=additional_damping,
            joint_order=self.get("joint_order"),
            **settings,
        )
        names = "position", "quaternion", "velocity", "spin"
        world.state = np.hstack([self["body_start_" + name] for name in names])
        return world


def difference(state, other):
    """The largest differences of pose and of velocities per body; quaternions up to sign."""
    a, b = np.array(state), np.array(other)
    sign = np.sign(np.sum(a[..., 3:7] * b[..., 3:7], axis=-1, keepdims=True))
    a[..., 3:7] *= sign
    differences = np.abs(a - b)
    return differences[..., :7].max(axis=-1), differences[..., 7:].max(axis=-1)
