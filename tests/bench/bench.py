# SPDX-License-Identifier: MIT
"""`make bench`: the speed table and build/bench.json. Compare only ratios within one run.

Compared calls alternate, and the best round of each counts, as Python's timeit advises: slower
rounds measure what else the machine was doing. Limits are printed beside the values; nothing fails.
"""

import io
import json
import os
import pickle
import platform
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None

import mmdskin
import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/blender"), str(ROOT / "tests/examples")]

import blender_rows  # noqa: E402
import examples_python  # noqa: E402
import two_cores  # noqa: E402
from files import locations  # noqa: E402
from judges import twin  # noqa: E402
from retarget import bodies  # noqa: E402
from retarget.rigs import humanoid  # noqa: E402
from sample import model as sample  # noqa: E402
from sample import motion as sample_motion  # noqa: E402

MODEL = locations.MODELS / "巡音ルカ.pmx"
SMALL_MODEL = locations.MODELS / "初音ミク.pmx"
MOTION = locations.MODELS / "realize_motion.vmd"
BDEF4, SDEF, QDEF = 2, 3, 4
GL_FRAMES = 16
# a dance: number of frames, frames per block of a thread, threads
DANCE, BLOCK, THREADS = 1000, 10, 2
BATCH, THREAD_SECONDS = 64, 10


def best(calls, rounds=31):
    """Seconds of each call in its best round; the calls alternate."""
    times = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name] = min(times[name], time.perf_counter() - start)
    return times


def poses(bones, frames, rng):
    """Rigid matrices (F,B,4,4) of moderate rotations."""
    m = np.tile(np.eye(4), (frames, bones, 1, 1))
    axis = rng.normal(size=(frames, bones, 3))
    axis /= np.linalg.norm(axis, axis=-1, keepdims=True)
    half = rng.uniform(0, np.radians(40), (frames, bones, 1))
    m[..., :3, :3] = twin.quaternion_matrix(np.concatenate([axis * np.sin(half), np.cos(half)], -1))
    m[..., :3, 3] = rng.uniform(-2, 2, (frames, bones, 3))
    return m.astype(np.float32)


def variant(model, kind, rng):
    """The model with all vertices of one type: BDEF4 with four bones each; the other types get a
    second bone where there was only one."""
    indices, weights = model.bone_indices.copy(), model.bone_weights.copy()
    if kind == BDEF4:
        indices = (indices[:, :1] + np.arange(4)) % len(model.bones)
        weights = rng.uniform(0.1, 1, indices.shape)
    single = indices[:, 1] < 0
    indices[single, 1] = np.where(indices[single, 0] > 0, indices[single, 0] - 1, 1)
    weights[single, :2] = 0.75, 0.25
    center = model.positions * np.float32(0.9)
    sdef = np.stack([center, center - np.float32(0.5), center + np.float32(0.5)], 1)
    return mmdskin.Mesh(
        model.positions,
        indices,
        weights,
        normals=model.normals,
        deform=np.full(len(indices), kind, np.uint8),
        sdef=sdef,
        triangles=model.triangles,
        segments=model.segments,
        parents=[bone.parent for bone in model.bones],
    )


def skin_call(mesh, matrices, backend, method="mmd"):
    out = mmdskin.skin(mesh, matrices, backend=backend, method=method)
    return lambda: mmdskin.skin(mesh, matrices, backend=backend, method=method, out=out)


def copy_call(vertices):
    """Copies as many bytes as skinning writes: the lower bound for any skinning."""
    source, target = np.ones((2, vertices, 3), np.float32), np.ones((2, vertices, 3), np.float32)
    return lambda: np.copyto(target, source)


def copy_rows(model, rng):
    """Cost relative to a copy in the same run, which cancels the speed of the machine's memory."""
    meshes = [("as it is", model, model, 2.6)]
    if SMALL_MODEL.exists():
        small = mmdskin.load_model(SMALL_MODEL)
        meshes.append((SMALL_MODEL.stem, small, small, 3))
    for name, kind, bar in (("BDEF4", BDEF4, 4.9), ("SDEF", SDEF, 5.5), ("QDEF", QDEF, 5)):
        meshes.append((f"all {name}", variant(model, kind, rng), model, bar))
    for what, mesh, skeleton, bar in meshes:
        matrices, vertices = poses(len(skeleton.bones), 1, rng)[0], len(skeleton.positions)
        calls = {"skin": skin_call(mesh, matrices, "cpu"), "copy": copy_call(vertices)}
        seconds = best(calls, 301)
        yield f"skin, {what}, cpu", seconds["skin"] / seconds["copy"], "copies", "<=", bar


