# SPDX-License-Identifier: MIT
"""Contacts against Bullet 2.75 in double precision; tolerances of the references' own README."""

import mmdskin
import numpy as np
import pytest
from physics.reference import MODELS, Scene, archive, difference
from physics.rigs import body, joint

KINDS = (
    "sphere_sphere sphere_box sphere_capsule capsule_capsule capsule_box box_box "
    "sphere_floor box_floor capsule_floor"
).split()
DEEP_KINDS = "sphere_box sphere_capsule capsule_capsule capsule_box box_box".split()
SHALLOW, APART = slice(0, 60), slice(-15, None)

DROPS = (
    "box_on_box box_on_capsule box_on_sphere capsule_on_box capsule_on_capsule capsule_on_sphere "
    "floor_box floor_capsule floor_sphere pile slide_box_3 slide_box_9 slide_capsule_5 "
    "slide_sphere_5 sphere_on_box sphere_on_capsule sphere_on_sphere"
).split()
# What lies along a face touches anywhere on it, and rounding says where; a pile makes it grow.
LOOSE_TOUCH = {"slide_capsule_5": 1e-2}
LOOSE_RUN = {"slide_capsule_5": np.inf, "pile": 1e-3}


def pair_scenes(kind, which):
    pairs = archive("pairs")
    for i in range(len(pairs[kind + "/flags"]))[which]:
        yield Scene(pairs, kind + "/", i)


def stepped(scene):
    world = scene.world()
    world.state = scene["state_double"][0]
    world.step()
    return world


@pytest.mark.parametrize("kind", KINDS)
def test_two_bodies_that_touch(kind):
    for scene in pair_scenes(kind, SHALLOW):
        world, wanted = stepped(scene), scene["contacts_double"]
        place, motion = difference(world.state, scene["state_double"][1])
        assert place.max() < 1e-6 and motion.max() < 1e-4
        assert len(world.points) == np.sum(~np.isnan(wanted[:, 0]))


@pytest.mark.parametrize("kind", DEEP_KINDS)
def test_two_bodies_deep_in_each_other(kind):
    for scene in pair_scenes(kind, slice(60, -15)):
        place, motion = difference(stepped(scene).state, scene["state_double"][1])
        assert place.max() < 1e-6 and motion.max() < 1e-4


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "sphere_sphere"])
def test_two_bodies_apart_do_not_touch(kind):
    for scene in pair_scenes(kind, APART):
        world = stepped(scene)
        assert len(world.points) == 0
        assert difference(world.state, scene["state_double"][1])[0].max() < 1e-12


def reach(record, place, directions):
    """How far a rounded shape goes along each direction, from the origin of space."""
    x, y, z, w = place[3:7]
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    axes = np.eye(3) + 2 * w * cross + 2 * cross @ cross
    size = np.array(record.size, float)
    core, radius = np.zeros(3), size[0]
    if record.shape == "box":
        radius = min(0.04, size.min())
        core = size - radius
    elif record.shape == "capsule":
        core[1] = size[1] / 2
    return directions @ place[:3] + np.abs(directions @ axes) @ core + radius


@pytest.mark.parametrize("kind", ["sphere_box", "sphere_capsule", "capsule_box"])
def test_deep_bodies_are_pushed_apart_the_shallowest_way(kind):
    random = np.random.default_rng(1)
    for scene in pair_scenes(kind, slice(60, -15)):
        a, b = scene.bodies()
        places = scene["state_double"][0][:, :7]

        def overlap(directions, a=a, b=b, places=places):
            return reach(b, places[1], directions) + reach(a, places[0], -directions)

        [point] = stepped(scene).points
        ways = random.normal(size=(20_000, 3))
        for spread in (0.1, 0.03, 0.01, 0.003):
            ways /= np.linalg.norm(ways, axis=1, keepdims=True)
            best = ways[np.argsort(overlap(ways))[:20]]
            ways = np.vstack([best, *(best + random.normal(size=(100, 20, 3)) * spread)])
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
        least = overlap(ways).min()
        assert overlap(point[5:8]) < least * 1.02
        assert abs(-point[8] / least - 1) < 0.02


@pytest.mark.parametrize("name", DROPS)
def test_a_drop(name):
    scene = Scene(archive("drops"), name + "/")
    world, path, states = scene.world(), scene.path(), scene["state_double"]
    touch = int(scene["contacts_double"][0, 0])
    for k in range(60):
        world.step(path[k + 1])
        bars = (LOOSE_TOUCH, 1e-9) if k < touch + 3 else (LOOSE_RUN, 1e-9)
        assert difference(world.state, states[k + 1])[0].max() < bars[0].get(name, bars[1]), k


@pytest.mark.parametrize("name", MODELS)
def test_a_model_dances_in_one_piece(name):
    scene = Scene(archive("model_" + name))
    world = mmdskin.World(scene.bodies(), scene.joints())
    world.state = scene.world().state
    followers = scene["body_mode"] == 0
    touched = 0
    for place in scene.path()[1:]:
        world.step(place)
        state = world.state
        assert np.isfinite(state).all()
        touched += len(world.points)
        moved = state[~followers, :3]
        nearest = np.linalg.norm(moved[:, None] - state[followers, :3], axis=-1).min(axis=1)
        assert nearest.max() < 20  # a model is 20 high
    assert touched > 1200


# by hand


def touching(a, b, **settings):
    world = mmdskin.World([a, b], settings.pop("joints", []), gravity=(0, 0, 0), **settings)
    world.step()
    return len(world.points)


