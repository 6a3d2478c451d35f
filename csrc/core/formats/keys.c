/* SPDX-License-Identifier: MIT */
#include "core/formats/keys.h"

#include <math.h>
#include <string.h>

static uint32_t hash(const uint8_t *bytes, size_t size)
{
    uint32_t value = 2166136261u;
    for (size_t i = 0; i < size; i++)
        value = (value ^ bytes[i]) * 16777619u;
    return value ^ value >> 15;
}

static uint32_t *slot_of(const mmd_names *names, const uint8_t *bytes, size_t size)
{
    size_t mask = 2 * names->room - 1;
    for (size_t i = hash(bytes, size) & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &names->slots[i];
        if (*slot == 0)
            return slot;
        const mmd_name *name = &names->names[*slot - 1];
        if (name->size == size && memcmp(name->bytes, bytes, size) == 0)
            return slot;
    }
}

static bool grow(mmd_reader *r, mmd_names *names)
{
    mmd_names wider = {.count = names->count, .room = names->room ? 2 * names->room : 256};
    wider.names = mmd_reader_alloc(r, wider.room, sizeof *wider.names);
    wider.slots = mmd_reader_alloc(r, 2 * wider.room, sizeof *wider.slots);
    if (!wider.names || !wider.slots)
        return false;
    for (size_t i = 0; i < names->count; i++) {
        wider.names[i] = names->names[i];
        *slot_of(&wider, wider.names[i].bytes, wider.names[i].size) = (uint32_t)i + 1;
    }
    *names = wider;
    return true;
}

uint32_t mmd_names_add(mmd_reader *r, mmd_names *names, const uint8_t *bytes, size_t size)
{
    if (names->count == names->room && !grow(r, names))
        return 0;
    uint32_t *slot = slot_of(names, bytes, size);
    if (*slot == 0) {
        names->names[names->count++] = (mmd_name){bytes, size};
        *slot = (uint32_t)names->count;
    }
    return *slot - 1;
}

static void merge(const uint64_t *from, uint64_t *to, size_t first, size_t middle, size_t end)
{
    for (size_t a = first, b = middle, i = first; i < end; i++)
        to[i] = b == end || (a < middle && from[a] < from[b]) ? from[a++] : from[b++];
}

size_t mmd_keys_sort(uint64_t *keys, uint64_t *spare, size_t count)
{
    bool ordered = true;
    for (size_t i = 1; i < count && ordered; i++)
        ordered = keys[i - 1] < keys[i];
    uint64_t *from = keys, *to = spare;
    for (size_t width = 1; width < count && !ordered; width *= 2) {
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

void mmd_bone_track_alloc(mmd_reader *r, mmd_bone_track *track, size_t count)
{
    track->key_count = count;
    track->frames = mmd_reader_alloc(r, count, sizeof *track->frames);
    track->translations = mmd_reader_alloc(r, count, 3 * sizeof *track->translations);
    track->rotations = mmd_reader_alloc(r, count, 4 * sizeof *track->rotations);
    track->interpolation = mmd_reader_alloc(r, count, 16);
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
    double square = 0;
    for (int i = 0; i < 4; i++)
        square += (double)rotation[i] * (double)rotation[i];
    if (!(square > 0 && isfinite(square))) {
        memcpy(rotation, (float[4]){0, 0, 0, 1}, 4 * sizeof *rotation);
        return;
    }
    double scale = 1 / sqrt(square);
    for (int i = 0; i < 4; i++)
        rotation[i] = (float)(rotation[i] * scale);
}
