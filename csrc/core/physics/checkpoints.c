/* SPDX-License-Identifier: MIT */
#include "core/physics/checkpoints.h"

#include "core/base/arena.h"

#include <math.h>

/* Ten seconds at 60 steps a second: what lies between two is run through in a tenth of one. */
enum { FIRST_INTERVAL = 600, MOST_BYTES = 1 << 26 };

void mmd_checkpoints_free(mmd_checkpoints *checkpoints)
{
    for (size_t i = 0; i < checkpoints->count; i++)
        mmd_arena_free(&checkpoints->list[i].arena);
    *checkpoints = (mmd_checkpoints){0};
}

/* Every other one goes. */
static void thin_out(mmd_checkpoints *checkpoints)
{
    size_t kept = 0;
    checkpoints->interval *= 2;
    for (size_t i = 0; i < checkpoints->count; i++) {
        mmd_checkpoint *one = &checkpoints->list[i];
        if (fmod(one->step, checkpoints->interval) == 0) {
            checkpoints->list[kept++] = *one;
        } else {
            checkpoints->bytes -= one->size;
            mmd_arena_free(&one->arena);
        }
    }
    checkpoints->count = kept;
}

void mmd_checkpoints_visit(mmd_checkpoints *checkpoints, const mmd_world *world, double step)
{
    if (checkpoints->interval == 0)
        checkpoints->interval = FIRST_INTERVAL;
    if (checkpoints->count == MMD_CHECKPOINTS || checkpoints->bytes > MOST_BYTES)
        thin_out(checkpoints);
    bool ahead = checkpoints->count == 0 || checkpoints->list[checkpoints->count - 1].step < step;
    if (step < 0 || fmod(step, checkpoints->interval) != 0 || !ahead)
        return;
    mmd_checkpoint *one = &checkpoints->list[checkpoints->count];
    *one = (mmd_checkpoint){.step = step, .size = mmd_world_save(world, NULL)};
    one->world = mmd_arena_alloc(&one->arena, one->size, 1);
    if (!one->world) {
        mmd_arena_free(&one->arena);
        return;
    }
    mmd_world_save(world, one->world);
    checkpoints->bytes += one->size;
    checkpoints->count++;
}

const mmd_checkpoint *mmd_checkpoints_before(const mmd_checkpoints *checkpoints, double step)
{
    const mmd_checkpoint *found = NULL;
    for (size_t i = 0; i < checkpoints->count && checkpoints->list[i].step <= step; i++)
        found = &checkpoints->list[i];
    return found;
}
