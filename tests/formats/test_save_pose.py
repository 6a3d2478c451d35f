# SPDX-License-Identifier: MIT
"""`Motion.save` of a VPD: the pose of one frame, read back by the independent reader."""

import io
import re

import mmdskin
import numpy as np
import pytest
from files import locations
from files import motion_file as mf
from files import pmx_file as pmx
from formats.test_motion import NAMES

POSES = [pytest.param(path, id=path.name) for path in locations.published("vpd")]
if not POSES:  # our own has several keys of a bone, which are saved as one
    POSES = [pytest.param(None, marks=pytest.mark.skip(locations.not_shipped("test.vpd")))]
TURN = np.float32([[0, 0.6, 0, 0.8]])


def saved(motion, **options):
    file = io.BytesIO()
    file.name = "pose.vpd"
    motion.save(file, **options)
    return file.getvalue()


def moving():
    """Two keys of a bone and a morph."""
    curves = np.tile(np.uint8([60, 0, 127, 90]), (2, 4, 1))
    bone = mmdskin.BoneTrack(
        "b", [0, 10], [[0, 0, 0], [1, 2, -3]], np.vstack([TURN, -TURN]), curves
    )
    rest = mmdskin.BoneTrack("a", [0], None, None, None)
    morph = mmdskin.MorphTrack("m", [0, 10], [0, 1])
    return mmdskin.Motion.from_tracks([bone, rest], [morph], name="踊り")


def model_of(*bones, morphs=("m",), name="モデル"):
    file = pmx.PMX(name=name, bones=[pmx.Bone(bone) for bone in bones])
    file.morphs = [pmx.Morph(morph, kind=1) for morph in morphs]
    return mmdskin.load_model(pmx.write(file))


def without_header(data):
    text = data.decode("cp932", "surrogateescape").replace("\r\n", "\n")
    return text[text.index("Bone0{") :]


@pytest.mark.parametrize("path", POSES)
def test_a_pose_of_a_file_is_written_with_the_same_text(path):
    data = path.read_bytes()
    assert without_header(saved(mmdskin.load_motion(data))) == without_header(data)


def test_any_six_decimals_are_written_as_they_were_read():
    rng = np.random.default_rng(7)
    rotations = rng.normal(size=(500, 4))
    rotations /= np.linalg.norm(rotations, axis=1)[:, None]
    translations = rng.uniform(-15, 15, (500, 3))
    blocks = "".join(
        f"Bone{i}{{b{i}\r\n  {','.join(f'{x:.6f}' for x in t)};\t\t\t\t// trans x,y,z\r\n"
        f"  {','.join(f'{x:.6f}' for x in q)};\t\t// Quaternion x,y,z,w\r\n}}\r\n\r\n"
        for i, (t, q) in enumerate(zip(translations, rotations, strict=True))
    )
    file = f"Vocaloid Pose Data file\r\n\r\nx.osm;\r\n500;\r\n\r\n{blocks}".encode("cp932")
    assert without_header(saved(mmdskin.load_motion(file))) == without_header(file)


def test_names_whose_bytes_are_syntax_are_read_back():
    """能 ends in a backslash, ボ in an opening and マ in a closing brace."""
    keys = [mf.BoneKey(name, 0, (i, 0, 0)) for i, name in enumerate(["能", "ボ", "マ", *NAMES])]
    motion = mmdskin.load_motion(mf.write_vmd(mf.Keys("能ボマ", keys, [mf.MorphKey("マ", 0, 0.5)])))
    found = mf.read(saved(motion))
    assert [t.name for t in found.bones] == [t.name for t in motion.bones]
    assert [t.name for t in found.morphs] == ["マ"]
    assert found.name == "能ボマ"


def test_names_are_encoded_as_windows_does():
    """Python's codec takes NEC's selection, ED 40, in place of IBM's FA 5C."""
    motion = mmdskin.Motion.from_tracks([("纊", [0], [[1, 0, 0]], None, None)])
    assert b"Bone0{\xfa\x5c\r\n" in saved(motion)


