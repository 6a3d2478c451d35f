# SPDX-License-Identifier: MIT
"""Several models in one simulation: contacts between them, transforms, poses, states, errors."""

import copy
import pickle
from collections import UserDict
from dataclasses import replace
from types import MappingProxyType

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from physics import chains
from physics.chains import FOLLOW_BONE, PHYSICS, balls_file, bone_positions, same

FREE = mmdskin.Physics(gravity=(0, 0, 0), ground=False, settle=0, additional_damping=False)
FRAMES = np.arange(0, 40.5, 0.5)


@pytest.fixture(scope="module")
def chain():
    return chains.load(chains.chain_file())


@pytest.fixture(scope="module")
def swing():
    return chains.swing()


def merged(*files):
    """One model with all bones, bodies and joints, in the order of the files."""
    whole = pmx.PMX()
    for number, file in enumerate(files):
        bones, bodies = len(whole.bones), len(whole.rigid_bodies)
        for bone in file.bones:
            parent = bone.parent + bones if bone.parent >= 0 else -1
            whole.bones.append(replace(bone, name=f"{number}{bone.name}", parent=parent))
        for body in file.rigid_bodies:
            whole.rigid_bodies.append(replace(body, bone=body.bone + bones))
        for joint in file.joints:
            a, b = joint.body_a + bodies, joint.body_b + bodies
            whole.joints.append(replace(joint, body_a=a, body_b=b))
    return whole


def merged_motion(*motions):
    return mmdskin.Motion.from_tracks(
        [
            (f"{number}{track.name}", track.frames, track.translations, track.rotations, None)
            for number, motion in enumerate(motions)
            for track in motion.bones
        ]
    )


def hair_file():
    """A chain whose bodies touch everything."""
    file = chains.chain_file()
    for body in file.rigid_bodies:
        body.mask, body.size = 0xFFFF, (0.4, 0, 0)
    return file


def hand_file():
    """A ball that follows a bone beside the chain, and one that hangs on it."""
    file = pmx.PMX(name="hand")
    file.bones = [pmx.Bone("wrist", position=(4, 18, 0)), pmx.Bone("bell", position=(4, 17, 0))]
    file.bones[1].parent = 0
    file.rigid_bodies = [
        chains.ball(0, (4, 18, 0), FOLLOW_BONE, mask=0xFFFF, size=(0.8, 0, 0)),
        chains.ball(1, (4, 16.5, 0), mask=0xFFFF, size=(0.3, 0, 0)),
    ]
    file.joints = [chains.joint(0, 1, (4, 17, 0), **chains.MIDDLE_LIMITS)]
    return file


def stroke():
    """The hand moves through the chain."""
    keys = np.array([0, 10, 30, 60])
    translations = np.array([(0, 0, 0), (0, 0, 0), (-8, 0.2, 0), (-8, 0, 3)], float)
    return mmdskin.Motion.from_tracks([("wrist", keys, translations, None, None)])


def velocities(positions, rate=60):
    return np.diff(positions, axis=0) * rate


# One model, and models that do not touch


def test_a_list_of_one_model_is_simulated_like_the_model(chain, swing):
    one, plain = mmdskin.Simulation([chain], [swing]), mmdskin.Simulation(chain, swing)
    (pose,) = one.pose(FRAMES)
    assert same(pose, plain.pose(FRAMES))
    assert one.strain[0].tobytes() == plain.strain.tobytes()
    assert one.__getstate__() == plain.__getstate__()


def test_a_model_given_plainly_has_plain_results(chain, swing):
    simulation = mmdskin.Simulation(chain, swing)
    assert simulation.model is chain
    assert simulation.motion is swing
    assert simulation.transforms is None
    assert isinstance(simulation.pose(1), mmdskin.Pose)
    assert simulation.strain.shape == (len(chain.joints), 2)


def test_models_that_do_not_touch_move_as_alone(swing):
    """To the last bit where each has one joint; more are solved in an order that depends on all."""
    model = chains.load(chains.chain_file((PHYSICS,)))
    physics = mmdskin.Physics(settle=10)
    other = mmdskin.Motion.from_tracks([("root", [0, 20], [(0, 0, 0), (9, 0, 0)], None, None)])
    together = mmdskin.Simulation([model, model], [swing, other], physics).pose(FRAMES)
    assert same(together[0], model.pose(swing, FRAMES, physics=physics))
    assert same(together[1], model.pose(other, FRAMES, physics=physics))


