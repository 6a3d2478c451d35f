# SPDX-License-Identifier: MIT
"""Contacts compared with Bullet 2.75 in double precision; tolerances from the references' README."""

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
SHALLOW, DEEP, SEPARATE = slice(0, 60), slice(60, -15), slice(-15, None)

DROPS = (
    "box_on_box box_on_capsule box_on_sphere capsule_on_box capsule_on_capsule capsule_on_sphere "
    "floor_box floor_capsule floor_sphere pile slide_box_3 slide_box_9 slide_capsule_5 "
    "slide_sphere_5 sphere_on_box sphere_on_capsule sphere_on_sphere"
).split()
# A capsule along a face touches anywhere on it, and rounding decides where; in a pile that grows.
LOOSE_FIRST_CONTACT = {"slide_capsule_5": 1e-2}
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
def test_shallow_contacts_are_those_of_bullet(kind):
    for scene in pair_scenes(kind, SHALLOW):
        world, expected = stepped(scene), scene["contacts_double"]
        pose, velocity = difference(world.state, scene["state_double"][1])
        assert pose.max() < 1e-6 and velocity.max() < 1e-4
        assert len(world.points) == np.sum(~np.isnan(expected[:, 0]))


@pytest.mark.parametrize("kind", DEEP_KINDS)
def test_deep_overlaps_are_resolved_as_in_bullet(kind):
    for scene in pair_scenes(kind, DEEP):
        pose, velocity = difference(stepped(scene).state, scene["state_double"][1])
        assert pose.max() < 1e-6 and velocity.max() < 1e-4


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "sphere_sphere"])
def test_separate_bodies_have_no_contact(kind):
    for scene in pair_scenes(kind, SEPARATE):
        world = stepped(scene)
        assert len(world.points) == 0
        assert difference(world.state, scene["state_double"][1])[0].max() < 1e-12


def support(record, pose, directions):
    """The support function of a rounded shape: its extent in each direction from the world origin."""
    x, y, z, w = pose[3:7]
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    axes = np.eye(3) + 2 * w * cross + 2 * cross @ cross
    size = np.array(record.size, float)
    core, radius = np.zeros(3), size[0]
    if record.shape == "box":
        radius = min(0.04, size.min())
        core = size - radius
    elif record.shape == "capsule":
        core[1] = size[1] / 2
    return directions @ pose[:3] + np.abs(directions @ axes) @ core + radius


@pytest.mark.parametrize("kind", ["sphere_box", "sphere_capsule", "capsule_box"])
def test_the_contact_normal_is_the_direction_of_least_penetration(kind):
    random = np.random.default_rng(1)
    for scene in pair_scenes(kind, DEEP):
        a, b = scene.bodies()
        poses = scene["state_double"][0][:, :7]

        def overlap(directions, a=a, b=b, poses=poses):
            return support(b, poses[1], directions) + support(a, poses[0], -directions)

        [point] = stepped(scene).points
        directions = random.normal(size=(20_000, 3))
        for spread in (0.1, 0.03, 0.01, 0.003):
            directions /= np.linalg.norm(directions, axis=1, keepdims=True)
            best = directions[np.argsort(overlap(directions))[:20]]
            directions = np.vstack([best, *(best + random.normal(size=(100, 20, 3)) * spread)])
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        least = overlap(directions).min()
        assert overlap(point[5:8]) < least * 1.02
        assert abs(-point[8] / least - 1) < 0.02


@pytest.mark.parametrize("name", DROPS)
def test_a_drop_is_that_of_bullet(name):
    scene = Scene(archive("drops"), name + "/")
    world, path, states = scene.world(), scene.path(), scene["state_double"]
    first_contact = int(scene["contacts_double"][0, 0])
    for k in range(60):
        world.step(path[k + 1])
        loose = LOOSE_FIRST_CONTACT if k < first_contact + 3 else LOOSE_RUN
        assert difference(world.state, states[k + 1])[0].max() < loose.get(name, 1e-9), k


@pytest.mark.parametrize("name", MODELS)
def test_a_dancing_model_stays_in_one_piece(name):
    scene = Scene(archive("model_" + name))
    world = mmdskin.World(scene.bodies(), scene.joints())
    world.state = scene.world().state
    kinematic = scene["body_mode"] == 0
    contacts = 0
    for transforms in scene.path()[1:]:
        world.step(transforms)
        state = world.state
        assert np.isfinite(state).all()
        contacts += len(world.points)
        dynamic = state[~kinematic, :3]
        nearest = np.linalg.norm(dynamic[:, None] - state[kinematic, :3], axis=-1).min(axis=1)
        assert nearest.max() < 20  # the height of a model
    assert contacts > 1200


