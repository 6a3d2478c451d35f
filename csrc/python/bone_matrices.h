/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_BONE_MATRICES_H
#define MMD_PY_BONE_MATRICES_H

#include "python/array.h"

/* The transforms of bones that an argument holds, as float32 (B,4,4) or (F,B,4,4): in this form,
   as (...,B,3,4) without the last row, or as (...,B,7), positions and quaternions x y z w of any
   length but zero. `bones` may be MMD_PY_ANY. False with an exception that begins with `name`. */
bool mmd_py_bone_matrices_from(PyObject *argument, const char *name, size_t bones,
                               mmd_py_array *out, size_t *frames, bool *batched);

/* The number of bones of such an array. */
size_t mmd_py_bone_matrices_count(const mmd_py_array *matrices);

/* Fails with a ValueError that names the first matrix of which a number is not finite. */
bool mmd_py_bone_matrices_check_finite(const mmd_py_array *matrices, const char *name);

#endif