def test_the_order_of_the_solver_depends_on_all_models_but_little(chain, swing):
    together, _ = mmdskin.Simulation([chain, chain], [swing, None]).pose(FRAMES)
    alone = chain.pose(swing, FRAMES, physics=True)
    assert np.allclose(
        bone_positions(chain, together), bone_positions(chain, alone), rtol=0, atol=0.2
    )


# Contacts


def test_a_group_equals_one_model_with_the_bodies_of_all():
    files, motions = (hair_file(), hand_file()), (chains.swing(), stroke())
    models = [chains.load(file) for file in files]
    group = mmdskin.Simulation(models, motions)
    hair, hand = group.pose(FRAMES)
    whole = chains.load(merged(*files))
    simulation = mmdskin.Simulation(whole, merged_motion(*motions))
    expected = simulation.pose(FRAMES).bone_matrices
    bones = len(models[0].bones)
    assert hair.bone_matrices.tobytes() == expected[:, :bones].tobytes()
    assert hand.bone_matrices.tobytes() == expected[:, bones:].tobytes()
    assert np.concatenate(group.strain).tobytes() == simulation.strain.tobytes()
    alone = models[0].pose(motions[0], FRAMES, physics=True)
    assert abs(bone_positions(models[0], hair) - bone_positions(models[0], alone)).max() > 0.3


def test_models_touch_in_both_orders():
    hair, hand = chains.load(hair_file()), chains.load(hand_file())
    first, _ = mmdskin.Simulation([hair, hand], [None, stroke()]).pose(FRAMES)
    _, second = mmdskin.Simulation([hand, hair], [stroke(), None]).pose(FRAMES)
    rest = bone_positions(hair, hair.pose(None, 0, physics=True))
    for pose in (first, second):
        assert abs(bone_positions(hair, pose) - rest).max() > 0.3


def with_push(file, *impulse):
    """The file with a morph that pushes its body 0, and a motion that does it once."""
    values = np.array([(0, *impulse, 0, 0, 0)], np.float32)
    kind = pmx.MORPH_KINDS.index("impulse")
    file.morphs = [pmx.Morph("push", kind=kind, indices=np.array([0], np.int32), values=values)]
    push = mmdskin.Motion.from_tracks([], [("push", [0, 1, 2, 3], [0, 0.5, 0, 0])])
    return chains.load(file), push


def test_bodies_of_two_models_exchange_momentum():
    """A ball of one model hits a resting one of another, of three times its mass."""
    fields = {"restitution": 1, "linear_damping": 0}
    striker, push = with_push(balls_file(((-6, 0, 0), PHYSICS, fields | {"mass": 1})), 10, 0, 0)
    target = chains.load(balls_file(((0, 0, 0), PHYSICS, fields | {"mass": 3})))
    frames = np.arange(0, 120) / 2
    poses = mmdskin.Simulation([striker, target], [push, None], FREE).pose(frames)
    one = velocities(bone_positions(striker, poses[0])[:, 0])
    other = velocities(bone_positions(target, poses[1])[:, 0])
    momentum = one + 3 * other
    assert one[8][0] > 1
    assert abs(other[8]).max() < 1e-6
    assert other[-1][0] > 0.3 * one[8][0]
    assert np.allclose(momentum[8], momentum[-1], rtol=0, atol=1e-4 * one[8][0])


@pytest.mark.parametrize(("mask", "touches"), [(0xFFFF, True), (0xFFFF & ~(1 << 3), False)])
def test_masks_act_across_models(mask, touches):
    """A ball falls on a platform of another model unless it is masked from group 3."""
    platform = chains.load(
        balls_file(((0, 5, 0), FOLLOW_BONE, {"group": 3, "size": (2, 0, 0)}), name="p")
    )
    falling = chains.load(balls_file(((0, 9, 0), PHYSICS, {"mask": mask}), name="f"))
    physics = mmdskin.Physics(ground=False, settle=0)
    _, pose = mmdskin.Simulation([platform, falling], None, physics).pose(45)
    height = bone_positions(falling, pose)[0, 1]
    assert height == pytest.approx(8, abs=0.2) if touches else height < 0


# Places


def test_a_place_moves_the_bodies_but_not_the_bones():
    """A ball placed above the platform of another model lands on it; its poses stay its own."""
    platform = chains.load(balls_file(((0, 5, 0), FOLLOW_BONE, {"size": (2, 0, 0)}), name="p"))
    falling = chains.load(balls_file(((100, 0, 0), PHYSICS, {}), name="f"))
    transforms = [(0, 0, 0, 0, 0, 0, 1), (-100, 9, 0, 0, 0, 0, 1)]
    physics = mmdskin.Physics(ground=False, settle=0)
    group = mmdskin.Simulation([platform, falling], None, physics, transforms=transforms)
    start, end = (bone_positions(falling, group.pose(frame)[1])[0] for frame in (0, 45))
    assert np.allclose(start, (100, 0, 0), atol=1e-4)
    assert np.allclose(end, (100, 8 - 9, 0), atol=0.2)


