# SPDX-License-Identifier: MIT
"""Compares the speed of two builds of the module: builds.py WHEEL WHEEL

Each wheel runs in its own process; the processes alternate, and the best time of each counts, so the
machine may be busy. `builds.py $(make wheel) build/wheels/linux-x64/*.whl`
compares this machine's compiler with the wheel that ships.
"""

import os
import subprocess
import sys
import tempfile
import time
import zipfile

ROUNDS = 60
AT_ONCE = 5  # calls per round; the best one counts


def calls():
    """The timed calls by name: every kernel and deform type, and poses."""
    import bench
    import conftest
    import mmdskin
    import numpy as np

    model, motion = bench.mmdskin.load_model(bench.MODEL), mmdskin.load_motion(bench.MOTION)
    rng = np.random.default_rng(1)
    matrices = bench.poses(len(model.bones), 1, rng)[0]
    meshes = {"as it is": model}
    for name, kind in (("BDEF4", bench.BDEF4), ("SDEF", bench.SDEF), ("QDEF", bench.QDEF)):
        meshes[f"all {name}"] = bench.variant(model, kind, rng)
    found = {}
    for kernel in conftest.cpu_kernels():
        for name, mesh in meshes.items():
            found[f"{kernel}, {name}"] = bench.skin_call(mesh, matrices, kernel)
    frames = np.arange(200, 232)
    found["pose, 32 frames"] = lambda: model.pose(motion, frames)
    return found


def work():
    """Times the calls named on standard input, one per line."""
    table = calls()
    print(*table, sep=";", flush=True)
    for line in sys.stdin:
        call, best = table[line.strip()], float("inf")
        for _ in range(AT_ONCE):
            start = time.perf_counter()
            call()
            best = min(best, time.perf_counter() - start)
        print(best, flush=True)


class Build:
    def __init__(self, wheel, folder):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        command = [sys.executable, __file__]
        environment = os.environ | {"PYTHONPATH": f"{folder}:tests"}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.names = self.process.stdout.readline().strip().split(";")
        self.best = dict.fromkeys(self.names, float("inf"))

    def time(self, name):
        print(name, file=self.process.stdin, flush=True)
        self.best[name] = min(self.best[name], float(self.process.stdout.readline()))


def compare(wheels):
    with tempfile.TemporaryDirectory() as folder:
        first, second = (
            Build(wheel, os.path.join(folder, str(i))) for i, wheel in enumerate(wheels)
        )
        for name in first.names:
            for _ in range(ROUNDS):
                first.time(name)
                second.time(name)
            a, b = first.best[name] * 1e6, second.best[name] * 1e6
            print(f"{name:24} {a:9.1f} us {b:9.1f} us {b / a:7.3f}", flush=True)
        for build in (first, second):
            build.process.stdin.close()
            build.process.wait()


if __name__ == "__main__":
    compare(sys.argv[1:]) if len(sys.argv) == 3 else work()
