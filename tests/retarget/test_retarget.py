# SPDX-License-Identifier: MIT
"""retarget(): the same motion on another rig. Judges: algebra, the source's own directions and paths."""

import mmdskin
import numpy as np
import pytest
from files import locations
from retarget.measures import contacts, direction_errors, joints, sink, slide
from retarget.rigs import humanoid, variant

DANCES = {
    "dancer": ("dancer.pmx", "dancer.vmd"),
    "wavefile": ("miku_v2.pmd", "wavefile_v2.vmd"),
    "realize": ("mmt_test_model.pmx", "realize_motion.vmd"),
}
RIGS = {
    "equal": {},
    "short": {"leg": 0.8, "arm": 0.9},
    "tall": {"leg": 1.25, "arm": 1.1, "spine": 4, "hips": 1.4},
    "arms down": {"arms_down": 45, "spine": 1},
}
VARIANTS = {
    "same": {},
    "small": {"scale": 0.7},
    "large": {"scale": 1.3},
    "rolled": {"rolled": True},
    "turned": {"turned": 70},
    "T-pose, rolled, large": {"raised": True, "rolled": True, "scale": 1.3},
}


LOADERS = (mmdskin.load_model, mmdskin.load_motion)


def paths_of(name):
    return [locations.own_files().get(file) or locations.find(file) for file in DANCES[name]]


MISSING = [name for name in DANCES if None in paths_of(name)]


# One skip in each test for all dances that are missing.
@pytest.fixture(scope="session", params=[name for name in DANCES if name not in MISSING[1:]])
def dance(request):
    """A model's skeleton and its pose: every frame of our own dance, 400 of published ones."""
    if request.param in MISSING:
        pytest.skip(locations.not_shipped(DANCES[request.param][0]))
    model, motion = (
        load(path) for load, path in zip(LOADERS, paths_of(request.param), strict=True)
    )
    pose = model.pose(motion, np.arange(min(motion.frame_range[1], 400)) + motion.frame_range[0])
    return model, pose, model.transforms(pose).astype(float)


@pytest.fixture(scope="session")
def own_dance():
    model = mmdskin.load_model(locations.own_files()["dancer.pmx"])
    motion = mmdskin.load_motion(locations.own_files()["dancer.vmd"])
    pose = model.pose(motion, np.arange(120))
    return model, pose, model.transforms(pose).astype(float)


def mapped(skeleton):
    return sorted({*skeleton.human.values(), *skeleton.spine})


@pytest.mark.parametrize("feet", [True, False])
@pytest.mark.parametrize("name", VARIANTS)
def test_variants_of_a_rig_move_alike(dance, name, feet):
    """Joints within 1e-5 of the height, as scaled; rotations within 1e-5 degrees, as rolled.

    Of a motion without translated bones: that of the first pass, which retargets to the same rig.
    """
    skeleton = dance[0].skeleton
    poses = mmdskin.retarget(skeleton, dance[1], skeleton, feet=False).transforms
    target = variant(skeleton, **VARIANTS[name])
    found = mmdskin.retarget(skeleton, poses, target, feet=feet).transforms
    scale = VARIANTS[name].get("scale", 1)
    turn = np.radians(VARIANTS[name].get("turned", 0))
    c, s = np.cos(turn), np.sin(turn)
    C = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    bones = mapped(skeleton)
    height = np.ptp(skeleton.rest[:, 1, 3])
    off = found[:, bones, :3, 3] / scale - poses[:, bones, :3, 3] @ C.T
    assert np.abs(off).max() < 1e-5 * height
    if not VARIANTS[name].get("raised"):
        wanted = C @ poses[:, bones, :3, :3] @ C.T @ target.rest[bones, :3, :3]
        assert np.degrees(np.abs(found[:, bones, :3, :3] - wanted).max()) < 1e-5


def test_a_model_on_itself_is_its_pose(dance):
    """But for bones that the motion translates, which retargeting leaves out: 首 of one model."""
    model, pose, poses = dance
    found = mmdskin.retarget(model.skeleton, pose, model.skeleton).transforms
    off = np.abs(found - poses)[:, mapped(model.skeleton)]
    assert np.median(off) < 1e-5
    assert off[..., :3, 3].max() < 0.06


