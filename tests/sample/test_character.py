# SPDX-License-Identifier: MIT
"""The dancer is a valid model: closed surfaces, weights that keep her shape, a seamless dance."""

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from sample import picture
from sample.character import dance, head, model, skeleton, textures
from sample.motion import axis_angle

DECALS = ("白目", "瞳", "まつげ", "眉", "口")
STANDARD = (
    "全ての親 センター グルーブ 上半身 上半身2 下半身 首 頭 両目 左目 右目 左肩 左腕 左腕捩 左ひじ 左手捩 左手首 "
    "右肩 右腕 右腕捩 右ひじ 右手捩 右手首 左足 左ひざ 左足首 左足ＩＫ 左つま先ＩＫ 右足 右ひざ 右足首 右足ＩＫ "
    "右つま先ＩＫ 左足D 左ひざD 左足首D"
).split()


@pytest.fixture(scope="module")
def dancer():
    return mmdskin.load_model(model.build_character())


@pytest.fixture(scope="module")
def motion():
    return mmdskin.load_motion(dance.build_dance())


def posed(dancer, **rotations):
    """The pose with these local rotations, by bone name."""
    return dancer.pose_from({name: (None, value) for name, value in rotations.items()})


def sections(positions, part):
    """Areas of the rings of a limb: vertices of one row share their center at rest."""
    where = model.vertices()[part]
    centers = np.round(model.parts()[part].surface.centers, 5)
    _, row, count = np.unique(centers, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(row.ravel(), kind="stable")
    rings = np.split(positions[where[order]].astype(np.float64), np.cumsum(count)[:-1])
    whole = [
        ring[:-1] for ring in rings if len(ring) == count.max()
    ]  # rings at poles have one vertex fewer
    return picture.ring_areas(np.array(whole))


def narrowest(dancer, positions, part):
    """The smallest section of a limb's tube, as a fraction of the section at rest."""
    rest = sections(dancer.positions, part)
    tube = rest > 0.3 * rest.max()
    return (sections(positions, part)[tube] / rest[tube]).min()


def test_the_file_reads_back_as_written():
    read, wrote = pmx.read(model.build_character()), model.character()
    assert np.array_equal(read.positions, wrote.positions)
    assert np.array_equal(read.sdef, wrote.sdef)
    assert [bone.name for bone in read.bones] == [bone.name for bone in wrote.bones]
    assert len(read.joints) == len(wrote.joints) > 0


def test_standard_bones_exist(dancer):
    assert set(STANDARD) <= {bone.name for bone in dancer.bones}


def test_triangles_face_where_normals_point():
    for name, (_, surface, _) in model.parts().items():
        a, b, c = (surface.positions[surface.triangles[:, i]] for i in range(3))
        normals = surface.normals[surface.triangles].sum(1)
        facing = np.einsum("ni,ni->n", np.cross(b - a, c - a), normals) > 0
        assert facing.mean() > 0.95, name  # not at the edges of folded sheets


def test_surfaces_are_not_inside_out():
    for name, (material, surface, _) in model.parts().items():
        if material in DECALS:
            assert (surface.normals[:, 2] < 0).all(), name
        else:
            a, b, c = (surface.positions[surface.triangles[:, i]] for i in range(3))
            middle = surface.positions.mean(0)
            volume = np.einsum("ni,ni->", a - middle, np.cross(b - middle, c - middle))
            assert volume > 0, name


def test_each_vertex_is_in_a_triangle(dancer):
    """mmd_tools drops other vertices, which shifts the indices of all later ones."""
    assert np.array_equal(np.unique(dancer.triangles), np.arange(len(dancer.positions)))


def test_weights_sum_to_one_and_sdef_has_two_bones(dancer):
    assert np.allclose(dancer.bone_weights.sum(1), 1, atol=1e-6)
    sdef = dancer.deform == pmx.SDEF
    assert sdef.sum() > 1000
    assert (dancer.bone_indices[sdef, 0] != dancer.bone_indices[sdef, 1]).all()


def test_mmd_tools_recognizes_sdef_vertices_by_their_centers(dancer):
    sdef = dancer.deform == pmx.SDEF
    away = np.linalg.norm(dancer.positions[sdef] - dancer.sdef[sdef, 0], axis=1)
    assert away.min() > 0.05


def test_her_right_side_mirrors_her_left(dancer):
    left, right = (
        np.concatenate([where for part, where in model.vertices().items() if side in part])
        for side in ("left", "right")
    )
    one = posed(dancer, 左腕=axis_angle((0, 0, 1), 50), 左ひじ=axis_angle(skeleton.HINGE, 90))
    other = posed(
        dancer,
        右腕=axis_angle((0, 0, -1), 50),
        右ひじ=dance.mirrored(axis_angle(skeleton.HINGE, 90)),
    )
    a, b = (mmdskin.skin(dancer, pose).positions for pose in (one, other))
    assert np.allclose(a[left] * (-1, 1, 1), b[right], atol=1e-4)


def test_a_twisted_elbow_keeps_its_section_and_linear_blending_does_not(dancer):
    pose = posed(dancer, 左ひじ=axis_angle(skeleton.REACH, 150))
    sections_of = {
        method: narrowest(dancer, mmdskin.skin(dancer, pose, method=method).positions, "left_arm")
        for method in ("mmd", "linear")
    }
    # Halfway along the twist, a linear blend keeps cos²(angle / 2) = (cos 75°)² of the area.
    assert sections_of["linear"] < 0.1
    assert sections_of["mmd"] > 0.95


@pytest.mark.parametrize(
    ("part", "bone", "axis"),
    [("left_arm", "左ひじ", skeleton.HINGE), ("left_sock", "左ひざD", np.array((-1.0, 0, 0)))],
)
def test_bent_joints_keep_their_section(dancer, part, bone, axis):
    out = mmdskin.skin(dancer, posed(dancer, **{bone: axis_angle(axis, 120)}))
    assert narrowest(dancer, out.positions, part) > 0.95


def test_twist_bones_distribute_a_rotation_of_the_wrist(dancer):
    """No section of the forearm loses more than a quarter of the twist between two bones costs."""
    out = mmdskin.skin(dancer, posed(dancer, 左手捩=axis_angle(skeleton.REACH, 120)))
    assert (
        narrowest(dancer, out.positions, "left_arm") > np.cos(np.radians(120 / 4 / 2)) ** 2 - 0.01
    )


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0)])
@pytest.mark.parametrize("degrees", [-5, 5])
def test_rotated_eyes_do_not_sink_into_the_face(dancer, axis, degrees):
    looking = mmdskin.skin(dancer, posed(dancer, 両目=axis_angle(axis, degrees))).positions
    for side in ("left", "right"):
        iris = looking[model.vertices()[f"{side}_iris"]]
        behind = head.on_face(iris[:, :2], head.LIFTS["eyeball"])
        assert (iris[:, 2] < behind[:, 2]).all()


