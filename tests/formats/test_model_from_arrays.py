# SPDX-License-Identifier: MIT
"""`Model.from_arrays` and `Model.replace`: the independent reader reads what was given, the twins pose
it alike. test_bad_model_arrays.py has what is refused."""

import copy
import pickle
import sys
import types

import mmdskin
import numpy as np
import pytest
from files import locations
from files import pmx_file as pmx
from files.pmd_file import write as pmd_bytes
from files.small import ARRAYS, small_file, small_pmd
from formats.test_model import SECTIONS, assert_same_records
from formats.test_save_model import TEXTS, assert_same_model, saved
from judges import ik_twin, pose_twin
from judges.pose_twin import about
from physics import chains
from sample import model as sample

Bone, Morph, Material, make = (
    mmdskin.Bone,
    mmdskin.Morph,
    mmdskin.Material,
    mmdskin.Model.from_arrays,
)
MEMBERS = (*TEXTS, "version", *ARRAYS, "textures", *SECTIONS)
SQUARE = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
CORNERS = [[0, 2, 1], [0, 3, 2]]


def members(model):
    return {name: getattr(model, name) for name in MEMBERS}


def read(model):
    """What the independent reader reads of the saved model."""
    return pmx.read(saved(model))


# There and back


@pytest.mark.parametrize(
    "data",
    [
        pmx.write(small_file(soft_bodies=[])),
        pmx.write(small_file(soft_bodies=[], version=2.0, encoding="utf-8")),
        sample.build_sample(),
        pmd_bytes(small_pmd()),
        pmx.write(pmx.PMX()),
    ],
    ids=["all kinds", "utf-8", "sample", "pmd", "nothing"],
)
def test_the_members_of_a_loaded_model_make_an_equal_one(data):
    model = mmdskin.load_model(data)
    made = make(**members(model))
    assert_same_model(made, model)
    assert made.version == max(model.version, 2.0)


@pytest.mark.parametrize("path", locations.at_hand("pmx"), ids=lambda path: path.stem)
def test_real_models_make_equal_ones(path):
    model = mmdskin.load_model(path)
    assert_same_model(make(**members(model)), model)


def test_a_file_that_was_cleaned_makes_the_cleaned_model():
    file = small_file(soft_bodies=[], index_sizes=dict.fromkeys(pmx.INDEX_ORDER, 4))
    file.bones[0].parent, file.triangles[0], file.positions[0, 0] = 300, 100000, np.nan
    file.bone_indices[0] = 100
    file.materials[0].texture = file.joints[0].body_a = 90
    model = mmdskin.load_model(pmx.write(file))
    assert_same_model(make(**members(model)), model)


def test_a_model_of_minimal_indices_is_equal_and_has_its_hash():
    data = pmx.write(small_file(soft_bodies=[]))
    model = mmdskin.load_model(data)
    made = make(**members(model))
    assert saved(made) == data
    assert made == model and hash(made) == hash(model) and made != make()


def test_the_independent_reader_reads_what_was_given():
    file = pmx.read(pmx.write(small_file(soft_bodies=[])))
    given = {name: getattr(file, name) for name in (*TEXTS, "version", *ARRAYS, "textures")}
    records = {
        name: [expected(one) for one in getattr(file, name)] for name, expected in SECTIONS.items()
    }
    made = make(**given, **records)
    found = read(made)
    for name in ARRAYS:
        assert np.array_equal(getattr(found, name), getattr(file, name)), name
    for name in (*TEXTS, "textures"):
        assert getattr(found, name) == getattr(file, name)
    for name, expected in SECTIONS.items():
        assert_same_records(getattr(made, name), [expected(one) for one in getattr(found, name)])
        assert_same_records(getattr(made, name), records[name])


def test_a_pickle_is_the_same_model():
    made = make(SQUARE, CORNERS, bones=[Bone("センター")], name="四角")
    again = pickle.loads(pickle.dumps(made))
    assert_same_model(again, made)
    assert again == made and saved(again) == saved(made)


# Input


def test_records_may_be_named_tuples_tuples_dicts_or_objects():
    bone = Bone("先", "tip", (0, 1, 0), 0)
    inputs = [
        bone,
        ("先", "tip", (0, 1, 0), 0),
        {
            "name": "先",
            "name_english": "tip",
            "position": np.float32([0, 1, 0]),
            "parent": np.int64(0),
        },
        types.SimpleNamespace(**bone._asdict()),
    ]
    models = [make(bones=[{"name": "根"}, one]) for one in inputs]
    assert {saved(model) for model in models} == {saved(models[0])}
    assert models[0].bones["先"] == bone


