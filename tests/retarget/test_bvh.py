# SPDX-License-Identifier: MIT
"""load_bvh(): joints are where the format's definition puts them; damaged files are refused."""

import itertools
import random

import mmdskin
import numpy as np
import pytest
from retarget import bvh_file
from retarget.bvh_file import Joint

CHAIN = [
    Joint("Hips", -1, (1, 90, -2), bvh_file.ROOT),
    Joint("Spine", 0, (0, 10, 1)),
    Joint("Head", 1, (0, 40, -3)),
    Joint("Head end", 2, (0, 20, 0)),
]


def loaded(text):
    return mmdskin.load_bvh(text.encode() if isinstance(text, str) else text)


def refused(text):
    with pytest.raises(mmdskin.FormatError) as info:
        loaded(text)
    return str(info.value)


def wanted(joints, values):
    return mmdskin.convert(bvh_file.worlds(joints, values), "matrices", to="opengl")


@pytest.mark.parametrize("order", ["".join(order) for order in itertools.permutations("XYZ")])
def test_joints_turn_in_the_order_of_their_channels(order):
    channels = tuple(f"{axis}rotation" for axis in order)
    joints = [
        CHAIN[0]._replace(channels=(*bvh_file.ROOT[:3], *channels)),
        *(joint._replace(channels=channels) for joint in CHAIN[1:3]),
        CHAIN[3],
    ]
    values = np.random.default_rng(5).uniform(-180, 180, (7, 12))
    skeleton, poses, fps = loaded(bvh_file.text(joints, values, 30))
    assert skeleton.names == ("Hips", "Spine", "Head", "Head end") and fps == 30
    assert skeleton.parents.tolist() == [-1, 0, 1, 2]
    np.testing.assert_allclose(poses, wanted(joints, values), atol=1e-5)


def test_offsets_are_places_at_rest_and_where_no_channel_moves_a_joint():
    joints = [*CHAIN[:2], CHAIN[2]._replace(channels=("Yposition", "Xrotation")), CHAIN[3]]
    values = np.zeros((2, 11))
    values[:, :3] = 5, 6, 7  # the root's place
    values[1, 9] = 44  # of the head along y
    skeleton, poses, _ = loaded(bvh_file.text(joints, values))
    places = poses[..., :3, 3]
    assert skeleton.rest[:, :3, 3].tolist() == [[1, 90, 2], [1, 100, 1], [1, 140, 4], [1, 160, 4]]
    assert places[:, 0].tolist() == [[5, 6, -7]] * 2
    assert places[1, 2].tolist() == [5, 6 + 10 + 44, -7 - 1 + 3]


def test_a_walk_is_read_as_it_was_made():
    joints, values = bvh_file.walk(0.5)
    text = bvh_file.text(joints, values, newline="\r\n")
    skeleton, poses, fps = loaded(text)
    assert fps == bvh_file.FPS
    np.testing.assert_allclose(poses, wanted(joints, values), atol=1e-5)
    assert {"hips", "head", "leftHand", "rightFoot", "leftToes"} <= set(skeleton.human)
    assert not skeleton.doubts


@pytest.mark.parametrize("up", ["z", None])
def test_files_whose_z_axis_points_up_stand(up):
    joints, values = bvh_file.walk(0.2)
    skeleton, poses, _ = loaded(bvh_file.text(joints, values))
    text = bvh_file.text(*bvh_file.z_up(joints, values)).encode()
    found, turned, _ = mmdskin.load_bvh(text, up=up)
    np.testing.assert_allclose(turned, poses, atol=1e-5)
    np.testing.assert_allclose(found.rest, skeleton.rest, atol=1e-5)
    lying = mmdskin.load_bvh(text, up="y")[1][:, found.human["head"], :3, 3]
    assert np.abs(lying[:, 1]).max() < 50
    with pytest.raises(ValueError, match='up: "x", expected y or z'):
        mmdskin.load_bvh(text, up="x")


@pytest.mark.parametrize(("name", "code"), [("腰", "utf-8"), ("腰", "cp932"), ("café", "latin-1")])
def test_names_in_other_encodings_are_read(name, code):
    text = bvh_file.text(CHAIN, np.zeros((1, 12))).encode().replace(b"Spine", name.encode(code))
    assert loaded(text)[0].names[1] == name


def test_names_that_two_joints_have_are_told_apart():
    text = bvh_file.text(CHAIN, np.zeros((1, 12))).replace("Spine", "Head")
    assert loaded(text)[0].names == ("Hips", "Head", "Head 2", "Head 2 end")


def test_files_and_several_roots_are_read(tmp_path):
    joints = [*CHAIN, Joint("Ball", -1, (0, 0, 0), bvh_file.ROOT), Joint("Ball end", 4, (0, 1, 0))]
    path = tmp_path / "two.bvh"
    path.write_text(bvh_file.text(joints, np.ones((3, 18))))
    assert loaded(path.read_bytes())[0].parents.tolist() == [-1, 0, 1, 2, -1, 4]
    with open(path, "rb") as file:
        assert len(mmdskin.load_bvh(file)[1]) == len(mmdskin.load_bvh(path)[1]) == 3


