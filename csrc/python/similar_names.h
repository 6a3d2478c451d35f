/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_SIMILAR_NAMES_H
#define MMD_PY_SIMILAR_NAMES_H

#include "python/array.h"

/* Raises KeyError: no `item` has this name. `names` is a list of str; where one of them is similar,
   the error shows what has its index in the list `shown`. */
void mmd_py_similar_names_raise(const char *item, PyObject *names, PyObject *shown, PyObject *name);

#endif
