# SPDX-License-Identifier: MIT
"""Each allocation of the module in turn fails: a MemoryError, and the next call is as good as ever."""

import os
import platform
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
LIBRARY = "./short_memory.so"  # LD_PRELOAD takes no folder whose name has a space
PRELUDE = f'''
import io, sys
sys.path[:0] = {[str(HERE.parent)]!r}
import mmdskin
import numpy as np
from files import pmd_file
from fuzz import seeds
from module.starving import allocations, check_no_leak, starve, starve_python
from physics import hanging, rigs
from sample import model as sample
from sample import motion as sample_motion

old_model_file = pmd_file.write(seeds.leg_of_pmd())
model_file, motion_file = sample.build_sample(), sample_motion.build_motion()
FRAMES = np.arange(40.0)


def load():
    return mmdskin.load_model(model_file), mmdskin.load_motion(motion_file)


def check(model, motion, backend="cpu"):
    """What was made before or after is whole."""
    assert np.array_equal(model.pose(motion, FRAMES)[0], want[0])
    found = mmdskin.skin(model, want, backend=backend).positions
    assert abs(found - skinned).max() <= 1e-4


whole = load()
want = whole[0].pose(whole[1], FRAMES)
skinned = mmdskin.skin(whole[0], want, backend="cpu").positions
'''


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory):
    """The folder of the library."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if platform.libc_ver()[0] != "glibc" or not compiler:
        pytest.skip("to make memory short takes glibc and a C compiler")
    folder = tmp_path_factory.mktemp("short")
    command = [compiler, "-shared", "-fPIC", str(HERE / "short_memory.c"), "-o", LIBRARY]
    subprocess.run(command, check=True, cwd=folder)
    return folder


@pytest.fixture
def testcapi():
    pytest.importorskip("_testcapi", reason="this Python comes without the tests of its C API")


def python(preloaded, script):
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(script)],
        cwd=preloaded,
        env=os.environ | {"LD_PRELOAD": LIBRARY},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def test_loading(preloaded):
    python(
        preloaded,
        """
        starve(lambda: mmdskin.load_model(model_file), 20)
        starve(lambda: mmdskin.load_model(old_model_file), 5)
        starve(lambda: mmdskin.load_motion(motion_file), 3)
        check(*load())
        """,
    )


@pytest.mark.parametrize("threads", [1, 3])
def test_posing(preloaded, threads):
    python(
        preloaded,
        f"""
        def work(model, motion):
            model.pose(motion, FRAMES, threads={threads})

        starve(work, 2, load)
        check(*whole)
        """,
    )


def test_a_pose_again_allocates_nothing(preloaded):
    """What belongs to a model and a motion is kept from the first call on; the result is numpy's."""
    python(
        preloaded,
        """
        model, motion = load()
        pose = lambda frames: model.pose(motion, frames, threads=1)
        assert allocations(lambda: pose(FRAMES)) > 0
        assert allocations(lambda: pose(FRAMES)) == allocations(lambda: pose(3)) == 0
        """,
    )


METHODS = ("mmd", "dual_quaternion", "bulge_free", "bulge_compensated", "centers_of_rotation")


@pytest.mark.parametrize("method", METHODS)
def test_skinning(preloaded, method):
    python(
        preloaded,
        f"""
        def work(model, motion):
            mmdskin.skin(model, want, method={method!r}, tangents=True, backend="cpu")

        starve(work, 3, load)
        check(*whole)
        """,
    )


def test_opengl(gl, preloaded):
    python(
        preloaded,
        """
        def skin(model, motion):
            mmdskin.skin(model, want, backend="gl")

        def draw(model, motion):
            mmdskin.render(model, still, size=(16, 16))

        still = mmdskin.skin(whole[0], want[0][0], backend="cpu")
        starve(skin, 8, load)
        starve(draw, 2, load)
        check(*whole, "gl")
        """,
    )


def test_the_rest(preloaded):
    python(
        preloaded,
        """
        model, motion = whole
        positions, indices, weights = np.zeros((300, 3)), np.zeros((300, 1), int), np.ones((300, 1))
        starve(lambda: mmdskin.Mesh(positions, indices, weights), 3)
        starve(lambda: model.materials_at(np.zeros(len(model.morphs))), 1)
        starve(lambda: motion.unmatched(model), 1)
        starve(lambda: motion.save(io.BytesIO()), 1)
        check(model, motion)
        """,
    )


def test_a_world(preloaded, testcapi):
    python(
        preloaded,
        """
        bodies = [rigs.body(position=(0, 0.9 + 1.9 * i, 0)) for i in range(4)]
        bodies[0] = bodies[0]._replace(mode="follow_bone")
        joints = [rigs.joint(2, 3)]
        place = [[0.1, 0.9, 0, 0, 0, 0, 1]]

        def make():
            return mmdskin.World(bodies, joints, joint_order=[0])

        def look():
            return world.state.tobytes() + world.points.tobytes()

        def read():
            world.state, world.points

        def step():
            world.step(place)

        def assign():
            world.state = state

        starve(make, 4)
        check_no_leak(lambda: starve_python(make, 20))
        world, twin = make(), make()
        for _ in range(3):
            step()
        assert len(world.points)
        state = world.state.tolist()
        for work, least in ((read, 2), (step, 1), (assign, 1)):
            check_no_leak(lambda: starve_python(work, least, look))
        assign()
        twin.state = state
        step(), twin.step(place)
        assert world.state.tobytes() == twin.state.tobytes()
        """,
    )


def test_a_simulation(preloaded, testcapi):
    python(
        preloaded,
        """
        model, motion = hanging.load(hanging.chain_file()), hanging.swing(40)
        moved = np.full((len(model.bones), 3), 0.5), np.full((len(model.bones), 4), 1.0)
        switches = [True] * len(model.bones)

        def make():
            return mmdskin.Simulation(model, motion)

        def look():
            return danced.__getstate__(), walked.__getstate__()

        def pose():
            danced.pose([3, 7.5])

        def read():
            danced.physics, danced.notes, danced.strain, danced.frame

        def save():
            danced.__setstate__(danced.__getstate__())

        def step():
            walked.step(*moved, physics=switches)

        starve(make, 4)
        check_no_leak(lambda: starve_python(make, 4))
        danced, walked, twin = make(), mmdskin.Simulation(model), mmdskin.Simulation(model)
        walked.step()
        start = walked.__getstate__()
        for work, least in ((pose, 5), (read, 2), (save, 2), (step, 5)):
            check_no_leak(lambda: starve_python(work, least, look))
        assert hanging.same(danced.pose([3, 7.5]), model.pose(motion, [3, 7.5], physics=True))
        walked.__setstate__(start)
        twin.step()
        assert hanging.same(walked.step(*moved), twin.step(*moved))
        """,
    )
