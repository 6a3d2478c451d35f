# SPDX-License-Identifier: MIT
"""python -m mmdskin: the lines that docs/command-line.md prints, what they write, and errors."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import mmdskin
import numpy as np
import pytest
from conftest import ROOT, gl_reason
from files import pmx_file as pmx
from mmdskin.command_line import main
from mmdskin.sample_files import write_sample
from physics import chains
from PIL import Image
from retarget import bodies, bvh_file

LINES = [
    line
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    for line in re.findall(r"^python -m mmdskin .*$", page.read_text("utf-8"), re.MULTILINE)
]
LINES = [*dict.fromkeys(LINES)]  # translations print the same
LINKS = {"link1", "link2", "link3", "link4"}


@pytest.fixture(scope="module")
def dancer(tmp_path_factory):
    """A folder with dancer.pmx, its textures and dancer.vmd, tall.pmx and walk.bvh."""
    folder = tmp_path_factory.mktemp("dancer")
    write_sample(str(folder))
    bodies.write_tall_dancer(folder)
    bvh_file.write_walk(folder)
    return folder


@pytest.fixture
def chain(tmp_path, monkeypatch):
    """Works in a folder with chain.pmx, which hangs, and swing.vmd."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chain.pmx").write_bytes(pmx.write(visible_chain()))
    chains.swing().save("swing.vmd")
    return tmp_path


def visible_chain():
    """A triangle for each bone of a chain."""
    file = chains.chain_file()
    count = 3 * len(file.bones)
    corners = np.float32([(0, 0, 0), (0.4, 0, 0), (0, 0.4, 0)])
    file.positions = np.float32([b.position for b in file.bones]).repeat(3, 0) + np.tile(
        corners, (len(file.bones), 1)
    )
    file.normals = np.tile(np.float32([0, 0, -1]), (count, 1))
    file.uvs, file.additional_uvs = np.zeros((count, 2), "f4"), np.zeros((count, 0, 4), "f4")
    file.deform, file.edge_scales = np.zeros(count, np.uint8), np.ones(count, np.float32)
    bones = np.arange(len(file.bones)).repeat(3)
    file.bone_indices = np.stack([bones, *[np.full(count, -1)] * 3], 1).astype(np.int32)
    file.bone_weights = np.tile(np.float32([1, 0, 0, 0]), (count, 1))
    file.sdef = np.zeros((count, 3, 3), np.float32)
    file.triangles = np.arange(count, dtype=np.int32).reshape(-1, 3)
    file.materials = [pmx.Material("all", index_count=count, flags=1)]
    return file


def said(capsys, *words):
    """The status, the output and the lines of errors of a command."""
    try:
        status = main([str(word) for word in words])
    except SystemExit as stopped:
        status = stopped.code
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return status, out, err.splitlines()


def run(folder, *words, **options):
    command = [sys.executable, "-m", "mmdskin", *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, encoding="utf-8", **options
    )


def vertices(physics=None, frames=range(91), **options):
    found, motion = mmdskin.load_model("chain.pmx"), mmdskin.load_motion("swing.vmd")
    return mmdskin.skin(found, found.pose(motion, frames, physics=physics), **options)


# The docs


def test_the_docs_print_every_command():
    commands = {"sample", "info", "render", "skin", "simulate", "convert", "fit"}
    assert {shlex.split(line)[3] for line in LINES} >= commands


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_the_docs_runs(line, dancer):
    words = shlex.split(line)[3:]
    if words[0] == "render" and gl_reason():
        pytest.skip(f"no OpenGL here: {gl_reason()}")
    if ".mp4" in line:
        pytest.importorskip("av")
    before = set(dancer.iterdir())
    result = run(dancer, *words)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout or set(dancer.iterdir()) - before


def test_every_command_has_help(capsys):
    status, text, _ = said(capsys, "--help")
    commands = re.findall(r"^    (\w+) ", text, re.MULTILINE)
    assert (status, len(commands)) == (0, 7)
    for command in commands:
        status, text, _ = said(capsys, command, "--help")
        assert status == 0 and f"python -m mmdskin {command}" in text


