/* SPDX-License-Identifier: MIT */
#ifndef MMD_MODEL_H
#define MMD_MODEL_H

#include "mmdskin.h"

/* What a model is stands in mmdskin.h. */

enum { MMD_MAX_VERTICES = 1 << 26 }; /* of a model or a mesh */

/* Numbers per offset of a morph of this kind. */
size_t mmd_morph_width(mmd_morph_kind kind);

#endif
