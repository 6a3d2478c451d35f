# SPDX-License-Identifier: MIT
"""Simulation and Model.pose(physics=): frames, order, threads, settings."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import mmdskin
import numpy as np
import pytest
from conftest import SHARED
from files import pmx_file as pmx
from physics import hanging
from physics.hanging import FOLLOWS, LINKS, PHYSICS, heads, same

RUN = range(61)


@pytest.fixture(scope="module")
def chain():
    return hanging.load(hanging.chain_file())


@pytest.fixture(scope="module")
def swing():
    return hanging.swing()


@pytest.fixture(scope="module")
def run(chain, swing):
    return chain.pose(swing, RUN, physics=True)


def frame_of(pose, frame):
    return [array[frame] for array in pose]


def test_links_move_and_the_root_does_not(chain, swing, run):
    still = heads(chain, chain.pose(swing, RUN))
    moved = np.abs(heads(chain, run) - still).max(axis=(0, 2))
    assert moved[0] == 0
    assert (moved[1:] > 0.02).all()
    assert (moved < 10).all()


def test_a_frame_alone_is_that_of_a_run(chain, swing, run):
    assert same(chain.pose(swing, 47, physics=True), frame_of(run, 47))


def test_frames_come_in_any_order(chain, swing, run):
    order = np.random.default_rng(1).permutation(len(RUN))
    mixed = chain.pose(swing, order, physics=True)
    assert same(mixed, [array[order] for array in run])


def test_a_simulation_goes_forward_and_back(chain, swing, run):
    simulation = mmdskin.Simulation(chain, swing)
    for frame in (30, 31, 60, 0, 59, 12):
        assert same(simulation.pose(frame), frame_of(run, frame))
    simulation.reset()
    assert same(simulation.pose(RUN), run)


def test_frames_between_steps_lie_between_them(chain, swing):
    """Centres of bodies go straight from step to step."""
    between = chain.pose(swing, np.arange(80, 91) / 4, physics=True)
    bodies = chain.rigid_bodies[1:]
    centers = np.array([(*body.position, 1) for body in bodies])
    matrices = between.bone_matrices[:, [body.bone for body in bodies]].astype(float)
    places = np.einsum("fbij,bj->fbi", matrices, centers)
    middle = (places[2::2] + places[:-2:2]) / 2
    assert np.abs(places[1::2] - middle).max() < 5e-6
    assert np.abs(places[1::2] - places[:-1:2]).max() > 0.01


DANCERS = pytest.mark.parametrize("name", ["初音ミク.pmx", "巡音ルカ.pmx", "miku_v2.pmd"])


def dancer(name):
    path, dance = SHARED / f"models/{name}", SHARED / "models/realize_motion.vmd"
    if not path.is_file() or not dance.is_file():
        pytest.skip(f"{path} or {dance} is not there")
    return mmdskin.load_model(path), mmdskin.load_motion(dance)


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
def test_without_physics_nothing_has_changed(chain, swing, physics):
    assert same(chain.pose(swing, RUN, physics=physics), chain.pose(swing, RUN))


def test_bodies_that_follow_bones_move_none(swing):
    model = hanging.load(hanging.chain_file((FOLLOWS,) * LINKS))
    assert same(model.pose(swing, RUN, physics=True), model.pose(swing, RUN))


def test_before_the_start_there_is_no_physics(chain, swing):
    late = mmdskin.Physics(start=20)
    frames = [-5, 10, 19.75]
    assert same(chain.pose(swing, frames, physics=late), chain.pose(swing, frames))
    assert not same(chain.pose(swing, 20, physics=late), chain.pose(swing, 20))


def test_settling_goes_before_the_start(chain, swing):
    """Steps that are held at a start are those of a motion that stands still before it."""
    settled = chain.pose(swing, 0, physics=mmdskin.Physics(settle=120))
    waited = chain.pose(swing, 0, physics=mmdskin.Physics(settle=0, start=-60))
    assert same(settled, waited)
    at_once = chain.pose(swing, 0, physics=mmdskin.Physics(settle=0))
    assert np.allclose(at_once.bone_matrices, chain.pose(swing, 0).bone_matrices, atol=1e-6)


def test_the_links_come_to_hang(chain):
    """Locked joints at rest: the centre of the chain goes below the root."""
    rest = chain.pose(physics=mmdskin.Physics(settle=2000))
    places = heads(chain, rest)
    assert np.isfinite(places).all()
    assert places[-1, 1] < places[1, 1] - 2


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
def test_settings_that_cannot_be_are_named(chain, fields, words):
    with pytest.raises(ValueError, match=words):
        mmdskin.Simulation(chain, None, mmdskin.Physics(**fields))


@pytest.mark.parametrize("given", [1, "yes", (0, 1)])
def test_physics_is_a_physics(chain, given):
    with pytest.raises(TypeError, match="physics: expected"):
        chain.pose(physics=given)


@pytest.mark.parametrize("frame", [float("nan"), float("inf"), 1e7 + 1])
def test_frames_that_cannot_be_are_refused(chain, frame):
    with pytest.raises(ValueError, match="frame: number 1"):
        chain.pose(None, [0, frame], physics=True)


def test_physics_is_pickled_as_it_is():
    physics = mmdskin.Physics(hz=120, ground=False)
    assert pickle.loads(pickle.dumps(physics)) == physics
    assert physics._replace(hz=60, ground=True) == mmdskin.Physics()


def test_a_bad_body_is_named(swing):
    file = hanging.chain_file()
    file.rigid_bodies[2].size = (-1, 0, 0)
    with pytest.raises(ValueError, match="body 2: size -1 is negative"):
        hanging.load(file).pose(swing, physics=True)


def test_what_flies_off_comes_back_to_its_bones(swing):
    """A spring without measure throws its body out of the numbers."""
    file = hanging.chain_file()
    file.rigid_bodies[3].mass = 1e-30
    file.joints[2].translation_lower, file.joints[2].translation_upper = (1, 1, 1), (-1, -1, -1)
    file.joints[2].translation_spring = (1e38,) * 3
    model = hanging.load(file)
    pose = model.pose(swing, RUN, physics=True)
    assert np.isfinite(pose.bone_matrices).all()
    assert np.abs(pose.bone_matrices).max() < 2e6


def test_a_model_without_bodies_has_the_pose_of_today(swing):
    file = hanging.chain_file()
    file.rigid_bodies, file.joints = [], []
    model = hanging.load(file)
    assert same(model.pose(swing, RUN, physics=True), model.pose(swing, RUN))


def test_bodies_fall_by_gravity():
    """1 / 2 g t squared, by steps of 1 / 60 s that gain speed first."""
    file = hanging.chain_file((PHYSICS,))
    file.joints = []
    file.rigid_bodies[1].linear_damping = 0
    model = hanging.load(file)
    physics = mmdskin.Physics(gravity=(0, -9, 0), settle=0, damping_extra=False)
    frames = np.arange(10)
    fallen = heads(model, model.pose(None, frames, physics=physics))[:, 1, 1] - 20
    steps = 2 * frames
    assert np.allclose(fallen, -9 * steps * (steps + 1) / 2 / 60**2, rtol=0, atol=2e-6)


# Seeking


def test_places_are_remembered(chain):
    """Ten and a half minutes; every frame as a run of its own has it, however it was come to."""
    swing = hanging.swing(1500)
    frames = [1400, 300, 299.75, 310.25, 600, 1199.5, 1200]
    simulation = mmdskin.Simulation(chain, swing)
    alone = {frame: chain.pose(swing, frame, physics=True) for frame in frames}
    for frame in frames:
        assert same(simulation.pose(frame), alone[frame]), frame


def test_half_a_step_before_a_remembered_place(chain):
    swing = hanging.swing(700)
    simulation = mmdskin.Simulation(chain, swing)
    simulation.pose(650)
    simulation.pose(300)  # goes back to just there
    assert same(simulation.pose(299.75), chain.pose(swing, 299.75, physics=True))


def test_a_switched_off_body_is_remembered_as_such(chain):
    root = hanging.swing(900).bones[0]
    link = ("link1", [0, 250, 350], None, None, None, [True, False, True])
    motion = mmdskin.Motion.from_tracks([root, link])
    simulation = mmdskin.Simulation(chain, motion)
    simulation.pose(800)
    for frame in (320, 360, 305.25):
        assert same(simulation.pose(frame), chain.pose(motion, frame, physics=True))


# Poses of one's own


def test_steps_go_where_a_motion_goes(chain):
    """Keys at every frame on straight lines are what step() makes of poses."""
    frames = np.arange(40)
    moves = np.stack([frames / 9, np.sin(frames / 5), 0 * frames], axis=1)
    motion = mmdskin.Motion.from_tracks([("root", frames, moves, None, None)])
    wanted = chain.pose(motion, frames, physics=True)
    simulation = mmdskin.Simulation(chain)
    for frame in frames:
        pose = simulation.step({"root": (moves[frame], None)})
        assert np.allclose(pose.bone_matrices, wanted.bone_matrices[frame], rtol=0, atol=1e-3)
        assert np.isclose(simulation.frame, frame)


def test_ik_is_switched_from_step_to_step():
    """As by the keys of a motion: a hanging body shows where IK has its leg."""
    file = pmx.PMX(
        bones=[
            pmx.Bone("leg", position=(0, 8, 0)),
            pmx.Bone("knee", position=(0, 4, -0.5), parent=0),
            pmx.Bone("foot", position=(0, 0, 0), parent=1),
            pmx.Bone("goal", position=(0, 0, 0), layer=1),
            pmx.Bone("lace", position=(0, 0, 0.5), parent=2),
        ]
    )
    file.bones[3].ik = pmx.IK(2, 20, 1.0, [pmx.IKLink(1), pmx.IKLink(0)])
    file.rigid_bodies = [
        hanging.ball(2, (0, 0, 0), FOLLOWS),
        hanging.ball(4, (0, -0.5, 0.5), PHYSICS),
    ]
    file.joints = [hanging.joint(0, 1, (0, 0, 0.5), **hanging.MIDDLE_LIMITS)]
    model = hanging.load(file)
    frames = np.arange(12)
    moves = np.stack([0 * frames, frames / 6, frames / 5], axis=1)
    on = np.isin(frames, (0, 1, 2, 7, 8))[:, None]
    motion = mmdskin.Motion.from_tracks(
        [("goal", frames, moves, None, None)], properties=(frames, None, ["goal"], on)
    )
    wanted = model.pose(motion, frames, physics=True).bone_matrices
    without = model.pose(motion, frames, physics=True, ik=False).bone_matrices
    assert np.abs(wanted - without)[:, 4].max() > 0.1
    simulation = mmdskin.Simulation(model)
    for frame in np.arange(23) / 2:
        place = np.array([np.interp(frame, frames, moves[:, k]) for k in range(3)])
        switched = [bool(on[int(frame), 0])] * 5 if frame < 6 else bool(on[int(frame), 0])
        pose = simulation.step({"goal": (place, None)}, seconds=1 / 60, ik=switched)
        if frame == int(frame):
            assert np.allclose(pose.bone_matrices, wanted[int(frame)], rtol=0, atol=1e-4)


def switched_chain(chain):
    """The chain's swing with two links that are off for a while, and (F, B) what is on."""
    frames = np.arange(31)
    moves = np.stack([np.sin(frames / 4), np.cos(frames / 5), 0 * frames], axis=1)
    on = np.ones((len(frames), len(chain.bones)), bool)
    on[6:17, 2] = on[:9, 3] = False
    rests, still = np.zeros((len(frames), 3)), np.tile((0.0, 0, 0, 1), (len(frames), 1))
    motion = mmdskin.Motion.from_tracks(
        [
            ("root", frames, moves, None, None),
            ("link2", frames, rests, still, None, on[:, 2]),
            ("link3", frames, rests, still, None, on[:, 3]),
        ]
    )
    return motion, moves, on


