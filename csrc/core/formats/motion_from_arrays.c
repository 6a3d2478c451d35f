/* SPDX-License-Identifier: MIT */
/* mmd_motion_new(): makes a motion from arrays instead of a file, and checks and sorts its keys. */
#include "core/formats/formats.h"
#include "core/formats/track.h"
#include "core/model/motion.h"

#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

typedef struct builder {
    mmd_reader r;           /* reads nothing; scratch: freed after each track */
    mmd_string_table names; /* of the tracks of one kind; the strings are in the motion */
    mmd_arena name_arena;
    char path[48]; /* of errors: "bones[3]" */
    size_t input_count, count;
    uint64_t *keys; /* (count,) the keys to copy, by frame */
} builder;

static bool fail_key(const builder *b, const char *what, size_t key, const char *fault)
{
    return mmd_refuse(b->r.err, "%s.%s: key %zu%s", b->path, what, key, fault);
}

static bool check_floats(const builder *b, const mmd_motion_column *c, const float *numbers)
{
    size_t count = b->input_count * c->width;
    size_t bad = c->content == MMD_MOTION_ROTATIONS
                     ? mmd_numbers_first_not_finite(numbers, count)
                     : mmd_numbers_first_beyond_limit(numbers, count);
    char fault[80];
    if (bad < count) {
        snprintf(fault, sizeof fault, ", component %zu is %s", bad % c->width,
                 mmd_numbers_fault((double)numbers[bad]));
        return fail_key(b, c->name, bad / c->width, fault);
    }
    for (size_t k = 0; c->content == MMD_MOTION_ROTATIONS && k < b->input_count; k++) {
        const float *q = numbers + 4 * k;
        if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0)
            return fail_key(b, c->name, k, " has zero length");
    }
    return true;
}

static bool check_bytes(const builder *b, const mmd_motion_column *c, const uint8_t *numbers,
                        size_t width)
{
    for (size_t i = 0; i < b->input_count * width; i++)
        if (numbers[i] > c->max) {
            char fault[80];
            snprintf(fault, sizeof fault, ", component %zu: %d, limit %d", i % width, numbers[i],
                     c->max);
            return fail_key(b, c->name, i / width, fault);
        }
    return true;
}

static bool copy_column(const builder *b, const mmd_motion_column *c, const void *from, void *track)
{
    const uint8_t *input = mmd_bytes_pointer_at(from, c->offset);
    uint8_t *to = mmd_bytes_pointer_at(track, c->offset);
    size_t row = mmd_motion_row(c, track);
    if (!input && !c->fallback)
        return row == 0 || mmd_refuse(b->r.err, "%s.%s: missing", b->path, c->name);
    if (input &&
        !(c->content == MMD_MOTION_BYTES ? check_bytes(b, c, input, row)
                                         : check_floats(b, c, (const float *)(const void *)input)))
        return false;
    for (size_t k = 0; k < b->count; k++, to += row) {
        memcpy(to, input ? input + mmd_track_key_index(b->keys[k]) * row : c->fallback, row);
        if (c->content == MMD_MOTION_ROTATIONS)
            mmd_track_sanitize_rotation((float *)(void *)to);
    }
    return true;
}

static bool copy_columns(builder *b, const mmd_motion_layout *layout, const void *from, void *track)
{
    uint32_t *frames = mmd_bytes_pointer_at(track, layout->frames);
    for (size_t k = 0; k < b->count; k++)
        frames[k] = mmd_track_key_frame(b->keys[k]);
    bool ok = true;
    for (size_t i = 0; ok && i < layout->column_count && b->input_count; i++)
        ok = copy_column(b, &layout->columns[i], from, track);
    return ok;
}

/* Begins a track: sorts its keys and drops duplicate frames. */
static bool begin_track(builder *b, const mmd_motion_layout *layout, const void *from)
{
    const uint32_t *frames = mmd_bytes_pointer_at(from, layout->frames);
    size_t count = mmd_motion_key_count(layout, from);
    if (count > MMD_MAX_RECORDS)
        return mmd_refuse(b->r.err, "%s.frames: %zu keys, limit %d", b->path, count,
                          MMD_MAX_RECORDS);
    if (count && !frames)
        return mmd_refuse(b->r.err, "%s.frames: missing", b->path);
    mmd_arena_free(&b->r.scratch);
    b->input_count = count;
    b->keys = mmd_arena_alloc(&b->r.scratch, count, sizeof *b->keys);
    if (!b->keys)
        return mmd_fail_memory(b->r.err);
    for (size_t k = 0; k < count; k++)
        b->keys[k] = (uint64_t)frames[k] << 32 | k;
    b->count = mmd_track_sort_keys(&b->r, b->keys, count);
    return mmd_reader_ok(&b->r);
}

static bool copy_name(builder *b, mmd_text input, mmd_text *name)
{
    if (input.size && (!input.data || memchr(input.data, 0, input.size)))
        return mmd_refuse(b->r.err, "%s: the name %s", b->path,
                          input.data ? "contains a NUL" : "is missing");
    char *copy = mmd_reader_alloc(&b->r, input.size + 1, 1);
    if (copy && input.size)
        memcpy(copy, input.data, input.size);
    *name = (mmd_text){copy, input.size};
    return mmd_reader_ok(&b->r);
}

