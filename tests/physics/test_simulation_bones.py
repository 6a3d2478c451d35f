# SPDX-License-Identifier: MIT
"""How bodies and bones follow each other: modes, bones after physics, switches, impulses."""

import mmdskin
import numpy as np
import pytest
from files import motion_file as mf
from files import pmx_file as pmx
from physics import chains
from physics.chains import (
    FOLLOW_BONE,
    LINKS,
    PHYSICS,
    PHYSICS_AND_BONE,
    ball,
    bone_positions,
    chain_file,
    load,
    same,
)

RUN = np.arange(31)
AT_ONCE = mmdskin.Physics(settle=0, additional_damping=False)


@pytest.fixture(scope="module")
def swing():
    return chains.swing()


def rotation(q):
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def matrix(transform):
    m = np.eye(4)
    m[:3, :3], m[:3, 3] = rotation(transform[3:7]), transform[:3]
    return m


def test_bones_follow_their_bodies(swing):
    """Compared with a world that is stepped by hand along the root's keys."""
    model = load(chain_file())
    world = mmdskin.World(model.rigid_bodies, model.joints)
    rest = [matrix(row) for row in world.state]
    roots = model.pose(swing, RUN).bone_matrices[:, 0].astype(float)
    halves = model.pose(swing, np.arange(61) / 2).bone_matrices[:, 0].astype(float)
    keys = swing.bones[0]
    state = np.array(world.state)
    state[:, :3] += keys.translations[0]  # the first key has no rotation, as sin(0) is 0
    assert np.allclose(halves[0, :3, :3], np.eye(3))
    world.state = state
    ours = model.pose(swing, RUN, physics=mmdskin.Physics(settle=0)).bone_matrices
    for step in range(1, 61):
        world.step([transform_of(halves[step] @ rest[0])])
        if step % 2:
            continue
        for bone in range(1, LINKS + 1):
            expected = matrix(world.state[bone]) @ np.linalg.inv(rest[bone])
            assert np.allclose(ours[step // 2, bone], expected, rtol=0, atol=1e-3), (step, bone)
        assert np.allclose(ours[step // 2, 0], roots[step // 2], rtol=0, atol=1e-6)
        # the tip has no body; its parent is the last link
        assert np.array_equal(ours[step // 2, LINKS + 1], ours[step // 2, LINKS])


def transform_of(m):
    w = np.sqrt(max(0.0, 1 + np.trace(m[:3, :3]))) / 2
    r = m[:3, :3]
    xyz = np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]) / (4 * w)
    return [*m[:3, 3], *xyz, w]


def test_physics_and_bone_takes_only_the_rotation_of_the_body(swing):
    model = load(chain_file((PHYSICS_AND_BONE, PHYSICS, PHYSICS, PHYSICS)))
    by_physics = load(chain_file()).pose(swing, RUN, physics=True)
    still, moved = model.pose(swing, RUN), model.pose(swing, RUN, physics=True)
    assert np.allclose(
        bone_positions(model, moved)[:, 1], bone_positions(model, still)[:, 1], rtol=0, atol=1e-5
    )
    rotations = by_physics.bone_matrices[:, 1, :3, :3]
    assert np.allclose(moved.bone_matrices[:, 1, :3, :3], rotations, rtol=0, atol=1e-6)
    assert np.abs(rotations - still.bone_matrices[:, 1, :3, :3]).max() > 0.1


def test_below_a_bone_moved_by_physics_physics_and_bone_acts_as_physics(swing):
    modes = (PHYSICS, PHYSICS_AND_BONE, PHYSICS_AND_BONE, PHYSICS)
    pose = load(chain_file(modes)).pose(swing, RUN, physics=True)
    assert same(pose, load(chain_file()).pose(swing, RUN, physics=True))


def test_the_last_of_two_bodies_moves_their_bone():
    """One is held by its joint; the other falls 1 / 2 g t squared."""
    file = chain_file()
    file.rigid_bodies.append(ball(1, (0, 19.5, 0), linear_damping=0))
    fall = -98 * 20 * 21 / 2 / 60**2
    model = load(file)
    assert np.isclose(bone_positions(model, model.pose(None, 10, physics=AT_ONCE))[1, 1], 20 + fall)
    file.rigid_bodies[-1].mode = FOLLOW_BONE
    assert bone_positions(model, load(file).pose(None, 10, physics=AT_ONCE))[1, 1] > 19


def after(file, **fields):
    """Adds a last bone, after physics."""
    flags = 0x1E | pmx.AFTER_PHYSICS
    file.bones.append(pmx.Bone("after", flags=flags, after_physics=True, **fields))
    return file


def test_a_bone_after_physics_follows_a_parent_moved_by_physics(swing):
    model = load(after(chain_file(), parent=2, position=(0, 18.5, 0)))
    pose = model.pose(swing, RUN, physics=True)
    assert np.allclose(pose.bone_matrices[:, -1], pose.bone_matrices[:, 2], rtol=0, atol=2e-6)


def test_a_bone_after_physics_appends_the_rotation_by_physics(swing):
    """A bone without parent takes over the whole local rotation of a link."""
    file = after(chain_file(), append=pmx.Append(2, 1.0))
    file.bones[-1].flags |= pmx.APPEND_ROTATION
    model = load(file)
    pose = model.pose(swing, RUN, physics=True)
    rotations = pose.bone_matrices[:, :, :3, :3].astype(float)
    local = np.swapaxes(rotations[:, 1], -1, -2) @ rotations[:, 2]
    assert np.abs(local - np.eye(3)).max() > 0.1
    assert np.allclose(rotations[:, -1], local, rtol=0, atol=5e-3)  # MMD's pi is 3.14


def test_a_body_may_move_a_bone_after_physics(swing):
    file = chain_file()
    file.bones[3].flags |= pmx.AFTER_PHYSICS
    file.bones[3].after_physics = True
    pose = load(file).pose(swing, RUN, physics=True)
    expected = load(chain_file()).pose(swing, RUN, physics=True)
    assert np.allclose(pose.bone_matrices, expected.bone_matrices, rtol=0, atol=2e-5)


def test_a_body_without_a_bone_moves_none(swing):
    file = chain_file()
    file.rigid_bodies.append(pmx.RigidBody("free", bone=-1, mask=0, mode=PHYSICS))
    model = load(file)
    pose = model.pose(swing, RUN, physics=True)
    assert same(pose, load(chain_file()).pose(swing, RUN, physics=True))


def test_a_kinematic_body_without_a_bone_does_not_move(swing):
    """A ball falls on a shelf in the air and stays there while the root swings beside it."""
    file = chain_file()
    shelf = {"shape": 1, "size": (1, 0.5, 1), "mask": 0xFFFF, "mode": FOLLOW_BONE}
    falling = {"size": (0.3, 0, 0), "mask": 0xFFFF, "mode": PHYSICS}
    file.bones.append(pmx.Bone("ball", position=(9, 7, 0)))
    index = len(file.bones) - 1
    file.rigid_bodies.append(pmx.RigidBody("shelf", bone=-1, position=(9, 5, 0), **shelf))
    file.rigid_bodies.append(pmx.RigidBody("ball", bone=index, position=(9, 7, 0), **falling))
    model = load(file)
    position = bone_positions(model, model.pose(swing, 90, physics=True))[index]
    assert np.allclose(position, (9, 5 + 0.5 + 0.3, 0), atol=0.05)  # a box has a margin of 0.04


# Switches


def switched(*keys):
    """A swinging root, and link1 with keys (frame, physics)."""
    root = chains.swing().bones[0]
    frames, on = zip(*keys, strict=True)
    link = ("link1", list(frames), None, None, None, list(on))
    return mmdskin.Motion.from_tracks([root, link])


def test_a_switched_off_body_follows_its_bone():
    model = load(chain_file((PHYSICS,)))
    motion = switched((0, True), (10, False), (20, True))
    still, moved = model.pose(motion, RUN), model.pose(motion, RUN, physics=AT_ONCE)
    difference = np.abs(still.bone_matrices - moved.bone_matrices).max(axis=(1, 2, 3))
    assert difference[0] < 1e-6
    assert (difference[1:10] > 1e-4).all()
    assert (difference[10:20] == 0).all()
    assert (difference[21:] > 1e-4).all()


def test_a_body_switched_on_starts_at_its_bone_at_rest():
    """The first step of free fall is g t squared."""
    file = chain_file((PHYSICS,))
    file.joints = []
    file.rigid_bodies[1].linear_damping = 0
    model = load(file)
    motion = switched((0, False), (20, True))
    pose = model.pose(motion, [19.5, 20], physics=AT_ONCE)
    before, on = bone_positions(model, pose)[:, 1]
    assert np.allclose(on - before, (0, -98 / 60**2, 0), rtol=0, atol=2e-5)


def test_switches_are_read_from_vmd():
    block = mf.block([mf.STRAIGHT] * 4, b"\x63\x0f")
    on, off = mf.BoneKey("a", 0), mf.BoneKey("a", 9, block=block)
    motion = mmdskin.load_motion(mf.write_vmd(mf.Keys("", [on, off])))
    assert motion.bones[0].physics.tolist() == [True, False]


def test_switches_are_saved_and_loaded(tmp_path):
    motion = switched((0, True), (10, False), (20, True))
    motion.save(tmp_path / "a.vmd")
    back = mmdskin.load_motion(tmp_path / "a.vmd")
    assert [track.physics.tolist() for track in back.bones] == [[True] * 10, [True, False, True]]
    found = mf.read((tmp_path / "a.vmd").read_bytes())
    assert found.bones[1].physics.tolist() == [True, False, True]


@pytest.mark.parametrize("off", [True, False])
def test_only_the_bytes_63_0f_switch_physics_off(off):
    curves = [[0x63, 15, 1, 2]] * 4
    flag = b"\x63\x0f" if off else b"\x0f\x63"
    key = mf.BoneKey("a", 0, block=mf.block(curves, flag))
    (track,) = mmdskin.load_motion(mf.write_vmd(mf.Keys("", [key]))).bones
    assert track.physics.tolist() == [not off]


# Impulse morphs


IMPULSE = (0, 12, 0, 0, 0, 0, 0)
STOP = (0,) * 7


def with_impulses(frames, weights, angle=0.0):
    """(F,4,4) of a ball of mass 2 and radius 1 without gravity; weights: {offset: [of each frame]}."""
    file = pmx.PMX(bones=[pmx.Bone("root")], version=2.1)
    body = pmx.RigidBody("b", bone=0, mask=0, mass=2.0, mode=PHYSICS, rotation=(0, angle, 0))
    body.linear_damping = body.angular_damping = 0.0
    file.rigid_bodies, tracks = [body], []
    for offset, keys in weights.items():
        name = f"impulse{len(tracks)}"
        values = np.float32([offset])
        file.morphs.append(pmx.Morph(name, kind=10, indices=np.int32([0]), values=values))
        tracks.append((name, list(range(len(keys))), keys))
    motion = mmdskin.Motion.from_tracks(morphs=tracks)
    settings = mmdskin.Physics((0, 0, 0), settle=0, additional_damping=False, ground=False)
    return load(file).pose(motion, frames, physics=settings).bone_matrices[:, 0]


@pytest.mark.parametrize(("local", "direction"), [(0, (1, 0, 0)), (1, (0, 0, -1))])
def test_an_impulse_changes_the_velocity(local, direction):
    """12 / mass 2 in each of two steps: 6, then 12 units per second, for a sixtieth each."""
    (moved,) = with_impulses([1], {(local, *IMPULSE[1:]): (1, 1)}, angle=np.pi / 2)
    assert np.allclose(moved[:3, 3], 18 / 60 * np.array(direction), rtol=0, atol=1e-5)


def test_half_a_weight_is_half_an_impulse():
    (moved,) = with_impulses([1], {IMPULSE: (0.5, 0.5)})
    assert np.allclose(moved[:3, 3], (9 / 60, 0, 0), rtol=0, atol=1e-6)


def test_a_torque_changes_the_angular_velocity():
    """The ball's inertia is 2 / 5 x 2 = 0.8: 0.4 / 0.8 rad/s more in each of two steps."""
    (moved,) = with_impulses([1], {(0, 0, 0, 0, 0, 0, 0.4): (1, 1)})
    assert np.allclose(np.arctan2(moved[1, 0], moved[0, 0]), 1.5 / 60, rtol=1e-4)


def test_an_offset_of_zeros_stops_the_body():
    flying = with_impulses([3, 4], {IMPULSE: (1, 1, 0), STOP: (0,)})
    assert flying[1, 0, 3] > flying[0, 0, 3] + 0.1
    stopped = with_impulses([3, 4], {IMPULSE: (1, 1, 0), STOP: (0, 0, 1)})
    assert stopped[1, 0, 3] == stopped[0, 0, 3] > 0.1


# Jumps


def test_teleport_resets_bodies_after_a_jump():
    file = chain_file()
    model = load(file)
    frames = [0, 10, 11, 40]
    moves = [(0, 0, 0), (0, 0, 0), (100, 0, 0), (100, 0, 0)]
    motion = mmdskin.Motion.from_tracks([("root", frames, moves, None, None)])
    stretched = model.pose(motion, RUN, physics=True)
    reset = model.pose(motion, RUN, physics=mmdskin.Physics(teleport=30))

    def lengths(pose):
        positions = bone_positions(model, pose)
        return np.linalg.norm(positions[:, 4] - positions[:, 0], axis=1)

    assert lengths(reset).max() < 6
    assert np.allclose(reset.bone_matrices[:11], stretched.bone_matrices[:11])
    assert lengths(stretched).max() > 6
    simulation = mmdskin.Simulation(model, motion, mmdskin.Physics(teleport=30))
    simulation.pose(30)
    assert any("and all others were reset at frame 10.5" in note for note in simulation.notes)


# Symmetry


def mirrored(file):
    """The chain mirrored at the plane x = 0."""

    def mirrored_vector(vector):
        return (-vector[0], *vector[1:])

    def mirrored_angles(angles):
        return (angles[0], -angles[1], -angles[2])

    for one in (*file.bones, *file.rigid_bodies, *file.joints):
        one.position = mirrored_vector(one.position)
    for one in (*file.rigid_bodies, *file.joints):
        one.rotation = mirrored_angles(one.rotation)
    for joint in file.joints:
        lower = mirrored_angles(joint.rotation_lower)
        upper = mirrored_angles(joint.rotation_upper)
        joint.rotation_lower = (lower[0], upper[1], upper[2])
        joint.rotation_upper = (upper[0], lower[1], lower[2])
    return file


def test_a_mirrored_model_has_mirrored_physics(swing):
    """From a bent pose, as at rest the last bit decides which limits are violated."""
    track = swing.bones[0]
    translations = track.translations * np.float32([-1, 1, 1])
    rotations = track.rotations * np.float32([1, -1, -1, 1])
    other = mmdskin.Motion.from_tracks([("root", track.frames, translations, rotations, None)])
    settings = mmdskin.Physics(start=4.4, settle=0)
    frames = np.arange(5, 35)
    model, image = load(chain_file()), load(mirrored(chain_file()))
    left = bone_positions(model, model.pose(swing, frames, physics=settings))
    right = bone_positions(image, image.pose(other, frames, physics=settings))
    assert np.allclose(left * (-1, 1, 1), right, rtol=0, atol=1e-4)
    assert np.abs(left[..., 0]).max() > 1


def test_bones_after_physics_do_not_depend_on_the_previous_frame(swing):
    """A body drives a bone after physics, whose parent is one as well, and a third appends it."""
    file = after(chain_file((PHYSICS,)), parent=0, position=(0, 20, 0))
    file.bones.append(pmx.Bone("driven", position=(0, 19, 0), parent=len(file.bones) - 1))
    file.rigid_bodies.append(ball(len(file.bones) - 1, (0.3, 19, 0)))
    file = after(file, append=pmx.Append(len(file.bones) - 1, 0.5))
    file.bones[-1].flags |= pmx.APPEND_ROTATION
    model = load(file)
    run = model.pose(swing, RUN, physics=True)
    assert same(model.pose(swing, 30, physics=True), [array[30] for array in run])
