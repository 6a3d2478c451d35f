/* SPDX-License-Identifier: MIT */
#include "gl/gl_threads.h"

enum {
    SHARED_BYTES = 1 << 20, /* that are worth waking other threads */
    MAX_THREADS = 8         /* more do not read a device's memory faster */
};

bool mmd_gl_threads_run(const mmd_gl_threads *threads, size_t count, size_t bytes,
                        mmd_thread_pool_task *task, void *arg, mmd_error *err)
{
    size_t used = threads->count < MAX_THREADS ? threads->count : MAX_THREADS;
    if (bytes < SHARED_BYTES || used < 2)
        return task(arg, 0, 0, count, err);
    return mmd_thread_pool_run(threads->pool, 0, count, used, task, arg, err);
}
