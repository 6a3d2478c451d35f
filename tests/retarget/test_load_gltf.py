# SPDX-License-Identifier: MIT
"""load_gltf(): nodes are where the specification puts them; humanoids are those of VRM's extensions."""

import io
import json
import random

import mmdskin
import numpy as np
import pytest
from judges.growth import ratio
from retarget import bvh_file
from retarget.gltf_file import File
from retarget.rigs import convention

METERS = 0.01  # of our walker's centimeters
THREE = (["a", "b", "c"], [-1, 0, 1])


def walk(rolled=False):
    """Names, parents, rest and poses of our walker at 30 frames per second, meters, y up, facing +z."""
    joints, values = bvh_file.walk(1.0)
    poses = bvh_file.worlds(joints, values[::4])
    rest = bvh_file.worlds([j._replace(channels=()) for j in joints], np.zeros((1, 0)))[0]
    for one in (rest, poses):
        one[..., :3, 3] *= METERS
    if rolled:
        q, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(len(rest), 3, 3)))
        q *= np.linalg.det(q)[:, None, None]
        rest[:, :3, :3], poses[..., :3, :3] = rest[:, :3, :3] @ q, poses[..., :3, :3] @ q
    return [j.name for j in joints], [j.parent for j in joints], rest, poses


def standing(places=((0, 0, 0), (0, 1, 0), (0, 1, 0))):
    """A file of three bones in a chain, at places from the parent's."""
    rest = np.tile(np.eye(4), (3, 1, 1))
    rest[:, :3, 3] = np.cumsum(places, 0)
    return File(*THREE, rest)


def turn(axis, degrees):
    q = np.zeros(4)
    q["xyz".index(axis)], q[3] = np.sin(np.radians(degrees / 2)), np.cos(np.radians(degrees / 2))
    return q


def refused(data, kind=mmdskin.FormatError):
    with pytest.raises(kind) as info:
        mmdskin.load_gltf(data)
    return str(info.value)


def in_mmd(worlds):
    return mmdskin.convert(worlds, "matrices", source="gltf")


@pytest.mark.parametrize("rolled", [False, True])
@pytest.mark.parametrize("form", ["glb", "gltf", "beside"])
def test_joints_move_as_they_were_written(tmp_path, form, rolled):
    names, parents, rest, poses = walk(rolled)
    file = File(names, parents, rest)
    file.skin()
    file.dance(parents, poses)
    source = file.glb() if form == "glb" else file.gltf()
    if form == "beside":
        source = tmp_path / "walk.gltf"
        source.write_bytes(file.gltf("the%20walk.bin"))
        (tmp_path / "the walk.bin").write_bytes(file.data)
    skeleton, found, fps = mmdskin.load_gltf(source)
    order = [names.index(name) for name in skeleton.names]
    assert fps == 30 and not skeleton.doubts
    np.testing.assert_allclose(skeleton.rest, in_mmd(rest[order]), atol=2e-5)
    np.testing.assert_allclose(found, in_mmd(poses[:, order]), atol=2e-5)


def test_a_walk_of_vrma_moves_a_model_as_that_of_bvh():
    names, parents, rest, poses = walk()
    bvh, captured, fps = mmdskin.load_bvh(bvh_file.text(*bvh_file.walk(1.0)).encode())
    file = File([f"bone {i}" for i in range(len(names))], parents, rest)
    file.human("VRMC_vrm_animation", bvh.human)
    file.dance(parents, poses)
    skeleton, moved, rate = mmdskin.load_gltf(file.glb())
    assert skeleton.notes == ("mapped as given",)
    assert {slot: skeleton.names[b] for slot, b in skeleton.human.items()} == {
        slot: f"bone {b}" for slot, b in bvh.human.items()
    }
    model = mmdskin.sample().model
    a, b = (
        mmdskin.retarget(s, p, model.skeleton, fps=30).transforms
        for s, p in ((bvh, captured[::4]), (skeleton, moved))
    )
    assert (fps, rate) == (120, 30)
    np.testing.assert_allclose(a, b, atol=1e-3)


