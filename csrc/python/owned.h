/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_OWNED_H
#define MMD_PY_OWNED_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Variables that let go of what they hold at the end of their block, also by `return`: initialize
   them where they are declared.

       MMD_PY_OWNED PyObject *name = PyObject_GetAttrString(object, "name"); */
#define MMD_PY_OWNED MMD_PY_CLEARED_BY(mmd_py_owned_release)

/* The same for a struct, by a function that takes its address. */
#define MMD_PY_CLEARED_BY(function) __attribute__((cleanup(function)))

static inline void mmd_py_owned_release(PyObject **object)
{
    Py_XDECREF(*object);
}

#endif
