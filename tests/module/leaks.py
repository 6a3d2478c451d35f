# SPDX-License-Identifier: MIT
"""Functions that must not leak, run in a fresh interpreter: `leaks.py NAME [WARM_UP ROUNDS]`.

Prints how many MiB resident memory grows after the warm-up.
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
from physics import chains, rigs  # noqa: E402
from sample import model as sample  # noqa: E402
from sample import motion as sample_motion  # noqa: E402

PROPERTIES = [
    "bones",
    "morphs",
    "materials",
    "textures",
    "display_frames",
    "rigid_bodies",
    "joints",
]
DATA = sample.build_sample()
COUNTER = count()


def load_models():
    mmdskin.load_model(DATA)


def read_all_of_models():
    model = mmdskin.load_model(DATA)
    for name in dir(model):
        if not name.startswith("_"):
            repr(getattr(model, name))
    for name in PROPERTIES:
        for record in getattr(model, name):
            repr(record)


def refuse_files():
    for size in (0, 10, 1000, len(DATA) // 2, len(DATA) - 40):
        try:
            mmdskin.load_model(DATA[:size])
        except mmdskin.FormatError:
            continue
        raise AssertionError(size)


def skin_new_meshes():
    n = 2000
    mesh = mmdskin.Mesh(
        np.zeros((n, 3)),
        np.zeros((n, 4), "i4"),
        np.ones((n, 4)),
        normals=np.ones((n, 3)),
        morphs=[([0], [[1, 2, 3]])],
    )
    mmdskin.skin(mesh, [np.eye(4)], [0.5], backend="cpu")


def refuse_arguments():
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


def create_and_refuse_worlds():
    bodies = [rigs.body(position=(i, 0, 0)) for i in range(20)]
    joints = [rigs.joint(i, i + 1) for i in range(19)]
    world = mmdskin.World(bodies, joints, joint_order=range(19))
    world = pickle.loads(pickle.dumps(world))
    world.step()
    world.state = world.state
    repr(world.points)
    for bad in (
        {"bodies": [rigs.body(mass="x")]},
        {"bodies": [rigs.body(shape="cone")]},
        {"joints": [rigs.joint(0, 99)]},
        {"gravity": (0, 1)},
        {"wind": "east"},
        {"damping_extra": True, "additional_damping": True},
    ):
        try:
            mmdskin.World(**{"bodies": bodies, "joints": joints} | bad)
        except (TypeError, ValueError):
            continue
        raise AssertionError(bad)


def create_and_refuse_simulations():
    model = chains.load(chains.chain_file())
    gravity = mmdskin.Physics([(0, -98, 0), (9, 0, 0)])
    simulation = mmdskin.Simulation(model, chains.swing(), gravity)
    simulation.pose([3, 1])
    pickle.loads(pickle.dumps(simulation))
    repr((simulation.notes, simulation.strain, simulation.frame, simulation.physics))
    mmdskin.Simulation(model).step({"root": ((1, 0, 0), None)})
    transforms = [(0, 0, 0, 0, 0, 0, 1), (9, 0, 0, 0, 0, 0, 1)]
    group = mmdskin.Simulation(
        [model, model], [chains.swing(), None], gravity, transforms=transforms
    )
    group.pose([3, 1])
    group.step([None, {"root": ((1, 0, 0), None)}], physics=[True, False])
    pickle.loads(pickle.dumps(group))
    repr((group, group.notes, group.strain, group.transforms, group.model, group.motion))
    for bad in (
        lambda: group.step([None, None, None]),
        lambda: group.step([None, [1]]),
        lambda: mmdskin.Simulation([]),
        lambda: mmdskin.Simulation([model, 3]),
        lambda: mmdskin.Simulation([model], [3]),
        lambda: mmdskin.Simulation([model], transforms=[(0,) * 7]),
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


class Exporter:
    """An array that has nothing but DLPack."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **arguments):
        return self._array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def skin_models():
    frames = np.stack([sample.bend(9)] * 2)
    mmdskin.skin(model(), frames, Exporter(np.ones(len(model().morphs))), backend="cpu")


@cache
def dance():
    return mmdskin.load_motion(sample_motion.build_motion())


@cache
def out():
    frames = np.stack([sample.bend(9)] * 16)
    return mmdskin.skin(model(), frames, tangents=False, backend="cpu")


def skin_into_out():
    """Different frames in each round."""
    first = next(COUNTER) % 500
    pose = model().pose(dance(), np.arange(first, first + 16))
    assert mmdskin.skin(model(), pose, out=out(), backend="cpu") is out()


def refuse_calls():
    matrices = sample.bend(9)
    bad_out = mmdskin.Skinned(np.zeros((1, 3), "f4"), None, None)
    for arguments, options in (
        ((matrices[1:],), {}),
        ((matrices * np.nan,), {}),
        ((matrices, [1, 2]), {}),
        ((matrices,), {"method": "nonsense"}),
        ((matrices,), {"out": bad_out}),
    ):
        try:
            mmdskin.skin(model(), *arguments, **options)
        except ValueError:
            continue
        raise AssertionError(options)


