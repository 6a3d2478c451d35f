/* SPDX-License-Identifier: MIT */
#ifndef MMD_MODEL_H
#define MMD_MODEL_H

#include "mmdskin.h"

/* What a model is stands in mmdskin.h. */

enum { MMD_MAX_VERTICES = 1 << 26 }; /* of a model or a mesh */

#endif
