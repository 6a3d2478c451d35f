/* SPDX-License-Identifier: MIT */
#ifndef MMD_MODEL_H
#define MMD_MODEL_H

#include "mmdskin.h"

/* Models, whichever file they come from. mmdskin.h declares their struct. */

enum {
    MMD_MAX_VERTICES = 1 << 26, /* of a model or a mesh */
    MMD_MAX_RECORDS = 10000000, /* of any other kind, and of keys */
    MMD_SHARED_TOONS = 10
};

/* By how much the weights of a vertex may miss a sum of 1 where a model comes from arrays. */
#define MMD_WEIGHT_TOLERANCE 1e-3f

/* Makes a model from a reader valid, as mmdskin.h promises: an index out of range becomes -1 or is
   removed with its triangle, offset or element, cycles of parents are cut, unknown kinds become the
   nearest known one. False only when memory is short. docs/mmd-behavior.md#robust-reader */
bool mmd_model_sanitize(mmd_model *model, mmd_error *err);

/* For a model that does not come from a file: fails with an error that names the item for
   everything that is not as mmdskin.h promises, and for texts that a PMX file cannot store. Arrays
   must not be NULL where their count is above zero. Checks no member that a flag or a count of the
   model switches off. */
bool mmd_model_check(const mmd_model *model, mmd_error *err);

#endif
