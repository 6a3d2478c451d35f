# SPDX-License-Identifier: GPL-3.0-or-later
"""What the native module says of a file that it cannot read, in the user's language.

It speaks English: its sentences are recognised and their numbers put into the translation.
"""

import re

from .sentences import READER
from .translations import of_table

_PLACES = ("{what} (byte {byte})", "{section}: {what}")
_SENTENCES = [sentence for sentence in READER if sentence not in _PLACES]


def of(error: Exception) -> str:
    """The text of a FormatError, or of another exception; English where it is none of the known."""
    text = str(error)
    section, offset = getattr(error, "section", None), getattr(error, "offset", None)
    if offset is None:
        return _translated(text)
    what = text.removeprefix(f"{section}: ").removesuffix(f" (byte {offset})")
    what = of_table(READER, "{what} (byte {byte})", what=_translated(what), byte=offset)
    if not section:
        return what
    name, bracket, record = section.partition("[")
    section = _translated(name) + bracket + record
    return of_table(READER, "{section}: {what}", section=section, what=what)


def _translated(text):
    for sentence in _SENTENCES:
        found = _pattern(sentence).fullmatch(text)
        if found is not None:
            values = {name: _translated(value) for name, value in found.groupdict().items()}
            return of_table(READER, sentence, **values)
    return text


def _pattern(sentence):
    """What matches a sentence of any numbers and names in its {places}."""
    parts = re.split(r"(?<!\{)\{(\w+)\}", sentence)
    for place in range(len(parts)):
        text = re.escape(parts[place].replace("{{", "{").replace("}}", "}"))
        parts[place] = f"(?P<{parts[place]}>.+?)" if place % 2 else text
    return re.compile("".join(parts))
