/* SPDX-License-Identifier: MIT */
#ifndef MMD_PAIRS_H
#define MMD_PAIRS_H

#include "core/base/arena.h"
#include "core/physics/shape.h"

typedef struct mmd_pair {
    uint32_t a, b; /* a < b */
} mmd_pair;

/* What says whether two bodies may touch. */
typedef struct mmd_pair_side {
    uint16_t group, mask; /* both as bits of groups */
    bool moves;
    bool touches; /* there is a group of bodies that it may touch */
} mmd_pair_side;

typedef struct mmd_extent {
    double low[3], high[3];
} mmd_extent;

typedef struct mmd_lower_end {
    double low;
    uint32_t body;
} mmd_lower_end;

/* Bodies that may touch and whose boxes along the axes of space meet. */
typedef struct mmd_pairs {
    size_t body_count, room, apart_count, end_count, count;
    mmd_pair_side *sides;
    mmd_extent *extents;
    mmd_lower_end *ends; /* of the bodies that may touch any, from the lowest one up */
    size_t *starts;
    mmd_pair *apart; /* pairs that never touch, in order */
    mmd_pair *found; /* `count`, in order of a, then b */
    mmd_pair *spare;
} mmd_pairs;

/* All memory is taken here: room for `room` pairs, beyond which bodies do not touch. `joints`,
   whose indices are -1 or those of bodies, name the pairs that stay apart. False when memory is
   short. */
bool mmd_pairs_init(mmd_arena *arena, const mmd_rigid_body *sources, const mmd_body *bodies,
                    size_t body_count, const mmd_joint *joints, size_t joint_count, size_t room,
                    mmd_pairs *pairs);

/* Sets found and count for where the bodies are. */
void mmd_pairs_find(mmd_pairs *pairs, const mmd_body *bodies, const mmd_shape *shapes);

#endif
