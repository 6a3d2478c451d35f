# SPDX-License-Identifier: MIT
"""Prints the shares of the core's lines and branches that tests and fuzzers run, per file and in total.

coverage.py FOLDER FUZZER...: the folder holds the C tests, the fuzzers and the module, built by clang
with counters. The fuzzers run their seeds, the known crashers and what earlier runs have found.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

FLOORS = {"lines": 95, "branches": 88.0}  # percent
ROOT = Path(__file__).resolve().parent.parent.parent
FUZZ = Path("build/fuzz")
FOLDERS = [f"tests/{folder}" for folder in ("fit", "formats", "physics", "pose", "render", "skin")]


def run(counts, *command, **environment):
    """Run a command that writes its counters to a file."""
    subprocess.run(
        command,
        env={**os.environ, **environment, "LLVM_PROFILE_FILE": str(counts)},
        stdout=subprocess.DEVNULL,
        check=True,
    )


def run_all(folder, targets):
    for counts in folder.glob("*.profraw"):
        counts.unlink()
    run(folder / "tests.profraw", folder / "tests")
    for target in targets:
        inputs = (
            f"{FUZZ}/seeds/{target}",
            f"tests/fuzz/crashers/{target}",
            f"{FUZZ}/{target}-kept",
            f"{FUZZ}/{target}-corpus",
        )
        found = [place for place in inputs if Path(place).is_dir()]
        run(folder / f"{target}.profraw", folder / target, "-runs=0", *found)
    folders = [folder for folder in FOLDERS if Path(folder).is_dir()]
    pytest = (sys.executable, "-m", "pytest", "-q", *folders)
    # A file per process: tests kill some, and those leave half a file.
    run(folder / "module-%p.profraw", *pytest, PYTHONPATH=str(folder / "module"))


def counts_of_core(folder, targets):
    """{file: {kind: (how many ran, how many it has)}} for lines and branches."""
    merged, module = folder / "all.profdata", next((folder / "module").glob("*/*.so"))
    counts = folder.glob("*.profraw")
    merge = ["llvm-profdata", "merge", "-sparse", "-failure-mode=all"]
    subprocess.run([*merge, *counts, "-o", merged], check=True)
    objects = [f"-object={program}" for program in (*(folder / t for t in targets), module)]
    command = ["llvm-cov", "export", "-summary-only", f"-instr-profile={merged}"]
    export = json.loads(subprocess.check_output([*command, folder / "tests", *objects]))
    found = {}
    for file in export["data"][0]["files"]:
        path = Path(file["filename"]).resolve()
        if path.is_relative_to(ROOT / "csrc/core"):
            found[path.relative_to(ROOT / "csrc")] = {
                kind: (file["summary"][kind]["covered"], file["summary"][kind]["count"])
                for kind in FLOORS
            }
    return found


def main(folder, *targets):
    folder = Path(folder)
    for counts in folder.glob("*.profraw"):
        counts.unlink()
    run_all(folder, targets)
    found = counts_of_core(folder, targets)
    total = {
        kind: tuple(map(sum, zip(*(counts[kind] for counts in found.values()), strict=True)))
        for kind in FLOORS
    }
    for path, counts in [*sorted(found.items()), ("all", total)]:
        texts = (
            f"{ran:5} of {of:5} {kind} {share(ran, of):6.1f} %"
            for kind, (ran, of) in counts.items()
        )
        print(f"{path!s:34}", *texts)
    low = [kind for kind, floor in FLOORS.items() if share(*total[kind]) < floor]
    if low:
        raise SystemExit(f"fewer {' and '.join(low)} than {FLOORS} %")


def share(ran, of):
    return 100 * ran / max(of, 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
