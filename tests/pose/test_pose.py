# SPDX-License-Identifier: MIT
"""Poses without IK: reference poses, the twin on random rigs, appends, bone morphs, arguments."""

import pickle
import sys
import threading

import mmdskin
import numpy as np
import pytest
from files import motion_file as mf
from judges import pose_rigs as rigs
from judges import pose_twin as twin
from judges.pose_rigs import bone, model_of
from judges.pose_twin import about

Append = rigs.pmx.Append
X, Y, Z = np.eye(3)


def noik_references():
    return rigs.reference_files("noik_")


# References from another program


def with_all_below(bones, roots):
    """The bones that have one of `roots` as an ancestor."""
    found = set()
    for i in range(len(bones)):
        above = i
        while above >= 0 and above not in roots:
            above = bones[above].parent
        if above >= 0:
            found.add(i)
    return found


def differing(model_name, locals_):
    """Bones that the other program computes differently: see the README of the references."""
    source = rigs.source_model(model_name)
    names = [b.name for b in source.bones]
    if model_name == "mmt_test_model.pmx":  # the only chained appends
        return with_all_below(source.bones, {names.index("右目戻"), names.index("左目戻")})
    if model_name.endswith(".pmd"):  # it has no appends for PMD
        return with_all_below(source.bones, {i for i, b in enumerate(source.bones) if b.append})
    # it uses the exact pi instead of 3.14
    ours, theirs = (twin.worlds(source, *locals_, pi=pi) for pi in (3.14, np.pi))
    return set(np.flatnonzero(abs(ours - theirs).max((1, 2)) > 1e-6).tolist())


@pytest.mark.parametrize("name", noik_references())
def test_poses_without_ik_equal_the_other_program(name):
    z = rigs.reference(name)
    file, of, frame = (z["meta"][key] for key in ("model", "motion", "frame"))
    model = rigs.model(file)
    if of == "-":
        locals_ = z["node_anim_t"], z["node_anim_q"], z["morph_weights"]
        pose = model.pose_from(*locals_, ik=False)
    else:
        locals_ = twin.sample(rigs.source_model(file), rigs.source_motion(of), frame)
        pose = model.pose(rigs.motion(of), frame, ik=False)
    m, expected = pose.bone_matrices, z["node_global"]
    apart = np.linalg.norm(twin.origins(m, z["node_rest"]) - expected[:, :3, 3], axis=1)
    turned = abs(m[:, :3, :3] - expected[:, :3, :3]).max((1, 2))
    bad = set(np.flatnonzero((apart > 1e-3) | (turned > 5e-4)).tolist())
    assert bad <= differing(file, locals_)


# The twin


@pytest.mark.parametrize("seed", range(150))
def test_random_rigs_equal_the_twin(seed):
    r = np.random.default_rng(seed)
    count = int(r.integers(1, 40))
    source = rigs.random_rig(r, count)
    t, q = r.normal(size=(count, 3)).astype("f4"), r.normal(size=(count, 4)).astype("f4")
    weights = r.uniform(-1, 2, len(source.morphs)).astype("f4")
    model = mmdskin.load_model(rigs.pmx.write(source))
    found = model.pose_from(t, q, weights, ik=False).bone_matrices
    expected = twin.skinning(source, t, q, weights)
    assert abs(found - expected).max() <= 2e-6 * max(1, abs(expected).max())


# Forward kinematics


def test_matrices_map_the_rest_position_to_the_posed_one():
    model = model_of(bone("a", (1, 2, 3)), bone("b", (1, 4, 3), 0))
    m = rigs.posed(model, {0: about(Z, np.pi / 2)}, {0: (10, 0, 0)})
    np.testing.assert_allclose(m[0] @ [1, 2, 3, 1], (11, 2, 3, 1), atol=1e-6)
    np.testing.assert_allclose(m[1] @ [1, 4, 3, 1], (9, 2, 3, 1), atol=1e-6)


def test_a_child_of_a_later_layer_or_index_follows_its_parent():
    m = rigs.posed(model_of(bone("child", (0, 1, 0), 1), bone("parent", layer=9)), {1: about(X, 1)})
    np.testing.assert_array_equal(m[0], m[1])


def test_a_bone_before_physics_appends_the_settled_place_of_one_after_physics():
    early = bone("early", append=Append(1, 1.0, local=True))
    late = bone("late", after_physics=True, append=Append(2, 1.0))
    m = rigs.posed(model_of(early, late, bone("source")), {2: about(X, 1)})
    rigs.assert_turn(m[1], about(X, 1))
    rigs.assert_turn(m[0], about(X, 1))