# Scenes made by hand


def count_contacts(a, b, **settings):
    world = mmdskin.World([a, b], settings.pop("joints", []), gravity=(0, 0, 0), **settings)
    world.step()
    return len(world.points)


SIDE = {"position": (1, 50, 0)}
HIGH = {"position": (0, 50, 0)}


def test_a_contact_needs_both_masks():
    for group, mask, other_group, other_mask, expected in [
        (0, 0xFFFF, 0, 0xFFFF, True),
        (3, 1 << 5, 5, 1 << 3, True),
        (3, 1 << 5, 5, 0, False),
        (3, 0, 5, 1 << 3, False),
        (15, 1 << 15, 15, 1 << 15, True),
        (15, 0x7FFF, 15, 0x7FFF, False),
    ]:
        a = body(group=group, mask=mask, **HIGH)
        assert count_contacts(a, body(group=other_group, mask=other_mask, **SIDE)) == expected


def test_two_bodies_of_infinite_mass_do_not_collide():
    infinite_mass = {"mode": "follow_bone"}, {"mass": 0}
    for a in infinite_mass:
        for b in infinite_mass:
            assert count_contacts(body(**a, **HIGH), body(**b, **SIDE)) == 0
        assert count_contacts(body(**a, **HIGH), body(**SIDE)) == 1


def test_joined_bodies_collide_unless_switched_off():
    a, b, loose = body(**HIGH), body(**SIDE), dict.fromkeys(("translation_lower",), (1, 1, 1))
    joints = [joint(1, 0, **loose)]
    assert count_contacts(a, b, joints=joints) == 1
    assert count_contacts(a, b, joints=joints, collide_connected=False) == 0
    assert count_contacts(a, b, joints=[joint(1, 1)], collide_connected=False) == 1


def test_contacts_and_ground_can_be_switched_off():
    for settings, heights in [
        ({}, (0.9, 1.1)),
        ({"ground": False}, (-200, -40)),
        ({"contacts": False}, (-200, -40)),
    ]:
        world = mmdskin.World([body(position=(0, 2, 0))], [], **settings)
        for _ in range(60):
            world.step()
        assert heights[0] < world.state[0, 1] < heights[1]


def test_contacts_conserve_momentum():
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
    world = mmdskin.World(bodies, [], gravity=(0, 0, 0), additional_damping=False)
    masses, contacts = np.array([record.mass for record in bodies]), 0
    for _ in range(60):
        world.step()
        contacts += len(world.points)
        assert np.abs(masses @ world.state[:, 7:10]).max() < 1e-9
    assert contacts > 60 and np.abs(world.state[:, 7:10]).max() > 1


def test_restitution_is_the_product_of_both_bodies():
    a, b = body(position=(0, 50, 0), restitution=0.5), body(position=(2.0, 50, 0), restitution=0.5)
    world = mmdskin.World([a, b], [], gravity=(0, 0, 0), additional_damping=False)
    state = np.array(world.state)
    state[:, 7] = 3, -3
    world.state = state
    world.step()
    assert np.allclose(world.state[:, 7], (-0.75, 0.75), rtol=0, atol=1e-9)


def test_a_step_from_a_written_state_does_not_depend_on_the_past():
    bodies = [body(position=(0.1 * i, 1 + 1.9 * i, 0), shape="box") for i in range(4)]
    world, other = mmdskin.World(bodies, []), mmdskin.World(bodies, [])
    for _ in range(30):
        world.step()
    other.state = world.state = world.state
    for w in (world, other):
        w.step()
    assert world.state.tobytes() == other.state.tobytes()
    assert world.points.tobytes() == other.points.tobytes()


def test_the_past_does_not_decide_which_pairs_are_dropped():
    """Thirty bodies in one place make more pairs than a world has room for."""
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


def test_all_bodies_that_overlap_and_may_collide_have_contacts():
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
        positions = world.state[:, :3]
        world.step()
        expected = {
            (i, k)
            for k, b in enumerate(bodies)
            for i, a in enumerate(bodies[:k])
            if np.linalg.norm(positions[i] - positions[k]) < 2
            and a.mask >> b.group & 1
            and b.mask >> a.group & 1
            and "physics" in (a.mode, b.mode)
        }
        overlapping = world.points[world.points[:, 8] <= 0]
        assert {tuple(pair) for pair in overlapping[:, :2].astype(int)} == expected
