# SPDX-License-Identifier: MIT
"""Names in saved motions, and which part of a motion a file holds."""

import io

import mmdskin
import pytest
from files import motion_file as mf
from formats.test_save_motion import (
    TURN,
    BoneTrack,
    MorphTrack,
    assert_equal,
    assert_same_motion,
    named,
    saved,
    tracks,
)

WAY_OUT = 'names="omit" leaves them out'


@pytest.mark.parametrize("kind", ["bones", "morphs", "ik"])
def test_names_have_room_for_15_bytes(kind):
    member = "properties.ik_names" if kind == "ik" else kind
    full = "十五バイトの名a"
    assert_same_motion(mmdskin.load_motion(saved(named(**{kind: [full]}))), named(**{kind: [full]}))
    with pytest.raises(ValueError) as refused:
        saved(named(**{kind: ["a", full + "x"]}))
    text = f'{member}[1]: "{full}x" takes 16 bytes, but a VMD stores only 15'
    assert str(refused.value) == f"{text}; {WAY_OUT}"


def test_all_names_that_do_not_fit_are_listed():
    motion = named(
        bones=["十五バイトの名前", "a", "Ärm"],
        morphs=["まばたきまばたき"],
        ik=["左足ＩＫの長い名前"],
    )
    with pytest.raises(ValueError) as refused:
        saved(motion)
    assert str(refused.value).split("; ") == [
        'bones[0]: "十五バイトの名前" takes 16 bytes, but a VMD stores only 15',
        'bones[2]: "Ärm" contains U+00C4, which cp932 cannot encode',
        'morphs[0]: "まばたきまばたき" takes 16 bytes, but a VMD stores only 15',
        'properties.ik_names[0]: "左足ＩＫの長い名前" takes 18 bytes, but a VMD stores only 15',
        WAY_OUT,
    ]


def test_tracks_whose_names_do_not_fit_can_be_left_out():
    long, other = "十五バイトの名前の一", "十五バイトの名前の二"
    names = {"bones": [long, "a", "Ärm", other], "morphs": [long, "b"], "ik": [long, "c"]}
    found = mmdskin.load_motion(saved(named(**names), names="omit"))
    assert_same_motion(found, named(bones=["a"], morphs=["b"], ik=["c"]))


def test_tracks_whose_names_cp932_lacks_can_be_left_out_of_a_pose(tmp_path):
    motion = named(bones=["十五バイトの名前の一", "Ärm"])
    with pytest.raises(ValueError, match=f"U\\+00C4.*{WAY_OUT}"):
        motion.save(tmp_path / "a.vpd")
    motion.save(tmp_path / "a.vpd", names="omit")
    found = mmdskin.load_motion(tmp_path / "a.vpd")
    assert found.bones.names == ("十五バイトの名前の一",)


def test_what_does_nothing_may_have_any_name():
    long = "十五バイトの名前"
    motion = mmdskin.Motion.from_tracks(
        [BoneTrack(long, [0, 9], None, None, None), BoneTrack("a", [0], None, TURN, None)],
        [MorphTrack(long, [0], [0])],
        properties=([0, 5], None, (long, "左足ＩＫ"), [[1, 1], [1, 0]]),
    )
    found = mmdskin.load_motion(saved(motion))
    assert [track.name for track in found.bones] == ["a"]
    assert found.morphs == ()
    assert found.properties.ik_names == ("左足ＩＫ",)
    assert found.properties.ik_enabled.tolist() == [[True], [False]]


def test_names_are_cut_at_byte_15_inside_a_character_as_in_mmd():
    names = ["十五バイトの名前", "十五バイトの名字"]
    cut = saved(named(bones=names), names="cut")
    assert [key.name for key in mf.keys(cut).bones] == [n.encode("cp932")[:15] for n in names]
    found = mmdskin.load_motion(cut)
    assert len(found.bones) == 2
    assert_same_motion(mmdskin.load_motion(saved(found)), found)
    assert saved(found) == cut


def test_names_that_become_equal_when_cut_are_rejected():
    motion = named(morphs=["十五バイトの名前の一", "十五バイトの名前の二"])
    with pytest.raises(
        ValueError, match=r"morphs\[1\]: .* the name of morphs\[0\] have the same first 15"
    ):
        saved(motion, names="cut")


def test_the_name_of_the_model_is_cut_at_byte_20_as_in_mmd():
    assert mf.keys(saved(named(name="名" * 11))).name == "名" * 10


@pytest.mark.parametrize("name, code", [("Ärm", "U+00C4"), ("腕😀", "U+1F600"), ("한", "U+D55C")])
def test_characters_that_cp932_lacks_are_named(name, code):
    with pytest.raises(ValueError) as refused:
        saved(named(bones=["a", name]))
    text = f'bones[1]: "{name}" contains {code}, which cp932 cannot encode'
    assert str(refused.value) == f"{text}; {WAY_OUT}"
    cut = mf.keys(saved(named(bones=["a", name]), names="cut"))
    assert b"?" in cut.bones[1].name


