# SPDX-License-Identifier: MIT
"""IK: captures of MMD 9.32, the rules written a second time, and rigs without a solution."""

import json

import mmdskin
import numpy as np
import pytest
from files import locations
from files import motion_file as mf
from judges import ik_twin
from judges import pose_rigs as rigs
from judges import pose_twin as twin
from judges.growth import within
from judges.pose_rigs import DEGREE, KNEE, bone, ik, model_of

CAPTURES = locations.REFERENCE / "mmd932_ik.json"
# accuracy of an angle from a float32 matrix
ANGLE = 1e-5


def captured():
    """All captured rigs that need no memory of earlier frames."""
    found = json.loads(CAPTURES.read_text(encoding="utf-8"))
    found = [rig for rig in found["rigs"] + found["posed_rigs"] if "evaluations" not in rig]
    return [pytest.param(rig, id=rig["name"]) for rig in found]


def bone_of_capture(b):
    parts = {key: b[key] for key in ("layer",) if key in b}
    if "axis" in b:
        parts["fixed_axis"] = tuple(b["axis"])
    if "append" in b:
        parts["append"] = rigs.pmx.Append(*b["append"])
    if "ik" in b:
        target, loops, unit, links = b["ik"]
        pairs = [(i, (None, None) if v is None else (v[:3], v[3:])) for i, v in links]
        parts["ik"] = ik(target, pairs, loops, unit)
    return bone(b["name"], b["pos"], b.get("parent", -1), **parts)


def solved(model, **members):
    """World matrices (B,4,4) in float64, with IK."""
    return rigs.worlds(model, rigs.pose_of(model, ik=True, **members))


def local_turn(worlds, model, i):
    parent = model.bones[i].parent
    r = worlds[..., i, :3, :3]
    return r if parent < 0 else np.swapaxes(worlds[..., parent, :3, :3], -1, -2) @ r


def angle_about(r, axis):
    q = rigs.turn_of(r)
    return 2 * np.arctan2(q[:3] @ np.asarray(axis, np.float64), q[3])


# Captures of MMD 9.32


@pytest.mark.parametrize("rig", captured())
def test_captured_rigs_equal_mmd(rig):
    model = model_of(*map(bone_of_capture, rig["bones"]))
    turns = {int(i): q for i, q in rig.get("pose", {}).items()}
    found = solved(model, turns=turns)
    limit = 0.01 if rig["name"].startswith("stacked") else 0.05
    expected = {i: twin.matrix(twin.normalized(q)) for i, q in rig.get("q", {}).items()}
    expected |= {i: np.array(m) for i, m in rig.get("m", {}).items()}
    for i, r in expected.items():
        assert twin.degrees_between(found[int(i), :3, :3], r) <= limit, f"bone {i}"
    for i, x in rig.get("x_axis", {}).items():
        sine = np.linalg.norm(np.cross(found[int(i), :3, 0], x))
        assert np.degrees(np.arcsin(sine)) <= limit, f"bone {i}"
    for i, p in rig.get("p", {}).items():
        assert np.linalg.norm(found[int(i), :3, 3] - p) <= 2e-3, f"bone {i}"
    for i, angle in rig.get("angle_about", {}).items():
        turn = angle_about(local_turn(found, model, int(i)), rig["about"])
        assert abs(np.degrees(turn - angle)) <= limit, f"bone {i}"


def two_links(loops, unit):
    """A root, two links of length 1 along x, the effector and the goal."""
    return model_of(
        bone("root"),
        bone("a", (0, 0, 0), 0),
        bone("b", (1, 0, 0), 1),
        bone("end", (2, 0, 0), 2),
        bone("goal", (0.5, 2, 0), 0, ik=ik(3, [2, 1], loops, unit)),
    )


@pytest.mark.parametrize("loops, nearest, outer", [(1, 0.0036, 0.0072), (361, 0.00361, 0.00722)])
def test_small_steps_are_repeated_at_least_360_times(loops, nearest, outer):
    model = two_links(loops, 1e-5)
    found = solved(model)
    assert angle_about(local_turn(found, model, 2), (0, 0, 1)) == pytest.approx(nearest, abs=2e-6)
    assert angle_about(local_turn(found, model, 1), (0, 0, 1)) == pytest.approx(outer, abs=2e-6)


def wide_link(goal):
    limits = ((-3.2, -3.2, -3.2), (3.2, 3.2, 3.2))
    return model_of(
        bone("root"),
        bone("link", (0, 0, 0), 0),
        bone("end", (2, 0, 0), 1),
        bone("goal", goal, 0, ik=ik(2, [(1, limits)], 1, 16)),
    )


