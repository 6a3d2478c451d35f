/* SPDX-License-Identifier: MIT */
#include "core/skin.h"

const mmd_kernel *mmd_skin_simd(size_t *count)
{
    *count = 0;
    return NULL;
}
