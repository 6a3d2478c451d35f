# SPDX-License-Identifier: MIT
"""Motion.from_poses and from_locals: few keys, and the mesh within the tolerance."""

import mmdskin
import numpy as np
import pytest
from files import pmx_file as pmx
from fit import dances
from judges import pose_rigs as rigs

DANCES = pytest.mark.parametrize("dance", dances.at_hand(), ids=lambda d: d[0])


def dance_of(dance, **options):
    model, motion = dances.load(*dance[:2])
    frames = np.arange(dance[2])
    return model, model.pose(motion, frames, **options), frames


def wave(count):
    """Local values of two bones that move smoothly."""
    t = np.linspace(0, 4, count)
    translations, rotations = np.zeros((count, 2, 3)), np.zeros((count, 2, 4))
    translations[:, 0, 1] = np.sin(3 * t)
    rotations[:, 1, 2], rotations[:, 1, 3] = np.sin(np.sin(t) / 2), np.cos(np.sin(t) / 2)
    rotations[:, 0, 3] = 1
    return translations, rotations


@DANCES
@pytest.mark.parametrize("tolerance", [0.05, 0.02, 0.01])
@pytest.mark.parametrize("ik", ["off", "both"])
def test_the_mesh_is_within_the_tolerance(dance, tolerance, ik):
    model, pose, frames = dance_of(dance)
    motion, report = mmdskin.Motion.from_poses(model, pose, tolerance=tolerance, ik=ik)
    seen = dances.visible(model, dances.simulated(model))
    miss = dances.distances(model, pose, model.pose(motion, frames))[:, seen]
    assert miss.max(initial=0) <= tolerance
    assert report.worst == pytest.approx(miss.max(initial=0), abs=1e-6)
    assert report.keys == sum(len(t.frames) for t in (*motion.bones, *motion.morphs))


@DANCES
@pytest.mark.parametrize("ik", ["off", "both"])
def test_a_simulated_dance_plays_the_same_with_and_without_physics(dance, ik):
    model, pose, frames = dance_of(dance, physics=True)
    motion, _ = mmdskin.Motion.from_poses(model, pose, ik=ik, physics="keys")
    for options in ({}, {"physics": True}):
        miss = dances.distances(model, pose, model.pose(motion, frames, **options))
        assert miss.max() <= 0.1


@DANCES
def test_ik_bones_on_their_targets_play_alike_with_ik_on_and_off(dance):
    model, pose, frames = dance_of(dance)
    motion, _ = mmdskin.Motion.from_poses(model, pose, ik="both")
    seen = dances.visible(model, dances.simulated(model))
    on, off = (model.pose(motion, frames, ik=ik) for ik in (True, False))
    assert dances.distances(model, on, off)[:, seen].max(initial=0) <= 0.1


def test_solved_legs_switch_every_ik_off_at_the_first_frame():
    model, pose, _ = dance_of(dances.OWN[0])
    motion, _ = mmdskin.Motion.from_poses(model, pose, frames=np.arange(200) + 7)
    assert motion.properties.frames.tolist() == [7]
    assert not motion.properties.ik_enabled.any()
    assert set(motion.properties.ik_names) == {b.name for b in model.bones if b.ik}


def test_simulated_bones_get_no_keys_unless_asked_for():
    model, pose, _ = dance_of(dances.OWN[0], physics=True)
    simulated = dances.simulated(model)
    left, report = mmdskin.Motion.from_poses(model, pose)
    assert not simulated & {t.name for t in left.bones}
    assert simulated >= {name for name, reason in report.notes if "rigid body" in reason}
    keyed, _ = mmdskin.Motion.from_poses(model, pose, physics="keys")
    tracks = [t for t in keyed.bones if t.name in simulated]
    assert all(not t.physics.any() for t in tracks)
    assert all(t.physics.all() for t in keyed.bones if t.name not in simulated)
    assert bool(tracks) == bool(simulated)