@pytest.mark.parametrize("number", range(7))
def test_vrm_humanoids_are_those_that_names_give(number):
    """Seven VRM files, of both versions: the extension's map is the truth for names alone."""
    name = ("VRoid", "Mixamo", "Unity humanoid", "Biped", "Rigify", "Character Creator", "Unreal")[
        number
    ]
    rig, truth = convention(name, fingers=True)
    rest = mmdskin.convert(rig.rest, "matrices", to="gltf")
    file = File(rig.names, rig.parents.tolist(), rest)
    file.skin()
    alone = mmdskin.load_gltf(file.glb())[0]
    given = dict(truth)
    if number % 2:
        for side in ("left", "right"):  # VRM 1.0's thumbs start one joint nearer to the wrist
            joints = [given.pop(f"{side}Thumb{p}") for p in ("Proximal", "Intermediate", "Distal")]
            given |= {
                f"{side}Thumb{p}": joint
                for p, joint in zip(("Metacarpal", "Proximal", "Distal"), joints, strict=True)
            }
    file.human("VRMC_vrm" if number % 2 else "VRM", {**given, "spine": rig.spine[0]})
    told = mmdskin.load_gltf(file.glb())[0]
    names = [{slot: s.names[b] for slot, b in s.human.items()} for s in (told, alone)]
    assert names[0] == names[1] == {slot: rig.names[bone] for slot, bone in truth.items()}
    assert (told.notes, alone.notes) == (("mapped as given",), ("mapped by names",))


def test_a_file_without_animation_has_its_rest_pose():
    file = standing()
    file.skin()
    skeleton, poses, _ = mmdskin.load_gltf(file.gltf())
    assert poses.shape == (1, 3, 4, 4)
    np.testing.assert_array_equal(poses[0], skeleton.rest)


def test_turns_between_keys_are_on_the_shorter_arc():
    """Halfway from 0 to 90 degrees: 45, also if the second key is -q; a third at frame 20 of 60."""
    file = standing()
    file.animate(1, "rotation", [0, 1, 3], [turn("z", 0), -turn("z", 90), turn("z", 180)])
    _, poses, _ = mmdskin.load_gltf(file.glb())
    assert len(poses) == 91
    for frame, degrees in ((0, 0), (15, 45), (30, 90), (50, 120), (90, 180)):
        c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        np.testing.assert_allclose(poses[frame, 0, :2, :2], [[c, -s], [s, c]], atol=1e-6)


def test_steps_hold_until_the_next_key():
    file = standing()
    file.animate(0, "translation", [0, 0.5, 1], [[0, 0, 0], [1, 0, 0], [2, 0, 0]], "STEP")
    _, poses, _ = mmdskin.load_gltf(file.glb())
    assert (poses[[0, 14, 15, 29, 30], 0, 0, 3] / 12.5).tolist() == [0, 0, 1, 1, 2]


def test_cubic_splines_are_hermite_curves():
    """From 0 to 1 in two seconds, leaving at 3 and arriving at -1 per second:
    p(t) = (t³-2t²+t)·2·3 + (3t²-2t³) + (t³-t²)·2·(-1), in 1/4 and 1/2 of the time."""
    file = standing()
    keys = [[0, 9, 9], [0, 0, 0], [3, 0, 0], [-1, 0, 0], [1, 0, 0], [9, 9, 9]]
    file.animate(0, "translation", [0, 2], keys, "CUBICSPLINE")
    _, poses, _ = mmdskin.load_gltf(file.glb())
    found = poses[:, 0, 0, 3] / 12.5
    quarter = (1 / 64 - 1 / 8 + 1 / 4) * 6 + (3 / 16 - 1 / 32) - 2 * (1 / 64 - 1 / 16)
    half = (1 / 8 - 1 / 2 + 1 / 2) * 6 + (3 / 4 - 1 / 4) - 2 * (1 / 8 - 1 / 4)
    np.testing.assert_allclose(found[[0, 15, 30, 60]], [0, quarter, half, 1], atol=1e-6)


def test_scales_and_matrices_above_bones_place_them():
    """An armature object of 0.01, turned by a quarter, as Mixamo's."""
    file = standing([(0, 0, 0), (0, 100, 0), (0, 50, 0)])
    file.json["skins"] = [{"joints": [1, 2]}]
    file.json["nodes"][0] = {
        "children": [1],
        "matrix": [0.01, 0, 0, 0, 0, 0, -0.01, 0, 0, 0.01, 0, 0, 0, 0, 0, 1],
    }
    file.animate(1, "translation", [0, 1], [[0, 100, 0], [0, 300, 0]])
    skeleton, poses, _ = mmdskin.load_gltf(file.glb())
    assert skeleton.names == ("b", "c") and skeleton.parents.tolist() == [-1, 0]
    np.testing.assert_allclose(poses[15, :, :3, 3] / 12.5, [(0, 0, 2), (0, 0, 2.5)], atol=1e-5)
    np.testing.assert_allclose(np.linalg.det(skeleton.rest[:, :3, :3]), 1, atol=1e-6)


def test_integers_are_normalized_and_strides_skipped():
    file = standing()
    values = [[0, 0, 32767, 0], [0, 0, 0, 32767]]  # half a turn about z, and none
    file.animate(0, "rotation", [0, 1], values, dtype="<i2", stride=12)
    _, poses, _ = mmdskin.load_gltf(file.glb())
    np.testing.assert_allclose(poses[0, 0, :2, :2], [[-1, 0], [0, -1]], atol=1e-6)
    np.testing.assert_allclose(poses[30, 0, :3, :3], np.eye(3), atol=1e-6)


