# SPDX-License-Identifier: MIT
"""save_glb(): read here by its bytes, and checked by rules of the specification that readers rely on."""

import json
import struct

import mmdskin
import numpy as np
import pytest
from conftest import published_file
from files import pmx_file as pmx
from mmdskin import command_line

KINDS = {5126: "f4", 5125: "u4", 5123: "u2"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class Glb:
    def __init__(self, path):
        data = path.read_bytes()
        magic, version, length, size, kind = struct.unpack_from("<4sIII4s", data)
        assert (magic, version, length, kind) == (b"glTF", 2, len(data), b"JSON")
        self.json = json.loads(data[20 : 20 + size])
        binary, kind = struct.unpack_from("<I4s", data, 20 + size)
        assert (kind, size % 4, binary % 4, 28 + size + binary) == (b"BIN\0", 0, 0, length)
        self.binary = data[28 + size :]
        assert self.json["buffers"] == [{"byteLength": binary}]

    def view(self, index):
        view = self.json["bufferViews"][index]
        assert view["byteOffset"] % 4 == 0
        return self.binary[view["byteOffset"] :][: view["byteLength"]]

    def read(self, index):
        accessor = self.json["accessors"][index]
        kind, width = KINDS[accessor["componentType"]], WIDTHS[accessor["type"]]
        found = np.zeros((accessor["count"], width), kind)
        if "bufferView" in accessor:
            found[:] = np.frombuffer(self.view(accessor["bufferView"]), kind).reshape(found.shape)
        if "sparse" in accessor:
            sparse = accessor["sparse"]
            at = np.frombuffer(self.view(sparse["indices"]["bufferView"]), "u4")
            values = np.frombuffer(self.view(sparse["values"]["bufferView"]), kind)
            assert len(at) == sparse["count"] > 0 and (np.diff(at.astype(int)) > 0).all()
            found[at] = values.reshape(-1, width)
        for name, limit in (("min", found.min(0)), ("max", found.max(0))):
            assert accessor.get(name, limit.tolist()) == limit.tolist()
        return found

    def check(self):
        """Rules of which a validator reports errors."""
        for mesh in self.json.get("meshes", ()):
            assert {len(one.get("targets", ())) for one in mesh["primitives"]} == {
                len(mesh.get("weights", ()))
            }
            for primitive in mesh["primitives"]:
                named = primitive["attributes"]
                assert "min" in self.json["accessors"][named["POSITION"]]
                assert np.allclose(np.linalg.norm(self.read(named["NORMAL"]), axis=1), 1, atol=5e-4)
                joints, weights = self.read(named["JOINTS_0"]), self.read(named["WEIGHTS_0"])
                assert np.abs(weights.sum(1) - 1).max() < 1e-6 and weights.min() >= 0
                assert (joints[weights == 0] == 0).all()
                apart = joints[:, :, None] == joints[:, None]
                apart &= (weights[:, :, None] > 0) & (weights[:, None] > 0)
                assert apart.sum() == (weights > 0).sum()  # each equals itself only
                assert self.read(primitive["indices"]).max() < len(joints)
        below = [child for node in self.json["nodes"] for child in node.get("children", ())]
        assert len(set(below)) == len(below)
        roots = set(range(len(self.json["nodes"]))) - set(below)
        assert roots == set(self.json["scenes"][0]["nodes"])
        for node in self.json["nodes"]:
            assert abs(np.linalg.norm(node.get("rotation", (0, 0, 0, 1))) - 1) < 1e-5
        for animation in self.json.get("animations", ()):
            for channel in animation["channels"]:
                sampler = animation["samplers"][channel["sampler"]]
                times, values = self.read(sampler["input"])[:, 0], self.read(sampler["output"])
                assert "min" in self.json["accessors"][sampler["input"]]
                assert (np.diff(times) > 0).all() and len(values) % len(times) == 0
                if channel["target"]["path"] == "rotation":
                    assert np.abs(np.linalg.norm(values, axis=1) - 1).max() < 1e-5

    def shown(self, key):
        """Positions of the vertices as a program draws them at a keyframe."""
        nodes, skin = self.json["nodes"], self.json["skins"][0]
        moved = {}
        for animation in self.json.get("animations", ()):
            for channel in animation["channels"]:
                sampler = animation["samplers"][channel["sampler"]]
                target = channel["target"]["node"], channel["target"]["path"]
                moved[target] = self.read(sampler["output"]).astype(float)
        worlds = {}

        def place(number, parent):
            node, world = nodes[number], np.eye(4)
            turn, at = node.get("rotation", (0, 0, 0, 1)), node.get("translation", (0, 0, 0))
            if (number, "rotation") in moved:
                turn = moved[number, "rotation"][key]
            if (number, "translation") in moved:
                at = moved[number, "translation"][key]
            x, y, z, w = turn
            world[:3, :3] = [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
            world[:3, 3] = at
            worlds[number] = parent @ world
            for child in node.get("children", ()):
                place(child, worlds[number])

        for root in self.json["scenes"][0]["nodes"]:
            place(root, np.eye(4))
        mesh = self.json["meshes"][0]
        primitive = mesh["primitives"][0]
        points = self.read(primitive["attributes"]["POSITION"]).astype(float)
        number = next(i for i, node in enumerate(nodes) if "mesh" in node)
        weights = np.zeros(len(primitive.get("targets", ())))
        if (number, "weights") in moved:
            weights = moved[number, "weights"].reshape(-1, len(weights))[key]
        for target, weight in zip(primitive.get("targets", ()), weights, strict=True):
            points += weight * self.read(target["POSITION"])
        inverse = self.read(skin["inverseBindMatrices"]).reshape(-1, 4, 4).swapaxes(1, 2)
        matrices = np.stack([worlds[joint] for joint in skin["joints"]]) @ inverse
        influences = matrices[self.read(primitive["attributes"]["JOINTS_0"])]
        shares = self.read(primitive["attributes"]["WEIGHTS_0"])[..., None, None]
        blended = (shares * influences).sum(1)
        return np.einsum("vij,vj->vi", blended[:, :3, :3], points) + blended[:, :3, 3]


def meters(positions):
    return np.asarray(positions) * (1, 1, -1) / 12.5


@pytest.fixture(scope="module")
def dance(tmp_path_factory):
    """The sample, and its file with every other frame."""
    sample = mmdskin.sample()
    path = tmp_path_factory.mktemp("glb") / "踊り.glb"
    mmdskin.save_glb(path, *sample[:2], np.arange(0, 61, 2), textures=sample.textures)
    return sample, Glb(path)


def test_the_file_plays_the_dance(dance):
    """Its skeleton, keyframes and morphs give what skin() gives linearly."""
    (model, motion, _), glb = dance
    glb.check()
    wanted = mmdskin.skin(model, model.pose(motion, 60), method="linear").positions
    assert np.abs(glb.shown(30) - meters(wanted)).max() < 2e-5


def test_it_has_all_triangles_by_material_and_the_textures(dance):
    (model, _, textures), glb = dance
    primitives = glb.json["meshes"][0]["primitives"]
    found = np.concatenate([glb.read(one["indices"]).reshape(-1, 3) for one in primitives])
    assert np.array_equal(found, np.asarray(model.triangles)[:, [0, 2, 1]])
    materials = [glb.json["materials"][one["material"]] for one in primitives]
    assert [one["name"] for one in materials] == [one.name for one in model.materials]
    for material, wanted in zip(materials, model.materials, strict=True):
        assert material["doubleSided"] == bool(wanted.flags & 1)
        assert (material.get("alphaMode") == "BLEND") == (wanted.diffuse[3] < 1)
        number = material["pbrMetallicRoughness"]["baseColorTexture"]["index"]
        image = glb.json["images"][glb.json["textures"][number]["source"]]
        pixels = glb.view(image["bufferView"])
        height, width = textures[wanted.texture].shape[:2]
        assert pixels.startswith(b"\x89PNG") and struct.unpack(">II", pixels[16:24]) == (
            width,
            height,
        )


def test_colors_are_those_of_mmds_light(tmp_path):
    """Half of sRGB is .2140 of linear light; what is brighter than white is white."""
    model = mmdskin.load_model(awkward()).replace(
        materials=[
            mmdskin.Material(
                "m", diffuse=(0, 154 / 255, 1, 0.5), ambient=(0.5, 0.5, 0.5), index_count=3, flags=1
            )
        ]
    )
    mmdskin.save_glb(tmp_path / "a.glb", model)
    (material,) = Glb(tmp_path / "a.glb").json["materials"]
    found = material["pbrMetallicRoughness"]["baseColorFactor"]
    middle = ((0.5 + (154 / 255) ** 2 + 0.055) / 1.055) ** 2.4
    assert np.allclose(found, [0.21404, middle, 1, 0.5], atol=1e-5)
    assert (material["doubleSided"], material["alphaMode"]) == (True, "BLEND")


def awkward():
    """Bytes of a triangle on one bone, of which two influences are the same and one normal is zero."""
    file = pmx.PMX(name="t", bones=[pmx.Bone("bone")])
    file.positions = np.float32([(0, 0, 0), (0, 1, 0), (1, 0, 0)])
    file.normals = np.float32([(0, 0, -2), (0, 0, 0), (0, 0, -1)])
    file.uvs, file.additional_uvs = np.zeros((3, 2), "f4"), np.zeros((3, 0, 4), "f4")
    file.deform, file.edge_scales = np.full(3, 2, np.uint8), np.ones(3, np.float32)
    file.bone_indices = np.int32([(0, 0, -1, 0)] * 3)
    file.bone_weights = np.float32([(0.5, 0.25, 0.5, 0.25)] * 3)
    file.sdef = np.zeros((3, 3, 3), np.float32)
    file.triangles = np.int32([(0, 1, 2)])
    file.materials = [pmx.Material("m", index_count=3)]
    return pmx.write(file)


def test_awkward_influences_and_normals_follow_the_rules(tmp_path):
    mmdskin.save_glb(tmp_path / "a.glb", mmdskin.load_model(awkward()))
    glb = Glb(tmp_path / "a.glb")
    glb.check()
    named = glb.json["meshes"][0]["primitives"][0]["attributes"]
    assert glb.read(named["WEIGHTS_0"]).tolist() == [[1, 0, 0, 0]] * 3
    assert glb.read(named["NORMAL"]).tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 1]]