def test_inner_records_may_be_plain_too():
    ik = {"target": 2, "links": [(1, [-1, 0, 0], [0, 0, 0]), {"bone": 0}]}
    last = {"name": "d", "ik": ik, "append": (1, 0.5), "local_axes": np.eye(3)[:2]}
    model = make(bones=[Bone("a"), Bone("b"), Bone("c"), last])
    bone = model.bones["d"]
    assert bone.append == mmdskin.Append(1, 0.5, True, False, False)
    links = (mmdskin.IKLink(1, (-1, 0, 0), (0, 0, 0)), mmdskin.IKLink(0, None, None))
    assert bone.ik == mmdskin.IK(2, 40, 2, links)
    assert bone.local_axes == ((1, 0, 0), (0, 1, 0))


def test_a_name_is_enough_for_a_record():
    model = make(
        SQUARE,
        CORNERS,
        bones=[Bone("根")],
        morphs=[Morph("空")],
        materials=[Material("布")],
        display_frames=[mmdskin.DisplayFrame("枠")],
        rigid_bodies=[mmdskin.RigidBody("体")],
        joints=[mmdskin.Joint("継")],
    )
    found = read(model)
    assert (found.version, found.encoding) == (2.0, "utf-16-le")
    assert found.bones == [pmx.Bone("根", flags=0x1E)]
    assert (found.morphs[0].panel, found.morphs[0].kind, len(found.morphs[0].indices)) == (4, 1, 0)
    assert found.materials == [pmx.Material("布", flags=0x0E, index_count=6)]
    assert found.display_frames == [pmx.DisplayFrame("枠")]
    assert found.rigid_bodies == [pmx.RigidBody("体")]
    assert found.joints == [pmx.Joint("継")]


def test_without_materials_there_is_one_for_all_triangles():
    assert [m.index_count for m in make(SQUARE, CORNERS).materials] == [6]
    assert make(SQUARE, CORNERS, materials=()).materials == ()
    assert make(SQUARE).materials == ()


def test_a_material_without_a_count_has_all_indices_that_are_left():
    materials = [Material("a", index_count=3), Material("b"), Material("c")]
    model = make(SQUARE, CORNERS, materials=materials)
    assert [m.index_count for m in model.materials] == [3, 3, 0]


def test_without_display_frames_there_are_the_special_ones_and_one_for_other_bones():
    bones, morphs = [Bone(name) for name in "abc"], [Morph("m"), Morph("n")]
    frames = make(bones=bones, morphs=morphs).display_frames
    assert [(frame.name, frame.special, frame.elements) for frame in frames] == [
        ("Root", True, (("bone", 0),)),
        ("表情", True, (("morph", 0), ("morph", 1))),
        ("ボーン", False, (("bone", 1), ("bone", 2))),
    ]
    assert [frame.elements for frame in make(bones=bones[:1]).display_frames] == [
        (("bone", 0),),
        (),
    ]
    assert make(bones=bones, display_frames=()).display_frames == ()


def test_normals_are_those_of_the_triangles_weighted_by_area():
    """A wall of 1 and a floor of 4 units of area share an edge; clockwise is outside."""
    points = [[0, 0, 0], [0, 0, 2], [0, 1, 0], [4, 0, 0], [9, 9, 9]]
    wall, floor = [0, 1, 2], [0, 3, 1]
    normals = make(points, [wall, floor]).normals
    cross = [
        np.cross(np.subtract(points[t[1]], points[t[0]]), np.subtract(points[t[2]], points[t[0]]))
        for t in (wall, floor)
    ]
    assert np.allclose(cross, [[-2, 0, 0], [0, -8, 0]])
    shared = np.float32([-2, -8, 0]) / np.sqrt(68)
    assert np.allclose(normals, [shared, shared, [-1, 0, 0], [0, -1, 0], [0, 0, 0]], atol=1e-7)


def test_normals_of_our_models_point_outside():
    model = mmdskin.load_model(sample.build_sample())
    made = make(model.positions, model.triangles).normals
    touched = np.unique(model.triangles)
    assert ((made * model.normals).sum(1)[touched] > 0.5).mean() > 0.95


