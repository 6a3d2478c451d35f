/* SPDX-License-Identifier: MIT */
/* A lock for a C object that a Python object wraps. */
#define _POSIX_C_SOURCE 200809L
#include "python/types.h"

#ifndef _WIN32
#include <pthread.h>
#endif

/* How many times the process was forked since the module was loaded, with its parents. */
static unsigned forks;

#ifndef _WIN32 /* which has no fork */
static void after_fork_in_child(void)
{
    forks++;
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
}
#endif

bool mmd_py_object_lock_init(mmd_py_object_lock *lock)
{
    lock->lock = PyThread_allocate_lock();
    if (!lock->lock)
        PyErr_NoMemory();
    return lock->lock != NULL;
}

void mmd_py_object_lock_free(mmd_py_object_lock *lock)
{
    if (lock->lock)
        PyThread_free_lock(lock->lock);
}

bool mmd_py_object_lock_acquire(mmd_py_object_lock *lock, const char *what)
{
    unsigned long thread = PyThread_get_thread_ident();
    if (!PyThread_acquire_lock(lock->lock, NOWAIT_LOCK)) {
        if (lock->holder == thread) {
            PyErr_Format(PyExc_RuntimeError, "this thread is already using the %s", what);
            return false;
        }
        if (lock->forks != forks) {
            PyErr_Format(PyExc_RuntimeError,
                         "another thread was using the %s when this process was forked", what);
            return false;
        }
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(lock->lock, WAIT_LOCK);
        Py_END_ALLOW_THREADS
    }
    lock->holder = thread;
    lock->forks = forks;
    return true;
}

void mmd_py_object_lock_release(mmd_py_object_lock *lock)
{
    lock->holder = 0;
    PyThread_release_lock(lock->lock);
}
