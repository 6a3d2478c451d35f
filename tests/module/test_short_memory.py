# SPDX-License-Identifier: MIT
"""Each allocation of the module fails in turn: MemoryError, and the next call works."""

import os
import platform
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
LIBRARY = "./short_memory.so"  # LD_PRELOAD does not support spaces in paths
PRELUDE = f'''
import io, sys
sys.path[:0] = {[str(HERE.parent)]!r}
import mmdskin
import numpy as np
from files import pmd_file
from fuzz import seeds
from module.starving import allocations, check_no_leak, starve, starve_python
from physics import chains, rigs
from sample import model as sample
from sample import motion as sample_motion

old_model_file = pmd_file.write(seeds.leg_of_pmd())
model_file, motion_file = sample.build_sample(), sample_motion.build_motion()
FRAMES = np.arange(40.0)


def load():
    return mmdskin.load_model(model_file), mmdskin.load_motion(motion_file)


def check(model, motion, backend="cpu"):
    """Objects from before and after the failure work."""
    assert np.array_equal(model.pose(motion, FRAMES)[0], expected[0])
    found = mmdskin.skin(model, expected, backend=backend).positions
    assert abs(found - skinned).max() <= 1e-4


intact = load()
expected = intact[0].pose(intact[1], FRAMES)
skinned = mmdskin.skin(intact[0], expected, backend="cpu").positions
'''


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory):
    """The folder that contains the library."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if platform.libc_ver()[0] != "glibc" or not compiler:
        pytest.skip("failing allocations need glibc and a C compiler")
    folder = tmp_path_factory.mktemp("short")
    command = [compiler, "-shared", "-fPIC", str(HERE / "short_memory.c"), "-o", LIBRARY]
    subprocess.run(command, check=True, cwd=folder)
    return folder


@pytest.fixture
def testcapi():
    pytest.importorskip("_testcapi", reason="this Python has no _testcapi")


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
        check(*intact)
        """,
    )