def test_a_placed_model_moves_as_if_its_root_were_there(chain):
    place = np.array((5, 6, 7))
    there = mmdskin.Motion.from_tracks([("root", [0], [place], None, None)])
    expected = bone_positions(chain, chain.pose(there, FRAMES, physics=True))
    (pose,) = mmdskin.Simulation([chain], transforms=[(*place, 0, 0, 0, 1)]).pose(FRAMES)
    assert np.allclose(bone_positions(chain, pose) + place, expected, rtol=0, atol=1e-5)


def test_a_turned_model_hangs_along_the_gravity_of_the_world(swing):
    """A quarter turn about x takes z to -y: in the model's space, gravity is along z."""
    model, half = chains.load(chains.chain_file((PHYSICS,))), np.sqrt(0.5)
    physics = mmdskin.Physics(gravity=(0, -98, 0), ground=False, settle=0)
    turned = mmdskin.Simulation([model], [swing], physics, transforms=[(0, 0, 0, half, 0, 0, half)])
    expected = model.pose(swing, FRAMES, physics=physics._replace(gravity=(0, 0, 98)))
    tips = bone_positions(model, expected)[:, -1] - bone_positions(model, expected)[:, 0]
    assert tips[:, 2].max() > 0.5
    assert np.allclose(turned.pose(FRAMES)[0].bone_matrices, expected.bone_matrices, atol=1e-5)


def test_the_ground_is_that_of_the_world(chain):
    falling = chains.load(balls_file(((0, 3, 0), PHYSICS, {}), name="f"))
    physics = mmdskin.Physics(settle=0)
    (pose,) = mmdskin.Simulation(
        [falling], None, physics, transforms=[(0, 10, 0, 0, 0, 0, 2)]
    ).pose(60)
    assert bone_positions(falling, pose)[0, 1] == pytest.approx(1 - 10, abs=0.1)


def test_impulses_are_along_the_axes_of_the_model():
    model, push = with_push(balls_file(((0, 0, 0), PHYSICS, {"linear_damping": 0})), 0, 0, 6)
    place = (1, 2, 3, 0, np.sqrt(0.5), 0, np.sqrt(0.5))
    (turned,) = mmdskin.Simulation([model], [push], FREE, transforms=[place]).pose(FRAMES)
    expected = model.pose(push, FRAMES, physics=FREE)
    assert bone_positions(model, expected)[-1, 0, 2] > 1
    assert np.allclose(turned.bone_matrices, expected.bone_matrices, rtol=0, atol=1e-5)


# Seeking, states, settings


@pytest.fixture
def touching():
    models = [chains.load(hair_file()), chains.load(hand_file())]
    return models, [chains.swing(), stroke()]


def test_frames_do_not_depend_on_their_order(touching):
    simulation, frames = mmdskin.Simulation(*touching), [35, 2.5, 700, 30, 310]
    found = simulation.pose(frames)
    for i, frame in enumerate(frames):
        fresh = mmdskin.Simulation(*touching).pose(frame)
        for pose, expected in zip(found, fresh, strict=True):
            assert same((pose[0][i], pose[1][i]), expected)


def test_a_copy_continues_with_the_same_bits(touching):
    simulation = mmdskin.Simulation(
        *touching,
        mmdskin.Physics(hz=120),
        transforms=[(0, 0, 0, 0, 0, 0, 1), (0, 0.5, 0, 0, 0, 0, 1)],
    )
    simulation.pose(25)
    pickled, copied = pickle.loads(pickle.dumps(simulation)), copy.copy(simulation)
    expected = simulation.pose(26)
    for one in (pickled, copied):
        assert one.frame == 25
        assert one.transforms.tolist() == simulation.transforms.tolist()
        assert all(map(same, one.pose(26), expected))


def test_a_copy_of_a_stepped_group_continues_with_the_same_bits(touching):
    models, (_, motion) = touching
    simulation = mmdskin.Simulation(models, [None, motion])
    moved = [{"root": ((1, 0, 0), None)}, None]
    simulation.step()
    simulation.step(moved, seconds=0.4)
    twin = pickle.loads(pickle.dumps(simulation))
    assert all(map(same, twin.step(seconds=0.3), simulation.step(seconds=0.3)))