/* Begins the item `kind[index]`, whose name must differ from those before it. */
static bool copy_unique_name(builder *b, const char *kind, size_t index, mmd_text input,
                             mmd_text *name)
{
    uint32_t first = 0;
    snprintf(b->path, sizeof b->path, "%s[%zu]", kind, index);
    if (!copy_name(b, input, name))
        return false;
    if (!mmd_string_table_add(&b->name_arena, &b->names, (const uint8_t *)name->data, name->size,
                              &first))
        return mmd_fail_memory(b->r.err);
    return first == index ||
           mmd_refuse(b->r.err, "%s: duplicate name \"%.*s\", also of %s[%u]", b->path,
                      mmd_text_fit(*name, 120), name->data, kind, (unsigned)first);
}

static void clear_names(builder *b)
{
    b->names = (mmd_string_table){0};
    mmd_arena_free(&b->name_arena);
}

/* Keeps the stored bytes, of keys that are not the same the rotation or the curves that still are,
   unless all are as mmdskin would store them. */
static bool keep_stored(builder *b, const mmd_bone_track *from, mmd_bone_track *track)
{
    enum { ROTATION = 4 * sizeof(float), CURVES = MMD_STORED_SIZE - ROTATION };
    bool as_encoded = true;
    if (!from->stored || !b->count)
        return true;
    uint8_t *stored = mmd_reader_alloc_uninitialized(&b->r, b->count, MMD_STORED_SIZE);
    for (size_t k = 0; stored && k < b->count; k++) {
        float rotation[4];
        uint8_t curves[16], physics, now[MMD_STORED_SIZE], *to = stored + MMD_STORED_SIZE * k;
        memcpy(to, from->stored + MMD_STORED_SIZE * mmd_track_key_index(b->keys[k]),
               MMD_STORED_SIZE);
        mmd_vmd_decode(to, rotation, curves, &physics);
        mmd_vmd_encode(track, k, now);
        if (memcmp(rotation, track->rotations + 4 * k, sizeof rotation) != 0)
            memcpy(to, now, ROTATION);
        if (memcmp(curves, track->interpolation + 16 * k, sizeof curves) != 0 ||
            physics != track->physics[k])
            memcpy(to + ROTATION, now + ROTATION, CURVES);
        as_encoded = as_encoded && memcmp(to, now, sizeof now) == 0;
    }
    track->stored = as_encoded ? NULL : stored;
    return mmd_reader_ok(&b->r);
}

static bool copy_switches(builder *b, const mmd_property_track *from, mmd_property_track *track)
{
    size_t names = b->count ? from->ik_count : 0;
    if (names && !mmd_error_require(from->ik_names, "properties.ik_names", b->r.err))
        return false;
    mmd_track_alloc_property(&b->r, track, b->count, names);
    bool ok = mmd_reader_ok(&b->r);
    for (size_t i = 0; ok && i < names; i++)
        ok = copy_unique_name(b, "properties.ik_names", i, from->ik_names[i], &track->ik_names[i]);
    clear_names(b);
    snprintf(b->path, sizeof b->path, "properties");
    return ok;
}

static bool copy_track(builder *b, mmd_motion_kind kind, const void *from, void *track)
{
    const mmd_motion_layout *layout = &mmd_motion_layouts[kind];
    if (!begin_track(b, layout, from))
        return false;
    if (kind == MMD_MOTION_PROPERTIES)
        return copy_switches(b, from, track) && copy_columns(b, layout, from, track);
    mmd_track_alloc(&b->r, layout, track, b->count);
    return mmd_reader_ok(&b->r) && copy_columns(b, layout, from, track) &&
           (kind != MMD_MOTION_BONES || keep_stored(b, from, track));
}

/* All tracks of a kind; those of names without keys are dropped. */
static bool copy_tracks(builder *b, mmd_motion_kind kind, const mmd_motion *input,
                        mmd_motion *motion)
{
    const mmd_motion_layout *layout = &mmd_motion_layouts[kind];
    size_t count = mmd_motion_track_count(layout, input), kept = 0;
    snprintf(b->path, sizeof b->path, "%s", layout->name);
    if (!layout->count)
        return copy_track(b, kind, mmd_motion_track(layout, input, 0),
                          mmd_motion_track(layout, motion, 0));
    if (count && !mmd_error_require(mmd_motion_track(layout, input, 0), layout->name, b->r.err))
        return false;
    char *tracks = mmd_reader_alloc(&b->r, count, layout->size);
    bool ok = mmd_reader_ok(&b->r);
    for (size_t t = 0; ok && t < count; t++) {
        const void *from = mmd_motion_track(layout, input, t);
        void *track = tracks + kept * layout->size;
        ok = copy_unique_name(b, layout->name, t, mmd_motion_track_name(from), track) &&
             copy_track(b, kind, from, track);
        kept += mmd_motion_key_count(layout, from) != 0;
    }
    clear_names(b);
    mmd_motion_set_tracks(layout, motion, tracks, kept);
    return ok;
}

mmd_motion *mmd_motion_new(const mmd_motion *tracks, mmd_error *err)
{
    if (!mmd_error_require(tracks, "tracks", err))
        return NULL;
    mmd_motion *motion = mmd_arena_new_owner(sizeof *motion, err);
    if (!motion)
        return NULL;
    builder b = {.r = mmd_reader_begin(NULL, 0, &motion->arena, err), .path = "name"};
    bool made = copy_name(&b, tracks->name, &motion->name);
    for (size_t kind = 0; made && kind < MMD_MOTION_KINDS; kind++)
        made = copy_tracks(&b, (mmd_motion_kind)kind, tracks, motion);
    mmd_arena_free(&b.r.scratch);
    clear_names(&b);
    if (made)
        mmd_motion_find_range(motion);
    return mmd_arena_keep_owner(motion, made);
}
