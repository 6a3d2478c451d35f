# SPDX-License-Identifier: MIT
"""load_motion(), and which encoding the names of a motion are in: that in which a model has most of them."""

from __future__ import annotations

import codecs
import contextlib
import warnings
from typing import TYPE_CHECKING, Any

import mmdskin
from mmdskin import _mmdskin  # type: ignore[attr-defined]
from mmdskin.argument import check_model
from mmdskin.file_io import read

if TYPE_CHECKING:
    from collections.abc import Iterator

# What programs that are not MMD write. After cp932, so that it is chosen where others are as good.
_OTHERS = ("utf-8", "gbk", "cp949", "cp950")


def load_motion(
    _module: object,
    source: Any,
    /,
    encoding: str | None = None,
    *,
    model: mmdskin.Model | None = None,
) -> mmdskin.Motion:
    name = None if encoding is None else _codec_name(encoding)
    if model is not None:
        check_model(model)
    data = read(source)
    motion: mmdskin.Motion = _mmdskin._motion_of_bytes(data, name)
    return motion if model is None or encoding is not None else _recognized(motion, data, model)


def _codec_name(encoding: object) -> str | None:
    """Python's own name for an encoding; None for cp932."""
    if not isinstance(encoding, str):
        raise TypeError(f"encoding: expected a str or None, not {type(encoding)!r}")
    name = codecs.lookup(encoding).name
    return None if name == "cp932" else name


def _recognized(motion: mmdskin.Motion, data: bytes, model: mmdskin.Model) -> mmdskin.Motion:
    """The motion, or the same file with names in another encoding if the model has more of these."""
    if 2 * _lost(motion, model) <= len(motion.bones) + len(motion.morphs):
        return motion  # without reading the file again
    return min(_readings(motion, data), key=lambda one: _lost(one, model))


def check_names(motion: mmdskin.Motion, data: bytes, model: mmdskin.Model) -> bool:
    """Whether the model has any bone or morph of the motion, or there are none. Warn if it has not, but would
    have some in another encoding."""
    count = len(motion.bones) + len(motion.morphs)
    if not count or _lost(motion, model) < count:
        return True
    found = _recognized(motion, data, model)
    if found is not motion:
        count = len(found.bones) + len(found.morphs)
        warnings.warn(
            f"the model has no bone or morph of the motion, but {count - _lost(found, model)} of "
            f"{count} with load_motion(..., encoding={found.encoding!r})",
            UserWarning,
            stacklevel=2,
        )
    return False


def _readings(motion: mmdskin.Motion, data: bytes) -> Iterator[mmdskin.Motion]:
    yield motion
    for encoding in _OTHERS:
        with contextlib.suppress(ValueError):  # of a codec
            yield mmdskin.load_motion(data, encoding)


def _lost(motion: mmdskin.Motion, model: mmdskin.Model) -> int:
    """How many bones and morphs of the motion the model lacks."""
    unmatched = motion.unmatched(model)
    return len(unmatched.bones) + len(unmatched.morphs)