def test_the_run_starts_at_the_earliest_motion(chain):
    late = mmdskin.Motion.from_tracks([("root", [30, 40], [(0, 0, 0), (3, 0, 0)], None, None)])
    early = mmdskin.Motion.from_tracks([("root", [10, 40], [(0, 0, 0), (3, 0, 0)], None, None)])
    group = mmdskin.Simulation([chain, chain, chain], [None, late, early])
    assert group.frame == 10
    assert same(group.pose(9)[2], chain.pose(early, 9))


def test_an_offset_moves_a_motion_in_time(chain):
    """As a motion whose keys are earlier; the run starts at the earliest one."""
    keys = [0, 10, 20, 30]
    moves = [(0, 0, 0), (2, 0, 0), (2, 1, 0), (0, 0, 3)]
    early = mmdskin.Motion.from_tracks([("root", keys, moves, None, None)])
    late = mmdskin.Motion.from_tracks([("root", [k + 15 for k in keys], moves, None, None)])
    group = mmdskin.Simulation([chain, chain], [early, late], offsets=[0, 0])
    moved = mmdskin.Simulation([chain, chain], [late, late], offsets=[15, 0])
    assert (group.frame, moved.frame) == (0, 0)
    assert moved.offsets.tolist() == [15, 0]
    frames = [12, 20.5, 31]
    assert all(map(same, moved.pose(frames), group.pose(frames)))
    twin = pickle.loads(pickle.dumps(moved))
    assert all(map(same, twin.pose(32), moved.pose(32)))
    alone = mmdskin.Simulation([chain], [early], offsets=[-7.5])
    assert alone.frame == 7.5
    assert same(alone.pose(20)[0], chain.pose(early, 12.5, physics=True))
    stepped = mmdskin.Simulation([chain, chain], [late, None], offsets=[15, 0])
    for frame in range(21):
        pose, _ = stepped.step()
        expected = chain.pose(early, frame)
        assert np.allclose(pose.bone_matrices[0], expected.bone_matrices[0], atol=1e-5)


def test_notes_name_the_model(chain):
    file = chains.chain_file()
    file.name = "巡音ルカ"
    file.rigid_bodies[2].mass = 0
    group = mmdskin.Simulation([chain, chains.load(file)])
    assert group.notes == ('model 1 "巡音ルカ": body 2 "b2" has no mass and does not move',)


def test_long_names_in_notes_end_with_a_whole_character(chain):
    file = chains.chain_file()
    file.name = "a" + "初音" * 10
    file.rigid_bodies[2].name = "ab" + "髪" * 30
    file.rigid_bodies[2].mass = 0
    (note,) = mmdskin.Simulation([chain, chains.load(file)]).notes
    shown = "a" + "初音" * 5 + "初", "ab" + "髪" * 19  # of 36 and 60 bytes
    assert note == f'model 1 "{shown[0]}": body 2 "{shown[1]}" has no mass and does not move'


# Steps


def test_models_with_a_motion_follow_it_while_others_are_stepped(touching):
    (hair, hand), (_, motion) = touching
    physics = mmdskin.Physics(settle=20)
    stepped = mmdskin.Simulation([hair, hand], [None, motion], physics)
    expected = mmdskin.Simulation([hair, hand], [None, motion], physics).pose(np.arange(35))
    for frame in range(35):
        poses = stepped.step()
        for found, run in zip(poses, expected, strict=True):
            assert np.allclose(found.bone_matrices, run.bone_matrices[frame], rtol=0, atol=1e-3)


def test_each_model_gets_its_item_of_a_step(chain):
    group = mmdskin.Simulation([chain, chain], None, FREE)
    group.step()
    moved = [None, {"root": ((0, 3, 0), None)}]
    still, raised = group.step(moved, physics=[True, False], ik=[True, [True] * len(chain.bones)])
    rest = bone_positions(chain, chain.pose())
    assert np.allclose(bone_positions(chain, still), rest, atol=1e-3)
    assert np.allclose(bone_positions(chain, raised), rest + (0, 3, 0), atol=1e-4)