@pytest.mark.parametrize(("fps", "found"), [(29.97, 29.97), (60.0003, 60), (0.5, 0.5)])
def test_rates_are_whole_where_the_file_has_rounded_them(fps, found):
    text = bvh_file.text(CHAIN, np.zeros((1, 12)), fps)
    assert loaded(text)[2] == pytest.approx(found, rel=1e-5)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("HIERARCHY", "", "this is no BVH file"),
        ("MOTION", "", "MOTION: there is none"),
        ("Frames: 4", "Frames: 99999999999999999999", "expected Frames: with their number"),
        ("Frames: 4", "Frames: 4000000000", "4,000,000,000 frames of 4 joints"),
        ("Frames: 4", "Frames: 5", "48 numbers, expected 5 frames of 12 channels: 60"),
        ("Frames: 4", "Frames: -4", "expected Frames: with their number"),
        ("Frames: 4", "Frames: 0", "no frames"),
        ("Frame Time: 0.0083333", "Frame Time: 0", "Frame Time: 0: expected seconds"),
        ("Frame Time: 0.0083333", "Frame Time: nan", "nan: expected a number"),
        ("0.250000", "nan", "frame 0: expected finite numbers"),
        ("0.250000", "1e300", "frame 0: expected finite numbers"),
        ("0.250000", "12-5", "something that is no number"),
        ("OFFSET 0.000000 40", "OFFSET 1e9 40", "joint Head: it is over 1e+09 away"),
        ("OFFSET 1.000000", "OFFSET 1e10", "joint Hips: 1e10: expected a number of at most 1e+09"),
        ("OFFSET 1.000000", "OFFSET inf", "joint Hips: inf: expected a number"),
        ("OFFSET 1.000000 ", "OFFSET ", "joint Hips: expected one OFFSET of three numbers"),
        ("CHANNELS 3", "CHANNELS 1000000", "joint Spine: expected CHANNELS"),
        ("CHANNELS 6 Xposition", "CHANNELS 6 Yposition", "joint Hips: expected CHANNELS"),
        ("Xposition", "Wposition", "joint Hips: expected CHANNELS"),
        ("JOINT Spine", "Spine", "joint Hips: Spine: expected JOINT or End Site or }"),
        ("JOINT Spine", "ROOT Spine", "joint Hips: ROOT: expected JOINT or End Site or }"),
        ("{", "", "joint Hips: OFFSET: expected {"),
        ("}\nMOTION", "MOTION", "it ends in the middle of a joint"),
        ("}\nMOTION", "}\n}\nMOTION", "joint Head end: }: expected ROOT"),
    ],
)
def test_damage_is_named(old, new, says):
    text = bvh_file.text(CHAIN, np.full((4, 12), 0.25))
    assert old in text
    assert says in refused(text.replace(old, new, 1))


def test_the_depth_and_number_of_joints_are_limited():
    def deep(count):
        joints = [Joint(f"j{i}", i - 1, (0, 1, 0), ("Xrotation",)) for i in range(count)]
        lines = [
            f"{'JOINT' if j.parent >= 0 else 'ROOT'} {j.name}\n{{\nOFFSET 0 1 0\nCHANNELS 1 Xrotation"
            for j in joints
        ]
        body = "\n".join([*lines, *(["}"] * count)])
        return f"HIERARCHY\n{body}\nMOTION\nFrames: 1\nFrame Time: 0.1\n{'0 ' * count}\n"

    _, poses, _ = loaded(deep(1000))
    assert poses[0, -1, 1, 3] == 1000
    assert "over 4,096 joints" in refused(deep(5000))


def test_files_that_are_larger_than_what_they_hold_are_refused():
    """Before memory for it is taken."""
    text = bvh_file.text(CHAIN, np.zeros((2, 12)))
    assert "expected at most 4,194,304" in refused(text.replace("ROOT", " " * 5_000_000 + "ROOT"))
    assert "bytes for 2 frames of 12 channels" in refused(text + "0 " * 5000)


def test_damaged_files_are_read_or_refused():
    """Bytes changed, cut out, repeated, numbers and lines exchanged: FormatError or a motion, and nothing else."""
    joints, values = bvh_file.walk(0.05)
    whole = bvh_file.text(joints, values).encode()
    random.seed(1)
    refusals = 0
    for _ in range(200):
        data = bytearray(whole)
        kind = random.randrange(5)
        a, b = sorted(random.randrange(len(data)) for _ in range(2))
        if kind == 0:
            for _ in range(random.randrange(1, 9)):
                data[random.randrange(len(data))] = random.randrange(256)
        elif kind == 1:
            del data[a:b]
        elif kind == 2:
            data[a:a] = data[a:b]
        elif kind == 3:
            numbers = bytes(data).split(b" ")
            numbers[random.randrange(len(numbers))] = random.choice((b"1e9", b"-1e9", b"nan", b"0"))
            data = b" ".join(numbers)
        else:
            lines = data.splitlines(keepends=True)
            i, j = (random.randrange(len(lines)) for _ in range(2))
            lines[i], lines[j] = lines[j], lines[i]
            data = b"".join(lines)
        try:
            _, poses, _ = loaded(bytes(data))
            assert np.isfinite(poses).all()
        except mmdskin.FormatError:
            refusals += 1
    assert refusals > 100
