/* SPDX-License-Identifier: MIT */
#ifndef MMD_PARALLEL_H
#define MMD_PARALLEL_H

#include "mmdskin.h"

enum { MMD_MOST_THREADS = 256 };

/* Threads that calls share. Where there are too few, a call starts more; one that has waited for a
   tenth of a second leaves. */
typedef struct mmd_crew mmd_crew;

mmd_crew *mmd_crew_new(mmd_error *err);
void mmd_crew_free(mmd_crew *crew);

/* Ends the threads, once they are done with calls under way; later calls start others. */
void mmd_crew_dismiss(mmd_crew *crew);

/* In the child of a fork, which has no thread but one, whatever others were at. */
void mmd_crew_reset(mmd_crew *crew);

/* Items [first, first + count); `worker` tells the threads of a call apart, from 0. */
typedef bool mmd_parallel_part(void *arg, size_t worker, size_t first, size_t count,
                               mmd_error *err);

/* Does items [first, end) on this thread, which is worker 0, and on members of the crew, so that
   `threads` are at it: at most one an item and MMD_MOST_THREADS. Who comes too late is not waited
   for, and where no thread can be started, this one does it all. How items are shared out differs
   from call to call. False with the first error, after which nothing new is begun. */
bool mmd_parallel(mmd_crew *crew, size_t first, size_t end, size_t threads, mmd_parallel_part *part,
                  void *arg, mmd_error *err);

#endif
