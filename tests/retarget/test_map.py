# SPDX-License-Identifier: MIT
"""Which bone of a rig is which part of a human: by names, by the shape of the tree, as given."""

import pickle
import time

import mmdskin
import numpy as np
import pytest
from conftest import published_file
from files import locations
from mmdskin.retargeting.slots import REQUIRED
from retarget.rigs import CONVENTIONS, FINGER_NAMES, convention, humanoid


@pytest.mark.parametrize("name", CONVENTIONS)
def test_names_of_each_convention_are_understood(name):
    skeleton, truth = convention(name)
    assert dict(skeleton.human) == truth
    assert skeleton.notes == ("mapped by names",)


@pytest.mark.parametrize("name", FINGER_NAMES)
def test_names_of_fingers_are_understood(name):
    skeleton, truth = convention(name, fingers=True)
    assert dict(skeleton.human) == truth
    assert len(truth) > 38


@pytest.mark.parametrize("name", ["Mixamo", "Unreal", "SMPL", "MMD in Blender"])
def test_the_order_of_bones_does_not_matter(name):
    skeleton, truth = convention(name, np.random.default_rng(3).permutation)
    assert dict(skeleton.human) == truth


def test_the_shape_of_the_tree_is_used_where_names_say_nothing():
    skeleton, truth = convention("Mixamo")
    unnamed = mmdskin.Skeleton(
        [str(i) for i in range(len(skeleton.names))], skeleton.parents, skeleton.rest
    )
    assert {slot: unnamed.human[slot] for slot in truth if slot in unnamed.human} == truth
    assert "shape of the tree" in unnamed.notes[0]


@pytest.mark.parametrize("path", locations.at_hand("pmx", "pmd"), ids=lambda path: path.stem)
def test_models_are_mapped(path):
    """Every model that has 下半身 and legs."""
    model = mmdskin.load_model(path)
    if not {"下半身", "左足", "左腕"} <= {bone.name for bone in model.bones}:
        return
    skeleton = model.skeleton
    names = {slot: skeleton.names[bone] for slot, bone in skeleton.human.items()}
    for slot, japanese in (
        *(("Shoulder", "肩"), ("UpperArm", "腕"), ("LowerArm", "ひじ"), ("Hand", "手首")),
        *(("UpperLeg", "足"), ("LowerLeg", "ひざ"), ("Foot", "足首")),
        *(("IndexProximal", "人指１"), ("LittleDistal", "小指３")),
    ):
        if "指" in japanese and "左" + japanese not in skeleton.names:
            continue  # mittens
        assert names["left" + slot] == "左" + japanese
        assert names["right" + slot] == "右" + japanese
    assert (names["hips"], names["neck"], names["head"]) == ("下半身", "首", "頭")
    assert not skeleton.doubts
    order = np.random.default_rng(0).permutation(len(skeleton.names))
    place = np.argsort(order)
    parents = [place[skeleton.parents[i]] if skeleton.parents[i] >= 0 else -1 for i in order]
    mixed = mmdskin.Skeleton([skeleton.names[i] for i in order], parents, skeleton.rest[order])
    assert {slot: mixed.names[bone] for slot, bone in mixed.human.items()} == names


@pytest.mark.parametrize("path", locations.at_hand("pmx", "pmd"), ids=lambda path: path.stem)
def test_models_are_mapped_by_their_shape_alone(path):
    """But for an upper arm whose twist bone is taken in its place."""
    named = mmdskin.load_model(path).skeleton
    if not set(REQUIRED) <= set(named.human):
        return
    names = [str(i) for i in range(len(named.names))]
    found = mmdskin.Skeleton(names, named.parents, named.rest).human
    wrong = {slot for slot in REQUIRED if found.get(slot) != named.human[slot]}
    assert wrong <= {"leftUpperArm", "rightUpperArm"}


def test_toes_of_a_model_are_those_that_bend():
    skeleton = mmdskin.load_model(published_file("mmt_test_model.pmx")).skeleton
    assert skeleton.names[skeleton.human["leftToes"]] == "左足先EX"


