# SPDX-License-Identifier: MIT
"""Joints against Bullet 2.75 in double precision; tolerances of the references' own README."""

import mmdskin
import pytest
from physics.reference import MODELS, RIGS, Scene, archive, difference

# Steps until rounding may decide whether a limit holds, and what that comes to.
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
        place, _motion = difference(world.state, states[k + 1])
        assert place.max() < 1e-6, k


def test_a_run_does_not_drift(rig):
    name, scene, states = rig
    if name == "rest":
        return  # starts on the edge of its limits, where the last bit decides
    world, path = scene.world(), scene.path()
    for k in range(300):
        world.step(path[k + 1])
        bars = (LOOSE_AFTER_60, 1e-5) if k < 60 else (LOOSE_AFTER_300, 1e-4)
        assert difference(world.state, states[k + 1])[0].max() < bars[0].get(name, bars[1]), k


@pytest.mark.parametrize("name", [*RIGS, *MODELS])
def test_joints_are_solved_in_bullets_order_by_themselves(name):
    scene = Scene(*((archive("rigs"), name + "/") if name in RIGS else (archive("model_" + name),)))
    given = scene.world()
    if not scene.joints():
        return
    own = mmdskin.World(
        scene.bodies(), scene.joints(), contacts=False, damping_extra=bool(scene["flags"][2])
    )
    for world in (given, own):
        world.state = scene["state"][1]
    for places in scene.path()[2:40]:
        given.step(places)
        own.step(places)
        assert given.state.tobytes() == own.state.tobytes()


@pytest.mark.parametrize("name", MODELS)
def test_one_step_of_a_model_without_contacts(name):
    scene = Scene(archive("model_" + name))
    world, path, states, after = scene.world(), scene.path(), scene["state"], scene["next_double"]
    for k in range(1, len(after)):  # step 0 is at rest, on the edge of every limit
        world.state = states[k]
        world.step(path[scene["step"][k] + 1])
        place, motion = difference(world.state, after[k])
        assert place.max() < 1e-5 and motion.max() < 1e-3, k
