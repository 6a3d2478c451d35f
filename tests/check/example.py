# SPDX-License-Identifier: MIT
"""Run the programs built from tests/c/example.c and compare their meshes with the module's.

python tests/check/example.py PROGRAM...
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import mmdskin
import numpy as np
from sample import model as sample
from sample import motion as sample_motion

FRAME = 40.5


def main(programs):
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, "sample.pmx"), Path(folder, "sample.vmd")]
        files[0].write_bytes(sample.build_sample())
        files[1].write_bytes(sample_motion.build_motion())
        model, motion = mmdskin.load_model(files[0]), mmdskin.load_motion(files[1])
        expected = mmdskin.skin(model, model.pose(motion, FRAME), backend="cpu").positions
        for program in programs:
            command = [program, *map(str, files), str(FRAME)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
            lines = [line for line in done.stdout.splitlines() if line.startswith("v ")]
            found = np.array([line.split()[1:] for line in lines], np.float32)
            if not np.array_equal(found, expected):
                raise SystemExit(f"{program}: its mesh differs from the module's")
            print(f"{program}: {len(found)} vertices, the same as the module's")


if __name__ == "__main__":
    main(sys.argv[1:])