def test_the_middle_angle_of_a_limited_link_ends_at_88_degrees():
    high = 89.5 * DEGREE
    r = solved(wide_link((2 * np.cos(high), 2 * np.sin(high), 0)))[1, :3, :3]
    assert np.degrees(angle_about(r, (0, 0, 1))) == pytest.approx(88, abs=1e-3)


@pytest.mark.parametrize("goal", [(3, 0, 0), (-2, 0, 0)])
def test_a_goal_on_the_line_of_the_link_moves_nothing(goal):
    assert (solved(wide_link(goal))[:, :3, :3] == np.eye(3)).all()


# Solving


def leg(*extra, limits=KNEE, **of_ik):
    """Hip 0, thigh 1, knee 2, ankle 3, goal 4."""
    solver = ik(3, [(2, limits), 1], **{"loops": 40, "unit": 0.5} | of_ik)
    return model_of(
        bone("腰", (0, 10, 0)),
        bone("左足", (0, 10, 0), 0),
        bone("左ひざ", (0, 5, -0.2), 1),
        bone("左足首", (0, 0, 0), 2),
        bone("左足ＩＫ", (0, 0, 0), -1, ik=solver),
        *extra,
    )


def test_an_effector_reaches_a_goal_within_reach():
    model = leg()
    found = solved(model, moves={4: (1, 3, -2)})
    assert np.linalg.norm(found[3, :3, 3] - found[4, :3, 3]) < 0.01


def test_a_goal_out_of_reach_stretches_the_leg_toward_it():
    found = solved(leg(), moves={4: (0, -5, 0)})
    assert found[3, 1, 3] == pytest.approx(0, abs=0.02)


def test_a_knee_bends_only_within_its_limits():
    model = leg()
    for z in (-4, 4):
        found = solved(model, moves={4: (0, 3, z)})
        assert -np.pi <= angle_about(local_turn(found, model, 2), (1, 0, 0)) <= KNEE[1][0] + ANGLE


def test_rotation_of_the_effector_and_translations_of_links_are_kept():
    model = leg()
    turn = twin.about((1, 2, 3), 0.7)
    found = solved(model, turns={3: turn}, moves={2: (0.1, 0.2, 0.3), 4: (0, 3, 0)})
    rigs.assert_turn(local_turn(found, model, 3), turn)
    knee = found[1, :3, :3].T @ (found[2, :3, 3] - found[1, :3, 3])
    np.testing.assert_allclose(knee, (0.1, -4.8, 0.1), atol=1e-5)


def test_ik_is_applied_outside_the_users_rotation():
    """The rotation is about an axis of the parent, after the link's own rotation."""
    model = model_of(
        bone("root"),
        bone("link", (0, 0, 0), 0),
        bone("end", (0, 1, 0), 1),
        bone("goal", (1, 0, 0), 0, ik=ik(2, [1], 1, 4)),
    )
    twist = twin.about((0, 1, 0), 0.8)
    found = solved(model, turns={1: twist})
    rigs.assert_turn(found[1], twin.product(twin.about((0, 0, 1), -np.pi / 2), twist))


def test_ik_off_keeps_the_pose_of_the_bones():
    model = leg()
    moved = rigs.posed(model, moves={4: (0, 3, 0)}, ik=False)
    assert (moved[:4] == np.eye(4)).all()


def test_ik_off_does_not_append_to_effectors_again():
    """The link's own append rotates it after the effector has read it, and the child shows it."""
    model = model_of(
        bone("end", append=rigs.pmx.Append(1, 1.0)),
        bone("link", append=rigs.pmx.Append(2, 1.0)),
        bone("source"),
        bone("child", (0, 1, 0), 0),
        bone("goal", ik=ik(0, [1])),
    )
    m = rigs.posed(model, {2: twin.about((1, 0, 0), 1)}, ik=False)
    assert (m[0] == m[3]).all()


def test_without_a_motion_bones_are_at_rest_and_ik_runs():
    model = two_links(20, 0.5)
    assert (model.pose(ik=False).bone_matrices == np.eye(4)).all()
    assert (model.pose().bone_matrices == rigs.posed(model, ik=True)).all()
    assert np.linalg.norm(solved(model)[3, :3, 3] - (0.5, 2, 0)) < 0.1


