# SPDX-License-Identifier: GPL-3.0-or-later
"""Install the add-on's zip as a user does, in a temporary profile."""

import contextlib
import os
import pathlib
import shutil
import sys
import traceback

HERE = pathlib.Path(__file__).resolve().parent
# Where setup.sh installs bpy.
CACHE = pathlib.Path(os.environ.get("MMDSKIN_CACHE", pathlib.Path.home() / ".cache/mmdskin"))


def blender_command(version):
    """The command that runs a script in a Blender, or None if it is not installed."""
    if version == "3.4":
        blender = shutil.which("blender")
        return blender and [blender, "--background", "--factory-startup", "--python"]
    environment = CACHE / f"bpy-{version}"
    return [environment / "bin/python"] if (environment / "ready").exists() else None


def environment(folder):
    """The environment that keeps Blender's user files and temporary ones below `folder`."""
    temporary = pathlib.Path(folder, "temporary")
    temporary.mkdir(parents=True, exist_ok=True)
    folders = {
        f"BLENDER_USER_{kind}": f"{folder}/{kind.lower()}"
        for kind in ("CONFIG", "SCRIPTS", "DATAFILES")
    }
    return {
        **os.environ,
        **folders,
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)),
        "BLENDER_USER_RESOURCES": f"{folder}/resources",
        "LIBGL_ALWAYS_SOFTWARE": "1",
    }


def install(path):
    """Install and enable the zip; returns the name of the add-on's package."""
    import bpy

    if bpy.app.version >= (4, 2):
        bpy.ops.extensions.package_install_files(
            filepath=str(path), repo="user_default", enable_on_install=True, overwrite=True
        )
        return "bl_ext.user_default.mmdskin"
    bpy.ops.preferences.addon_install(filepath=str(path), overwrite=True)
    bpy.ops.preferences.addon_enable(module="mmdskin_addon")
    return "mmdskin_addon"


@contextlib.contextmanager
def installed(path):
    """Install as `install` does for a block, with which the process ends, whatever ends the block."""
    package, status = None, 1
    try:
        package = install(path)
        yield package
        status = 0
    except SystemExit as stopped:
        status = stopped.code or 0
        if not isinstance(status, int):  # the text of an error
            print(status, file=sys.stderr)
            status = 1
    except BaseException:
        traceback.print_exc()
    _uninstall_and_exit(package, status)


def _uninstall_and_exit(package, status):
    """bpy's own end may wait forever: it destroys a condition that a thread of its own still waits for.

    bpy 4.5 does so where Python has not freed it, as after Rigify was enabled; 4.2 crashes then.
    """
    import bpy

    if package:
        bpy.ops.preferences.addon_disable(module=package)
    shutil.rmtree(bpy.app.tempdir, ignore_errors=True)  # which it does not come to
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