def test_local_axes_and_an_external_parent_change_nothing():
    plain = model_of(bone("a"), bone("b", (0, 1, 0), 0))
    adorned = model_of(
        bone("a", external_parent=3), bone("b", (0, 1, 0), 0, local_axes=((0, 1, 0), (1, 0, 0)))
    )
    turns = {0: about((1, 2, 3), 1), 1: about((3, 1, 2), 2)}
    assert (rigs.posed(plain, turns) == rigs.posed(adorned, turns)).all()


# Appends: docs/mmd-behavior.md#append and #check-append


def appended(turn, ratio, **members):
    """Matrix of a bone that appends from a bone with this rotation."""
    return rigs.posed(
        model_of(bone("s"), bone("a", append=Append(0, ratio, **members))), {0: turn}
    )[1]


@pytest.mark.parametrize(
    "source, ratio, expected",
    [(60, 0.5, 30), (60, -1, -60), (60, 2, 120), (60, 0, 0), (200, 0.5, -79.91), (200, 1, -159.82)],
)
def test_appended_rotations_scale_the_angle_of_the_short_arc(source, ratio, expected):
    turn = about(X, np.radians(source))
    rigs.assert_turn(appended(turn, ratio), about(X, np.radians(expected)), atol=4e-5)


def test_an_append_uses_the_pi_of_mmd():
    rigs.assert_turn(appended(about(X, 4), 1), (-0.9086335, 0, 0, 0.4175944))


def test_chained_appends_also_pass_on_their_own_rotation():
    bones = bone("a"), bone("b", append=Append(0, 0.5)), bone("c", append=Append(1, 0.5))
    m = rigs.posed(model_of(*bones), {0: about(Z, 0.8), 1: about(Z, 0.6)})
    rigs.assert_turn(m[2], about(Z, 0.5))


def test_chained_translations_also_pass_on_their_own():
    both = dict(rotation=False, translation=True)
    bones = (
        bone("a"),
        bone("b", append=Append(0, 0.5, **both)),
        bone("c", append=Append(1, 2.0, **both)),
    )
    m = rigs.posed(model_of(*bones), moves={0: (4, 0, 0), 1: (0, 1, 0)})
    np.testing.assert_allclose(m[:, :3, 3], [(4, 0, 0), (2, 1, 0), (4, 2, 0)], atol=1e-6)


def test_an_append_uses_only_the_channels_of_its_flags():
    turn, move = {0: about(X, 1)}, {0: (1, 2, 3)}
    rotating = rigs.posed(model_of(bone("s"), bone("a", append=Append(0, 1.0))), turn, move)[1]
    assert (rotating[:3, 3] == 0).all()
    moving = Append(0, 1.0, rotation=False, translation=True)
    moved = rigs.posed(model_of(bone("s"), bone("a", append=moving)), turn, move)[1]
    assert (moved[:3, :3] == np.eye(3)).all()
    assert moved[:3, 3].tolist() == [1, 2, 3]


def test_an_append_ignores_what_the_source_inherits_from_its_parent():
    bones = bone("p"), bone("s", (0, 1, 0), 0), bone("a", append=Append(1, 1.0, translation=True))
    assert (rigs.posed(model_of(*bones), {0: about(X, 1)})[2] == np.eye(4)).all()


def test_a_local_append_includes_what_the_source_inherits_from_its_parent():
    local = Append(1, 1.0, translation=True, local=True)
    m = rigs.posed(
        model_of(bone("p"), bone("s", (0, 1, 0), 0), bone("a", append=local)), {0: about(X, 1)}
    )
    rigs.assert_turn(m[2], about(X, 1))
    np.testing.assert_allclose(m[2][:3, 3], (0, np.cos(1) - 1, np.sin(1)), atol=1e-6)


def test_a_bones_own_rotation_is_applied_outside_its_append():
    model = model_of(bone("s"), bone("a", append=Append(0, 1.0)))
    m = rigs.posed(model, {0: about(X, 1), 1: about(Y, 1)})
    rigs.assert_turn(m[1], twin.product(about(Y, 1), about(X, 1)))


@pytest.mark.parametrize("source", [-1, 1, 99])
def test_an_append_without_source_or_from_itself_does_nothing(source):
    model = model_of(bone("s"), bone("a", append=Append(source, 1.0)))
    assert (rigs.posed(model, {0: about(X, 1)})[1] == np.eye(4)).all()


# Morphs in a pose


