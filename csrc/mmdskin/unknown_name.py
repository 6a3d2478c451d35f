# SPDX-License-Identifier: MIT
"""The error for a name that does not exist. It looks for similar names only when its text is read: that
takes milliseconds, and programs that try one name after the other never read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mmdskin.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_COUNT, _RATIO = 3, 0.3  # of names that are similar enough, by difflib's ratio


class UnknownNameError(KeyError):
    """A name that no bone, morph or other record has: args[0].

    Its text suggests up to three similar names, also with other case or width of letters.
    """

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


UnknownNameError.__module__ = "mmdskin"  # where it is exported
