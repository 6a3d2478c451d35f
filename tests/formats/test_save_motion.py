# SPDX-License-Identifier: MIT
"""`Motion.from_tracks` and `Motion.save`, judged by the independent reader and writer."""

import io
import os
import pickle
import struct
import subprocess
import sys

import mmdskin
import numpy as np
import pytest
from files import motion_file as mf
from files import pmx_file as pmx
from files.small import rigid_file
from formats.test_motion import FILES, random_keys

BoneTrack, MorphTrack = mmdskin.BoneTrack, mmdskin.MorphTrack
MEMBERS = ("bones", "morphs", "camera", "light", "shadow", "properties", "name")
TURN = np.float32([[0, 0.6, 0, 0.8]])


def tracks(motion):
    """The arguments of from_tracks, with copied arrays."""
    return {member: copied(getattr(motion, member)) for member in MEMBERS}


def copied(value):
    if isinstance(value, np.ndarray):
        return value.copy()
    if hasattr(value, "_fields"):
        return type(value)(*map(copied, value))
    return tuple(map(copied, value)) if isinstance(value, tuple) else value


def assert_equal(found, expected):
    """Checks that two motions are equal bit for bit."""
    if isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tobytes() == expected.tobytes()
    elif isinstance(expected, tuple):
        assert len(found) == len(expected)
        for pair in zip(found, expected, strict=True):
            assert_equal(*pair)
    else:
        assert found == expected


def assert_same_motion(found, expected):
    for member in (*MEMBERS, "frame_range"):
        assert_equal(getattr(found, member), getattr(expected, member))


def saved(motion, **options):
    file = io.BytesIO()
    motion.save(file, **{"part": "all"} | options)
    return file.getvalue()


def by_frame(data):
    """The records of the bone keys, of equal frames the last."""
    return {(key.name, key.frame): repr(key) for key in mf.keys(data).bones}


def named(**names):
    """A motion with a track per name."""
    bones = [BoneTrack(n, [0], None, TURN, None) for n in names.get("bones", ())]
    morphs = [MorphTrack(n, [0], [1]) for n in names.get("morphs", ())]
    ik = tuple(names.get("ik", ()))
    states = mmdskin.PropertyTrack([0], [True], ik, np.zeros((1, len(ik)), bool))
    return mmdskin.Motion.from_tracks(bones, morphs, properties=states, name=names.get("name", ""))


@pytest.fixture(scope="module", params=FILES)
def real(request):
    return mmdskin.load_motion(request.param)


# Real files


def test_a_real_motion_is_read_back_as_saved(real):
    assert_same_motion(mmdskin.load_motion(saved(real)), real)


def test_tracks_of_a_real_motion_reproduce_it(real):
    assert_same_motion(mmdskin.Motion.from_tracks(**tracks(real)), real)


def test_tracks_of_a_real_motion_give_the_same_pose_bit_for_bit(real):
    file = rigid_file(1)
    names = [track.name for track in real.bones]
    file.bones = [pmx.Bone(name, "", flags=0x6) for name in names] or file.bones
    model = mmdskin.load_model(pmx.write(file))
    frames = np.linspace(*real.frame_range, 50)
    again = mmdskin.Motion.from_tracks(**tracks(real))
    assert_equal(model.pose(again, frames), model.pose(real, frames))


@pytest.mark.parametrize("path", [p for p in FILES if p.id.endswith("vmd")])
def test_every_byte_of_the_keys_of_a_real_motion_is_written_again(path):
    data = path.read_bytes()
    motion = mmdskin.load_motion(data)
    assert by_frame(saved(motion)) == by_frame(data)
    assert by_frame(saved(mmdskin.Motion.from_tracks(**tracks(motion)))) == by_frame(data)


# Keys of every kind


