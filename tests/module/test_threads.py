# SPDX-License-Identifier: MIT
"""`skin` releases the GIL, and many threads may share one mesh."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import mmdskin
import numpy as np
import pytest
from sample import model as sample


@pytest.fixture(scope="module")
def model():
    return mmdskin.load_model(sample.build_sample())


def test_the_gil_is_released_while_skinning(model, backend):
    """While a thread skins for a while, this one goes on counting."""
    frames = np.tile(sample.bend(50), (400, 1, 1, 1))
    mmdskin.skin(model, frames[:1], backend=backend)
    done = threading.Event()

    def work():
        mmdskin.skin(model, frames, backend=backend)
        done.set()

    thread = threading.Thread(target=work)
    ticks = []
    thread.start()
    while not done.is_set():
        ticks.append(time.perf_counter())
        time.sleep(0.0005)
    thread.join()
    whole = ticks[-1] - ticks[0]
    assert len(ticks) > 5
    # held, the lock would make one gap of nearly everything
    assert np.diff(ticks).max() < 0.6 * whole + 0.01


def test_many_threads_share_a_mesh(model, backend):
    angles = np.linspace(0, 120, 24)
    alone = [mmdskin.skin(model, sample.bend(a), backend=backend).positions for a in angles]
    with ThreadPoolExecutor(8) as pool:
        together = pool.map(
            lambda a: mmdskin.skin(model, sample.bend(a), backend=backend).positions, angles
        )
        for one, other in zip(alone, together, strict=True):
            assert np.array_equal(one, other)


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
    wanted = mmdskin.skin(model, sample.bend(33), backend=gl).positions
    for _ in range(3):
        mmdskin.shutdown()
        assert np.array_equal(mmdskin.skin(model, sample.bend(33), backend=gl).positions, wanted)
