/* SPDX-License-Identifier: MIT */
#ifndef MMD_MODEL_H
#define MMD_MODEL_H

#include "mmdskin.h"

/* Models, whichever file they come from. mmdskin.h declares their struct. */

enum { MMD_MAX_VERTICES = 1 << 26 }; /* of a model or a mesh */

/* Makes a model from a reader valid, as mmdskin.h promises: an index out of range becomes -1 or is
   removed with its triangle, offset or element, cycles of parents are cut, unknown kinds become the
   nearest known one. False only when memory is short. docs/mmd-behaviour.md#robust-reader */
bool mmd_model_sanitize(mmd_model *model, mmd_error *err);

#endif