@pytest.mark.parametrize("name", ["まばたき", "笑い"])
def test_closed_eyes_are_lines(dancer, name):
    weights = np.array([morph.name == name for morph in dancer.morphs], np.float32)
    closed = mmdskin.skin(dancer, dancer.pose().bone_matrices, weights).positions
    for part in ("left_iris", "right_iris"):
        where = model.vertices()[part]
        middle = where[
            abs(dancer.positions[where, 0]).argsort()[len(where) // 3 : -len(where) // 3]
        ]
        assert np.ptp(dancer.positions[middle, 1]) > 1.2
        assert np.ptp(closed[middle, 1]) < 0.2


def test_the_mouth_opens(dancer):
    where = model.vertices()["mouth"]
    heights = {}
    for name in ("あ", "い"):
        weights = np.array([morph.name == name for morph in dancer.morphs], np.float32)
        moved = mmdskin.skin(dancer, dancer.pose().bone_matrices, weights).positions
        heights[name] = np.ptp(moved[where, 1])
    assert heights["あ"] > 1.5 * heights["い"] > 2 * np.ptp(dancer.positions[where, 1])


def test_the_model_has_all_bones_and_morphs_of_the_dance(dancer, motion):
    assert motion.unmatched(dancer) == ((), (), ())


def test_the_dance_ends_where_it_starts(dancer, motion):
    assert motion.frame_range == (0, dance.LAST)
    first, last = (
        mmdskin.skin(dancer, dancer.pose(motion, frame)).positions for frame in (0, dance.LAST)
    )
    assert abs(first - last).max() < 1e-3


def test_she_stands_on_the_floor(dancer, motion):
    pose = dancer.pose(motion, np.arange(dance.LAST))
    lowest = mmdskin.skin(dancer, pose).positions[..., 1].min(1)
    assert (lowest > -0.1).all()
    on_beats = lowest[:: dance.BEAT]
    assert np.array_equal(np.flatnonzero(on_beats > 0.1), [5])  # she leaps during the spin


def test_elbows_bend_by_more_than_100_degrees(motion):
    (track,) = (track for track in motion.bones if track.name == "左ひじ")
    assert np.degrees(2 * np.arccos(abs(track.rotations[:, 3]))).max() > 100


def test_each_swinging_body_moves_its_own_bone_and_has_a_joint(dancer):
    swinging = [i for i, body in enumerate(dancer.rigid_bodies) if body.mode == "physics"]
    bones = [dancer.rigid_bodies[i].bone for i in swinging]
    assert len(set(bones)) == len(bones) > 30
    assert set(swinging) <= {joint.body_b for joint in dancer.joints}


def test_hair_joints_are_at_the_heads_of_their_bones(dancer):
    for joint in dancer.joints:
        if "髪" in joint.name:
            bone = dancer.bones[dancer.rigid_bodies[joint.body_b].bone]
            assert np.allclose(joint.position, bone.position, atol=1e-5)


def test_textures_exist_and_are_used(dancer, tmp_path):
    model.write_character(tmp_path)
    assert len(dancer.textures) == len(textures.ALL)
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in dancer.textures)
    used = {m.texture for m in dancer.materials} | {m.sphere_texture for m in dancer.materials}
    used |= {m.toon for m in dancer.materials if not m.shared_toon}
    assert used >= set(range(len(dancer.textures)))


def test_she_shows_what_the_look_of_mmd_has(dancer):
    assert {m.sphere_mode for m in dancer.materials} == {"none", "add"}
    assert {m.shared_toon for m in dancer.materials} == {True, False}
    assert 0 < min(m.diffuse[3] for m in dancer.materials) < 1
