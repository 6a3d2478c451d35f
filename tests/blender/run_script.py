# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a script in Blender with the add-on installed, as a user does.

blender -b --factory-startup -P run_script.py -- mmdskin.zip script.py
"""

import pathlib
import runpy
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import addon_profile  # noqa: E402

addon_zip, script = sys.argv[sys.argv.index("--") + 1 :]
with addon_profile.installed(addon_zip):
    runpy.run_path(script, run_name="__main__")
    print("the script has ended")
