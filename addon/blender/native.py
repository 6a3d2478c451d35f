# SPDX-License-Identifier: GPL-3.0-or-later
"""The native module `mmdskin`, imported at first use and never by register().

Windows locks a loaded library, so an add-on that imports it early cannot be updated. For an
extension, Blender installs the wheel; if it has not (it cannot replace a locked library, or
antivirus software removed it), and for a classic add-on, this module unpacks the wheel.
"""

import importlib
import importlib.util
import os
import platform
import shutil
import sys
import tempfile
import zipfile
import zlib
from typing import Any

import bpy

from . import ADDON, FOLDER
from .user_error import UserError

REQUIRED = "0.0.0"  # package.py puts the version of the wheel here

_module = None
_path = None
_backends = ()


def load() -> Any:
    """The module `mmdskin`; UserError if it is missing or too old."""
    global _module, _path
    if _module is None:
        if "mmdskin" not in sys.modules and not (_is_extension() and _is_installed()):
            _path = _unpacked()
            if _path and _path not in sys.path:
                sys.path.insert(0, _path)
        _module = _import()
    return _module


def loaded() -> Any:
    """The module if it is already loaded, else None; for redraws."""
    return _module


def backends() -> tuple[Any, ...]:
    """The backends from `remember_backends`; asking the module itself may start its GL thread."""
    return _backends


def remember_backends() -> None:
    global _backends
    if not _backends:
        _backends = tuple(load().backends())


def shutdown() -> None:
    """Stop the module's thread and forget the module; a later load() imports it again."""
    global _module, _path, _backends
    if _module is not None:
        _module.shutdown()
    if _path in sys.path:
        sys.path.remove(_path)
    _module, _path, _backends = None, None, ()


def _is_extension() -> bool:
    return ADDON.startswith("bl_ext.")


def _is_installed() -> bool:
    importlib.invalidate_caches()
    spec = importlib.util.find_spec("mmdskin")
    return spec is not None and any(map(_has_module, spec.submodule_search_locations or ()))


def _import() -> Any:
    try:
        importlib.invalidate_caches()
        module = importlib.import_module("mmdskin")
        # What the module imports when it is used: now, as an update of the add-on may remove the files.
        for name in ("new_file", "file_io", "motion_encoding"):
            importlib.import_module(f"mmdskin.{name}")
    except ModuleNotFoundError:
        raise UserError(
            "The native module of MMD Skin is missing, perhaps removed by antivirus"
            " software: install the add-on's zip again, then restart Blender"
        ) from None
    except (ImportError, OSError) as error:
        raise UserError(
            "The native module of MMD Skin cannot be loaded on this system: {reason}",
            reason=error,
        ) from error
    version = getattr(module, "__version__", "unknown")
    if not callable(getattr(module, "skin", None)) or _numbers(version) < _numbers(REQUIRED):
        raise UserError(
            "MMD Skin needs version {required} of its native module but {version} is loaded:"
            " restart Blender",
            required=REQUIRED,
            version=version,
        )
    return module


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _wheel() -> str | None:
    """The wheel in the add-on's folder for this system, or None if there are no wheels at all."""
    folder = os.path.join(FOLDER, "wheels")
    names = os.listdir(folder) if os.path.isdir(folder) else ()
    # The last one wins: an update leaves the wheels of older versions in the folder.
    ours_last = sorted(names, key=lambda name: name.startswith(f"mmdskin-{REQUIRED}-"))
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


def _unpacked() -> str | None:
    """A user folder with the contents of the wheel, or None without a wheel."""
    wheel = _wheel()
    if wheel is None:
        return None
    try:
        with open(wheel, "rb") as file:
            crc = zlib.crc32(file.read())
        base = _user_folder()
        folder = os.path.join(base, f"{REQUIRED}-{crc:08x}")
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