@pytest.mark.parametrize("name", RIGS)
def test_limbs_have_the_directions_of_the_source(dance, name):
    model, pose, poses = dance
    target = humanoid(**RIGS[name])
    with_feet = mmdskin.retarget(model.skeleton, pose, target).transforms
    without = mmdskin.retarget(model.skeleton, pose, target, feet=False).transforms
    arms = direction_errors(model.skeleton, poses, target, with_feet)
    everything = direction_errors(model.skeleton, poses, target, without)
    assert len(everything) >= 8
    assert max(e.max() for slot, e in arms.items() if "Leg" not in slot) < 0.05
    assert max(e.max() for e in everything.values()) < 0.05


@pytest.mark.parametrize("name", RIGS)
def test_feet_stand_where_the_source_stands(dance, name):
    """At the source's size: slide within 1.15 of the source's and 6 mm/s, sink within 2 mm."""
    model, pose, poses = dance
    target = humanoid(**RIGS[name])
    found = mmdskin.retarget(model.skeleton, pose, target)
    k = float(next(n for n in found.notes if n.startswith("scale")).split()[1])
    stands = contacts(model.skeleton, poses)
    mm = 80
    before = slide(model.skeleton, poses, stands) * mm
    assert slide(target, found.transforms, stands) * mm / k <= 1.15 * before + 6
    assert sink(target, found.transforms) * mm / k <= sink(model.skeleton, poses) * mm + 2


@pytest.mark.parametrize("name", ["dancer.pmx", "mmt_test_model.pmx", "巡音ルカ.pmx"])
def test_feet_of_models_stand_where_those_of_rigs_do(dance, name):
    """Toes of most models do not bend: they slide no more than without IK, where the source's bend."""
    path = locations.own_files().get(name) or locations.find(name)
    if path is None:
        pytest.skip(locations.not_shipped(name))
    rig, target = humanoid(leg=1.2, spine=3), mmdskin.load_model(path).skeleton
    poses = mmdskin.retarget(dance[0].skeleton, dance[1], rig).transforms
    stands = contacts(rig, poses)
    found, plain = (mmdskin.retarget(rig, poses, target, feet=feet) for feet in (True, False))
    k = float(next(n for n in found.notes if n.startswith("scale")).split()[1])
    mm = 80 / 1.2
    moved = slide(target, found.transforms, stands) * mm / k
    without = slide(target, plain.transforms, stands) * mm / k
    assert moved <= max(1.15 * slide(rig, poses, stands) * mm + 6, without + 1)
    assert sink(target, found.transforms) * mm / k <= sink(rig, poses) * mm + 2


@pytest.mark.parametrize("name", ["short", "tall"])
def test_a_dance_comes_back_over_another_rig(dance, name):
    """As MMD shows the keys, after its IK: limbs within 0.02 degrees (median) and 10 (99 %), where a
    leg was too short on the way; hands and head within 20 mm."""
    model, pose, poses = dance
    source, rig = model.skeleton, humanoid(**RIGS[name])
    there = mmdskin.retarget(source, pose, rig).transforms
    motion, _ = mmdskin.Motion.from_skeleton(model, rig, there, tolerance=0.01)
    back = model.transforms(model.pose(motion, np.arange(len(poses)))).astype(float)
    errors = direction_errors(source, poses, source, back)
    limbs = [e for slot, e in errors.items() if slot.endswith(("Arm", "Leg"))]
    assert np.median(limbs) <= 0.02
    assert np.percentile(limbs, 99) <= 10
    before, after = joints(source, poses), joints(source, back)
    for slot in ("leftHand", "rightHand", "head"):
        off = np.linalg.norm(after[slot] - before[slot], axis=-1)
        assert np.percentile(off, 99) * 80 <= 20