# What is written


def test_info_tells_what_the_files_have(capsys, chain):
    other = mmdskin.Motion.from_tracks(
        [("root", [0, 30], None, None, None), ("x", [7], *[None] * 3)]
    )
    other.save("other.vmd", names="cut")
    status, text, _ = said(capsys, "info", "--json", "chain.pmx", "other.vmd")
    found, played = map(json.loads, text.splitlines())
    assert status == 0
    assert (found["file"], found["kind"], found["vertices"]) == ("chain.pmx", "model", 18)
    assert found["deform"] == {"BDEF1": 18}
    assert found["rigid_bodies"] == {"follow_bone": 1, "physics": 4}
    assert np.allclose(found["bounds"], mmdskin.load_model("chain.pmx").bounds)
    assert (played["last_frame"], played["seconds"], played["bone_keys"]) == (30, 1, 3)
    assert played["unmatched"]["bones"] == ["x"]
    _, text, _ = said(capsys, "info", "chain.pmx")
    assert re.search(r"rigid bodies +5: 1 follow_bone, 4 physics", text)


def test_info_names_textures_that_are_missing(capsys, chain):
    file = visible_chain()
    file.textures = ["tex\\HERE.png", "../there.png", "none.png"]
    (chain / "textured.pmx").write_bytes(pmx.write(file))
    (chain / "Tex").mkdir()
    Image.new("RGB", (2, 2)).save(chain / "Tex/here.PNG")
    _, text, _ = said(capsys, "info", "--json", "textured.pmx")
    assert json.loads(text)["missing_textures"] == ["../there.png", "none.png"]


@pytest.mark.parametrize("ending", ["npy", "npz", "pc2", "mdd"])
def test_skin_writes_the_vertices_of_skin(capsys, chain, ending):
    name = f"out.{ending}"
    words = ("--frames", "10:80:7", "--physics", "--set", "hz=120")
    assert said(capsys, "skin", "chain.pmx", "swing.vmd", *words, "-o", name) == (0, "", [])
    wanted = vertices(mmdskin.Physics(hz=120), range(10, 80, 7))
    if ending in ("npy", "npz"):
        loaded = np.load(name)
        found = loaded["positions"] if ending == "npz" else loaded
    elif ending == "pc2":
        assert np.fromfile(name, "<f4", 2, offset=20).tolist() == [10, 7]  # start, step
        found = np.fromfile(name, "<f4", offset=32).reshape(10, -1, 3)
    else:
        times = np.fromfile(name, ">f4", 10, offset=8)
        assert np.allclose(times, np.arange(10, 80, 7) / 30)
        found = np.fromfile(name, ">f4", offset=8 + 40).reshape(10, -1, 3)
    assert np.array_equal(found, wanted.positions)


def test_an_npz_has_what_a_mesh_needs_in_the_coordinates_of_another_program(capsys, chain):
    assert said(capsys, "skin", "chain.pmx", "swing.vmd", "--to", "blender", "-o", "a.npz")[0] == 0
    found, wanted = np.load("a.npz"), mmdskin.convert(vertices(), to="blender")
    assert found["frames"].tolist() == [*range(91)]
    assert np.array_equal(found["positions"], wanted.positions.astype("f4"))
    assert np.array_equal(found["normals"], wanted.normals)
    triangles = mmdskin.load_model("chain.pmx").triangles
    assert np.array_equal(found["triangles"], np.asarray(triangles)[:, [0, 2, 1]])
    assert found["uvs"].shape == (18, 2)
    said(capsys, "skin", "chain.pmx", "swing.vmd", "--no-normals", "-o", "a.npz")
    assert "normals" not in np.load("a.npz")