def test_physics_is_switched_from_step_to_step(chain):
    motion, moves, on = switched_chain(chain)
    frames = np.arange(len(on))
    wanted = chain.pose(motion, frames, physics=True).bone_matrices
    unswitched = chain.pose(
        mmdskin.Motion.from_tracks([("root", frames, moves, None, None)]), frames, physics=True
    )
    assert np.abs(wanted - unswitched.bone_matrices).max() > 0.1
    simulation = mmdskin.Simulation(chain)
    for frame in np.arange(2 * len(on) - 1) / 2:
        place = np.array([np.interp(frame, frames, moves[:, k]) for k in range(3)])
        given = {"root": (place, None)}
        pose = simulation.step(given, seconds=1 / 60, physics=on[int(frame)])
        simulation = pickle.loads(pickle.dumps(simulation))
        if frame == int(frame):
            assert np.allclose(pose.bone_matrices, wanted[int(frame)], rtol=0, atol=1e-4)


def test_all_physics_is_switched_off_at_once(chain):
    simulation = mmdskin.Simulation(chain)
    for x in (0, 0.5, 1):
        pose = simulation.step({"root": ((x, 0, 0), None)}, physics=False)
        assert np.allclose(pose.bone_matrices[:, :3, 3], (x, 0, 0), atol=1e-5)


