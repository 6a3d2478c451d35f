/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_OBJECT_LOCK_H
#define MMD_PY_OBJECT_LOCK_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

/* The lock of an object, which is held while what it wraps is read or changed, also without the
   interpreter lock. All functions are called with the interpreter lock. Zeroed: none yet. */
typedef struct mmd_object_lock {
    PyThread_type_lock lock;
    unsigned long holder; /* the thread that holds it, 0: none */
} mmd_object_lock;

/* False with an exception. */
bool mmd_object_lock_init(mmd_object_lock *lock);
void mmd_object_lock_free(mmd_object_lock *lock);

/* Waits without the interpreter lock, which the holder may want. Fails with a RuntimeError that
   names `what` in a thread that holds it already and would wait for itself: it is in a handler of a
   signal that came meanwhile. */
bool mmd_object_lock_take(mmd_object_lock *lock, const char *what);
void mmd_object_lock_leave(mmd_object_lock *lock);

#endif
