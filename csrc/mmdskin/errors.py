# SPDX-License-Identifier: MIT
"""FormatError, BackendError, and the exceptions that are made of errors in C."""

from __future__ import annotations

import re
from typing import NoReturn

from mmdskin.printable import printable

_SURROGATE = re.compile(rb"\xed[\xb2\xb3].", re.DOTALL)  # a byte of a name that is no character


class FormatError(ValueError):
    """A file that cannot be read. offset: the byte at which reading failed, int or None; section:
    the part of the file, such as "bones[12]", str or None.
    """

    offset: int | None = None
    section: str | None = None


class BackendError(RuntimeError):
    """A backend that is not available; the message is the driver's."""


def text_of(encoded: bytes) -> str:
    """What need not be valid UTF-8: drivers use any encoding, and a long message may be cut inside a
    character."""
    return printable(_SURROGATE.sub("\ufffd".encode(), encoded).decode("utf-8", "replace"))


def value_error(encoded: bytes) -> ValueError:
    return ValueError(text_of(encoded))


def backend_error(encoded: bytes) -> BackendError:
    return BackendError(text_of(encoded))


def format_error(encoded: bytes, section: str, offset: int) -> FormatError:
    where = f"{section}: " if section else ""
    error = FormatError(f"{where}{text_of(encoded)} (byte {offset})")
    error.offset, error.section = offset, section
    return error


def refuse(kind: str, section: str, text: str) -> NoReturn:
    """For files that are read in Python; kind: "BVH", ..."""
    error = FormatError(f"{kind}: {section}: {printable(text)[:200]}")
    error.section = section
    raise error


FormatError.__module__ = BackendError.__module__ = "mmdskin"  # where they are exported
