# SPDX-License-Identifier: MIT
"""`skin` and `pose` run on several threads and release the GIL; threads can share a mesh."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import mmdskin
import numpy as np
import pytest
from sample import model as sample
from sample import motion as sample_motion


@pytest.fixture(scope="module")
def model():
    return mmdskin.load_model(sample.build_sample())


@pytest.fixture(scope="module")
def motion():
    return mmdskin.load_motion(sample_motion.build_motion())


@pytest.mark.parametrize("threads", [None, 2, 3, 64, np.int64(5), 10**6, 10**30])
def test_poses_do_not_depend_on_the_number_of_threads(model, motion, threads):
    frames = np.random.default_rng(0).permutation(np.linspace(-2, 70, 401))
    expected = [model.pose(motion, frame, threads=1) for frame in frames]
    found = model.pose(motion, frames, threads=threads)
    assert np.array_equal(found.bone_matrices, np.stack([pose.bone_matrices for pose in expected]))
    assert np.array_equal(found.morph_weights, np.stack([pose.morph_weights for pose in expected]))


@pytest.mark.parametrize("threads", [None, 2, 7])
def test_poses_of_local_values_do_not_depend_on_the_number_of_threads(model, threads):
    rng = np.random.default_rng(1)
    bones, morphs = len(model.bones), len(model.morphs)
    turns, weights = rng.normal(size=(900, bones, 4)), rng.random((900, morphs))
    one = model.pose_from(np.zeros((bones, 3)), turns, weights, threads=1)
    many = model.pose_from(np.zeros((bones, 3)), turns, weights, threads=threads)
    assert np.array_equal(one.bone_matrices, many.bone_matrices)
    assert np.array_equal(one.morph_weights, many.morph_weights)


@pytest.mark.parametrize("threads", [None, 2, 3, 64, 10**6])
@pytest.mark.parametrize("method", ["mmd", "bulge_free"])
def test_skinning_does_not_depend_on_the_number_of_threads(model, backend, method, threads):
    frames = np.stack([sample.bend(angle) for angle in np.linspace(0, 140, 53)])
    weights = np.random.default_rng(2).random((len(frames), len(model.morphs)), "f4")
    for sliders in (None, weights, weights[0]):
        choice = {"backend": backend, "method": method}
        one = mmdskin.skin(model, frames, sliders, threads=1, **choice)
        many = mmdskin.skin(model, frames, sliders, threads=threads, **choice)
        assert np.array_equal(one.positions, many.positions)
        assert np.array_equal(one.normals, many.normals)


@pytest.mark.parametrize(
    "threads, error",
    [
        (0, ValueError),
        (-1, ValueError),
        (-(10**30), ValueError),
        (True, TypeError),
        (2.0, TypeError),
        ("2", TypeError),
    ],
)
def test_an_invalid_number_of_threads_is_refused_and_nothing_is_written(model, threads, error):
    frames = np.tile(sample.bend(20), (3, 1, 1, 1))
    shape = (3, len(model.positions), 3)
    out = mmdskin.Skinned(np.full(shape, 7, "f4"), np.full(shape, 7, "f4"), None)
    for backend in ("cpu", "auto"):
        with pytest.raises(error, match="^threads: "):
            mmdskin.skin(model, frames, backend=backend, out=out, threads=threads)
    assert (out.positions == 7).all() and (out.normals == 7).all()
    bones = len(model.bones)
    with pytest.raises(error, match="^threads: "):
        model.pose(threads=threads)
    with pytest.raises(error, match="^threads: "):
        model.pose_from(np.zeros((bones, 3)), np.ones((bones, 4)), threads=threads)


def not_permitted(*_arguments):
    raise PermissionError(1, "Operation not permitted")


COUNTS = ("process_cpu_count", "sched_getaffinity", "cpu_count")


@pytest.mark.parametrize(
    "answers",
    [
        (not_permitted, not_permitted, not_permitted),
        (lambda: None, lambda _: set(), lambda: None),
        (lambda: 0, lambda _: 3, lambda: -3),
        (lambda: 10**30, not_permitted, lambda: 2),
    ],
)
def test_an_unknown_number_of_cores_is_not_an_error(model, motion, monkeypatch, answers):
    for name, answer in zip(COUNTS, answers, strict=True):
        monkeypatch.setattr(os, name, answer, raising=False)
    frames = np.linspace(0, 60, 3000)
    found, expected = (model.pose(motion, frames, threads=n) for n in (None, 1))
    assert np.array_equal(found.bone_matrices, expected.bone_matrices)


def test_an_interrupt_while_cores_are_counted_is_not_lost(model, motion, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "process_cpu_count", interrupted, raising=False)
    with pytest.raises(KeyboardInterrupt):
        model.pose(motion, np.linspace(0, 60, 3000))


def count_threads():
    return len(os.listdir("/proc/self/task"))


@pytest.mark.skipif(
    not os.path.isdir("/proc/self/task"), reason="this system has no /proc to count threads"
)
def test_idle_threads_end_soon(model, motion):
    before = count_threads()  # some may still be idle after an earlier test
    for threads in (2, 9, None):
        pose = model.pose(motion, np.arange(500), threads=threads)
        mmdskin.skin(model, pose, backend="cpu", threads=threads)
    last = time.monotonic() + 60
    while count_threads() > before and time.monotonic() < last:
        time.sleep(0.02)
    assert count_threads() <= before


def test_the_gil_is_released_while_skinning(model, backend):
    """This thread sees the first frame done and the last one not: with the GIL held it would see
    both or neither. Sometimes it is too late."""
    frames = np.tile(sample.bend(50), (400, 1, 1, 1))
    out = mmdskin.Skinned(np.empty((len(frames), len(model.positions), 3), "f4"), None, None)
    choice = {"backend": backend, "normals": False, "out": out, "threads": 1}

    def is_half_done():
        out.positions.fill(np.nan)
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(mmdskin.skin, model, frames, **choice)
            while not call.done():
                if np.isfinite(out.positions[0, 0, 0]) and np.isnan(out.positions[-1, -1, -1]):
                    return True
                time.sleep(0)
        return False

    assert any(is_half_done() for _ in range(100))


def test_many_threads_share_a_mesh(model, backend):
    angles = np.linspace(0, 120, 24)
    alone = [mmdskin.skin(model, sample.bend(a), backend=backend).positions for a in angles]
    with ThreadPoolExecutor(8) as pool:
        together = pool.map(
            lambda a: mmdskin.skin(model, sample.bend(a), backend=backend).positions, angles
        )
        for one, other in zip(alone, together, strict=True):
            assert np.array_equal(one, other)


def test_threads_that_race_to_skin_a_new_model_get_the_same_result():
    """The first call creates the mesh."""
    data, matrices = sample.build_sample(), sample.bend(90)
    expected = mmdskin.skin(mmdskin.load_model(data), matrices, backend="cpu").positions
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            fresh = mmdskin.load_model(data)
            found = pool.map(
                lambda _, fresh=fresh: mmdskin.skin(fresh, matrices, backend="cpu"), range(8)
            )
            assert all(np.array_equal(one.positions, expected) for one in found)


def test_threads_skin_different_meshes_at_once(backend):
    rng = np.random.default_rng(0)
    meshes = [
        mmdskin.Mesh(
            rng.normal(size=(500 + i, 3)), np.zeros((500 + i, 1), "i4"), np.ones((500 + i, 1))
        )
        for i in range(16)
    ]
    shift = np.eye(4)[None] + np.eye(4, k=3)

    def check(mesh):
        first = mmdskin.skin(mesh, np.eye(4)[None], backend=backend).positions
        moved = mmdskin.skin(mesh, shift, backend=backend).positions
        return abs(moved - first - [1, 0, 0]).max()

    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(check, meshes)) <= 1e-6


def test_models_load_and_drop_in_many_threads():
    data = sample.build_sample()
    with ThreadPoolExecutor(8) as pool:
        names = pool.map(lambda _: mmdskin.load_model(data).bones[1].name, range(32))
        assert set(names) == {"上腕_BDEF1"}


def test_a_result_made_in_one_thread_outlives_it(model):
    results = []
    thread = threading.Thread(
        target=lambda: results.append(mmdskin.load_model(sample.build_sample()).positions)
    )
    thread.start()
    thread.join()
    assert np.array_equal(results[0], model.positions)


def test_shutdown_between_calls_is_harmless(model, gl):
    expected = mmdskin.skin(model, sample.bend(33), backend=gl).positions
    for _ in range(3):
        mmdskin.shutdown()
        assert np.array_equal(mmdskin.skin(model, sample.bend(33), backend=gl).positions, expected)
