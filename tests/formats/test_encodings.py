# SPDX-License-Identifier: MIT
"""Motions whose names other programs than MMD wrote, in other encodings than cp932."""

import json
import pickle
import warnings

import mmdskin
import numpy as np
import pytest
from files import motion_file as mf
from mmdskin.command_line import main

BONES = ("センター", "左腕", "右腕")
MORPHS = ("まばたき", "笑い")
KOREAN = ("센터", "왼팔", "오른팔")
CHINESE = ("中心點", "左臂", "右臂")


def model_of(bones=BONES, morphs=MORPHS):
    return mmdskin.Model.from_arrays(
        np.zeros((3, 3)),
        [[0, 1, 2]],
        bones=[mmdskin.Bone(name) for name in bones],
        morphs=[mmdskin.Morph(name, "", 4, "vertex", [0], [[0, 1, 0]]) for name in morphs],
    )


def motion_in(encoding, bones=BONES, morphs=MORPHS):
    return mf.write_vmd(
        mf.Keys(
            b"",
            [mf.BoneKey(name.encode(encoding), 0, translation=(0, 1, 0)) for name in bones],
            [mf.MorphKey(name.encode(encoding), 0, 0.5) for name in morphs],
            properties=[mf.PropertyKey(0, 1, [(bones[0].encode(encoding), 1)])],
        )
    )


@pytest.mark.parametrize("encoding", ["gbk", "utf-8", "euc_jp", "cp932"])
def test_names_are_read_in_the_encoding(encoding):
    motion = mmdskin.load_motion(motion_in(encoding), encoding)
    assert tuple(track.name for track in motion.bones) == BONES
    assert tuple(track.name for track in motion.morphs) == MORPHS
    assert motion.properties.ik_names == BONES[:1]
    assert motion.encoding == encoding
    again = pickle.loads(pickle.dumps(motion))
    assert again == motion and again.encoding == encoding


def test_bytes_that_are_no_characters_stay():
    """A name that was cut inside a character."""
    name = "あいうえおかきく".encode("gbk")[:15]
    motion = mmdskin.load_motion(mf.write_vmd(mf.Keys(b"", [mf.BoneKey(name, 0)])), "gbk")
    assert motion.bones[0].name == name.decode("gbk", "surrogateescape")


@pytest.mark.parametrize(
    ("encoding", "bones"),
    [("gbk", BONES), ("utf-8", BONES), ("cp949", KOREAN), ("cp950", CHINESE)],
)
def test_the_encoding_is_recognized_by_the_model(encoding, bones):
    model = model_of(bones, bones[:1])
    motion = mmdskin.load_motion(motion_in(encoding, bones, bones[:1]), model=model)
    assert motion.encoding == encoding and not any(motion.unmatched(model)[:2])


def test_cp932_is_kept_without_a_word():
    other = model_of(("x", BONES[0]), ())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (model_of(), other, model_of(("x",), ())):
            assert mmdskin.load_motion(motion_in("cp932"), model=model).encoding == "cp932"
            model.pose(mmdskin.load_motion(motion_in("cp932")))


def test_a_chosen_encoding_is_used():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mmdskin.load_motion(motion_in("gbk"), "cp932", model=model_of())
    assert found.encoding == "cp932" and len(found.unmatched(model_of()).bones) == 3


def test_a_pose_by_none_of_the_names_warns():
    motion = mmdskin.load_motion(motion_in("gbk"))
    text = r"but 5 of 5 with load_motion\(\.\.\., encoding='gbk'\)"
    with pytest.warns(UserWarning, match=text):
        model_of().pose(motion)
    with pytest.warns(UserWarning, match=text):
        mmdskin.Simulation(model_of(), motion)


@pytest.mark.parametrize("encoding", ["unknown", "rot-13", "base64"])
def test_an_unknown_encoding_is_refused(encoding):
    with pytest.raises(LookupError, match=encoding):
        mmdskin.load_motion(motion_in("cp932"), encoding)
    with pytest.raises(TypeError, match="encoding: expected a str or None"):
        mmdskin.load_motion(motion_in("cp932"), 932)


def pose_in(encoding, mark=b""):
    text = "Vocaloid Pose Data file\n\nミク.osm;\n1;\n\nBone0{左腕\n 1,2,3;\n 0,0,0,1;\n}\n"
    return mark + text.encode(encoding)


def test_a_pose_in_utf8_with_its_mark():
    motion = mmdskin.load_motion(pose_in("utf-8", b"\xef\xbb\xbf"))
    assert [track.name for track in motion.bones] == ["左腕"]
    assert motion.bones[0].translations.tolist() == [[1, 2, 3]]
    assert (motion.name, motion.encoding) == ("ミク", "utf-8")
    assert pickle.loads(pickle.dumps(motion)) == motion


def test_a_pose_in_gbk():
    motion = mmdskin.load_motion(pose_in("gbk"), model=model_of())
    assert motion.bones[0].name == "左腕" and motion.name == "ミク"


def test_the_command_line_recognizes_and_tells(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model_of().save("a.pmx")
    (tmp_path / "a.vmd").write_bytes(motion_in("gbk"))
    assert main(["info", "--json", "a.pmx", "a.vmd"]) == 0
    found = capsys.readouterr()
    assert found.err == "mmdskin: a.vmd: names are read as gbk\n"
    last = json.loads(found.out.splitlines()[-1])
    assert last["encoding"] == "gbk" and not last["unmatched"]["bones"]
    assert main(["convert", "a.vmd", "b.vmd", "--encoding", "GBK"]) == 0
    assert mmdskin.load_motion("b.vmd").bones[0].name == BONES[0]
    assert main(["skin", "a.pmx", "a.vmd", "-o", "a.npy", "--encoding", "gbk"]) == 0
    assert capsys.readouterr().err == ""
    assert np.load("a.npy")[0, :, 1].tolist() == [2, 1, 1]  # センター up by 1, each morph by 1/2
    with pytest.raises(SystemExit):
        main(["info", "a.vmd", "--encoding", "none"])
    assert "unknown encoding: none" in capsys.readouterr().err
