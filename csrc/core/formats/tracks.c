/* SPDX-License-Identifier: MIT */
/* Motions made of arrays instead of a file. */
#include "core/data/motion.h"
#include "core/formats/keys.h"

#include "core/base/numbers.h"

#include <stdio.h>
#include <string.h>

typedef struct builder {
    mmd_reader r;    /* reads nothing: memory of the motion */
    mmd_arena spare; /* for the time of one track */
    mmd_names names; /* of the tracks of one kind; they lie in the motion */
    mmd_arena name_memory;
    char place[48]; /* "bones[3]" */
    size_t given_count, count;
    uint64_t *keys; /* the `count` keys that stay, by frame */
} builder;

typedef enum content { NUMBERS, ROTATIONS, SMALL } content;

/* What a track has for each key beside its frame. */
typedef struct column {
    const char *name;
    content content;
    size_t width;          /* numbers of a key */
    uint8_t most;          /* of SMALL */
    const void *given;     /* NULL: `otherwise` for each key */
    const void *otherwise; /* NULL: must be given */
    void *taken;
} column;

static const float zeros[4], identity[4] = {0, 0, 0, 1};
static const uint8_t no = 0, yes = 1;

static bool refuse(const builder *b, const char *what, size_t key, const char *fault)
{
    return mmd_fail(b->r.err, MMD_E_ARGUMENT, "%s.%s: key %zu%s", b->place, what, key, fault);
}

static bool check_numbers(const builder *b, const column *c)
{
    const float *numbers = c->given;
    size_t count = b->given_count * c->width, bad = mmd_first_not_finite(numbers, count);
    char fault[80];
    if (bad < count) {
        snprintf(fault, sizeof fault, ", component %zu is %s", bad % c->width,
                 mmd_not_finite_name((double)numbers[bad]));
        return refuse(b, c->name, bad / c->width, fault);
    }
    for (size_t k = 0; c->content == ROTATIONS && k < b->given_count; k++) {
        const float *q = numbers + 4 * k;
        if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0)
            return refuse(b, c->name, k, " has no length");
    }
    return true;
}

static bool check_small(const builder *b, const column *c)
{
    const uint8_t *numbers = c->given;
    for (size_t i = 0; i < b->given_count * c->width; i++)
        if (numbers[i] > c->most) {
            char fault[80];
            snprintf(fault, sizeof fault, ", component %zu: %d, limit %d", i % c->width, numbers[i],
                     c->most);
            return refuse(b, c->name, i / c->width, fault);
        }
    return true;
}

static bool take_column(const builder *b, const column *c)
{
    size_t row = c->width * (c->content == SMALL ? 1 : sizeof(float));
    if (!c->given && !c->otherwise)
        return mmd_fail(b->r.err, MMD_E_ARGUMENT, "%s.%s: not given", b->place, c->name);
    if (c->given && !(c->content == SMALL ? check_small(b, c) : check_numbers(b, c)))
        return false;
    for (size_t k = 0; k < b->count; k++) {
        uint8_t *to = (uint8_t *)c->taken + k * row;
        const uint8_t *given = c->given;
        memcpy(to, given ? given + mmd_key_place(b->keys[k]) * row : c->otherwise, row);
        if (c->content == ROTATIONS)
            mmd_rotation_sanitize((float *)(void *)to);
    }
    return true;
}

static bool take_columns(builder *b, const column *columns, size_t count, uint32_t *frames)
{
    for (size_t k = 0; k < b->count; k++)
        frames[k] = mmd_key_frame(b->keys[k]);
    bool taken = true;
    for (size_t i = 0; taken && i < count && b->given_count; i++)
        taken = take_column(b, &columns[i]);
    mmd_arena_free(&b->spare);
    return taken;
}

/* Opens a track: sorts its keys and counts those that stay. */
static bool open_track(builder *b, const uint32_t *frames, size_t count)
{
    if (count > MMD_MAX_RECORDS)
        return mmd_fail(b->r.err, MMD_E_ARGUMENT, "%s.frames: %zu keys, limit %d", b->place, count,
                        MMD_MAX_RECORDS);
    b->given_count = count;
    b->keys = mmd_arena_alloc(&b->spare, count, sizeof *b->keys);
    uint64_t *spare = mmd_arena_alloc(&b->spare, count, sizeof *spare);
    if (!b->keys || !spare)
        return mmd_fail_memory(b->r.err);
    for (size_t k = 0; k < count; k++)
        b->keys[k] = (uint64_t)frames[k] << 32 | k;
    b->count = mmd_keys_sort(b->keys, spare, count);
    return true;
}

