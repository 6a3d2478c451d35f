# SPDX-License-Identifier: MIT
"""Models and motions as objects: names, equality, open files, bounds, what notebooks show."""

import copy
import gc
import io
import pickle
import weakref

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from files.small import rigid_file, small_file
from PIL import Image
from sample import model as sample
from sample import motion as sample_motion


@pytest.fixture(scope="module")
def model():
    return mmdskin.load_model(sample.build_sample())


@pytest.fixture(scope="module")
def motion():
    return mmdskin.load_motion(sample_motion.build_motion())


def track(name, *frames):
    return name, frames, None, None, None


# Names


def test_tracks_and_records_are_found_by_name(model, motion):
    first = motion.bones[0]
    assert motion.bones[first.name] is first
    assert model.bones["センター"] is model.bones[0]
    assert model.materials[model.materials[2].name] is model.materials[2]
    assert "センター" in model.bones and "中心" not in model.bones
    assert model.bones.names == tuple(bone.name for bone in model.bones)
    assert model.bones._ipython_key_completions_() == model.bones.names


def test_the_error_for_a_missing_name_suggests_similar_and_japanese_names():
    bones = (mmdskin.Bone("左ひじ", "elbow_L"), mmdskin.Bone("全ての親", "root"))
    model = mmdskin.Model.from_arrays([[0, 0, 0]], bones=bones)
    for name, nearest in (("左ひじ ", "左ひじ"), ("ELBOW_L", "左ひじ"), ("すべての親", "全ての親")):
        with pytest.raises(KeyError) as refused:
            model.bones[name]
        assert str(refused.value).startswith(f'no bone "{name}"; nearest: "{nearest}"')
    western = mmdskin.Model.from_arrays([[0, 0, 0]], bones=(mmdskin.Bone("arm_L", "arm L"),))
    with pytest.raises(KeyError) as refused:
        western.bones["arm.L"]
    assert str(refused.value) == 'no bone "arm.L"; nearest: "arm_L"'
    bodies = mmdskin.Named([mmdskin.RigidBody("hair")])
    with pytest.raises(KeyError, match='no rigid body "hat"; nearest: "hair"'):
        bodies["hat"]
    with pytest.raises(KeyError) as refused:
        mmdskin.Named()["root"]
    assert str(refused.value) == 'no record "root" and no similar name'


def test_a_name_that_is_missing_is_a_key_error(motion):
    with pytest.raises(KeyError, match="なし"):
        motion.bones["なし"]
    assert motion.bones.get("なし") is None
    assert motion.morphs.get("なし", 5) == 5


def test_of_equal_names_the_first_is_found():
    file = rigid_file(1)
    file.bones = [pmx.Bone("a"), pmx.Bone("a", position=(1, 0, 0))]
    bones = mmdskin.load_model(pmx.write(file)).bones
    assert bones["a"] is bones[0] is bones.get("a")


def test_each_name_is_read_once_for_all_lookups():
    class Counted:
        reads = 0

        def __init__(self, index):
            self.index = index

        @property
        def name(self):
            Counted.reads += 1
            return f"{self.index}"

    records = mmdskin.Named(map(Counted, range(100)))
    assert all(records[str(index)].index == index for index in range(100))
    assert "50" in records and "none" not in records and records.get("none") is None
    assert Counted.reads == 100


def test_lookups_leave_no_cycle_of_references_behind():
    class Record:
        name = "a"

    record = Record()
    record.among = mmdskin.Named([record])
    assert record.among["a"] is record
    gone = weakref.ref(record)
    del record
    gc.collect()
    assert gone() is None


def test_lookups_while_a_cycle_is_freed_leave_nothing_behind():
    found = []

    class Record:
        name = "a"

        def __del__(self):
            found.append(self.among["a"].name)

    first = Record()
    first.among = mmdskin.Named([first])
    first.last = Record()  # is finalized after `among`
    first.last.among = first.among
    del first
    gc.collect()
    assert found == ["a", "a"]
    gc.collect()  # the index that was made while the cycle was finalized
    assert not any(type(one) is Record for one in gc.get_objects())


