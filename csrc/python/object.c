/* SPDX-License-Identifier: MIT */
/* What the types have in common: objects, calls of functions that are written in Python, and locks
   of C objects that Python objects wrap. */
#define _POSIX_C_SOURCE 200809L
#include "python/owned.h"
#include "python/types.h"

#include <stddef.h>

#ifndef _WIN32
#include <pthread.h>
#endif

PyMemberDef mmd_py_object_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(mmd_py_object, weak_references), READONLY, NULL},
    {0}};

PyObject *mmd_py_object_new(PyTypeObject *type)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return alloc(type, 0);
}

void mmd_py_object_free(PyObject *self)
{
    if (((mmd_py_object *)self)->weak_references)
        PyObject_ClearWeakRefs(self);
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* Takes over the arguments, which may be NULL with an exception. */
static PyObject *call(const char *module, const char *function, PyObject *arguments,
                      PyObject *kwargs)
{
    MMD_PY_OWNED PyObject *imported = arguments ? PyImport_ImportModule(module) : NULL;
    MMD_PY_OWNED PyObject *called = imported ? PyObject_GetAttrString(imported, function) : NULL;
    PyObject *result = called ? PyObject_Call(called, arguments, kwargs) : NULL;
    Py_XDECREF(arguments);
    return result;
}

PyObject *mmd_py_object_call(const char *module, const char *function, const char *format, ...)
{
    va_list items;
    va_start(items, format);
    PyObject *arguments = Py_VaBuildValue(format, items);
    va_end(items);
    return call(module, function, arguments, NULL);
}

PyObject *mmd_py_object_forward(const char *module, const char *function, PyObject *self,
                                PyObject *args, PyObject *kwargs)
{
    MMD_PY_OWNED PyObject *first = PyTuple_Pack(1, self);
    PyObject *arguments = first ? PySequence_Concat(first, args) : NULL;
    return call(module, function, arguments, kwargs);
}

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

bool mmd_py_object_lock_init(mmd_py_object_lock *lock, const char *what)
{
    lock->what = what;
    lock->lock = PyThread_allocate_lock();
    return lock->lock || PyErr_NoMemory();
}

void mmd_py_object_lock_free(mmd_py_object_lock *lock)
{
    if (lock->lock)
        PyThread_free_lock(lock->lock);
}

void *mmd_py_object_lock_acquire(mmd_py_object_lock *lock)
{
    unsigned long thread = PyThread_get_thread_ident();
    if (!PyThread_acquire_lock(lock->lock, NOWAIT_LOCK)) {
        if (lock->holder == thread)
            return PyErr_Format(PyExc_RuntimeError, "this thread is already using the %s",
                                lock->what);
        if (lock->forks != forks)
            return PyErr_Format(PyExc_RuntimeError,
                                "another thread was using the %s when this process was forked",
                                lock->what);
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(lock->lock, WAIT_LOCK);
        Py_END_ALLOW_THREADS
    }
    lock->holder = thread;
    lock->forks = forks;
    return lock;
}

void mmd_py_object_lock_release(mmd_py_object_lock **lock)
{
    if (!*lock)
        return;
    (*lock)->holder = 0;
    PyThread_release_lock((*lock)->lock);
    *lock = NULL;
}
