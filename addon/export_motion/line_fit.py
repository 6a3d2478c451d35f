# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of straight lines through samples, as the native module finds them for morphs."""

import numpy as np

_WINDOW = 64  # frames to look ahead at first


def rows_of_keys(values: np.ndarray, tolerances: np.ndarray) -> np.ndarray:
    """(K,) ascending rows of values (F, C) between which lines stay within the tolerances (C,).

    Each line is the longest that passes all samples: docs/fitting.md. What stays as it is has one key.
    """
    found = [0]
    while found[-1] < len(values) - 1:
        found.append(found[-1] + _reach(values[found[-1] :], tolerances))
    while len(found) > 1:
        at = found[-2]
        if (np.abs(values[at:] - values[at]) > tolerances).any():
            break
        found.pop()
    return np.array(found)


def _reach(values: np.ndarray, tolerances: np.ndarray) -> int:
    """The row at which the longest line from the first row ends."""
    window = _WINDOW
    while True:
        moved = values[1 : window + 1] - values[0]
        spans = np.arange(1, len(moved) + 1)[:, None]
        # The cone of slopes that pass all samples up to each one.
        least = np.maximum.accumulate((moved - tolerances) / spans)
        most = np.minimum.accumulate((moved + tolerances) / spans)
        slopes = moved / spans
        within = np.append(
            True, ((slopes[1:] >= least[:-1]) & (slopes[1:] <= most[:-1])).all(axis=1)
        )
        is_closed = (least > most).any()
        if is_closed or window >= len(values) - 1:
            return int(np.flatnonzero(within)[-1]) + 1
        window *= 4
