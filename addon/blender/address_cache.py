# SPDX-License-Identifier: GPL-3.0-or-later
"""What is remembered by address: Blender does not say when it frees what was there."""

from typing import TypeVar

_Value = TypeVar("_Value")


def put(known: dict[int, _Value], address: int, value: _Value, most: int) -> None:
    """Add an entry as the newest one, and remove the oldest so that there are at most `most`."""
    known.pop(address, None)
    # Blender evaluates copies on several threads, so another one may remove it first.
    for old in list(known)[: max(0, len(known) + 1 - most)]:
        known.pop(old, None)
    known[address] = value