@cache
def refused_calls():
    """{name: call}: each fails after it has converted some of its arguments."""
    motion, bones, morphs = dance(), len(model().bones), len(model().morphs)
    pose = model().pose(motion, [0, 1])
    nan = [float("nan")] * morphs
    rows = np.zeros((3, 3), "i2")  # which is converted, as no argument has this type
    simulation = mmdskin.Simulation(model(), motion)
    world = mmdskin.World([rigs.body()], [])
    triangles = {"triangles": [[0, 0, 9]]}
    one = (np.zeros((1, 3)), [[0]], [[1.0]])
    return {
        "pose": lambda: model().pose(motion, [0, np.nan]),
        "pose_from": lambda: model().pose_from(np.zeros((2, bones, 3)), np.ones((3, bones, 4))),
        "pose_from weights": lambda: model().pose_from(np.zeros((bones, 3)), morph_weights=nan),
        "pose_from dict": lambda: model().pose_from({"x": ((0, 0, 0), None)}),
        "locals_of": lambda: model().locals_of(pose.bone_matrices[:, 1:]),
        "transforms": lambda: model().transforms(pose.bone_matrices * 0, "local"),
        "skinning_matrices": lambda: model().skinning_matrices(np.zeros((2, bones, 7))),
        "uvs_at": lambda: model().uvs_at(nan),
        "uvs_at shape": lambda: model().uvs_at([0.0] * (morphs + 1)),
        "uvs_at channel": lambda: model().uvs_at([0.0] * morphs, 9),
        "materials_at": lambda: model().materials_at(nan),
        "materials_at shape": lambda: model().materials_at([0.0] * (morphs + 1)),
        "materials_at batch": lambda: model().materials_at(np.zeros((2, morphs))),
        "texture_factors_at": lambda: model().texture_factors_at(nan),
        "sliders": lambda: model().sliders({model().morphs[0].name: float("nan")}),
        "bone": lambda: model().bone("nobody"),
        "camera_at": lambda: motion.camera_at([0, np.nan]),
        "light_at": lambda: motion.light_at([0, np.nan]),
        "shadow_at": lambda: motion.shadow_at([0, np.nan]),
        "from_tracks": lambda: mmdskin.Motion.from_tracks([("a", [0, 1], [[0, 0, 0]], None, None)]),
        "from_tracks morphs": lambda: mmdskin.Motion.from_tracks(morphs=[("m", [0], [np.nan])]),
        "from_arrays": lambda: mmdskin.Model.from_arrays(bones=[("a", "", (0, 0, 0), 7)]),
        "from_arrays record": lambda: mmdskin.Model.from_arrays(bones=[{"name": "a", "ik": 1}]),
        "replace": lambda: model().replace(triangles=[[0, 0, 10**6]]),
        "from_poses": lambda: mmdskin.Motion.from_poses(model(), pose, tolerance=-1),
        "from_locals": lambda: mmdskin.Motion.from_locals(
            model(), np.zeros((2, bones, 3)), np.ones((3, bones, 4))
        ),
        "from_camera": lambda: mmdskin.Motion.from_camera(
            mmdskin.Camera(*[np.zeros((2, 3))] * 3, [30.0, np.nan])
        ),
        "from_camera frames": lambda: mmdskin.Motion.from_camera(motion.camera_at([0]), rows),
        "from_camera cuts": lambda: mmdskin.Motion.from_camera(motion.camera_at([0]), cuts=rows),
        "from_poses frames": lambda: mmdskin.Motion.from_poses(model(), pose, frames=rows),
        "from_locals frames": lambda: mmdskin.Motion.from_locals(
            model(), np.zeros((2, bones, 3)), np.ones((2, bones, 4)), frames=rows
        ),
        "save": lambda: motion.save("/nowhere/at all.vmd"),
        "load": lambda: mmdskin.load_motion(b"Vocaloid Motion Data 0002" + bytes(30)),
        "mesh": lambda: mmdskin.Mesh(*one, **triangles),
        "mesh morphs": lambda: mmdskin.Mesh(*one, morphs=[([0], [[0, 0, 0]]), ([0, 0], [[0]])]),
        "skin": lambda: mmdskin.skin(model(), pose.bone_matrices, nan, backend="cpu"),
        "skin method": lambda: mmdskin.skin(mmdskin.Mesh(*one), [np.eye(4)], method="bulge_free"),
        "render": lambda: mmdskin.render(model(), pose.bone_matrices[0, :, :3], size=(4, 4)),
        "simulation": lambda: simulation.pose([0, np.nan]),
        "simulation state": lambda: simulation.__setstate__(b"x"),
        "world state": lambda: setattr(world, "state", b"x"),
        "world step": lambda: world.step(count="x"),
        "world joints": lambda: mmdskin.World([rigs.body()], [rigs.joint(0, 9)]),
    }


def leaking_calls(rounds=100, attempts=12):
    """Names of refused calls that leave objects or memory behind, each time they are repeated."""

    def grows(call):
        gc.collect()
        blocks, memory = sys.getallocatedblocks(), resident()
        for _ in range(rounds):
            try:
                call()
            except (TypeError, ValueError, KeyError, OSError, RuntimeError):
                continue
            raise AssertionError("not refused")
        gc.collect()
        return sys.getallocatedblocks() - blocks > rounds / 2 or resident() - memory > 1

    # Caches of Python's own modules stop growing, leaks do not.
    calls = refused_calls().items()
    return [name for name, call in calls if all(grows(call) for _ in range(attempts))]


def pickle_models():
    pickle.loads(pickle.dumps(model()))


def skin_models_by_gl():
    frames = np.stack([sample.bend(9)] * 4)
    mmdskin.skin(mmdskin.load_model(DATA), frames, backend="gl")


def resident():
    """MiB"""
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def growth(work, warm_up, rounds):
    for _ in range(warm_up):
        work()
    before = resident()
    for _ in range(rounds):
        work()
    return resident() - before


if __name__ == "__main__":
    name, *counts = sys.argv[1:]
    if name == "leaking_calls":
        sys.exit(", ".join(leaking_calls()) or None)
    warm_up, rounds = map(int, counts or (10, 1000))
    print(growth(globals()[name], warm_up, rounds))