def test_a_user_maps_and_frees_slots():
    skeleton, truth = convention("Mixamo")
    changed = skeleton.replace(human={"leftHand": "mixamorig:LeftForeArm", "neck": None})
    assert changed.human["leftHand"] == truth["leftLowerArm"]
    assert "neck" not in changed.human
    assert "leftLowerArm" in changed.doubts  # its bone is taken
    again = changed.replace(
        human={"leftHand": truth["leftHand"], "leftLowerArm": truth["leftLowerArm"]}
    )
    assert again.human == {slot: bone for slot, bone in truth.items() if slot != "neck"}


def test_one_bone_in_two_slots_is_doubtful():
    skeleton, truth = convention("Mixamo")
    toes = {"leftToes": truth["rightToes"], "rightToes": truth["rightToes"]}
    assert skeleton.replace(human=toes).doubts == {"rightToes": "the same bone as leftToes"}


def test_hips_that_a_user_frees_stay_free():
    skeleton, _ = convention("Mixamo")
    assert "hips" not in skeleton.replace(human={"hips": None}).human


def test_thumbs_of_vrm_start_at_the_metacarpal():
    names = ["Hips", "Hand_L", "a", "b", "c"]
    human = {"leftHand": 1, "leftThumbMetacarpal": 2, "leftThumbProximal": 3, "leftThumbDistal": 4}
    skeleton = mmdskin.Skeleton(
        names, [-1, 0, 1, 2, 3], [np.eye(4)] * 5, human=human | {"spine": 0}
    )
    joints = [skeleton.human[f"leftThumb{p}"] for p in ("Proximal", "Intermediate", "Distal")]
    assert joints == [2, 3, 4]


def test_a_user_bounds_the_spine():
    """A rig whose lowest bone of the spine belongs to the pelvis."""
    rig = humanoid(spine=4)
    names = [rig.names[bone] for bone in rig.spine]
    assert len(names) == 4
    shorter = rig.replace(human={"spine": names[1], "chest": names[2]})
    assert shorter.spine == rig.spine[1:] and not shorter.doubts
    assert shorter.replace(human={"upperChest": names[2]}).spine == rig.spine[1:3]
    assert pickle.loads(pickle.dumps(shorter)).spine == shorter.spine
    assert dict(shorter.human) == dict(rig.human)
    wrong = rig.replace(human={"upperChest": rig.names[rig.human["leftHand"]]})
    assert wrong.spine == rig.spine
    assert wrong.doubts == {"upperChest": "is not between hips and neck"}


def test_an_animal_is_no_human():
    """A dog: four legs named as front and back."""
    names = ["root", "body", "chest", "neck", "head", "tail"]
    parents = [-1, 0, 1, 2, 3, 1]
    for side in "LR":
        for limb, parent in (("front", 2), ("back", 1)):
            for part in ("upper", "lower", "paw"):
                names.append(f"{limb}_{part}_{side}")
                parents.append(parent if part == "upper" else len(names) - 2)
    rest = np.tile(np.eye(4), (len(names), 1, 1))
    rest[:, :3, 3] = np.random.default_rng(0).normal(size=(len(names), 3))
    assert mmdskin.Skeleton(names, parents, rest).doubts["leftUpperArm"] == "no bone"


def test_swapped_sides_are_doubtful():
    skeleton, _ = convention("Mixamo")
    swapped = [
        n.replace("Left", "?").replace("Right", "Left").replace("?", "Right")
        for n in skeleton.names
    ]
    doubts = mmdskin.Skeleton(swapped, skeleton.parents, skeleton.rest).doubts
    assert "swapped" in doubts["leftFoot"]


def test_limbs_out_of_proportion_are_doubtful():
    skeleton, truth = convention("Mixamo")
    rest = skeleton.rest.copy()
    rest[truth["leftLowerArm"], 0, 3] = 1.6
    doubts = mmdskin.Skeleton(skeleton.names, skeleton.parents, rest).doubts
    assert set(doubts) == {"leftUpperArm", "leftLowerArm"}