@pytest.mark.parametrize("seed", range(30))
def test_random_motions_are_read_back_as_saved(seed):
    motion = mmdskin.load_motion(mf.write_vmd(random_keys(seed)))
    again = mmdskin.Motion.from_tracks(**tracks(motion))
    assert_same_motion(again, motion)
    data = saved(again)
    assert_same_motion(mmdskin.load_motion(data), motion)
    assert saved(mmdskin.load_motion(data)) == data


def test_the_file_is_laid_out_as_mmd_does():
    """The same bytes as the independent writer gives for the same keys."""
    curves = np.arange(1, 17, dtype=np.uint8).reshape(4, 4)
    keys = mf.Keys(
        "モデル",
        [mf.BoneKey("左ひじ", 3, (1, 2, 3), (0, 0.6, 0, 0.8), mf.block(curves))],
        [mf.MorphKey("まばたき", 4, 0.25)],
        [mf.CameraKey(5, -30, (1, 2, 3), (0.1, 0.2, 0.3), bytes(range(24)), 40, 1)],
        [mf.LightKey(6, (0.1, 0.2, 0.3), (1, -1, 0.5))],
        [mf.ShadowKey(7, 2, 0.09)],
        [mf.PropertyKey(8, 0, [("左足ＩＫ", 1), ("右足ＩＫ", 0)])],
    )
    file = mf.write_vmd(keys)
    motion = mmdskin.load_motion(file)
    assert saved(motion) == saved(mmdskin.Motion.from_tracks(**tracks(motion))) == file


def test_a_pose_file_may_be_saved_as_a_motion():
    keys = mf.Keys("モデル", [mf.BoneKey(b"a", 0, (1, 2, 3))], [mf.MorphKey(b"m", 0, 0.5)])
    motion = mmdskin.load_motion(mf.write_vpd(keys))
    assert_same_motion(mmdskin.load_motion(saved(motion)), motion)


def test_an_empty_motion_is_valid():
    motion = mmdskin.Motion.from_tracks()
    assert (motion.name, motion.frame_range, motion.bones, motion.morphs) == ("", (0, 0), (), ())
    assert_same_motion(mmdskin.load_motion(saved(motion)), motion)


# Stored bytes


def odd_key():
    """A key of no quite unit rotation, whose block has other bytes than we would write."""
    block = bytearray(mf.block([[30, 40, 50, 60]] * 4, b"\x1e\x1e"))
    block[31], block[61:] = 1, b"\x36\x31\x73"
    return mf.BoneKey("a", 0, (1, 2, 3), (0, 0.6000001, 0, 0.8), bytes(block))


def test_stored_bytes_are_those_of_the_file():
    (track,) = mmdskin.load_motion(mf.write_vmd(mf.Keys("", [odd_key()]))).bones
    key = odd_key()
    assert track.stored.tobytes() == struct.pack("<4f", *key.rotation) + key.block
    assert np.abs(np.linalg.norm(track.rotations.astype(float)) - 1) < 1e-7


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({}, (True, True)),
        ({"translations": [[9, 9, 9]], "frames": [5]}, (True, True)),
        ({"rotations": TURN * [1, -1, 1, 1]}, (False, True)),
        ({"interpolation": np.full((1, 4, 4), 9, np.uint8)}, (True, False)),
        ({"physics": [False]}, (True, False)),
    ],
)
def test_stored_bytes_are_written_while_the_key_says_the_same(change, kept):
    motion = mmdskin.load_motion(mf.write_vmd(mf.Keys("", [odd_key()])))
    track = motion.bones[0]._replace(**change)
    edited = mmdskin.Motion.from_tracks([track])
    (key,) = mf.keys(saved(edited)).bones
    before = odd_key()
    rotation = struct.pack("<4f", *key.rotation) == struct.pack("<4f", *before.rotation)
    assert (rotation, key.block == before.block) == kept
    (found,) = mmdskin.load_motion(saved(edited)).bones
    for member, value in change.items():
        assert np.array_equal(getattr(found, member), np.float32(value)), member


