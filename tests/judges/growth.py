# SPDX-License-Identifier: MIT
"""Whether work takes time in proportion to its size."""

import time

SMALL, LARGE, MOST = 4000, 16000, 6  # four times the size, less than six times the time


def seconds(call):
    """CPU time, the best of some."""
    times = []
    for _ in range(5):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def growth(work, small=SMALL, large=LARGE):
    """How many times as long the work of the large size takes; work(n) gives what is to be timed."""
    return seconds(work(large)) / seconds(work(small))