def test_bone_morphs_are_applied_outside_the_users_rotation():
    morph = rigs.morph("m", "bone", (0, 1, 2, 3, *about(X, 1)))
    m = rigs.posed(model_of(bone("a"), morphs=[morph]), {0: about(Y, 1)}, {0: (1, 0, 0)}, [0.5])
    rigs.assert_turn(m[0], twin.product(about(X, 0.5), about(Y, 1)))
    np.testing.assert_allclose(m[0, :3, 3], (1.5, 1, 1.5), atol=1e-6)


def test_bone_morphs_compose_in_order():
    morphs = [rigs.morph(str(i), "bone", (0, 1, 0, 0, *about(a, 1))) for i, a in enumerate((X, Y))]
    m = rigs.posed(model_of(bone("a"), morphs=morphs), weights=[1, 1])
    rigs.assert_turn(m[0], twin.product(about(Y, 1), about(X, 1)))
    np.testing.assert_allclose(m[0, :3, 3], (2, 0, 0), atol=1e-6)


def test_weights_are_not_clamped():
    morph = rigs.morph("m", "bone", (0, 1, 0, 0, *about(X, 0.5)))
    m = rigs.posed(model_of(bone("a"), morphs=[morph]), weights=[-2])
    rigs.assert_turn(m[0], about(X, -1))
    assert m[0, 0, 3] == -2


def test_groups_and_flips_drive_bone_morphs():
    morphs = [
        rigs.morph("outer", "group", (2, 1.0)),
        rigs.morph("m", "bone", (0, 1, 0, 0, *about(X, 0))),
        rigs.morph("inner", "group", (1, 0.5)),
        rigs.morph("f", "flip", (1, 8.0)),
        rigs.morph("outer too", "group", (2, 1.0)),
        rigs.morph("of flip", "group", (3, 1.0)),
    ]
    model = model_of(bone("a"), morphs=morphs)
    shifts = [rigs.posed(model, weights=w)[0, 0, 3] for w in np.eye(6)]
    assert shifts == [0, 1, 0.5, 8, 0, 8]
    assert rigs.posed(model, weights=[0, 1, 1, 0, 0, 0])[0, 0, 3] == 1.5


def test_a_bone_morph_with_a_zero_quaternion_does_not_rotate():
    morph = rigs.morph("m", "bone", (0, 1, 0, 0, 0, 0, 0, 0))
    m = rigs.posed(model_of(bone("a"), morphs=[morph]), weights=[1])
    assert (m[0, :3, :3] == np.eye(3)).all()


def test_a_pose_contains_the_sliders_as_set():
    morphs = [rigs.morph("m", "bone", (0, 1, 0, 0, 0, 0, 0, 1)), rigs.morph("g", "group", (0, 0.5))]
    model = model_of(bone("a"), morphs=morphs)
    motion = rigs.motion_of(morphs=[mf.MorphKey("g", 0, 1.0)])
    assert model.pose(motion).morph_weights.tolist() == [0, 1]
    pose = model.pose_from(*rigs.locals_of(model), [0.25, 1])
    assert pose.morph_weights.tolist() == [0.25, 1]
    assert pose.bone_matrices[0, 0, 3] == 0.75


def test_appends_pass_on_bone_morphs():
    morph = rigs.morph("m", "bone", (0, 0, 0, 0, *about(X, 1)))
    model = model_of(bone("s"), bone("a", append=Append(0, 1.0)), morphs=[morph])
    rigs.assert_turn(rigs.posed(model, weights=[1])[1], about(X, 1))


def test_a_pose_goes_straight_into_skin():
    model, motion = rigs.dance()
    pose = model.pose(motion, [0, 3, 4.5])
    out = mmdskin.skin(model, pose)
    again = mmdskin.skin(model, pose.bone_matrices, pose.morph_weights)
    assert out.positions.shape == (3, len(model.positions), 3)
    assert (out.positions == again.positions).all()


# Fixed axes: docs/mmd-behavior.md#fixed-axis and #check-fixed-axis


TILTED = (0.5, 0.5, 0, np.sqrt(0.5))


def test_motion_keys_rotate_about_the_fixed_axis_by_their_full_angle():
    model = model_of(bone("twist", fixed_axis=(0, 3, 0)))
    motion = rigs.motion_of(mf.BoneKey("twist", 0, rotation=TILTED))
    rigs.assert_turn(model.pose(motion).bone_matrices[0], about(Y, np.pi / 2))


def test_keys_against_the_axis_rotate_backward():
    model = model_of(bone("twist", fixed_axis=(0, -1, 0)))
    motion = rigs.motion_of(mf.BoneKey("twist", 0, rotation=TILTED))
    rigs.assert_turn(model.pose(motion).bone_matrices[0], about(Y, np.pi / 2))