def cpu_rows(model, rng):
    matrices = poses(len(model.bones), 1, rng)[0]
    calls = {
        "scalar": skin_call(model, matrices, "cpu:scalar"),
        "mixed": skin_call(model, matrices, "cpu"),
        "sdef": skin_call(variant(model, SDEF, rng), matrices, "cpu"),
        "qdef": skin_call(variant(model, QDEF, rng), matrices, "cpu"),
    }
    ns = {k: t / len(model.positions) * 1e9 for k, t in best(calls, 101).items()}
    yield "skin, scalar", ns["scalar"], "ns/vertex", None, None
    yield "skin, cpu", ns["mixed"], "ns/vertex", None, None
    yield "skin, cpu faster than scalar", ns["scalar"] / ns["mixed"], "x", ">=", 3.5
    yield "skin, all SDEF, cpu", ns["sdef"], "ns/vertex", None, None
    yield "skin, all SDEF against scalar", ns["sdef"] / ns["scalar"], "x", "<=", 1
    yield "skin, all QDEF, cpu", ns["qdef"], "ns/vertex", None, None
    yield "skin, all QDEF against scalar", ns["qdef"] / ns["scalar"], "x", "<=", 1
    for name in ("sse2", "avx2", "avx512", "neon"):
        try:
            call = skin_call(model, matrices, f"cpu:{name}")
        except mmdskin.BackendError:
            continue
        t = best({name: call}, 51)[name]
        yield f"skin, cpu:{name}", t / len(model.positions) * 1e9, "ns/vertex", None, None


def keep(call, count):
    """Calls it so many times and keeps the results, whose memory is then new each time."""
    return lambda: [call() for _ in range(count)]


def result_rows(model, motion):
    """Calls as one writes them first, beside the fastest that there is."""
    pose, poses = (model.pose(motion, frames) for frames in (130, np.arange(BATCH)))
    for what, one, kept, dropped_bar in (
        ("", pose, 64, 1.15),
        (f", {BATCH} frames", poses, 3, 1.3),
    ):
        new = partial(mmdskin.skin, model, one, backend="cpu", threads=1)
        shape = new().positions.shape

        def into_empty(new=new, shape=shape):
            empty = (np.empty(shape, np.float32) for _ in range(2))
            return new(out=mmdskin.Skinned(*empty, None))

        calls = {
            "out": partial(new, out=new()),
            "new": new,
            "kept": keep(new, kept),
            "empty": keep(into_empty, kept),
        }
        t = best(calls, 101 if one is pose else 9)
        ns = t["new"] / np.prod(shape[:-1]) * 1e9
        yield f"skin{what}, new arrays", ns, "ns/vertex", None, None
        yield "  dropped, against out=", t["new"] / t["out"], "x", "<=", dropped_bar
        yield "  kept, against np.empty and out=", t["kept"] / t["empty"], "x", "<=", 1.1
    for what, call in (
        ("pose", partial(model.pose, motion, np.arange(BATCH))),
        ("locals_of", partial(model.locals_of, poses)),
    ):
        yield f"  {what}, {BATCH} frames, new pages of memory", new_pages(call), "", "<=", 1


def new_pages(call, rounds=20):
    """How many pages a call touches for the first time, once results have been dropped before."""
    if resource is None:
        return 0
    for _ in range(3):
        call()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(rounds):
        call()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / rounds