def test_deform_types_follow_from_the_weights():
    bones = [Bone(name) for name in "abcde"]
    indices = [[4, 2, -1, -1], [4, 2, 0, -1], [3, -1, -1, -1], [1, 2, 3, 0], [1, 2, 3, 4]]
    weights = [[0, 1, 0, 0], [0.25, 0, 0.75, 0], [1, 0, 0, 0], [0.5, 0.25, 0.25, 0], [0.25] * 4]
    model = make(np.zeros((5, 3)), bone_indices=indices, bone_weights=weights, bones=bones)
    assert model.deform.tolist() == [0, 1, 0, 2, 2]
    assert model.bone_indices.tolist() == [
        [2, -1, -1, -1],
        [4, 0, -1, -1],
        [3, -1, -1, -1],
        [1, 2, 3, 0],
        [1, 2, 3, 4],
    ]
    assert model.bone_weights[:4].tolist() == [
        [1, 0, 0, 0],
        [0.25, 0.75, 0, 0],
        [1, 0, 0, 0],
        [0.5, 0.25, 0.25, 0],
    ]


def test_vertices_may_have_one_bone_or_none_given():
    bones = [Bone("a"), Bone("b")]
    assert make(SQUARE, bone_indices=[0, 1, 1, 0], bones=bones).bone_indices[:, 0].tolist() == [
        0,
        1,
        1,
        0,
    ]
    assert make(SQUARE, bones=bones).bone_indices[:, 0].tolist() == [0] * 4
    still = make(SQUARE)
    assert still.deform.tolist() == [0] * 4 and still.bone_indices.tolist() == [[-1] * 4] * 4
    out = mmdskin.skin(still, np.zeros((0, 4, 4)))
    assert out.positions.tolist() == SQUARE


@pytest.mark.parametrize("columns", [1, 2, 3, 4])
def test_influences_may_have_one_to_four_columns(columns):
    bones, weights = [Bone(name) for name in "abcd"], np.full((4, columns), 1 / columns)
    indices = np.tile(np.arange(columns), (4, 1))
    model = make(SQUARE, bone_indices=indices, bone_weights=weights, bones=bones)
    assert np.allclose(model.bone_weights[:, :columns], weights)
    assert model.deform.tolist() == [{1: 0, 2: 1}.get(columns, 2)] * 4


@pytest.mark.parametrize(
    "new",
    [
        {"deform": [4], "bone_indices": [[0] * 4], "bone_weights": [[0.25] * 4]},
        {"morphs": [Morph("flip", kind="flip")]},
        {"morphs": [Morph("impulse", kind="impulse")]},
        {"joints": [mmdskin.Joint("hinge", kind="hinge")]},
    ],
)
def test_the_version_is_2_1_where_2_0_lacks_something(new):
    given = {"positions": [[0, 0, 0]], "bones": [Bone("a")]}
    assert make(**given).version == 2.0
    assert make(**given, **new).version == 2.1
    assert make(**given, **new, version=2.0).version == 2.0


def test_the_fields_of_an_edited_bone_set_its_flags():
    axis, append = (0.0, 1.0, 0.0), mmdskin.Append(0, 0.5)
    ik = mmdskin.IK(0, links=(mmdskin.IKLink(0),))
    full = Bone(
        "b",
        append=append,
        fixed_axis=axis,
        local_axes=(axis, axis),
        external_parent=3,
        after_physics=True,
        ik=ik,
        tail_bone=0,
    )
    first = make(bones=[Bone("a"), full]).bones[1]
    assert first.flags == 0x1E | 0x1 | 0x20 | 0x100 | 0x400 | 0x800 | 0x1000 | 0x2000
    plain = dict.fromkeys(("append", "fixed_axis", "local_axes", "external_parent", "ik"))
    edited = first._replace(**plain, after_physics=False, tail_bone=-1, tail_offset=(0, 2, 0))
    second = read(make(bones=[Bone("a"), edited])).bones[1]
    assert second == pmx.Bone("b", flags=0x1E, tail_offset=(0, 2, 0))


def test_an_editor_may_say_that_a_bone_without_a_tail_has_tail_bone_none():
    for flags in (0x1E, 0x1F):
        assert make(bones=[Bone("a", flags=flags)]).bones[0].flags == flags


# What the model does


def rig():
    """A leg with IK, and a foot that takes half of the turn of the hip."""
    knee = mmdskin.IKLink(1, (-np.pi, 0, 0), (-0.01, 0, 0))
    return [
        Bone("hip", position=(0, 8, 0)),
        Bone("knee", position=(0, 4, -0.1), parent=0),
        Bone("ankle", position=(0, 0, 0), parent=1),
        Bone("goal", position=(0, 0, 0), ik=mmdskin.IK(2, 30, 1.5, (knee, mmdskin.IKLink(0)))),
    ]


