# SPDX-License-Identifier: MIT
"""How far a run with a tiny change at its start ends from the run without: docs/physics.md#tiny-changes."""

import mmdskin
import numpy as np
import pytest
from conftest import published_file
from physics.chains import bone_positions

FRAMES = np.arange(101)
RUNS = [
    ("初音ミク.pmx", "test.vmd"),
    ("巡音ルカ.pmx", "realize_motion.vmd"),
    ("miku_v2.pmd", "wavefile_v2.vmd"),
]


def tips(model):
    """Bones that bodies move and that have no child that one moves."""
    moved = {body.bone for body in model.rigid_bodies if body.mode != "follow_bone"}
    return sorted(moved - {model.bones[i].parent for i in moved} - {-1})


def run(model, motion, nudge):
    """(F, N, 3) of the tips, of a model that stands `nudge` beside the origin of the world."""
    transforms = [(*nudge, 0, 0, 0, 1)]
    (pose,) = mmdskin.Simulation([model], [motion], transforms=transforms).pose(FRAMES)
    return bone_positions(model, pose)[:, tips(model)]


@pytest.mark.parametrize(("name", "motion"), RUNS)
def test_a_nudge_moves_no_hair_tip_by_more_than_a_fifth_of_a_unit_in_100_frames(name, motion):
    """It is not 0: joints at their limits tremble, at another time after the smallest change."""
    model = mmdskin.load_model(published_file(name))
    dance = mmdskin.load_motion(published_file(motion))
    still, rng = run(model, dance, (0, 0, 0)), np.random.default_rng(0)
    for size in (1e-12, 1e-6, 1e-4):
        for _ in range(2):
            nudged = run(model, dance, size * rng.normal(size=3))
            assert np.linalg.norm(nudged - still, axis=-1).max() < 0.2
