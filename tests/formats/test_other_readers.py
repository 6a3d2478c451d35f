# SPDX-License-Identifier: MIT
"""What `Motion.save` and `Model.save` write, read by programs of others: pypmxvmd and mmd_tools' own reader."""

import types
import zipfile

import mmdskin
import numpy as np
import pytest
from files import locations
from files import pmx_file as pmx
from files.pmd_file import write
from files.small import small_pmd

ARCHIVE = locations.SHARED / "mmd_tools/mmd_tools-4.5.13.zip"
HALF = np.radians(15)
CURVES = np.arange(1, 33, dtype=np.uint8).reshape(2, 4, 4) * 3


@pytest.fixture(scope="module")
def motion():
    """Two keys of everything; the bone turns about x, so that Euler angles are not ambiguous."""
    turn = [[np.sin(HALF), 0, 0, np.cos(HALF)], [0, 0, 0, 1]]
    bone = mmdskin.BoneTrack("左ひじ", [3, 9], [[1, 2, 3], [4, 5, 6]], turn, CURVES, [False, True])
    camera = mmdskin.CameraTrack(
        [5, 9],
        [-30, -20],
        [[1, 2, 3], [4, 5, 6]],
        [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]],
        np.arange(48, dtype=np.uint8).reshape(2, 6, 4),
        [40, 41],
        [True, False],
    )
    return mmdskin.Motion.from_tracks(
        [bone],
        [mmdskin.MorphTrack("まばたき", [4, 8], [0.25, 1])],
        camera,
        ([6], [[0.1, 0.2, 0.3]], [[1, -1, 0.5]]),
        ([7], [2], [0.09]),
        ([0, 8], [1, 0], ("左足ＩＫ", "右足ＩＫ"), [[0, 0], [1, 0]]),
        name="モデル",
    )


@pytest.fixture(scope="module")
def vmd(motion, tmp_path_factory):
    path = tmp_path_factory.mktemp("vmd") / "a.vmd"
    motion.save(path, part="all")
    return path


@pytest.fixture(scope="module")
def vpd(motion, tmp_path_factory):
    path = tmp_path_factory.mktemp("vpd") / "a.vpd"
    motion.save(path, frame=3)
    return path


def file_order(curves):
    """Camera curves x1 x2 y1 y2, as in the file."""
    return np.asarray(curves)[..., [0, 2, 1, 3]].ravel().tolist()


@pytest.fixture(scope="module")
def pypmxvmd():
    return pytest.importorskip("pypmxvmd")


def test_pypmxvmd_reads_the_keys_of_a_model(pypmxvmd, motion, vmd):
    found = pypmxvmd.load_vmd(str(vmd))
    (bone,), (morph,) = motion.bones, motion.morphs
    assert found.header.model_name == "モデル"
    assert [
        (k.bone_name, k.frame_number, list(k.position), list(k.interpolation), k.physics_disabled)
        for k in found.bone_frames
    ] == [
        ("左ひじ", int(f), t.tolist(), c.ravel().tolist(), not p)
        for f, t, c, p in zip(
            bone.frames, bone.translations, bone.interpolation, bone.physics, strict=True
        )
    ]
    assert np.allclose([k.rotation for k in found.bone_frames], [[30, 0, 0], [0, 0, 0]], atol=1e-5)
    assert [(k.morph_name, k.frame_number, k.weight) for k in found.morph_frames] == [
        ("まばたき", *key) for key in zip(morph.frames, morph.weights, strict=True)
    ]
    assert [k.to_list() for k in found.ik_frames] == [
        [0, True, [["左足ＩＫ", False], ["右足ＩＫ", False]]],
        [8, False, [["左足ＩＫ", True], ["右足ＩＫ", False]]],
    ]


def test_pypmxvmd_reads_the_keys_of_a_camera(pypmxvmd, motion, vmd):
    found = pypmxvmd.load_vmd(str(vmd))
    camera, light, shadow = motion.camera, motion.light, motion.shadow
    for i, key in enumerate(found.camera_frames):
        assert (key.frame_number, key.distance, key.fov) == (
            camera.frames[i],
            camera.distances[i],
            camera.view_angles[i],
        )
        assert list(key.position) == camera.targets[i].tolist()
        assert np.allclose(np.radians(key.rotation), camera.rotations[i])
        assert list(key.interpolation) == file_order(camera.interpolation[i])
        assert (
            key.perspective != camera.perspective[i]
        )  # it gives the byte, of which 0 is perspective
    (key,) = found.light_frames
    assert (key.frame_number, list(key.color), list(key.position)) == (
        6,
        light.colors[0].tolist(),
        light.directions[0].tolist(),
    )
    (key,) = found.shadow_frames
    assert (key.frame_number, key.shadow_mode, np.float32(key.distance)) == (7, 2, shadow.distances)


def test_pypmxvmd_reads_a_pose(pypmxvmd, vpd):
    found = pypmxvmd.load_vpd(str(vpd))
    name, position, rotation = found.bone_poses[0].to_list()
    assert (name, position) == ("左ひじ", [1, 2, 3])
    assert np.allclose(rotation, [np.sin(HALF), 0, 0, np.cos(HALF)], atol=1e-6)


def mmd_tools(kind):
    """The module of mmd_tools that reads VMD, VPD or PMX; it needs no Blender."""
    if not ARCHIVE.exists():
        pytest.skip("mmd_tools is not at hand")
    name = f"mmd_tools/core/{kind}/__init__.py"
    module = types.ModuleType(kind)
    with zipfile.ZipFile(ARCHIVE) as archive:
        exec(compile(archive.read(name), name, "exec"), module.__dict__)
    return module