def test_simulate_puts_physics_into_keys(capsys, chain):
    """The mesh is where physics has it, without physics; all other keys are as they were."""
    assert said(capsys, "simulate", "chain.pmx", "swing.vmd", "-o", "out.vmd") == (0, "", [])
    found, motion = mmdskin.load_model("chain.pmx"), mmdskin.load_motion("out.vmd")
    assert {track.name for track in motion.bones} == {"root"} | LINKS
    for track in motion.bones:
        assert track.physics.all() == (track.name == "root")
    before = mmdskin.load_motion("swing.vmd").bones["root"]
    assert np.array_equal(motion.bones["root"].stored, before.stored)
    wanted, without = vertices(True).positions, vertices().positions
    for physics in (None, True):  # whose switches are off
        keyed = mmdskin.skin(found, found.pose(motion, range(91), physics=physics)).positions
        assert np.linalg.norm(keyed - wanted, axis=-1).max() < 0.1
    assert np.abs(without - wanted).max() > 2


@pytest.mark.parametrize("switched", [False, True])
def test_simulate_switches_off_ik_of_bones_that_physics_moves(capsys, chain, switched):
    file = visible_chain()
    reach = pmx.IK(5, 10, 1.0, [pmx.IKLink(bone) for bone in (4, 3, 2)])
    file.bones.append(pmx.Bone("hair IK", position=(3, 17, 0), parent=0, flags=0x3E, ik=reach))
    foot = pmx.IK(8, 10, 1.0, [pmx.IKLink(7)])
    file.bones.append(pmx.Bone("leg", parent=0))
    file.bones.append(pmx.Bone("foot", position=(0, -5, 0), parent=7))
    file.bones.append(pmx.Bone("foot IK", position=(0, -5, 1), flags=0x3E, ik=foot))
    file.bone_indices[:, 0] = np.minimum(file.bone_indices[:, 0], 5)
    (chain / "chain.pmx").write_bytes(pmx.write(file))
    if switched:
        states = ([0, 20], None, ("foot IK",), [[False], [True]])
        bones = mmdskin.load_motion("swing.vmd").bones
        mmdskin.Motion.from_tracks(bones, properties=states).save("swing.vmd")
    assert said(capsys, "simulate", "chain.pmx", "swing.vmd", "-o", "out.vmd") == (0, "", [])
    found, motion = mmdskin.load_model("chain.pmx"), mmdskin.load_motion("out.vmd")
    states = {
        name: motion.properties.ik_enabled[:, i].tolist()
        for i, name in enumerate(motion.properties.ik_names)
    }
    assert states == (
        {"hair IK": [False] * 2, "foot IK": [False, True]} if switched else {"hair IK": [False]}
    )
    keyed = mmdskin.skin(found, found.pose(motion, range(91))).positions
    assert np.linalg.norm(keyed - vertices(True).positions, axis=-1).max() < 0.1


def test_simulate_leaves_bones_that_no_key_can_name_to_mmd(capsys, chain):
    """Bones without a name, with that of an earlier bone, and with one that no VMD holds."""
    file = visible_chain()
    names = {"link2": "link1", "link3": "", "link4": "長い名前の四つ目の骨"}
    for bone in file.bones:
        bone.name = names.get(bone.name, bone.name)
    (chain / "chain.pmx").write_bytes(pmx.write(file))
    words = ("simulate", "chain.pmx", "swing.vmd", "-o", "out.vmd")
    status, _, lines = said(capsys, *words)
    assert status == 1 and lines[0].endswith('names="omit" leaves them out')
    assert said(capsys, *words, "--names", "omit") == (0, "", [])
    assert set(mmdskin.load_motion("out.vmd").bones.names) == {"root", "link1"}


@pytest.mark.parametrize("name", ["hair IK", ""])
def test_simulate_switches_off_ik_of_equal_names_once(capsys, chain, name):
    file = visible_chain()
    for link in (2, 3):
        reach = pmx.IK(5, 10, 1.0, [pmx.IKLink(link)])
        file.bones.append(pmx.Bone(name, position=(3, 17, 0), parent=0, flags=0x3E, ik=reach))
    file.bones.insert(5, pmx.Bone("tip", parent=4))
    (chain / "chain.pmx").write_bytes(pmx.write(file))
    assert said(capsys, "simulate", "chain.pmx", "swing.vmd", "-o", "out.vmd") == (0, "", [])
    properties = mmdskin.load_motion("out.vmd").properties
    assert properties.ik_names == ((name,) if name else ()) and not properties.ik_enabled.any()


