# SPDX-License-Identifier: MIT
"""Bones and morphs by name: indices, sliders, and dicts of bones in `pose_from`."""

import difflib
import pickle
import threading

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from files.small import rigid_file

BONES = [
    ("全ての親", "root"),
    ("左ひじ", "elbow_L"),
    ("左足ＩＫ", "leg IK_L"),
    ("左足", "leg_L"),
    ("root", "center"),
    ("左ひじ", ""),
    ("", "elbow_L"),
]
MORPHS = [("まばたき", "blink"), ("あ", "a"), ("blink", "")]
REST = np.float32([0, 0, 0, 1])


@pytest.fixture(scope="module")
def model():
    file = rigid_file(2)
    file.bones = [pmx.Bone(name, english, flags=0x6) for name, english in BONES]
    file.morphs = [
        pmx.Morph(name, english, indices=np.int32([0]), values=np.float32([[i + 1, 0, 0]]))
        for i, (name, english) in enumerate(MORPHS)
    ]
    return mmdskin.load_model(pmx.write(file))


@pytest.fixture(scope="module")
def without_morphs():
    return mmdskin.load_model(pmx.write(rigid_file(1)))


def arrays(model, **changes):
    """Local values at rest, except for {bone: value} of either kind."""
    count = len(model.bones)
    values = {"translations": np.zeros((count, 3), "f4"), "rotations": np.tile(REST, (count, 1))}
    for kind, changed in changes.items():
        for bone, value in changed.items():
            values[kind][bone] = value
    return values


def assert_same(pose, other):
    assert pose.bone_matrices.shape == other.bone_matrices.shape
    assert np.array_equal(pose.bone_matrices, other.bone_matrices)
    assert np.array_equal(pose.morph_weights, other.morph_weights)


@pytest.mark.parametrize("name, index", [("左足", 3), ("leg IK_L", 2), ("左ひじ", 1)])
def test_a_bone_is_found_by_its_japanese_and_english_name(model, name, index):
    assert model.bone(name) == index


def test_japanese_names_take_precedence_over_english_ones(model):
    assert (model.bone("root"), model.bone("center")) == (4, 4)
    assert model.morph("blink") == 2


def test_the_first_of_equal_names_is_found(model):
    assert (model.bone("左ひじ"), model.bone("elbow_L")) == (1, 1)


def test_an_empty_name_is_not_found(model):
    with pytest.raises(KeyError):
        model.bone("")


@pytest.mark.parametrize(
    "name, nearest",
    [
        ("左足IK", "左足ＩＫ"),
        ("左ひじり", "左ひじ"),
        ("ELBOW_L", "elbow_L"),
        ("すべての親", "全ての親"),
    ],
)
def test_the_error_for_an_unknown_bone_suggests_similar_names(model, name, nearest):
    with pytest.raises(KeyError) as refused:
        model.bone(name)
    assert str(refused.value).startswith(f'no bone "{name}"; nearest: "{nearest}"')
    assert refused.value.args == (name,)


def test_at_most_three_names_are_suggested(model):
    with pytest.raises(KeyError) as refused:
        model.bone("左")
    assert str(refused.value).count('"') == 2 * (1 + 3)


def test_an_unknown_morph_is_refused_in_a_model_without_morphs(without_morphs):
    with pytest.raises(KeyError) as refused:
        without_morphs.morph("あ")
    assert str(refused.value) == 'no morph "あ" and no similar name'


def test_similar_names_are_searched_only_when_the_error_is_read(model, monkeypatch):
    def search(*_arguments):
        raise AssertionError

    with monkeypatch.context() as patched:
        patched.setattr(difflib, "get_close_matches", search)
        for find in (model.bone, model.bones.__getitem__, model.morph, model.morphs.__getitem__):
            with pytest.raises(mmdskin.UnknownNameError):
                find("なし")
    with pytest.raises(mmdskin.UnknownNameError) as refused:
        model.bone("左ひじり")
    assert "左ひじ" in str(refused.value)