def test_bones_turn_the_short_way_in_a_step(chain):
    turn = {"root": (None, (0, 0, -np.sin(0.2), -np.cos(0.2)))}
    other = {"root": (None, (0, 0, np.sin(0.2), np.cos(0.2)))}
    physics = mmdskin.Physics(hz=240)
    ways = []
    for given in (turn, other):
        simulation = mmdskin.Simulation(chain, None, physics)
        simulation.step()
        ways.append(simulation.step(given))
    assert np.allclose(ways[0].bone_matrices, ways[1].bone_matrices, rtol=0, atol=1e-5)


def test_any_length_of_step_takes_its_time():
    """Free fall without damping in time t, whatever the rate: 1 / 2 g t squared."""
    file = hanging.chain_file((PHYSICS,))
    file.joints = []
    file.rigid_bodies[1].linear_damping = 0
    model = hanging.load(file)
    settings = mmdskin.Physics(hz=20000, gravity=(0, -9, 0), settle=0, damping_extra=False)
    for rate in (24, 25, 30, 59.94, 144):
        simulation = mmdskin.Simulation(model, None, settings)
        simulation.step()
        for _ in range(12):
            pose = simulation.step(seconds=1 / rate)
        fall = heads(model, pose)[1, 1] - 20
        assert np.isclose(fall, -4.5 * (12 / rate) ** 2, rtol=5e-3)
        assert np.isclose(simulation.frame, 12 * 30 / rate)