def test_convert_writes_what_its_ending_says(capsys, chain):
    def convert(*words):
        assert said(capsys, "convert", *words) == (0, "", [])

    convert("swing.vmd", "--frame", "45", "--model", "chain.pmx", "pose.VPD")
    assert (chain / "pose.VPD").read_bytes().startswith(b"Vocaloid Pose Data file")
    convert("pose.VPD", "pose.vmd")
    assert (chain / "pose.vmd").read_bytes().startswith(b"Vocaloid Motion Data 0002")
    found = mmdskin.load_model("chain.pmx")
    poses = (
        found.pose(mmdskin.load_motion("pose.vmd"), 0),
        found.pose(mmdskin.load_motion("swing.vmd"), 45),
    )
    assert np.abs(np.subtract(*(pose.bone_matrices for pose in poses))).max() < 1e-4
    convert("swing.vmd", "again.vmd")
    assert mmdskin.load_motion("again.vmd") == mmdskin.load_motion("swing.vmd")
    convert("chain.pmx", "again.pmx")
    assert (chain / "again.pmx").read_bytes() == (chain / "chain.pmx").read_bytes()


def test_render_draws_what_render_draws(capsys, chain, gl):
    options = ("--size", "64x48", "--look", "lambert", "--samples", "1", "--background", "102030")
    assert said(capsys, "render", "chain.pmx", *options, "-o", "a.png") == (0, "", [])
    found = mmdskin.load_model("chain.pmx")
    background = [16 / 255, 32 / 255, 48 / 255, 1]
    wanted = mmdskin.render(found, found.pose(), size=(64, 48), background=background).image
    assert np.array_equal(np.asarray(Image.open("a.png")), wanted)


def test_pictures_of_frames_are_numbered_and_seen_by_one_camera(capsys, chain, gl):
    words = ("render", "chain.pmx", "swing.vmd", "--size", "64x64", "--frames", "0:91:45", "-o")
    assert said(capsys, *words, "a.png")[0] == said(capsys, *words, "b##c.png")[0] == 0
    names = sorted(path.name for path in chain.glob("*.png"))
    assert names == ["a0000.png", "a0045.png", "a0090.png", "b00c.png", "b45c.png", "b90c.png"]
    seen = [np.asarray(Image.open(name))[..., 3] > 0 for name in names[:3]]
    for one in seen:
        assert one.any() and not (one[0].any() or one[-1].any() or one[:, [0, -1]].any())
    assert (seen[0] != seen[1]).any()


def test_a_video_has_all_frames(capsys, chain, gl):
    av = pytest.importorskip("av")
    words = "render chain.pmx swing.vmd --size 64x48 --samples 1 --background 4060c0 -o a.mp4"
    assert said(capsys, *words.split(), "--frames", ":61:2") == (0, "", [])
    with av.open("a.mp4") as video:
        stream = video.streams.video[0]
        found = [frame.to_ndarray(format="rgb24") for frame in video.decode(stream)]
        assert (stream.average_rate, stream.codec_context.name) == (15, "h264")
    assert (len(found), found[0].shape) == (31, (48, 64, 3))
    corner = np.mean([image[:4, :4] for image in found], (0, 1, 2))
    assert np.abs(corner - (0x40, 0x60, 0xC0)).max() < 6  # colors are compressed
    assert np.abs(found[0].astype(int) - found[-1]).max() > 30


