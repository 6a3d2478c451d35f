# SPDX-License-Identifier: MIT
"""Whether work takes time in proportion to its size: ratios of CPU time, on any machine the same."""

import sys
import time
from contextlib import contextmanager

# Windows counts CPU time in steps of 16 ms.
CLOCK = time.perf_counter if sys.platform == "win32" else time.process_time
# 16 times the size; work that is quadratic takes 256 times as long.
SMALL, LARGE, MOST = 2000, 32000, 64
ROUNDS = 30


@contextmanager
def within(limit):
    """Work that is through in so many seconds, a hundred times what it takes, and not in years."""
    start = CLOCK()
    yield
    assert CLOCK() - start < limit


def seconds(call):
    start = CLOCK()
    call()
    return CLOCK() - start


def ratio(one, other, most):
    """How many times as long `one` takes as `other`, by the best time of each.

    They take turns until it is less than `most`: whatever else a machine does makes single runs
    longer, none shorter, so of work that takes more the ratio stays above.
    """
    best = [float("inf")] * 2
    for done in range(ROUNDS):
        best = [min(time, seconds(call)) for time, call in zip(best, (one, other), strict=True)]
        if done >= 2 and best[0] < most * best[1]:
            break
    return best[0] / best[1]


def growth(work, small=SMALL, large=LARGE):
    """How many times as long the work of the large size takes; work(n) gives what is to be timed."""
    return ratio(work(large), work(small), MOST)
