/* SPDX-License-Identifier: MIT */
#ifndef MMD_CHECKPOINTS_H
#define MMD_CHECKPOINTS_H

#include "core/base/arena.h"
#include "core/physics/world.h"

enum { MMD_CHECKPOINTS_MAX = 64 };

/* The state of a world after a step of a run. */
typedef struct mmd_checkpoint {
    mmd_arena arena;
    double step;
    size_t size;
    void *world; /* of mmd_world_save() */
} mmd_checkpoint;

/* Saved states of a run, so that seeking backwards need not run from the start. There are never
   many: the longer the run, the larger the interval. All zero is empty. */
typedef struct mmd_checkpoints {
    mmd_checkpoint list[MMD_CHECKPOINTS_MAX]; /* `count`, by ascending step */
    size_t count, bytes;
    double interval; /* steps; 0 until the first checkpoint */
} mmd_checkpoints;

/* Saves the world if the step is due and memory suffices. */
void mmd_checkpoints_update(mmd_checkpoints *checkpoints, const mmd_world *world, double step);

/* The last checkpoint at or before a step, or NULL. */
const mmd_checkpoint *mmd_checkpoints_find(const mmd_checkpoints *checkpoints, double step);

void mmd_checkpoints_free(mmd_checkpoints *checkpoints);

#endif
