# SPDX-License-Identifier: GPL-3.0-or-later
"""Wrap texts of panels, also Japanese and Chinese ones without spaces."""

import unicodedata
from itertools import pairwise

_NOT_FIRST, _NOT_LAST = " 。、，：；）」”ー", "（「“"  # of a line


def lines(text: str, room: float) -> list[str]:
    """The text wrapped to lines of `room` letters; wide letters count twice."""
    wrapped, line = [], ""
    for piece in _pieces(text):
        if line and _breadth(line) + _breadth(piece.rstrip()) > room:
            wrapped.append(line.rstrip())
            line = ""
        line += piece
    return [*wrapped, line.rstrip()]


def _pieces(text: str) -> list[str]:
    """The unbreakable parts: words with their space, and wide letters with punctuation."""
    pieces = [text[:1]]
    for before, letter in pairwise(text):
        broken = before == " " or _is_wide(before) or _is_wide(letter)
        if broken and letter not in _NOT_FIRST and before not in _NOT_LAST:
            pieces.append("")
        pieces[-1] += letter
    return pieces


def _breadth(text: str) -> int:
    return sum(2 if _is_wide(letter) else 1 for letter in text)


def _is_wide(letter: str) -> bool:
    return unicodedata.east_asian_width(letter) in "WFA"
