# SPDX-License-Identifier: MIT
"""What docs/methods.md says about each method is true."""

import mmdskin
import pytest
from sample import methods_page
from sample import model as sample

BEND, TWIST = (pose(angle) for _, angle, pose in methods_page.POSES)


@pytest.fixture(scope="module")
def model():
    return mmdskin.load_model(sample.build_sample())


def measures(model, method, matrices):
    out = mmdskin.skin(model, matrices, method=method)
    return methods_page.measures(out.positions, model, matrices)


def test_linear_blending_collapses_a_twisted_limb(model):
    assert measures(model, "linear", TWIST)[1] < 0.1


@pytest.mark.parametrize("method", list(methods_page.METHODS)[1:])
def test_other_methods_keep_the_width_of_a_twisted_limb(model, method):
    volume, narrowest, widest = measures(model, method, TWIST)
    assert min(volume, narrowest) > 0.995
    assert widest < 1.005


def test_dual_quaternions_bulge_at_a_bent_elbow(model):
    assert measures(model, "dual_quaternion", BEND)[2] > 1.05


@pytest.mark.parametrize("method", list(methods_page.METHODS)[2:])
def test_methods_against_bulges_do_not_bulge(model, method):
    volume, narrowest, widest = measures(model, method, BEND)
    assert widest < 1.001
    assert volume > 0.96
    assert narrowest > 0.85