def test_without_a_model_the_sample_dances(capsys, chain, gl):
    options = ("--size", "48x64", "--samples", "1", "--look", "lambert", "-o")
    said(capsys, "sample")
    assert said(capsys, "render", "dancer.vmd", "--frame", "30", *options, "a.png")[0] == 0
    assert (
        said(capsys, "render", "dancer.pmx", "dancer.vmd", "--frame", "30", *options, "b.png")[0]
        == 0
    )
    assert (chain / "a.png").read_bytes() == (chain / "b.png").read_bytes()
    assert said(capsys, "render", *options, "rest.png")[0] == 0


def test_a_video_without_pyav_says_what_to_install(chain, gl):
    (chain / "av.py").write_text("raise ImportError")
    environment = os.environ | {"PYTHONPATH": str(chain)}
    result = run(chain, "render", "chain.pmx", "swing.vmd", "-o", "a.mp4", env=environment)
    assert result.returncode == 1 and 'pip install "mmdskin[video]"' in result.stderr
    assert not [*chain.glob("*.mp4*")]


def test_a_motion_s_camera_sees_the_picture(capsys, chain, gl):
    camera = mmdskin.Camera(*np.float32([[0, 18, -30], [0, 18, 0], [0, 1, 0]]), np.float32(20))
    keys = mmdskin.Motion.from_camera(mmdskin.Camera(*(np.stack([part] * 2) for part in camera)))
    keys.save("camera.vmd")
    said(capsys, "render", "chain.pmx", "--camera", "camera.vmd", "--samples", "1", "-o", "a.png")
    found = mmdskin.load_model("chain.pmx")
    wanted = mmdskin.render(
        found, found.pose(), camera=keys.camera_at(0), look="mmd", edges=True
    ).image
    assert np.array_equal(np.asarray(Image.open("a.png")), wanted)


def test_textures_are_drawn(capsys, dancer, tmp_path, gl):
    words = ("--size", "64x64", "--samples", "1", "-o", tmp_path / "a.png")
    assert said(capsys, "render", dancer / "dancer.pmx", *words)[2] == []
    found = mmdskin.load_model(dancer / "dancer.pmx")
    files = [dancer / name.replace("\\", "/") for name in found.textures]
    images = {i: np.asarray(Image.open(file).convert("RGBA")) for i, file in enumerate(files)}
    wanted = mmdskin.render(
        found, found.pose(), size=(64, 64), textures=images, look="mmd", edges=True
    ).image
    assert np.array_equal(np.asarray(Image.open(tmp_path / "a.png")), wanted)


def test_without_pillow_the_picture_has_no_textures(dancer, tmp_path, gl):
    (tmp_path / "PIL.py").write_text("raise ImportError")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    words = ("--size", "64x64", "-o", str(tmp_path / "a.png"))
    result = run(dancer, "render", "dancer.pmx", *words, env=environment)
    assert result.returncode == 0 and (tmp_path / "a.png").exists()
    assert "textures are left out. Pillow reads textures: pip install" in result.stderr


