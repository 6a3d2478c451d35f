# SPDX-License-Identifier: GPL-3.0-or-later
"""The file's names adapted to Blender: short enough, unique, with Blender's side suffixes.

Full names are in custom properties (`mmd_name_j`, `mmd_name_e`); see the table in
`import_model/__init__.py`. Items without an English name get the one in `english_names`, or keep their
Japanese one. By its name, a bone or morph also has another side: 左腕 and 右腕, 腕.L and 腕.R, ウィンク and
ウィンク右.
"""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import bpy

from . import english_names, scene_model

LIMIT = 63  # bytes of UTF-8, for bones, vertex groups and shape keys in every Blender
BONE_MORPH = "mmd_bone_morph"  # prefix of the names of bone morph constraints
PHYSICS = "mmd_physics"  # custom property of a pose bone: whether its rigid bodies move it
POSITIONS = "mmdskin"  # attribute of a live mesh, which its modifier removes
HULL_NORMALS = (
    "mmd_edge_normal"  # attribute of points: normals that a live mesh gives its edges, or 0
)
UV_MORPHS = "MMD UV Morphs"  # the modifier that moves UVs by sliders
LANGUAGE = "mmd_names"  # of the root: the language of the names, an item of LANGUAGES
LANGUAGES = [
    ("JAPANESE", "Japanese", "Names shown in MMD"),
    ("ENGLISH", "English", "English names from the file, or the usual ones if it has none"),
]
_NUMBER = re.compile(r"\.\d+$")
_TURNED = str.maketrans("左右", "右左")


class Named(NamedTuple):
    """The fields of a file's record that this module needs."""

    name: str
    name_english: str


def cut(name: str, limit: int = LIMIT) -> str:
    """`name` truncated to `limit` bytes."""
    return name.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")


def unique(name: str, taken: set[str]) -> str:
    """`name` or `name.001` and so on; adds it to the set `taken`."""
    result, number = cut(name), 0
    while result in taken:
        number += 1
        suffix = f".{number:03d}"
        result = cut(without_number(name), LIMIT - len(suffix)) + suffix
    taken.add(result)
    return result


def with_side(name: str) -> str:
    """左腕 becomes 腕.L and 右腕 腕.R: the suffixes of Blender's mirror tools."""
    for side, suffix in (("左", ".L"), ("右", ".R")):
        before, found, after = name.rpartition(side)
        if found:
            name = before + after + suffix
    return name


def bones(records: Iterable[Any], english: bool = False) -> list[str]:
    """A name for each bone; duplicates are numbered before the side suffix, as in mmd_tools."""
    taken: set[str] = set()
    numbered = [
        unique(chosen(record, english, english_names.BONES) or "Bone", taken) for record in records
    ]
    taken = set()
    return [unique(with_side(name), taken) for name in numbered]


def morphs(records: Iterable[Any], reserved: Iterable[str], english: bool = False) -> list[str]:
    """A name for each morph of the file, of any kind; none is in `reserved`."""
    taken = set(reserved)
    return [
        unique(chosen(record, english, english_names.MORPHS) or "Morph", taken)
        for record in records
    ]


def material(record: Any, english: bool = False) -> str:
    """A name for a material, which Blender numbers if it is taken."""
    return cut(chosen(record, english, english_names.MATERIALS)) or "Material"


def without_number(name: str) -> str:
    """`name` without Blender's number suffix, such as .001."""
    return _NUMBER.sub("", name)


def chosen(record: Any, english: bool, kind: str) -> str:
    """The full name of a record, a kind of item in `english_names`."""
    if not english:
        return record.name
    return record.name_english.strip() or english_names.find(kind, record.name) or record.name


def language(english: bool) -> str:
    """An item of LANGUAGES."""
    return "ENGLISH" if english else "JAPANESE"


def language_of(armature: bpy.types.Object) -> str:
    """The language of a model's names, an item of LANGUAGES."""
    root = scene_model.ancestor_with(armature, LANGUAGE)
    return root[LANGUAGE] if root is not None else "JAPANESE"


def side_pairs(names: Iterable[str], kind: str = english_names.BONES) -> dict[str, str]:
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
