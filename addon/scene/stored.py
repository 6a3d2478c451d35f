# SPDX-License-Identifier: GPL-3.0-or-later
"""Read custom properties that importers and the add-on have stored.

Anything may have damaged them, so a value of another type reads as the default.
"""

import math
from collections.abc import Iterator
from typing import Any

_NUMBER = 2**31  # custom properties hold such integers


def value(owner: Any, name: str, default: Any) -> Any:
    """The value of a property, or of a member of a group, if it has the type of the default."""
    found = owner.get(name) if hasattr(owner, "get") else None
    kinds = (int, float) if isinstance(default, (bool, float)) else type(default)
    return type(default)(found) if isinstance(found, kinds) else default


def text(owner: Any, name: str) -> str:
    return value(owner, name, "")


def number(owner: Any, name: str, default: int = -1) -> int:
    found = owner.get(name) if hasattr(owner, "get") else None
    whole = isinstance(found, (int, float)) and abs(found) < _NUMBER and found == int(found)
    return int(found) if whole else default


def numbers(owner: Any, name: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """As many finite numbers as the default has."""
    found = owner.get(name) if hasattr(owner, "get") else None
    values = tuple(found) if _is_list(found) and not isinstance(found, str) else ()
    sound = all(isinstance(one, (int, float)) and math.isfinite(one) for one in values)
    return values if sound and len(values) == len(default) else default


def groups(owner: Any, name: str) -> Iterator[Any]:
    """The groups in a list, which have the method `get`."""
    found = owner.get(name, ()) if hasattr(owner, "get") else ()
    # Blender gives a single type to each list, and its own type to a list of groups.
    members = found if isinstance(found, (list, tuple)) else list(found) if _is_list(found) else []
    return (member for member in members if hasattr(member, "keys"))


def _is_list(found: Any) -> bool:
    return hasattr(found, "__len__") and hasattr(found, "__iter__") and not hasattr(found, "keys")