# Errors


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        ("info none.pmx", 1, "none.pmx: No such file"),
        ("skin none.pmx swing.vmd -o a.npy", 1, "none.pmx: No such file"),
        ("skin swing.vmd swing.vmd -o a.npy", 1, "swing.vmd: header: not a PMX or PMD file"),
        ("skin chain.pmx chain.pmx -o a.npy", 1, "chain.pmx: header: not a VMD or VPD file"),
        ("skin chain.pmx swing.vmd -o none/a.npy", 1, "none/a.npy: there is no folder none"),
        ("skin chain.pmx swing.vmd -o folder.npy", 1, "folder.npy: "),
        ("skin chain.pmx swing.vmd -o a.npy --frames 91:", 1, "swing.vmd: no frame is chosen"),
        ("skin chain.pmx swing.vmd -o a.npy --backend x", 2, 'backend: "x" is unknown'),
        (
            "skin chain.pmx swing.vmd -o a.npy --physics --set hz=0",
            2,
            "hz: 0, expected 1 to 100000",
        ),
        *(
            (f"skin chain.pmx swing.vmd -o a.npy --physics --set {given}", 2, f"{given}: {words}")
            for given, words in (
                ("hz", "expected hz=a number"),
                ("hz=true", "expected hz=a number"),
                ("wind=50", "expected wind=x,y,z"),
                ("gravity=true", "expected gravity=x,y,z"),
                ("iterations=2.5", "expected iterations=a whole number"),
                ("settle=inf", "expected settle=a whole number"),
                ("ground=1,2,3", "expected ground=true, false or a height"),
                ("additional_damping=1", "expected additional_damping=true or false"),
            )
        ),
        *(
            (f"skin chain.pmx swing.vmd -o a.npy --physics --set {given}", 2, words)
            for given, words in (
                ("iterations=1e300", "argument --set: Physics.iterations: 1"),
                ("settle=-1", "argument --set: Physics.settle: -1, expected 0 to"),
                ("start=1e99", "argument --set: start: 1e+99, expected a frame"),
                ("gravity=0,nan,0", "argument --set: gravity"),
                ("gravity_seed=-1", "argument --set: Physics.gravity_seed: -1"),
            )
        ),
        ("skin chain.pmx swing.vmd -o a.npy --backend cpu:x", 2, 'kernel "x" is unknown'),
        ("skin chain.pmx swing.vmd -o a.npy --encoding hex", 2, "'hex' is not a text encoding"),
        ("skin chain.pmx swing.vmd -o a.npy --set hz=60", 2, "--set is for --physics"),
        ("skin chain.pmx late.vmd -o a.npy", 1, "late.vmd: 4,294,967,296 frames, expected at most"),
        ("simulate chain.pmx late.vmd -o a.vmd", 1, "late.vmd: 4,294,967,296 frames"),
        ("skin chain.pmx swing.vmd -o a.npy --set speed=2", 2, "speed=2: expected one of"),
        ("skin chain.pmx swing.vmd -o a.npy --frames 5", 2, "5: expected A:B"),
        ("skin chain.pmx swing.vmd -o a.txt", 2, "a.txt: expected a name in .npz"),
        ("skin chain.pmx", 2, "required: MOTION, -o/--output"),
        ("render chain.pmx -o a.png --size 0x5", 2, "0x5: expected a size"),
        (
            "render chain.pmx -o a.png --frame 1 --frames 0:2",
            2,
            "not allowed with argument --frame",
        ),
        ("render chain.pmx -o a.png --set hz=60", 2, "--set is for --physics"),
        ("render chain.pmx -o a.png --camera swing.vmd", 1, "swing.vmd: has no camera"),
        (
            "render chain.pmx swing.vmd -o a.mp4 --size 33x32",
            2,
            "33x32: a video needs even numbers",
        ),
        ("render swing.vmd swing.vmd -o a.png", 2, "swing.vmd: expected a model before"),
        ("render chain.pmx swing.vmd -o a.mp4 --frame 0", 2, "--frame is for a picture"),
        ("render chain.pmx -o a.png --look lambert --self-shadow", 2, "are for --look mmd"),
        ("convert chain.pmx a.pmx --motion swing.vmd", 2, "are for a .glb"),
        ("convert chain.pmx a.glb --names cut", 2, "are for motions"),
        ("convert chain.pmx a.glb --frames 0:5", 2, "need --motion"),
        ("convert swing.vmd a.pmx", 1, "swing.vmd: header: not a PMX"),
        ("convert chain.pmx ./chain.pmx", 2, "chain.pmx: this is the input"),
        ("convert swing.vmd a.vmd --frame 3", 2, "are for a .vpd"),
        ("convert chain.pmx a.pmx --frame 3", 2, "are for motions"),
        ("convert chain.pmx a.pmx --names cut", 2, "are for motions"),
        (
            "convert swing.vmd chain.pmx a.vmd",
            2,
            "MODEL, --legs, --tolerance and --up are for a .bvh",
        ),
        ("convert walk.bvh a.vmd", 2, "a .bvh needs a model and a .vmd"),
        ("convert walk.bvh chain.pmx a.pmx", 2, "a .bvh needs a model and a .vmd"),
        ("convert walk.bvh chain.pmx a.vmd --frame 3", 2, "are not for a .bvh"),
        ("convert swing.vmd a.vmd --legs ik", 2, "are for a .bvh, .gltf, .glb, .vrm or .vrma"),
        ("convert walk.vrma a.vmd", 2, "a .vrma needs a model and a .vmd"),
        ("convert walk.vrma chain.pmx a.vmd --up z", 2, "--up is for a .bvh"),
        ("convert walk.bvh chain.pmx a.vmd", 1, "walk.bvh: BVH: header: no HIERARCHY"),
        ("fit swing.vmd chain.pmx a.pmx", 2, "a.pmx: expected a name in .vmd"),
        ("fit swing.vmd chain.pmx swing.vmd", 2, "swing.vmd: this is the input"),
        ("fit swing.vmd chain.pmx a.vmd", 1, "swing.vmd: target: no bone is hips"),
        *(
            (f"{words} {given}", 2, f"argument {given.replace(' ', ': ')}: expected {expected}")
            for words, given, expected in (
                ("fit swing.vmd chain.pmx a.vmd", "--scale 0", "0.001 to 1000"),
                ("render chain.pmx -o a.png", "--frame nan", "0 or more"),
                ("render chain.pmx -o a.png", "--samples 9", "1 to 8"),
                ("skin chain.pmx swing.vmd -o a.npy", "--threads 0", "1 or more"),
                ("simulate chain.pmx swing.vmd -o a.vmd", "--tolerance 0", "a positive number"),
                ("convert walk.bvh chain.pmx a.vmd", "--tolerance inf", "a positive number"),
                ("convert swing.vmd a.vpd", "--frame -1", "0 or more"),
            )
        ),
        ("", 2, "required: COMMAND"),
    ],
)
def test_an_error_names_the_file_in_one_line(capsys, chain, words, status, text):
    (chain / "folder.npy").mkdir()
    mmdskin.Motion.from_tracks([("root", [2**32 - 1], None, None, None)]).save("late.vmd")
    (chain / "walk.bvh").write_bytes(b"MOTION")
    before = sorted(chain.iterdir())
    found, _, lines = said(capsys, *words.split())
    assert found == status
    assert text in lines[-1]
    assert status == 2 or len(lines) == 1
    assert sorted(chain.iterdir()) == before


