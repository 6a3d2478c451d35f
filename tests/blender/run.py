# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the cases_*.py of this folder inside Blender and write each test's outcome as JSON.

blender -b --factory-startup -P run.py -- --zip mmdskin.zip --report out.json [--only PATTERN...]
"""

import argparse
import json
import os
import pathlib
import sys
import traceback
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import addon_profile  # noqa: E402
import bpy  # noqa: E402


class _Result(unittest.TextTestResult):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.outcomes = {}
        self.seconds = {}

    def startTest(self, test):
        super().startTest(test)
        render = bpy.context.scene.render
        render.fps, render.fps_base = 24, 1  # whatever the test before chose
        self.seconds[test.id()] = -processor_time()
        self._handlers, self._files = handlers(), module_files()

    def stopTest(self, test):
        super().stopTest(test)
        self.seconds[test.id()] += processor_time()
        if handlers() != self._handlers:  # later tests would fail
            self._note(test, "failed", "handlers are not as they were before this test")
        if any(not file.exists() for file in self._files):
            self._note(test, "failed", "files of the native module are gone after this test")

    def _note(self, test, outcome, text=""):
        """One outcome per test: a failure of any subtest counts, then a skip."""
        test = getattr(test, "test_case", test)  # what a subtest is part of
        name = ".".join(test.id().split(".")[-3:])
        if self.outcomes.get(name, [""])[0] != "failed":
            self.outcomes[name] = [outcome, text]

    def addSuccess(self, test):
        super().addSuccess(test)
        self._note(test, "passed")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._note(test, "failed", "".join(traceback.format_exception(*err)))

    def addError(self, test, err):
        super().addError(test, err)
        self._note(test, "failed", "".join(traceback.format_exception(*err)))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note(test, "failed", f"{subtest}\n{''.join(traceback.format_exception(*err))}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._note(test, "skipped", reason)


def processor_time():
    """Seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def handlers():
    """Event and name of every handler."""
    kinds = {event: getattr(bpy.app.handlers, event) for event in dir(bpy.app.handlers)}
    found = ((event, kind) for event, kind in kinds.items() if isinstance(kind, list))
    return {
        (event, f"{handler.__module__}.{handler.__qualname__}")
        for event, kind in found
        for handler in kind
    }


def module_files():
    """Where the native module was loaded from."""
    file = getattr(sys.modules.get("mmdskin"), "__file__", None)
    return [*pathlib.Path(file).parent.glob("*")] if file else []


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--zip", required=True)
    parser.add_argument("--report", required=True)
    parser.add_argument("--only", nargs="+", help="patterns of names: *module.Class.test*")
    options = parser.parse_args(arguments)
    with addon_profile.installed(options.zip) as package:
        # Cases reach the installed add-on by this name, whatever Blender calls it.
        sys.modules["addon_package"] = sys.modules[package]
        sys.exit(not run_cases(options))


def run_cases(options):
    """Whether all cases have passed."""
    loader = unittest.TestLoader()
    loader.testNamePatterns = options.only
    suite = loader.discover(str(HERE), pattern="cases_*.py", top_level_dir=str(HERE))
    result = unittest.TextTestRunner(resultclass=_Result, verbosity=2).run(suite)
    print("The slowest:")
    for name, seconds in sorted(result.seconds.items(), key=lambda item: -item[1])[:10]:
        print(f"{seconds:8.2f} s {name}")
    pathlib.Path(options.report).write_text(json.dumps(result.outcomes), "utf-8")
    return result.wasSuccessful()


if __name__ == "__main__":
    main(sys.argv[sys.argv.index("--") + 1 :])