def test_posing_again_allocates_nothing(preloaded):
    """The first call caches what a model and a motion need; numpy allocates the result."""
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
            mmdskin.skin(model, expected, method={method!r}, tangents=True, backend="cpu")

        starve(work, 3, load)
        check(*intact)
        """,
    )


def test_opengl(gl, preloaded):
    python(
        preloaded,
        """
        def skin(model, motion):
            mmdskin.skin(model, expected, backend="gl")

        def draw(model, motion):
            mmdskin.render(model, still, size=(16, 16))

        still = mmdskin.skin(intact[0], expected[0][0], backend="cpu")
        starve(skin, 8, load)
        starve(draw, 2, load)
        check(*intact, "gl")
        """,
    )


def test_other_calls(preloaded):
    python(
        preloaded,
        """
        model, motion = intact
        positions, indices, weights = np.zeros((300, 3)), np.zeros((300, 1), int), np.ones((300, 1))
        starve(lambda: mmdskin.Mesh(positions, indices, weights), 3)
        starve(lambda: model.materials_at(np.zeros(len(model.morphs))), 1)
        starve(lambda: model.texture_factors_at(np.zeros((2, len(model.morphs)))), 1)
        starve(lambda: motion.save(io.BytesIO()), 1)
        arrays = "positions triangles bone_indices bone_weights".split()
        records = "bones materials textures morphs display_frames rigid_bodies joints".split()
        given = {name: getattr(model, name) for name in arrays + records}
        starve(lambda: mmdskin.Model.from_arrays(**given), 20)
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
        transforms = [[0.1, 0.9, 0, 0, 0, 0, 1]]

        def make():
            return mmdskin.World(bodies, joints, joint_order=[0])

        def look():
            return world.state.tobytes() + world.points.tobytes()

        def read():
            world.state, world.points

        def step():
            world.step(transforms)

        def assign():
            world.state = state

        def save():
            world.__setstate__(world.__getstate__())
            world.__getnewargs_ex__()

        starve(make, 4)
        check_no_leak(lambda: starve_python(make, 20))
        world, twin = make(), make()
        for _ in range(3):
            step()
        assert len(world.points)
        state = world.state.tolist()
        for work, at_least in ((read, 2), (step, 1), (assign, 1), (save, 20)):
            check_no_leak(lambda: starve_python(work, at_least, look))
        assign()
        twin.state = state
        step(), twin.step(transforms)
        assert world.state.tobytes() == twin.state.tobytes()
        """,
    )


def test_functions_of_models_and_motions(preloaded, testcapi):
    """Other exceptions of the same call must not hide that memory is short."""
    python(
        preloaded,
        """
        model, motion = load()
        bones, morphs = len(model.bones), np.zeros(len(model.morphs))
        names = [bone.name for bone in model.bones]
        own = mmdskin.Motion.from_tracks([("a", [0], None, None, None)], [("m", [0], [1])])
        chain = chains.load(chains.chain_file())
        positions, dicts = np.zeros((3, 3)), [{"name": "a", "ik": (0, 1, 1.0, [(0,)])}]
        places = {names[0]: ((0, 0, 0), None), names[1]: (None, np.ones((2, 4)))}
        pose, camera = model.pose(motion, [0, 1]), motion.camera_at([0, 1])
        for work, at_least in (
            (lambda: model.sliders({model.morphs[0].name: 0.5}), 5),
            (lambda: model.pose_from(places, morph_weights=morphs), 10),
            (lambda: model.locals_of(pose), 3),
            (lambda: load()[0].bones["センター"], 20),
            (lambda: model.skinning_matrices(model.transforms(pose, "local"), "local"), 4),
            (lambda: model.uvs_at(morphs), 1),
            (lambda: model.materials_at(morphs), 10),
            (lambda: (model.__reduce__(), motion.__reduce__(), own.__reduce__()), 10),
            (lambda: mmdskin.Motion.from_poses(model, pose), 10),
            (lambda: chain.replace(name="new"), 20),
            (lambda: mmdskin.Model.from_arrays(positions, bones=dicts).__reduce__(), 20),
            (lambda: mmdskin.Motion.from_camera(camera), 5),
            (lambda: motion.camera_at([0, 1]), 3),
        ):
            check_no_leak(lambda: starve_python(work, at_least))
        """,
    )


def test_a_simulation(preloaded, testcapi):
    python(
        preloaded,
        """
        model, motion = chains.load(chains.chain_file()), chains.swing(40)
        moved = np.full((len(model.bones), 3), 0.5), np.full((len(model.bones), 4), 1.0)
        physics, gravity = [True] * len(model.bones), [(0, -98, 0)] * 3

        def make():
            return mmdskin.Simulation(model, motion, mmdskin.Physics(gravity))

        def look():
            return played.__getstate__(), stepped.__getstate__()

        def pose():
            played.pose([3, 7.5])

        def read():
            played.physics, played.notes, played.strain, played.frame

        def save():
            played.__setstate__(played.__getstate__())

        def step():
            stepped.step(*moved, physics=physics)

        starve(make, 4)
        check_no_leak(lambda: starve_python(make, 4))
        played, stepped, twin = make(), mmdskin.Simulation(model), mmdskin.Simulation(model)
        stepped.step()
        start = stepped.__getstate__()
        for work, at_least in ((pose, 5), (read, 2), (save, 2), (step, 5)):
            check_no_leak(lambda: starve_python(work, at_least, look))
        assert chains.same(played.pose([3, 7.5]), model.pose(motion, [3, 7.5], physics=True))
        stepped.__setstate__(start)
        twin.step()
        assert chains.same(stepped.step(*moved), twin.step(*moved))
        """,
    )


def test_a_simulation_of_two_models(preloaded, testcapi):
    python(
        preloaded,
        """
        model, motion = chains.load(chains.chain_file()), chains.swing(40)
        transforms = [(0, 0, 0, 0, 0, 0, 1), (3, 0, 0, 0, 0, 0, 1)]
        moved = [{"root": ((1, 0, 0), None)}, None]

        def make():
            return mmdskin.Simulation([model, model], [None, motion], transforms=transforms)

        def look():
            return played.__getstate__(), stepped.__getstate__()

        def pose():
            played.pose([3, 7.5])

        def read():
            played.model, played.motion, played.transforms, played.notes, played.strain, repr(played)

        def step():
            stepped.step(moved, physics=[True, [True] * len(model.bones)])

        starve(make, 4)
        check_no_leak(lambda: starve_python(make, 4))
        played, stepped, twin = make(), make(), make()
        stepped.step()
        start = stepped.__getstate__()
        for work, at_least in ((pose, 5), (read, 4), (step, 5)):
            check_no_leak(lambda: starve_python(work, at_least, look))
        assert all(map(chains.same, played.pose(9), make().pose(9)))
        stepped.__setstate__(start)
        twin.step()
        assert all(map(chains.same, stepped.step(moved), twin.step(moved)))
        """,
    )
