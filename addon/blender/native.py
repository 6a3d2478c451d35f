# SPDX-License-Identifier: GPL-3.0-or-later
"""The native module `mmdskin`, imported at first use and never by register().

Windows locks a loaded library, so an add-on that imports it early cannot be updated. For an
extension, Blender installs the wheel; otherwise `classic` unpacks it.
"""

import importlib
import re
from typing import TYPE_CHECKING, Any

from .translations import READER, texts
from .user_error import UserError

try:
    from . import classic
except ImportError:  # left out of zips for one system, which are extensions only
    classic = None  # type: ignore[assignment]

REQUIRED = "0.0.0"  # package.py puts the version of the wheel here

# What the module imports when it is used: at once, as an update of the add-on may remove the files.
_LATER = """
    argument array_arguments new_file file_io mesh_arguments fitting fit_steps model_defaults model_methods
    motion_encoding motion_file motion_methods physics_arguments pose_file retargeting.fit
    retargeting.mmd_controls
""".split()

_module = None
_backends = ()

if TYPE_CHECKING:
    import mmdskin as mmdskin
    import mmdskin.new_file
else:

    class _Module:
        """The module, loaded where it is first used: annotations that name it must be strings."""

        def __getattr__(self, name: str) -> Any:
            return getattr(load(), name)

    mmdskin = _Module()


def load() -> Any:
    """The module `mmdskin`; UserError if it is missing or too old."""
    global _module
    if _module is None:
        if classic is not None:
            classic.provide_module(REQUIRED)
        _module = _import()
    return _module


def backends() -> tuple[Any, ...]:
    """The backends from `remember_backends`, for redraws: asking the module may start its GL thread."""
    return _backends


def remember_backends() -> None:
    global _backends
    if not _backends:
        _backends = tuple(load().backends())


def shutdown() -> None:
    """Stop the module's thread and forget the module; a later load() imports it again."""
    global _module, _backends
    if _module is not None:
        _module.shutdown()
    if classic is not None:
        classic.withdraw_module()
    _module, _backends = None, ()


def _import() -> Any:
    module = _imported("mmdskin")
    version = getattr(module, "__version__", "unknown")
    if not callable(getattr(module, "skin", None)) or _numbers(version) < _numbers(REQUIRED):
        raise UserError(
            "MMD Skin needs version {required} of its native module but {version} is loaded:"
            " restart Blender",
            required=REQUIRED,
            version=version,
        )
    for name in _LATER:
        _imported(f"mmdskin.{name}")
    return module


def _imported(name: str) -> Any:
    try:
        importlib.invalidate_caches()
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise UserError(
            "The native module of MMD Skin is missing, perhaps removed by antivirus"
            " software: install the add-on's zip again, then restart Blender"
        ) from None
    except (ImportError, OSError) as error:
        raise UserError(
            "The native module of MMD Skin cannot be loaded on this system: {reason}", reason=error
        ) from error


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


# Its errors about unreadable files, and its notes, in the user's language. They are English: they are matched,
# and their values inserted into translations.

_AT_BYTE, _IN_SECTION = "{what} (byte {byte})", "{section}: {what}"


def sentence(error: Exception) -> str:
    """The text of a FormatError or another exception; English if it is unknown."""
    text = str(error)
    section, offset = getattr(error, "section", None), getattr(error, "offset", None)
    if offset is None:
        return translated(text)
    what = text.removeprefix(f"{section}: ").removesuffix(f" (byte {offset})")
    what = _filled(_AT_BYTE, what=translated(what), byte=offset)
    if not section:
        return what
    name, bracket, record = section.partition("[")
    return _filled(_IN_SECTION, section=translated(name) + bracket + record, what=what)


def translated(text: str) -> str:
    """A message, or a note, of the module."""
    for sentence in texts(READER):
        if sentence in (_AT_BYTE, _IN_SECTION):
            continue
        found = _pattern(sentence).fullmatch(text)
        if found is not None:
            values = {name: translated(value) for name, value in found.groupdict().items()}
            return _filled(sentence, **values)
    return text


def _filled(sentence: str, **values: object) -> str:
    return texts(READER).get(sentence, sentence).format(**values)


def _pattern(sentence: str) -> re.Pattern[str]:
    """A pattern that matches a message with any values for its {fields}."""
    parts = re.split(r"(?<!\{)\{(\w+)\}", sentence)
    for place in range(len(parts)):
        text = re.escape(parts[place].replace("{{", "{").replace("}}", "}"))
        parts[place] = f"(?P<{parts[place]}>.+?)" if place % 2 else text
    return re.compile("".join(parts))