def test_a_step_of_no_time_moves_no_body(chain):
    simulation = mmdskin.Simulation(chain)
    first = simulation.step()
    assert same(simulation.step(seconds=0), first)


@pytest.mark.parametrize("seconds", [5e-324, 1e-12, 9e-6])
def test_a_step_of_next_to_no_time_loses_no_body(chain, seconds):
    """A body that must be elsewhere at once would have a speed out of all bounds."""
    simulation = mmdskin.Simulation(chain)
    simulation.step()
    simulation.step({"root": ((3, 0, 0), None)}, seconds=seconds)
    assert not simulation.notes
    assert np.isclose(simulation.frame, 30 * seconds, rtol=1e-9, atol=0)
    pickle.loads(pickle.dumps(simulation))


def test_rotations_alone_are_a_pose(chain):
    turned = np.tile(np.float32((0, 0, 0.6, 0.8)), (len(chain.bones), 1))
    one, other = mmdskin.Simulation(chain), mmdskin.Simulation(chain)
    still = np.zeros((len(chain.bones), 3), np.float32)
    assert same(one.step(rotations=turned), other.step(still, turned))


def test_after_a_reset_steps_begin_anew(chain):
    simulation = mmdskin.Simulation(chain)
    first = simulation.step()
    simulation.step({"root": ((3, 0, 0), None)})
    simulation.reset()
    assert same(simulation.step(), first)
    simulation.step({"root": ((3, 0, 0), None)})
    assert same(simulation.pose(30), chain.pose(None, 30, physics=True))
    assert same(simulation.step(), first)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seconds": -1}, "seconds: -1, expected 0 to 3600"),
        ({"seconds": float("nan")}, "seconds: nan"),
        ({"physics": [True, False]}, r"physics: shape \(2,\), expected \(6,\)"),
        ({"rotations": np.zeros((6, 4)), "translations": np.zeros((6, 3))}, "has no length"),
        ({"translations": np.zeros((2, 6, 3)), "rotations": np.ones((6, 4))}, "expected one pose"),
    ],
)
def test_a_refused_step_changes_nothing(chain, given, words):
    one, other = mmdskin.Simulation(chain), mmdskin.Simulation(chain)
    one.step(), other.step()
    with pytest.raises(ValueError, match=words):
        one.step(**given)
    move = {"root": ((1, 0, 0), None)}
    assert same(one.step(move), other.step(move))


def test_a_simulation_of_a_motion_is_not_stepped(chain, swing):
    with pytest.raises(ValueError, match="posed by its frames"):
        mmdskin.Simulation(chain, swing).step()


# What a simulation tells


