# SPDX-License-Identifier: GPL-3.0-or-later
"""What the scripts of this folder that run in Blender share: arguments, the add-on, the result as JSON.

python-with-bpy SCRIPT --zip dist/mmdskin-….zip (its arguments)
blender -b --factory-startup -P SCRIPT -- (the same arguments)

The last line of the output is the result.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "blender"), str(TESTS)]

import addon_profile  # noqa: E402


def parser(doc):
    """A parser of the option for the add-on, to which a script adds its own; `doc` is the script's."""
    made = argparse.ArgumentParser(description=doc.splitlines()[0])
    made.add_argument("--zip", required=True, help="the add-on")
    return made


def run(arguments, measured):
    """Print what `measured` returns for the options, with the add-on in a profile of its own; exit.

    `arguments` is the parser. The add-on is the module "addon_package".
    """
    words = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    options = arguments.parse_args(words)
    profile = tempfile.TemporaryDirectory()
    os.environ.update(addon_profile.environment(profile.name))  # before bpy is imported as a module
    import bpy

    with addon_profile.installed(options.zip) as package, profile:
        sys.modules["addon_package"] = sys.modules[package]
        result = {"blender": bpy.app.version_string, **measured(options)}
        print(json.dumps(result, ensure_ascii=False))
