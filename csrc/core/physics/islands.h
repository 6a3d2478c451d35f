/* SPDX-License-Identifier: MIT */
#ifndef MMD_ISLANDS_H
#define MMD_ISLANDS_H

#include "core/physics/broad_phase.h"
#include "core/physics/joint_constraint.h"

/* Sets `islands` (N,) so that bodies of a model have the same island index if joints connect them,
   directly or through other bodies that do not follow bones. */
void mmd_islands_of_model(const mmd_model *model, size_t *islands);

/* The islands of the dynamic bodies of a world, and the order in which it solves joints and
   contacts. A few solver iterations (10 by default) do not converge, so that the order shows in the
   result. */
typedef struct mmd_islands {
    size_t body_count;
    size_t *roots;     /* scratch memory: the union-find */
    uint32_t *islands; /* of the bodies and the ground, from 1; 0: infinite mass */
} mmd_islands;

/* A joint or manifold to be sorted. */
typedef struct mmd_islands_slot {
    uint32_t island; /* 0: both bodies have infinite mass */
    uint32_t index;
} mmd_islands_slot;

/* False if out of memory. */
bool mmd_islands_init(mmd_arena *arena, size_t body_count, mmd_islands *islands);

/* Finds the islands of this step. `broad_phase` NULL: without contacts. */
void mmd_islands_update(mmd_islands *islands, const mmd_body *bodies,
                        const mmd_joint_constraint *joints, size_t joint_count,
                        const mmd_broad_phase *broad_phase);

/* The slot of a joint or manifold between two bodies: its island is that of A, or of B if A has
   infinite mass. */
static inline mmd_islands_slot mmd_islands_slot_of(const mmd_islands *islands, size_t body_a,
                                                   size_t body_b, uint32_t index)
{
    uint32_t a = islands->islands[body_a], b = islands->islands[body_b];
    return (mmd_islands_slot){.island = a ? a : b, .index = index};
}

/* Sorts slots by island as Bullet does, which also exchanges slots of the same island. */
void mmd_islands_sort(mmd_islands_slot *slots, size_t count);

#endif