def test_animations_are_chosen_by_number_and_name():
    file = standing()
    file.animate(0, "translation", [0], [[1, 0, 0]])
    first = file.json["animations"][0]
    file.json["animations"] = [
        {"name": "idle", "channels": [], "samplers": []},
        first,
    ]
    file.skin()
    for animation in (1, "take"):
        assert mmdskin.load_gltf(file.glb(), animation=animation)[1][0, 0, 0, 3] == 12.5
    assert mmdskin.load_gltf(file.glb())[1][0, 0, 0, 3] == 0
    for animation in (2, -1, "run", None):
        with pytest.raises(mmdskin.FormatError, match="animation: .* expected 0 to 1 or"):
            mmdskin.load_gltf(file.glb(), animation=animation)


def test_saved_dances_are_read_back(tmp_path):
    """What save_glb() writes."""
    model, motion, _ = mmdskin.sample()
    mmdskin.save_glb(tmp_path / "dance.glb", model, motion, np.arange(0, 30))
    skeleton, poses, _ = mmdskin.load_gltf(tmp_path / "dance.glb")
    world = model.transforms(model.pose(motion, np.arange(0, 30)))
    order = [model.bone(name) for name in skeleton.names]
    assert len(order) == len(model.bones)
    np.testing.assert_allclose(poses, world[:, order], atol=1e-3)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda j: j["asset"].update(version="1.0"), "asset: expected version 2"),
        (lambda j: j["nodes"][0].update(children=[3]), "nodes: 3 of 3"),
        (lambda j: j["nodes"][0].update(children=[1, 2]), "nodes[2]: two parents"),
        (lambda j: j["nodes"][2].update(children=[0]), "cycle"),
        (lambda j: j["nodes"][1].update(rotation=[0, 1]), "ValueError"),
        (lambda j: j["nodes"][1].update(translation=[0, 1e12, 0]), "away, or not finite"),
        (lambda j: j["nodes"][1].update(scale="big"), "ValueError"),
        (lambda j: j.update(nodes=[{}] * 70_000), "nodes: 70,000, expected at most 65,536"),
        (lambda j: j["skins"][0].update(joints=[0, "1"]), "nodes: '1' of 3"),
        (lambda j: j["accessors"][1].update(count=3), "accessors[1]: 3 values in 32 bytes"),
        (lambda j: j["accessors"][1].update(count=-3), "accessors[1]: -3 values in 32 bytes"),
        (lambda j: j["accessors"][1].update(type="VEC3"), "accessors[1]: VEC3, expected VEC4"),
        (lambda j: j["accessors"][1].update(sparse={}), "that is not sparse"),
        (lambda j: j["accessors"][1].update(componentType=1), "KeyError: 1"),
        (lambda j: j["accessors"][0].update(count=1), "times that do not increase, or fit"),
        (lambda j: j["accessors"][1].update(count=1 << 40), "1,099,511,627,776 values in 32 bytes"),
        (lambda j: j["bufferViews"][1].update(byteOffset=24), "accessors[1]: 2 values in 16 bytes"),
        (lambda j: j["bufferViews"][1].update(extensions={"EXT_meshopt_compression": {}}),
         "compressed by EXT_meshopt_compression"),
        (lambda j: None, "buffers[0]: ../secret: expected a file in the folder"),
        (lambda j: j["animations"][0]["channels"][0].update(sampler=9), "IndexError"),
        (lambda j: j["animations"][0]["samplers"][0].update(interpolation="BEZIER"),
         "animation of nodes[0]: interpolation BEZIER, expected LINEAR, STEP, CUBICSPLINE"),
        (lambda j: j.update(extensions={"VRM": {"humanoid": {"humanBones": [{"bone": "tail", "node": 0}]}}}),
         'no slot is named "tail"'),
        (lambda j: j.update(skins=[], animations=[]), "no skeleton"),
    ],
)  # fmt: skip
def test_damage_is_named(change, says):
    file = standing()
    file.skin()
    file.animate(0, "rotation", [0, 1], [turn("x", 0), turn("x", 90)])
    change(file.json)
    data = file.gltf("../secret") if "folder" in says else file.glb()
    assert says in refused(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"Kaydara FBX Binary  \0",
        b"HIERARCHY\nROOT Hips\n",
        b"[1, 2]",
        b"glTF\2\0\0\0\x0c\0\0\0",  # without a chunk
    ],
)
def test_files_of_other_formats_are_named(data):
    assert "header: no JSON, nor binary glTF as in .glb and .vrm: this is no glTF file" in refused(
        data
    )