def test_ik_poses_it_like_the_twin():
    bones = rig()
    model = make(bones=bones)
    translations, rotations = np.zeros((4, 3)), np.tile([0, 0, 0, 1.0], (4, 1))
    translations[3] = (0.5, 2, 1)
    expected = ik_twin.solve(bones, translations, rotations)
    found = model.transforms(model.pose_from(translations, rotations))
    assert np.abs(found[2, :3, 3] - (0.5, 2, 1)).max() < 0.01
    assert np.abs(found - expected).max() < 1e-4


def test_appends_and_bone_morphs_pose_it_like_the_twin():
    bones = [
        Bone("a", position=(0, 1, 0)),
        Bone("b", position=(1, 1, 0), parent=0, append=mmdskin.Append(0, 0.5)),
        Bone("c", position=(1, 2, 0), parent=1, append=mmdskin.Append(0, -1, translation=True)),
    ]
    turn = about([0, 0, 1], 0.8)
    morph = Morph("m", kind="bone", indices=np.int32([0]), values=np.float32([[1, 2, 3, *turn]]))
    model = make(bones=bones, morphs=[morph])
    translations, rotations = np.zeros((3, 3)), np.tile([0, 0, 0, 1.0], (3, 1))
    translations[0], rotations[0] = (0, 1, 0), about([1, 0, 0], 0.7)
    judge = pmx.PMX(bones=bones, morphs=[pmx.Morph("m", kind=2, indices=[0], values=morph.values)])
    expected = pose_twin.skinning(judge, translations, rotations, [0.5])
    found = model.pose_from(translations, rotations, [0.5]).bone_matrices
    assert np.abs(found - expected).max() < 1e-5


def test_it_skins_draws_and_simulates_as_the_file_does():
    model = chains.load(chains.chain_file())
    made, motion = make(**members(model)), chains.swing(40)
    pose, own = (one.pose(motion, [3, 7.5], physics=True) for one in (model, made))
    assert chains.same(pose, own)
    loaded, skinned = mmdskin.skin(model, pose), mmdskin.skin(made, own)
    assert loaded.positions.tobytes() == skinned.positions.tobytes()
    bodies = [mmdskin.World(one.rigid_bodies, one.joints).state for one in (model, made)]
    assert bodies[0].tobytes() == bodies[1].tobytes()


# Replace


def test_replace_changes_what_it_names_and_keeps_the_rest():
    file = small_file(
        soft_bodies=[], encoding="utf-8", index_sizes=dict.fromkeys(pmx.INDEX_ORDER, 4)
    )
    data = pmx.write(file)
    model = mmdskin.load_model(data)
    assert saved(model.replace()) == data
    file.name, file.bones[0].name = "新", "根"
    bones = (model.bones[0]._replace(name="根"), *model.bones[1:])
    assert saved(model.replace(name="新", bones=bones)) == pmx.write(file)
    assert model.replace(display_frames=None).display_frames[0].name == "Root"


@pytest.mark.parametrize("name", MEMBERS)
def test_replace_makes_what_from_arrays_makes_of_the_other_members(name):
    model = mmdskin.load_model(pmx.write(small_file(soft_bodies=[])))
    other = mmdskin.load_model(sample.build_sample())
    for value in (None, getattr(model, name), getattr(other, name)):
        outcomes = []
        for work in (
            lambda value=value: model.replace(**{name: value}),
            lambda value=value: make(**(members(model) | {name: value})),
        ):
            try:
                outcomes.append(saved(work()))
            except ValueError as error:
                outcomes.append("refused" if name == "positions" else str(error))
        assert outcomes[0] == outcomes[1]


@pytest.mark.skipif(sys.version_info < (3, 13), reason="copy.replace is new in Python 3.13")
def test_copy_replace_is_replace():
    model = make(bones=[Bone("a")])
    assert copy.replace(model, name="b") == model.replace(name="b")


def test_replace_refuses_what_it_does_not_know():
    model = mmdskin.load_model(pmx.write(small_file()))
    with pytest.raises(ValueError, match="loaded without its soft bodies"):
        model.replace(name="a")
    with pytest.raises(TypeError, match="keywords"):
        make().replace([[0, 0, 0]])
    with pytest.raises(TypeError, match="nmae"):
        make().replace(nmae="a")
