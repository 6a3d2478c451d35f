/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_NAMES_H
#define MMD_PY_NAMES_H

#include "python/state.h"

/* "bone" and "morph", by mmd_named. */
extern const char *const mmd_named_words[];

/* The index of the item of this name, an int, borrowed; NULL with KeyError, or TypeError for what
   is no name. */
PyObject *mmd_named_number(PyObject *model, mmd_named kind, PyObject *name);

#endif