@DANCES
def test_a_dance_comes_back_with_no_more_keys_than_its_file_has(dance):
    """The file's own values, sampled at every frame: 0.01 units, 0.1 degrees."""
    _, motion = dances.load(*dance[:2])
    names = [t.name for t in motion.bones]
    model = dances.puppet(names, reach=0.01 / np.radians(0.1))
    frames = np.arange(motion.frame_range[1] + 1)[:1500]
    values = model.locals_of(model.pose(motion, frames))
    fitted, _ = mmdskin.Motion.from_locals(model, *values, tolerance=0.01)
    in_range = [int((t.frames <= frames[-1]).sum()) for t in motion.bones]
    assert sum(len(t.frames) for t in fitted.bones) <= sum(in_range)


def test_any_curve_is_found_in_its_samples():
    rng = np.random.default_rng(2)
    found, model = 0, dances.puppet(["bone"], reach=1)
    for _ in range(100):
        end = int(rng.integers(8, 40))
        curves = rng.integers(0, 128, (2, 4, 4), np.uint8)
        moves, turns = np.array([[0, 0, 0], [0, 5, 0]]), np.tile([0, 0, 0, 1.0], (2, 1))
        track = mmdskin.BoneTrack("bone", np.uint32([0, end]), moves, turns, curves)
        motion = mmdskin.Motion.from_tracks(bones=[track])
        values = model.locals_of(model.pose(motion, np.arange(end + 1)))
        fitted, _ = mmdskin.Motion.from_locals(model, *values, tolerance=5e-3)
        found += fitted.bones[0].frames.tolist() == [0, end]
    assert found >= 95


def test_the_bytes_do_not_depend_on_the_number_of_threads():
    model, pose, _ = dance_of(dances.OWN[0])
    one, four = (mmdskin.Motion.from_poses(model, pose, threads=n)[0] for n in (1, 4))
    assert repr(one.bones) == repr(four.bones)
    assert all(
        (a.interpolation == b.interpolation).all()
        for a, b in zip(one.bones, four.bones, strict=True)
    )


def turns_less_than_half(track):
    """Between keys; where a half turn goes is a matter of rounding, so it is never one segment."""
    q = track.rotations.astype(np.float64)
    return (np.abs((q[1:] * q[:-1]).sum(1)) > 1e-3).all()


