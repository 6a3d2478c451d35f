/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_NAMED_VALUES_H
#define MMD_PY_NAMED_VALUES_H

#include "python/arrays.h"
#include "python/state.h"

/* Local values (F,B,3) and (F,B,4) of a dict {name: (translation, rotation)}; `batch`: whether any
   of them has an axis of frames. The other bones are at rest. */
bool mmd_named_bones(PyObject *model, PyObject *given, mmd_array *translations,
                     mmd_array *rotations, size_t *frames, bool *batch);

#endif