def test_a_track_of_arrays_has_no_stored_bytes():
    assert mmdskin.Motion.from_tracks([("a", [0], None, None, None)]).bones[0].stored is None


# from_tracks and its arrays


def test_a_motion_may_be_edited():
    motion = mmdskin.load_motion(
        mf.write_vmd(mf.Keys("", [mf.BoneKey("a", 0), mf.BoneKey("a", 9)]))
    )
    given = tracks(motion)
    given["bones"][0].translations[1] = (1, 2, 3)
    edited = mmdskin.Motion.from_tracks(**given)
    assert edited.bones[0].translations.tolist() == [[0, 0, 0], [1, 2, 3]]
    assert motion.bones[0].translations.tolist() == [[0, 0, 0]] * 2


def test_arrays_are_copied():
    given = BoneTrack("a", np.uint32([4]), np.float32([[1, 2, 3]]), TURN.copy(), None)
    motion = mmdskin.Motion.from_tracks([given])
    given.frames[:], given.translations[:], given.rotations[:] = 9, 9, 9
    assert motion.bones[0].frames.tolist() == [4]
    assert motion.bones[0].translations.tolist() == [[1, 2, 3]]
    assert np.array_equal(motion.bones[0].rotations, TURN)


def test_keys_are_sorted_and_of_equal_frames_the_last_is_kept():
    motion = mmdskin.Motion.from_tracks(morphs=[("m", [5, 2, 5, 0], [1, 2, 3, 4])])
    assert motion.morphs[0].frames.tolist() == [0, 2, 5]
    assert motion.morphs[0].weights.tolist() == [4, 2, 3]


def test_missing_values_of_bones_are_at_rest_and_linear():
    (track,) = mmdskin.Motion.from_tracks([("a", [0, 7], None, None, None)]).bones
    assert track.translations.tolist() == [[0, 0, 0]] * 2
    assert track.rotations.tolist() == [[0, 0, 0, 1]] * 2
    assert track.interpolation.tolist() == [[[20, 20, 107, 107]] * 4] * 2


@pytest.mark.parametrize("physics", [False, True])
def test_curves_of_zeros_are_not_mixed_with_the_physics_flag(physics):
    """The flag takes the place of two of their bytes."""
    track = BoneTrack("a", [0], None, None, np.zeros((1, 4, 4), np.uint8), [physics])
    motion = mmdskin.Motion.from_tracks([track])
    assert_same_motion(mmdskin.load_motion(saved(motion)), motion)


def test_missing_values_of_cameras_are_linear_and_perspective():
    given = ([0], [-45], [(0, 10, 0)], [(0, 0, 0)], None, [30], None)
    camera = mmdskin.Motion.from_tracks(camera=given).camera
    assert camera.interpolation.tolist() == [[[20, 20, 107, 107]] * 6]
    assert camera.perspective.tolist() == [True]


def test_rotations_are_normalized():
    motion = mmdskin.Motion.from_tracks([("a", [0], None, TURN * 5, None)])
    np.testing.assert_allclose(motion.bones[0].rotations, TURN, atol=1e-7)


def test_tracks_without_keys_are_dropped():
    motion = mmdskin.Motion.from_tracks(
        [("a", [], None, None, None), ("b", [1], None, None, None)],
        [("m", [], [])],
        properties=([], [], ("ik",), np.zeros((0, 1), bool)),
    )
    assert [track.name for track in motion.bones] == ["b"]
    assert (motion.morphs, motion.properties.ik_names) == ((), ())


def test_a_motion_of_tracks_is_pickled_as_its_tracks():
    motion = mmdskin.load_motion(mf.write_vmd(random_keys(3)))
    made = mmdskin.Motion.from_tracks(**tracks(motion))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert_same_motion(pickle.loads(pickle.dumps(made, protocol)), motion)


NAN = np.float32([[0, np.nan, 0]])
GOOD = {"frames": [0], "translations": [[0, 0, 0]], "rotations": TURN, "interpolation": None}


