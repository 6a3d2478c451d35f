/* SPDX-License-Identifier: MIT */
#include "core/formats/keys.h"

#include <math.h>
#include <string.h>

/* Files have most keys near their places. */
enum { SORTED_BY_INSERTION = 16 };

static void insert_all(uint64_t *keys, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        uint64_t key = keys[i];
        size_t place = i;
        for (; place > 0 && keys[place - 1] > key; place--)
            keys[place] = keys[place - 1];
        keys[place] = key;
    }
}

static void merge(const uint64_t *from, uint64_t *to, size_t first, size_t middle, size_t end)
{
    for (size_t a = first, b = middle, i = first; i < end; i++)
        to[i] = b == end || (a < middle && from[a] < from[b]) ? from[a++] : from[b++];
}

size_t mmd_keys_sort(uint64_t *keys, uint64_t *spare, size_t count)
{
    for (size_t i = 0; i < count; i += SORTED_BY_INSERTION)
        insert_all(keys + i, count - i < SORTED_BY_INSERTION ? count - i : SORTED_BY_INSERTION);
    bool ordered = true;
    for (size_t i = 1; i < count && ordered; i++)
        ordered = keys[i - 1] < keys[i];
    uint64_t *from = keys, *to = spare;
    for (size_t width = SORTED_BY_INSERTION; width < count && !ordered; width *= 2) {
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
        kept -= kept && mmd_key_frame(keys[kept - 1]) == mmd_key_frame(from[i]);
        keys[kept++] = from[i];
    }
    return kept;
}

#define STRAIGHT 20, 20, 107, 107
const uint8_t mmd_straight_curves[24] = {STRAIGHT, STRAIGHT, STRAIGHT,
                                         STRAIGHT, STRAIGHT, STRAIGHT};

void mmd_bone_track_alloc(mmd_reader *r, mmd_bone_track *track, size_t count)
{
    track->key_count = count;
    track->frames = mmd_reader_alloc(r, count, sizeof *track->frames);
    track->translations = mmd_reader_alloc(r, count, 3 * sizeof *track->translations);
    track->rotations = mmd_reader_alloc(r, count, 4 * sizeof *track->rotations);
    track->interpolation = mmd_reader_alloc(r, count, 16);
    track->physics = mmd_reader_alloc(r, count, 1);
}

void mmd_morph_track_alloc(mmd_reader *r, mmd_morph_track *track, size_t count)
{
    track->key_count = count;
    track->frames = mmd_reader_alloc(r, count, sizeof *track->frames);
    track->weights = mmd_reader_alloc(r, count, sizeof *track->weights);
}

void mmd_camera_track_alloc(mmd_reader *r, mmd_camera_track *track, size_t count)
{
    track->key_count = count;
    track->frames = mmd_reader_alloc(r, count, sizeof *track->frames);
    track->distances = mmd_reader_alloc(r, count, sizeof *track->distances);
    track->targets = mmd_reader_alloc(r, count, 3 * sizeof *track->targets);
    track->rotations = mmd_reader_alloc(r, count, 3 * sizeof *track->rotations);
    track->interpolation = mmd_reader_alloc(r, count, 24);
    track->view_angles = mmd_reader_alloc(r, count, sizeof *track->view_angles);
    track->perspective = mmd_reader_alloc(r, count, 1);
}

void mmd_light_track_alloc(mmd_reader *r, mmd_light_track *track, size_t count)
{
    track->key_count = count;
    track->frames = mmd_reader_alloc(r, count, sizeof *track->frames);
    track->colors = mmd_reader_alloc(r, count, 3 * sizeof *track->colors);
    track->directions = mmd_reader_alloc(r, count, 3 * sizeof *track->directions);
}

void mmd_shadow_track_alloc(mmd_reader *r, mmd_shadow_track *track, size_t count)
{
    track->key_count = count;
    track->frames = mmd_reader_alloc(r, count, sizeof *track->frames);
    track->modes = mmd_reader_alloc(r, count, 1);
    track->distances = mmd_reader_alloc(r, count, sizeof *track->distances);
}

void mmd_property_track_alloc(mmd_reader *r, mmd_property_track *track, size_t count,
                              size_t ik_count)
{
    track->key_count = count;
    track->ik_count = ik_count;
    track->frames = mmd_reader_alloc(r, count, sizeof *track->frames);
    track->visible = mmd_reader_alloc(r, count, 1);
    track->ik_names = mmd_reader_alloc(r, ik_count, sizeof *track->ik_names);
    track->ik_enabled = mmd_reader_alloc(r, count, ik_count);
}

void mmd_rotation_sanitize(float rotation[4])
{
    /* What is left of the square's 1 when the four parts are rounded to float. */
    static const double rounding = 1.2e-7;
    double square = 0;
    for (int i = 0; i < 4; i++)
        square += (double)rotation[i] * (double)rotation[i];
    if (!(square > 0 && isfinite(square))) {
        memcpy(rotation, (float[4]){0, 0, 0, 1}, 4 * sizeof *rotation);
        return;
    }
    if (fabs(square - 1) <= rounding)
        return;
    double scale = 1 / sqrt(square);
    for (int i = 0; i < 4; i++)
        rotation[i] = (float)(rotation[i] * scale);
}
