/* SPDX-License-Identifier: MIT */
/* Checkpoints, at multiples of an interval, which doubles when they become too many. */
#include "core/physics/checkpoints.h"

#include <math.h>

/* Ten seconds at 60 steps per second, which take about a tenth of a second to simulate. */
enum { FIRST_INTERVAL = 600, MAX_BYTES = 1 << 26 };

/* Doubles the interval, which removes every other checkpoint of a run without gaps. */
static void thin_out(mmd_checkpoints *checkpoints)
{
    size_t kept = 0;
    checkpoints->interval *= 2;
    for (size_t i = 0; i < checkpoints->count; i++) {
        mmd_checkpoint *checkpoint = &checkpoints->list[i];
        if (fmod(checkpoint->step, checkpoints->interval) == 0) {
            checkpoints->list[kept++] = *checkpoint;
        } else {
            checkpoints->bytes -= checkpoint->size;
            mmd_arena_free(&checkpoint->arena);
        }
    }
    checkpoints->count = kept;
}

void mmd_checkpoints_update(mmd_checkpoints *checkpoints, const mmd_world *world, double step)
{
    if (checkpoints->interval == 0)
        checkpoints->interval = FIRST_INTERVAL;
    if (checkpoints->bytes > MAX_BYTES)
        thin_out(checkpoints);
    while (checkpoints->count == MMD_CHECKPOINTS_MAX) /* runs from saved states leave gaps */
        thin_out(checkpoints);
    bool is_new = checkpoints->count == 0 || checkpoints->list[checkpoints->count - 1].step < step;
    if (step < 0 || fmod(step, checkpoints->interval) != 0 || !is_new)
        return;
    mmd_checkpoint *checkpoint = &checkpoints->list[checkpoints->count];
    *checkpoint = (mmd_checkpoint){.step = step, .size = mmd_world_save(world, NULL)};
    checkpoint->world = mmd_arena_alloc(&checkpoint->arena, checkpoint->size, 1);
    if (!checkpoint->world) {
        mmd_arena_free(&checkpoint->arena);
        return;
    }
    mmd_world_save(world, checkpoint->world);
    checkpoints->bytes += checkpoint->size;
    checkpoints->count++;
}

const mmd_checkpoint *mmd_checkpoints_find(const mmd_checkpoints *checkpoints, double step)
{
    const mmd_checkpoint *found = NULL;
    for (size_t i = 0; i < checkpoints->count && checkpoints->list[i].step <= step; i++)
        found = &checkpoints->list[i];
    return found;
}

void mmd_checkpoints_free(mmd_checkpoints *checkpoints)
{
    for (size_t i = 0; i < checkpoints->count; i++)
        mmd_arena_free(&checkpoints->list[i].arena);
    *checkpoints = (mmd_checkpoints){0};
}
