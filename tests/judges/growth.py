# SPDX-License-Identifier: MIT
"""Whether work takes time in proportion to its size."""

import sys
import time

# Windows counts CPU time in steps of 16 ms.
CLOCK = time.perf_counter if sys.platform == "win32" else time.process_time
SMALL, LARGE, MOST = 4000, 16000, 6  # four times the size, less than six times the time


def seconds(call):
    """CPU time where there is a clock for it, the best of some."""
    times = []
    for _ in range(5):
        start = CLOCK()
        call()
        times.append(CLOCK() - start)
    return min(times)


def growth(work, small=SMALL, large=LARGE):
    """How many times as long the work of the large size takes; work(n) gives what is to be timed.

    A busy machine may spoil a ratio, but no quadratic work gets below 16 in any of three.
    """
    ratio = float("inf")
    for _ in range(3):
        ratio = min(ratio, seconds(work(large)) / seconds(work(small)))
        if ratio < MOST:
            break
    return ratio