def windows_code(character):
    """Of two codes for a character, Python prefers NEC's selection of IBM's (ED, EE), Windows IBM's own
    (FA to FC): Microsoft's KB 170559."""
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


def test_bytes_of_names_that_are_no_characters_are_written_as_they_were_read():
    leads = [*range(0x81, 0xA0), *range(0xE0, 0xFD)]
    names = [b"a" + bytes([lead]) for lead in leads]
    names += [bytes([lead, trail, 0x41]) for lead in leads for trail in range(0x20, 0x40)]
    file = mf.write_vmd(mf.Keys("", (), [mf.MorphKey(name, 0, 1.0) for name in names]))
    motion = mmdskin.load_motion(file)
    assert [key.name for key in mf.keys(saved(motion)).morphs] == names
    again = mmdskin.Motion.from_tracks(**tracks(motion))
    assert [track.name for track in again.morphs] == [track.name for track in motion.morphs]


@pytest.mark.parametrize(
    "name, code",
    [
        ("\udca1", "U+DCA1"),  # is read as ｡
        ("\udc83A", "U+DC83"),  # as ア
        ("\udc83\udca0", "U+DC83"),  # as Β
        ("\udcee絜", "U+DCEE"),  # as ＇ and the second byte of 絜
    ],
)
def test_bytes_that_would_be_read_as_other_characters_are_refused(name, code):
    with pytest.raises(ValueError, match=f"contains {code.replace('+', '.')}, which cp932"):
        saved(named(bones=["a", name]))
    cut = mf.keys(saved(named(bones=["a", name]), names="cut"))
    assert cut.bones[1].name.startswith(b"?")


def test_a_cut_character_is_shown_as_a_replacement_in_messages():
    raw = "十五バイトの名前".encode("cp932")[:15].decode("cp932", "surrogateescape")
    with pytest.raises(ValueError, match='"十五バイトの名\ufffd " takes 16 bytes'):
        saved(named(bones=[raw + " "]))
    with pytest.raises(ValueError, match='duplicate name "十五バイトの名\ufffd"'):
        named(bones=[raw, raw])
    assert "\\udc91" in repr(named(name=raw))


# Parts


def both_parts():
    camera = ([3], [-45], [(0, 10, 0)], [(0, 0, 0)], None, [30], None)
    light = ([2], [(1, 1, 1)], [(0, -1, 0)])
    states = ([0], [1], ("左足ＩＫ",), [[0]])
    bones = [BoneTrack("a", [0], None, TURN, None)]
    return mmdskin.Motion.from_tracks(
        bones, [], camera, light, ([1], [1], [0.1]), states, name="モデル"
    )


def test_a_motion_of_a_model_and_a_camera_is_saved_part_by_part():
    motion = both_parts()
    with pytest.raises(ValueError, match='part: .*expected "model" or "camera"'):
        motion.save(io.BytesIO())
    model = mmdskin.load_motion(saved(motion, part="model"))
    camera = mmdskin.load_motion(saved(motion, part="camera"))
    assert (model.name, camera.name) == ("モデル", "カメラ・照明")
    for member in ("bones", "morphs", "properties"):
        assert_equal(getattr(model, member), getattr(motion, member))
    for member in ("camera", "light", "shadow"):
        assert_equal(getattr(camera, member), getattr(motion, member))
        assert len(getattr(model, member).frames) == 0
    assert (camera.bones, len(camera.properties.frames)) == ((), 0)


@pytest.mark.parametrize("member", ["camera", "light", "shadow"])
def test_a_motion_of_a_camera_is_named_as_mmd_names_cameras(member):
    track = getattr(both_parts(), member)
    assert mmdskin.Motion.from_tracks(**{member: track}).name == "カメラ・照明"
    assert mmdskin.Motion.from_tracks(**{member: track}, name="").name == ""
    bones = [BoneTrack("a", [0], None, TURN, None)]
    assert mmdskin.Motion.from_tracks(bones, **{member: track}).name == ""


@pytest.mark.parametrize(
    "name, expected", [("カメラ・照明 2", "カメラ・照明 2"), ("x", "カメラ・照明")]
)
def test_the_name_of_a_camera_file_begins_as_mmd_expects(name, expected):
    motion = mmdskin.Motion.from_tracks(light=both_parts().light, name=name)
    assert mmdskin.load_motion(saved(motion, part="camera")).name == expected


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"part": "bones"}, 'part: "bones" is unknown, expected "all", "model" or "camera"'),
        ({"names": "truncate"}, 'names: "truncate" is unknown, expected "error", "cut" or "omit"'),
    ],
)
def test_a_bad_option_of_save_is_named(options, text):
    with pytest.raises(ValueError, match=text):
        saved(named(), **options)


# What a VMD cannot store