def save_durably(data, path):
    """What it takes to replace a file so that it has its old contents or the new ones."""
    with open(f"{path}.new", "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.new", path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def model_rows(data):
    """Calls on whole models, beside those that do the least for the same result."""
    model = mmdskin.load_model(data)
    bones = len(model.bones)
    arrays = np.zeros((bones, 3), np.float32), np.tile(np.float32([0, 0, 0, 1]), (bones, 1))
    named = {bone.name: ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)) for bone in model.bones}

    with tempfile.TemporaryDirectory() as folder:
        groups = (
            (
                31,
                {
                    "load": lambda: mmdskin.load_model(data),
                    "replace": lambda: model.replace(name="a"),
                    "load, save": lambda: mmdskin.load_model(data).save(io.BytesIO()),
                    "load, pickle": lambda: pickle.dump(mmdskin.load_model(data), io.BytesIO()),
                },
            ),
            (
                101,
                {
                    "save": lambda: model.save(io.BytesIO()),
                    "pickle": lambda: pickle.dump(model, io.BytesIO()),
                },
            ),
            (
                31,
                {
                    "to path": lambda: model.save(f"{folder}/a.pmx"),
                    "durably": lambda: save_durably(data, f"{folder}/b.pmx"),
                },
            ),
            (
                301,
                {
                    "dict": lambda: model.pose_from(named),
                    "arrays": lambda: model.pose_from(*arrays),
                },
            ),
        )
        t = {what: s for rounds, calls in groups for what, s in best(calls, rounds).items()}
    yield "Model.replace, of load_model", t["replace"] / t["load"], "x", "<=", 1.5
    yield "save, of pickle", t["save"] / t["pickle"], "x", "<=", 2
    first = t["load, save"] / t["load, pickle"]
    yield "  the first time, both with load_model", first, "x", "<=", 2
    yield "  to a path, of a file with two fsync", t["to path"] / t["durably"], "x", "<=", 2
    yield "pose_from, dict of all bones, of arrays", t["dict"] / t["arrays"], "x", "<=", 6


def first_rows(data, motion, rounds=31):
    """What the first calls on a model take more than the next, as they prepare the mesh."""
    pose, times = mmdskin.load_model(data).pose(motion, 130), {}
    for _ in range(rounds):
        model = None
        for what in ("load", "first", "next"):
            start = time.perf_counter()
            if what == "load":
                model = mmdskin.load_model(data)
            else:
                mmdskin.skin(model, pose)
            times[what] = min(times.get(what, np.inf), time.perf_counter() - start)
    yield "first skin, more than the next", (times["first"] - times["next"]) * 1e3, "ms", None, None
    yield "  of load_model", (times["first"] - times["next"]) / times["load"], "x", "<=", 1.5


def method_rows(model, rng):
    """The methods against bulges, relative to the deform type that does the same work."""
    matrices = poses(len(model.bones), 1, rng)[0]
    sdef, qdef = variant(model, SDEF, rng), variant(model, QDEF, rng)
    calls = {"sdef": skin_call(sdef, matrices, "cpu"), "qdef": skin_call(qdef, matrices, "cpu")}
    bars = {
        "centers_of_rotation": ("sdef", 1.1),
        "bulge_compensated": ("qdef", 1.15),
        "bulge_free": ("qdef", 1.7),
    }
    for method in bars:
        calls[method] = skin_call(qdef, matrices, "cpu", method)
    times = best(calls, 101)
    for method, (beside, most) in bars.items():
        ratio = times[method] / times[beside]
        yield f"skin, {method} against all {beside.upper()}", ratio, "x", "<=", most
    data = MODEL.read_bytes()
    made = []
    for _ in range(9):
        fresh = mmdskin.load_model(data)
        start = time.perf_counter()
        _ = fresh.centers_of_rotation
        made.append(time.perf_counter() - start)
    yield "centers of rotation, computed", min(made) * 1e3, "ms", "<=", 30


def gl_rows(model, rng):
    gl = next(backend for backend in mmdskin.backends() if backend.name == "gl")
    if not gl.available:
        print(f"no OpenGL: {gl.reason}")
        return
    frames = poses(len(model.bones), GL_FRAMES, rng)
    t = best({"gl": skin_call(model, frames, "gl")}, 15)["gl"]
    per_vertex = t / (GL_FRAMES * len(model.positions)) * 1e9
    yield f"skin, gl, {GL_FRAMES} frames, read back", per_vertex, "ns/vertex", "<=", 45