@pytest.mark.parametrize(
    "change, error, text",
    [
        ({"parents": [1, 0, 1]}, ValueError, 'bone 0 "a" is in or below a cycle'),
        ({"parents": [0], "names": iter("a")}, ValueError, 'bone 0 "a" is in or below a cycle'),
        ({"parents": [-1, 0, 3]}, ValueError, r"parents\[2\]: 3 of 3 bones"),
        ({"parents": [-1, 0]}, ValueError, r"parents: int64 of shape \(2,\)"),
        ({"parents": [-1.0, 0, 1]}, ValueError, "parents: float64"),
        ({"rest": [np.eye(4)] * 2}, ValueError, r"rest: shape \(2, 4, 4\)"),
        (
            {"rest": [np.eye(4), np.eye(4) * np.nan, np.eye(4)]},
            ValueError,
            'bone 1 "b" is not finite',
        ),
        ({"rest": [np.eye(4) * 1e300] * 3}, ValueError, 'bone 0 "a" is not finite, or above 1e9'),
        ({"rest": "x"}, ValueError, "rest: expected matrices"),
        ({"names": "abc"}, TypeError, "names: expected a sequence"),
        ({"names": ["a", "b", 3]}, TypeError, r"names\[2\]"),
        ({"human": {"leftPaw": 0}}, ValueError, 'no slot is named "leftPaw"'),
        ({"human": {"head": "z"}}, ValueError, 'no bone is named "z"'),
        ({"human": {"head": 3}}, ValueError, "bone 3 of 3"),
        ({"human": {"head": 1.5}}, TypeError, "expected a name, an index or None, not .*float"),
        ({"human": {"head": "a"}, "names": ["a", "a", "b"]}, ValueError, 'two bones are named "a"'),
        ({"reference": np.zeros((2, 4, 4))}, ValueError, "reference: shape"),
        ({"rest": np.zeros((3, 4, 4))}, ValueError, 'bone 0 "a" does not end with the row 0 0 0 1'),
    ],
)
def test_what_is_not_a_skeleton_is_refused(change, error, text):
    values = {"names": ["a", "b", "c"], "parents": [-1, 0, 1], "rest": [np.eye(4)] * 3} | change
    with pytest.raises(error, match=text):
        mmdskin.Skeleton(**values)


def test_scale_and_mirrors_in_matrices_are_dropped():
    rest = np.array([np.diag([3.0, 3, 3, 1]), np.diag([-2.0, 1, 1, 1]), np.diag([0.0, 0, 0, 1])])
    found = mmdskin.Skeleton(["a", "b", "c"], [-1, 0, 0], rest).rest[:, :3, :3]
    assert np.allclose(found @ found.transpose(0, 2, 1), np.eye(3), atol=1e-12)
    assert np.allclose(np.linalg.det(found), 1)


def test_a_skeleton_never_changes():
    skeleton = mmdskin.sample().model.skeleton
    for name in ("names", "human", "unknown"):
        with pytest.raises(AttributeError, match=f"{name}: a Skeleton never changes"):
            setattr(skeleton, name, ())
    with pytest.raises(ValueError, match="read-only"):
        skeleton.parents[0] = 5


def test_a_skeleton_is_pickled():
    skeleton, _ = convention("Mixamo")
    skeleton = skeleton.replace(human={"neck": None}, reference=skeleton.rest)
    again = pickle.loads(pickle.dumps(skeleton))
    assert (again.names, again.human, again.notes) == (
        skeleton.names,
        skeleton.human,
        skeleton.notes,
    )
    assert np.array_equal(again.reference, skeleton.reference)


def test_no_bones_are_a_skeleton_without_slots():
    skeleton = mmdskin.Skeleton([], [], np.zeros((0, 4, 4)))
    assert not skeleton.human and skeleton.doubts["hips"] == "no bone"


def test_bones_in_one_long_chain_are_mapped_soon():
    """10,000 of them, each below the last."""
    count = 10_000
    rest = np.tile(np.eye(4), (count, 1, 1))
    rest[:, 1, 3] = np.arange(count)
    started = time.process_time()
    mmdskin.Skeleton([f"L_{i}" for i in range(count)], np.arange(count) - 1, rest)
    assert time.process_time() - started < 5


def test_locals_at_is_what_a_motion_keys(tmp_path):
    model = mmdskin.load_model(locations.own_files()["dancer.pmx"])
    motion = mmdskin.load_motion(locations.own_files()["dancer.vmd"])
    found = model.locals_at(motion, [0, 30.5])
    wanted = model.locals_of(model.pose(motion, [0, 30.5], ik=False))
    assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))
    assert model.locals_at(motion, 3)[0].shape == (len(model.bones), 3)