def test_local_values_are_not_projected():
    model = model_of(bone("twist", fixed_axis=(0, 1, 0)))
    rigs.assert_turn(rigs.posed(model, {0: TILTED})[0], TILTED)


def test_a_fixed_axis_without_length_constrains_nothing():
    model = model_of(bone("twist", fixed_axis=(0, 0, 0)))
    motion = rigs.motion_of(mf.BoneKey("twist", 0, rotation=TILTED))
    rigs.assert_turn(model.pose(motion).bone_matrices[0], TILTED)


# Arguments and shapes


@pytest.fixture(scope="module")
def two():
    """Two bones, one bone morph, and a motion of both."""
    morph = rigs.morph("m", "bone", (0, 1, 0, 0, 0, 0, 0, 1))
    model = model_of(bone("a"), bone("b", (0, 1, 0), 0), morphs=[morph])
    keys = [
        mf.BoneKey("a", 0),
        mf.BoneKey("a", 10, (10, 0, 0)),
        mf.BoneKey("b", 0, rotation=about(X, 1)),
    ]
    return model, rigs.motion_of(*keys, morphs=[mf.MorphKey("m", 0, 0.5)])


@pytest.mark.parametrize("frame", [5, 5.0, np.float32(5), np.int64(5), np.array(5.0), True])
def test_one_frame_gives_one_pose(two, frame):
    pose = two[0].pose(two[1], frame)
    assert (pose.bone_matrices.shape, pose.morph_weights.shape) == ((2, 4, 4), (1,))
    assert pose.bone_matrices[0, 0, 3] == float(frame) + 0.5


@pytest.mark.parametrize("frames", [[5], np.arange(7), np.arange(3, dtype="u1"), (1.5, 2), []])
def test_frames_give_as_many_poses(two, frames):
    pose = two[0].pose(two[1], frames)
    n = len(frames)
    assert (pose.bone_matrices.shape, pose.morph_weights.shape) == ((n, 2, 4, 4), (n, 1))
    assert pose.bone_matrices[:, 0, 0, 3].tolist() == [float(f) + 0.5 for f in frames]


def test_a_pose_is_a_named_tuple_of_float32_arrays(two):
    pose = two[0].pose(motion=two[1], frame=3, ik=False)
    matrices, weights = pose
    assert type(pose) is mmdskin.Pose
    assert matrices.dtype == weights.dtype == np.float32
    assert matrices.flags.c_contiguous
    assert matrices.flags.writeable
    assert (pickle.loads(pickle.dumps(pose)).bone_matrices == matrices).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, [0, np.nan], [[0.0]], [[]]])
def test_frames_of_other_dimensions_are_rejected(two, bad):
    with pytest.raises(ValueError, match="frame"):
        two[0].pose(two[1], bad)


@pytest.mark.parametrize("bad", ["x", None, [None], object(), 1j])
def test_frames_that_are_not_numbers_are_rejected(two, bad):
    with pytest.raises((TypeError, ValueError)):
        two[0].pose(two[1], bad)


@pytest.mark.parametrize("bad", [1, "dance.vmd", b"", []])
def test_a_motion_is_a_motion_or_none(two, bad):
    with pytest.raises(TypeError, match="motion"):
        two[0].pose(bad)


def test_a_bad_frame_is_named_as_it_was_passed(two):
    with pytest.raises(ValueError, match=r"^frame\[2\] is infinite$"):
        two[0].pose(two[1], [0, 1, np.inf])
    with pytest.raises(ValueError, match="^frame is NaN$"):
        two[0].pose(two[1], frame=np.nan)


def local_arrays(frames):
    shape = (2,) if frames is None else (frames, 2)
    rotations = np.zeros((*shape, 4), "f4")
    rotations[..., 3] = 2
    return np.zeros((*shape, 3), "f4"), rotations


@pytest.mark.parametrize("moves, turns, sliders, expected", [
    (None, None, None, ()), (3, 3, 3, (3,)), (3, None, None, (3,)), (None, 3, None, (3,)),
    (None, None, 3, (3,)), (1, 3, 1, (3,)), (1, None, None, (1,)), (0, 0, 0, (0,)), (0, None, 1, (0,)),
])  # fmt: skip
def test_local_values_of_one_frame_are_used_for_all_frames(two, moves, turns, sliders, expected):
    t, q = local_arrays(moves)[0], local_arrays(turns)[1]
    t[..., 0, 1] = 1 if moves is None else np.arange(moves)
    weights = np.full((1,) if sliders is None else (sliders, 1), 0.5, "f4")
    pose = two[0].pose_from(t, q, weights)
    assert pose.bone_matrices.shape == (*expected, 2, 4, 4)
    assert pose.morph_weights.shape == (*expected, 1)
    assert (pose.bone_matrices[..., 0, 0, 3] == 0.5).all()
    assert (pose.bone_matrices[..., 0, 1, 3] == np.broadcast_to(t[..., 0, 1], expected)).all()