def test_chest_and_head_turn_as_the_source(own_dance):
    model, pose, poses = own_dance
    source, target = model.skeleton, humanoid(spine=3)
    found = mmdskin.retarget(source, pose, target).transforms
    for slot in ("head", "hips", "leftFoot"):
        a, b = (one.human[slot] for one in (source, target))
        assert np.abs(found[:, b, :3, :3] - poses[:, a, :3, :3]).max() < 1e-6
    chest = poses[:, source.spine[-1], :3, :3]
    assert np.abs(found[:, target.spine[-1], :3, :3] - chest).max() < 1e-6


def test_spines_of_any_length_share_the_bend():
    """Of two bones, turned 20 and 60 degrees, in three: a third, two thirds and all of the chain."""
    source, target = humanoid(spine=2), humanoid(spine=3)

    def about_x(degrees):
        c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])

    poses = source.rest.copy()
    for bone, degrees in zip(source.spine, (20, 60), strict=True):
        poses[bone] = poses[bone] @ about_x(degrees)
    found = mmdskin.retarget(source, poses, target).transforms
    for bone, degrees in zip(target.spine, (40 / 3, 20 + 40 / 3, 60), strict=True):
        assert np.allclose(found[bone, :3, :3], about_x(degrees)[:3, :3], atol=1e-12)


def test_legs_that_are_too_short_bring_the_body_down():
    """Her feet apart, on legs of which the upper ones start in the middle."""
    source, target = humanoid(hips=1.6), humanoid(leg=1.0, hips=0.2)
    poses = source.rest.copy()
    for side, x in (("left", 3.0), ("right", -3.0)):
        for part in ("Foot", "Toes"):
            poses[source.human[side + part], 0, 3] = 1.3 * x
    found = mmdskin.retarget(source, poses[None], target)
    assert any("lowered" in note for note in found.notes)
    at = joints(target, found.transforms)
    assert np.allclose(at["leftFoot"][0], (3.9, 1.1, 0.3), atol=1e-3)
    assert at["head"][0, 1] < 17


def test_hands_that_meet_keep_their_gap():
    source, target = humanoid(), humanoid(arm=1.3, hips=1.2)
    poses = source.rest.copy()[None].repeat(3, 0)
    for side, x in (("left", 1), ("right", -1)):  # before the chest, 0.2 apart
        elbow, hand = (source.human[side + part] for part in ("LowerArm", "Hand"))
        poses[:, elbow, :3, 3] = (x * 1.8, 13.4, -0.9)
        poses[:, hand, :3, 3] = (x * 0.1, 14.0, -2.2)
    plain = joints(target, mmdskin.retarget(source, poses, target).transforms)
    found = mmdskin.retarget(source, poses, target, hands=True)
    at = joints(target, found.transforms)
    assert np.abs(plain["leftHand"] - plain["rightHand"])[0, 0] > 0.3  # wider shoulders
    assert np.allclose(at["leftHand"] - at["rightHand"], (0.2 * 1.3, 0, 0), atol=0.025)
    assert any(note.startswith("hands") for note in found.notes)


def test_hands_that_do_not_meet_are_left_alone():
    source, target = humanoid(), humanoid(arm=1.3)
    plain = mmdskin.retarget(source, source.rest, target).transforms
    assert np.array_equal(
        mmdskin.retarget(source, source.rest, target, hands=True).transforms, plain
    )


def test_in_place_leaves_out_the_way_over_the_floor():
    source, target = humanoid(), humanoid(leg=1.2)
    poses = source.rest[None].repeat(40, 0)
    poses[:, :, 0, 3] += np.linspace(0, 30, 40)[:, None]
    moved = joints(target, mmdskin.retarget(source, poses, target).transforms)["hips"][:, 0]
    assert np.allclose(moved, np.linspace(0, 36, 40), atol=0.03)  # legs are not quite vertical
    placed = mmdskin.retarget(source, poses, target, root="in_place").transforms
    assert np.ptp(placed[..., :3, 3], axis=0).max() < 1e-9


def test_scale_is_the_way_of_the_body():
    source, target = humanoid(), humanoid(leg=1.2)
    poses = source.rest[None].repeat(2, 0)
    poses[1, :, 2, 3] -= 5
    for scale in (0.5, 2):
        at = joints(target, mmdskin.retarget(source, poses, target, scale=scale).transforms)
        assert np.isclose(at["head"][1, 2] - at["head"][0, 2], -5 * scale)


