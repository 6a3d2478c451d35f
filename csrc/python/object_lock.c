/* SPDX-License-Identifier: MIT */
#include "python/object_lock.h"

bool mmd_object_lock_init(mmd_object_lock *lock)
{
    lock->lock = PyThread_allocate_lock();
    if (!lock->lock)
        PyErr_NoMemory();
    return lock->lock != NULL;
}

void mmd_object_lock_free(mmd_object_lock *lock)
{
    if (lock->lock)
        PyThread_free_lock(lock->lock);
}

bool mmd_object_lock_take(mmd_object_lock *lock, const char *what)
{
    unsigned long thread = PyThread_get_thread_ident();
    if (!PyThread_acquire_lock(lock->lock, NOWAIT_LOCK)) {
        if (lock->holder == thread) {
            PyErr_Format(PyExc_RuntimeError, "the %s is at work in this thread", what);
            return false;
        }
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(lock->lock, WAIT_LOCK);
        Py_END_ALLOW_THREADS
    }
    lock->holder = thread;
    return true;
}

void mmd_object_lock_leave(mmd_object_lock *lock)
{
    lock->holder = 0;
    PyThread_release_lock(lock->lock);
}
