# SPDX-License-Identifier: MIT
"""Whole models over 600 frames, compared by statistics, since contacts make single frames chaotic.

The numbers with contacts are from Bullet 2.75 compiled in double precision, on the recorded paths and
with their settings, but with ground and contacts: means of three runs, two of which start 1e-4 units
off; of the farthest of luka_pmx, which is 1.8 to 3.3 in Bullet, the mean of ten.
"""

from typing import NamedTuple

import mmdskin
import numpy as np
import pytest
from conftest import published_file
from physics.reference import MODELS, Scene, archive
from physics.strain import strain


class Figures(NamedTuple):
    stretch: float  # units beyond linear limits, mean over joints and steps
    stretch_99: float
    bend: float  # degrees beyond angular limits
    bend_99: float
    speed: float  # of dynamic bodies, units per second
    speed_99: float
    contacts: float  # per step
    farthest: float  # units between the joint positions on both bodies


BULLET = {
    "luka_pmx": Figures(0.0726, 0.463, 5.62, 50.5, 7.69, 36.0, 23.4, 2.68),
    "miku_pmx": Figures(0.0617, 0.352, 4.27, 31.0, 7.39, 29.5, 9.0, 3.95),
    "miku_v2_pmd": Figures(0.0626, 0.372, 5.21, 31.4, 7.36, 29.3, 8.6, 4.65),
}
TOLERANCES = Figures(0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.2)


def figures(scene, states, contacts):
    found = strain(scene, states)
    dynamic = scene["body_mode"] != 0
    speeds = np.linalg.norm(states[:, dynamic, 7:10], axis=-1)
    return Figures(
        found.stretch.mean(),
        np.percentile(found.stretch, 99),
        found.bend.mean(),
        np.percentile(found.bend, 99),
        speeds.mean(),
        np.percentile(speeds, 99),
        np.mean(contacts),
        found.distance.max(),
    )


def simulate(scene, world):
    states, contacts = [], []
    for transforms in scene.path()[1:]:
        world.step(transforms)
        states.append(world.state)
        contacts.append(len(world.points))
    return np.array(states), contacts


@pytest.mark.parametrize("name", MODELS)
def test_a_whole_model_has_the_strain_and_speeds_of_bullet(name):
    scene = Scene(archive("model_" + name))
    world = mmdskin.World(scene.bodies(), scene.joints())
    world.state = scene.world().state
    states, contacts = simulate(scene, world)
    assert np.isfinite(states).all()
    ours = figures(scene, states, contacts)
    for field, value, expected, tolerance in zip(
        Figures._fields, ours, BULLET[name], TOLERANCES, strict=True
    ):
        assert abs(value / expected - 1) < tolerance, (field, value, expected)


# Mean stretch over 600 frames in Bullet, with its two broad phases: means of four runs each.
STRETCH = {
    "luka_pmx": (0.0722, 0.0730),
    "miku_pmx": (0.0595, 0.0595),
    "miku_v2_pmd": (0.0626, 0.0625),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_mean_stretch_of_a_dance_is_that_of_bullet(name):
    """Of four runs that start 1e-4 apart: a single one may differ by 2%, here and in Bullet."""
    scene, means = Scene(archive("model_" + name)), []
    for run in range(4):
        world = mmdskin.World(scene.bodies(), scene.joints())
        start = scene.world().state.copy()
        start[:, 1] += run * 1e-4
        world.state = start
        states, _ = simulate(scene, world)
        means.append(strain(scene, states).stretch.mean())
    assert abs(np.mean(means) / np.mean(STRETCH[name]) - 1) < 0.01


@pytest.mark.parametrize("name", MODELS)
def test_without_contacts_strain_is_that_of_bullet(name):
    scene = Scene(archive("model_" + name))
    states, _ = simulate(scene, scene.world())
    states = states[scene["step"][1:] - 1]
    ours, expected = strain(scene, states), strain(scene, scene["double"][1:])
    for values, others in zip(ours[:2], expected[:2], strict=True):
        assert abs(values.mean() / others.mean() - 1) < 0.02
        assert abs(np.percentile(values, 99) / np.percentile(others, 99) - 1) < 0.05
    assert abs(ours.distance.max() / expected.distance.max() - 1) < 0.1


def share(states, others, moved):
    """The share of the moved bodies that are at the same position."""
    return np.mean(np.linalg.norm((states - others)[:, moved, :3], axis=-1) < 1e-6)


@pytest.mark.parametrize("name", ["初音ミク", "巡音ルカ"])
def test_a_step_with_contacts_is_that_of_bullet(name):
    """Bullet's two broad phases find the same pairs in another order, which changes the result."""
    recorded = archive("contacts_" + name)
    model = mmdskin.load_model(published_file(name + ".pmx"))
    states = []
    for state, places in zip(recorded["state"], recorded["places"], strict=True):
        world = mmdskin.World(model.rigid_bodies, model.joints)
        world.state = state
        world.step(places)
        states.append(world.state)
    tree, simple, moved = recorded["next"], recorded["next_simple"], recorded["moved"].astype(bool)
    assert share(states, simple, moved) > 0.99
    assert share(states, tree, moved) > share(tree, simple, moved) - 0.02