def test_an_edited_key_changes_nothing_outside_of_its_two_segments():
    _, dance = dances.load("dancer.pmx", "dancer.vmd")
    motion = mmdskin.Motion.from_tracks(bones=filter(turns_less_than_half, dance.bones))
    frames = np.arange(motion.frame_range[1] + 1)
    puppet = dances.puppet([t.name for t in motion.bones], reach=2)
    translations, rotations = puppet.locals_of(puppet.pose(motion, frames))
    # the bone with most keys turns further around one of them
    bone = int(np.argmax([len(t.frames) for t in motion.bones]))
    keys = motion.bones[bone].frames.astype(int)
    first, edited, last = keys[len(keys) // 2 - 1 : len(keys) // 2 + 2]
    bump = np.zeros(len(frames))
    bump[first : edited + 1] = np.linspace(0, 1, edited - first + 1)
    bump[edited : last + 1] = np.linspace(1, 0, last - edited + 1)
    translations[:, bone, 1] += bump
    fitted, _ = mmdskin.Motion.from_locals(puppet, translations, rotations, like=motion)
    for old, new in zip(motion.bones, fitted.bones, strict=True):
        kept = new.frames.astype(int).tolist()
        was = set(old.frames.astype(int))
        if new.name == motion.bones[bone].name:
            assert {k for k in kept if k <= first or k >= last} <= was
        else:
            assert set(kept) <= was | {0}


def test_a_constant_pose_has_one_key_a_bone():
    translations, rotations = np.zeros((50, 1, 3)), np.tile([0, 0, 0, 1.0], (50, 1, 1))
    translations[:, 0] = [1, 2, 3]
    motion, report = mmdskin.Motion.from_locals(dances.puppet(["bone"], 1), translations, rotations)
    assert motion.bones[0].frames.tolist() == [0]
    assert motion.bones[0].translations.tolist() == [[1, 2, 3]]
    assert report.keys == 1


def test_a_jump_between_frames_is_two_keys():
    translations = np.zeros((20, 1, 3))
    translations[10:, 0, 0] = 5
    rotations = np.tile([0, 0, 0, 1.0], (20, 1, 1))
    model = dances.puppet(["bone"], 1)
    motion, _ = mmdskin.Motion.from_locals(model, translations, rotations)
    assert {9, 10} <= set(motion.bones[0].frames.tolist())
    assert (
        model.locals_of(model.pose(motion, np.arange(20)))[0][:, 0, 0].tolist()
        == [0] * 10 + [5] * 10
    )


def test_morphs_follow_straight_lines_within_their_tolerance():
    model, motion = dances.load("dancer.pmx", "dancer.vmd")
    frames = np.arange(motion.frame_range[1] + 1)
    pose = model.pose(motion, frames)
    fitted, _ = mmdskin.Motion.from_poses(model, pose)
    again = model.pose(fitted, frames)
    assert np.abs(again.morph_weights - pose.morph_weights).max() <= 0.002 + 1e-6
    keys = sum(len(t.frames) for t in motion.morphs)
    assert 0 < sum(len(t.frames) for t in fitted.morphs) <= keys


def test_frame_numbers_move_the_keys():
    model = dances.puppet(["a", "b"], 1)
    here, _ = mmdskin.Motion.from_locals(model, *wave(40))
    there, _ = mmdskin.Motion.from_locals(model, *wave(40), frames=np.arange(100, 140))
    for a, b in zip(here.bones, there.bones, strict=True):
        assert (a.frames + 100 == b.frames).all()


def test_a_bone_without_a_mesh_is_left_out_and_named():
    model = rigs.model_of(rigs.bone("root"), rigs.bone("unseen"))
    motion, report = mmdskin.Motion.from_locals(model, {"unseen": (np.ones((5, 3)), None)})
    assert not motion.bones
    assert report.notes == (("unseen", "left out: no vertex and no IK depends on it"),)


def test_a_bone_with_small_weights_only_gets_keys():
    file = dances.puppet_file(["a", "b"], 1)
    file.deform[:] = 1  # BDEF2
    file.bone_indices[:, :2], file.bone_weights[:, :2] = [0, 1], [0.97, 0.03]
    model = mmdskin.load_model(rigs.pmx.write(file))
    moves = np.zeros((20, 2, 3))
    moves[:, 1, 0] = np.linspace(0, 20, 20)
    values = moves, np.tile([0, 0, 0, 1.0], (20, 2, 1))
    motion, report = mmdskin.Motion.from_locals(model, *values)
    assert [t.name for t in motion.bones] == ["b"]
    assert report.worst <= 0.02


def test_the_effector_of_an_ik_chain_gets_keys_without_a_mesh():
    file = dances.puppet_file(["hip", "knee", "end", "goal"], 1)
    file.bones[1].parent, file.bones[1].position = 0, (0, -4, 0)
    file.bones[2].parent, file.bones[2].position = 1, (0, -8, 0)
    file.bones[3].position, file.bones[3].ik = (0, -8, 0), rigs.ik(2, [1, 0])
    file.bone_indices[2:, 0] = 1  # no vertex follows the effector or the goal
    model = mmdskin.load_model(rigs.pmx.write(file))
    moves = np.zeros((20, 4, 3))
    moves[:, 2, 0] = np.linspace(0, 1, 20)
    motion, report = mmdskin.Motion.from_locals(model, moves, np.tile([0, 0, 0, 1.0], (20, 4, 1)))
    assert "end" in {t.name for t in motion.bones}
    assert report.worst <= 0.02


def test_ik_switches_of_the_earlier_motion_act_and_stay():
    model, dance = dances.load("dancer.pmx", "dancer.vmd")
    names = tuple(b.name for b in model.bones if b.ik)
    off = mmdskin.PropertyTrack(
        np.uint32([0]), np.ones(1, bool), names, np.zeros((1, len(names)), bool)
    )
    like = mmdskin.Motion.from_tracks(bones=dance.bones, properties=off)
    pose = model.pose(dance, np.arange(60))
    values = model.locals_of(pose)
    motion, report = mmdskin.Motion.from_locals(model, *values, like=like)
    assert not motion.properties.ik_enabled.any()
    assert report.worst <= 0.02


@pytest.mark.parametrize("ik", ["off", "both", "as_keyed"])
def test_the_visibility_of_the_earlier_motion_stays(ik):
    model, dance = dances.load("dancer.pmx", "dancer.vmd")
    shown = mmdskin.PropertyTrack([0, 7, 12], [1, 0, 1], (), np.zeros((3, 0), bool))
    like = mmdskin.Motion.from_tracks(bones=dance.bones, properties=shown)
    values = model.locals_of(model.pose(dance, np.arange(20)))
    motion, _ = mmdskin.Motion.from_locals(model, *values, ik=ik, like=like)
    assert motion.properties.frames.tolist() == [0, 7, 12]
    assert motion.properties.visible.tolist() == [True, False, True]
    assert motion.properties.ik_enabled.any() == False  # noqa: E712


def simulated_pair(mode):
    file = dances.puppet_file(["root", "hair"], 1)
    file.bones[1].parent = 0
    file.rigid_bodies = [
        pmx.RigidBody("a", bone=0, mode=0, size=(1, 0, 0)),
        pmx.RigidBody("b", bone=1, mode=mode, size=(1, 0, 0), mass=1),
    ]
    return mmdskin.load_model(pmx.write(file))


@pytest.mark.parametrize(("mode", "kept"), [(1, False), (2, True)])
def test_the_translation_of_a_bone_that_its_body_only_turns_is_kept(mode, kept):
    moves, turns = wave(40)[0], np.tile([0, 0, 0, 1.0], (40, 2, 1))
    moves = moves[:, ::-1].copy()  # the hair moves
    turns[:, 1] = [0, 0.6, 0, 0.8]
    motion, report = mmdskin.Motion.from_locals(simulated_pair(mode), moves, turns)
    assert [track.name for track in motion.bones] == (["hair"] if kept else [])
    assert dict(report.notes)["hair"] == (
        "its rotation is left out: a rigid body turns it"
        if kept
        else "left out: a rigid body moves it"
    )
    if kept:
        (track,) = motion.bones
        assert track.physics.all()
        assert (track.rotations == [0, 0, 0, 1]).all()
        assert np.ptp(track.translations[:, 1]) > 1


def test_two_morphs_of_one_name_share_the_first_ones_track():
    file = dances.puppet_file(["a"], 1)
    file.morphs = [rigs.morph("m", "vertex", (0, 1, 0, 0)) for _ in range(2)]
    model = mmdskin.load_model(rigs.pmx.write(file))
    weights = np.tile(np.linspace(0, 1, 10)[:, None], (1, 2))
    motion, _ = mmdskin.Motion.from_locals(model, {}, morph_weights=weights)
    assert [t.name for t in motion.morphs] == ["m"]


@pytest.mark.parametrize("rest", [(0, 0, 0, -1), (-0.0, 0, -0.0, 5), (-7e-34, 0, 0, 1)], ids=str)
def test_every_quaternion_of_the_rest_pose_is_no_key(rest):
    model = dances.puppet(["a"], 1)
    motion, report = mmdskin.Motion.from_locals(
        model, np.zeros((5, 1, 3)), np.tile(np.float64(rest), (5, 1, 1))
    )
    assert not motion.bones and not report.notes


def test_a_mirrored_bone_is_reported():
    model = dances.puppet(["a"], 1)
    matrices = np.tile(np.diag([-1, 1, 1, 1]).astype("f4"), (3, 1, 1, 1))
    _, report = mmdskin.Motion.from_poses(model, matrices)
    assert report.notes == (("a", "scaled, sheared or mirrored by up to 2.000, which is lost"),)


def test_names_that_mmd_does_not_find_are_reported():
    long, emoji = "とても長い名前のボーン", "\U0001f600"
    file = dances.puppet_file(["a", long, emoji, "とても長い静かなボーン"], 1)
    file.morphs = [rigs.morph(long, "vertex", (0, 1, 0, 0))]
    model = mmdskin.load_model(pmx.write(file))
    moves, turns = np.zeros((3, 4, 3)), np.tile([0, 0, 0, 1.0], (3, 4, 1))
    moves[:, :3, 1] = 1
    _, report = mmdskin.Motion.from_locals(model, moves, turns, np.ones((3, 1)))
    too_long = "its name takes 22 bytes, but a VMD stores only 15: MMD does not find it"
    missing = "its name contains U+1F600, which cp932 cannot encode: MMD does not find it"
    assert report.notes == ((long, too_long), (emoji, missing))


def test_an_ik_switch_that_mmd_does_not_find_is_reported_once():
    name = "とても長い名前のＩＫ"
    file = dances.puppet_file(["link", "end", name], 1)
    file.bones[1].parent, file.bones[1].position = 0, (0, -4, 0)
    file.bones[2].ik = rigs.ik(1, [0])
    model = mmdskin.load_model(pmx.write(file))
    pose = model.pose_from({name: ([0, 1, 0], None)})  # the bone has a track, too
    motion, report = mmdskin.Motion.from_poses(model, pose.bone_matrices[None], ik="off")
    assert name in {t.name for t in motion.bones} & set(motion.properties.ik_names)
    assert report.notes == (
        (name, "its name takes 20 bytes, but a VMD stores only 15: MMD does not find it"),
    )


def test_a_fixed_axis_that_the_pose_leaves_is_reported():
    model = dances.puppet(["a"], 1)
    bent = rigs.model_of(rigs.bone("a", fixed_axis=(0, 0, 1)))
    matrices = model.pose_from({"a": (None, [np.sin(0.1), 0, 0, np.cos(0.1)])}).bone_matrices
    _, report = mmdskin.Motion.from_poses(bent, matrices[None])
    assert ("a", "off its fixed axis by up to 11.5 degrees") in report.notes


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tolerance": 0}, "tolerance: expected a positive number"),
        ({"tolerance": 10**400}, "tolerance: 1000"),
        ({"physics_tolerance": -(10**400)}, "physics_tolerance: -1000"),
        ({"physics_tolerance": float("nan")}, "physics_tolerance: expected a positive number"),
        ({"ik": "on"}, 'ik: "on" is unknown, expected "as_keyed", "off" or "both"'),
        ({"ik": "as_keyed"}, 'ik: "as_keyed" needs the values of IK bones'),
        ({"physics": "bake"}, 'physics: "bake" is unknown, expected "leave" or "keys"'),
        ({"frames": [0, 1, 3]}, "frames: expected 3 whole numbers"),
        ({"frames": [0.5, 1.5, 2.5]}, "frames: expected 3 whole numbers"),
        ({"frames": [-1, 0, 1]}, "frames: expected 3 whole numbers"),
        ({"frames": 2**32 - 2 + np.arange(3)}, "expected 3 whole numbers up to 4294967295"),
        ({"threads": 0}, "threads"),
    ],
)
def test_a_bad_option_is_named(options, text):
    model = dances.puppet(["a"], 1)
    matrices = np.tile(np.eye(4, dtype=np.float32), (3, 1, 1, 1))
    with pytest.raises(ValueError, match=text):
        mmdskin.Motion.from_poses(model, matrices, **options)


def test_no_frames_is_an_error():
    model = dances.puppet(["a"], 1)
    with pytest.raises(ValueError, match="pose: no frames"):
        mmdskin.Motion.from_poses(model, np.zeros((0, 1, 4, 4), np.float32))


@pytest.mark.parametrize("like", [3, "dance.vmd"])
def test_like_must_be_a_motion(like):
    model = dances.puppet(["a"], 1)
    with pytest.raises(TypeError, match="like: expected a Motion or None"):
        mmdskin.Motion.from_poses(model, np.eye(4, dtype="f4")[None, None], like=like)
