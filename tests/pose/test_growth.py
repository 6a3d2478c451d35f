# SPDX-License-Identifier: MIT
"""The time to load and pose is proportional to the file, even for hostile rigs."""

import mmdskin
import pytest
from files import motion_file as mf
from files import pmx_file as pmx
from judges import pose_rigs as rigs
from judges.growth import MOST, growth
from judges.pose_rigs import bone, ik


def chain(n):
    """Every bone moves all later bones."""
    return [bone(str(i), (0, 1, 0), i - 1, ik=ik(max(i - 1, 0), [])) for i in range(n)]


def loose(n):
    return [bone(str(i), ik=ik((i + 1) % n, [])) for i in range(n)]


def rope(n):
    """Solvers on the links of a chain; each needs all its iterations."""
    return [
        bone(str(i), (0, 1, 0), i - 1, ik=ik((i + 1) % n, [max(i - 1, 0)], 1000, 1e-6))
        for i in range(n)
    ]


def leaves(n):
    """Solvers that move little and read a long chain."""
    half = n // 2
    tips = [
        bone(f"tip {i}", (0, 1, 0), half - 1, ik=ik(half + (i + 1) % half, [])) for i in range(half)
    ]
    return [bone(str(i), (0, 1, 0), i - 1) for i in range(half)] + tips


def crowded(n):
    """As many links as a solver accepts, each with a thousand descendants."""
    tail = [bone(f"tail {i}", (0, 1, 0), i - 1) for i in range(1000)]
    links = [i % 1000 for i in range(250)]
    return tail + [bone(str(i), ik=ik(999, links)) for i in range(n // 40)]


RIGS = [chain, loose, rope, leaves, crowded]


@pytest.mark.parametrize("rig", RIGS)
def test_loading_grows_with_the_file(rig):
    def work(n):
        data = pmx.write(rigs.source(*rig(n)))
        return lambda: mmdskin.load_model(data)

    assert growth(work) < MOST


@pytest.mark.parametrize("rig", RIGS)
def test_posing_grows_with_the_file(rig):
    def work(n):
        return mmdskin.load_model(pmx.write(rigs.source(*rig(n)))).pose

    assert growth(work) < MOST


def test_posing_by_ik_switches_grows_with_their_names():
    """Names are looked up by the first pose of a motion; every pose reads their switches."""

    def work(n):
        states = [mf.PropertyKey(0, 1, [(str(i), i % 2) for i in range(n)])]
        model = mmdskin.load_model(pmx.write(rigs.source(*loose(n))))
        motion = rigs.motion_of(properties=states)
        return lambda: model.pose(motion, 0)

    assert growth(work) < MOST


def test_binding_ik_switches_grows_with_their_names():
    """Every call looks them up."""

    def work(n):
        data = pmx.write(rigs.source(*loose(n)))
        states = [mf.PropertyKey(0, 1, [(str(i), i % 2) for i in range(n)])]
        model, motion = mmdskin.load_model(data), rigs.motion_of(properties=states)
        return lambda: motion.unmatched(model)

    assert growth(work) < MOST