def test_the_error_can_be_printed_where_names_hold_bytes_that_are_no_characters():
    cut = mmdskin.Motion.from_tracks([("左ひ\udc82", [0], None, None, None)])
    with pytest.raises(KeyError) as refused:
        cut.bones["左ひじ"]
    assert str(refused.value) == r'no bone track "左ひじ"; nearest: "左ひ\udc82"'


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_the_error_is_pickled_with_its_text_and_without_the_bones(model, protocol):
    with pytest.raises(mmdskin.UnknownNameError) as refused:
        model.bone("左ひじり")
    pickled = pickle.dumps(refused.value, protocol)
    other = pickle.loads(pickled)
    assert (str(other), other.args) == (str(refused.value), ("左ひじり",))
    assert b"Bone" not in pickled


def test_the_error_made_by_other_code_is_a_plain_key_error():
    assert str(mmdskin.UnknownNameError("首")) == "'首'"
    assert str(pickle.loads(pickle.dumps(mmdskin.UnknownNameError("首")))) == "'首'"


@pytest.mark.parametrize("name", [1, None, b"root"])
def test_a_name_is_a_str(model, name):
    with pytest.raises(TypeError, match="bone: expected a name"):
        model.bone(name)


def test_threads_get_the_same_indices(model):
    fresh, found = mmdskin.load_model(model.__reduce__()[1][0]), []
    barrier = threading.Barrier(8)

    def look_up():
        barrier.wait()
        found.append([fresh.bone(name) for name, _ in BONES[:4]])

    threads = [threading.Thread(target=look_up) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[0, 1, 2, 3]] * 8


# sliders


def test_sliders_are_zero_except_for_those_named(model):
    sliders = model.sliders({"あ": 0.25, "まばたき": -2})
    assert (sliders.dtype, sliders.tolist()) == (np.float32, [-2, 0.25, 0])
    assert mmdskin.skin(model, np.tile(np.eye(4), (7, 1, 1)), sliders).positions[0, 0] == -1.5


def test_an_empty_dict_gives_zeros(model, without_morphs):
    assert model.sliders({}).tolist() == [0, 0, 0]
    assert without_morphs.sliders({}).shape == (0,)


@pytest.mark.parametrize(
    "argument, kind, text",
    [
        ({"あ": np.nan}, ValueError, "あ is NaN"),
        ({"あ": -np.inf}, ValueError, "あ is infinite"),
        ({"あ": 1e39}, ValueError, "あ: 1e+39 is too large for float32"),
        ({"あ": [1, 2]}, ValueError, "あ: shape (2,), expected ()"),
        ({"あ": "1"}, TypeError, "あ: dtype"),
        ({"a": 1, "あ": 1}, ValueError, "あ: is the same morph as a"),
        ({1: 1}, TypeError, "morph: expected a name (str)"),
        ([1, 0, 0], TypeError, "weights: expected a dict of names"),
    ],
)
def test_invalid_sliders_are_refused_by_name(model, argument, kind, text):
    with pytest.raises(kind) as refused:
        model.sliders(argument)
    assert str(refused.value).startswith(text)


# pose_from


def test_a_dict_of_bones_replaces_arrays(model):
    turn = (0, 0, 0.6, 0.8)
    pose = model.pose_from({"左ひじ": ((1, 2, 3), turn), "root": (None, turn)})
    expected = arrays(model, translations={1: (1, 2, 3)}, rotations={1: turn, 4: turn})
    assert_same(pose, model.pose_from(**expected))


@pytest.mark.parametrize(
    "move",
    [
        [1.5, -2, 0.1],
        (np.float64(1.5), -2, 0.1),
        (True, 2**24 + 1, 1e-46),
        (1e300, 0, 0),
        (2**200, 0, 0),
        (float("nan"), 0, 0),
        (0, -float("inf"), 0),
        (1, 2),
        (1, 2, "3"),
        (1, 2, None),
    ],
    ids=repr,
)
def test_numbers_in_a_tuple_mean_what_they_mean_in_an_array(model, move):
    outcomes = []
    for value in (move, type("Own", (list,), {})(move)):  # which is left to NumPy
        try:
            outcomes.append(model.pose_from({"左足": (value, None)}).bone_matrices.tobytes())
        except (TypeError, ValueError) as error:
            outcomes.append((type(error), str(error)))
    assert outcomes[0] == outcomes[1]


