# SPDX-License-Identifier: GPL-3.0-or-later
"""What a classic add-on does itself and Blender does for extensions: install the wheel, reload.

An extension uses it, too, where Blender has not installed the wheel: it cannot replace a locked
library, or antivirus software removed it. package.py leaves this module out of zips for one system.
"""

import importlib
import importlib.util
import os
import pathlib
import platform
import shutil
import sys
import tempfile
import zipfile
import zlib

import bpy

from . import ADDON, FOLDER
from .user_error import UserError

_path: str | None = None


def forget_modules(package: str) -> None:
    """Before a reload of the add-on: its modules are imported again, so that they match."""
    for name in [name for name in sys.modules if name.startswith(f"{package}.")]:
        del sys.modules[name]
        vars(sys.modules[package]).pop(name.rpartition(".")[2], None)


def provide_module(required: str) -> None:
    """Unpack `mmdskin` of this version and add it to Python's path, unless it is there."""
    global _path
    if "mmdskin" not in sys.modules and not (_is_extension() and _is_installed()):
        _path = _unpacked(required)
        if _path and _path not in sys.path:
            sys.path.insert(0, _path)


def withdraw_module() -> None:
    global _path
    if _path in sys.path:
        sys.path.remove(_path)
    _path = None


def _is_extension() -> bool:
    return ADDON.startswith("bl_ext.")


def _is_installed() -> bool:
    importlib.invalidate_caches()
    spec = importlib.util.find_spec("mmdskin")
    return spec is not None and any(map(_has_module, spec.submodule_search_locations or ()))


def _wheel(required: str) -> str | None:
    """The wheel in the add-on's folder for this system, or None if there are no wheels at all."""
    folder = os.path.join(FOLDER, "wheels")
    names = os.listdir(folder) if os.path.isdir(folder) else ()
    # The last one wins: an update leaves the wheels of older versions in the folder.
    ours_last = sorted(names, key=lambda name: name.startswith(f"mmdskin-{required}-"))
    wheels = {_system_and_machine(name): name for name in ours_last if name.endswith(".whl")}
    here = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, sys.platform.capitalize())
    machine = platform.machine().lower().replace("amd64", "x86_64").replace("aarch64", "arm64")
    name = wheels.get((here, machine))
    if wheels and (name is None or sys.version_info < (3, 10)):
        raise UserError(
            "MMD Skin has no native module for {system} on {machine} with Python {python}:"
            " it supports {available} with Python 3.10 or later",
            system=here,
            machine=machine,
            python="{}.{}".format(*sys.version_info),
            available=", ".join(sorted(" ".join(key) for key in wheels)),
        )
    return os.path.join(folder, name) if name else None


def _system_and_machine(name: str) -> tuple[str, str]:
    tag = name[:-4].rpartition("-")[2]
    system = "macOS" if "macosx" in tag else "Windows" if "win" in tag else "Linux"
    return system, "arm64" if tag.endswith(("arm64", "aarch64")) else "x86_64"


def _unpacked(required: str) -> str | None:
    """A user folder with the contents of the wheel, or None without a wheel."""
    wheel = _wheel(required)
    if wheel is None:
        return None
    try:
        crc = zlib.crc32(pathlib.Path(wheel).read_bytes())
        base = _user_folder()
        folder = os.path.join(base, f"{required}-{crc:08x}")
        if os.path.isdir(folder) and not _has_module(os.path.join(folder, "mmdskin")):
            shutil.rmtree(folder)  # incomplete, for example because of antivirus software
        if not os.path.isdir(folder):
            # Rename when complete: another Blender may be unpacking the same wheel.
            part = tempfile.mkdtemp(prefix="part-", dir=base)
            try:
                with zipfile.ZipFile(wheel) as archive:
                    archive.extractall(part)
                os.rename(part, folder)
            except OSError:
                if not os.path.isdir(folder):
                    raise
            finally:
                shutil.rmtree(part, ignore_errors=True)
    except (OSError, zipfile.BadZipFile) as error:
        raise UserError(
            "The native module of MMD Skin cannot be unpacked: {reason}", reason=error
        ) from error
    return folder


def _user_folder() -> str:
    if _is_extension():
        return bpy.utils.extension_path_user(ADDON, create=True)
    return bpy.utils.user_resource("DATAFILES", path="mmdskin", create=True)


def _has_module(package: str) -> bool:
    """Whether the folder of the package still has its native file."""
    names = os.listdir(package) if os.path.isdir(package) else ()
    return any(name.startswith("_mmdskin.") for name in names)
