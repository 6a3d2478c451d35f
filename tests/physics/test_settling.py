# SPDX-License-Identifier: MIT
"""Settling: bodies come to rest in the start pose before a run begins."""

import mmdskin
import numpy as np
import pytest
from conftest import published_file
from physics import chains
from physics.chains import PHYSICS, bone_positions

MODELS = ["初音ミク.pmx", "巡音ルカ.pmx", "miku_v2.pmd", "mmt_test_model.pmx"]


# In the first poses of the dances bodies tremble by up to 0.1 for good, so the mean of a second counts.
# After 60 steps strands still swing by 1 to 4.
@pytest.mark.parametrize("motion", [None, "wavefile_v2.vmd", "realize_motion.vmd"])
@pytest.mark.parametrize("name", MODELS)
def test_by_default_bones_are_where_600_steps_have_them(name, motion):
    model = mmdskin.load_model(published_file(name))
    dance = motion and mmdskin.load_motion(published_file(motion))

    def settled(**settings):
        pose = model.pose(dance, 0, physics=mmdskin.Physics(**settings))
        return bone_positions(model, pose)

    long = np.mean([settled(settle=steps) for steps in range(600, 660, 6)], axis=0)
    assert np.linalg.norm(settled() - long, axis=-1).max() < 0.1


def fall(settle, gravity):
    """The way of a strongly damped ball while it settles."""
    file = chains.chain_file((PHYSICS,))
    file.joints = []
    file.rigid_bodies[1].linear_damping = 0.999
    settings = mmdskin.Physics((0, -gravity, 0), settle=settle, additional_damping=False)
    model = chains.load(file)
    ball_position = bone_positions(model, model.pose(None, 0, physics=settings))[1]
    return 20 - ball_position[1]


def test_settling_ends_when_all_bodies_are_at_rest():
    """The ball sinks at 0.0027 units per second, which is rest, or at 0.027, which is not."""
    assert fall(600, 0.02) < 0.002
    speed = way = 0.0
    for _ in range(600):
        speed = (speed + 0.2 / 60) * 0.001 ** (1 / 60)
        way += speed / 60
    assert np.isclose(fall(600, 0.2), way, rtol=1e-3)
