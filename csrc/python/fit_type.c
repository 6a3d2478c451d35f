/* SPDX-License-Identifier: MIT */
/* Fits in slices: the iterator beneath the package's class Fit. */
#define _POSIX_C_SOURCE 200809L
#include "python/fit_type.h"

#include "core/base/threads.h"
#include "python/batch.h"
#include "python/owned.h"
#include "python/types.h"

#include <math.h>

static const double SLICE = 0.03; /* seconds: a window that is drawn in between stays smooth */

typedef struct fit_object {
    mmd_py_object base;
    const mmd_py_fit_kind *kind;
    void *fit; /* NULL: its result was taken */
    PyObject *threads;
    mmd_thread_part part;
    size_t done; /* items of the part */
    double share;
    mmd_py_object_lock lock;
} fit_object;

PyObject *mmd_py_fit_new(mmd_py_state *state, const mmd_py_fit_kind *kind, void *fit,
                         PyObject *threads)
{
    fit_object *self = (fit_object *)mmd_py_object_new(state->types[MMD_PY_FIT]);
    if (!self) {
        kind->free(fit);
        return NULL;
    }
    self->kind = kind;
    self->fit = fit;
    self->threads = Py_XNewRef(threads);
    if (!mmd_py_object_lock_init(&self->lock))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void fit_dealloc(PyObject *object)
{
    fit_object *self = (fit_object *)object;
    if (self->fit)
        self->kind->free(self->fit);
    Py_XDECREF(self->threads);
    mmd_py_object_lock_free(&self->lock);
    mmd_py_object_free(object);
}

/* Works for a slice, or until nothing is left to do. False with an exception, after which it may go
   on. */
static bool work(fit_object *self)
{
    double until = mmd_thread_seconds() + SLICE;
    do {
        if (self->done == self->part.count) {
            self->part = self->kind->next(self->fit);
            self->done = 0;
        }
        if (!self->part.task)
            return true;
        if (!mmd_py_batch_run_part(self->threads, &self->part, until, &self->done))
            return false;
    } while (mmd_thread_seconds() < until);
    return true;
}

static PyObject *take_result(fit_object *self)
{
    PyObject *result = self->kind->result(mmd_py_state_of((PyObject *)self), self->fit);
    self->kind->free(self->fit);
    self->fit = NULL;
    return result;
}

/* NULL with StopIteration(result) at the end. */
static PyObject *advance(fit_object *self)
{
    if (!self->fit || !work(self))
        return NULL;
    if (self->part.task) {
        double of_part = (double)self->done / (double)self->part.count;
        self->share = fmax(self->share, self->kind->share(self->fit, of_part));
        return PyFloat_FromDouble(self->share);
    }
    MMD_PY_OWNED PyObject *result = take_result(self);
    MMD_PY_OWNED PyObject *end =
        result ? PyObject_CallFunctionObjArgs(PyExc_StopIteration, result, NULL) : NULL;
    if (end)
        PyErr_SetObject(PyExc_StopIteration, end);
    return NULL;
}

static PyObject *fit_next(PyObject *object)
{
    fit_object *self = (fit_object *)object;
    if (!mmd_py_object_lock_acquire(&self->lock, "fit"))
        return NULL;
    PyObject *share = advance(self);
    mmd_py_object_lock_release(&self->lock);
    return share;
}

static PyType_Slot fit_slots[] = {{Py_tp_doc, "A fit in slices, beneath the class Fit."},
                                  {Py_tp_dealloc, fit_dealloc},
                                  {Py_tp_iter, PyObject_SelfIter},
                                  {Py_tp_iternext, fit_next},
                                  {0, NULL}};

PyType_Spec mmd_py_fit_spec = {.name = "mmdskin._mmdskin._Fit",
                               .basicsize = sizeof(fit_object),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
                                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               .slots = fit_slots};