def test_items_of_a_step_are_found_by_their_index(chain):
    group = mmdskin.Simulation([chain, chain], None, FREE)
    moved = UserDict({0: None, 1: {"root": ((0, 3, 0), None)}})
    still, raised = group.step(moved)
    assert not np.array_equal(still.bone_matrices, raised.bone_matrices)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"translations": [None]}, "translations: length 1, expected 2, an item for each model"),
        ({"translations": {"root": ((0, 0, 0), None)}}, "translations: expected a list"),
        ({"rotations": 3}, "rotations: expected a list"),
        ({"rotations": np.float32(1)}, "rotations: expected a list"),
        ({"rotations": list}, "rotations: expected a list"),
        ({"rotations": MappingProxyType({})}, "rotations: expected a list"),
        ({"morph_weights": [[], [1]]}, r"model 1: morph_weights: shape \(1,\)"),
        ({"physics": [True, [True]]}, r"model 1: physics: shape \(1,\)"),
        ({"translations": [{"root": ((0, 0, 0), None)}, None]}, "model 0: it has a motion"),
        ({"seconds": -1}, "seconds: -1"),
    ],
)
def test_a_bad_step_names_the_model_and_changes_nothing(chain, swing, arguments, message):
    group = mmdskin.Simulation([chain, chain], [swing, None])
    group.step()
    before = group.__getstate__()
    with pytest.raises((TypeError, ValueError), match=message):
        group.step(**arguments)
    assert group.__getstate__() == before


def test_a_group_of_motions_cannot_be_stepped(chain, swing):
    with pytest.raises(ValueError, match="takes no poses"):
        mmdskin.Simulation([chain, chain], [swing, swing]).step()


def test_a_state_of_another_group_is_refused(chain):
    group = mmdskin.Simulation([chain, chain])
    before = group.__getstate__()
    with pytest.raises(ValueError, match="not valid for this simulation"):
        group.__setstate__(mmdskin.Simulation([chain] * 3).__getstate__())
    assert group.__getstate__() == before


# Construction


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda model, motion: ([],), "model: 0 models, expected 1 to 1000"),
        (lambda model, motion: ([model] * 1001,), "model: 1001 models"),
        (lambda model, motion: ([model, 3],), "expected a Model"),
        (lambda model, motion: ("ab",), "expected a Model"),
        (
            lambda model, motion: ([model, model], [motion]),
            "motion: length 1, expected 2, an item for",
        ),
        (lambda model, motion: ([model, model], motion), "motion: expected a list"),
        (lambda model, motion: ([model], [3]), "motion: expected a Motion or None"),
        (lambda model, motion: (model, [motion]), "motion: expected a Motion or None"),
    ],
)
def test_bad_lists_are_refused(chain, swing, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        mmdskin.Simulation(*arguments(chain, swing))


@pytest.mark.parametrize(
    ("transforms", "message"),
    [
        ([(0, 0, 0, 0, 0, 0, 1)], r"transforms: shape \(1, 7\), expected \(2, 7\)"),
        ([(0, 0, 0, 0, 0, 0, 1), (0,) * 7], "model 1: transforms: quaternion of zero length"),
        ([(2e6, 0, 0, 0, 0, 0, 1), (0,) * 7], "model 0: transforms: 2e.06, expected at most 1e6"),
        (
            [(0, 0, 0, 0, 0, 0, 1), (0, 1e6, 0, 0, 0, 0, 1)],
            "model 1: transforms: body 0 at 1.00002e",
        ),
        ([(np.nan, 0, 0, 0, 0, 0, 1), (0,) * 7], "model 0: transforms: nan"),
    ],
)
def test_bad_transforms_are_refused(chain, transforms, message):
    with pytest.raises(ValueError, match=message):
        mmdskin.Simulation([chain, chain], transforms=transforms)


def test_an_error_does_not_number_the_only_model(chain):
    with pytest.raises(ValueError, match="^transforms: body 0 at 1.00002e"):
        mmdskin.Simulation([chain], transforms=[(0, 1e6, 0, 0, 0, 0, 1)])


@pytest.mark.parametrize(
    ("offsets", "message"),
    [([1], r"offsets: shape \(1,\), expected \(2,\)"), ([0, np.inf], "model 1: offsets: inf")],
)
def test_bad_offsets_are_refused(chain, offsets, message):
    with pytest.raises(ValueError, match=message):
        mmdskin.Simulation([chain, chain], offsets=offsets)


def test_one_model_has_no_place(chain):
    with pytest.raises(TypeError, match="transforms: expected None for one model"):
        mmdskin.Simulation(chain, transforms=[(0, 0, 0, 0, 0, 0, 1)])


def test_a_bad_body_names_its_model(chain):
    file = chains.chain_file()
    file.rigid_bodies[1].mass = -1
    with pytest.raises(ValueError, match="model 1: body 1: mass -1 is negative"):
        mmdskin.Simulation([chain, chains.load(file)])
