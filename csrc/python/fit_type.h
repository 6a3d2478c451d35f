/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_FIT_TYPE_H
#define MMD_PY_FIT_TYPE_H

#include "core/base/thread_pool.h"
#include "core/fit/fit.h"
#include "python/state.h"

/* A fit that its caller runs in slices: an iterator of the share that is done, whose StopIteration
   has the result. The package's class Fit shows it to users. */
typedef struct mmd_py_fit_kind {
    mmd_thread_part (*next)(void *fit);
    double (*share)(const void *fit, double of_part); /* of the items of the part */
    PyObject *(*result)(mmd_py_state *state, void *fit);
    void (*free)(void *fit);
} mmd_py_fit_kind;

/* Takes the fit over, also on failure. threads: None, an integer, or NULL: one. */
PyObject *mmd_py_fit_new(mmd_py_state *state, const mmd_py_fit_kind *kind, void *fit,
                         PyObject *threads);

/* The functions _fit_motion(model, translations, rotations, weights, matrices, losses, ...) and
   _fit_camera(rows, cuts, first, tolerance, radians) of the module: such fits. */
PyObject *mmd_py_fit_motion(PyObject *module, PyObject *args);
PyObject *mmd_py_fit_camera(PyObject *module, PyObject *args);

extern PyType_Spec mmd_py_fit_spec;

#endif
