/* SPDX-License-Identifier: MIT */
/* Runs the frames of a call on the thread pool, with checks for signals. */
#define _POSIX_C_SOURCE 200809L
#include "python/batch.h"

#include "core/base/error.h"
#include "core/base/threads.h"
#include "gl/gl.h"
#include "python/exceptions.h"
#include "python/owned.h"

#ifndef _WIN32
#include <pthread.h>
#endif

/* Threads that a chunk of 10 ms is divided among at most: each gets about 0.6 ms, and starting a
   thread takes 0.05 ms. */
enum { THREADS_PER_CHUNK = 16 };

/* Shared by all interpreters; created at first use. */
static mmd_thread_pool *pool;

#ifndef _WIN32 /* which has no fork */
/* The child has only the thread that forks, so no worker may be running then. */
static void before_fork(void)
{
    if (pool)
        mmd_thread_pool_stop(pool);
}

/* Another thread may have started workers since; the child does not have them. */
static void after_fork_in_child(void)
{
    if (pool)
        mmd_thread_pool_reset(pool);
}

/* At load: a fork must not come between the first use and the registration. */
__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, NULL, after_fork_in_child);
}
#endif

mmd_thread_pool *mmd_py_batch_pool(void)
{
    mmd_error err = {0};
    if (!pool)
        pool = mmd_thread_pool_new(&err);
    if (!pool)
        mmd_py_exceptions_raise(&err);
    return pool;
}

/* A count by a function of os; 0 if unknown, possibly with an exception. */
static size_t ask_os(PyObject *os, const char *name, bool is_affinity)
{
    MMD_PY_OWNED PyObject *answer =
        is_affinity ? PyObject_CallMethod(os, name, "i", 0) : PyObject_CallMethod(os, name, NULL);
    Py_ssize_t count = !answer || answer == Py_None ? 0
                       : is_affinity                ? PyObject_Size(answer)
                                                    : PyLong_AsSsize_t(answer);
    return count > 0 ? (size_t)count : 0;
}

/* By the best source that this Python and system have; 1 if they have none. */
size_t mmd_py_batch_count_cores(void)
{
    static const char *const names[] = {"process_cpu_count", "sched_getaffinity", "cpu_count"};
    MMD_PY_OWNED PyObject *os = PyImport_ImportModule("os");
    size_t count = 0;
    for (int i = 0; os && count == 0 && i < 3; i++) {
        count = ask_os(os, names[i], i == 1);
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
            break;
        PyErr_Clear();
    }
    return count || PyErr_Occurred() ? count : 1;
}

static bool parse_threads(PyObject *argument, size_t *threads)
{
    if (PyBool_Check(argument) || !PyIndex_Check(argument))
        return PyErr_Format(PyExc_TypeError, "threads: expected None or an integer, not %R",
                            (PyObject *)Py_TYPE(argument));
    MMD_PY_OWNED PyObject *number = PyNumber_Index(argument);
    int overflow = 0;
    long count = number ? PyLong_AsLongAndOverflow(number, &overflow) : 0;
    if (PyErr_Occurred())
        return false;
    if (overflow < 0 || (overflow == 0 && count < 1))
        return PyErr_Format(PyExc_ValueError, "threads: %S, expected at least 1", argument);
    *threads = overflow || count > MMD_MAX_THREADS ? MMD_MAX_THREADS : (size_t)count;
    return true;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

bool mmd_py_batch_plan(PyObject *threads, size_t frame_count, size_t frame_cost, size_t chunk_cost,
                       mmd_py_batch *batch)
{
    *batch = (mmd_py_batch){
        .frame_count = frame_count, .chunk = chunk_cost / (frame_cost + 1) + 1, .threads = 1};
    if (threads && threads != Py_None && !parse_threads(threads, &batch->threads))
        return false;
    double worth =
        THREADS_PER_CHUNK * (double)frame_count * (double)frame_cost / (double)chunk_cost;
    if (threads == Py_None && worth >= 2) {
        batch->threads = mmd_py_batch_count_cores();
        if (batch->threads == 0)
            return false;
        if ((double)batch->threads > worth)
            batch->threads = (size_t)worth;
    }
    batch->threads = smaller(batch->threads, smaller(frame_count, MMD_MAX_THREADS));
    return true;
}

/* Runs the chunk of each thread from `first` on. Returns its end, 0 with an exception. */
static size_t run_chunks(const mmd_py_batch *batch, size_t first, mmd_thread_pool_task *run,
                         void *call)
{
    size_t end = first + smaller(batch->chunk * batch->threads, batch->frame_count - first);
    mmd_error err = {0};
    bool done;
    Py_BEGIN_ALLOW_THREADS
    done = mmd_thread_pool_run(pool, first, end, batch->threads, run, call, &err);
    Py_END_ALLOW_THREADS
    if (!done)
        mmd_py_exceptions_raise(&err);
    return done ? end : 0;
}

bool mmd_py_batch_run(const mmd_py_batch *batch, mmd_thread_pool_task *run, void *call)
{
    if (!mmd_py_batch_pool())
        return false;
    for (size_t first = 0, end; first < batch->frame_count; first = end) {
        end = run_chunks(batch, first, run, call);
        bool is_last = end == batch->frame_count; /* whose caller returns to Python soon */
        if (!end || (is_last ? PyErr_CheckSignals() < 0 : mmd_py_exceptions_interrupted()))
            return false;
    }
    return true;
}

bool mmd_py_batch_is_interrupted(void *thread)
{
    PyEval_RestoreThread(thread);
    bool interrupted = mmd_py_exceptions_interrupted();
    PyEval_SaveThread();
    return interrupted;
}

bool mmd_py_batch_gl_caller(size_t threads, mmd_gl_caller *out)
{
    *out = (mmd_gl_caller){mmd_py_batch_pool(), threads, mmd_py_batch_is_interrupted,
                           PyThreadState_Get()};
    return out->pool;
}

bool mmd_py_batch_is_on_card(const mmd_gl_caller *caller, bool *out)
{
    mmd_gl_device device;
    bool found;
    mmd_error err = {0};
    Py_BEGIN_ALLOW_THREADS
    found = mmd_gl_skin_device(caller, &device, &err);
    Py_END_ALLOW_THREADS
    *out = found && !device.software;
    return err.code != MMD_E_INTERRUPTED;
}

bool mmd_py_batch_run_part(PyObject *threads, const mmd_thread_part *part, double until,
                           size_t *done)
{
    mmd_py_batch batch;
    if (!mmd_py_batch_plan(threads, part->count, part->cost, part->step, &batch) ||
        !mmd_py_batch_pool())
        return false;
    do {
        size_t end = run_chunks(&batch, *done, part->task, part->arg);
        *done = end ? end : *done;
        if (!end || mmd_py_exceptions_interrupted())
            return false;
    } while (*done < part->count && mmd_thread_seconds() < until);
    return true;
}
