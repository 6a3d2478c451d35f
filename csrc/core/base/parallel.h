/* SPDX-License-Identifier: MIT */
#ifndef MMD_PARALLEL_H
#define MMD_PARALLEL_H

#include "mmdskin.h"

enum { MMD_MOST_THREADS = 256 };

/* Items [first, first + count); `worker` tells the threads of a call apart, from 0. */
typedef bool mmd_parallel_part(void *arg, size_t worker, size_t first, size_t count,
                               mmd_error *err);

/* Does items [first, end) on this thread, which is worker 0, and on as many others as make
   `threads` of them: at most one an item and MMD_MOST_THREADS. They start and end within the call,
   so that no fork meets them; where none can be started, this one does it all. How items are shared
   out differs from call to call. False with the first error, after which nothing new is begun. */
bool mmd_parallel(size_t first, size_t end, size_t threads, mmd_parallel_part *part, void *arg,
                  mmd_error *err);

#endif
