/* SPDX-License-Identifier: MIT */
/* mmd_motion_new(): makes a motion from arrays instead of a file, and checks and sorts its keys. */
#include "core/formats/track.h"
#include "core/formats/vmd.h"
#include "core/model/motion.h"

#include "core/base/numbers.h"

#include <stdio.h>
#include <string.h>

typedef struct builder {
    mmd_reader r;           /* allocates in the motion; reads nothing */
    mmd_arena scratch;      /* freed after each track */
    mmd_string_table names; /* of the tracks of one kind; the strings are in the motion */
    mmd_arena name_arena;
    char path[48]; /* of errors: "bones[3]" */
    size_t input_count, count;
    uint64_t *keys; /* (count,) the keys to copy, by frame */
} builder;

typedef enum content { FLOATS, ROTATIONS, BYTES } content;

/* An array of a track with a row for each key. */
typedef struct column {
    const char *name;
    content content;
    size_t width;         /* numbers in a row */
    uint8_t max;          /* of BYTES */
    const void *input;    /* NULL: every row is `fallback` */
    const void *fallback; /* NULL: the input is required */
    void *output;
} column;

static const float zeros[4], identity[4] = {0, 0, 0, 1};
static const uint8_t no = 0, yes = 1;

static bool fail_key(const builder *b, const char *what, size_t key, const char *fault)
{
    return mmd_fail(b->r.err, MMD_E_ARGUMENT, "%s.%s: key %zu%s", b->path, what, key, fault);
}

static bool check_floats(const builder *b, const column *c)
{
    const float *numbers = c->input;
    size_t count = b->input_count * c->width;
    size_t bad = c->content == ROTATIONS ? mmd_numbers_first_not_finite(numbers, count)
                                         : mmd_numbers_first_beyond_limit(numbers, count);
    char fault[80];
    if (bad < count) {
        snprintf(fault, sizeof fault, ", component %zu is %s", bad % c->width,
                 mmd_numbers_fault((double)numbers[bad]));
        return fail_key(b, c->name, bad / c->width, fault);
    }
    for (size_t k = 0; c->content == ROTATIONS && k < b->input_count; k++) {
        const float *q = numbers + 4 * k;
        if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0)
            return fail_key(b, c->name, k, " has zero length");
    }
    return true;
}

static bool check_bytes(const builder *b, const column *c)
{
    const uint8_t *numbers = c->input;
    for (size_t i = 0; i < b->input_count * c->width; i++)
        if (numbers[i] > c->max) {
            char fault[80];
            snprintf(fault, sizeof fault, ", component %zu: %d, limit %d", i % c->width, numbers[i],
                     c->max);
            return fail_key(b, c->name, i / c->width, fault);
        }
    return true;
}

static bool copy_column(const builder *b, const column *c)
{
    size_t row = c->width * (c->content == BYTES ? 1 : sizeof(float));
    if (!c->input && !c->fallback)
        return mmd_fail(b->r.err, MMD_E_ARGUMENT, "%s.%s: missing", b->path, c->name);
    if (c->input && !(c->content == BYTES ? check_bytes(b, c) : check_floats(b, c)))
        return false;
    for (size_t k = 0; k < b->count; k++) {
        uint8_t *to = (uint8_t *)c->output + k * row;
        const uint8_t *input = c->input;
        memcpy(to, input ? input + mmd_track_key_index(b->keys[k]) * row : c->fallback, row);
        if (c->content == ROTATIONS)
            mmd_track_sanitize_rotation((float *)(void *)to);
    }
    return true;
}

static bool copy_columns(builder *b, const column *columns, size_t count, uint32_t *frames)
{
    for (size_t k = 0; k < b->count; k++)
        frames[k] = mmd_track_key_frame(b->keys[k]);
    bool ok = true;
    for (size_t i = 0; ok && i < count && b->input_count; i++)
        ok = copy_column(b, &columns[i]);
    mmd_arena_free(&b->scratch);
    return ok;
}

/* Begins a track: sorts its keys and drops duplicate frames. */
static bool begin_track(builder *b, const uint32_t *frames, size_t count)
{
    if (count > MMD_MAX_RECORDS)
        return mmd_fail(b->r.err, MMD_E_ARGUMENT, "%s.frames: %zu keys, limit %d", b->path, count,
                        MMD_MAX_RECORDS);
    if (count && !frames)
        return mmd_fail(b->r.err, MMD_E_ARGUMENT, "%s.frames: missing", b->path);
    b->input_count = count;
    b->keys = mmd_arena_alloc(&b->scratch, count, sizeof *b->keys);
    uint64_t *scratch = mmd_arena_alloc(&b->scratch, count, sizeof *scratch);
    if (!b->keys || !scratch)
        return mmd_fail_memory(b->r.err);
    for (size_t k = 0; k < count; k++)
        b->keys[k] = (uint64_t)frames[k] << 32 | k;
    b->count = mmd_track_sort_keys(b->keys, scratch, count);
    return true;
}

