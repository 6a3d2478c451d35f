# SPDX-License-Identifier: MIT
"""PMD files as PMX-shaped models: against the independent reader, and rule by rule."""

import pickle

import mmdskin
import numpy as np
import pytest
from conftest import published_file
from files import pmd_file as pmd
from files.small import pmd_vertices, small_pmd
from judges import pose_rigs as rigs
from judges.pose_rigs import DEGREE
from test_model import SECTIONS, assert_same_arrays, assert_same_records, assert_same_texts

REAL = "miku_v2.pmd"
BLOCKS = ("display", "english", "toons", "bodies", "joints")


def load(m, **options):
    return mmdskin.load_model(pmd.write(m, **options))


def bones_of(*bones, solvers=()):
    return load(
        small_pmd(bones=list(bones), solvers=list(solvers), vertices=pmd_vertices(), **bare())
    ).bones


def bare():
    """Changes that remove all references to bones and vertices."""
    names = ["english", "bodies", "joints"]
    empty = ["indices", "materials", "morphs", "shown_morphs", "shown_bones"]
    return dict.fromkeys(names) | {name: [] for name in empty}


# Against the independent reader


def assert_equal(model, m, sections=SECTIONS):
    """Compares all except display frames and data without effect: names and flags of synthesized bones."""
    expected = pmd.as_pmx(m)
    assert_same_arrays(model, expected)
    assert_same_texts(model, expected)
    for section, convert in sections.items():
        if section not in ("display_frames", "bones"):
            assert_same_records(
                getattr(model, section), list(map(convert, getattr(expected, section)))
            )
    assert len(model.bones) == len(expected.bones)
    records = [sections["bones"](b) for b in expected.bones]
    for i in range(len(m.bones), len(records)):
        records[i]["flags"] = model.bones[i].flags
    for record, bone in zip(records, model.bones, strict=True):
        if record["fixed_axis"]:
            np.testing.assert_allclose(bone.fixed_axis, record["fixed_axis"], atol=1e-6)
            record["fixed_axis"] = bone.fixed_axis
    assert_same_records(model.bones, records)


def test_a_real_file_equals_the_independent_reader():
    path = published_file(REAL)
    assert_equal(mmdskin.load_model(path), pmd.read(path))


def test_a_small_file_equals_the_independent_reader():
    assert_equal(load(small_pmd()), small_pmd())


def test_the_writer_gives_back_a_real_file():
    data = published_file(REAL).read_bytes()
    again = pmd.write(pmd.read(data))
    assert pmd.write(pmd.read(again)) == again
    assert len(again) == len(data)


@pytest.mark.parametrize("last", BLOCKS)
@pytest.mark.parametrize("english", [True, False])
def test_a_file_may_end_after_any_block(last, english):
    m = small_pmd() if english else small_pmd(english=None)
    ends = BLOCKS.index(last)
    for name, block in (("english", 1), ("toons", 2), ("bodies", 3), ("joints", 4)):
        if ends < block:
            setattr(m, name, None)
    assert_equal(load(m, last=last), m)


@pytest.mark.parametrize("bodies, joints", [(0, 0), (1, 0), (2, 1), (2, 3)])
def test_physics_may_follow_without_toons(bodies, joints):
    m = small_pmd(toons=None)
    m.bodies, m.joints = (m.bodies * 2)[:bodies], (m.joints * 3)[:joints]
    assert_equal(load(m, toons=False), m)


@pytest.mark.parametrize("toons", [True, False])
def test_a_file_without_records_loads(toons):
    model = load(pmd.PMD("x"), toons=toons)
    assert (len(model.positions), len(model.bones), len(model.morphs)) == (0, 0, 0)


def test_a_model_survives_pickling():
    model = rigs.model(REAL)
    again = pickle.loads(pickle.dumps(model))
    assert again.bones == model.bones
    assert (again.positions == model.positions).all()


