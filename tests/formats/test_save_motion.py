# SPDX-License-Identifier: MIT
"""`Motion.from_tracks` and `Motion.save`, judged by the independent reader and writer."""

import io
import pickle

import mmdskin
import numpy as np
import pytest
from conftest import SHARED
from files import motion_file as mf
from files import pmx_file as pmx
from files.small import rigid_file
from formats.test_motion import PATHS, random_keys

BoneTrack, MorphTrack = mmdskin.BoneTrack, mmdskin.MorphTrack
MEMBERS = ("bones", "morphs", "camera", "light", "shadow", "properties", "name")
TURN = np.float32([[0, 0.6, 0, 0.8]])


def tracks(motion):
    """What from_tracks takes, with arrays of its own."""
    return {member: copied(getattr(motion, member)) for member in MEMBERS}


def copied(value):
    if isinstance(value, np.ndarray):
        return value.copy()
    if hasattr(value, "_fields"):
        return type(value)(*map(copied, value))
    return tuple(map(copied, value)) if isinstance(value, tuple) else value


def assert_equal(found, wanted):
    """To the bit."""
    if isinstance(wanted, np.ndarray):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        assert found.tobytes() == wanted.tobytes()
    elif isinstance(wanted, tuple):
        assert len(found) == len(wanted)
        for pair in zip(found, wanted, strict=True):
            assert_equal(*pair)
    else:
        assert found == wanted


def assert_same_motion(found, wanted):
    for member in (*MEMBERS, "frame_range"):
        assert_equal(getattr(found, member), getattr(wanted, member))


def saved(motion, **options):
    file = io.BytesIO()
    motion.save(file, **options)
    return file.getvalue()


def named(**names):
    """A motion with a track for each name."""
    bones = [BoneTrack(n, [0], None, TURN, None) for n in names.get("bones", ())]
    morphs = [MorphTrack(n, [0], [1]) for n in names.get("morphs", ())]
    ik = tuple(names.get("ik", ()))
    states = mmdskin.PropertyTrack([0], [True], ik, np.zeros((1, len(ik)), bool))
    return mmdskin.Motion.from_tracks(bones, morphs, properties=states, name=names.get("name", ""))


def real_motions():
    skip = pytest.param(None, marks=pytest.mark.skip(f"no motions at {SHARED}"), id="none")
    return [pytest.param(path, id=path.name) for path in PATHS] or [skip]


@pytest.fixture(scope="module", params=real_motions())
def real(request):
    return mmdskin.load_motion(request.param)


# Real files


def test_a_real_motion_is_read_back_as_it_was_saved(real):
    assert_same_motion(mmdskin.load_motion(saved(real)), real)


def test_tracks_of_a_real_motion_make_it_again(real):
    assert_same_motion(mmdskin.Motion.from_tracks(**tracks(real)), real)


def test_tracks_of_a_real_motion_pose_a_model_to_the_bit(real):
    file = rigid_file(1)
    names = [track.name for track in real.bones]
    file.bones = [pmx.Bone(name, "", flags=0x6) for name in names] or file.bones
    model = mmdskin.load_model(pmx.write(file))
    frames = np.linspace(*real.frame_range, 50)
    again = mmdskin.Motion.from_tracks(**tracks(real))
    assert_equal(model.pose(again, frames), model.pose(real, frames))


# Keys of every kind


@pytest.mark.parametrize("seed", range(30))
def test_random_motions_are_read_back_as_they_were_saved(seed):
    motion = mmdskin.load_motion(mf.write_vmd(random_keys(seed)))
    again = mmdskin.Motion.from_tracks(**tracks(motion))
    assert_same_motion(again, motion)
    data = saved(again)
    assert_same_motion(mmdskin.load_motion(data), motion)
    assert saved(mmdskin.load_motion(data)) == data


def test_the_file_is_laid_out_as_mmd_does():
    """Byte by byte what the independent writer makes of the same keys."""
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


def test_nothing_is_a_motion_too():
    motion = mmdskin.Motion.from_tracks()
    assert (motion.name, motion.frame_range, motion.bones, motion.morphs) == ("", (0, 0), (), ())
    assert_same_motion(mmdskin.load_motion(saved(motion)), motion)


# What from_tracks makes of arrays


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


