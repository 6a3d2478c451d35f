# SPDX-License-Identifier: MIT
"""The share of the core's lines that tests and fuzz targets run: file by file, and in all.

coverage.py FOLDER TARGET...: the folder has the C tests, the targets and the module, built by clang
to count. The targets take their seeds, the known crashers and what earlier runs of the fuzzers have
found.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

FLOOR = 95  # percent
ROOT = Path(__file__).resolve().parent.parent.parent
FUZZ = Path("build/fuzz")
ROOMS = [f"tests/{room}" for room in ("formats", "physics", "pose", "render", "skin")]


def run(counts, *command, **environment):
    """Run what leaves counts in a file, or adds to them."""
    subprocess.run(
        command,
        env={**os.environ, **environment, "LLVM_PROFILE_FILE": str(counts)},
        stdout=subprocess.DEVNULL,
        check=True,
    )


def run_all(folder, targets):
    run(folder / "tests.profraw", folder / "tests")
    for target in targets:
        inputs = (
            f"{FUZZ}/seeds/{target}",
            f"tests/fuzz/crashers/{target}",
            f"{FUZZ}/{target}-corpus",
        )
        found = [place for place in inputs if Path(place).is_dir()]
        run(folder / f"{target}.profraw", folder / target, "-runs=0", *found)
    rooms = [room for room in ROOMS if Path(room).is_dir()]
    pytest = (sys.executable, "-m", "pytest", "-q", *rooms)
    run(folder / "module-%m.profraw", *pytest, PYTHONPATH=str(folder / "module"))


def lines_of_core(folder, targets):
    """File: how many of its lines ran, and how many there are."""
    merged, module = folder / "all.profdata", next((folder / "module").glob("*.so"))
    counts = folder.glob("*.profraw")
    subprocess.run(["llvm-profdata", "merge", "-sparse", *counts, "-o", merged], check=True)
    objects = [f"-object={program}" for program in (*(folder / t for t in targets), module)]
    command = ["llvm-cov", "export", "-summary-only", f"-instr-profile={merged}"]
    export = json.loads(subprocess.check_output([*command, folder / "tests", *objects]))
    found = {}
    for file in export["data"][0]["files"]:
        path = Path(file["filename"]).resolve()
        if path.is_relative_to(ROOT / "csrc/core"):
            lines = file["summary"]["lines"]
            found[path.relative_to(ROOT / "csrc")] = (lines["covered"], lines["count"])
    return found


def main(folder, *targets):
    folder = Path(folder)
    for counts in folder.glob("*.profraw"):
        counts.unlink()
    run_all(folder, targets)
    found = lines_of_core(folder, targets)
    covered, count = (sum(numbers) for numbers in zip(*found.values(), strict=True))
    for path, (ran, of) in [*sorted(found.items()), ("all", (covered, count))]:
        print(f"{path!s:34} {ran:5} of {of:5} lines {100 * ran / max(of, 1):6.1f} %")
    if covered < FLOOR / 100 * count:
        raise SystemExit(f"less than {FLOOR} %")


if __name__ == "__main__":
    main(*sys.argv[1:])
