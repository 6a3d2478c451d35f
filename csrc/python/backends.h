/* SPDX-License-Identifier: MIT */
#ifndef MMD_PYTHON_BACKENDS_H
#define MMD_PYTHON_BACKENDS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/skin.h"

/* Which code a job runs on, as the `backend` argument tells. */
typedef struct mmd_backend {
    bool gl;
    bool may_fall_back;       /* to the CPU when OpenGL fails */
    const mmd_kernel *kernel; /* of the CPU */
} mmd_backend;

/* May start the OpenGL thread, waits without the interpreter lock. */
bool mmd_backend_parse(PyObject *module, const char *name, mmd_backend *out);

/* Runs a checked job; needs no interpreter lock. `fell_back` tells that OpenGL failed, with
   `gl_error`, and the CPU has done it. */
bool mmd_backend_run(const mmd_backend *backend, const mmd_skin_job *job, bool *fell_back,
                     mmd_error *gl_error, mmd_error *err);

/* What "auto" shall do from now on. */
void mmd_backend_remember_failure(PyObject *module, const mmd_error *gl_error);

extern const char mmd_backends_doc[], mmd_shutdown_doc[];
PyObject *mmd_backends(PyObject *module, PyObject *unused);
PyObject *mmd_shutdown(PyObject *module, PyObject *unused);

#endif