def test_a_group_moves_its_morphs_but_no_groups(tmp_path):
    model, _, _ = mmdskin.sample()
    count = len(model.morphs)
    groups = [
        ("内", "", 4, "group", [0, 1], [[0.5], [1.0]]),
        ("外", "", 4, "group", [count, 2], [[0.5], [1.0]]),
    ]
    model = model.replace(morphs=[*model.morphs, *groups])
    motion = mmdskin.Motion.from_tracks(morphs=[("外", [0, 10], [0, 0.8])])
    mmdskin.save_glb(tmp_path / "a.glb", model, motion, [0, 10])
    glb = Glb(tmp_path / "a.glb")
    glb.check()
    wanted = mmdskin.skin(model, model.pose(motion, 10), method="linear").positions
    assert np.abs(glb.shown(1) - meters(wanted)).max() < 2e-5


@pytest.mark.parametrize(
    ("name", "dance"),
    [
        ("巡音ルカ.pmx", "test.vmd"),
        ("miku_v2.pmd", "wavefile_v2.vmd"),
        ("初音ミク.pmx", "test.vmd"),
    ],
)
def test_published_models_follow_the_rules(name, dance, tmp_path):
    model = mmdskin.load_model(published_file(name))
    motion = mmdskin.load_motion(published_file(dance))
    mmdskin.save_glb(tmp_path / "a.glb", model, motion, [0, 100, 200])
    glb = Glb(tmp_path / "a.glb")
    glb.check()
    wanted = mmdskin.skin(model, model.pose(motion, 200), method="linear").positions
    assert np.abs(glb.shown(2) - meters(wanted)).max() < 5e-5


