# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of the native module about unreadable files, in the user's language.

The module's messages are English: they are matched, and their values inserted into translations.
"""

import re

from .translations import READER, texts

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
