/* SPDX-License-Identifier: MIT */
#ifndef MMD_PYTHON_MODULE_H
#define MMD_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/error.h"
#include "core/mesh.h"
#include "python/records.h"

/* All Python objects of the module hang off its state; there is no global one. */
typedef struct mmd_state {
    PyTypeObject *model_type, *mesh_type;
    PyObject *format_error, *backend_error;
    PyObject *records[MMD_RECORD_COUNT];
    bool exit_hook; /* shutdown() is registered with atexit */

    /* What "auto" has decided, until shutdown(). */
    enum { MMD_AUTO_UNDECIDED, MMD_AUTO_GL, MMD_AUTO_CPU } auto_backend;
    bool gl_failed; /* an OpenGL job of "auto" has failed, with `gl_failure` */
    mmd_error gl_failure;
} mmd_state;

mmd_state *mmd_state_of(PyObject *module);

/* The state of the module that made the object's type; the object is a Model or a Mesh. */
mmd_state *mmd_state_of_object(PyObject *self);

/* The one place where errors of the core become exceptions. Returns NULL. */
PyObject *mmd_raise(mmd_state *state, const mmd_error *err);

/* model_type.c */
extern PyType_Spec mmd_model_spec;
extern const char mmd_load_model_doc[];
PyObject *mmd_load_model(PyObject *module, PyObject *source);
const mmd_mesh *mmd_model_mesh(PyObject *model);
size_t mmd_model_bone_count(PyObject *model);

/* mesh_type.c */
extern PyType_Spec mmd_mesh_spec;
const mmd_mesh *mmd_mesh_mesh(PyObject *mesh);

/* skin.c */
extern const char mmd_skin_doc[];
PyObject *mmd_skin_call(PyObject *module, PyObject *args, PyObject *kwargs);

#endif
