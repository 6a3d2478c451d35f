# SPDX-License-Identifier: MIT
"""Dressed models over 600 frames: what can be compared, statistics, since contacts are chaotic.

Numbers with contacts: Bullet 2.75 compiled in double, on the recorded paths and at their settings but
with the ground and contacts; means of three runs, two of them started 1e-4 units aside.
"""

from typing import NamedTuple

import mmdskin
import numpy as np
import pytest
from physics.reference import MODELS, Scene, archive
from physics.strain import strain


class Figures(NamedTuple):
    stretch: float  # units outside of limits, mean over joints and steps
    stretch_99: float
    bend: float  # degrees
    bend_99: float
    speed: float  # of what is moved, units a second
    speed_99: float
    contacts: float  # a step
    farthest: float  # units between joined places


BULLET = {
    "luka_pmx": Figures(0.0726, 0.463, 5.62, 50.5, 7.69, 36.0, 23.4, 2.29),
    "miku_pmx": Figures(0.0617, 0.352, 4.27, 31.0, 7.39, 29.5, 9.0, 3.95),
    "miku_v2_pmd": Figures(0.0626, 0.372, 5.21, 31.4, 7.36, 29.3, 8.6, 4.65),
}
BARS = Figures(0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.2)


def figures(scene, states, contacts):
    found = strain(scene, states)
    moved = scene["body_mode"] != 0
    speeds = np.linalg.norm(states[:, moved, 7:10], axis=-1)
    return Figures(
        found.places.mean(),
        np.percentile(found.places, 99),
        found.angles.mean(),
        np.percentile(found.angles, 99),
        speeds.mean(),
        np.percentile(speeds, 99),
        np.mean(contacts),
        found.apart.max(),
    )


def danced(scene, world):
    states, contacts = [], []
    for places in scene.path()[1:]:
        world.step(places)
        states.append(world.state)
        contacts.append(len(world.points))
    return np.array(states), contacts


@pytest.mark.parametrize("name", MODELS)
def test_a_dressed_model_strains_and_swings_as_in_bullet(name):
    scene = Scene(archive("model_" + name))
    world = mmdskin.World(scene.bodies(), scene.joints())
    world.state = scene.world().state
    states, contacts = danced(scene, world)
    assert np.isfinite(states).all()
    ours = figures(scene, states, contacts)
    for field, value, wanted, bar in zip(Figures._fields, ours, BULLET[name], BARS, strict=True):
        assert abs(value / wanted - 1) < bar, (field, value, wanted)


@pytest.mark.parametrize("name", MODELS)
def test_without_contacts_it_does_so_in_bullets_order(name):
    scene = Scene(archive("model_" + name))
    states, _ = danced(scene, scene.world())
    states = states[scene["step"][1:] - 1]
    ours, wanted = strain(scene, states), strain(scene, scene["double"][1:])
    for values, others in zip(ours[:2], wanted[:2], strict=True):
        assert abs(values.mean() / others.mean() - 1) < 0.02
        assert abs(np.percentile(values, 99) / np.percentile(others, 99) - 1) < 0.05
    assert abs(ours.apart.max() / wanted.apart.max() - 1) < 0.1