SIDE = {"position": (1, 50, 0)}
HIGH = {"position": (0, 50, 0)}


def test_both_masks_have_to_allow_a_contact():
    for group, mask, other, other_mask, touch in [
        (0, 0xFFFF, 0, 0xFFFF, True),
        (3, 1 << 5, 5, 1 << 3, True),
        (3, 1 << 5, 5, 0, False),
        (3, 0, 5, 1 << 3, False),
        (15, 1 << 15, 15, 1 << 15, True),
        (15, 0x7FFF, 15, 0x7FFF, False),
    ]:
        a = body(group=group, mask=mask, **HIGH)
        assert touching(a, body(group=other, mask=other_mask, **SIDE)) == touch


def test_two_bodies_that_nothing_moves_do_not_touch():
    still = {"mode": "follow_bone"}, {"mass": 0}
    for a in still:
        for b in still:
            assert touching(body(**a, **HIGH), body(**b, **SIDE)) == 0
        assert touching(body(**a, **HIGH), body(**SIDE)) == 1


def test_joined_bodies_touch_unless_they_shall_not():
    a, b, loose = body(**HIGH), body(**SIDE), dict.fromkeys(("translation_lower",), (1, 1, 1))
    ties = [joint(1, 0, **loose)]
    assert touching(a, b, joints=ties) == 1
    assert touching(a, b, joints=ties, joined_collide=False) == 0
    assert touching(a, b, joints=[joint(1, 1)], joined_collide=False) == 1


def test_contacts_and_ground_can_be_left_out():
    for settings, heights in [
        ({}, (0.9, 1.1)),
        ({"ground": False}, (-200, -40)),
        ({"contacts": False}, (-200, -40)),
    ]:
        world = mmdskin.World([body(position=(0, 2, 0))], [], **settings)
        for _ in range(60):
            world.step()
        assert heights[0] < world.state[0, 1] < heights[1]


def test_contacts_keep_momentum():
    random = np.random.default_rng(2)
    bodies = [
        body(
            shape=["sphere", "box", "capsule"][i % 3],
            size=(0.5, 0.6, 0.7),
            mass=1 + i % 4,
            position=random.normal(size=3) * 1.5 + (0, 50, 0),
            rotation=random.normal(size=3),
            restitution=0.5,
        )
        for i in range(20)
    ]
    world = mmdskin.World(bodies, [], gravity=(0, 0, 0), damping_extra=False)
    masses, touched = np.array([record.mass for record in bodies]), 0
    for _ in range(60):
        world.step()
        touched += len(world.points)
        assert np.abs(masses @ world.state[:, 7:10]).max() < 1e-9
    assert touched > 60 and np.abs(world.state[:, 7:10]).max() > 1


def test_a_sphere_bounces_with_the_product_of_restitutions():
    a, b = body(position=(0, 50, 0), restitution=0.5), body(position=(2.0, 50, 0), restitution=0.5)
    world = mmdskin.World([a, b], [], gravity=(0, 0, 0), damping_extra=False)
    state = np.array(world.state)
    state[:, 7] = 3, -3
    world.state = state
    world.step()
    assert np.allclose(world.state[:, 7], (-0.75, 0.75), rtol=0, atol=1e-9)


def test_a_step_from_a_written_state_does_not_know_the_past():
    bodies = [body(position=(0.1 * i, 1 + 1.9 * i, 0), shape="box") for i in range(4)]
    world, other = mmdskin.World(bodies, []), mmdskin.World(bodies, [])
    for _ in range(30):
        world.step()
    other.state = world.state = world.state
    for w in (world, other):
        w.step()
    assert world.state.tobytes() == other.state.tobytes()
    assert world.points.tobytes() == other.points.tobytes()


def test_the_past_does_not_choose_who_touches_in_a_crowd():
    """Thirty bodies in one place are more pairs than a world has room for."""
    bodies = [body(position=(0, 50, 0), shape="box") for _ in range(30)]
    fresh, old = mmdskin.World(bodies, []), mmdskin.World(bodies, [])
    start = np.array(fresh.state)
    other = start.copy()
    other[:, 1] += 9 * np.arange(30)[::-1]
    old.state = other
    old.step()
    for world in (fresh, old):
        world.state = start
        world.step()
    assert fresh.points.tobytes() == old.points.tobytes()
    assert fresh.state.tobytes() == old.state.tobytes()


def test_those_that_touch_are_all_that_overlap_and_may():
    random = np.random.default_rng(6)
    for _ in range(20):
        bodies = [
            body(
                group=int(random.integers(4)),
                mask=int(random.integers(16)),
                mode=str(random.choice(["follow_bone", "physics"])),
                position=random.normal(size=3) * 1.5 + (0, 50, 0),
            )
            for _ in range(20)
        ]
        world = mmdskin.World(bodies, [], gravity=(0, 0, 0))
        places = world.state[:, :3]
        world.step()
        wanted = {
            (i, k)
            for k, b in enumerate(bodies)
            for i, a in enumerate(bodies[:k])
            if np.linalg.norm(places[i] - places[k]) < 2
            and a.mask >> b.group & 1
            and b.mask >> a.group & 1
            and "physics" in (a.mode, b.mode)
        }
        touching = world.points[world.points[:, 8] <= 0]
        assert {tuple(pair) for pair in touching[:, :2].astype(int)} == wanted
