# SPDX-License-Identifier: MIT
"""Which encoding the names of a motion are in: that in which a model has most of them."""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING

import mmdskin

if TYPE_CHECKING:
    from collections.abc import Iterator

# What programs that are not MMD write. After cp932, so that it is chosen where others are as good.
_OTHERS = ("utf-8", "gbk", "cp949", "cp950")


def recognized(motion: mmdskin.Motion, data: bytes, model: mmdskin.Model) -> mmdskin.Motion:
    """The motion, or the same file with names in another encoding if the model has more of these."""
    if 2 * _lost(motion, model) <= len(motion.bones) + len(motion.morphs):
        return motion  # without reading the file again
    return min(_readings(motion, data), key=lambda one: _lost(one, model))


def suggest(motion: mmdskin.Motion, data: bytes, model: mmdskin.Model) -> None:
    """Warn if the model has none of the names, but would have some in another encoding."""
    found = recognized(motion, data, model)
    if found is not motion:
        count = len(found.bones) + len(found.morphs)
        warnings.warn(
            f"the model has no bone or morph of the motion, but {count - _lost(found, model)} of "
            f"{count} with load_motion(..., encoding={found.encoding!r})",
            UserWarning,
            stacklevel=2,
        )


def _readings(motion: mmdskin.Motion, data: bytes) -> Iterator[mmdskin.Motion]:
    yield motion
    for encoding in _OTHERS:
        with contextlib.suppress(ValueError):  # of a codec
            yield mmdskin.load_motion(data, encoding)


def _lost(motion: mmdskin.Motion, model: mmdskin.Model) -> int:
    """How many bones and morphs of the motion the model lacks."""
    unmatched = motion.unmatched(model)
    return len(unmatched.bones) + len(unmatched.morphs)