def test_a_model_without_triangles_is_a_skeleton(tmp_path):
    model = mmdskin.Model.from_arrays(bones=[mmdskin.Bone("a"), mmdskin.Bone("b", parent=0)])
    mmdskin.save_glb(tmp_path / "a.glb", model)
    glb = Glb(tmp_path / "a.glb")
    glb.check()
    assert [node.get("name") for node in glb.json["nodes"][:2]] == ["a", "b"]
    assert "meshes" not in glb.json and "skins" not in glb.json


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        *((frames, r"expected \(F,\) numbers that increase") for frames in ([3, 2], [1, 1], [])),
        ([[1, 2]], r"shape \(1, 2\), expected \(F,\)"),
    ],
)
def test_frames_that_do_not_increase_are_refused(frames, words, tmp_path):
    model, motion, _ = mmdskin.sample()
    with pytest.raises(ValueError, match=f"frames: {words}"):
        mmdskin.save_glb(tmp_path / "a.glb", model, motion, frames)
    assert not (tmp_path / "a.glb").exists()


IMAGE = np.zeros((2, 2, 4), np.uint8)


@pytest.mark.parametrize(
    ("textures", "error", "words"),
    [
        ([IMAGE], TypeError, "textures: expected a dict, not <class 'list'>"),
        ({1: IMAGE}, ValueError, "textures: key 1, the model has 1 texture$"),
        ({0: IMAGE / 255}, TypeError, r"textures\[0\]: dtype float64, expected integers"),
        (
            {0: IMAGE[..., :3]},
            ValueError,
            r"textures\[0\]: shape \(2, 2, 3\), expected \(h, w, 4\)",
        ),
        (
            {0: IMAGE.astype(int) + 256},
            ValueError,
            r"textures\[0\]\[0, 0, 0\]: 256 is out of range for uint8",
        ),
    ],
)
def test_textures_are_those_that_render_takes(textures, error, words, tmp_path):
    model = mmdskin.Model.from_arrays(textures=["a.png"])
    with pytest.raises(error, match=words):
        mmdskin.save_glb(tmp_path / "a.glb", model, textures=textures)
    assert not (tmp_path / "a.glb").exists()


def test_the_command_writes_the_same_file(dance, tmp_path, monkeypatch):
    (model, motion, textures), _ = dance
    monkeypatch.chdir(tmp_path)
    assert command_line.main(["sample"]) == 0
    words = "convert dancer.pmx a.glb --motion dancer.vmd --frames 0:61:10"
    assert command_line.main(words.split()) == 0
    mmdskin.save_glb("b.glb", model, motion, range(0, 61, 10), textures=textures)
    assert (tmp_path / "a.glb").read_bytes() == (tmp_path / "b.glb").read_bytes()
