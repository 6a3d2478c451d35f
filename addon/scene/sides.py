# SPDX-License-Identifier: GPL-3.0-or-later
"""The other side of a bone or morph, by its name: 左腕 and 右腕, 腕.L and 腕.R, ウィンク and ウィンク右."""

from collections.abc import Iterable

import bpy

from . import english_names

_TURNED = str.maketrans("左右", "右左")


def pairs(names: Iterable[str], kind: str = english_names.BONES) -> dict[str, str]:
    """{name: the name of the other side} of all names that have one.

    `kind` of `english_names`: its table knows pairs whose names do not tell, such as ウィンク.
    """
    listed = dict.fromkeys(names)
    by_table: dict[str, str] = {}
    for name in listed:
        by_table.setdefault(english_names.find(kind, name), name)
    found = {name: _other(name, listed, by_table, kind) for name in listed}
    return {name: other for name, other in found.items() if other and found[other] == name}


def is_one_side(name: str, kind: str = english_names.BONES) -> bool:
    """Whether a name is that of one of two sides."""
    english = english_names.find(kind, name)
    return (
        any(turned != name for turned in _turned(name)) or bpy.utils.flip_name(english) != english
    )


def _turned(name: str) -> tuple[str, str]:
    return name.translate(_TURNED), bpy.utils.flip_name(name)


def _other(name: str, listed: Iterable[str], by_table: dict[str, str], kind: str) -> str | None:
    for turned in _turned(name):
        if turned != name and turned in listed:
            return turned
    english = english_names.find(kind, name)
    side = bpy.utils.flip_name(english)
    return by_table.get(side) if side != english else None