def test_tuples_of_records_within_each_other_are_freed_at_any_depth():
    """As tuples are; by recursion it would take more than the stack."""
    records = mmdskin.Named()
    for _ in range(300_000):
        records = mmdskin.Named([records])
    del records


def test_records_are_a_tuple_in_all_else(motion):
    bones = motion.bones
    assert isinstance(bones, tuple) and bones == tuple(bones)
    assert type(bones[1:3]) is tuple and bones[-1] is tuple(bones)[-1]
    assert [each.name for each in bones] == list(bones.names)
    assert bones[0] in tuple(bones)
    with pytest.raises(IndexError):
        bones[len(bones)]
    with pytest.raises(TypeError):
        bones[1.5]


@pytest.mark.parametrize("again", [copy.copy, lambda one: pickle.loads(pickle.dumps(one))])
def test_records_copy_with_their_names(model, again):
    bones = again(model.bones)
    assert type(bones) is mmdskin.Named and bones["センター"] == model.bones[0]


def test_records_of_something_without_names_are_an_error():
    with pytest.raises(AttributeError, match="name"):
        mmdskin.Named([1, 2])["x"]
    with pytest.raises(AttributeError, match="name"):
        _ = mmdskin.Named([1]).names


# Equality


def test_models_of_equal_files_are_equal(model):
    again = mmdskin.load_model(io.BytesIO(sample.build_sample()))
    assert again == model and hash(again) == hash(model)
    assert {model: "it"}[pickle.loads(pickle.dumps(model))] == "it"
    assert model != mmdskin.load_model(pmx.write(rigid_file(1)))
    assert model != "model" and model != 3


WIDE = dict.fromkeys(pmx.index_sizes(small_file()), 4)  # bytes of each kind of index


def saved(thing):
    file = io.BytesIO()
    thing.save(file)
    return file.getvalue()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"encoding": "utf-8"},
        {"index_sizes": WIDE},
        {"encoding": "utf-8", "index_sizes": {**WIDE, "b": 2, "v": 2}},
    ],
)
def test_models_with_equal_members_are_equal(changes):
    """Files may differ in how they store them."""
    plain = mmdskin.load_model(pmx.write(small_file(soft_bodies=[])))
    model = mmdskin.load_model(pmx.write(small_file(soft_bodies=[], **changes)))
    for other in (plain, model.replace(), mmdskin.load_model(saved(model)), copy.copy(model)):
        assert other == model and hash(other) == hash(model)


def test_a_file_that_needed_cleaning_equals_what_is_saved(tmp_path):
    file = small_file(soft_bodies=[])
    file.bones[1].parent = 99
    model = mmdskin.load_model(pmx.write(file))
    assert model.replace() == model == mmdskin.load_model(saved(model))
    model.save(tmp_path / "a.pmx")
    assert mmdskin.load_model(tmp_path / "a.pmx") == model  # path does not count


def test_models_that_differ_in_one_member_are_not_equal():
    model = mmdskin.load_model(pmx.write(small_file(soft_bodies=[])))
    bones, morphs, materials = list(model.bones), list(model.morphs), list(model.materials)
    bones[0] = bones[0]._replace(layer=7)
    morphs[0] = morphs[0]._replace(panel=2 if morphs[0].panel != 2 else 3)
    materials[0] = materials[0]._replace(memo="other")
    changes = {
        "name": "other",
        "comment_english": "other",
        "positions": model.positions + np.float32(1),
        "uvs": model.uvs + np.float32(1),
        "triangles": model.triangles[:, [1, 2, 0]],
        "edge_scales": model.edge_scales + np.float32(1),
        "bones": bones,
        "morphs": morphs,
        "materials": materials,
        "textures": [*model.textures[:-1], "other.png"],
        "joints": (),
    }
    for member, value in changes.items():
        other = model.replace(**{member: value})
        assert other != model, member


