# SPDX-License-Identifier: MIT
"""OpenGL drivers under Wine that are too old: mmdskin gives a reason and skins on the CPU.

tests/skin/test_gl.py wraps EGL; under Wine, Mesa's variables choose what its driver has, and they must be
set before Wine starts.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/skin")]

import gl_scripts  # noqa: E402

DRIVERS = [
    ({"MESA_GL_VERSION_OVERRIDE": version}, ["4.3 needed", version])
    for version in ("2.1", "3.3", "4.2")
] + [
    (
        {
            "MESA_GL_VERSION_OVERRIDE": "4.3",
            "MESA_GLSL_VERSION_OVERRIDE": "110",
            "MESA_SHADER_CACHE_DISABLE": "true",
        },
        ["does not compile", "GLSL 4.30 is not supported"],
    )
]


def main():
    command = ["bash", "tests/platforms/windows.sh", "run", "build/windows/python/python.exe", "-c"]
    failed = 0
    for switches, words in DRIVERS:
        done = subprocess.run(
            [*command, gl_scripts.PRELUDE + gl_scripts.WITHOUT_GL],
            env=os.environ | switches | {"SECONDS_AT_MOST": "120"},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        if done.returncode or not all(word in done.stdout for word in words):
            failed += 1
            print(f"FAILED with {switches}: {done.stdout}")
    print(f"drivers too old: {len(DRIVERS) - failed} passed, {failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