static bool copy_name(builder *b, mmd_text given, mmd_text *name)
{
    if (given.size && memchr(given.data, 0, given.size))
        return mmd_fail(b->r.err, MMD_E_ARGUMENT, "%s: a name with a NUL in it", b->place);
    char *copy = mmd_reader_alloc(&b->r, given.size + 1, 1);
    if (copy && given.size)
        memcpy(copy, given.data, given.size);
    *name = (mmd_text){copy, given.size};
    return mmd_reader_sound(&b->r);
}

/* Opens the place of the name; no other of its kind may have the same. */
static bool take_name(builder *b, const char *kind, size_t index, mmd_text given, mmd_text *name)
{
    uint32_t number = 0;
    snprintf(b->place, sizeof b->place, "%s[%zu]", kind, index);
    if (!copy_name(b, given, name))
        return false;
    if (!mmd_names_add(&b->name_memory, &b->names, (const uint8_t *)name->data, name->size,
                       &number))
        return mmd_fail_memory(b->r.err);
    return number == index ||
           mmd_fail(b->r.err, MMD_E_ARGUMENT, "%s: \"%.120s\" is the name of %s[%u], too", b->place,
                    name->data, kind, (unsigned)number);
}

static void forget_names(builder *b)
{
    b->names = (mmd_names){0};
    mmd_arena_free(&b->name_memory);
}

static bool take_bone(builder *b, const mmd_bone_track *given, mmd_bone_track *track)
{
    if (!open_track(b, given->frames, given->key_count))
        return false;
    mmd_bone_track_alloc(&b->r, track, b->count);
    if (!mmd_reader_sound(&b->r))
        return false;
    const column columns[] = {
        {"translations", NUMBERS, 3, 0, given->translations, zeros, track->translations},
        {"rotations", ROTATIONS, 4, 0, given->rotations, identity, track->rotations},
        {"interpolation", SMALL, 16, 127, given->interpolation, mmd_straight_curves,
         track->interpolation},
        {"physics", SMALL, 1, 1, given->physics, &yes, track->physics},
    };
    return take_columns(b, columns, sizeof columns / sizeof *columns, track->frames);
}

static bool take_bones(builder *b, const mmd_motion *given, mmd_motion *motion)
{
    size_t kept = 0;
    motion->bone_tracks =
        mmd_reader_alloc(&b->r, given->bone_track_count, sizeof *motion->bone_tracks);
    bool taken = mmd_reader_sound(&b->r);
    for (size_t t = 0; taken && t < given->bone_track_count; t++) {
        const mmd_bone_track *from = &given->bone_tracks[t];
        mmd_bone_track *track = &motion->bone_tracks[kept];
        taken = take_name(b, "bones", t, from->name, &track->name) && take_bone(b, from, track);
        kept += from->key_count != 0;
    }
    forget_names(b);
    motion->bone_track_count = kept;
    return taken;
}

static bool take_morph(builder *b, const mmd_morph_track *given, mmd_morph_track *track)
{
    if (!open_track(b, given->frames, given->key_count))
        return false;
    mmd_morph_track_alloc(&b->r, track, b->count);
    if (!mmd_reader_sound(&b->r))
        return false;
    const column weights = {"weights", NUMBERS, 1, 0, given->weights, NULL, track->weights};
    return take_columns(b, &weights, 1, track->frames);
}

static bool take_morphs(builder *b, const mmd_motion *given, mmd_motion *motion)
{
    size_t kept = 0;
    motion->morph_tracks =
        mmd_reader_alloc(&b->r, given->morph_track_count, sizeof *motion->morph_tracks);
    bool taken = mmd_reader_sound(&b->r);
    for (size_t t = 0; taken && t < given->morph_track_count; t++) {
        const mmd_morph_track *from = &given->morph_tracks[t];
        mmd_morph_track *track = &motion->morph_tracks[kept];
        taken = take_name(b, "morphs", t, from->name, &track->name) && take_morph(b, from, track);
        kept += from->key_count != 0;
    }
    forget_names(b);
    motion->morph_track_count = kept;
    return taken;
}