def motions():
    """Motions that differ in one thing."""
    make = mmdskin.Motion.from_tracks
    key = ([3], [-9], [[0, 0, 0]], [[0, 0, 0]], None, [30], None)
    other = ([3], [-9], [[0, 0, 0]], [[0, 0, 1]], None, [30], None)
    turned = ("a", [1, 2], None, [[0, 0, 0, 1], [0, 0, 1, 0]], None)
    return [
        make(),
        make(name="b"),
        make([track("a", 1, 2)]),
        make([track("b", 1, 2)]),
        make([track("a", 1, 3)]),
        make([turned]),
        make([(*track("a", 1, 2), [True, False])]),
        make([track("a", 1, 2), track("b", 1, 2)]),
        make([track("b", 1, 2), track("a", 1, 2)]),
        make(morphs=[("a", [1], [0.5])]),
        make(morphs=[("a", [1], [0.25])]),
        make(camera=key),
        make(camera=other),
        make(light=([3], [[1, 1, 1]], [[0, 0, 1]])),
        make(light=([3], [[1, 1, 1]], [[0, 1, 1]])),
        make(shadow=([3], [1], [2])),
        make(shadow=([3], [2], [2])),
        make(properties=([3], None, ["a"], [[True]])),
        make(properties=([3], None, ["a"], [[False]])),
        make(properties=([3], None, ["b"], [[True]])),
        make(properties=([3], [False], ["a"], [[True]])),
    ]


def test_motions_are_equal_only_if_all_tracks_are():
    for i, one in enumerate(motions()):
        for k, other in enumerate(motions()):
            assert (one == other) == (i == k), (i, k)
            assert (one != other) == (i != k)
        assert hash(one) == hash(motions()[i])
    assert motions()[0] != 0


def test_a_saved_motion_is_equal_when_loaded(motion):
    members = ("bones", "morphs", "camera", "light", "shadow", "properties", "name")
    made = mmdskin.Motion.from_tracks(*(getattr(motion, member) for member in members))
    for other in (mmdskin.load_motion(saved(motion)), made, copy.copy(motion)):
        assert other == motion and hash(other) == hash(motion)


# Files


@pytest.mark.parametrize("load, build", [("load_model", sample.build_sample),
                                         ("load_motion", sample_motion.build_motion)])  # fmt: skip
