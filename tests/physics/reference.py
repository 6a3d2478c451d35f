# SPDX-License-Identifier: MIT
"""Scenes that Bullet 2.75 has run (`../shared/reference/physics`): records, starts, paths, states."""

import mmdskin
import numpy as np
import pytest
from conftest import SHARED

FOLDER = SHARED / "reference/physics"
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
    path = FOLDER / f"{name}.npz"
    if not path.is_file():
        pytest.skip(f"the recorded scenes are not at {path}")
    return np.load(path)


class Scene:
    """One scene of an archive: `prefix` is its name and a slash; `index` where scenes are stacked."""

    def __init__(self, archive, prefix="", index=...):
        self.archive, self.prefix, self.index = archive, prefix, index

    def __getitem__(self, name):
        return self.archive[self.prefix + name][self.index]

    def get(self, name):
        """None where the scene does without."""
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
        """(steps + 1, K, 7): where the bodies that follow bones are."""
        path = self.get("path")
        return np.zeros((len(self["state"]), 0, 7)) if path is None else path

    def world(self, **settings):
        """At the start, with the scene's own settings."""
        ground, contacts, extra = map(bool, self["flags"])
        world = mmdskin.World(
            self.bodies(),
            self.joints(),
            ground=ground,
            contacts=contacts,
            damping_extra=extra,
            joint_order=self.get("joint_order"),
            **settings,
        )
        names = "position", "quaternion", "velocity", "spin"
        world.state = np.hstack([self["body_start_" + name] for name in names])
        return world


def difference(state, other):
    """Per body: the largest difference of place, and of velocities, quaternions up to sign."""
    a, b = np.array(state), np.array(other)
    sign = np.sign(np.sum(a[..., 3:7] * b[..., 3:7], axis=-1, keepdims=True))
    a[..., 3:7] *= sign
    apart = np.abs(a - b)
    return apart[..., :7].max(axis=-1), apart[..., 7:].max(axis=-1)
