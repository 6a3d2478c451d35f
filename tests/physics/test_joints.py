# SPDX-License-Identifier: MIT
"""Joints compared with Bullet 2.75 in double precision; tolerances from the references' README."""

import mmdskin
import pytest
from physics.reference import MODELS, RIGS, Scene, archive, difference

# Tolerances of rigs in which rounding decides, from some step on, whether a limit is violated.
LOOSE_AFTER_60 = {"hair": 0.1}
LOOSE_AFTER_300 = dict.fromkeys(("limited", "frames_shift", "afloat", "hair"), 0.1)


@pytest.fixture(params=RIGS)
def rig(request):
    scene = Scene(archive("rigs"), request.param + "/")
    return request.param, scene, archive("rigs_double")[request.param + "/state"]


def test_one_step_from_every_stored_state(rig):
    _name, scene, states = rig
    world, path = scene.world(), scene.path()
    for k in range(len(states) - 1):
        world.state = states[k]
        world.step(path[k + 1])
        pose, _velocity = difference(world.state, states[k + 1])
        assert pose.max() < 1e-6, k


def test_a_run_does_not_drift(rig):
    name, scene, states = rig
    if name == "rest":
        return  # starts exactly at its limits, where the last bit decides
    world, path = scene.world(), scene.path()
    for k in range(300):
        world.step(path[k + 1])
        loose, tolerance = (LOOSE_AFTER_60, 1e-5) if k < 60 else (LOOSE_AFTER_300, 1e-4)
        assert difference(world.state, states[k + 1])[0].max() < loose.get(name, tolerance), k


@pytest.mark.parametrize("name", [*RIGS, *MODELS])
def test_joints_are_solved_in_the_order_of_bullet(name):
    scene = Scene(*((archive("rigs"), name + "/") if name in RIGS else (archive("model_" + name),)))
    recorded = scene.world()
    if not scene.joints():
        return
    own = mmdskin.World(
        scene.bodies(), scene.joints(), contacts=False, additional_damping=bool(scene["flags"][2])
    )
    for world in (recorded, own):
        world.state = scene["state"][1]
    for transforms in scene.path()[2:40]:
        recorded.step(transforms)
        own.step(transforms)
        assert recorded.state.tobytes() == own.state.tobytes()


@pytest.mark.parametrize("name", MODELS)
def test_one_step_of_a_model_without_contacts(name):
    scene = Scene(archive("model_" + name))
    world, path, states, after = scene.world(), scene.path(), scene["state"], scene["next_double"]
    for k in range(1, len(after)):  # step 0 is at rest, exactly at every limit
        world.state = states[k]
        world.step(path[scene["step"][k] + 1])
        pose, velocity = difference(world.state, after[k])
        assert pose.max() < 1e-5 and velocity.max() < 1e-3, k
