/* SPDX-License-Identifier: MIT */
#ifndef MMD_THREAD_POOL_H
#define MMD_THREAD_POOL_H

#include "mmdskin.h"

enum { MMD_MAX_THREADS = 256 };

/* Worker threads for jobs from any number of threads. A job starts workers as it needs them; a
   worker exits after a tenth of a second without work. */
typedef struct mmd_thread_pool mmd_thread_pool;

mmd_thread_pool *mmd_thread_pool_new(mmd_error *err);
void mmd_thread_pool_free(mmd_thread_pool *pool);

/* Finishes the jobs in progress and ends all workers. A later job starts new ones. */
void mmd_thread_pool_stop(mmd_thread_pool *pool);

/* Forgets jobs and workers without waiting for them: for the child of a fork, in which no other
   thread exists. */
void mmd_thread_pool_reset(mmd_thread_pool *pool);

/* Does items [first, first + count); `worker` is the thread's index within the job, from 0. */
typedef bool mmd_thread_pool_task(void *arg, size_t worker, size_t first, size_t count,
                                  mmd_error *err);

/* Does items [first, end) on this thread, which is worker 0, and on workers of the pool: on up to
   `threads` threads in all, at most one an item and MMD_MAX_THREADS. It does not wait for workers
   that have not begun, and this thread does everything if no worker can be started. Which thread
   does which items differs from call to call. Returns false with the first error, after which no
   further items are begun. */
bool mmd_thread_pool_run(mmd_thread_pool *pool, size_t first, size_t end, size_t threads,
                         mmd_thread_pool_task *task, void *arg, mmd_error *err);

/* A part of a long computation that its caller runs, in slices: items [0, count) of a task. Items
   of the cost `step` together take about 10 ms. */
typedef struct mmd_thread_part {
    mmd_thread_pool_task *task; /* NULL: nothing is left to do */
    void *arg;
    size_t count, cost, step; /* of each item its cost */
} mmd_thread_part;

#endif
