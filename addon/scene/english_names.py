# SPDX-License-Identifier: GPL-3.0-or-later
"""English names for bones, morphs and materials whose file has none, from `english_names.txt`."""

import functools
import pathlib
import re
import unicodedata

BONES, MORPHS, MATERIALS, _ENDINGS = "bones", "morphs", "materials", "endings"
_TABLE = pathlib.Path(__file__).with_suffix(".txt")
_SIDES = {"左": ".L", "右": ".R"}
_DIGITS = re.compile(r"[ .\-_]?(\d+(?:-\d+)*)$")


def find(kind: str, name: str) -> str:
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
    return read(_TABLE.read_text("utf-8"))


def read(text: str) -> dict[str, dict[str, str]]:
    """{section: {Japanese: English}}; ValueError with a line that is invalid or repeated."""
    sections: dict[str, dict[str, str]] = {}
    section: dict[str, str] | None = None
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            section = sections.setdefault(line[1:-1], {})
        elif line and not line.startswith("#"):
            name, is_there, english = line.partition(" = ")
            name = unicodedata.normalize("NFKC", name.strip())
            if section is None or not (name and is_there and english.strip()) or name in section:
                raise ValueError(line)
            section[name] = english.strip()
    return sections