@pytest.mark.parametrize(
    "change, kind, text",
    [
        ({"stored": np.zeros((1, 64), "u1")}, ValueError, "bones[1].stored: shape (1, 64), expected (1, 80)"),
        ({"translations": NAN}, ValueError, "bones[1].translations: key 0, component 1 is NaN"),
        ({"rotations": [[0, 0, np.inf, 0]]}, ValueError, "bones[1].rotations: key 0, component 2 is"),
        ({"rotations": [[0, 0, -0.0, 0]]}, ValueError, "bones[1].rotations: key 0 has zero length"),
        ({"rotations": [[0, 0, 1]]}, ValueError, "bones[1].rotations: shape (1, 3), expected (1, 4)"),
        ({"frames": [-1]}, ValueError, "bones[1].frames[0]: -1 is out of range for uint32"),
        ({"frames": [2**32]}, ValueError, "bones[1].frames[0]: 4294967296 is out of range for uint32"),
        ({"frames": [0.5]}, TypeError, "bones[1].frames: dtype float64, expected integers"),
        ({"frames": None}, TypeError, "bones[1].frames: expected integers, not <class 'NoneType'>"),
        ({"frames": [0, 1]}, ValueError, "bones[1].translations: shape (1, 3), expected (2, 3)"),
        (
            {"interpolation": np.full((1, 4, 4), 128, np.uint8)},
            ValueError,
            "bones[1].interpolation: key 0, component 0: 128, limit 127",
        ),
        (
            {"interpolation": np.full((1, 4, 4), -1)},
            ValueError,
            "bones[1].interpolation[0, 0, 0]: -1 is out of range for uint8",
        ),
        ({"name": 5}, TypeError, "bones[1].name: expected a str"),
        ({"name": "a\0b"}, ValueError, "bones[1]: the name contains a NUL"),
        ({"name": "root"}, ValueError, 'bones[1]: duplicate name "root", also of bones[0]'),
    ],
)  # fmt: skip
def test_a_bad_bone_track_is_rejected_by_name(change, kind, text):
    good = BoneTrack("root", **GOOD)
    with pytest.raises(kind) as refused:
        mmdskin.Motion.from_tracks([good, BoneTrack(**({"name": "a"} | GOOD | change))])
    assert str(refused.value).startswith(text)


@pytest.mark.parametrize(
    "given, kind, text",
    [
        ({"morphs": [("m", [0], [np.nan])]}, ValueError, "morphs[0].weights: key 0, component 0"),
        ({"morphs": [("m", [0], None)]}, ValueError, "morphs[0].weights: missing"),
        ({"morphs": [("m", [0])]}, TypeError, "morphs[0]: expected a MorphTrack"),
        ({"bones": [7]}, TypeError, "bones[0]: expected a BoneTrack"),
        ({"bones": 7}, TypeError, "bones: expected a sequence, not <class 'int'>"),
        ({"name": "\ud800"}, ValueError, "name: unpaired surrogate"),
        ({"name": None}, TypeError, "name: expected a str"),
        ({"light": ([0], [[1, 1, 1]], None)}, ValueError, "light.directions: missing"),
        ({"shadow": ([0], [3], [0])}, ValueError, "shadow.modes: key 0, component 0: 3, limit 2"),
        (
            {"properties": ([0], [2], (), np.zeros((1, 0), bool))},
            ValueError,
            "properties.visible[0]: 2 is out of range for bool",
        ),
        (
            {"properties": ([0], [1], ("a", "b"), [[1]])},
            ValueError,
            "properties.ik_enabled: shape (1, 1), expected (1, 2)",
        ),
        (
            {"properties": ([0], [1], ("a", "a"), [[1, 0]])},
            ValueError,
            'properties.ik_names[1]: duplicate name "a", also of properties.ik_names[0]',
        ),
        (
            {"properties": ([0], [1], "ab", [[1, 0]])},
            TypeError,
            "properties.ik_names: expected a sequence of names",
        ),
        ({"properties": ([0], [1], (3,), [[1]])}, TypeError, "properties.ik_names[0]: expected a str"),
        ({"properties": ([0], None, None, [[1]])}, TypeError, "properties.ik_names: expected a seq"),
        ({"camera": (1, 2)}, TypeError, "camera: expected a CameraTrack"),
    ],
)  # fmt: skip
def test_other_bad_tracks_are_rejected_by_name(given, kind, text):
    with pytest.raises(kind) as refused:
        mmdskin.Motion.from_tracks(**given)
    assert str(refused.value).startswith(text)