def test_a_fitted_motion_says_what_has_changed(capsys, dancer, monkeypatch):
    monkeypatch.chdir(dancer)
    words = ("fit", "dancer.vmd", "dancer.pmx", "tall.pmx", "fitted.vmd", "--scale", "2")
    status, text, lines = said(capsys, *words)
    assert (status, lines) == (0, [])
    assert "positions are scaled by 2.000\n" in text
    was, now = (
        mmdskin.load_motion(name).bones["左足ＩＫ"] for name in ("dancer.vmd", "fitted.vmd")
    )
    np.testing.assert_allclose(now.translations, 2 * was.translations, rtol=1e-6)


def test_motion_capture_becomes_keys_as_asked(capsys, dancer, monkeypatch):
    monkeypatch.chdir(dancer)
    keys = {}
    for name, more in {"a": "", "b": "--legs ik --tolerance 0.5", "c": "--up z"}.items():
        words = f"convert walk.bvh dancer.pmx {name}.vmd {more}".split()
        assert said(capsys, *words)[0] == 0
        keys[name] = mmdskin.load_motion(f"{name}.vmd")
    assert "左ひざ" in keys["a"].bones and "左ひざ" not in keys["b"].bones
    count = {name: sum(len(track.frames) for track in m.bones) for name, m in keys.items()}
    assert count["b"] < 0.8 * count["a"]
    turned = keys["c"].bones["センター"].translations
    assert np.abs(turned - keys["a"].bones["センター"].translations[0]).max() > 1


def test_info_goes_on_after_a_file_that_it_cannot_read(capsys, chain):
    status, text, lines = said(capsys, "info", "none.vmd", "chain.pmx")
    assert status == 1 and text.startswith("chain.pmx: model") and len(lines) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="/dev/stdin")
