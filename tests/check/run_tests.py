# SPDX-License-Identifier: MIT
"""Runs the C tests and pytest and ends with one line that counts both.

run_tests.py [ARGUMENTS OF PYTEST]
run_tests.py --c-only
run_tests.py --without-models VERSION

The last form is what a clone sees that has no published models beside it: everything but Blender,
then the cases of one Blender that use such models. Nothing may fail, and few tests may be skipped.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

BUILD = Path("build")
MOST_SKIPPED = 199  # without the published models
# Parts of the names of the Blender cases that use published models.
MODEL_CASES = (
    "real or dance or mmdtools or mmd_tools or offile or no_case_is_unknown"
    " or look_spheres or import_files or cases_names"
)


def run_c_tests():
    """One program; it prints `N passed, N failed`. A sanitizer's abort counts as a failure."""
    program = BUILD / "c" / "tests"
    result = subprocess.run([program], stdout=subprocess.PIPE, text=True)
    print(result.stdout, end="", flush=True)
    found = re.search(r"(\d+) passed, (\d+) failed", result.stdout)
    passed, failed = map(int, found.groups()) if found else (0, 0)
    if result.returncode and not failed:
        print(f"{program} ended with status {result.returncode}")
        failed = 1
    return Counter(passed=passed, failed=failed)


def run_pytest(arguments, **environment):
    report = BUILD / "pytest.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", f"--junitxml={report}", *arguments]
    temporary = tempfile.mkdtemp(prefix="mmd")  # short, as Ray's sockets are in it
    environment["TMPDIR"] = temporary
    status = subprocess.run(command, env=os.environ | environment).returncode
    if status:
        print(f"{temporary} keeps the files of failed tests")
    else:
        left = [name for name in os.listdir(temporary) if not name.startswith("pytest-of-")]
        if left:
            print(f"tests have left behind: {', '.join(sorted(left))}")
        shutil.rmtree(temporary, ignore_errors=True)
    if not report.exists():
        print(f"pytest ended with status {status} and no report")
        return Counter(failed=1)
    counts = Counter()
    for suite in ET.parse(report).getroot().iter("testsuite"):
        total, errors, failures, skipped = (
            int(suite.get(key, 0)) for key in ("tests", "errors", "failures", "skipped")
        )
        counts.update(
            passed=total - errors - failures - skipped, failed=errors + failures, skipped=skipped
        )
    if status and not counts["failed"]:
        counts["failed"] = 1
    return counts


def run_without_models(version):
    with tempfile.TemporaryDirectory() as empty:
        environment = {"MMDSKIN_SHARED": empty, "MMDSKIN_BLENDERS": version}
        counts = run_pytest(["-q", "tests", "--ignore=tests/blender"], **environment)
        counts += run_pytest(["-q", "tests/blender", "-k", MODEL_CASES], **environment)
    if counts["skipped"] > MOST_SKIPPED:
        print(f"{counts['skipped']} tests are skipped, at most {MOST_SKIPPED} may be")
        counts["failed"] += 1
    return counts


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--without-models"]:
        counts = run_without_models(*arguments[1:])
    else:
        counts = run_c_tests()
        if "--c-only" not in arguments:
            counts += run_pytest(arguments)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