static bool copy_name(builder *b, mmd_text input, mmd_text *name)
{
    if (input.size && (!input.data || memchr(input.data, 0, input.size)))
        return mmd_fail(b->r.err, MMD_E_ARGUMENT, "%s: the name %s", b->path,
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
           mmd_fail(b->r.err, MMD_E_ARGUMENT, "%s: duplicate name \"%.*s\", also of %s[%u]",
                    b->path, mmd_text_fit(*name, 120), name->data, kind, (unsigned)first);
}

static void clear_names(builder *b)
{
    b->names = (mmd_string_table){0};
    mmd_arena_free(&b->name_arena);
}

/* Of a key, keeps the stored rotation if it is still the track's, and the stored curves likewise.
 */
static void update_stored(const mmd_bone_track *track, size_t key)
{
    enum { ROTATION = 4 * sizeof(float) };
    float rotation[4];
    uint8_t curves[16], physics, *stored = track->stored + MMD_STORED_SIZE * key;
    uint8_t now[MMD_STORED_SIZE];
    mmd_vmd_decode(stored, rotation, curves, &physics);
    mmd_vmd_encode(track->rotations + 4 * key, track->interpolation + 16 * key, track->physics[key],
                   now);
    if (memcmp(rotation, track->rotations + 4 * key, sizeof rotation) != 0)
        memcpy(stored, now, ROTATION);
    if (memcmp(curves, track->interpolation + 16 * key, sizeof curves) != 0 ||
        physics != track->physics[key])
        memcpy(stored + ROTATION, now + ROTATION, sizeof now - ROTATION);
}

static bool copy_bone(builder *b, const mmd_bone_track *input, mmd_bone_track *track)
{
    if (!begin_track(b, input->frames, input->key_count))
        return false;
    mmd_track_alloc_bone(&b->r, track, b->count);
    if (input->stored && b->count)
        track->stored = mmd_reader_alloc_uninitialized(&b->r, b->count, MMD_STORED_SIZE);
    if (!mmd_reader_ok(&b->r))
        return false;
    for (size_t k = 0; input->stored && k < b->count; k++)
        memcpy(track->stored + MMD_STORED_SIZE * k,
               input->stored + MMD_STORED_SIZE * mmd_track_key_index(b->keys[k]), MMD_STORED_SIZE);
    const column columns[] = {
        {"translations", FLOATS, 3, 0, input->translations, zeros, track->translations},
        {"rotations", ROTATIONS, 4, 0, input->rotations, identity, track->rotations},
        {"interpolation", BYTES, 16, 127, input->interpolation, mmd_track_linear_curves,
         track->interpolation},
        {"physics", BYTES, 1, 1, input->physics, &yes, track->physics},
    };
    if (!copy_columns(b, columns, sizeof columns / sizeof *columns, track->frames))
        return false;
    bool as_encoded = true;
    for (size_t k = 0; track->stored && k < b->count; k++) {
        update_stored(track, k);
        as_encoded =
            as_encoded && mmd_vmd_is_as_encoded(track, k, track->stored + MMD_STORED_SIZE * k);
    }
    if (as_encoded)
        track->stored = NULL;
    return true;
}

static bool copy_bones(builder *b, const mmd_motion *input, mmd_motion *motion)
{
    size_t kept = 0;
    if (input->bone_track_count && !mmd_error_require(input->bone_tracks, "bones", b->r.err))
        return false;
    motion->bone_tracks =
        mmd_reader_alloc(&b->r, input->bone_track_count, sizeof *motion->bone_tracks);
    bool ok = mmd_reader_ok(&b->r);
    for (size_t t = 0; ok && t < input->bone_track_count; t++) {
        const mmd_bone_track *from = &input->bone_tracks[t];
        mmd_bone_track *track = &motion->bone_tracks[kept];
        ok = copy_unique_name(b, "bones", t, from->name, &track->name) && copy_bone(b, from, track);
        kept += from->key_count != 0;
    }
    clear_names(b);
    motion->bone_track_count = kept;
    return ok;
}

static bool copy_morph(builder *b, const mmd_morph_track *input, mmd_morph_track *track)
{
    if (!begin_track(b, input->frames, input->key_count))
        return false;
    mmd_track_alloc_morph(&b->r, track, b->count);
    if (!mmd_reader_ok(&b->r))
        return false;
    const column weights = {"weights", FLOATS, 1, 0, input->weights, NULL, track->weights};
    return copy_columns(b, &weights, 1, track->frames);
}

static bool copy_morphs(builder *b, const mmd_motion *input, mmd_motion *motion)
{
    size_t kept = 0;
    if (input->morph_track_count && !mmd_error_require(input->morph_tracks, "morphs", b->r.err))
        return false;
    motion->morph_tracks =
        mmd_reader_alloc(&b->r, input->morph_track_count, sizeof *motion->morph_tracks);
    bool ok = mmd_reader_ok(&b->r);
    for (size_t t = 0; ok && t < input->morph_track_count; t++) {
        const mmd_morph_track *from = &input->morph_tracks[t];
        mmd_morph_track *track = &motion->morph_tracks[kept];
        ok = copy_unique_name(b, "morphs", t, from->name, &track->name) &&
             copy_morph(b, from, track);
        kept += from->key_count != 0;
    }
    clear_names(b);
    motion->morph_track_count = kept;
    return ok;
}

static bool copy_camera(builder *b, const mmd_camera_track *input, mmd_camera_track *track)
{
    snprintf(b->path, sizeof b->path, "camera");
    if (!begin_track(b, input->frames, input->key_count))
        return false;
    mmd_track_alloc_camera(&b->r, track, b->count);
    if (!mmd_reader_ok(&b->r))
        return false;
    const column columns[] = {
        {"distances", FLOATS, 1, 0, input->distances, NULL, track->distances},
        {"targets", FLOATS, 3, 0, input->targets, NULL, track->targets},
        {"rotations", FLOATS, 3, 0, input->rotations, NULL, track->rotations},
        {"interpolation", BYTES, 24, 127, input->interpolation, mmd_track_linear_curves,
         track->interpolation},
        {"view_angles", FLOATS, 1, 0, input->view_angles, NULL, track->view_angles},
        {"perspective", BYTES, 1, 1, input->perspective, &yes, track->perspective},
    };
    return copy_columns(b, columns, sizeof columns / sizeof *columns, track->frames);
}

static bool copy_light(builder *b, const mmd_light_track *input, mmd_light_track *track)
{
    snprintf(b->path, sizeof b->path, "light");
    if (!begin_track(b, input->frames, input->key_count))
        return false;
    mmd_track_alloc_light(&b->r, track, b->count);
    if (!mmd_reader_ok(&b->r))
        return false;
    const column columns[] = {
        {"colors", FLOATS, 3, 0, input->colors, NULL, track->colors},
        {"directions", FLOATS, 3, 0, input->directions, NULL, track->directions},
    };
    return copy_columns(b, columns, sizeof columns / sizeof *columns, track->frames);
}

static bool copy_shadow(builder *b, const mmd_shadow_track *input, mmd_shadow_track *track)
{
    snprintf(b->path, sizeof b->path, "shadow");
    if (!begin_track(b, input->frames, input->key_count))
        return false;
    mmd_track_alloc_shadow(&b->r, track, b->count);
    if (!mmd_reader_ok(&b->r))
        return false;
    const column columns[] = {
        {"modes", BYTES, 1, 2, input->modes, NULL, track->modes},
        {"distances", FLOATS, 1, 0, input->distances, NULL, track->distances},
    };
    return copy_columns(b, columns, sizeof columns / sizeof *columns, track->frames);
}

static bool copy_properties(builder *b, const mmd_property_track *input, mmd_property_track *track)
{
    snprintf(b->path, sizeof b->path, "properties");
    if (!begin_track(b, input->frames, input->key_count))
        return false;
    size_t names = b->count ? input->ik_count : 0;
    if (names && !mmd_error_require(input->ik_names, "properties.ik_names", b->r.err))
        return false;
    mmd_track_alloc_property(&b->r, track, b->count, names);
    if (!mmd_reader_ok(&b->r))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < names; i++)
        ok = copy_unique_name(b, "properties.ik_names", i, input->ik_names[i], &track->ik_names[i]);
    clear_names(b);
    snprintf(b->path, sizeof b->path, "properties");
    const column columns[] = {
        {"visible", BYTES, 1, 1, input->visible, &yes, track->visible},
        {"ik_enabled", BYTES, names, 1, input->ik_enabled, names ? NULL : &no, track->ik_enabled},
    };
    return ok && copy_columns(b, columns, sizeof columns / sizeof *columns, track->frames);
}

mmd_motion *mmd_motion_new(const mmd_motion *tracks, mmd_error *err)
{
    if (!mmd_error_require(tracks, "tracks", err))
        return NULL;
    mmd_motion *motion = mmd_arena_new_owner(sizeof *motion);
    if (!motion) {
        mmd_fail_memory(err);
        return NULL;
    }
    builder b = {.r = mmd_reader_begin(NULL, 0, &motion->arena, err), .path = "name"};
    bool made = copy_name(&b, tracks->name, &motion->name) && copy_bones(&b, tracks, motion) &&
                copy_morphs(&b, tracks, motion) &&
                copy_camera(&b, &tracks->camera, &motion->camera) &&
                copy_light(&b, &tracks->light, &motion->light) &&
                copy_shadow(&b, &tracks->shadow, &motion->shadow) &&
                copy_properties(&b, &tracks->properties, &motion->properties);
    mmd_arena_free(&b.scratch);
    clear_names(&b);
    if (made) {
        mmd_motion_find_range(motion);
        return motion;
    }
    mmd_motion_free(motion);
    return NULL;
}
