/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_OBJECT_LOCK_H
#define MMD_PY_OBJECT_LOCK_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

/* Protects a C object that a Python object wraps, also while the GIL is released. All functions
   need the GIL. Initialize to zero, then call init; free accepts zero. */
typedef struct mmd_py_object_lock {
    PyThread_type_lock lock;
    unsigned long holder; /* thread that holds it, 0: none */
    unsigned forks;       /* of the process, when the holder locked it */
} mmd_py_object_lock;

/* False with an exception. */
bool mmd_py_object_lock_init(mmd_py_object_lock *lock);
void mmd_py_object_lock_free(mmd_py_object_lock *lock);

/* Waits with the GIL released, since the holder may need it. A thread that already holds the lock
   would wait for itself: it gets a RuntimeError that names `what`. This happens in a signal handler
   that runs during a call. So does every thread of a forked process if another thread held the lock
   at the fork: the object may be in the middle of a change, which nobody will finish. */
bool mmd_py_object_lock_acquire(mmd_py_object_lock *lock, const char *what);
void mmd_py_object_lock_release(mmd_py_object_lock *lock);

#endif
