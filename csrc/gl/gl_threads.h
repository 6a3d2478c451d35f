/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_THREADS_H
#define MMD_GL_THREADS_H

#include "core/base/thread_pool.h"

/* The caller's threads, which share what the CPU does for a device: copies of results and digests
   of textures. With fewer than two, the pool may be NULL. */
typedef struct mmd_gl_threads {
    mmd_thread_pool *pool;
    size_t count;
} mmd_gl_threads;

/* Does items [0, count), which read `bytes` in all, on this thread or on several. */
bool mmd_gl_threads_run(const mmd_gl_threads *threads, size_t count, size_t bytes,
                        mmd_thread_pool_task *task, void *arg, mmd_error *err);

#endif