def test_notes_name_what_is_odd(swing):
    file = hanging.chain_file()
    file.version = 2.1
    file.joints[1].kind = file.joints[2].kind = 5
    file.joints.append(pmx.Joint("nowhere", body_a=2, body_b=2))
    file.rigid_bodies[3].mass = 0.0
    notes = mmdskin.Simulation(hanging.load(file), swing).notes
    assert notes == (
        'joint 1 "j12" is solved by its limits, as 6dof (and 1 more)',
        'joint 4 "nowhere" does not join two bodies, and does nothing',
        'body 3 "b3" has no mass, so that nothing moves it',
    )


def test_a_sound_model_has_no_notes(chain, swing):
    simulation = mmdskin.Simulation(chain, swing)
    simulation.pose(90)
    assert simulation.notes == ()


def test_strain_is_how_far_joints_stand_beyond_their_limits():
    """A ball in the middle of two roots that go apart by 16 units, locked to both."""
    file = hanging.chain_file((PHYSICS,))
    file.bones.append(pmx.Bone("other", position=(0, 20, 0)))
    file.rigid_bodies.append(hanging.ball(3, (0, 20, 0), FOLLOWS))
    at = file.rigid_bodies[1].position
    file.joints = [hanging.joint(0, 1, at), hanging.joint(2, 1, at)]
    keys = [("root", [0, 30], [(0, 0, 0), (0, 8, 0)]), ("other", [0, 30], [(0, 0, 0), (0, -8, 0)])]
    motion = mmdskin.Motion.from_tracks([(*track, None, None) for track in keys])
    still = mmdskin.Physics(gravity=(0, 0, 0))
    simulation = mmdskin.Simulation(hanging.load(file), motion, still)
    assert simulation.strain.shape == (2, 2)
    simulation.pose(0)
    assert np.allclose(simulation.strain, 0)
    simulation.pose(60)
    # the joint that is solved last has its way: Bullet's sort exchanges two of an island
    assert np.allclose(simulation.strain, [(0, 0), (16, 0)], rtol=0, atol=1e-5)
    # seen twice a second; 10 units apart is the bar
    (note,) = simulation.notes
    assert note.startswith('joint 1 "j21" stands 16.')
    assert note.endswith(" units beyond its limits at frame 30")


def farthest(simulation, last):
    """Units beyond the limits of joints, of each step up to a frame."""
    far = []
    for step in range(2 * last + 1):
        simulation.pose(step / 2)
        far.append(simulation.strain[:, 0].max())
    return np.array(far)


@DANCERS
def test_a_dancer_stays_in_one_piece(name):
    far = farthest(mmdskin.Simulation(*dancer(name)), 600)
    assert far.max() < 3 + 1e-9 and far.max() > 1


def test_what_hangs_comes_along_when_its_bone_leaps(chain):
    leap = [(0, 0, 0), (0, 0, 0), (40, 10, 0)]
    motion = mmdskin.Motion.from_tracks([("root", [0, 10, 11], leap, None, None)])
    simulation = mmdskin.Simulation(chain, motion)
    far = farthest(simulation, 90)
    assert abs(far.max() - 3) < 1e-9
    assert far[:20].max() < 0.5 and far[120:].max() < 0.5
    (note,) = simulation.notes
    assert " is held at 3 units beyond its limits at frame 15" in note


def test_members_say_what_it_was_made_of(chain, swing):
    physics = mmdskin.Physics(gravity=[0, -9.8, 0], ground=-2)
    simulation = mmdskin.Simulation(chain, swing, physics)
    assert simulation.model is chain
    assert simulation.motion is swing
    assert simulation.physics == physics._replace(gravity=(0, -9.8, 0))
    assert simulation.frame == 0
    simulation.pose(12.5)
    assert simulation.frame == 12.5


def test_the_ground_may_be_anywhere():
    file = hanging.chain_file((PHYSICS,), height=5.0)
    file.joints = []
    file.rigid_bodies[1].mask = 0xFFFF
    model = hanging.load(file)
    for ground, lowest in ((True, 0), (0, 0), (-3, -3), (1.5, 1.5)):
        pose = model.pose(None, 200, physics=mmdskin.Physics(ground=ground))
        body = np.array((*model.rigid_bodies[1].position, 1))
        assert np.isclose((pose.bone_matrices[1] @ body)[1], lowest + 0.2, atol=2e-3)
    for none in (False, np.False_):
        gone = model.pose(None, 200, physics=mmdskin.Physics(ground=none))
        assert heads(model, gone)[1, 1] < -100
