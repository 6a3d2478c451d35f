/* SPDX-License-Identifier: MIT */
#include "core/data/motion.h"

#include "core/formats/vmd.h"
#include "core/formats/vpd.h"

#include <string.h>

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

static void find_range(mmd_motion *motion)
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

mmd_motion *mmd_motion_load(const uint8_t *bytes, size_t size, mmd_error *err)
{
    mmd_arena arena = {0};
    mmd_motion *motion = mmd_arena_alloc(&arena, 1, sizeof *motion);
    if (!motion) {
        mmd_fail_memory(err);
        return NULL;
    }
    motion->arena = arena;
    bool read;
    if (mmd_vmd_is(bytes, size)) {
        read = mmd_vmd_read(motion, bytes, size, err);
    } else if (mmd_vpd_is(bytes, size)) {
        read = mmd_vpd_read(motion, bytes, size, err);
    } else {
        read = mmd_fail(err, MMD_E_FORMAT, "not a VMD or VPD file");
        if (err)
            memcpy(err->section, "header", sizeof "header");
    }
    if (!read) {
        mmd_motion_free(motion);
        return NULL;
    }
    find_range(motion);
    return motion;
}

void mmd_motion_free(mmd_motion *motion)
{
    if (!motion)
        return;
    mmd_arena arena = motion->arena; /* the motion itself lies in it */
    mmd_arena_free(&arena);
}