@pytest.mark.parametrize("source", [None, 5, io.StringIO("{}")])
def test_what_is_no_source_is_not_called_a_damaged_file(source):
    with pytest.raises(TypeError, match=r"^source: "):
        mmdskin.load_gltf(source)


def test_other_json_and_old_versions_are_named():
    assert "asset: expected version 2 of glTF" in refused(b'\xef\xbb\xbf {"nodes": []}')
    assert "version 1 of binary glTF, expected 2" in refused(b"glTF\1\0\0\0" + bytes(12))


def test_files_beside_a_gltf_are_limited_in_size(tmp_path, monkeypatch):
    file = standing()
    file.animate(0, "translation", [0, 1], np.zeros((2, 3)))
    (tmp_path / "a.gltf").write_bytes(file.gltf("a.bin"))
    (tmp_path / "a.bin").write_bytes(file.data)
    monkeypatch.setattr("mmdskin.retargeting.gltf._MOST_BYTES", len(file.data))
    mmdskin.load_gltf(tmp_path / "a.gltf")
    (tmp_path / "a.bin").write_bytes(file.data + b"\0")
    assert "buffers[0]: a.bin: expected at most 32 bytes" in refused(tmp_path / "a.gltf")


def test_few_bytes_do_not_become_gigabytes():
    file = standing()
    file.animate(0, "translation", [0, 1e6], np.zeros((2, 3)))
    assert "30,000,001 frames of 1 node," in refused(file.glb())
    file = standing()
    file.animate(0, "translation", [0, np.nan], np.zeros((2, 3)))
    assert "accessors[0]: expected finite numbers" in refused(file.glb())
    for stride in (1, 3):  # of 4 bytes each
        file = standing()
        file.animate(0, "translation", [0, 1], np.zeros((2, 3)))
        file.json["bufferViews"][0]["byteStride"] = stride
        file.json["accessors"][0]["count"] = 2
        assert "accessors[0]: 2 values in 8 bytes" in refused(file.glb())


def test_a_stride_of_zero_means_that_values_follow_each_other():
    """As three.js reads it; the specification allows 4 to 252."""
    file = standing()
    file.animate(0, "translation", [0, 1], [[1, 0, 0], [2, 0, 0]])
    for view in file.json["bufferViews"]:
        view["byteStride"] = 0
    assert (mmdskin.load_gltf(file.glb())[1][[0, 30], 0, 0, 3] / 12.5).tolist() == [1, 2]
    file.json["accessors"][0]["count"] = 100_000_000
    assert "accessors[0]: 100,000,000 values in 8 bytes" in refused(file.glb())


def test_keys_that_channels_share_are_limited(monkeypatch):
    monkeypatch.setattr("mmdskin.retargeting.gltf._MOST_VALUES", 16)
    file = standing()
    file.animate(0, "translation", [0, 1], np.zeros((2, 3)))  # 2 times and 6 numbers
    (animation,) = file.json["animations"]
    animation["channels"].append({"sampler": 0, "target": {"node": 1, "path": "translation"}})
    assert mmdskin.load_gltf(file.glb())[0].names == ("a", "b")
    animation["channels"].append({"sampler": 0, "target": {"node": 2, "path": "translation"}})
    assert "over 16 numbers in the keys of all channels" in refused(file.glb())


def test_a_chain_of_many_bones_is_read_in_time():
    """In proportion to the nodes: all are above the last one."""

    def work(count):
        nodes = [{"children": [i + 1]} for i in range(count - 1)] + [{}]
        skins = [{"joints": list(range(count))}]
        data = json.dumps({"asset": {"version": "2.0"}, "nodes": nodes, "skins": skins}).encode()
        assert mmdskin.load_gltf(data)[0].parents.tolist() == list(range(-1, count - 1))
        return lambda: mmdskin.load_gltf(data)

    assert ratio(work(8000), work(1000), 16) < 16


def test_damaged_files_are_read_or_refused():
    names, parents, rest, poses = walk()
    file = File(names, parents, rest)
    file.human("VRMC_vrm", {"hips": 0})
    file.dance(parents, poses[:3])
    whole = file.glb()
    text = whole.index(b"BIN\0")
    random.seed(1)
    refusals = 0
    for number in range(200):
        data = bytearray(whole)
        for _ in range(random.randrange(1, 6)):
            place = random.randrange(12, text if number % 2 else len(data))
            data[place] = random.choice(b'0123456789{}[]",:-eE \x00\xff')
        if number % 5 == 0:
            del data[random.randrange(len(data)) :]
        try:
            _, found, _ = mmdskin.load_gltf(bytes(data))
            assert np.isfinite(found).all()
        except mmdskin.FormatError:
            refusals += 1
    assert refusals > 60
