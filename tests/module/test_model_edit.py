# SPDX-License-Identifier: MIT
"""scaled() and merged(): models made of other models."""

import mmdskin
import numpy as np
import pytest
from mmdskin import IK, Append, Bone, DisplayFrame, IKLink, Joint, Material, Morph, RigidBody

TRIANGLE = [[0, 1, 2]]


def rigged(name="figure", **changes):
    """Two bones, SDEF, and something of every kind that refers to something else."""
    members = {
        "positions": [[0, 0, 0], [1, 2, 0], [0, 4, 1]],
        "triangles": TRIANGLE,
        "bone_indices": [[0, -1], [0, 1], [1, -1]],
        "bone_weights": [[1, 0], [0.25, 0.75], [1, 0]],
        "deform": [0, 3, 0],
        "sdef": [np.zeros((3, 3)), [[0, 2, 0], [0, 1, 0], [0, 3, 0]], np.zeros((3, 3))],
        "bones": [
            Bone("root", position=(0, 1, 0), tail_bone=1),
            Bone("arm", position=(0, 2, 0), parent=0, tail_offset=(0, 3, 0)),
            Bone("twin", position=(3, 2, 0), parent=0, append=Append(1, 0.5)),
            Bone("goal", position=(0, 3, 1), parent=0, ik=IK(2, links=(IKLink(1),))),
        ],
        "morphs": [
            Morph("wide", indices=[1], values=[[2, 0, 0]]),
            Morph("up", kind="bone", indices=[1], values=[[0, 3, 0, 0, 0, 0, 1]]),
            Morph("red", kind="material", indices=[-1], values=[[1] + [0.1] * 28]),
            Morph("both", kind="group", indices=[0, 1], values=[[1], [0.5]]),
            Morph("blow", kind="impulse", indices=[0], values=[[0, 1, 2, 3, 4, 5, 6]]),
        ],
        "materials": [Material("skin", texture=0, index_count=3)],
        "textures": ["skin.png"],
        "display_frames": [
            DisplayFrame("Root", special=True, elements=(("bone", 0),)),
            DisplayFrame("表情", special=True, elements=(("morph", 0), ("morph", 1))),
            DisplayFrame("arms", elements=(("bone", 1),)),
        ],
        "rigid_bodies": [
            RigidBody("box", bone=1, shape="box", size=(1, 2, 3), position=(0, 4, 0), mass=2)
        ],
        "joints": [
            Joint(
                "hinge",
                body_a=-1,
                body_b=0,
                position=(0, 2, 0),
                translation_lower=(-1, 0, 0),
                translation_upper=(0, 1, 0),
                rotation_lower=(-1, 0, 0),
                translation_spring=(5, 5, 5),
                rotation_spring=(7, 7, 7),
            )
        ],
        "comment": f"terms of {name}",
    }
    return mmdskin.Model.from_arrays(**{**members, **changes}, name=name)


def values(model, frames=3):
    """Local values and weights of every bone and morph."""
    random = np.random.default_rng(1)
    moves = random.uniform(-1, 1, (frames, len(model.bones), 3))
    turns = random.uniform(-1, 1, (frames, len(model.bones), 4))
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    return moves, turns, random.uniform(0, 1, (frames, len(model.morphs)))


@pytest.mark.parametrize("make", [rigged, lambda: mmdskin.sample().model])
def test_a_scaled_model_deforms_as_the_model_times_the_factor(make):
    model = make()
    moves, turns, weights = values(model)
    half = mmdskin.scaled(model, 0.5)
    whole = mmdskin.skin(model, model.pose_from(moves, turns, weights))
    found = mmdskin.skin(half, half.pose_from(moves / 2, turns, weights))
    np.testing.assert_allclose(found.positions, whole.positions / 2, atol=1e-5)
    np.testing.assert_allclose(found.normals, whole.normals, atol=1e-5)