def test_mmd_tools_reads_the_keys_of_a_model(motion, vmd):
    file = mmd_tools("vmd").File()
    file.load(filepath=str(vmd))
    (bone,), (morph,) = motion.bones, motion.morphs
    assert file.header.model_name == "モデル"
    keys = file.boneAnimation["左ひじ"]
    assert [k.frame_number for k in keys] == bone.frames.tolist()
    assert [list(k.location) for k in keys] == bone.translations.tolist()
    assert [list(k.rotation) for k in keys] == bone.rotations.tolist()
    rows = np.array([k.interp for k in keys]).reshape(-1, 4, 16)
    assert rows[:, :, 0:16:4].tolist() == bone.interpolation.tolist()
    assert [(k.frame_number, k.weight) for k in file.shapeKeyAnimation["まばたき"]] == [
        *zip(morph.frames, morph.weights, strict=True)
    ]
    assert [(k.frame_number, k.visible, k.ik_states) for k in file.propertyAnimation] == [
        (0, True, [("左足ＩＫ", False), ("右足ＩＫ", False)]),
        (8, False, [("左足ＩＫ", True), ("右足ＩＫ", False)]),
    ]


def test_mmd_tools_reads_the_keys_of_a_camera(motion, vmd):
    file = mmd_tools("vmd").File()
    file.load(filepath=str(vmd))
    camera, light, shadow = motion.camera, motion.light, motion.shadow
    keys = file.cameraAnimation
    assert [k.frame_number for k in keys] == camera.frames.tolist()
    assert [k.distance for k in keys] == camera.distances.tolist()
    assert [list(k.location) for k in keys] == camera.targets.tolist()
    assert [list(k.rotation) for k in keys] == camera.rotations.tolist()
    assert [k.angle for k in keys] == camera.view_angles.tolist()
    assert [k.persp for k in keys] == camera.perspective.tolist()
    assert [list(k.interp) for k in keys] == [file_order(c) for c in camera.interpolation]
    (key,) = file.lightAnimation
    assert [list(key.color), list(key.direction)] == [
        *light.colors.tolist(),
        *light.directions.tolist(),
    ]
    (key,) = file.selfShadowAnimation
    assert (key.frame_number, key.mode) == (7, 2)
    assert key.distance == pytest.approx(10000 - 100000 * float(shadow.distances[0]))


def test_mmd_tools_reads_a_pose(motion, vpd):
    file = mmd_tools("vpd").File()
    file.load(filepath=str(vpd))
    (bone,) = file.bones
    assert (bone.bone_name, list(bone.location)) == ("左ひじ", [1, 2, 3])
    assert np.allclose(bone.rotation, [np.sin(HALF), 0, 0, np.cos(HALF)], atol=1e-6)
    assert [(m.morph_name, m.weight) for m in file.morphs] == [("まばたき", 0.25)]


def from_arrays():
    """Two triangles, a leg with IK, a morph, a body and a joint."""
    return mmdskin.Model.from_arrays(
        [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]],
        [[0, 2, 1], [0, 3, 2]],
        bone_indices=[[0, 1]] * 4,
        bone_weights=[[0.25, 0.75]] * 4,
        bones=[
            mmdskin.Bone("足", position=(0, 8, 0)),
            {"name": "ひざ", "position": (0, 4, 0), "parent": 0},
            ("足首", "ankle", (0, 0, 0), 1),
            mmdskin.Bone("足ＩＫ", ik=mmdskin.IK(2, links=tuple(map(mmdskin.IKLink, (1, 0))))),
        ],
        morphs=[("笑い", "smile", 3, "vertex", [1, 2], np.ones((2, 3)))],
        materials=[mmdskin.Material("布", texture=0)],
        textures=["布.png"],
        rigid_bodies=[mmdskin.RigidBody("体", bone=1), mmdskin.RigidBody("頭", mode="physics")],
        joints=[mmdskin.Joint("首", body_a=0, body_b=1)],
        name="見本",
    )


@pytest.fixture(scope="module", params=["of a pmd", "from arrays"])
def saved_model(request, tmp_path_factory):
    """A model and the path of the PMX that it was saved as."""
    is_pmd = request.param == "of a pmd"
    model = mmdskin.load_model(write(small_pmd())) if is_pmd else from_arrays()
    path = tmp_path_factory.mktemp("pmx") / "a.pmx"
    model.save(path)
    return model, path


def test_mmd_tools_reads_a_saved_model(saved_model):
    model, path = saved_model
    found = mmd_tools("pmx").load(str(path))
    assert (found.name, found.comment) == (model.name, model.comment)
    assert [list(v.co) for v in found.vertices] == model.positions.tolist()
    assert [list(v.uv) for v in found.vertices] == model.uvs.tolist()
    assert [list(f)[::-1] for f in found.faces] == model.triangles.tolist()
    assert [m.vertex_count for m in found.materials] == [m.index_count for m in model.materials]
    assert [m.texture for m in found.materials] == [m.texture for m in model.materials]
    assert [(b.name, b.parent, tuple(b.location)) for b in found.bones] == [
        (b.name, b.parent, b.position) for b in model.bones
    ]
    assert [[k.target for k in b.ik_links] for b in found.bones if b.isIK] == [
        [k.bone for k in b.ik.links] for b in model.bones if b.ik
    ]
    assert [(m.name, [o.index for o in m.offsets]) for m in found.morphs] == [
        (m.name, m.indices.tolist()) for m in model.morphs
    ]
    assert [(b.name, b.bone, b.mode) for b in found.rigids] == [
        (b.name, b.bone if b.bone >= 0 else None, pmx.BODY_MODES.index(b.mode))
        for b in model.rigid_bodies
    ]
    assert [(j.name, j.src_rigid, j.dest_rigid) for j in found.joints] == [
        (j.name, j.body_a, j.body_b) for j in model.joints
    ]
