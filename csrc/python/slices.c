/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "python/slices.h"

#ifndef _WIN32
#include <pthread.h>
#endif

/* As many threads are worth their start, a twentieth of a millisecond, for the work of a slice:
   each has some tenths of a millisecond to do then. */
enum { THREADS_OF_SLICE = 16 };

/* Of all interpreters, made at its first use and kept. */
static mmd_crew *crew;

#ifndef _WIN32 /* which has no fork */
/* A child has only the thread that forked, and no other may be amid something then. */
static void before_fork(void)
{
    if (crew)
        mmd_crew_dismiss(crew);
}

/* What another thread began after that has not come along. */
static void after_fork_in_child(void)
{
    if (crew)
        mmd_crew_reset(crew);
}

/* At load, so that no fork can overtake the first use. */
__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, NULL, after_fork_in_child);
}
#endif

static bool take_crew(mmd_state *state)
{
    mmd_error err = {0};
    if (!crew)
        crew = mmd_crew_new(&err);
    if (!crew)
        mmd_raise(state, &err);
    return crew != NULL;
}

/* What a function of os counts; 0 where it does not know, with or without an exception. */
static size_t ask(PyObject *os, const char *name, bool of_process)
{
    PyObject *answer =
        of_process ? PyObject_CallMethod(os, name, "i", 0) : PyObject_CallMethod(os, name, NULL);
    Py_ssize_t count = !answer || answer == Py_None ? 0
                       : of_process                 ? PyObject_Size(answer)
                                                    : PyLong_AsSsize_t(answer);
    Py_XDECREF(answer);
    return count > 0 ? (size_t)count : 0;
}

/* Cores that this process may use, by the best that this Python and system know; 1 where they know
   nothing. 0 with an exception that is no answer, as of Ctrl-C. */
static size_t count_cores(void)
{
    static const char *const names[] = {"process_cpu_count", "sched_getaffinity", "cpu_count"};
    PyObject *os = PyImport_ImportModule("os");
    size_t count = 0;
    for (int i = 0; os && count == 0 && i < 3; i++) {
        count = ask(os, names[i], i == 1);
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
            break;
        PyErr_Clear();
    }
    Py_XDECREF(os);
    return count || PyErr_Occurred() ? count : 1;
}

static bool take_threads(PyObject *argument, size_t *threads)
{
    if (PyBool_Check(argument) || !PyIndex_Check(argument)) {
        PyErr_Format(PyExc_TypeError, "threads: expected None or an integer, not %R",
                     (PyObject *)Py_TYPE(argument));
        return false;
    }
    PyObject *number = PyNumber_Index(argument);
    int overflow = 0;
    long given = number ? PyLong_AsLongAndOverflow(number, &overflow) : 0;
    Py_XDECREF(number);
    if (PyErr_Occurred())
        return false;
    if (overflow < 0 || (overflow == 0 && given < 1)) {
        PyErr_Format(PyExc_ValueError, "threads: %S, expected at least 1", argument);
        return false;
    }
    *threads = overflow || given > MMD_MOST_THREADS ? MMD_MOST_THREADS : (size_t)given;
    return true;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

bool mmd_slices_plan(PyObject *threads, size_t frames, size_t of_frame, size_t of_slice,
                     mmd_slices *slices)
{
    *slices = (mmd_slices){.frames = frames, .most = of_slice / (of_frame + 1) + 1, .threads = 1};
    if (threads && threads != Py_None && !take_threads(threads, &slices->threads))
        return false;
    double worth = THREADS_OF_SLICE * (double)frames * (double)of_frame / (double)of_slice;
    if (threads == Py_None && worth >= 2) {
        slices->threads = count_cores();
        if (slices->threads == 0)
            return false;
        if ((double)slices->threads > worth)
            slices->threads = (size_t)worth;
    }
    slices->threads = least(slices->threads, least(frames, MMD_MOST_THREADS));
    return true;
}

bool mmd_slices_run(mmd_state *state, const mmd_slices *slices, mmd_parallel_part *run, void *call)
{
    size_t step = slices->most * slices->threads;
    if (!take_crew(state))
        return false;
    for (size_t first = 0; first < slices->frames; first += step) {
        size_t end = first + least(step, slices->frames - first);
        mmd_error err = {0};
        bool done;
        Py_BEGIN_ALLOW_THREADS
        done = mmd_parallel(crew, first, end, slices->threads, run, call, &err);
        Py_END_ALLOW_THREADS
        if (!done)
            mmd_raise(state, &err);
        if (!done || PyErr_CheckSignals() < 0)
            return false;
    }
    return true;
}
