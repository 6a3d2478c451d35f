# SPDX-License-Identifier: MIT
"""Work that must not make memory grow, for a fresh interpreter: `leaks.py NAME [WARM ROUNDS]`.

Prints by how many MiB resident memory grew between the first rounds and the last.
"""

import gc
import pickle
import sys
from functools import cache
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import mmdskin  # noqa: E402
import numpy as np  # noqa: E402
from physics import hanging, rigs  # noqa: E402
from sample import model as sample  # noqa: E402
from sample import motion as sample_motion  # noqa: E402

SECTIONS = ["bones", "morphs", "materials", "textures", "display_frames", "rigid_bodies", "joints"]
DATA = sample.build_sample()
COUNTER = count()


def models_loaded_and_dropped():
    mmdskin.load_model(DATA)


def models_read_in_every_corner():
    model = mmdskin.load_model(DATA)
    for name in dir(model):
        if not name.startswith("_"):
            repr(getattr(model, name))
    for section in SECTIONS:
        for record in getattr(model, section):
            repr(record)


def files_refused():
    for size in (0, 10, 1000, len(DATA) // 2, len(DATA) - 40):
        try:
            mmdskin.load_model(DATA[:size])
        except mmdskin.FormatError:
            continue
        raise AssertionError(size)


def meshes_made_and_skinned():
    n = 2000
    mesh = mmdskin.Mesh(
        np.zeros((n, 3)),
        np.zeros((n, 4), "i4"),
        np.ones((n, 4)),
        normals=np.ones((n, 3)),
        morphs=[([0], [[1, 2, 3]])],
    )
    mmdskin.skin(mesh, [np.eye(4)], [0.5], backend="cpu")


def arguments_refused():
    for bad in (
        {"normals": "x"},
        {"sdef": np.zeros(3)},
        {"morphs": [([0], [[1, 2, 3]]), (1, 2)]},
        {"deform": [3]},
        {"tangents": [[1, 2, 3]]},
    ):
        try:
            mmdskin.Mesh(np.zeros((1, 3)), [[0]], [[1]], **bad)
        except (TypeError, ValueError):
            continue
        raise AssertionError(bad)


def worlds_made_and_refused():
    bodies = [rigs.body(position=(i, 0, 0)) for i in range(20)]
    joints = [rigs.joint(i, i + 1) for i in range(19)]
    world = mmdskin.World(bodies, joints, joint_order=range(19))
    world.step()
    world.state = world.state
    repr(world.points)
    for bad in (
        ([rigs.body(mass="x")], []),
        ([rigs.body(shape="cone")], []),
        (bodies, [rigs.joint(0, 99)]),
        (bodies, joints, (0, 1)),
    ):
        try:
            mmdskin.World(bad[0], bad[1], gravity=(0, 0, 0) if len(bad) == 2 else bad[2])
        except (TypeError, ValueError):
            continue
        raise AssertionError(bad)


def simulations_made_and_refused():
    model = hanging.load(hanging.chain_file())
    simulation = mmdskin.Simulation(model, hanging.swing())
    simulation.pose([3, 1])
    pickle.loads(pickle.dumps(simulation))
    repr((simulation.notes, simulation.strain, simulation.frame, simulation.physics))
    mmdskin.Simulation(model).step({"root": ((1, 0, 0), None)})
    for bad in (
        lambda: simulation.step(),
        lambda: simulation.pose(float("nan")),
        lambda: mmdskin.Simulation(model, None, mmdskin.Physics(hz=0)),
        lambda: mmdskin.Simulation(model, None, mmdskin.Physics(gravity="x")),
        lambda: mmdskin.Simulation(model, None, None),
        lambda: model.pose(physics=3),
    ):
        try:
            bad()
        except (TypeError, ValueError):
            continue
        raise AssertionError(bad)


@cache
def model():
    return mmdskin.load_model(DATA)


def models_skinned():
    frames = np.stack([sample.bend(9)] * 2)
    mmdskin.skin(model(), frames, np.ones(len(model().morphs)), backend="cpu")


@cache
def dance():
    return mmdskin.load_motion(sample_motion.build_motion())


@cache
def given():
    frames = np.stack([sample.bend(9)] * 16)
    return mmdskin.skin(model(), frames, tangents=False, backend="cpu")


def frames_made_in_given_arrays():
    """Other frames each time, as an endless dance has them."""
    first = next(COUNTER) % 500
    pose = model().pose(dance(), np.arange(first, first + 16))
    assert mmdskin.skin(model(), pose, out=given(), backend="cpu") is given()


def calls_refused():
    good = sample.bend(9)
    bad_out = mmdskin.Skinned(np.zeros((1, 3), "f4"), None, None)
    for arguments, options in (
        ((good[1:],), {}),
        ((good * np.nan,), {}),
        ((good, [1, 2]), {}),
        ((good,), {"method": "nonsense"}),
        ((good,), {"out": bad_out}),
    ):
        try:
            mmdskin.skin(model(), *arguments, **options)
        except ValueError:
            continue
        raise AssertionError(options)


def models_pickled():
    pickle.loads(pickle.dumps(model()))


def models_skinned_by_gl():
    frames = np.stack([sample.bend(9)] * 4)
    mmdskin.skin(mmdskin.load_model(DATA), frames, backend="gl")


def resident():
    """MiB"""
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def growth(work, warm, rounds):
    for _ in range(warm):
        work()
    before = resident()
    for _ in range(rounds):
        work()
    return resident() - before


if __name__ == "__main__":
    name, *counts = sys.argv[1:]
    warm, rounds = map(int, counts or (10, 1000))
    print(growth(globals()[name], warm, rounds))
