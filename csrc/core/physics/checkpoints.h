/* SPDX-License-Identifier: MIT */
#ifndef MMD_CHECKPOINTS_H
#define MMD_CHECKPOINTS_H

#include "core/physics/world.h"

enum { MMD_CHECKPOINTS = 64 };

/* A world as it was after a step of a run. */
typedef struct mmd_checkpoint {
    mmd_arena arena;
    double step;
    size_t size;
    void *world; /* of mmd_world_save() */
} mmd_checkpoint;

/* Some steps of a run, to go back to. A zeroed one is empty. There are never many: the longer the
   run, the farther they lie apart. */
typedef struct mmd_checkpoints {
    mmd_checkpoint list[MMD_CHECKPOINTS]; /* `count`, of ascending steps */
    size_t count, bytes;
    double interval; /* steps; 0: that of the first ones */
} mmd_checkpoints;

void mmd_checkpoints_free(mmd_checkpoints *checkpoints);

/* Keeps the world if it is time to, unless memory is short. */
void mmd_checkpoints_visit(mmd_checkpoints *checkpoints, const mmd_world *world, double step);

/* The last one at or before a step, or NULL. */
const mmd_checkpoint *mmd_checkpoints_before(const mmd_checkpoints *checkpoints, double step);

#endif