def test_keys_are_sorted_and_of_equal_frames_the_last_stays():
    motion = mmdskin.Motion.from_tracks(morphs=[("m", [5, 2, 5, 0], [1, 2, 3, 4])])
    assert motion.morphs[0].frames.tolist() == [0, 2, 5]
    assert motion.morphs[0].weights.tolist() == [4, 2, 3]


def test_what_a_bone_does_not_say_is_at_rest_on_straight_lines():
    (track,) = mmdskin.Motion.from_tracks([("a", [0, 7], None, None, None)]).bones
    assert track.translations.tolist() == [[0, 0, 0]] * 2
    assert track.rotations.tolist() == [[0, 0, 0, 1]] * 2
    assert track.interpolation.tolist() == [[[20, 20, 107, 107]] * 4] * 2


def test_what_a_camera_does_not_say_is_straight_and_in_perspective():
    given = ([0], [-45], [(0, 10, 0)], [(0, 0, 0)], None, [30], None)
    camera = mmdskin.Motion.from_tracks(camera=given).camera
    assert camera.interpolation.tolist() == [[[20, 20, 107, 107]] * 6]
    assert camera.perspective.tolist() == [True]


def test_rotations_are_normalised():
    motion = mmdskin.Motion.from_tracks([("a", [0], None, TURN * 5, None)])
    np.testing.assert_allclose(motion.bones[0].rotations, TURN, atol=1e-7)


def test_tracks_without_keys_are_left_out():
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
        ({"translations": NAN}, ValueError, "bones[1].translations: key 0, component 1 is NaN"),
        ({"rotations": [[0, 0, np.inf, 0]]}, ValueError, "bones[1].rotations: key 0, component 2 is"),
        ({"rotations": [[0, 0, -0.0, 0]]}, ValueError, "bones[1].rotations: key 0 has no length"),
        ({"rotations": [[0, 0, 1]]}, ValueError, "bones[1].rotations: shape (1, 3), expected (1, 4)"),
        ({"frames": [-1]}, ValueError, "bones[1].frames[0]: -1 is outside of uint32"),
        ({"frames": [2**32]}, ValueError, "bones[1].frames[0]: 4294967296 is outside of uint32"),
        ({"frames": [0.5]}, TypeError, "bones[1].frames: dtype float64, expected integers"),
        ({"frames": None}, TypeError, "bones[1].frames: dtype object"),
        ({"frames": [0, 1]}, ValueError, "bones[1].translations: shape (1, 3), expected (2, 3)"),
        (
            {"interpolation": np.full((1, 4, 4), 128, np.uint8)},
            ValueError,
            "bones[1].interpolation: key 0, component 0: 128, limit 127",
        ),
        (
            {"interpolation": np.full((1, 4, 4), -1)},
            ValueError,
            "bones[1].interpolation[0, 0, 0]: -1 is outside of uint8",
        ),
        ({"name": 5}, TypeError, "bones[1].name: expected a str"),
        ({"name": "a\0b"}, ValueError, "bones[1]: a name with a NUL in it"),
        ({"name": "root"}, ValueError, 'bones[1]: "root" is the name of bones[0], too'),
    ],
)  # fmt: skip
def test_a_bad_bone_track_is_refused_by_name(change, kind, text):
    good = BoneTrack("root", **GOOD)
    with pytest.raises(kind) as refused:
        mmdskin.Motion.from_tracks([good, BoneTrack(**({"name": "a"} | GOOD | change))])
    assert str(refused.value).startswith(text)


