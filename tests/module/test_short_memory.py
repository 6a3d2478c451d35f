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

HERE = Path(__file__).parent
PRELUDE = f'''
import ctypes, io, sys
sys.path[:0] = {[str(HERE.parent)]!r}
import mmdskin
import numpy as np
from files import pmd_file
from fuzz import seeds
from sample import model as sample
from sample import motion as sample_motion

left = ctypes.c_int.in_dll(ctypes.CDLL(None), "allocations_left")
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


def starve(work, least, prepare=tuple):
    """At least so many allocations fail; each time with what `prepare` makes anew."""
    for count in range(10**4):
        given = prepare()
        left.value = count
        try:
            work(*given)
            break
        except MemoryError as error:
            assert str(error) in ("", "out of memory"), error
        finally:
            spent, left.value = left.value, -1
        work(*given)
    assert spent >= 0 and count >= least, (spent, count)


whole = load()
want = whole[0].pose(whole[1], FRAMES)
skinned = mmdskin.skin(whole[0], want, backend="cpu").positions
'''


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if platform.libc_ver()[0] != "glibc" or not compiler:
        pytest.skip("to make memory short takes glibc and a C compiler")
    library = tmp_path_factory.mktemp("short") / "short_memory.so"
    command = [compiler, "-shared", "-fPIC", str(HERE / "short_memory.c"), "-o", str(library)]
    subprocess.run(command, check=True)
    return str(library)


def python(preloaded, script):
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(script)],
        env=os.environ | {"LD_PRELOAD": preloaded},
        capture_output=True,
        text=True,
        timeout=100,
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