def test_missing_weights_are_zero(two):
    pose = two[0].pose_from(*local_arrays(2))
    assert (pose.morph_weights == 0).all()
    assert pose.morph_weights.shape == (2, 1)
    assert (pose.bone_matrices == np.eye(4)).all()


@pytest.mark.parametrize(
    "name, value",
    [
        ("translations", np.zeros((3, 3))), ("translations", np.zeros((2, 4))),
        ("translations", np.zeros(6)), ("translations", np.zeros((1, 1, 2, 3))),
        ("rotations", np.ones((2, 3))), ("rotations", np.ones((4, 2, 4))),
        ("rotations", np.zeros((2, 4))), ("rotations", [[0, 0, 0, 1], [0, 0, 0, np.nan]]),
        ("translations", [[0, 0, 0], [0, np.inf, 0]]), ("morph_weights", [0, 0]),
        ("morph_weights", [np.nan]), ("morph_weights", 1.0), ("morph_weights", np.zeros((4, 1))),
    ],
)  # fmt: skip
def test_bad_local_values_are_rejected_by_name(two, name, value):
    t, q = local_arrays(3)
    given = {"translations": t, "rotations": q, "morph_weights": np.zeros((3, 1))}
    with pytest.raises(ValueError, match=name):
        two[0].pose_from(**given | {name: value})


@pytest.mark.parametrize(
    "name, place, bad, message",
    [
        (
            "translations",
            (2, 1, 0),
            np.inf,
            "translations: frame 2, bone 1, component 0 is infinite",
        ),
        ("rotations", (0, 1, 3), np.nan, "rotations: frame 0, bone 1, component 3 is NaN"),
        ("morph_weights", (1, 0), -np.inf, "morph_weights: frame 1, morph 0 is infinite"),
    ],
)
def test_the_index_of_a_number_that_is_not_finite_is_named(two, name, place, bad, message):
    t, q = local_arrays(3)
    given = {"translations": t, "rotations": q, "morph_weights": np.zeros((3, 1), "f4")}
    given[name][place] = bad
    with pytest.raises(ValueError) as refused:
        two[0].pose_from(**given)
    assert str(refused.value) == message


def test_arguments_of_different_numbers_of_frames_are_named(two):
    with pytest.raises(ValueError) as refused:
        two[0].pose_from(local_arrays(3)[0], local_arrays(4)[1])
    assert str(refused.value) == "rotations: 4 frames, expected 1 or 3"


def test_the_bone_of_a_quaternion_without_length_is_named(two):
    t, q = local_arrays(3)
    q[2, 1] = 0
    with pytest.raises(ValueError, match=r"2.*1"):
        two[0].pose_from(t, q)


@pytest.mark.parametrize("scale", [1e-20, 1e-38, 0.3, 1e19, 3e38])
def test_local_rotations_may_have_any_length(two, scale):
    q = np.tile(np.float32(about(X, 1)) * np.float32(scale), (2, 1))
    m = two[0].pose_from(np.zeros((2, 3)), q).bone_matrices
    rigs.assert_turn(m[0], about(X, 1))


def test_a_model_without_bones_has_an_empty_pose():
    model = model_of()
    assert model.pose().bone_matrices.shape == (0, 4, 4)
    assert model.pose(None, [1, 2]).bone_matrices.shape == (2, 0, 4, 4)
    assert model.pose_from(np.zeros((0, 3)), np.zeros((0, 4))).bone_matrices.shape == (0, 4, 4)


def test_posing_keeps_no_references(two):
    model, motion = two
    before = sys.getrefcount(model), sys.getrefcount(motion)
    for _ in range(50):
        model.pose(motion, np.arange(3))
        model.pose_from(*local_arrays(2))
    assert (sys.getrefcount(model), sys.getrefcount(motion)) == before


def test_threads_share_a_model_and_a_motion():
    model, motion = rigs.dance()
    frames = np.arange(0, 4000, 50)
    expected = model.pose(motion, frames).bone_matrices
    found = [None] * 4

    def work(i):
        found[i] = model.pose(motion, frames).bone_matrices

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all((part == expected).all() for part in found)