# Rules of docs/mmd-behavior.md#pmd-to-pmx


def test_weights_are_percents_of_the_first_bone():
    model = load(small_pmd())
    assert model.deform.tolist() == [1, 0, 1, 1]
    np.testing.assert_allclose(
        model.bone_weights,
        [(0.3, 0.7, 0, 0), (1, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0)],
        atol=1e-7,
    )
    bones = [[0, 1, -1, -1], [1, -1, -1, -1], [2, 0, -1, -1], [1, 2, -1, -1]]
    assert model.bone_indices.tolist() == bones


def test_edge_bytes_switch_edges_off():
    assert load(small_pmd()).edge_scales.tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize(
    "alpha, edge, flags",
    [
        (1.0, 0, 0x0C),
        (1.0, 1, 0x1E),
        (0.5, 0, 0x0D),
        (0.98, 0, 0x01),
        (0.98, 1, 0x13),
        (0.97, 0, 0x0D),
    ],
)
def test_alpha_and_the_edge_byte_give_the_flags(alpha, edge, flags):
    m = small_pmd()
    m.materials[0].diffuse, m.materials[0].edge = (1, 1, 1, alpha), edge
    material = load(m).materials[0]
    assert material.flags == flags
    assert (material.edge_color, material.edge_size) == ((0, 0, 0, 1), 1)


@pytest.mark.parametrize(
    "field, texture, sphere, mode",
    [
        ("", None, None, "none"), ("a.bmp", "a.bmp", None, "none"),
        ("a.sph", None, "a.sph", "multiply"), ("a.SPA", None, "a.SPA", "add"),
        ("a.bmp*b.sph", "a.bmp", "b.sph", "multiply"), ("b.spa*a.bmp", "a.bmp", "b.spa", "add"),
        ("ソ*表.sph", "ソ", "表.sph", "multiply"), ("a.bmp*", "a.bmp", None, "none"),
    ],
)  # fmt: skip
def test_texture_fields_hold_texture_and_sphere(field, texture, sphere, mode):
    m = small_pmd()
    m.materials = [pmd.Material(index_count=6, texture=field)]
    model = load(m)
    material = model.materials[0]
    names = [
        model.textures[i] if i >= 0 else None for i in (material.texture, material.sphere_texture)
    ]
    assert (*names, material.sphere_mode) == (texture, sphere, mode)


@pytest.mark.parametrize(
    "toon, shared, found", [(0xFF, False, -1), (10, False, -1), (0, True, 0), (9, True, 9)]
)
def test_default_toons_are_shared(toon, shared, found):
    m = small_pmd()
    m.materials[0].toon = toon
    material = load(m).materials[0]
    assert (material.shared_toon, material.toon) == (shared, found)


def test_other_toons_are_textures():
    m = small_pmd(toons=[*pmd.DEFAULT_TOONS[:3], "肌.bmp", *pmd.DEFAULT_TOONS[:6]])
    model = load(m)
    assert not model.materials[0].shared_toon
    assert model.textures[model.materials[0].toon] == "肌.bmp"


TYPES = {
    pmd.ROTATE: 0x1A, pmd.MOVE: 0x1E, pmd.IK: 0x1E, pmd.UNKNOWN: 0x12, pmd.UNDER_IK: 0x1A,
    pmd.FOLLOWS: 0x1A, pmd.EFFECTOR: 0x12, pmd.HIDDEN: 0x12, pmd.TWIST: 0x1A, pmd.SHARES: 0x12,
}  # fmt: skip
INFORMING = 0x1E


@pytest.mark.parametrize("kind", TYPES)
def test_bone_types_give_flags(kind):
    second = pmd.Bone("b", (0, 1, 0), 0, 0, kind)
    assert bones_of(pmd.Bone("a"), second)[1].flags & INFORMING == TYPES[kind]


