/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_MODEL_TRANSFORMS_H
#define MMD_PY_MODEL_TRANSFORMS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Where bones are: Model.joint_positions(), transforms() and skinning_matrices(). */

PyObject *mmd_py_model_joint_positions(PyObject *model, PyObject *pose);
PyObject *mmd_py_model_transforms(PyObject *model, PyObject *args, PyObject *kwargs);
PyObject *mmd_py_model_skinning_matrices(PyObject *model, PyObject *args, PyObject *kwargs);

extern const char mmd_py_model_joint_positions_doc[], mmd_py_model_transforms_doc[];
extern const char mmd_py_model_skinning_matrices_doc[];

#endif
