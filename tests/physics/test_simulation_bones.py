# SPDX-License-Identifier: MIT
"""How bodies and bones carry each other: modes, bones after physics, switches, impulses."""

import mmdskin
import numpy as np
import pytest
from files import motion_file as mf
from files import pmx_file as pmx
from physics import hanging
from physics.hanging import FOLLOWS, LINKS, PHYSICS, WITH_BONE, ball, chain_file, heads, load, same

RUN = np.arange(31)
AT_ONCE = mmdskin.Physics(settle=0, damping_extra=False)


@pytest.fixture(scope="module")
def swing():
    return hanging.swing()


def rotation(q):
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def matrix(place):
    m = np.eye(4)
    m[:3, :3], m[:3, 3] = rotation(place[3:7]), place[:3]
    return m


def test_bones_go_with_their_bodies(swing):
    """A world that is stepped by hand along the root's own keys; bones by matrices."""
    model = load(chain_file())
    world = mmdskin.World(model.rigid_bodies, model.joints)
    rest = [matrix(row) for row in world.state]
    roots = model.pose(swing, RUN).bone_matrices[:, 0].astype(float)
    halves = model.pose(swing, np.arange(61) / 2).bone_matrices[:, 0].astype(float)
    keys = swing.bones[0]
    state = np.array(world.state)
    state[:, :3] += keys.translations[0]  # the first key turns nothing but x and z of sin(0)
    assert np.allclose(halves[0, :3, :3], np.eye(3))
    world.state = state
    ours = model.pose(swing, RUN, physics=mmdskin.Physics(settle=0)).bone_matrices
    for step in range(1, 61):
        world.step([place_of(halves[step] @ rest[0])])
        if step % 2:
            continue
        for bone in range(1, LINKS + 1):
            wanted = matrix(world.state[bone]) @ np.linalg.inv(rest[bone])
            assert np.allclose(ours[step // 2, bone], wanted, rtol=0, atol=1e-3), (step, bone)
        assert np.allclose(ours[step // 2, 0], roots[step // 2], rtol=0, atol=1e-6)
        # the tip has no body and hangs on the last link
        assert np.array_equal(ours[step // 2, LINKS + 1], ours[step // 2, LINKS])


def place_of(m):
    w = np.sqrt(max(0.0, 1 + np.trace(m[:3, :3]))) / 2
    r = m[:3, :3]
    xyz = np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]) / (4 * w)
    return [*m[:3, 3], *xyz, w]


def test_with_the_bone_only_the_rotation_comes_from_the_body(swing):
    model = load(chain_file((WITH_BONE, PHYSICS, PHYSICS, PHYSICS)))
    by_physics = load(chain_file()).pose(swing, RUN, physics=True)
    still, moved = model.pose(swing, RUN), model.pose(swing, RUN, physics=True)
    assert np.allclose(heads(model, moved)[:, 1], heads(model, still)[:, 1], rtol=0, atol=1e-5)
    turned = by_physics.bone_matrices[:, 1, :3, :3]
    assert np.allclose(moved.bone_matrices[:, 1, :3, :3], turned, rtol=0, atol=1e-6)
    assert np.abs(turned - still.bone_matrices[:, 1, :3, :3]).max() > 0.1


def test_with_a_bone_that_physics_moves_all_comes_from_the_body(swing):
    modes = (PHYSICS, WITH_BONE, WITH_BONE, PHYSICS)
    given = load(chain_file(modes)).pose(swing, RUN, physics=True)
    assert same(given, load(chain_file()).pose(swing, RUN, physics=True))


def test_of_two_bodies_on_a_bone_the_last_moves_it():
    """One hangs by its joint; the other falls 1 / 2 g t squared, and is taller by half a unit."""
    file = chain_file()
    file.rigid_bodies.append(ball(1, (0, 19.5, 0), linear_damping=0))
    fall = -98 * 20 * 21 / 2 / 60**2
    model = load(file)
    assert np.isclose(heads(model, model.pose(None, 10, physics=AT_ONCE))[1, 1], 20 + fall)
    file.rigid_bodies[-1].mode = FOLLOWS
    assert heads(model, load(file).pose(None, 10, physics=AT_ONCE))[1, 1] > 19


def after(file, **fields):
    """A bone behind all others, flagged as after physics."""
    flags = 0x1E | pmx.AFTER_PHYSICS
    file.bones.append(pmx.Bone("after", flags=flags, after_physics=True, **fields))
    return file


def test_bones_after_physics_hang_on_those_it_moves(swing):
    model = load(after(chain_file(), parent=2, position=(0, 18.5, 0)))
    pose = model.pose(swing, RUN, physics=True)
    assert np.allclose(pose.bone_matrices[:, -1], pose.bone_matrices[:, 2], rtol=0, atol=2e-6)


def test_bones_after_physics_append_what_it_did(swing):
    """The whole local turn of a link, taken over by a bone of no parent."""
    file = after(chain_file(), append=pmx.Append(2, 1.0))
    file.bones[-1].flags |= pmx.APPEND_ROTATION
    model = load(file)
    pose = model.pose(swing, RUN, physics=True)
    turns = pose.bone_matrices[:, :, :3, :3].astype(float)
    local = np.swapaxes(turns[:, 1], -1, -2) @ turns[:, 2]
    assert np.abs(local - np.eye(3)).max() > 0.1
    assert np.allclose(turns[:, -1], local, rtol=0, atol=5e-3)  # MMD's pi is 3.14


def test_a_body_may_move_a_bone_after_physics(swing):
    file = chain_file()
    file.bones[3].flags |= pmx.AFTER_PHYSICS
    file.bones[3].after_physics = True
    given = load(file).pose(swing, RUN, physics=True)
    wanted = load(chain_file()).pose(swing, RUN, physics=True)
    assert np.allclose(given.bone_matrices, wanted.bone_matrices, rtol=0, atol=2e-5)


def test_a_body_without_bone_falls_and_moves_none(swing):
    file = chain_file()
    file.rigid_bodies.append(pmx.RigidBody("free", bone=-1, mask=0, mode=PHYSICS))
    model = load(file)
    given = model.pose(swing, RUN, physics=True)
    assert same(given, load(chain_file()).pose(swing, RUN, physics=True))


def test_a_body_without_bone_that_follows_one_stays_where_it_is(swing):
    """A shelf in the air, on which a ball comes to lie while the root swings beside."""
    file = chain_file()
    shelf = {"shape": 1, "size": (1, 0.5, 1), "mask": 0xFFFF, "mode": FOLLOWS}
    falling = {"size": (0.3, 0, 0), "mask": 0xFFFF, "mode": PHYSICS}
    file.bones.append(pmx.Bone("ball", position=(9, 7, 0)))
    number = len(file.bones) - 1
    file.rigid_bodies.append(pmx.RigidBody("shelf", bone=-1, position=(9, 5, 0), **shelf))
    file.rigid_bodies.append(pmx.RigidBody("ball", bone=number, position=(9, 7, 0), **falling))
    model = load(file)
    place = heads(model, model.pose(swing, 90, physics=True))[number]
    assert np.allclose(place, (9, 5 + 0.5 + 0.3, 0), atol=0.05)  # a box has a margin of 0.04


# Switches


def switched(*keys):
    """A swinging root, and link 1 with keys (frame, physics)."""
    root = hanging.swing().bones[0]
    frames, on = zip(*keys, strict=True)
    link = ("link1", list(frames), None, None, None, list(on))
    return mmdskin.Motion.from_tracks([root, link])


def test_a_switched_off_body_follows_its_bone():
    model = load(chain_file((PHYSICS,)))
    motion = switched((0, True), (10, False), (20, True))
    still, moved = model.pose(motion, RUN), model.pose(motion, RUN, physics=AT_ONCE)
    apart = np.abs(still.bone_matrices - moved.bone_matrices).max(axis=(1, 2, 3))
    assert apart[0] < 1e-6
    assert (apart[1:10] > 1e-4).all()
    assert (apart[10:20] == 0).all()
    assert (apart[21:] > 1e-4).all()


def test_a_body_switched_on_starts_from_its_bone_at_rest():
    """The first step of free fall: g t t."""
    file = chain_file((PHYSICS,))
    file.joints = []
    file.rigid_bodies[1].linear_damping = 0
    model = load(file)
    motion = switched((0, False), (20, True))
    pose = model.pose(motion, [19.5, 20], physics=AT_ONCE)
    before, on = heads(model, pose)[:, 1]
    assert np.allclose(on - before, (0, -98 / 60**2, 0), rtol=0, atol=2e-5)


def test_switches_are_read_from_vmd():
    block = mf.block([mf.STRAIGHT] * 4, b"\x63\x0f")
    on, off = mf.BoneKey("a", 0), mf.BoneKey("a", 9, block=block)
    motion = mmdskin.load_motion(mf.write_vmd(mf.Keys("", [on, off])))
    assert motion.bones[0].physics.tolist() == [True, False]


def test_switches_are_written_and_pickled(tmp_path):
    motion = switched((0, True), (10, False), (20, True))
    motion.save(tmp_path / "a.vmd")
    back = mmdskin.load_motion(tmp_path / "a.vmd")
    assert [track.physics.tolist() for track in back.bones] == [[True] * 10, [True, False, True]]
    found = mf.read((tmp_path / "a.vmd").read_bytes())
    assert found.bones[1].physics.tolist() == [True, False, True]


@pytest.mark.parametrize("off", [True, False])
def test_other_bytes_do_not_switch(off):
    curves = [[0x63, 15, 1, 2]] * 4
    flag = b"\x63\x0f" if off else b"\x0f\x63"
    key = mf.BoneKey("a", 0, block=mf.block(curves, flag))
    (track,) = mmdskin.load_motion(mf.write_vmd(mf.Keys("", [key]))).bones
    assert track.physics.tolist() == [not off]


# Impulse morphs


PUSH = (0, 12, 0, 0, 0, 0, 0)
STOP = (0,) * 7


def pushed(frames, weights, turn=0.0):
    """(F,4,4) of a ball of mass 2 and radius 1 without gravity; weights: {offset: of each frame}."""
    file = pmx.PMX(bones=[pmx.Bone("root")], version=2.1)
    body = pmx.RigidBody("b", bone=0, mask=0, mass=2.0, mode=PHYSICS, rotation=(0, turn, 0))
    body.linear_damping = body.angular_damping = 0.0
    file.rigid_bodies, tracks = [body], []
    for offset, keys in weights.items():
        name = f"push{len(tracks)}"
        values = np.float32([offset])
        file.morphs.append(pmx.Morph(name, kind=10, indices=np.int32([0]), values=values))
        tracks.append((name, list(range(len(keys))), keys))
    motion = mmdskin.Motion.from_tracks(morphs=tracks)
    settings = mmdskin.Physics((0, 0, 0), settle=0, damping_extra=False, ground=False)
    return load(file).pose(motion, frames, physics=settings).bone_matrices[:, 0]


@pytest.mark.parametrize(("local", "way"), [(0, (1, 0, 0)), (1, (0, 0, -1))])
def test_an_impulse_gives_speed(local, way):
    """12 / mass 2 in each of two steps: 6, then 12 units a second, over a sixtieth each."""
    (moved,) = pushed([1], {(local, *PUSH[1:]): (1, 1)}, turn=np.pi / 2)
    assert np.allclose(moved[:3, 3], 18 / 60 * np.array(way), rtol=0, atol=1e-5)


def test_half_a_weight_is_half_an_impulse():
    (moved,) = pushed([1], {PUSH: (0.5, 0.5)})
    assert np.allclose(moved[:3, 3], (9 / 60, 0, 0), rtol=0, atol=1e-6)


def test_a_torque_gives_spin():
    """Inertia of the ball 2 / 5 x 2: 0.8; spin 0.4 / 0.8 more in each of two steps."""
    (moved,) = pushed([1], {(0, 0, 0, 0, 0, 0, 0.4): (1, 1)})
    assert np.allclose(np.arctan2(moved[1, 0], moved[0, 0]), 1.5 / 60, rtol=1e-4)


def test_an_impulse_of_nothing_stops():
    flies = pushed([3, 4], {PUSH: (1, 1, 0), STOP: (0,)})
    assert flies[1, 0, 3] > flies[0, 0, 3] + 0.1
    stops = pushed([3, 4], {PUSH: (1, 1, 0), STOP: (0, 0, 1)})
    assert stops[1, 0, 3] == stops[0, 0, 3] > 0.1


# Jumps


def test_a_jump_begins_anew_with_teleport():
    file = chain_file()
    model = load(file)
    frames = [0, 10, 11, 40]
    moves = [(0, 0, 0), (0, 0, 0), (100, 0, 0), (100, 0, 0)]
    motion = mmdskin.Motion.from_tracks([("root", frames, moves, None, None)])
    torn = model.pose(motion, RUN, physics=True)
    whole = model.pose(motion, RUN, physics=mmdskin.Physics(teleport=30))
    tip = heads(model, whole)[:, 4] - heads(model, whole)[:, 0]
    assert np.linalg.norm(tip, axis=1).max() < 6
    assert np.allclose(whole.bone_matrices[:11], torn.bone_matrices[:11])
    assert np.linalg.norm((heads(model, torn)[:, 4] - heads(model, torn)[:, 0]), axis=1).max() > 6
    simulation = mmdskin.Simulation(model, motion, mmdskin.Physics(teleport=30))
    simulation.pose(30)
    assert any("began anew at frame 10.5" in note for note in simulation.notes)


# Symmetry


def mirrored(file):
    """The same chain at the other side of the plane x = 0."""

    def across(vector):
        return (-vector[0], *vector[1:])

    def turned(angles):
        return (angles[0], -angles[1], -angles[2])

    for one in (*file.bones, *file.rigid_bodies, *file.joints):
        one.position = across(one.position)
    for one in (*file.rigid_bodies, *file.joints):
        one.rotation = turned(one.rotation)
    for joint in file.joints:
        lower, upper = turned(joint.rotation_lower), turned(joint.rotation_upper)
        joint.rotation_lower = (lower[0], upper[1], upper[2])
        joint.rotation_upper = (upper[0], lower[1], lower[2])
    return file


def test_a_mirrored_model_dances_as_in_a_mirror(swing):
    """From a pose that is bent, as at rest the last bit decides which limits act."""
    track = swing.bones[0]
    moves = track.translations * np.float32([-1, 1, 1])
    turns = track.rotations * np.float32([1, -1, -1, 1])
    other = mmdskin.Motion.from_tracks([("root", track.frames, moves, turns, None)])
    settings = mmdskin.Physics(start=4.4, settle=0)
    frames = np.arange(5, 35)
    model, image = load(chain_file()), load(mirrored(chain_file()))
    left = heads(model, model.pose(swing, frames, physics=settings))
    right = heads(image, image.pose(other, frames, physics=settings))
    assert np.allclose(left * (-1, 1, 1), right, rtol=0, atol=1e-4)
    assert np.abs(left[..., 0]).max() > 1


def test_bones_after_physics_forget_the_frame_before(swing):
    """A body moves a bone after physics whose parent is such a bone, too, and one appends from it."""
    file = after(chain_file((PHYSICS,)), parent=0, position=(0, 20, 0))
    file.bones.append(pmx.Bone("driven", position=(0, 19, 0), parent=len(file.bones) - 1))
    file.rigid_bodies.append(ball(len(file.bones) - 1, (0.3, 19, 0)))
    file = after(file, append=pmx.Append(len(file.bones) - 1, 0.5))
    file.bones[-1].flags |= pmx.APPEND_ROTATION
    model = load(file)
    run = model.pose(swing, RUN, physics=True)
    assert same(model.pose(swing, 30, physics=True), [array[30] for array in run])
