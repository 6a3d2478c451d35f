# SPDX-License-Identifier: MIT
"""Runs the C tests and pytest and ends with one line that counts both."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

BUILD = Path("build")


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


def run_pytest(arguments):
    report = BUILD / "pytest.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", f"--junitxml={report}", *arguments]
    status = subprocess.run(command).returncode
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


def main():
    arguments = sys.argv[1:]
    counts = run_c_tests()
    if "--c-only" not in arguments:
        counts += run_pytest(arguments)
    print("{passed} passed, {failed} failed, {skipped} skipped".format_map(counts))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