def test_open_files_are_read(load, build, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(build())
    with path.open("rb") as file:
        assert getattr(mmdskin, load)(file) == getattr(mmdskin, load)(path)


def test_a_file_that_is_no_file_of_bytes_is_an_error(tmp_path):
    with pytest.raises(TypeError, match='source: a file opened as text, expected mode "rb"'):
        mmdskin.load_model(io.StringIO("PMX"))
    with pytest.raises(ValueError, match="closed"):
        file = io.BytesIO()
        file.close()
        mmdskin.load_motion(file)


class RawFile(io.RawIOBase):
    """Takes a part of what it is given, as a file without a buffer may on a full disk."""

    def __init__(self, answer):
        self.contents, self._answer = b"", answer

    def write(self, data):
        taken = self._answer(len(data))
        self.contents += bytes(data[:taken])
        return taken


def test_a_file_that_takes_a_part_gets_the_rest(motion):
    whole, file = io.BytesIO(), RawFile(lambda size: min(size, 100))
    motion.save(whole)
    motion.save(file)
    assert file.contents == whole.getvalue()


@pytest.mark.parametrize("answer", [0, None])  # None: a pipe that does not block is full
def test_a_file_that_takes_nothing_is_an_error(motion, answer):
    with pytest.raises(OSError, match="path: the file has taken 0 of [1-9][0-9,]* bytes"):
        motion.save(RawFile(lambda size: answer))


@pytest.mark.parametrize("answer", [None, True, "done", 10**30])
def test_a_file_that_does_not_count_gets_all_at_once(motion, answer):
    written = []

    class File:
        def write(self, data):
            written.append(data)
            return answer

    motion.save(File())
    assert len(written) == 1


# Values


def test_bounds_are_the_smallest_and_largest_coordinates():
    file = rigid_file(3)
    file.positions[:] = [(1, -2, 3), (0, 5, -7), (-4, 0, 0)]
    bounds = mmdskin.load_model(pmx.write(file)).bounds
    np.testing.assert_array_equal(bounds, [(-4, -2, -7), (1, 5, 3)])
    assert not mmdskin.load_model(pmx.write(rigid_file(0))).bounds.any()


def test_duration_is_in_seconds():
    assert mmdskin.Motion.from_tracks([track("a", 15, 60)]).duration == 1.5
    assert mmdskin.Motion.from_tracks().duration == 0


# Notebooks


def test_a_picture_is_shown_as_png():
    image = np.random.default_rng(1).integers(0, 256, (5, 7, 4), np.uint8)
    picture = mmdskin.Rendered(image, None, None, None)
    with Image.open(io.BytesIO(picture._repr_png_())) as shown:
        assert shown.mode == "RGBA"
        np.testing.assert_array_equal(np.asarray(shown), image)


@pytest.mark.parametrize("image", [None, np.zeros((2, 3, 4, 4), np.uint8)])
def test_batches_and_results_without_image_are_shown_as_text(image):
    assert mmdskin.Rendered(image, None, None, None)._repr_png_() is None


def test_models_and_motions_are_shown_as_tables(model, motion):
    assert "<th>vertices</th><td>9,513</td>" in model._repr_html_()
    assert "<th>frames</th><td>0 to 152, 5.1 s</td>" in motion._repr_html_()
    named = mmdskin.Motion.from_tracks(name="<b>&")
    assert "Motion &lt;b&gt;&amp;" in named._repr_html_()


def test_a_simulation_says_where_it_is(model, motion):
    simulation = mmdskin.Simulation(model, motion)
    simulation.pose(1.5)
    assert (
        repr(simulation) == "<mmdskin.Simulation '見本の腕': frame 1.5, 2 rigid bodies, 1 joints>"
    )


def test_read_only_views_are_exported_only_to_those_who_know_read_only_arrays(model):
    """DLPack has a flag for it from version 1 on."""
    view = model.positions
    with pytest.raises(BufferError, match="readonly"):
        view.__dlpack__()
    view.copy().__dlpack__()
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        found = np.from_dlpack(view)
        assert np.shares_memory(found, view) and not found.flags.writeable
    skinned = mmdskin.skin(model, np.tile(np.eye(4), (len(model.bones), 1, 1)))
    assert np.from_dlpack(skinned.positions).tobytes() == skinned.positions.tobytes()


def test_a_picture_is_saved_as_a_png(tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 4)).astype(np.uint8)
    mmdskin.Rendered(image, None, None, None).save(tmp_path / "a.png")
    assert np.array_equal(np.asarray(Image.open(tmp_path / "a.png")), image)
    with pytest.raises(ValueError, match='image: missing; .* leaves out "image"'):
        mmdskin.Rendered(None, None, None, None).save(tmp_path / "b.png")
    with pytest.raises(ValueError, match=r"image: expected \(H,W,4\) or \(F,H,W,4\)"):
        mmdskin.Rendered(image[0], None, None, None).save(tmp_path / "b.png")
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([0, 0.5, 1], r"numbers\[1\] is 0.5, expected a whole number"),
        ([0, np.nan, 1], r"numbers\[1\] is nan, expected a whole number"),
        ([3, 4, 3], r"numbers\[2\] is 3 again"),
        ([0, None, 1], "numbers: dtype object, expected numbers"),
    ],
)
def test_no_picture_of_a_batch_replaces_another(numbers, words, tmp_path):
    batch = mmdskin.Rendered(np.zeros((3, 1, 1, 4), np.uint8), None, None, None)
    with pytest.raises((TypeError, ValueError), match=words):
        batch.save(tmp_path / "a.png", numbers)
    assert not [*tmp_path.iterdir()]


def test_a_batch_is_saved_as_numbered_pngs(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (2, 5, 7, 4)).astype(np.uint8)
    batch = mmdskin.Rendered(images, None, None, None)
    batch.save(tmp_path / "a.png")
    batch.save(tmp_path / "b#_##.png", np.array([30, 7]))
    with pytest.raises(ValueError, match="numbers: 3, the batch has 2 frames"):
        batch.save(tmp_path / "c.png", range(3))
    expected = {"a0000.png": 0, "a0001.png": 1, "b30_##.png": 0, "b7_##.png": 1}
    assert {path.name for path in tmp_path.iterdir()} == expected.keys()
    for name, frame in expected.items():
        assert np.array_equal(np.asarray(Image.open(tmp_path / name)), images[frame])
