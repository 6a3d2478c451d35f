# SPDX-License-Identifier: GPL-3.0-or-later
"""The file's names adapted to Blender: short enough, unique, with Blender's side suffixes.

Full names are in custom properties (`mmd_name_j`, `mmd_name_e`); see the table in
`import_model/__init__.py`. Items without an English name get the one in `english_names.txt`, or keep their
Japanese one. By its name, a bone or morph also has another side: 左腕 and 右腕, 腕.L and 腕.R, ウィンク and
ウィンク右.
"""

import configparser
import functools
import pathlib
import re
import unicodedata
from collections.abc import Iterable
from typing import Any, NamedTuple

import bpy

from . import scene_model

BONES, MORPHS, MATERIALS, _ENDINGS = "bones", "morphs", "materials", "endings"
_TABLE = pathlib.Path(__file__).with_name("english_names.txt")
_SIDES = {"左": ".L", "右": ".R"}
_DIGITS = re.compile(r"[ .\-_]?(\d+(?:-\d+)*)$")
LIMIT = 63  # bytes of UTF-8, for bones, vertex groups and shape keys in every Blender
BONE_MORPH = "mmd_bone_morph"  # prefix of the names of bone morph constraints
PHYSICS = "mmd_physics"  # custom property of a pose bone: whether its rigid bodies move it
POSITIONS = "mmdskin"  # attribute of a live mesh, which its modifier removes
# Attribute of points: normals that a live mesh gives its edges, or 0.
HULL_NORMALS = "mmd_edge_normal"
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


def unique(names: Iterable[str], reserved: Iterable[str] = ()) -> list[str]:
    """Names as importers create them: short enough for Blender, numbered if they are taken."""
    found = dict.fromkeys(reserved)
    count = len(found)
    for name in names:
        result, number = cut(name), 0
        while result in found:
            number += 1
            suffix = f".{number:03d}"
            result = cut(without_number(name), LIMIT - len(suffix)) + suffix
        found[result] = None
    return list(found)[count:]


def with_side(name: str) -> str:
    """左腕 becomes 腕.L and 右腕 腕.R: the suffixes of Blender's mirror tools."""
    for side, suffix in _SIDES.items():
        before, found, after = name.rpartition(side)
        if found:
            name = before + after + suffix
    return name


def bones(records: Iterable[Any], english: bool = False) -> list[str]:
    """A name for each bone; duplicates are numbered before the side suffix, as in mmd_tools."""
    numbered = unique(chosen(record, english, BONES) or "Bone" for record in records)
    return unique(map(with_side, numbered))


def morphs(records: Iterable[Any], reserved: Iterable[str], english: bool = False) -> list[str]:
    """A name for each morph of the file, of any kind; none is in `reserved`."""
    return unique((chosen(record, english, MORPHS) or "Morph" for record in records), reserved)


def material(record: Any, english: bool = False) -> str:
    """A name for a material, which Blender numbers if it is taken."""
    return cut(chosen(record, english, MATERIALS)) or "Material"


def without_number(name: str) -> str:
    """`name` without Blender's number suffix, such as .001."""
    return _NUMBER.sub("", name)


def chosen(record: Any, english: bool, kind: str) -> str:
    """The full name of a record, a kind of item in `english_names.txt`."""
    if not english:
        return record.name
    return record.name_english.strip() or english_name(kind, record.name) or record.name


def language_of(armature: bpy.types.Object) -> str:
    """The language of a model's names, an item of LANGUAGES."""
    root = scene_model.ancestor_with(armature, LANGUAGE)
    return root[LANGUAGE] if root is not None else "JAPANESE"


def side_pairs(names: Iterable[str], kind: str = BONES) -> dict[str, str]:
    """{name: the name of the other side} of all names that have one.

    `kind`: the table of English names knows pairs whose names do not tell, such as ウィンク.
    """
    english = {name: english_name(kind, name) for name in names}
    by_table = {found: name for name, found in reversed(english.items())}

    def other_of(name: str) -> str | None:
        side = bpy.utils.flip_name(english[name])
        sides = *_turned(name), by_table.get(side) if side != english[name] else None
        return next((one for one in sides if one != name and one in english), None)

    found = {name: other_of(name) for name in english}
    return {name: other for name, other in found.items() if other and found[other] == name}


def is_one_side(name: str, kind: str = BONES) -> bool:
    """Whether a name is that of one of two sides."""
    english = english_name(kind, name)
    is_turned = any(turned != name for turned in _turned(name))
    return is_turned or bpy.utils.flip_name(english) != english


def _turned(name: str) -> tuple[str, str]:
    return name.translate(_TURNED), bpy.utils.flip_name(name)


# English names


def english_name(kind: str, name: str) -> str:
    """The English name, "" if the table has none."""
    plain = unicodedata.normalize("NFKC", name).strip()
    found = _of_part(kind, plain)
    if found:
        return found
    for side, suffix in _SIDES.items():
        before, is_there, after = plain.rpartition(side)
        if is_there and not any(other in before + after for other in _SIDES):
            found = _of_part(kind, before + after)
            return f"{found}{suffix}" if found and found[-2:] not in _SIDES.values() else ""
    return ""


def _of_part(kind: str, name: str) -> str:
    """The English name of a name without a side."""
    sections = _sections()
    if name in sections[kind]:
        return sections[kind][name]
    digits = _DIGITS.search(name)
    if digits:
        return _with(_of_part(kind, name[: digits.start()]), digits[1])
    for ending, english in sections[_ENDINGS].items():
        if name.endswith(ending) and name != ending:
            return _with(_of_part(kind, name[: -len(ending)]), english)
    return ""


def _with(name: str, ending: str) -> str:
    """A name with an ending, before the side."""
    stem, side = (name[:-2], name[-2:]) if name[-2:] in _SIDES.values() else (name, "")
    return f"{stem} {ending}{side}" if name else ""


@functools.cache
def _sections() -> dict[str, dict[str, str]]:
    return read_table(_TABLE.read_text("utf-8"))


def read_table(text: str) -> dict[str, dict[str, str]]:
    """{section: {Japanese: English}}; configparser.Error for a line that is invalid or repeated."""
    table = configparser.ConfigParser(delimiters="=", comment_prefixes="#", interpolation=None)
    table.optionxform = lambda name: unicodedata.normalize("NFKC", name)  # type: ignore[method-assign, assignment]
    table.read_string(text)
    return {name: dict(section) for name, section in table.items()}
