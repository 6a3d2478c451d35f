# SPDX-License-Identifier: MIT
"""Random names, made of what readers treat specially, are the same after save() and load, or an error."""

import io
import random

import mmdskin
import numpy as np
import pytest

PARTS = [
    *("", "a", "0", "12", " ", "  ", "\t", "\r", "\n", "\r\n", "/", "//", "\\", "{", "}", "{}"),
    *(";", ",", ".", "|", '"', "'", "%", "%s", "=", "#", "Bone0{", "Morph1{", "Bone", ".osm"),
    *("Vocaloid Pose Data file", "\x01", "\x1a", "\x1b[2J", "\x7f", "\x80", "\xa0", "\u3000"),
    *("表", "ポ", "ソ", "ゾ", "弌", "髙", "ｱ", "ﾝ", "∵", "≒", "①", "ℓ", "―", "～", "－", "¢"),
    *("é", "한", "😀", "\ufffd", "\ufeff", "\uf8f0", "\udc80", "\udc81", "\udcfc", "\udcff"),
    *("\x00", "\ud800", "\udfff"),
]


def texts(seed, count=4):
    r = random.Random(seed)
    return ["".join(r.choices(PARTS, k=r.randint(0, 4))) for _ in range(count)]


def motion_of(names, name):
    """All move: what is at rest may be left out."""
    return mmdskin.Motion.from_tracks(
        [(one, [0], [[1, 2, i]], None, None) for i, one in enumerate(names)],
        [(one, [0], [i + 1]) for i, one in enumerate(names)],
        properties=([0], None, tuple(names), [[False] * len(names)]),
        name=name,
    )


def written(thing, **options):
    file = io.BytesIO()
    file.name = options.pop("file")
    thing.save(file, **options)
    return file.getvalue()


def values(motion):
    return (
        {track.name: track.translations[0, 2] for track in motion.bones},
        {track.name: track.weights[0] for track in motion.morphs},
    )


def each_motion():
    for seed in range(3000):
        *names, name = texts(seed)
        try:
            yield motion_of(names, name), name
        except ValueError:  # NUL, a surrogate that is no byte, equal names
            continue


@pytest.mark.parametrize("file", ["a.vmd", "a.vpd"])
def test_names_of_motions_are_the_same_or_an_error(file):
    kept = refused = 0
    for motion, name in each_motion():
        try:
            data = written(motion, file=file)
        except ValueError as error:
            assert "bones[" in str(error) or "morphs[" in str(error)
            refused += 1
            continue
        kept += 1
        found = mmdskin.load_motion(data)
        assert values(found) == values(motion)
        if file == "a.vmd":
            assert found.properties.ik_names == motion.properties.ik_names
        elif not set(name) & set(" \t;{/\r\n") and name.isascii():
            assert found.name == name
    assert kept > 200 and refused > 200


@pytest.mark.parametrize("file", ["a.vmd", "a.vpd"])
def test_names_that_fit_are_kept_beside_those_that_are_left_out(file):
    for motion, _ in each_motion():
        found = values(mmdskin.load_motion(written(motion, file=file, names="omit")))
        for one, all_of in zip(found, values(motion), strict=True):
            assert one.items() <= all_of.items()


@pytest.mark.parametrize("file", ["a.vmd", "a.vpd"])
def test_cut_names_lose_no_track(file):
    for motion, _ in each_motion():
        try:
            data = written(motion, file=file, names="cut")
        except ValueError as error:
            assert "the same" in str(error)
            continue
        found = mmdskin.load_motion(data)
        for one, all_of in zip(values(found), values(motion), strict=True):
            assert list(one.values()) == list(all_of.values())


@pytest.mark.parametrize("name", ["a{b", "Bone1{x", "{", "a//b", " a", "\ta", "a;b", "}", "a\nb"])
def test_the_name_of_the_model_loses_no_bone_of_a_pose(name):
    motion = motion_of(["左腕", "右腕"], name)
    found = mmdskin.load_motion(written(motion, file="a.vpd"))
    assert values(found) == values(motion)
    assert len(found.name) == len(name) and not set(found.name) & set("{;\n")


def test_two_bones_with_a_comment_in_their_names_do_not_become_one():
    motion = motion_of(["a//b", "a//c"], "")
    with pytest.raises(ValueError, match=r'bones\[0\]: "a//b" contains //.*; bones\[1\]'):
        written(motion, file="a.vpd")
    cut = mmdskin.load_motion(written(motion, file="a.vpd", names="cut"))
    assert [track.name for track in cut.bones] == ["a?/b", "a?/c"]
    assert mmdskin.load_motion(written(motion, file="a.vmd")) is not None  # has no comments
    with pytest.raises(ValueError, match=r"bones\[1\] and bones\[0\] have the same name"):
        written(motion_of(["é", "ö"], ""), file="a.vpd", names="cut")


def test_texts_of_models_are_the_same_or_an_error():
    kept = 0
    for seed in range(1000):
        bone, morph, material, texture, frame, name, comment = texts(seed, 7)
        try:
            model = mmdskin.Model.from_arrays(
                np.zeros((3, 3)),
                [[0, 1, 2]],
                bones=[mmdskin.Bone(bone, morph)],
                morphs=[mmdskin.Morph(morph, bone, 4, "vertex", [0], [[0, 1, 0]])],
                materials=[mmdskin.Material(material, frame, memo=comment, index_count=3)],
                textures=[texture],
                display_frames=[mmdskin.DisplayFrame(frame, material)],
                name=name,
                comment=comment,
            )
        except ValueError:  # NUL, surrogates
            assert any(c == "\0" or "\ud800" <= c <= "\udfff" for c in "".join(texts(seed, 7)))
            continue
        kept += 1
        found = mmdskin.load_model(written(model, file="a.pmx"))
        assert (found.name, found.comment, found.textures) == (name, comment, (texture,))
        assert (found.bones[0].name, found.bones[0].name_english) == (bone, morph)
        assert (found.morphs[0].name, found.morphs[0].name_english) == (morph, bone)
        assert (found.materials[0].name, found.materials[0].memo) == (material, comment)
        assert (found.display_frames[0].name, found.materials[0].name_english) == (frame, frame)
    assert kept > 100