# Files


@pytest.mark.parametrize("as_path", [str, lambda path: path, lambda path: bytes(path)])
def test_a_motion_is_saved_to_a_path(tmp_path, as_path):
    motion = named(bones=["左ひじ"])
    motion.save(as_path(tmp_path / "動き.vmd"))
    assert_same_motion(mmdskin.load_motion(tmp_path / "動き.vmd"), motion)


def test_a_path_that_cannot_be_written_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        named().save(tmp_path / "none" / "a.vmd")


@pytest.mark.parametrize("target", [None, 5, b"\0"])
def test_targets_that_are_no_path_are_rejected(target):
    with pytest.raises((TypeError, ValueError)):
        named().save(target)


@pytest.mark.parametrize("name", ["a.bvh", "a.PMX", "a.fbx"])
def test_a_motion_is_not_saved_under_the_name_of_another_format(tmp_path, name):
    with pytest.raises(ValueError, match=r"path: .*: a motion is written as .vmd or .vpd$"):
        named().save(tmp_path / name)
    assert not (tmp_path / name).exists()


def test_a_motion_that_cannot_be_saved_does_not_change_the_file(tmp_path):
    path = tmp_path / "a.vmd"
    path.write_bytes(b"here before")
    with pytest.raises(ValueError):
        named(bones=["名前" * 9]).save(path)
    assert path.read_bytes() == b"here before"


SAVE = """
import resource, sys
import mmdskin
motion = mmdskin.load_motion(open(sys.argv[1], "rb").read())
resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
try:
    motion.save(sys.argv[1])
except OSError as error:
    print(type(error).__name__, error.filename == sys.argv[1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of file sizes")
def test_a_full_disk_keeps_the_old_file(tmp_path):
    path = tmp_path / "踊り.vmd"
    contents = mf.write_vmd(mf.Keys("", [mf.BoneKey("a", frame) for frame in range(20)]))
    path.write_bytes(contents)
    found = subprocess.run([sys.executable, "-c", SAVE, path], capture_output=True, text=True)
    assert found.stdout.split() == ["OSError", "True"], found.stderr
    assert path.read_bytes() == contents
    assert list(tmp_path.iterdir()) == [path]


def test_a_read_only_file_is_not_replaced(tmp_path):
    path = tmp_path / "a.vmd"
    path.write_bytes(b"here before")
    path.chmod(0o400)
    if os.access(path, os.W_OK):
        pytest.skip("this user may write everything")
    with pytest.raises(PermissionError):
        named().save(path)
    assert path.read_bytes() == b"here before"


# Names


def camera_of(angle):
    camera = ([3], [-45], [(0, 10, 0)], [(0, 0, 0)], None, [angle], None)
    return mmdskin.Motion.from_tracks(camera=camera)


@pytest.mark.parametrize("angle", [30.5, -1, 2.0**33])
def test_view_angles_are_whole_degrees(angle):
    with pytest.raises(ValueError, match=r"camera: key 0: view angle .*whole degrees"):
        saved(camera_of(angle))


@pytest.mark.parametrize("angle", [0, 180, 2.0**32])
def test_view_angles_of_a_file_are_read_back(angle):
    assert_same_motion(mmdskin.load_motion(saved(camera_of(angle))), camera_of(angle))