static bool take_camera(builder *b, const mmd_camera_track *given, mmd_camera_track *track)
{
    snprintf(b->place, sizeof b->place, "camera");
    if (!open_track(b, given->frames, given->key_count))
        return false;
    mmd_camera_track_alloc(&b->r, track, b->count);
    if (!mmd_reader_sound(&b->r))
        return false;
    const column columns[] = {
        {"distances", NUMBERS, 1, 0, given->distances, NULL, track->distances},
        {"targets", NUMBERS, 3, 0, given->targets, NULL, track->targets},
        {"rotations", NUMBERS, 3, 0, given->rotations, NULL, track->rotations},
        {"interpolation", SMALL, 24, 127, given->interpolation, mmd_straight_curves,
         track->interpolation},
        {"view_angles", NUMBERS, 1, 0, given->view_angles, NULL, track->view_angles},
        {"perspective", SMALL, 1, 1, given->perspective, &yes, track->perspective},
    };
    return take_columns(b, columns, sizeof columns / sizeof *columns, track->frames);
}

static bool take_light(builder *b, const mmd_light_track *given, mmd_light_track *track)
{
    snprintf(b->place, sizeof b->place, "light");
    if (!open_track(b, given->frames, given->key_count))
        return false;
    mmd_light_track_alloc(&b->r, track, b->count);
    if (!mmd_reader_sound(&b->r))
        return false;
    const column columns[] = {
        {"colors", NUMBERS, 3, 0, given->colors, NULL, track->colors},
        {"directions", NUMBERS, 3, 0, given->directions, NULL, track->directions},
    };
    return take_columns(b, columns, sizeof columns / sizeof *columns, track->frames);
}

static bool take_shadow(builder *b, const mmd_shadow_track *given, mmd_shadow_track *track)
{
    snprintf(b->place, sizeof b->place, "shadow");
    if (!open_track(b, given->frames, given->key_count))
        return false;
    mmd_shadow_track_alloc(&b->r, track, b->count);
    if (!mmd_reader_sound(&b->r))
        return false;
    const column columns[] = {
        {"modes", SMALL, 1, 2, given->modes, NULL, track->modes},
        {"distances", NUMBERS, 1, 0, given->distances, NULL, track->distances},
    };
    return take_columns(b, columns, sizeof columns / sizeof *columns, track->frames);
}

static bool take_properties(builder *b, const mmd_property_track *given, mmd_property_track *track)
{
    snprintf(b->place, sizeof b->place, "properties");
    if (!open_track(b, given->frames, given->key_count))
        return false;
    size_t names = b->count ? given->ik_count : 0;
    mmd_property_track_alloc(&b->r, track, b->count, names);
    if (!mmd_reader_sound(&b->r))
        return false;
    bool taken = true;
    for (size_t i = 0; taken && i < names; i++)
        taken = take_name(b, "properties.ik_names", i, given->ik_names[i], &track->ik_names[i]);
    forget_names(b);
    snprintf(b->place, sizeof b->place, "properties");
    const column columns[] = {
        {"visible", SMALL, 1, 1, given->visible, &yes, track->visible},
        {"ik_enabled", SMALL, names, 1, given->ik_enabled, names ? NULL : &no, track->ik_enabled},
    };
    return taken && take_columns(b, columns, sizeof columns / sizeof *columns, track->frames);
}

mmd_motion *mmd_motion_new(const mmd_motion *given, mmd_error *err)
{
    mmd_motion *motion = mmd_owner_new(sizeof *motion);
    if (!motion) {
        mmd_fail_memory(err);
        return NULL;
    }
    builder b = {.r = mmd_reader_begin(NULL, 0, &motion->arena, err), .place = "name"};
    bool made = copy_name(&b, given->name, &motion->name) && take_bones(&b, given, motion) &&
                take_morphs(&b, given, motion) &&
                take_camera(&b, &given->camera, &motion->camera) &&
                take_light(&b, &given->light, &motion->light) &&
                take_shadow(&b, &given->shadow, &motion->shadow) &&
                take_properties(&b, &given->properties, &motion->properties);
    mmd_arena_free(&b.spare);
    forget_names(&b);
    if (made) {
        mmd_motion_find_range(motion);
        return motion;
    }
    mmd_motion_free(motion);
    return NULL;
}