def render_rows(model, motion):
    if not next(backend for backend in mmdskin.backends() if backend.name == "gl").available:
        return
    pose = model.pose(motion, np.arange(GL_FRAMES) * 30)
    skinned = mmdskin.skin(model, pose)
    camera = mmdskin.Camera((0, 10, -45), (0, 10, 0), (0, 1, 0), 30)
    edges, look = {"edges": True}, {"look": "mmd"}
    wanted = {
        "image": {},
        "image, edges": edges,
        "image, edges, 2 x 2 samples": edges | {"samples": 2},
        "depth, normals, triangles": {"want": ("depth", "normals", "triangles")},
        "MMD's look": look,
        "MMD's look, edges": look | edges,
        "MMD's look, ground shadow": look | {"ground_shadow": True},
        "MMD's look, self-shadow": look | {"self_shadow": True},
        "MMD's look, skinned before": look | {"camera": camera},
    }
    calls = {
        what: (lambda options=options: mmdskin.render(model, skinned, **options))
        for what, options in wanted.items()
    }
    calls["MMD's look, of a Pose"] = lambda: mmdskin.render(model, pose, camera=camera, **look)
    seconds = best(calls, 9)
    for what, t in seconds.items():
        yield f"render, 512 x 512, {what}", GL_FRAMES / t, "frames/s", None, None
    for what, beside, most in (
        ("MMD's look", "image", 1.25),
        ("MMD's look, edges", "image, edges", 1.25),
        ("MMD's look, ground shadow", "image", 1.5),
        ("MMD's look, self-shadow", "MMD's look", 2.2),
    ):
        yield f"  {what} against {beside}", seconds[what] / seconds[beside], "x", "<=", most


def load_rows(data):
    t = best({"load": lambda: mmdskin.load_model(data)}, 31)["load"]
    yield f"load_model, {len(data) / 1e6:.1f} MB", t * 1e3, "ms", "<=", 2


def motion_rows(data):
    t = best({"load": lambda: mmdskin.load_motion(data)}, 31)["load"]
    yield f"load_motion, {len(data) / 1e6:.1f} MB", t * 1e3, "ms", "<=", 10


def pose_rows(model, motion):
    frames = np.arange(DANCE)

    def one_by_one():
        for frame in frames:
            model.pose(motion, frame)

    calls = {
        "on": lambda: model.pose(motion, frames, threads=1),
        "off": lambda: model.pose(motion, frames, ik=False, threads=1),
        "single": one_by_one,
    }
    if SMALL_MODEL.exists():
        small = mmdskin.load_model(SMALL_MODEL)
        calls["small"] = lambda: small.pose(motion, frames, threads=1)
    us = {k: t / DANCE * 1e6 for k, t in best(calls, 25).items()}
    yield f"pose, {DANCE} frames per call, IK on", us["on"], "us/frame", "<=", 20
    yield f"pose, {DANCE} frames per call, IK off", us["off"], "us/frame", None, None
    if "small" in us:
        yield f"pose, {SMALL_MODEL.stem}, IK on", us["small"], "us/frame", "<=", 40
    yield "pose, one frame per call, IK on", us["single"], "us/frame", None, None
    yield "pose, one frame per call, relative to a batch", us["single"] / us["on"], "x", "<=", 1.2


def fit_rows(model, motion):
    """A motion with few keys for the poses of a dance, with the comparison of the mesh."""
    pose = model.pose(motion, np.arange(DANCE))
    fitted, _ = mmdskin.Motion.from_poses(model, pose)
    moving = sum(len(track.frames) > 1 for track in fitted.bones)
    t = best({"fit": lambda: mmdskin.Motion.from_poses(model, pose, threads=1)}, 3)["fit"]
    us = t / DANCE / moving * 1e6
    yield f"Motion.from_poses, {DANCE} frames, one thread", us, "us/bone and frame", "<=", 15


def retarget_rows(model, motion):
    """On a humanoid of 51 bones; the first call of two rigs also finds how they correspond."""
    rig, skeleton = humanoid(leg=0.8, arm=0.9), model.skeleton
    pose = model.pose(motion, np.arange(DANCE))
    one = mmdskin.Pose(pose.bone_matrices[:1], None)
    calls = {
        "map": lambda: model.skeleton,
        "single": partial(mmdskin.retarget, skeleton, one, rig),
        "dance": partial(mmdskin.retarget, skeleton, pose, rig),
    }
    body, dance = bodies.dancer(), bodies.long_dance()
    other = bodies.variant(body, arms=-35, legs=0.9)
    calls["fit"] = lambda: dance.for_model(other, made_for=body, hands=False)
    t = best(calls, 5)
    yield "Model.skeleton", t["map"] * 1e3, "ms", "<=", 15
    yield f"retarget, {DANCE} frames per call", t["dance"] / DANCE * 1e3, "ms/frame", "<=", 0.5
    yield "retarget, one frame per call", t["single"] * 1e3, "ms", "<=", 2
    yield "Motion.for_model, 7600 frames, hands off", t["fit"], "s", "<=", 0.1


