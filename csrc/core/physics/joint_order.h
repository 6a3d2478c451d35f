/* SPDX-License-Identifier: MIT */
#ifndef MMD_JOINT_ORDER_H
#define MMD_JOINT_ORDER_H

#include "core/base/arena.h"
#include "core/physics/joint.h"
#include "core/physics/pairs.h"

/* The order in which joints are solved, which ten sweeps do not forget. As in Bullet they are
   sorted by islands, what joints and neighbourhood hold together, in every step. Islands do not
   know each other, but the sort is a quicksort that exchanges equals too: chains come out mostly
   from their tips, and joints stretch up to a tenth farther than from their roots, as files have
   them. */

typedef struct mmd_joint_slot {
    uint32_t island; /* 0: nothing moves its bodies, and it is not solved */
    uint32_t joint;
} mmd_joint_slot;

typedef struct mmd_joint_order {
    size_t body_count, joint_count;
    size_t *islands;
    mmd_joint_slot *slots;
} mmd_joint_order;

/* False when memory is short. */
bool mmd_joint_order_init(mmd_arena *arena, size_t body_count, size_t joint_count,
                          mmd_joint_order *order);

/* Sets the slots for joints between the bodies as they are; `pairs` are neighbours, or NULL. */
void mmd_joint_order_find(mmd_joint_order *order, const mmd_held_joint *joints,
                          const mmd_body *bodies, const mmd_pairs *pairs);

#endif
