# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalogue of each language: a gettext .po file with Blender's name of the language.

To add a language, copy one of these files and translate its `msgstr` lines, in any editor or in a
tool such as Poedit. Empty and fuzzy entries stay English; `{fields}` keep their names.
"""

import json
import pathlib
import re

Texts = dict[str, dict[str, str]]  # context ("" for none): English: translation
_PART = re.compile(r'(msgctxt|msgid|msgstr)\s*((?:"(?:[^"\\\n]|\\.)*"\s*)+)')


def load() -> dict[str, Texts]:
    """The texts of all languages by name."""
    files = sorted(pathlib.Path(__file__).parent.glob("*.po"))
    return {file.stem: read(file.read_text("utf-8")) for file in files}


def read(po: str) -> Texts:
    """The translations of a .po file; ValueError for an invalid line."""
    texts: Texts = {}
    for paragraph in re.split(r"\n\s*\n", po):
        lines = [line.strip() for line in paragraph.splitlines()]
        body = "\n".join(line for line in lines if not line.startswith("#"))
        if others := _PART.sub("", body).strip():
            raise ValueError(f"not a line of a .po file: {others}")
        # Each keyword's text may continue over several lines; the escapes are those of JSON.
        found = _PART.findall(body)
        parts = {word: "".join(map(json.loads, text.splitlines())) for word, text in found}
        fuzzy = any(line.startswith("#,") and "fuzzy" in line for line in lines)
        if parts.get("msgid") and parts.get("msgstr") and not fuzzy:
            texts.setdefault(parts.get("msgctxt", ""), {})[parts["msgid"]] = parts["msgstr"]
    return texts