@pytest.mark.parametrize(
    "given, kind, text",
    [
        ({"morphs": [("m", [0], [np.nan])]}, ValueError, "morphs[0].weights: key 0, component 0"),
        ({"morphs": [("m", [0], None)]}, ValueError, "morphs[0].weights: not given"),
        ({"morphs": [("m", [0])]}, TypeError, "morphs[0]: expected a MorphTrack"),
        ({"bones": [7]}, TypeError, "bones[0]: expected a BoneTrack"),
        ({"bones": 7}, TypeError, "bones: expected a sequence, not <class 'int'>"),
        ({"name": "\ud800"}, ValueError, "name: half of a surrogate pair"),
        ({"name": None}, TypeError, "name: expected a str"),
        ({"light": ([0], [[1, 1, 1]], None)}, ValueError, "light.directions: not given"),
        ({"shadow": ([0], [3], [0])}, ValueError, "shadow.modes: key 0, component 0: 3, limit 2"),
        (
            {"properties": ([0], [2], (), np.zeros((1, 0), bool))},
            ValueError,
            "properties.visible[0]: 2 is outside of bool",
        ),
        (
            {"properties": ([0], [1], ("a", "b"), [[1]])},
            ValueError,
            "properties.ik_enabled: shape (1, 1), expected (1, 2)",
        ),
        (
            {"properties": ([0], [1], ("a", "a"), [[1, 0]])},
            ValueError,
            'properties.ik_names[1]: "a" is the name of properties.ik_names[0], too',
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
def test_other_bad_tracks_are_refused_by_name(given, kind, text):
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
def test_what_is_no_place_for_a_file_is_refused(target):
    with pytest.raises((TypeError, ValueError)):
        named().save(target)


def test_a_motion_that_cannot_be_saved_leaves_the_file_alone(tmp_path):
    path = tmp_path / "a.vmd"
    path.write_bytes(b"here before")
    with pytest.raises(ValueError):
        named(bones=["名前" * 9]).save(path)
    assert path.read_bytes() == b"here before"


# Names


@pytest.mark.parametrize("kind", ["bones", "morphs", "ik"])
def test_names_have_room_for_15_bytes(kind):
    member = "properties.ik_names" if kind == "ik" else kind
    full = "十五バイトの名a"
    assert_same_motion(mmdskin.load_motion(saved(named(**{kind: [full]}))), named(**{kind: [full]}))
    with pytest.raises(ValueError) as refused:
        saved(named(**{kind: ["a", full + "x"]}))
    text = f'{member}[1]: "{full}x" takes 16 bytes, a VMD has room for 15'
    assert str(refused.value) == text


def test_names_are_cut_to_whole_characters():
    found = mmdskin.load_motion(
        saved(named(bones=["十五バイトの名前"], name="名" * 11), truncate=True)
    )
    assert (found.bones[0].name, found.name) == ("十五バイトの名", "名" * 10)


def test_names_that_are_equal_once_they_are_cut_are_refused():
    motion = named(morphs=["十五バイトの名前", "十五バイトの名字"])
    with pytest.raises(ValueError, match=r"morphs\[1\]: .*is the name of morphs\[0\], too, in 15"):
        saved(motion, truncate=True)


def test_the_name_of_the_model_has_room_for_20_bytes():
    with pytest.raises(ValueError, match="name: .* takes 22 bytes, a VMD has room for 20"):
        saved(named(name="名" * 11))


@pytest.mark.parametrize("name, code", [("Ärm", "U+00C4"), ("腕😀", "U+1F600"), ("한", "U+D55C")])
def test_characters_that_cp932_lacks_are_named(name, code):
    with pytest.raises(ValueError) as refused:
        saved(named(bones=["a", name]), truncate=True)
    assert str(refused.value) == f'bones[1]: "{name}" has {code}, which cp932 lacks'


def windows_code(character):
    """Of two codes Python prefers NEC's choice of IBM's characters (ED, EE), Windows IBM's own (FA
    to FC): Microsoft's KB 170559."""
    raw = character.encode("cp932")
    if raw[0] not in (0xED, 0xEE):
        return raw
    others = (bytes([lead, trail]) for lead in (0xFA, 0xFB, 0xFC) for trail in range(0x40, 0xFD))
    return next(other for other in others if other.decode("cp932", "ignore") == character)


def test_every_character_of_cp932_is_written_as_windows_does():
    codes = [bytes([one]) for one in range(1, 256)]
    codes += [bytes([lead, trail]) for lead in range(0x81, 0xFD) for trail in range(0x40, 0xFD)]
    characters = sorted({text for c in codes if len(text := c.decode("cp932", "ignore")) == 1})
    assert len(characters) > 9000
    found = mf.keys(saved(named(bones=characters))).bones
    assert [key.name for key in found] == [windows_code(c) for c in characters]


def test_what_could_not_be_read_is_not_read_again():
    """A name that MMD has cut inside a character."""
    raw = "十五バイトの名前".encode("cp932")[:15]
    motion = mmdskin.load_motion(mf.write_vmd(mf.Keys("", [mf.BoneKey(raw, 0)])))
    assert motion.bones[0].name.endswith("\ufffd")
    assert_same_motion(mmdskin.load_motion(saved(motion)), motion)


# What a VMD cannot hold


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