def test_bones_that_are_not_named_are_at_rest(model):
    assert_same(model.pose_from({}), model.pose_from(**arrays(model)))
    assert_same(model.pose_from({"左足": (None, None)}), model.pose_from(**arrays(model)))


def test_frames_of_named_bones_make_a_batch(model):
    moves = np.arange(9, dtype="f4").reshape(3, 3)
    batch = model.pose_from({"左足": (moves, None), "左ひじ": ((4, 5, 6), [REST * 2])})
    assert batch.bone_matrices.shape == (3, 7, 4, 4)
    for f in range(3):
        frame = arrays(model, translations={3: moves[f], 1: (4, 5, 6)})
        assert np.array_equal(batch.bone_matrices[f], model.pose_from(**frame).bone_matrices)


def test_zero_frames_of_a_named_bone_are_an_empty_batch(model):
    assert model.pose_from({"左足": (np.zeros((0, 3)), None)}).bone_matrices.shape == (0, 7, 4, 4)


def test_a_dict_of_bones_combines_with_sliders(model):
    sliders = model.sliders({"あ": 0.5})
    pose = model.pose_from({"左足": ((1, 0, 0), None)}, morph_weights=sliders)
    assert pose.morph_weights.tolist() == [0, 0.5, 0]


@pytest.mark.parametrize(
    "argument, kind, text",
    [
        ({"左足": (None, (0, np.nan, 0, 1))}, ValueError, "左足: rotation is NaN in y"),
        ({"左足": ((0, 0, np.inf), None)}, ValueError, "左足: translation is infinite in z"),
        (
            {"左足": (None, [REST, REST * np.nan])},
            ValueError,
            "左足: rotation, frame 1 is NaN in x",
        ),
        ({"左足": (None, (0, 0, 0, 0))}, ValueError, "左足: rotation has zero length"),
        ({"左足": (None, (0, 0, 1))}, ValueError, "左足: rotation: shape (3,), expected (4,)"),
        (
            {"左足": ([(0, 0, 0)] * 2, None), "左ひじ": (None, [REST] * 3)},
            ValueError,
            "左ひじ: rotation: shape (3, 4), expected (2, 4)",
        ),
        ({"左足": REST}, TypeError, "左足: expected (translation, rotation)"),
        ({"左足": None}, TypeError, "左足: expected (translation, rotation)"),
        ({"elbow_L": (None, None), "左ひじ": (None, None)}, ValueError, "左ひじ: is the same bone"),
        ({"左あし": (None, None)}, KeyError, "no bone \"左あし\"; nearest: \"左足\""),
        (np.zeros((7, 3)), TypeError, "translations (without rotations): expected a dict"),
    ],
)  # fmt: skip
def test_invalid_named_bones_are_refused_by_name(model, argument, kind, text):
    with pytest.raises(kind) as refused:
        model.pose_from(argument)
    assert str(refused.value).startswith(text)


def test_a_dict_of_bones_excludes_rotations(model):
    with pytest.raises(TypeError, match="rotations: expected None, as the dict includes rotations"):
        model.pose_from({"左足": (None, None)}, np.tile(REST, (7, 1)))


class Mapping:
    """A mapping that is not a dict."""

    def __init__(self, items):
        self.pairs = items

    def __getitem__(self, name):
        raise KeyError(name)

    def items(self):
        return self.pairs


@pytest.mark.parametrize("item", [["root", (None, None)], None, (), ("root",), ("root", 1.0, 3)])
@pytest.mark.parametrize("call", ["sliders", "pose_from"])
def test_items_that_are_not_pairs_are_a_type_error(model, call, item):
    with pytest.raises(TypeError, match=r"expected items \(name, value\), not "):
        getattr(model, call)(Mapping([item]))
