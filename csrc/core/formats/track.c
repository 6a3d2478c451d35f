/* SPDX-License-Identifier: MIT */
/* Allocates the tracks of a motion and sorts their keys. */
#include "core/formats/track.h"

#include <math.h>
#include <string.h>

/* Runs of this length are sorted by insertion, then merged: most keys of a file are almost in
   order. */
enum { INSERTION_RUN = 16 };

static void insertion_sort(uint64_t *keys, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        uint64_t key = keys[i];
        size_t at = i;
        for (; at > 0 && keys[at - 1] > key; at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

static void merge(const uint64_t *from, uint64_t *to, size_t first, size_t middle, size_t end)
{
    for (size_t a = first, b = middle, i = first; i < end; i++)
        to[i] = b == end || (a < middle && from[a] < from[b]) ? from[a++] : from[b++];
}

size_t mmd_track_sort_keys(mmd_reader *r, uint64_t *keys, size_t count)
{
    for (size_t i = 0; i < count; i += INSERTION_RUN)
        insertion_sort(keys + i, count - i < INSERTION_RUN ? count - i : INSERTION_RUN);
    bool ordered = true;
    for (size_t i = 1; i < count && ordered; i++)
        ordered = keys[i - 1] < keys[i];
    uint64_t *from = keys, *to = ordered ? NULL : mmd_reader_scratch(r, count, sizeof *to);
    for (size_t width = INSERTION_RUN; width < count && to; width *= 2) {
        for (size_t first = 0; first < count; first += 2 * width) {
            size_t middle = first + width < count ? first + width : count;
            size_t end = middle + width < count ? middle + width : count;
            merge(from, to, first, middle, end);
        }
        uint64_t *swap = from;
        from = to, to = swap;
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        kept -= kept && mmd_track_key_frame(keys[kept - 1]) == mmd_track_key_frame(from[i]);
        keys[kept++] = from[i];
    }
    return kept;
}

void mmd_track_alloc(mmd_reader *r, const mmd_motion_layout *layout, void *track, size_t count)
{
    r->no_memory |= !mmd_motion_alloc(r->arena, layout, track, count);
}

void mmd_track_alloc_property(mmd_reader *r, mmd_property_track *track, size_t count,
                              size_t ik_count)
{
    track->ik_count = ik_count;
    track->ik_names = mmd_reader_alloc(r, ik_count, sizeof *track->ik_names);
    mmd_track_alloc(r, &mmd_motion_layouts[MMD_MOTION_PROPERTIES], track, count);
}

void mmd_track_sanitize_rotation(float rotation[4])
{
    /* How far the squared length is from 1 after rounding the components to float. */
    static const double tolerance = 1.2e-7;
    double square = 0;
    for (int i = 0; i < 4; i++)
        square += (double)rotation[i] * (double)rotation[i];
    if (!(square > 0 && isfinite(square))) {
        memcpy(rotation, (float[4]){0, 0, 0, 1}, 4 * sizeof *rotation);
        return;
    }
    if (fabs(square - 1) <= tolerance)
        return;
    double scale = 1 / sqrt(square);
    for (int i = 0; i < 4; i++)
        rotation[i] = (float)(rotation[i] * scale);
}
