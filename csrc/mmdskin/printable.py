# SPDX-License-Identifier: MIT
"""Texts of files as they are shown: what would control a terminal is escaped, as by repr()."""

from __future__ import annotations

_CONTROLS = (
    *range(0x20),
    *range(0x7F, 0xA0),
    *(0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)),  # lines and directions
)
_ESCAPES = {code: repr(chr(code))[1:-1] for code in _CONTROLS}


def printable(text: str) -> str:
    return text.translate(_ESCAPES)