def test_lengths_of_a_scaled_model_are_multiplied():
    found = mmdskin.scaled(rigged(), 3)
    assert found.positions.tolist() == [[0, 0, 0], [3, 6, 0], [0, 12, 3]]
    assert found.sdef[1].tolist() == [[0, 6, 0], [0, 3, 0], [0, 9, 0]]
    assert found.bones[1].position == (0, 6, 0)
    assert found.bones[1].tail_offset == (0, 9, 0)
    assert found.bones[3].ik == rigged().bones[3].ik
    shown = {morph.name: morph.values.tolist() for morph in found.morphs}
    assert shown["wide"] == [[6, 0, 0]]
    assert shown["up"] == [[0, 9, 0, 0, 0, 0, 1]]
    assert shown["both"] == [[1], [0.5]]
    assert shown["blow"] == [[0, 3, 6, 9, 36, 45, 54]]
    (body,), (joint,) = found.rigid_bodies, found.joints
    assert (body.size, body.position, body.mass) == ((3, 6, 9), (0, 12, 0), 2)
    assert (joint.position, joint.translation_lower) == ((0, 6, 0), (-3, 0, 0))
    assert (joint.translation_upper, joint.rotation_lower) == ((0, 3, 0), (-1, 0, 0))
    assert (joint.translation_spring, joint.rotation_spring) == ((5, 5, 5), (63, 63, 63))


def test_a_model_that_is_scaled_back_is_the_same():
    model = mmdskin.sample().model
    assert mmdskin.scaled(mmdskin.scaled(model, 4), 0.25) == model


def test_a_scaled_pendulum_swings_as_long_where_gravity_is_scaled_too():
    """Its spring is that against turning; Bullet's tolerances are lengths, so it is not the same."""
    model = mmdskin.Model.from_arrays(
        bones=[Bone("pivot"), Bone("arm", position=(0, 10, 0), parent=0)],
        rigid_bodies=[
            RigidBody("pivot", bone=0, position=(0, 10, 0), mask=0),
            RigidBody(
                *("arm", "", 1, 0, 0, "capsule", (0.5, 3, 0), (2, 10, 0), (0, 0, np.pi / 2)),
                linear_damping=0.1,
                angular_damping=0.1,
                mode="physics",
            ),
        ],
        joints=[
            Joint(
                *("pivot", "", "spring_6dof", 0, 1, (0, 10, 0)),
                rotation_lower=(-3, -3, -3),
                rotation_upper=(3, 3, 3),
                rotation_spring=(50, 50, 50),
            )
        ],
    )

    def turns(model, gravity):
        physics = mmdskin.Physics(gravity=(0, gravity, 0), settle=0, ground=False)
        return model.pose(None, np.arange(90), physics=physics).bone_matrices[:, 1, :3, :3]

    whole, half = turns(model, -98), turns(mmdskin.scaled(model, 0.5), -49)
    assert abs(whole - np.eye(3)).max() > 1
    assert abs(half - whole).max() < 0.15  # 1.6 if the spring were kept


@pytest.mark.parametrize("factor", [0, -1, np.nan, np.inf, 1e200, 10**400])
def test_a_scale_must_be_positive(factor):
    with pytest.raises(ValueError, match="factor: .*, expected a positive number"):
        mmdskin.scaled(rigged(), factor)


def test_a_scale_that_leaves_the_range_of_coordinates_is_refused():
    with pytest.raises(ValueError, match="vertex 1, component 0 is beyond 1e10"):
        mmdskin.scaled(rigged(), 1e11)
    with pytest.raises(TypeError, match="model: expected a Model"):
        mmdskin.scaled("figure.pmx", 2)
    with pytest.raises(TypeError, match="factor: expected a number, not <class 'str'>"):
        mmdskin.scaled(rigged(), "half")


def test_merged_models_deform_as_each_alone():
    parts = [rigged(), mmdskin.sample().model, rigged("other")]
    both = mmdskin.merged(parts)
    given = [values(part) for part in parts]
    each = [
        mmdskin.skin(part, part.pose_from(*some)).positions
        for part, some in zip(parts, given, strict=True)
    ]
    posed = both.pose_from(*(np.concatenate(some, 1) for some in zip(*given, strict=True)))
    found = mmdskin.skin(both, posed).positions
    np.testing.assert_allclose(found, np.concatenate(each, 1), atol=1e-5)
    assert len(both.triangles) == sum(len(part.triangles) for part in parts)


