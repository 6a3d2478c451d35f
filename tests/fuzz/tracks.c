/* SPDX-License-Identifier: MIT */
/* The input is a script of tracks: a motion made of them is sampled, written as VMD with and
   without cut names, and read back as it was. */
#include "script.h"
#include "target.h"
#include "valid.h"

#include <string.h>

enum { TRACKS = 4, KEYS = 5, NAME = 24, SINGLE = 4 };
enum { HARD_CURVES = 1, HARD_FLAGS = 2, NO_MOVES = 4, NO_TURNS = 8, NO_CURVES = 16 };
enum { NO_PHYSICS = 32, WHOLE_ANGLES = 64, NO_CAMERA_CURVES = 128 };

typedef struct arrays {
    char names[3 * TRACKS + 1][NAME];
    uint32_t frames[2 * TRACKS + SINGLE][KEYS];
    float translations[TRACKS][3 * KEYS], rotations[TRACKS][4 * KEYS], weights[TRACKS][KEYS];
    float vectors[SINGLE][3 * KEYS], distances[2][KEYS], view_angles[KEYS];
    uint8_t curves[TRACKS + 1][24 * KEYS], physics[TRACKS][KEYS];
    uint8_t perspective[KEYS], modes[KEYS], visible[KEYS], enabled[KEYS * TRACKS];
    mmd_bone_track bones[TRACKS];
    mmd_morph_track morphs[TRACKS];
    mmd_text ik[TRACKS];
} arrays;

static void take_numbers(script *s, float *out, size_t count)
{
    while (count--)
        *out++ = take_number(s);
}

static void take_bytes(script *s, uint8_t *out, size_t count, uint8_t end)
{
    while (count--)
        *out++ = take(s) % end;
}

static uint32_t take_frame(script *s)
{
    static const uint32_t hard[] = {0, 1, UINT32_MAX, 1u << 31, INT32_MAX, (1u << 24) + 1};
    uint8_t byte = take(s);
    return byte < sizeof hard / sizeof *hard ? hard[byte] : byte;
}

/* Mostly what cp932 has: kana, kanji and halfwidth kana, else letters and an emoji. */
static uint32_t take_character(script *s)
{
    uint8_t byte = take(s);
    return byte < 100   ? byte
           : byte < 200 ? 0x3040u + byte - 100
           : byte < 220 ? 0x4E00u + 37u * byte
           : byte < 240 ? 0xFF61u + byte - 220
           : byte < 250 ? 0xE9u + byte
                        : 0x1F600;
}

static size_t encode(uint32_t character, char out[4])
{
    size_t more = character < 0x80 ? 0 : character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    static const uint8_t first[] = {0, 0xC0, 0xE0, 0xF0};
    out[0] = (char)(first[more] | character >> 6 * more);
    for (size_t i = 1; i <= more; i++)
        out[i] = (char)(0x80 | (character >> 6 * (more - i) & 63));
    return more + 1;
}

static mmd_text take_name(script *s, char room[NAME])
{
    size_t size = 0;
    for (size_t left = take(s) % 20; left && size + 4 < NAME; left--)
        size += encode(take_character(s), room + size);
    room[size] = 0;
    return (mmd_text){room, size};
}

static void take_bone(script *s, arrays *a, size_t i, uint8_t have)
{
    take_numbers(s, a->translations[i], 3 * KEYS);
    take_numbers(s, a->rotations[i], 4 * KEYS);
    /* Never all zero: a VMD stores the switch of physics in these bytes. */
    take_bytes(s, a->curves[i], 16 * KEYS, have & HARD_CURVES ? 255 : 128);
    for (size_t k = 0; k < 16 * KEYS; k++)
        a->curves[i][k] |= k % 16 == 1;
    take_bytes(s, a->physics[i], KEYS, have & HARD_FLAGS ? 255 : 2);
    a->bones[i] = (mmd_bone_track){.name = take_name(s, a->names[i]),
                                   .key_count = take(s) % (KEYS + 1),
                                   .frames = a->frames[i],
                                   .translations = have & NO_MOVES ? NULL : a->translations[i],
                                   .rotations = have & NO_TURNS ? NULL : a->rotations[i],
                                   .interpolation = have & NO_CURVES ? NULL : a->curves[i],
                                   .physics = have & NO_PHYSICS ? NULL : a->physics[i]};
}

static void take_morph(script *s, arrays *a, size_t i)
{
    take_numbers(s, a->weights[i], KEYS);
    a->morphs[i] = (mmd_morph_track){.name = take_name(s, a->names[TRACKS + i]),
                                     .key_count = take(s) % (KEYS + 1),
                                     .frames = a->frames[TRACKS + i],
                                     .weights = a->weights[i]};
    a->ik[i] = take_name(s, a->names[2 * TRACKS + i]);
}

