# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of the file as Blender can hold them: short enough, unique, sides where Blender looks.

Whole names stay in custom properties (`mmd_name_j`, `mmd_name_e`); see the table in
`import_model/__init__.py`. What has no English name keeps its Japanese one.
"""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

LIMIT = 63  # bytes of UTF-8, for bones, vertex groups and shape keys in every Blender
BONE_MORPH = "mmd_bone_morph"  # what the names of constraints of bone morphs begin with
PHYSICS = "mmd_physics"  # custom property of a pose bone: whether its rigid bodies move it
UV_MORPHS = "MMD UV Morphs"  # the modifier that moves UVs by sliders
_NUMBER = re.compile(r"\.\d+$")


class Named(NamedTuple):
    """What the functions here need of a record of the file."""

    name: str
    name_english: str


def cut(name: str, limit: int = LIMIT) -> str:
    """`name` without the characters that do not fit into `limit` bytes."""
    return name.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")


def unique(name: str, taken: set[str]) -> str:
    """`name` or `name.001` and so on, and a member of the set `taken` from now on."""
    result, number = cut(name), 0
    while result in taken:
        number += 1
        suffix = f".{number:03d}"
        result = cut(without_number(name), LIMIT - len(suffix)) + suffix
    taken.add(result)
    return result


def with_side(name: str) -> str:
    """左腕 becomes 腕.L and 右腕 腕.R: what Blender's mirror tools understand."""
    for side, suffix in (("左", ".L"), ("右", ".R")):
        before, found, after = name.rpartition(side)
        if found:
            name = before + after + suffix
    return name


def bones(records: Iterable[Any], english: bool = False) -> list[str]:
    """A name for each bone; duplicates get their number before the side, as with mmd_tools."""
    taken = set()
    numbered = [unique(_chosen(record, english) or "Bone", taken) for record in records]
    taken = set()
    return [unique(with_side(name), taken) for name in numbered]


def morphs(records: Iterable[Any], reserved: Iterable[str], english: bool = False) -> list[str]:
    """A name for each morph of the file, whatever its kind; none is in `reserved`."""
    taken = set(reserved)
    return [unique(_chosen(record, english) or "Morph", taken) for record in records]


def material(record: Any, english: bool = False) -> str:
    """A name for a material, which Blender numbers where another has it."""
    return cut(_chosen(record, english)) or "Material"


def without_number(name: str) -> str:
    """`name` without the .001 and so on that Blender has added."""
    return _NUMBER.sub("", name)


def _chosen(record, english):
    return (record.name_english.strip() if english else "") or record.name