def test_info_reads_a_pipe(chain):
    contents = (chain / "chain.pmx").read_bytes()
    command = [sys.executable, "-m", "mmdskin", "info", "/dev/stdin"]
    result = subprocess.run(command, input=contents, capture_output=True)
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.startswith(b"/dev/stdin: model")


def test_info_knows_a_pose_with_the_mark_of_utf_8(capsys, chain):
    chains.swing().save("pose.vpd")
    text = (chain / "pose.vpd").read_bytes().decode("cp932")
    (chain / "pose.vpd").write_text(text, "utf-8-sig", newline="")
    status, text, _ = said(capsys, "info", "pose.vpd")
    assert status == 0 and "encoding              utf-8\n" in text


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_full_disk_is_an_error_of_the_output(capsys, chain):
    os.symlink("/dev/full", "full.npy")
    status, _, lines = said(capsys, "skin", "chain.pmx", "swing.vmd", "-o", "full.npy")
    assert (status, lines) == (1, ["mmdskin: full.npy: No space left on device"])


def test_names_in_any_encoding_are_shown(chain):
    chains.swing(name="ｾﾝﾀｰ\udc81").save("名.vmd")
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    result = run(chain, "info", "chain.pmx", "名.vmd", env=environment)
    assert (result.returncode, result.stderr) == (0, "")
    assert r"\udc81" in result.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="a locale without UTF-8")
def test_paths_in_any_encoding_are_written(chain):
    environment = os.environ | dict(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    written = ("skin chain.pmx swing.vmd -o 名.npz", "convert swing.vmd 名.vmd")
    for words in written:
        result = run(chain, *words.split(), env=environment)
        assert (result.returncode, result.stderr) == (0, "")
    assert (chain / "名.npz").exists() and (chain / "名.vmd").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="a shell")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_output_is_no_error(chain, closed):
    command = (
        f"{shlex.quote(sys.executable)} -m mmdskin skin chain.pmx swing.vmd -o a.npy --progress"
    )
    result = subprocess.run(f"{command} {closed}", shell=True, cwd=chain, capture_output=True)
    assert (result.returncode, result.stdout) == (0, b"") and (chain / "a.npy").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="a shell")
def test_a_reader_that_leaves_is_no_error(chain):
    command = f"{shlex.quote(sys.executable)} -m mmdskin info {'chain.pmx ' * 2000} | head -1"
    result = subprocess.run(command, shell=True, cwd=chain, capture_output=True, text=True)
    assert result.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_leaves_the_old_file(chain):
    """And a file that a killed process has left is removed by the next write."""
    chains.swing(2_000_000).save("long.vmd")
    (chain / "out.npy").write_bytes(b"old")
    command = [sys.executable, "-m", "mmdskin", "skin", "chain.pmx", "long.vmd", "-o", "out.npy"]
    command.append("--physics")
    for number, status in ((signal.SIGKILL, -9), (signal.SIGINT, 130)):
        process = subprocess.Popen(
            command,
            cwd=chain,
            stderr=subprocess.PIPE,
            # Background jobs of a shell ignore it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        end = time.monotonic() + 60
        while time.monotonic() < end and not [
            path for path in chain.glob(f"*.{process.pid}-*") if path.stat().st_size
        ]:
            time.sleep(0.02)
        leftovers = [*chain.glob("*.mmdskin-new")]
        assert len(leftovers) == 1
        process.send_signal(number)
        _, error = process.communicate(timeout=60)
        assert (process.returncode, error) == (status, b"")
        assert (chain / "out.npy").read_bytes() == b"old"
    assert not [*chain.glob("*.mmdskin-new")]


def test_progress_is_shown_where_it_is_wanted(capsys, chain):
    words = ("skin", "chain.pmx", "swing.vmd", "-o", "a.npy")
    assert said(capsys, *words)[2] == []
    assert said(capsys, *words, "--progress")[2][-1] == "frame: 91 of 91, 100%"