def physics_rows(model, motion):
    """A dance from its start, each time with a new simulation, which settles first."""
    last = motion.frame_range[1]
    calls = {
        count: partial(model.pose, motion, np.arange(count), physics=True, threads=1)
        for count in (BATCH, DANCE, last + 1)
    }
    t = best(calls, 5)
    us = (t[DANCE] - t[BATCH]) / (DANCE - BATCH) * 1e6
    yield f"physics, pose and two steps, frames {BATCH} to {DANCE}", us, "us/frame", "<=", 250
    yield f"physics, a dance of {last + 1} frames", t[last + 1], "s", "<=", 2


def files():
    """The model's name, its bytes and the motion's."""
    if MODEL.exists():
        return MODEL.name, MODEL.read_bytes(), MOTION.read_bytes()
    return "the sample model", sample.build_sample(), sample_motion.build_motion()


def batch_call(name, frames, threads):
    """A call that poses or skins this many frames of the dance."""
    _, data, dance = files()
    model, motion = mmdskin.load_model(data), mmdskin.load_motion(dance)
    frames = np.arange(frames)
    if name == "pose":
        return lambda: model.pose(motion, frames, threads=threads)
    poses = model.pose(motion, frames)
    out = mmdskin.skin(model, poses, backend="cpu")
    return lambda: mmdskin.skin(model, poses, backend="cpu", out=out, threads=threads)