def test_twist_bones_turn_what_lies_beyond_them(own_dance):
    """腕捩 of a model turns the forearm: a rig without it gets the twist in its upper arm, one with
    it on the twist bone."""
    model = own_dance[0]
    half = np.float32([np.sin(0.4), 0, 0, np.cos(0.4)])
    pose = model.pose_from({"左腕捩": (None, half)})
    poses = model.transforms(pose).astype(float)
    plain = mmdskin.retarget(model.skeleton, pose, humanoid())
    source, target = model.skeleton, humanoid()
    twist = poses[source.twists["leftUpperArm"], :3, :3]
    assert np.degrees(np.arccos((np.trace(twist) - 1) / 2)) > 20
    for slot in ("leftUpperArm", "leftLowerArm", "leftHand"):
        rest = mmdskin.retarget(model.skeleton, source.rest, target).transforms
        turned = plain.transforms[target.human[slot], :3, :3] @ rest[target.human[slot], :3, :3].T
        assert np.abs(turned - twist).max() < 1e-6
    again = mmdskin.retarget(source, pose, source).transforms
    for bone in ("左腕", "左腕捩", "左ひじ"):
        at = source.names.index(bone)
        assert np.abs(again[at] - poses[at]).max() < 1e-5


def test_bones_without_a_slot_keep_their_rest_to_their_parent(own_dance):
    model, pose, _ = own_dance
    rig = humanoid()
    tail = np.eye(4)
    tail[:3, 3] = (0, 10, 3)
    target = mmdskin.Skeleton(
        [*rig.names, "Tail"], [*rig.parents, rig.human["hips"]], [*rig.rest, tail]
    )
    found = mmdskin.retarget(model.skeleton, pose, target).transforms
    local = np.linalg.inv(found[:, rig.human["hips"]]) @ found[:, -1]
    assert np.abs(local - np.linalg.inv(target.rest[rig.human["hips"]]) @ tail).max() < 1e-9


def test_a_rest_that_hangs_around_the_origin_is_moved_to_the_floor():
    """As BVH's: the same dance, of a rest pose 11 lower."""
    source, target = humanoid(), humanoid(leg=1.1)
    poses = source.rest[None].repeat(60, 0)
    poses[:, :, 0, 3] += np.sin(np.arange(60) / 9)[:, None]
    hanging = source.rest.copy()
    hanging[:, 1, 3] -= 11
    low = mmdskin.Skeleton(source.names, source.parents, hanging)
    found = mmdskin.retarget(low, poses, target)
    wanted = mmdskin.retarget(source, poses, target)
    assert np.abs(found.transforms - wanted.transforms).max() < 1e-9
    assert any("level" in note for note in found.notes)
    same = mmdskin.retarget(low, poses, low)  # its reference is the same there
    assert np.abs(same.transforms - poses).max() < 1e-9


def test_soles_that_are_not_flat_at_rest_are_made_flat():
    source, target = humanoid(), humanoid()
    c, s = np.cos(0.4), np.sin(0.4)
    tilt = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])  # toes up
    rest = source.rest.copy()
    for side in ("left", "right"):
        foot, toes = (source.human[side + part] for part in ("Foot", "Toes"))
        rest[foot, :3, :3] = rest[toes, :3, :3] = tilt
        rest[toes, :3, 3] = rest[foot, :3, 3] + tilt @ (rest[toes, :3, 3] - rest[foot, :3, 3])
    other = mmdskin.Skeleton(source.names, source.parents, rest)
    poses = source.rest[None].repeat(60, 0)  # it stands on flat soles
    found = mmdskin.retarget(other, poses, target)
    assert np.abs(found.transforms - target.rest).max() < 1e-6
    assert sum("to stand flat" in note for note in found.notes) == 2


