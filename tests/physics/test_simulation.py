# SPDX-License-Identifier: MIT
"""Simulation and Model.pose(physics=): frames in any order, threads, settings."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import mmdskin
import numpy as np
import pytest
from physics import chains
from physics.chains import FOLLOW_BONE, LINKS, PHYSICS, bone_positions, same
from physics.dancers import DANCERS, dancer

RUN = range(61)


@pytest.fixture(scope="module")
def chain():
    return chains.load(chains.chain_file())


@pytest.fixture(scope="module")
def swing():
    return chains.swing()


@pytest.fixture(scope="module")
def run(chain, swing):
    return chain.pose(swing, RUN, physics=True)


def frame_of(pose, frame):
    return [array[frame] for array in pose]


def test_physics_moves_the_links_but_not_the_root(chain, swing, run):
    still = bone_positions(chain, chain.pose(swing, RUN))
    moved = np.abs(bone_positions(chain, run) - still).max(axis=(0, 2))
    assert moved[0] == 0
    assert (moved[1:] > 0.02).all()
    assert (moved < 10).all()


def test_a_single_frame_equals_that_of_a_run(chain, swing, run):
    assert same(chain.pose(swing, 47, physics=True), frame_of(run, 47))


def test_frames_may_be_in_any_order(chain, swing, run):
    order = np.random.default_rng(1).permutation(len(RUN))
    shuffled = chain.pose(swing, order, physics=True)
    assert same(shuffled, [array[order] for array in run])


def test_a_simulation_seeks_forward_and_back(chain, swing, run):
    simulation = mmdskin.Simulation(chain, swing)
    for frame in (30, 31, 60, 0, 59, 12):
        assert same(simulation.pose(frame), frame_of(run, frame))
    simulation.reset()
    assert same(simulation.pose(RUN), run)


def test_frames_between_steps_are_interpolated(chain, swing):
    """Body centers move in straight lines from step to step."""
    between = chain.pose(swing, np.arange(80, 91) / 4, physics=True)
    bodies = chain.rigid_bodies[1:]
    centers = np.array([(*body.position, 1) for body in bodies])
    matrices = between.bone_matrices[:, [body.bone for body in bodies]].astype(float)
    positions = np.einsum("fbij,bj->fbi", matrices, centers)
    middle = (positions[2::2] + positions[:-2:2]) / 2
    assert np.abs(positions[1::2] - middle).max() < 5e-6
    assert np.abs(positions[1::2] - positions[:-1:2]).max() > 0.01


@DANCERS
def test_a_dance_is_the_same_in_slices_and_threads(name):
    model, motion = dancer(name)
    whole = model.pose(motion, np.arange(40), physics=True)

    def slices(length):
        simulation = mmdskin.Simulation(model, motion)
        parts = [
            simulation.pose(np.arange(at, min(at + length, 40))) for at in range(0, 40, length)
        ]
        return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]

    with ThreadPoolExecutor(3) as pool:
        for made in pool.map(slices, (1, 7, 40)):
            assert same(made, whole)
    assert np.isfinite(whole.bone_matrices).all()
    assert np.abs(whole.bone_matrices - model.pose(motion, np.arange(40)).bone_matrices).max() > 0.1


@pytest.mark.parametrize("physics", [None, False])
def test_without_physics_poses_are_the_usual_ones(chain, swing, physics):
    assert same(chain.pose(swing, RUN, physics=physics), chain.pose(swing, RUN))


def test_kinematic_bodies_move_no_bones(swing):
    model = chains.load(chains.chain_file((FOLLOW_BONE,) * LINKS))
    assert same(model.pose(swing, RUN, physics=True), model.pose(swing, RUN))


def test_frames_before_the_start_have_no_physics(chain, swing):
    late = mmdskin.Physics(start=20)
    frames = [-5, 10, 19.75]
    assert same(chain.pose(swing, frames, physics=late), chain.pose(swing, frames))
    assert not same(chain.pose(swing, 20, physics=late), chain.pose(swing, 20))


def test_bodies_settle_before_the_start(chain, swing):
    """Settling equals a run along a motion that does not move before the start."""
    settled = chain.pose(swing, 0, physics=mmdskin.Physics(settle=120))
    waited = chain.pose(swing, 0, physics=mmdskin.Physics(settle=0, start=-60))
    assert same(settled, waited)
    at_once = chain.pose(swing, 0, physics=mmdskin.Physics(settle=0))
    assert np.allclose(at_once.bone_matrices, chain.pose(swing, 0).bone_matrices, atol=1e-6)


def test_gravity_pulls_the_chain_straight(chain):
    """After settling for long, the links are below the root."""
    rest = chain.pose(physics=mmdskin.Physics(settle=2000))
    positions = bone_positions(chain, rest)
    assert np.isfinite(positions).all()
    assert positions[-1, 1] < positions[1, 1] - 2


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"hz": 0}, "hz: 0, expected 1 to 100000"),
        ({"hz": float("nan")}, "hz: nan"),
        ({"iterations": 0}, "Physics.iterations: 0, expected 1 to 1000"),
        ({"gravity": (0, float("inf"), 0)}, "gravity: inf"),
        ({"gravity": (0, 1)}, "Physics.gravity: shape"),
        ({"ground": float("nan")}, "ground: height nan"),
        ({"settle": -1}, "Physics.settle: -1, expected 0 to 100000"),
        ({"start": float("nan")}, "start: nan"),
        ({"teleport": -1}, "teleport: -1"),
    ],
)
def test_an_error_names_the_bad_setting(chain, fields, words):
    with pytest.raises(ValueError, match=words):
        mmdskin.Simulation(chain, None, mmdskin.Physics(**fields))


@pytest.mark.parametrize("physics", [1, "yes", (0, 1)])
def test_physics_must_be_a_bool_or_a_physics(chain, physics):
    with pytest.raises(TypeError, match="physics: expected"):
        chain.pose(physics=physics)


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (float("nan"), r"^frame\[1\] is NaN$"),
        (float("inf"), r"^frame\[1\] is infinite$"),
        (1e7 + 1, "^frame is 10000001, limit 10000000 with physics$"),
    ],
)
def test_bad_frames_are_refused(chain, frame, text):
    with pytest.raises(ValueError, match=text):
        chain.pose(None, [0, frame], physics=True)


def test_a_physics_survives_pickling():
    physics = mmdskin.Physics(hz=120, ground=False)
    assert pickle.loads(pickle.dumps(physics)) == physics
    assert physics._replace(hz=60, ground=True) == mmdskin.Physics()


def test_an_error_names_the_bad_body(swing):
    file = chains.chain_file()
    file.rigid_bodies[2].size = (-1, 0, 0)
    with pytest.raises(ValueError, match="body 2: size -1 is negative"):
        chains.load(file).pose(swing, physics=True)


def test_a_body_that_escapes_is_reset(swing):
    model = chains.load(chains.unstable_file())
    pose = model.pose(swing, RUN, physics=True)
    assert np.isfinite(pose.bone_matrices).all()
    assert np.abs(pose.bone_matrices).max() < 2e6


def test_a_model_without_bodies_has_the_usual_pose(swing):
    file = chains.chain_file()
    file.rigid_bodies, file.joints = [], []
    model = chains.load(file)
    assert same(model.pose(swing, RUN, physics=True), model.pose(swing, RUN))


def test_bodies_fall_freely():
    """1 / 2 g t squared, by semi-implicit Euler steps of 1 / 60 s."""
    file = chains.chain_file((PHYSICS,))
    file.joints = []
    file.rigid_bodies[1].linear_damping = 0
    model = chains.load(file)
    physics = mmdskin.Physics(gravity=(0, -9, 0), settle=0, additional_damping=False)
    frames = np.arange(10)
    fallen = bone_positions(model, model.pose(None, frames, physics=physics))[:, 1, 1] - 20
    steps = 2 * frames
    assert np.allclose(fallen, -9 * steps * (steps + 1) / 2 / 60**2, rtol=0, atol=2e-6)


def test_attributes_are_the_arguments(chain, swing):
    physics = mmdskin.Physics(gravity=[0, -9.8, 0], ground=-2)
    simulation = mmdskin.Simulation(chain, swing, physics)
    assert simulation.model is chain
    assert simulation.motion is swing
    assert simulation.physics == physics._replace(gravity=(0, -9.8, 0))
    assert simulation.frame == 0
    simulation.pose(12.5)
    assert simulation.frame == 12.5


def test_the_ground_may_be_at_any_height():
    file = chains.chain_file((PHYSICS,), height=5.0)
    file.joints = []
    file.rigid_bodies[1].mask = 0xFFFF
    model = chains.load(file)
    for ground, lowest in ((True, 0), (0, 0), (-3, -3), (1.5, 1.5)):
        pose = model.pose(None, 200, physics=mmdskin.Physics(ground=ground))
        body = np.array((*model.rigid_bodies[1].position, 1))
        assert np.isclose((pose.bone_matrices[1] @ body)[1], lowest + 0.2, atol=2e-3)
    for without in (False, np.False_):
        fallen = model.pose(None, 200, physics=mmdskin.Physics(ground=without))
        assert bone_positions(model, fallen)[1, 1] < -100


# Seeking


def test_seeking_from_checkpoints_gives_the_same_frames(chain):
    """Frames of a run of 50 seconds equal those of runs of their own, whatever was posed before."""
    swing = chains.swing(1500)
    frames = [1400, 300, 299.75, 310.25, 600, 1199.5, 1200]
    simulation = mmdskin.Simulation(chain, swing)
    expected = {frame: chain.pose(swing, frame, physics=True) for frame in frames}
    for frame in frames:
        assert same(simulation.pose(frame), expected[frame]), frame


def test_half_a_step_before_a_checkpoint(chain):
    swing = chains.swing(700)
    simulation = mmdskin.Simulation(chain, swing)
    simulation.pose(650)
    simulation.pose(300)  # restores that checkpoint
    assert same(simulation.pose(299.75), chain.pose(swing, 299.75, physics=True))


def test_a_checkpoint_restores_physics_switches(chain):
    root = chains.swing(900).bones[0]
    link = ("link1", [0, 250, 350], None, None, None, [True, False, True])
    motion = mmdskin.Motion.from_tracks([root, link])
    simulation = mmdskin.Simulation(chain, motion)
    simulation.pose(800)
    for frame in (320, 360, 305.25):
        assert same(simulation.pose(frame), chain.pose(motion, frame, physics=True))


def test_names_before_0_3_are_deprecated():
    settings = mmdskin.Physics(additional_damping=False, collide_connected=False)
    with pytest.warns(DeprecationWarning, match="is called"):
        assert mmdskin.Physics(damping_extra=False, joined_collide=False) == settings
    assert not settings.damping_extra and not settings.joined_collide
    with pytest.warns(DeprecationWarning, match="damping_extra is called additional_damping"):
        world = mmdskin.World([], [], damping_extra=False)
    with (
        pytest.raises(ValueError, match="body: 0 of 0"),
        pytest.warns(DeprecationWarning, match="push"),
    ):
        world.push(0, (0, 0, 0))
    with pytest.raises(TypeError, match="nonsense"):
        mmdskin.World([], [], nonsense=1)


def test_places_are_a_deprecated_name_of_transforms(chain):
    at = [(0, 1, 0, 0, 0, 0, 1)]
    with pytest.warns(DeprecationWarning, match="places is called transforms"):
        simulation = mmdskin.Simulation([chain], places=at)
    assert simulation.places.tolist() == simulation.transforms.tolist() == [list(at[0])]
    world = mmdskin.World(chain.rigid_bodies, chain.joints)
    with pytest.warns(DeprecationWarning, match="places is called transforms"):
        world.step(places=at)
    state = world.state
    assert at[0][1] in state[:, 1]


@pytest.mark.parametrize("make", [mmdskin.Physics, lambda **names: mmdskin.World([], [], **names)])
@pytest.mark.parametrize(
    ("former", "name"),
    [("damping_extra", "additional_damping"), ("joined_collide", "collide_connected")],
)
def test_a_former_name_beside_its_new_one_is_refused(make, former, name):
    """Else one of the two would be ignored."""
    with pytest.raises(TypeError, match=f"{former} is the former name of {name}: give one of them"):
        make(**{former: True, name: False})


@pytest.mark.parametrize(
    "call", [lambda **names: mmdskin.Simulation([], **names), mmdskin.World([], []).step]
)
def test_places_beside_transforms_are_refused(call):
    with pytest.raises(TypeError, match="places is the former name of transforms: give one"):
        call(places=[], transforms=[])