def seconds_of(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def thread_rows():
    """The speed of two threads, next to that of two processes with half a batch each, which is what
    the machine can do. Many rounds, because a virtual machine may lose a core for a while."""
    for name in ("pose", "skin"):
        with two_cores.beside(partial(batch_call, name, BATCH // 2, 1)) as both:
            variants = {"processes": both}
            for threads in (1, THREADS):
                variants[threads] = partial(seconds_of, batch_call(name, BATCH, threads))
            times = dict.fromkeys(variants, float("inf"))
            end = time.monotonic() + THREAD_SECONDS
            while time.monotonic() < end:
                for variant, seconds in variants.items():
                    times[variant] = min(times[variant], seconds())
        ours, cores = times[1] / times[THREADS], times[1] / times["processes"]
        yield f"{name}, {BATCH} frames, {THREADS} threads against 1", ours, "x", ">=", 1.85
        yield "  two processes, half a batch each", cores, "x", None, None
        yield "  fraction of what two processes gain", ours / cores * 100, "%", None, None


def resident():
    """Resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def dance_rows(model, motion, rounds=7):
    """Threads share the blocks of a dance; each reuses its buffers."""
    blocks = np.arange(DANCE).reshape(-1, BLOCK)
    shape = (BLOCK, len(model.positions), 3)
    buffers = [mmdskin.Skinned(*np.empty((2, *shape), np.float32), None) for _ in range(THREADS)]

    def work(thread):
        most = 0
        for frames in blocks[thread::THREADS]:
            pose = model.pose(motion, frames, threads=1)
            mmdskin.skin(model, pose, backend="cpu", out=buffers[thread], threads=1)
            most = max(most, resident())
        return most

    times, memory = [], []
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(rounds):
            start = time.perf_counter()
            memory.append(max(pool.map(work, range(THREADS))))
            times.append(time.perf_counter() - start)
    rate = DANCE / min(times)
    yield f"dance, pose and skin, {THREADS} threads", rate, "frames/s", None, None
    # the first dance also touches each buffer for the first time
    growth = (max(memory[1:]) - memory[0]) / 1e6
    yield f"dance, memory after {rounds} against 1", growth, "MB more", "<=", 1


def loop_rows(model, motion):
    """mmdskin.frames beside loops that one would write: some frames at a time, into one `out`."""
    numbers = np.arange(DANCE)

    def by_hand(chunk):
        out = None
        for part in np.array_split(numbers, np.arange(chunk, DANCE, chunk)):
            if out is not None and len(part) < len(out.positions):
                out = mmdskin.Skinned(out.positions[: len(part)], out.normals[: len(part)], None)
            out = mmdskin.skin(model, model.pose(motion, part), out=out)

    def loop():
        for _ in mmdskin.frames(model, motion, numbers):
            pass

    def chunks(chunk):
        for _ in mmdskin.frames(model, motion, numbers, chunk=chunk, threads=1):
            pass

    t = best({chunk: partial(chunks, chunk) for chunk in (None, 1, 4, 8, 12, 24, 48)}, 15)
    fastest = min(t.values())
    yield "frames(), one thread, of the best chunk", t[None] / fastest, "x", "<=", 1.1
    t = best({"loop": loop, 8: partial(by_hand, 8), 32: partial(by_hand, 32)}, 25)
    yield f"frames(), {DANCE} frames", t["loop"] / DANCE * 1e6, "us/frame", None, None
    for chunk in (8, 32):
        yield f"  against {chunk} at a time by hand", t["loop"] / t[chunk], "x", "<=", 1.05


def dataset_rows():
    """docs/examples/dataset_dask.py, in the Python that tests/examples/setup.sh has installed."""
    python = examples_python.command()
    if python is None or not MODEL.exists():
        print("no data set is measured: build/examples or the shared models are missing")
        return
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [python, Path(__file__).with_name("dataset.py"), MODEL, MOTION],
            env=examples_python.environment(folder),
            stdout=subprocess.PIPE,
            check=True,
        )
    rates = json.loads(done.stdout)
    yield "data set by Dask, 1 worker", rates["1"], "frames/s", None, None
    yield "data set by Dask, 2 workers", rates["2"], "frames/s", None, None
    # Dask's scheduler, client and workers take a tenth of the processor time. Beside one worker they
    # have a core for themselves; with two workers on two cores they take it from these, and at the
    # start and the end one of the workers waits.
    least = 1.8 if (os.cpu_count() or 1) > 2 else 1.6
    yield "data set, 2 workers against 1", rates["2"] / rates["1"], "x", ">=", least
    yield "  Dask's share of the processor time", rates["dask"] * 100, "%", "<=", 15


def import_rows():
    script = "import time, numpy; t = time.time(); import mmdskin; print(time.time() - t)"
    times = [float(subprocess.check_output([sys.executable, "-c", script])) for _ in range(9)]
    yield "import, without numpy's", min(times) * 1e3, "ms", "<", 20


def cpu_name():
    lines = Path("/proc/cpuinfo").read_text().splitlines() if sys.platform == "linux" else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def main():
    rng = np.random.default_rng(0)
    name, data, dance = files()
    if not MODEL.exists():
        print(f"{MODEL} is missing: measuring {name}; the limits do not apply to it")
    model, motion = mmdskin.load_model(data), mmdskin.load_motion(dance)
    devices = {backend.name: backend.device for backend in mmdskin.backends() if backend.available}
    print(
        f"{name}, {len(model.positions)} vertices, positions and normals, one thread; best rounds; "
        "with out= where no new arrays are named"
    )
    print(f"{cpu_name()}, {os.cpu_count()} CPUs; {devices}\n")
    rows = []
    groups = (
        result_rows(model, motion),
        cpu_rows(model, rng),
        method_rows(model, rng),
        copy_rows(model, rng),
        gl_rows(model, rng),
        render_rows(model, motion),
        load_rows(data),
        first_rows(data, motion),
        model_rows(data),
        motion_rows(dance),
        pose_rows(model, motion),
        fit_rows(model, motion),
        retarget_rows(model, motion),
        physics_rows(model, motion),
        thread_rows(),
        dance_rows(model, motion),
        loop_rows(model, motion),
        dataset_rows(),
        import_rows(),
        blender_rows.rows(),
    )
    for group in groups:
        for what, value, unit, relation, bar in group:
            met = {">=": value >= (bar or 0), "<=": value <= (bar or 0), "<": value < (bar or 0)}
            word = (
                ""
                if bar is None
                else f"limit {relation} {bar:g} {'ok' if met[relation] else 'MISSED'}"
            )
            print(f"{what:36} {value:9.2f} {unit:10} {word}", flush=True)
            rows.append(
                {"what": what, "value": value, "unit": unit, "relation": relation, "bar": bar}
            )
    target = ROOT / "build" / "bench.json"
    target.parent.mkdir(exist_ok=True)
    report = {"model": name, "machine": cpu_name(), "devices": devices, "rows": rows}
    target.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"\nwritten: {target.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
