# SPDX-License-Identifier: MIT
"""FormatError, BackendError and UnknownNameError, and the exceptions that are made of errors in C."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SURROGATE = re.compile(rb"\xed[\xb2\xb3].", re.DOTALL)  # a byte of a name that is no character
_CONTROLS = (
    *range(0x20),
    *range(0x7F, 0xA0),
    *(0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)),  # lines and directions
)
_ESCAPES = {code: repr(chr(code))[1:-1] for code in _CONTROLS}
_COUNT, _RATIO = 3, 0.3  # of names that are similar enough, by difflib's ratio


class FormatError(ValueError):
    """A file that cannot be read. offset: the byte at which reading failed, int or None; section:
    the part of the file, such as "bones[12]", str or None.
    """

    offset: int | None = None
    section: str | None = None


class BackendError(RuntimeError):
    """A backend that is not available; the message is the driver's."""


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def printable(text: str) -> str:
    """A text of a file as it is shown: what would control a terminal, or cannot be
    printed, is escaped, as by repr()."""
    return text.translate(_ESCAPES).encode("utf-8", "backslashreplace").decode()


def text_of(encoded: bytes) -> str:
    """What need not be valid UTF-8: drivers use any encoding, and a long message may be cut inside a
    character."""
    return printable(_SURROGATE.sub("\ufffd".encode(), encoded).decode("utf-8", "replace"))


def value_error(encoded: bytes) -> ValueError:
    return ValueError(text_of(encoded))


def backend_error(encoded: bytes) -> BackendError:
    return BackendError(text_of(encoded))


def format_error(encoded: bytes, section: str, offset: int) -> FormatError:
    where = f"{section}: " if section else ""
    error = FormatError(f"{where}{text_of(encoded)} (byte {offset})")
    error.offset, error.section = offset, section
    return error


def refuse(kind: str, section: str, text: str) -> NoReturn:
    """For files that are read in Python; kind: "BVH", ..."""
    error = FormatError(f"{kind}: {section}: {printable(text)[:200]}")
    error.section = section
    raise error


class UnknownNameError(KeyError):
    """A name that no bone, morph or other record has: args[0].

    Its text suggests up to three similar names, also with other case or width of letters.
    """

    # It looks for them only when its text is read: that takes milliseconds, and programs that try one
    # name after the other never read it.

    _text: str | None = None
    _item = ""  # what was looked for; empty if other code has made the error
    _records: Sequence[Any] = ()
    _english = False

    def __str__(self) -> str:
        if not self._item:
            return super().__str__()
        if self._text is None:
            self._text = self._describe()
            self._records = ()
        return self._text

    def _describe(self) -> str:
        named = [(getattr(one, "name_english", ""), one) for one in self._records]
        named += [(one.name, one) for one in self._records]
        # An English name that is not found leads to the record's own name.
        shown = {_fold(name): name if self._english else one.name for name, one in named if name}
        nearest = ", ".join(f'"{name}"' for name in _similar(_fold(self.args[0]), shown))
        missing = f'no {self._item} "{self.args[0]}"'
        end = f"; nearest: {nearest}" if nearest else " and no similar name"
        return printable(missing + end)

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the records."""
        state = {"_text": str(self), "_item": self._item} if self._item else {}
        return UnknownNameError, self.args, state


def unknown_name(name: str, item: str, records: Sequence[Any], english: bool) -> UnknownNameError:
    """For an `item` that is not in `records`; `english`: their English names are found, too."""
    error = UnknownNameError(name)
    error._item, error._records, error._english = item, records, english
    return error


def _fold(name: str) -> str:
    """Without width and case of letters, which people mix up when they type a name."""
    import unicodedata

    return unicodedata.normalize("NFKC", name).casefold()


def _similar(folded: str, shown: dict[str, str]) -> Iterable[str]:
    """What is shown for the names that are most similar, best first, each once."""
    import difflib

    found = difflib.get_close_matches(folded, shown, _COUNT, _RATIO)
    return dict.fromkeys(shown[name] for name in found)


# Where they are exported
FormatError.__module__ = BackendError.__module__ = UnknownNameError.__module__ = "mmdskin"
