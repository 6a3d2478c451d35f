/* SPDX-License-Identifier: MIT */
#ifndef MMD_CLEAN_H
#define MMD_CLEAN_H

#include "mmdskin.h"

/* Makes what a reader has filled sound, as mmdskin.h says: indices that point nowhere become -1 or
   go with their triangle, offset or element, circles of parents are cut, unknown kinds become the
   nearest known one. False only when memory is short. docs/mmd-behaviour.md#robust-reader */
bool mmd_model_clean(mmd_model *model, mmd_error *err);

#endif