def test_an_ik_key_switches_its_solver_from_that_frame_on():
    model = leg()
    states = [(0, 1), (10, 0), (20, 1)]
    keys = [mf.PropertyKey(frame, 1, [("左足ＩＫ", on)]) for frame, on in states]
    motion = rigs.motion_of(mf.BoneKey("左足ＩＫ", 0, (0, 3, 0)), properties=keys)
    pose = model.pose(motion, [-1, 0, 9.99, 10, 19.5, 20, 1e6]).bone_matrices
    moved = (pose[:, 2] != np.eye(4)).any((1, 2))
    assert moved.tolist() == [True, True, True, False, False, True, True]


def test_before_its_first_key_ik_has_the_state_of_that_key():
    model = leg()
    key = mf.PropertyKey(5, 1, [("左足ＩＫ", 0)])
    motion = rigs.motion_of(mf.BoneKey("左足ＩＫ", 0, (0, 3, 0)), properties=[key])
    assert (model.pose(motion, 0).bone_matrices[:4] == np.eye(4)).all()


def test_ik_that_a_key_does_not_list_runs():
    model = leg()
    keys = [mf.PropertyKey(0, 1, [("左足ＩＫ", 0)]), mf.PropertyKey(9, 1, [("右足ＩＫ", 0)])]
    motion = rigs.motion_of(mf.BoneKey("左足ＩＫ", 0, (0, 3, 0)), properties=keys)
    moved = (model.pose(motion, [0, 9]).bone_matrices[:, 2] != np.eye(4)).any((1, 2))
    assert moved.tolist() == [False, True]


@pytest.fixture
def legs():
    """Two legs of three bones, their goals at 3 and 7."""
    bones = []
    for x, name in ((0, "左足ＩＫ"), (5, "右足ＩＫ")):
        first = len(bones)
        bones += [
            bone("足", (x, 8, 0)),
            bone("ひざ", (x, 4, -0.2), first),
            bone("足首", (x, 0, 0), first + 1),
            bone(name, (x, 0, 0), ik=ik(first + 2, [(first + 1, KNEE), first])),
        ]
    return model_of(*bones)


def test_local_values_have_a_switch_for_each_ik_bone_and_frame(legs):
    moves, turns = np.zeros((8, 3)), np.tile((0.0, 0, 0, 1), (8, 1))
    moves[[3, 7], 1] = 3
    switches = np.ones((3, 8), bool)
    switches[1, 3], switches[2, 7] = False, False
    switches[:, 0] = False  # no IK bone
    goals = [mf.BoneKey(legs.bones[i].name, 0, (0, 3, 0)) for i in (3, 7)]
    keys = [
        mf.PropertyKey(f, 1, [(legs.bones[i].name, int(on[i])) for i in (3, 7)])
        for f, on in enumerate(switches)
    ]
    expected = legs.pose(rigs.motion_of(*goals, properties=keys), [0, 1, 2]).bone_matrices
    found = legs.pose_from(moves, turns, ik=switches).bone_matrices
    assert np.array_equal(found, expected)
    assert not np.array_equal(found[1], found[2])
    for f in range(3):
        alone = legs.pose_from(moves, turns, ik=list(switches[f]))
        assert np.array_equal(alone.bone_matrices, expected[f])
    # And none of them stays off afterwards.
    assert np.array_equal(legs.pose_from(moves, turns).bone_matrices, expected[0])


@pytest.mark.parametrize(
    "value, message",
    [
        (np.ones(7, bool), r"ik: shape \(7,\), expected \(8,\)"),
        (np.ones((3, 8), bool), "ik: 3 frames, expected 1 or 2"),
        ([2] * 8, "ik"),
    ],
)
def test_bad_switches_are_named(legs, value, message):
    with pytest.raises(ValueError, match=message):
        legs.pose_from(np.zeros((2, 8, 3)), np.ones((8, 4)), ik=value)


def test_a_bone_that_appends_from_a_link_follows_the_solution():
    follower = bone("連動", (3, 0, 0), append=rigs.pmx.Append(2, 1.0))
    model = leg(follower)
    found = solved(model, moves={4: (0, 3, 0)})
    np.testing.assert_allclose(found[5, :3, :3], local_turn(found, model, 2), atol=1e-6)


def test_descendants_of_an_effector_follow_its_final_position():
    model = leg(bone("先", (0, 0, -1), 3))
    found = solved(model, moves={4: (0, 3, 0)})
    tip = found[3, :3, 3] + found[3, :3, :3] @ (0, 0, -1)
    np.testing.assert_allclose(found[5, :3, 3], tip, atol=1e-5)


