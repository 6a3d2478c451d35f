/* SPDX-License-Identifier: MIT */
#ifndef MMD_SEGMENTS_H
#define MMD_SEGMENTS_H

#include "core/base/arena.h"
#include "mmdskin.h"

/* What the methods against bulges need of a skeleton at rest: docs/methods.md#segments. The
   segments themselves are in mmdskin.h. */

/* Which bones lie in one chain: asked in constant time. */
typedef struct mmd_chains {
    size_t bone_count;
    uint32_t *entered, *left; /* a bone's descendants are those entered between its two */
} mmd_chains;

/* `parents` may name a bone out of range (none) and may run in circles, which are cut where they
   close. False when memory is short. */
bool mmd_chains_init(mmd_chains *chains, mmd_arena *arena, const int32_t *parents,
                     size_t bone_count);

/* 1: a is an ancestor of b, -1: a descendant, 0: neither. */
int mmd_chains_side(const mmd_chains *chains, int32_t a, int32_t b);

#endif
