# SPDX-License-Identifier: MIT
"""IK in dances, frame by frame, as other programs solve it."""

import numpy as np
import pytest
from judges import pose_rigs as rigs
from judges import pose_twin as twin

# The dance of another program, frame by frame; tolerances of the table at docs/mmd-behavior.md#ik-precision


DANCE = "pose_mmd-anim_初音ミク_realize"


@pytest.fixture(scope="module")
def dance():
    """(distances (F,B), angles in degrees (F,B)) for IK off and on."""
    z = rigs.reference(DANCE)
    model, motion = rigs.model("初音ミク.pmx"), rigs.motion("realize_motion.vmd")
    found = {}
    for on, key in ((False, "global_noik"), (True, "global_ik")):
        m = model.pose(motion, z["frames"], ik=on).bone_matrices
        apart = np.linalg.norm(twin.origins(m, z["rest"]) - z[key][..., :3, 3], axis=-1)
        found[on] = apart, twin.degrees_between(m[..., :3, :3], z[key][..., :3, :3])
    return found


def kinds_of_bones(bones):
    """For each bone "foot", "leg" or "chain" by its nearest ancestor that is a link, else "free"."""
    of_link = {}
    for b in bones:
        kind = "foot" if "つま先" in b.name else "leg" if "足" in b.name else "chain"
        of_link |= {link.bone: kind for link in (b.ik.links if b.ik else ())}

    def kind(i):
        while i >= 0 and i not in of_link:
            i = bones[i].parent
        return of_link[i] if i >= 0 else "free"

    return np.array([kind(i) for i in range(len(bones))])


@pytest.fixture(scope="module")
def kinds():
    return kinds_of_bones(rigs.model("初音ミク.pmx").bones)


def assert_within(values, most, of_most):
    """The largest value and the 99th percentile."""
    assert np.percentile(values, 99) <= of_most
    assert values.max() <= most


def test_a_dance_with_ik_off_equals_the_other_program(dance):
    apart, degrees = dance[False]
    assert apart.max() <= 2e-3
    assert degrees.max() <= 0.01


def test_bones_that_no_solver_moves_equal_the_other_program(dance, kinds):
    apart, degrees = (part[:, kinds == "free"] for part in dance[True])
    assert apart.max() <= 2e-3
    assert degrees.max() <= 0.01


def test_legs_equal_the_other_program(dance, kinds):
    apart, degrees = (part[:, kinds == "leg"] for part in dance[True])
    assert_within(apart, 0.08, 0.02)
    assert_within(degrees, 1, 0.3)


def test_feet_equal_the_other_program(dance, kinds):
    apart, degrees = (part[:, kinds == "foot"] for part in dance[True])
    assert_within(apart, 0.03, 0.01)
    assert_within(degrees, 1, 0.5)


def test_hair_equals_the_other_program(dance, kinds):
    apart, degrees = (part[:, kinds == "chain"] for part in dance[True])
    assert np.percentile(apart, 99) <= 0.1
    assert np.percentile(degrees, 99) <= 1.5


# The legs of a third program, which has a different solver


def distance_left(origins, bones, solver):
    return np.linalg.norm(origins[solver] - origins[bones[solver].ik.target])


def leg_distances(name):
    """(ours, theirs) from effector to goal, for each leg of one reference pose."""
    z = rigs.reference(name)
    model = rigs.model(z["meta"]["model"])
    if z["meta"]["motion"] == "-":
        pose = model.pose_from(z["node_anim_t"], z["node_anim_q"], z["morph_weights"])
    else:
        pose = model.pose(rigs.motion(z["meta"]["motion"]), z["meta"]["frame"])
    ours = twin.origins(pose.bone_matrices, z["node_rest"])
    theirs = z["node_global"][:, :3, 3]
    legs = [i for i, b in enumerate(model.bones) if b.ik and "足" in b.name]
    return [[distance_left(p, model.bones, i) for p in (ours, theirs)] for i in legs]


def test_legs_come_as_close_to_their_goals_as_in_the_third_program():
    names = [n for n in rigs.reference_files("randpose_", "fixvmd_") if "fixvmd-noik" not in n]
    pairs = np.array([pair for name in names for pair in leg_distances(name)])
    assert len(pairs) >= 44
    assert (pairs[:, 0] <= pairs[:, 1] + 0.02).mean() >= 0.98