@pytest.mark.parametrize("seed", range(100))
def test_a_frame_does_not_depend_on_those_before_it(seed):
    r = np.random.default_rng(seed)
    model = mmdskin.load_model(rigs.pmx.write(rigs.random_rig(r, int(r.integers(1, 30)))))
    frames = rigs.random_locals(r, model, 3)
    batch = model.pose_from(*frames).bone_matrices
    rigs.assert_rigid(batch)
    for k in range(3):
        alone = model.pose_from(*(part[k] for part in frames)).bone_matrices
        assert np.array_equal(alone, batch[k])


@pytest.mark.parametrize("seed", range(100))
def test_every_bone_follows_the_final_transform_of_its_parent(seed):
    """Bones without append have their own values relative to the parent, whatever solvers did."""
    r = np.random.default_rng(seed)
    source = rigs.random_rig(r, int(r.integers(1, 30)))
    model = mmdskin.load_model(rigs.pmx.write(source))
    (t,), (q,), _ = rigs.random_locals(r, model, 1)
    worlds, rest = rigs.worlds(model, model.pose_from(t, q)), rigs.rest(model)
    links = {link.bone for b in source.bones if b.ik for link in b.ik.links}
    for i, b in enumerate(source.bones):
        if b.append or b.parent < 0:
            continue
        above = worlds[b.parent]
        expected = above[:3, 3] + above[:3, :3] @ (rest[i] - rest[b.parent] + t[i])
        np.testing.assert_allclose(worlds[i, :3, 3], expected, atol=1e-5 * abs(worlds).max())
        if i not in links:
            turn = twin.matrix(twin.normalized(q[i]))
            np.testing.assert_allclose(above[:3, :3].T @ worlds[i, :3, :3], turn, atol=1e-5)


# Against the rules written a second time


def random_chain(r):
    """A chain of bones, some of them links in any order, and one bone beside the chain."""
    count = int(r.integers(2, 7))
    bones = [bone("root", r.normal(size=3))]
    for i in range(1, count + 2):
        axis = tuple(r.normal(size=3)) if r.random() < 0.15 else None
        place = np.add(bones[-1].position, r.normal(size=3))
        bones.append(bone(str(i), place, i - 1, fixed_axis=axis))
    bones.append(bone("beside", np.add(bones[1].position, r.normal(size=3)), 1))
    links = list(range(count, 0, -1))
    if r.random() < 0.3:
        r.shuffle(links)
    if r.random() < 0.3:
        links.insert(int(r.integers(len(links))), int(r.choice([count + 1, count + 2, *links])))
    links = [(i, random_limits(r)) for i in links if r.random() < 0.9]
    goal = np.add(bones[0].position, r.normal(0, count / 2, 3))
    solver = ik(count + 1, links, int(r.integers(1, 12)), r.choice([0, 0.7, 1.5, 4]))
    return model_of(*bones, bone("goal", goal, 0, ik=solver))


def random_limits(r):
    kind = r.integers(6)
    if kind < 2:
        return None, None
    if kind == 2:
        return KNEE
    lower, upper = np.sort(r.uniform(-4, 4, (2, 3)) * r.choice([0.2, 1]), axis=0)
    if kind == 3:
        lower[r.integers(3)] = upper[r.integers(3)] = 0
        lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
    if kind == 4:
        one = np.arange(3) == r.integers(3)
        lower, upper = lower * one, upper * one
    return tuple(lower), tuple(upper)


# 11004 enlarges differences of 1e-7, as of a float32 input, by a thousand.
@pytest.mark.parametrize("seed", [*range(100), 11004])
def test_chains_equal_the_twin(seed):
    r = np.random.default_rng(seed)
    model = random_chain(r)
    t = r.normal(0, 0.1, (len(model.bones), 3)).astype("f4")
    q = np.float32([twin.about(r.normal(size=3), a) for a in r.normal(0, 0.5, len(model.bones))])
    found = rigs.worlds(model, model.pose_from(t, q))
    np.testing.assert_allclose(found, ik_twin.solve(model.bones, t, q), atol=2e-6)


# Rigs without a solution; each has a defined result


