# SPDX-License-Identifier: MIT
"""Whether the time of work is proportional to its size, by ratios of CPU time, which hold on any machine."""

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
    """Checks that the work ends within this many seconds (100 times what it takes), not after years."""
    start = CLOCK()
    yield
    assert CLOCK() - start < limit


def seconds(call):
    start = CLOCK()
    call()
    return CLOCK() - start


def ratio(one, other, most):
    """The time of `one` divided by the time of `other`, by the best time of each.

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
    """The time for the large size divided by that for the small one; work(n) returns the call to time."""
    return ratio(work(large), work(small), MOST)