def test_type_5_appends_from_the_ik_field():
    bone = bones_of(
        pmd.Bone("a"), pmd.Bone("b"), pmd.Bone("c", tail=1, type=pmd.FOLLOWS, ik_field=1)
    )[2]
    assert bone.append == (1, 1.0, True, False, False)
    assert bone.layer == 2


@pytest.mark.parametrize("field, ratio", [(25, 0.25), (100, 1), (0, 0), (0xFFCE, -0.5), (250, 2.5)])
def test_type_9_appends_from_the_tail_by_percent(field, ratio):
    bone = bones_of(
        pmd.Bone("a"), pmd.Bone("b"), pmd.Bone("c", tail=1, type=pmd.SHARES, ik_field=field)
    )[2]
    assert bone.append == (1, np.float32(ratio), True, False, False)


def test_type_8_rotates_about_the_line_to_its_tail():
    first = pmd.Bone("a", (1, 1, 1), tail=1, type=pmd.TWIST)
    axis = bones_of(first, pmd.Bone("b", (1, 4, 5)))[0].fixed_axis
    np.testing.assert_allclose(axis, (0, 0.6, 0.8), atol=1e-7)


@pytest.mark.parametrize("far", [1e5, 1e9])
def test_type_8_rotates_about_lines_of_any_length(far):
    first = pmd.Bone("a", (-far, 0, 0), tail=1, type=pmd.TWIST)
    axis = bones_of(first, pmd.Bone("b", (far, 2 * far / 3, 0)))[0].fixed_axis
    np.testing.assert_allclose(axis, np.array([3, 1, 0]) / np.sqrt(10), atol=1e-6)


def test_type_8_without_a_direction_has_no_axis():
    bones = bones_of(
        *(pmd.Bone(n, (1, 1, 1), tail=t, type=pmd.TWIST) for n, t in (("a", 1), ("b", 0)))
    )
    assert [b.fixed_axis for b in bones] == [None, None]


@pytest.mark.parametrize("tail, expected", [(0, -1), (1, 1), (2, -1), (pmd.NONE, -1)])
def test_tails_with_index_above_0_are_bones(tail, expected):
    assert bones_of(pmd.Bone("a", tail=tail), pmd.Bone("b"))[0].tail_bone == expected


def test_children_have_at_least_their_parents_layer():
    bones = [
        pmd.Bone("child", parent=1),
        pmd.Bone("goal", parent=3, type=pmd.IK),
        pmd.Bone("child of follower", parent=4),
        pmd.Bone("root"),
        pmd.Bone("follower", parent=3, type=pmd.FOLLOWS, ik_field=3),
    ]
    assert [b.layer for b in bones_of(*bones)] == [1, 1, 2, 0, 2]


def solver_of(name, **members):
    """The IK of a goal that has one link with this name."""
    bones = pmd.Bone("end", (0, 2, 0), 1), pmd.Bone(name, (0, 1, 0)), pmd.Bone("goal")
    solver = pmd.Solver(2, 0, [1], **members)
    return bones_of(*bones, solvers=[solver])[2].ik


def test_unit_angles_are_four_times_as_large_as_in_the_file():
    found = solver_of("a", loops=7, angle=0.3)
    assert (found.loop_count, found.unit_angle) == (7, np.float32(4) * np.float32(0.3))


@pytest.mark.parametrize("angle", [3e38, -3e38])
def test_unit_angles_stay_finite(angle):
    found = solver_of("a", angle=angle).unit_angle
    assert np.isfinite(found)
    assert np.sign(found) == np.sign(angle)


@pytest.mark.parametrize("name", ["左ひざ", "右ひざ"])
def test_knees_have_limits(name):
    (link,) = solver_of(name).links
    np.testing.assert_allclose(link.lower, (-180 * DEGREE, 0, 0), rtol=1e-6)
    np.testing.assert_allclose(link.upper, (-0.5 * DEGREE, 0, 0), rtol=1e-6)