def chain(**solver):
    """Links 1 and 2 of length 1 along x, effector 3, goal 4 with this solver."""
    given = {"target": 3, "links": [2, 1], "loops": 20, "unit": 1.0} | solver
    return model_of(
        bone("root"),
        bone("a", (0, 0, 0), 0),
        bone("b", (1, 0, 0), 1),
        bone("end", (2, 0, 0), 2),
        bone("goal", (0.5, 1, 0.2), 0, ik=ik(**given)),
    )


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "solver",
    [
        dict(links=[]), dict(target=-1), dict(target=4), dict(target=99), dict(links=[-1, -1]),
        dict(links=[77]), dict(links=[3]), dict(unit=-1.0), dict(unit=NAN), dict(unit=INF),
    ],
)  # fmt: skip
def test_a_solver_without_usable_links_moves_nothing(solver):
    assert (solved(chain(**solver))[:4, :3, :3] == np.eye(3)).all()


@pytest.mark.parametrize("loops", [0, -1, -(2**31)])
def test_without_loops_the_unit_angle_gives_the_iterations(loops):
    found = solved(chain(loops=loops, unit=1e-4))
    assert (found == solved(chain(loops=360, unit=1e-4))).all()
    assert (found != solved(chain(loops=361, unit=1e-4))).any()


def test_loops_end_at_1024():
    found = solved(chain(loops=2**31 - 1, unit=1e-5))
    assert (found == solved(chain(loops=1024, unit=1e-5))).all()
    assert (found != solved(chain(loops=1023, unit=1e-5))).any()


def test_a_unit_angle_of_zero_is_no_bound():
    np.testing.assert_array_equal(solved(chain(unit=0.0)), solved(chain(unit=1e3, loops=20)))


def test_inverted_limits_are_swapped():
    low, high = (-0.1, -0.5, -0.2), (0.2, 0.5, 1.0)
    straight, inverted = ([(2, limits), 1] for limits in ((low, high), (high, low)))
    assert (solved(chain(links=inverted)) == solved(chain(links=straight))).all()


def test_limits_of_zero_lock_a_link():
    model = chain(links=[(2, ((0, 0, 0), (0, 0, 0))), 1])
    found = solved(model)
    np.testing.assert_allclose(local_turn(found, model, 2), np.eye(3), atol=1e-7)
    assert (found[1, :3, :3] != np.eye(3)).any()


@pytest.mark.parametrize("bad", [-1, 3, 88])
def test_a_link_that_cannot_rotate_is_skipped(bad):
    """It still counts for the step limits of later links."""
    found = solved(chain(links=[2, bad], loops=1, unit=20.0))
    assert (found[2, :3, :3] != np.eye(3)).any()
    assert (found[1, :3, :3] == np.eye(3)).all()


@pytest.mark.parametrize(
    "links",
    [[2, 2, 1, 2], [4, 2, 1], [0, 1, 2], [1] * 300, [(2, ((NAN,) * 3, (INF,) * 3)), 1]],
    ids=["twice", "the IK bone", "above the goal", "a long list", "limits that are no numbers"],
)
def test_unusual_links_give_a_finite_pose(links):
    rigs.assert_rigid(rigs.posed(chain(links=links), ik=True))


def test_a_goal_below_its_own_links_gives_a_finite_pose():
    model = model_of(
        bone("a"),
        bone("b", (1, 0, 0), 0),
        bone("end", (2, 0, 0), 1),
        bone("goal", (1, 1, 0), 1, ik=ik(2, [1, 0], 200, 1.0)),
    )
    rigs.assert_rigid(rigs.posed(model, ik=True))


def test_bones_at_one_position_do_not_move():
    model = model_of(
        *(bone(str(i), parent=i - 1, ik=ik(0, [1, 2]) if i == 3 else None) for i in range(4))
    )
    assert (rigs.posed(model, ik=True) == np.eye(4)).all()


def test_solvers_that_rotate_each_others_goals_give_a_finite_pose():
    model = model_of(
        bone("root"),
        bone("a", (0, 0, 0), 0, ik=ik(3, [2])),
        bone("b", (1, 0, 0), 1, ik=ik(4, [1])),
        bone("c", (1, 1, 0), 2),
        bone("d", (0, 1, 1), 1),
    )
    rigs.assert_rigid(rigs.posed(model, ik=True))


def test_the_work_of_hostile_solvers_is_bounded():
    links = [i % 40 for i in range(255)]
    bones = [bone(str(i), (i, i % 3, 0), i - 1) for i in range(40)]
    bones += [bone(f"g{i}", (i, 9, 9), ik=ik(39, links, 2**31 - 1, 1e-9)) for i in range(500)]
    model = model_of(*bones)
    with within(20):
        rigs.assert_rigid(model.pose().bone_matrices)