def test_a_rest_that_lies_gives_way_to_an_upright_frame():
    source, target = humanoid(), humanoid()
    c, s = np.cos(1.5), np.sin(1.5)
    lie = np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])
    folded = mmdskin.Skeleton(source.names, source.parents, lie @ source.rest)
    poses = source.rest[None].repeat(2, 0)
    found = mmdskin.retarget(folded, poses, target)
    assert np.abs(found.transforms - target.rest).max() < 1e-6
    assert any("frame 0" in note for note in found.notes)
    named = folded.replace(reference=source.rest)
    assert np.abs(mmdskin.retarget(named, poses, target).transforms - target.rest).max() < 1e-6


def test_one_pose_gives_one_pose(own_dance):
    model, pose, _ = own_dance
    one = mmdskin.Pose(pose.bone_matrices[7], pose.morph_weights[7])
    found = mmdskin.retarget(model.skeleton, one, humanoid()).transforms
    batch = mmdskin.retarget(model.skeleton, pose, humanoid()).transforms[7]
    assert found.shape == (len(humanoid().names), 4, 4)
    assert np.abs(found - batch).max() < 1e-9


def test_no_frames_give_no_frames():
    source = humanoid()
    found = mmdskin.retarget(source, np.zeros((0, len(source.names), 4, 4)), source, hands=True)
    assert found.transforms.shape == (0, len(source.names), 4, 4)


def test_bones_of_no_length_are_no_obstacle(own_dance):
    model, pose, _ = own_dance
    rig = humanoid()
    rest = rig.rest.copy()
    for finger in ("Index", "Middle", "Ring", "Little"):  # all joints at the wrist
        for phalanx in ("Proximal", "Intermediate", "Distal"):
            rest[rig.human[f"left{finger}{phalanx}"], :3, 3] = rest[rig.human["leftHand"], :3, 3]
    flat = mmdskin.Skeleton(rig.names, rig.parents, rest)
    assert np.isfinite(mmdskin.retarget(model.skeleton, pose, flat).transforms).all()


def no_legs():
    rig = humanoid()
    keep = [i for i, name in enumerate(rig.names) if not name.endswith(("Leg", "Foot", "Toes"))]
    parents = [keep.index(rig.parents[i]) if rig.parents[i] >= 0 else -1 for i in keep]
    return mmdskin.Skeleton([rig.names[i] for i in keep], parents, rig.rest[keep])


def point():
    rig = humanoid()
    return mmdskin.Skeleton(rig.names, rig.parents, np.tile(np.eye(4), (len(rig.names), 1, 1)))


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        ({"target": no_legs()}, ValueError, "target: no bone is leftUpperLeg"),
        (
            {"source": no_legs(), "poses": no_legs().rest},
            ValueError,
            "source: no bone is leftUpper",
        ),
        ({"target": point()}, ValueError, "target: legs or arms have no length"),
        ({"target": None}, TypeError, "target: expected a Skeleton"),
        ({"poses": np.zeros((3, 4, 4))}, ValueError, r"poses: shape \(3, 4, 4\)"),
        (
            {"poses": np.full((1, 51, 4, 4), np.nan)},
            ValueError,
            'frame 0, bone 0 "Hips" is not finite',
        ),
        (
            {"poses": np.zeros((1, 51, 4, 4))},
            ValueError,
            'poses: frame 0, bone 0 "Hips" does not end with the row 0 0 0 1',
        ),
        (
            {"poses": humanoid().rest.transpose(0, 2, 1)},
            ValueError,
            'poses: bone 0 "Hips" does not end with the row',
        ),
        ({"scale": 0}, ValueError, "scale: 0, expected a positive"),
        ({"scale": np.nan}, ValueError, "scale: nan"),
        ({"fps": -1}, ValueError, "fps: -1"),
        ({"root": "moon"}, ValueError, "root: unknown"),
    ],
)
def test_what_cannot_be_retargeted_is_refused(arguments, error, text):
    rig = humanoid()
    values = {"source": rig, "poses": rig.rest, "target": rig} | arguments
    source, poses, target = (values.pop(name) for name in ("source", "poses", "target"))
    with pytest.raises(error, match=text):
        mmdskin.retarget(source, poses, target, **values)
