/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_BATCH_H
#define MMD_PY_BATCH_H

#include "core/base/thread_pool.h"
#include "gl/gl_thread.h"
#include "python/state.h"

/* How a call runs its frames: on `threads` threads, in chunks of at most `chunk` frames a thread.
   Signals are checked after each chunk. */
typedef struct mmd_py_batch {
    size_t frame_count, chunk, threads;
} mmd_py_batch;

/* Plans a batch. `threads` is the Python argument: None, or an integer of at least 1; None uses as
   many cores as have enough work to be worth starting a thread. NULL: one thread. `frame_cost` and
   `chunk_cost` are in any unit (bones, vertices); a chunk of that cost takes about 10 ms. False
   with an exception. */
bool mmd_py_batch_plan(PyObject *threads, size_t frame_count, size_t frame_cost, size_t chunk_cost,
                       mmd_py_batch *batch);

/* The number of cores that this process may use; 0 with an exception such as KeyboardInterrupt. */
size_t mmd_py_batch_count_cores(void);

/* The threads of all batches, for tasks that share their own work among them. NULL with an
   exception. */
mmd_thread_pool *mmd_py_batch_pool(void);

/* mmd_py_exceptions_interrupted() of a thread (PyThreadState *) that has released the GIL. */
bool mmd_py_batch_is_interrupted(void *thread);

/* This thread as one that waits for OpenGL and handles signals meanwhile, with `threads` of the
   pool. False with an exception. */
bool mmd_py_batch_gl_caller(size_t threads, mmd_gl_caller *out);

/* Whether OpenGL can be used and does not render in software. False with an exception, of a signal
   handler. */
bool mmd_py_batch_is_on_card(const mmd_gl_caller *caller, bool *out);

/* Runs a batch without the GIL. Between chunks, when a signal handler may run Python code, no
   thread is working and no frame is half done. False with an exception, of a handler or a task. */
bool mmd_py_batch_run(const mmd_py_batch *batch, mmd_thread_pool_task *run, void *call);

/* Runs items [*done, count) of a part of a computation in such chunks, and counts them, until a
   time by mmd_thread_seconds(). False with an exception: chunks that are done are counted. */
bool mmd_py_batch_run_part(PyObject *threads, const mmd_thread_part *part, double until,
                           size_t *done);

#endif
