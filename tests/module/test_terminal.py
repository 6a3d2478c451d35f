# SPDX-License-Identifier: MIT
"""Texts of files that are shown cannot control a terminal: ESC, BEL, C1, marks of direction."""

import json
import subprocess
import sys
import unicodedata

import mmdskin
import numpy as np
import pytest
from mmdskin.command_line import main

EVIL = "\x1b]0;x\x07\x9b2J\x7f\u202e\u2028\u2066\r\n"
SHOWN = r"\x1b]0;x\x07\x9b2J\x7f\u202e\u2028\u2066"


def is_safe(text):
    kinds = {unicodedata.category(c) for c in text.replace("\n", "")}
    return not kinds & {"Cc", "Cf", "Zl", "Zp"}


def evil_model(bodies=0):
    body = mmdskin.RigidBody("b" + EVIL, bone=0, mode="physics", size=(1, 1, 1), mass=0)
    return mmdskin.Model.from_arrays(
        np.zeros((3, 3)),
        [[0, 1, 2]],
        bones=[mmdskin.Bone("bone" + EVIL), mmdskin.Bone("second")],
        morphs=[mmdskin.Morph("morph" + EVIL, "", 4, "vertex", [0], [[0, 1, 0]])],
        materials=[mmdskin.Material("material" + EVIL, texture=0, index_count=3)],
        textures=["texture" + EVIL + ".png"],
        rigid_bodies=[body] * bodies,
        name="model" + EVIL,
        name_english="english" + EVIL,
    )


def evil_motion():
    return mmdskin.Motion.from_tracks(
        [("a\x1b[2J" + "あ" * 8, [0], [[1, 2, 3]], None, None)],
        properties=([0], None, ("i\x07k",), [[False]]),
        name="m\x1bo",
    )


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    evil_model().save("evil.pmx")
    evil_motion().save("evil\x1b.vmd", names="cut")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("info", "evil.pmx", "evil\x1b.vmd"),
        ("info", "--json", "evil.pmx", "evil\x1b.vmd"),
        ("info", "missing\x1b.pmx"),
        ("render", "evil.pmx", "-o", "a.png", "--size", "8x8"),
        ("convert", "missing\x1b.vmd", "a.vpd"),
        ("simulate", "evil.pmx", "evil\x1b.vmd", "-o", "b.vmd"),
    ],
)
def test_commands_print_no_controls(files, words):
    done = subprocess.run(
        [sys.executable, "-m", "mmdskin", *words],
        capture_output=True,
        env={"PYTHONIOENCODING": "utf-8", "MMDSKIN_EGL_DEVICE": "surfaceless"},
    )
    out, err = done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    assert is_safe(err)
    for line in out.splitlines():
        assert is_safe(line)
        if words[1] == "--json":
            json.loads(line)
    if words[:2] in {("info", "evil.pmx"), ("render", "evil.pmx")}:
        assert SHOWN[:20] in out + err


def test_errors_show_no_controls():
    motion = evil_motion()
    with pytest.raises(ValueError, match=r'bones\[0\]: "a\\x1b\[2J') as refused:
        motion.save("a.vmd")
    assert is_safe(str(refused.value))
    model = evil_model()
    with pytest.raises(KeyError) as missing:
        model.bone("bone")
    assert SHOWN in str(missing.value) and is_safe(str(missing.value))
    with pytest.raises(ValueError) as invalid:
        mmdskin.Model.from_arrays(
            bones=[mmdskin.Bone("a\x1b", parent=0), mmdskin.Bone("a\x1b", parent=7)]
        )
    assert is_safe(str(invalid.value))


def test_warnings_show_no_controls(files, recwarn):
    assert main(["info", "evil.pmx"]) == 0
    mmdskin.load_textures(mmdskin.load_model("evil.pmx"))
    texts = [str(one.message) for one in recwarn]
    assert any(SHOWN in text for text in texts) and all(map(is_safe, texts))


def test_objects_show_no_controls():
    for thing in (evil_model(), evil_motion(), evil_model().bones, evil_model().materials[0]):
        assert is_safe(repr(thing))
        html = getattr(thing, "_repr_html_", str)()
        assert is_safe(html), html


def test_notes_show_no_controls():
    notes = mmdskin.Simulation(evil_model(bodies=1)).notes
    assert any("\\x1b" in note for note in notes) and all(map(is_safe, notes))