def test_what_merged_models_refer_to_is_their_own():
    found = mmdskin.merged([rigged(), rigged("other")])
    old = ("root", "arm", "twin", "goal")
    assert found.bones.names == (*old, *(f"{name} 2" for name in old))
    assert found.morphs.names[5:] == ("wide 2", "up 2", "red 2", "both 2", "blow 2")
    assert found.triangles.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found.bone_indices[3:, :2].tolist() == [[4, -1], [4, 5], [5, -1]]
    root, arm, twin, goal = found.bones[4:]
    assert (root.parent, root.tail_bone, arm.parent, arm.tail_bone) == (-1, 5, 4, -1)
    assert (twin.append.source, goal.ik.target, goal.ik.links[0].bone) == (5, 6, 5)
    indices = [morph.indices.tolist() for morph in found.morphs]
    assert indices == [[1], [1], [0], [0, 1], [0], [4], [5], [1], [5, 6], [1]]
    assert [material.texture for material in found.materials] == [0, 1]
    assert [frame.elements for frame in found.display_frames] == [
        (("bone", 0), ("bone", 4)),
        (("morph", 0), ("morph", 1), ("morph", 5), ("morph", 6)),
        (("bone", 1), ("bone", 5)),
    ]
    assert [body.bone for body in found.rigid_bodies] == [1, 5]
    assert [(joint.body_a, joint.body_b) for joint in found.joints] == [(-1, 0), (-1, 1)]
    assert found.comment == "terms of figure\n\nterms of other"
    assert found.name == "figure"


def test_bones_of_clothes_become_the_dancers():
    clothes = rigged(
        bones=[Bone("arm", position=(9, 9, 9)), Bone("hem", parent=0), Bone("root")],
        morphs=(),
        display_frames=(),
    )
    found = mmdskin.merged([rigged(), clothes], join_bones=True)
    assert found.bones.names == ("root", "arm", "twin", "goal", "hem")
    assert found.bones["arm"].position == (0, 2, 0)
    assert found.bones["hem"].parent == 1
    assert found.bone_indices[3:, :2].tolist() == [[1, -1], [1, 4], [4, -1]]
    assert found.rigid_bodies[1].bone == 4


def test_a_new_name_is_not_one_that_its_model_has():
    second = rigged(bones=[Bone("root"), Bone("root 2", parent=0)], morphs=(), display_frames=())
    assert mmdskin.merged([rigged(), second]).bones.names[4:] == ("root 3", "root 2")


def test_additional_uvs_of_merged_models_are_zero_where_one_has_none():
    uvs = np.ones((3, 2, 4))
    found = mmdskin.merged([rigged(), rigged("other", additional_uvs=uvs)]).additional_uvs
    assert found.shape == (6, 2, 4)
    assert (found[:3] == 0).all()
    assert (found[3:] == 1).all()


def test_textures_of_merged_files_are_found_from_the_first(tmp_path):
    paths = [tmp_path / "one" / "a.pmx", tmp_path / "two" / "b.pmx"]
    for path in paths:
        path.parent.mkdir()
        rigged().save(path)
    found = mmdskin.merged(mmdskin.load_model(path) for path in paths)
    assert found.path == str(paths[0])
    assert [name.replace("\\", "/") for name in found.textures] == ["skin.png", "../two/skin.png"]


def test_a_morph_of_all_materials_that_would_fill_the_memory_is_refused():
    """A file of a few MB can ask for a thousand offsets of each of a thousand materials, and more."""
    offsets = np.full(1000, -1), np.ones((1000, 29))
    morphs = [Morph("red", kind="material", indices=offsets[0], values=offsets[1])]
    materials = [Material("skin", index_count=3), *[Material("none")] * 1000]
    hostile = rigged(materials=materials, morphs=morphs, display_frames=())
    words = 'morph "red": offsets of all materials become one of each, 1,001,001 so far, expected'
    with pytest.raises(ValueError, match=words):
        mmdskin.merged([rigged(), hostile])
    few = rigged(materials=materials[:1000], morphs=morphs, display_frames=())
    assert len(mmdskin.merged([few]).morphs[0].indices) == 1_000_000


def test_merged_models_survive_a_file(tmp_path):
    found = mmdskin.merged([rigged(), mmdskin.sample().model])
    found.save(tmp_path / "both.pmx")
    assert mmdskin.load_model(tmp_path / "both.pmx") == found


def test_one_model_alone_is_itself():
    model = mmdskin.sample().model
    assert mmdskin.merged([model]) == model


def test_no_models_and_other_things_are_refused():
    with pytest.raises(ValueError, match="models: expected at least one"):
        mmdskin.merged([])
    with pytest.raises(TypeError, match=r"models\[1\]: expected a Model, not <class 'str'>"):
        mmdskin.merged([rigged(), "hat.pmx"])