/* The tracks that a motion has once. */
static void take_single(script *s, arrays *a, mmd_motion *tracks, uint8_t have)
{
    uint32_t(*frames)[KEYS] = a->frames + 2 * TRACKS;
    uint8_t end = have & HARD_FLAGS ? 255 : 2;
    for (size_t i = 0; i < SINGLE; i++)
        take_numbers(s, a->vectors[i], 3 * KEYS);
    take_numbers(s, a->distances[0], 2 * KEYS);
    take_numbers(s, a->view_angles, KEYS);
    for (size_t k = 0; have & WHOLE_ANGLES && k < KEYS; k++)
        a->view_angles[k] = (float)take(s);
    take_bytes(s, a->curves[TRACKS], 24 * KEYS, 128);
    take_bytes(s, a->perspective, KEYS, end);
    take_bytes(s, a->modes, KEYS, have & HARD_FLAGS ? 255 : 3);
    take_bytes(s, a->visible, KEYS, end);
    take_bytes(s, a->enabled, KEYS * TRACKS, end);
    tracks->camera =
        (mmd_camera_track){.key_count = take(s) % (KEYS + 1),
                           .frames = frames[0],
                           .distances = a->distances[0],
                           .targets = a->vectors[0],
                           .rotations = a->vectors[1],
                           .interpolation = have & NO_CAMERA_CURVES ? NULL : a->curves[TRACKS],
                           .view_angles = a->view_angles,
                           .perspective = a->perspective};
    tracks->light =
        (mmd_light_track){take(s) % (KEYS + 1), frames[1], a->vectors[2], a->vectors[3]};
    tracks->shadow = (mmd_shadow_track){take(s) % (KEYS + 1), frames[2], a->modes, a->distances[1]};
    tracks->properties = (mmd_property_track){.key_count = take(s) % (KEYS + 1),
                                              .frames = frames[3],
                                              .visible = a->visible,
                                              .ik_count = take(s) % (TRACKS + 1),
                                              .ik_names = a->ik,
                                              .ik_enabled = a->enabled};
}

static mmd_motion take_tracks(script *s, arrays *a)
{
    uint8_t have = take(s);
    mmd_motion tracks = {.bone_track_count = take(s) % (TRACKS + 1),
                         .morph_track_count = take(s) % (TRACKS + 1),
                         .bone_tracks = a->bones,
                         .morph_tracks = a->morphs};
    for (size_t i = 0; i < sizeof a->frames / sizeof a->frames[0][0]; i++)
        a->frames[i / KEYS][i % KEYS] = take_frame(s);
    tracks.name = take_name(s, a->names[3 * TRACKS]);
    for (size_t i = 0; i < TRACKS; i++) {
        take_bone(s, a, i, have);
        take_morph(s, a, i);
    }
    take_single(s, a, &tracks, have);
    return tracks;
}

static void check_camera(const mmd_motion *motion)
{
    double frames[] = {0,
                       -1,
                       0.5,
                       motion->first_frame,
                       motion->last_frame,
                       motion->last_frame * 0.5,
                       4294967295.0,
                       1e300,
                       -1e300};
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        mmd_camera camera;
        mmd_camera_at(&motion->camera, frames[i], &camera);
        for (int k = 0; k < 3; k++)
            PROMISE(isfinite(camera.position[k]) && isfinite(camera.target[k]) &&
                    isfinite(camera.up[k]));
        PROMISE(isfinite(camera.fov));
    }
}

/* Written, read and written again: the same bytes. */
static void check_file(const mmd_motion *motion, bool cut_names)
{
    size_t size = mmd_vmd_size(motion);
    uint8_t *bytes = malloc(size), *again = malloc(size);
    mmd_error err = {0};
    PROMISE(bytes && again);
    if (mmd_vmd_write(motion, cut_names, bytes, &err)) {
        mmd_motion *read = mmd_motion_load(bytes, size, &err);
        PROMISE(read && motion_is_valid(read) && mmd_vmd_size(read) == size);
        PROMISE(mmd_vmd_write(read, false, again, &err) && !memcmp(bytes, again, size));
        mmd_motion_free(read);
    } else
        PROMISE(err.code == MMD_E_ARGUMENT && err.text[0]);
    free(bytes), free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static arrays a;
    script s = {data, size, 0};
    mmd_motion tracks = take_tracks(&s, &a);
    mmd_error err = {0};
    mmd_motion *motion = mmd_motion_new(&tracks, &err);
    PROMISE(motion || err.text[0]);
    if (!motion)
        return 0;
    PROMISE(motion_is_valid(motion));
    check_camera(motion);
    check_file(motion, false);
    check_file(motion, true);
    mmd_motion_free(motion);
    return 0;
}
