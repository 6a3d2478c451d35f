# SPDX-License-Identifier: GPL-3.0-or-later
"""What the native module says of a file that it cannot read, in the user's language.

It speaks English: its sentences are recognised and their numbers put into the translation.
"""

import re

from .translations import READER, texts

_AT_BYTE, _IN_SECTION = "{what} (byte {byte})", "{section}: {what}"


def of(error: Exception) -> str:
    """The text of a FormatError, or of another exception; English where it is none of the known."""
    text = str(error)
    section, offset = getattr(error, "section", None), getattr(error, "offset", None)
    if offset is None:
        return _translated(text)
    what = text.removeprefix(f"{section}: ").removesuffix(f" (byte {offset})")
    what = _filled(_AT_BYTE, what=_translated(what), byte=offset)
    if not section:
        return what
    name, bracket, record = section.partition("[")
    return _filled(_IN_SECTION, section=_translated(name) + bracket + record, what=what)


def _translated(text):
    for sentence in texts(READER):
        if sentence in (_AT_BYTE, _IN_SECTION):
            continue
        found = _pattern(sentence).fullmatch(text)
        if found is not None:
            values = {name: _translated(value) for name, value in found.groupdict().items()}
            return _filled(sentence, **values)
    return text


def _filled(sentence, **values):
    return texts(READER).get(sentence, sentence).format(**values)


def _pattern(sentence):
    """What matches a sentence of any numbers and names in its {places}."""
    parts = re.split(r"(?<!\{)\{(\w+)\}", sentence)
    for place in range(len(parts)):
        text = re.escape(parts[place].replace("{{", "{").replace("}}", "}"))
        parts[place] = f"(?P<{parts[place]}>.+?)" if place % 2 else text
    return re.compile("".join(parts))