def test_the_layout_is_that_of_mmd():
    text = saved(moving(), frame=10).decode("cp932")
    assert text == (
        "Vocaloid Pose Data file\r\n\r\n"
        "踊り.osm;\t\t// 親ファイル名\r\n"
        "2;\t\t\t\t// 総ポーズボーン数\r\n\r\n"
        "Bone0{b\r\n"
        "  1.000000,2.000000,-3.000000;\t\t\t\t// trans x,y,z\r\n"
        "  -0.000000,-0.600000,-0.000000,-0.800000;\t\t// Quaternion x,y,z,w\r\n}\r\n\r\n"
        "Bone1{a\r\n"
        "  0.000000,0.000000,0.000000;\t\t\t\t// trans x,y,z\r\n"
        "  0.000000,0.000000,0.000000,1.000000;\t\t// Quaternion x,y,z,w\r\n}\r\n\r\n"
        "Morph0{m\r\n  1.000000;\t\t\t\t// weight\r\n}\r\n\r\n"
    )


@pytest.mark.parametrize("frame", [0, 3, 7.5, 99])
def test_the_pose_is_that_of_the_frame(frame):
    model, motion = model_of("a", "b"), moving()
    pose = mmdskin.load_motion(saved(motion, frame=frame))
    expected, found = model.pose(motion, frame), model.pose(pose)
    assert np.abs(found.bone_matrices - expected.bone_matrices).max() < 4e-6
    assert np.abs(found.morph_weights - expected.morph_weights).max() < 1e-6


def test_without_a_frame_it_is_the_first():
    motion = mmdskin.Motion.from_tracks([("b", [7, 9], [[1, 2, 3], [4, 5, 6]], None, None)])
    assert mmdskin.load_motion(saved(motion)).bones[0].translations.tolist() == [[1, 2, 3]]


def test_a_model_gives_the_order_the_bones_and_the_name():
    data = saved(moving(), model=model_of("x", "a", "b"))
    found = mf.read(data)
    assert ([t.name for t in found.bones], found.name) == (["a", "b"], "モデル")
    assert [t.name for t in mf.read(saved(moving(), model=model_of("b"))).bones] == ["b"]


def test_a_path_that_ends_in_vpd_gets_a_pose(tmp_path):
    moving().save(tmp_path / "P.VPD", frame=5)
    assert (tmp_path / "P.VPD").read_bytes() == saved(moving(), frame=5)
    moving().save(str(tmp_path / "m.vmd"))
    assert mmdskin.load_motion(tmp_path / "m.vmd").frame_range == (0, 10)


def test_a_file_without_a_name_gets_a_pose_if_a_frame_is_asked_for():
    file = io.BytesIO()
    moving().save(file, frame=5)
    assert file.getvalue() == saved(moving(), frame=5)


def test_names_of_poses_have_any_length():
    long = "とても長い名前のボーンであること"
    motion = mmdskin.Motion.from_tracks([(long, [0], [[1, 0, 0]], None, None)])
    assert mf.read(saved(motion)).bones[0].name == long


def test_large_and_small_numbers_are_written_in_full():
    values = [9.0e9, -16777217.0, 1e-7]
    motion = mmdskin.Motion.from_tracks([("b", [0], [values], None, None)])
    line = re.search(r"\n  (.*); *\t", saved(motion).decode("cp932")).group(1)
    assert line == ",".join(f"{x:.6f}" for x in np.float32(values).astype(float))


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"frame": float("nan")}, ValueError, "frame: nan, expected a number from 0 on"),
        ({"frame": -1}, ValueError, "frame: -1, expected a number from 0 on"),
        ({"frame": "x"}, TypeError, "frame: expected a number"),
        ({"model": 3}, TypeError, "model"),
        ({"part": "camera"}, ValueError, "part: a VPD holds the pose of a model"),
    ],
)
def test_a_bad_option_is_named(options, error, text):
    with pytest.raises(error, match=text):
        saved(moving(), **options)


def test_a_vmd_has_no_frame(tmp_path):
    with pytest.raises(ValueError, match="frame, model: only a VPD"):
        moving().save(tmp_path / "a.vmd", frame=3)
    assert not (tmp_path / "a.vmd").exists()


def test_names_that_do_not_fit_are_all_listed():
    bones = [(name, [0], [[1, 0, 0]], None, None) for name in ("Ärm", "a", "한")]
    motion = mmdskin.Motion.from_tracks(bones)
    with pytest.raises(ValueError, match=r"U\+00C4.*; .*U\+D55C"):
        saved(motion)
    assert [t.name for t in mf.read(saved(motion, names="cut")).bones] == ["?rm", "a", "?"]


def test_a_name_of_two_lines_is_an_error():
    motion = mmdskin.Motion.from_tracks([("a\nb", [0], [[1, 0, 0]], None, None)])
    with pytest.raises(
        ValueError, match=r"bones\[0\]: [^;]* contains a line end, where a name in a VPD ends"
    ):
        saved(motion)