@pytest.mark.parametrize("name", ["ひざ", "左ひざ２", "左ヒザ", "左ひざ親", "knee_L", "左足"])
def test_other_links_are_free(name):
    (link,) = solver_of(name).links
    assert (link.lower, link.upper) == (None, None)


def test_a_second_solver_of_a_bone_gets_its_own_child_bone():
    model = load(small_pmd())
    extra = model.bones[5]
    assert len(model.bones) == 6
    assert (extra.name, extra.parent, extra.position) == ("左足ＩＫ+", 4, model.bones[4].position)
    assert (model.bones[4].ik.target, extra.ik.target) == (3, 2)
    assert extra.layer >= 1


def test_solvers_make_their_bones_ik_bones_of_layer_1():
    bones = bones_of(pmd.Bone("a"), pmd.Bone("b"), solvers=[pmd.Solver(1, 0, [])])
    assert (bones[1].layer, bones[1].flags & 0x20) == (1, 0x20)
    assert bones[0].ik is None


def test_morph_indices_address_the_base_which_is_dropped():
    model = load(small_pmd())
    assert [(m.name, m.panel, m.kind) for m in model.morphs] == [
        ("まばたき", 2, "vertex"),
        ("あ", 3, "vertex"),
    ]
    assert [m.indices.tolist() for m in model.morphs] == [[3, 1], [1]]
    assert [m.name_english for m in model.morphs] == ["blink", "a"]


def test_without_a_base_morph_indices_address_vertices():
    m = small_pmd(english=None)
    m.morphs = m.morphs[1:]
    m.shown_morphs = []
    assert [x.indices.tolist() for x in load(m).morphs] == [[0, 1], [1]]


def test_the_first_of_two_bases_is_used():
    m = small_pmd(english=None)
    m.morphs.append(pmd.Morph("second", 0, [2, 2], [(0, 0, 0)] * 2))
    assert [x.indices.tolist() for x in load(m).morphs] == [[3, 1], [1]]


def test_offsets_beyond_the_base_are_dropped():
    m = small_pmd()
    m.morphs[2].indices = [2]
    assert [x.indices.tolist() for x in load(m).morphs] == [[3, 1], []]


def test_bodies_are_placed_from_their_bone_or_the_center():
    model = load(small_pmd())
    assert [b.bone for b in model.rigid_bodies] == [1, -1]
    assert [b.position for b in model.rigid_bodies] == [(3, 8, 5), (3, 5, 5)]
    assert (model.rigid_bodies[0].shape, model.rigid_bodies[0].mode) == ("box", "physics_and_bone")


def test_display_frames_are_those_of_the_file():
    model = load(small_pmd())
    frames = {f.name: f for f in model.display_frames}
    named = [f for f in model.display_frames if not f.special]
    assert [(f.name, f.name_english) for f in named] == [("体", "body"), ("足", "legs")]
    assert frames["体"].elements == (("bone", 1),)
    assert frames["足"].elements == (("bone", 2), ("bone", 3))
    assert frames["表情"].elements == (("morph", 1), ("morph", 0))
    assert frames["Root"].special
    assert frames["Root"].elements == (("bone", 0),)


def test_names_end_at_the_first_nul():
    bones = bones_of(
        pmd.Bone(b"a\0\xfd\xfd\xfd"), pmd.Bone("八文字の名前です八".encode("cp932") + b"\x83\x5c")
    )
    assert [b.name for b in bones] == ["a", "八文字の名前です八ソ"]


def test_pmd_poses_run_their_ik():
    model = rigs.model(REAL)
    goal = next(i for i, b in enumerate(model.bones) if b.name == "左足ＩＫ")
    m = rigs.posed(model, moves={goal: (0, 2, 0)}, ik=True)
    place = rigs.twin.origins(m, rigs.rest(model))
    assert np.linalg.norm(place[goal] - place[model.bones[goal].ik.target]) < 0.05
