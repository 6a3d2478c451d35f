/* SPDX-License-Identifier: MIT */
#include "core/data/motion.h"

#include "core/base/arena.h"

typedef struct span {
    uint32_t first, last;
    bool any;
} span;

/* Ascending frames. */
static void widen(span *s, const uint32_t *frames, size_t count)
{
    if (count == 0)
        return;
    if (!s->any || frames[0] < s->first)
        s->first = frames[0];
    if (!s->any || frames[count - 1] > s->last)
        s->last = frames[count - 1];
    s->any = true;
}

void mmd_motion_find_range(mmd_motion *motion)
{
    span all = {0};
    for (size_t i = 0; i < motion->bone_track_count; i++)
        widen(&all, motion->bone_tracks[i].frames, motion->bone_tracks[i].key_count);
    for (size_t i = 0; i < motion->morph_track_count; i++)
        widen(&all, motion->morph_tracks[i].frames, motion->morph_tracks[i].key_count);
    widen(&all, motion->camera.frames, motion->camera.key_count);
    widen(&all, motion->light.frames, motion->light.key_count);
    widen(&all, motion->shadow.frames, motion->shadow.key_count);
    widen(&all, motion->properties.frames, motion->properties.key_count);
    motion->first_frame = all.first;
    motion->last_frame = all.last;
}

void mmd_motion_free(mmd_motion *motion)
{
    mmd_owner_free(motion);
}
