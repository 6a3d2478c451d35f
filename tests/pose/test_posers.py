# SPDX-License-Identifier: MIT
"""The data that pose() keeps of a model and a motion between calls: it affects memory only."""

import subprocess
import sys
import threading
from pathlib import Path

import mmdskin
import numpy as np
import pytest
from files import motion_file as mf
from files import pmx_file as pmx
from judges import pose_rigs as rigs
from judges.pose_rigs import bone, ik

TESTS = Path(__file__).resolve().parent.parent


def rope(count):
    """A model file: a chain of bones whose end is moved by IK."""
    bones = [bone(str(i), (0, 1, 0), i - 1) for i in range(count)]
    return pmx.write(rigs.source(*bones, bone("goal", ik=ik(count - 1, [count - 2]))))


def swing(count, angle):
    """A motion that rotates each bone slightly more each frame."""
    turn = (0, 0, np.sin(angle / 2), np.cos(angle / 2))
    return rigs.motion_of(
        *(
            mf.BoneKey(str(i), f, (0, f / 30, 0), turn if f else (0, 0, 0, 1))
            for i in range(count)
            for f in (0, 30)
        )
    )


def test_a_later_call_equals_that_of_a_fresh_model():
    data, motion = rope(20), swing(20, 1)
    model = mmdskin.load_model(data)
    for frame in (0, 29, 3.5, 30, 1, -2, 1e6, 15):
        expected = mmdskin.load_model(data).pose(motion, frame).bone_matrices
        assert (model.pose(motion, frame).bone_matrices == expected).all()


def test_local_values_of_a_call_do_not_affect_the_next():
    model = mmdskin.load_model(rope(5))
    expected = model.pose()
    model.pose_from(np.ones((6, 3)), np.tile([1.0, 0, 0, 0], (6, 1)))
    assert (model.pose().bone_matrices == expected.bone_matrices).all()


def test_alternating_motions_each_give_their_own_pose():
    data = rope(10)
    motions = [swing(10, angle) for angle in np.linspace(0, 2, 30)]
    expected = [mmdskin.load_model(data).pose(motion, 20).bone_matrices for motion in motions]
    assert len({part.tobytes() for part in expected}) == len(motions)
    model = mmdskin.load_model(data)
    for _ in range(3):
        for motion, part in zip(motions, expected, strict=True):
            assert (model.pose(motion, 20).bone_matrices == part).all()


def test_a_new_motion_at_the_address_of_a_freed_one_is_bound_again():
    data = rope(10)
    model = mmdskin.load_model(data)
    for angle in np.linspace(0, 2, 50):
        motion = swing(10, angle)  # mostly at the address of the previous one
        expected = mmdskin.load_model(data).pose(motion, 20).bone_matrices
        assert (model.pose(motion, 20).bone_matrices == expected).all()
        del motion


def test_threads_share_models_and_motions_that_are_created_and_freed():
    data, frames = rope(40), np.arange(31)
    model, motions = mmdskin.load_model(data), [swing(40, angle) for angle in (0.1, 0.5, 1)]
    expected = [mmdskin.load_model(data).pose(motion, frames).bone_matrices for motion in motions]
    failures = []

    def work(seed):
        r = np.random.default_rng(seed)
        for _ in range(60):
            i, f = int(r.integers(3)), int(r.integers(31))
            mine = mmdskin.load_model(data) if r.random() < 0.2 else model
            motion = swing(40, (0.1, 0.5, 1)[i]) if r.random() < 0.2 else motions[i]
            if (mine.pose(motion, f).bone_matrices != expected[i][f]).any():
                failures.append((i, f))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(12)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failures


# Memory, in fresh interpreters. A pair keeps 8 MiB here.

HEAD = f"""
import sys
sys.path[:0] = [{str(TESTS)!r}, {str(TESTS / "module")!r}]
import mmdskin, numpy as np
from leaks import resident
from pose.test_posers import rope, swing
data = rope(25000)
model = mmdskin.load_model(data)
def use(model, motion):
    model.pose(motion)
use(model, swing(1, 1))
before = resident()
"""


@pytest.mark.parametrize(
    "work",
    [
        "for i in range(20): use(model, swing(1, 1))",  # freed with the motion
        "motion = swing(1, 1)\nfor i in range(20): use(mmdskin.load_model(data), motion)",
        "motion = [swing(1, 1) for i in range(6)]\nfor m in motion: use(model, m)\ndel motion, m",
    ],
)
def test_kept_data_is_freed_with_the_motion_and_with_the_model(work):
    assert growth(work) < 12


def test_the_data_kept_of_many_motions_is_bounded():
    """For all forty motions it would be 320 MiB."""
    work = "motions = [swing(1, 1) for i in range(40)]\nfor motion in motions: use(model, motion)"
    assert growth(work) < 80


def growth(work):
    """MiB still allocated after the work."""
    code = HEAD + work + "\nprint(resident() - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)
