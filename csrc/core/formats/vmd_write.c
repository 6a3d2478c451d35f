/* SPDX-License-Identifier: MIT */
/* Motions as VMD: every section, with keys track by track, so that what is read back is equal. */
#include "core/base/error.h"
#include "core/base/names.h"
#include "core/base/text.h"
#include "core/formats/reader.h"
#include "core/formats/vmd.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct writer {
    uint8_t *at;
    mmd_arena arena;       /* for the time of the writing */
    const uint16_t *codes; /* of cp932 */
    bool truncate;
    mmd_error *err;
} writer;

static void put_u8(writer *w, uint8_t value)
{
    *w->at++ = value;
}

static void put_u32(writer *w, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        put_u8(w, (uint8_t)(value >> 8 * i));
}

static void put_f32s(writer *w, const float *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        put_u32(w, bits);
    }
}

static void put_bytes(writer *w, const void *bytes, size_t size)
{
    memcpy(w->at, bytes, size);
    w->at += size;
}

/* Fills a field, with zeros behind the name. */
static bool encode_name(const writer *w, mmd_text name, const char *where, size_t room,
                        uint8_t *field)
{
    uint32_t missing;
    size_t size;
    memset(field, 0, room);
    if (!mmd_cp932_encode(w->codes, name, field, room, &size, &missing))
        return mmd_fail(w->err, MMD_E_ARGUMENT, "%s: \"%.120s\" has U+%04X, which cp932 lacks",
                        where, name.data, (unsigned)missing);
    return size <= room || w->truncate ||
           mmd_fail(w->err, MMD_E_ARGUMENT,
                    "%s: \"%.120s\" takes %zu bytes, a VMD has room for %zu", where, name.data,
                    size, room);
}

/* The fields of names that lie `stride` bytes apart, which also have to differ once they are cut.
   NULL when they do not. */
static const uint8_t *encode_names(writer *w, const char *kind, const mmd_text *first,
                                   size_t stride, size_t count)
{
    mmd_names names = {0};
    uint8_t *fields = mmd_arena_alloc(&w->arena, count, MMD_VMD_NAME);
    bool good = fields || mmd_fail_memory(w->err);
    for (size_t i = 0; good && i < count; i++) {
        char where[48];
        uint32_t number;
        uint8_t *field = fields + i * MMD_VMD_NAME;
        const mmd_text *name = (const mmd_text *)(const void *)((const char *)first + i * stride);
        snprintf(where, sizeof where, "%s[%zu]", kind, i);
        good = encode_name(w, *name, where, MMD_VMD_NAME, field);
        if (good && !mmd_names_add(&w->arena, &names, field, MMD_VMD_NAME, &number))
            good = mmd_fail_memory(w->err);
        else if (good && number != i)
            good = mmd_fail(w->err, MMD_E_ARGUMENT,
                            "%s: \"%.120s\" is the name of %s[%u], too, in %d bytes", where,
                            name->data, kind, (unsigned)number, MMD_VMD_NAME);
    }
    return good ? fields : NULL;
}

/* Readers refuse more. */
static bool put_count(writer *w, const char *what, size_t count)
{
    if (count > MMD_MAX_RECORDS)
        return mmd_fail(w->err, MMD_E_ARGUMENT, "%s: %zu keys, limit %d", what, count,
                        MMD_MAX_RECORDS);
    put_u32(w, (uint32_t)count);
    return true;
}

static bool put_header(writer *w, const mmd_motion *motion)
{
    uint8_t head[MMD_VMD_HEAD] = "Vocaloid Motion Data 0002";
    put_bytes(w, head, sizeof head);
    if (!encode_name(w, motion->name, "name", MMD_VMD_MODEL_NAME, w->at))
        return false;
    w->at += MMD_VMD_MODEL_NAME;
    return true;
}

/* Four rows of the same sixteen numbers, each one place on, with zeros behind them: a reader finds
   channel c from the beginning of row c on. Two of the first row are the switch of physics. */
static void put_curves(writer *w, const uint8_t curves[16], bool physics)
{
    for (int row = 0; row < 4; row++)
        for (int i = row; i < 16 + row; i++) {
            if (row == 0 && (i == 2 || i == 3))
                put_u8(w, physics ? 0 : mmd_vmd_physics_off[i - 2]);
            else
                put_u8(w, i < 16 ? curves[4 * (i % 4) + i / 4] : 0);
        }
}

static size_t count_bone_keys(const mmd_motion *motion)
{
    size_t count = 0;
    for (size_t t = 0; t < motion->bone_track_count; t++)
        count += motion->bone_tracks[t].key_count;
    return count;
}

static size_t count_morph_keys(const mmd_motion *motion)
{
    size_t count = 0;
    for (size_t t = 0; t < motion->morph_track_count; t++)
        count += motion->morph_tracks[t].key_count;
    return count;
}

static bool put_bones(writer *w, const mmd_motion *motion)
{
    const mmd_bone_track *tracks = motion->bone_tracks;
    const uint8_t *names =
        encode_names(w, "bones", &tracks->name, sizeof *tracks, motion->bone_track_count);
    if (!names || !put_count(w, "bones", count_bone_keys(motion)))
        return false;
    for (size_t t = 0; t < motion->bone_track_count; t++)
        for (size_t k = 0; k < tracks[t].key_count; k++) {
            put_bytes(w, names + t * MMD_VMD_NAME, MMD_VMD_NAME);
            put_u32(w, tracks[t].frames[k]);
            put_f32s(w, tracks[t].translations + 3 * k, 3);
            put_f32s(w, tracks[t].rotations + 4 * k, 4);
            put_curves(w, tracks[t].interpolation + 16 * k, tracks[t].physics[k]);
        }
    return true;
}

static bool put_morphs(writer *w, const mmd_motion *motion)
{
    const mmd_morph_track *tracks = motion->morph_tracks;
    const uint8_t *names =
        encode_names(w, "morphs", &tracks->name, sizeof *tracks, motion->morph_track_count);
    if (!names || !put_count(w, "morphs", count_morph_keys(motion)))
        return false;
    for (size_t t = 0; t < motion->morph_track_count; t++)
        for (size_t k = 0; k < tracks[t].key_count; k++) {
            put_bytes(w, names + t * MMD_VMD_NAME, MMD_VMD_NAME);
            put_u32(w, tracks[t].frames[k]);
            put_f32s(w, &tracks[t].weights[k], 1);
        }
    return true;
}

/* Whole degrees; those of a file that are more than a float tells apart are read as 2^32. */
static bool put_view_angle(writer *w, double degrees, size_t key)
{
    static const double most = 4294967296.0;
    if (!(degrees >= 0 && degrees <= most && degrees == floor(degrees)))
        return mmd_fail(w->err, MMD_E_ARGUMENT,
                        "camera: key %zu: view angle %g, a VMD has room for whole degrees", key,
                        degrees);
    put_u32(w, degrees == most ? UINT32_MAX : (uint32_t)degrees);
    return true;
}

static bool put_camera(writer *w, const mmd_motion *motion)
{
    const mmd_camera_track *track = &motion->camera;
    bool good = put_count(w, "camera", track->key_count);
    for (size_t k = 0; good && k < track->key_count; k++) {
        const uint8_t *curve = track->interpolation + 24 * k;
        put_u32(w, track->frames[k]);
        put_f32s(w, &track->distances[k], 1);
        put_f32s(w, track->targets + 3 * k, 3);
        put_f32s(w, track->rotations + 3 * k, 3);
        for (int i = 0; i < 6; i++, curve += 4)
            put_bytes(w, (uint8_t[4]){curve[0], curve[2], curve[1], curve[3]}, 4); /* x1 x2 y1 y2 */
        good = put_view_angle(w, (double)track->view_angles[k], k);
        if (good)
            put_u8(w, !track->perspective[k]);
    }
    return good;
}

static bool put_light(writer *w, const mmd_motion *motion)
{
    const mmd_light_track *track = &motion->light;
    if (!put_count(w, "light", track->key_count))
        return false;
    for (size_t k = 0; k < track->key_count; k++) {
        put_u32(w, track->frames[k]);
        put_f32s(w, track->colors + 3 * k, 3);
        put_f32s(w, track->directions + 3 * k, 3);
    }
    return true;
}

static bool put_shadow(writer *w, const mmd_motion *motion)
{
    const mmd_shadow_track *track = &motion->shadow;
    if (!put_count(w, "shadow", track->key_count))
        return false;
    for (size_t k = 0; k < track->key_count; k++) {
        put_u32(w, track->frames[k]);
        put_u8(w, track->modes[k]);
        put_f32s(w, &track->distances[k], 1);
    }
    return true;
}

static bool put_properties(writer *w, const mmd_motion *motion)
{
    const mmd_property_track *track = &motion->properties;
    const uint8_t *names = encode_names(w, "properties.ik_names", track->ik_names,
                                        sizeof *track->ik_names, track->ik_count);
    if (!names || !put_count(w, "properties", track->key_count))
        return false;
    if (track->ik_count && track->key_count > MMD_MAX_RECORDS / track->ik_count)
        return mmd_fail(w->err, MMD_E_ARGUMENT,
                        "properties: %zu keys of %zu IK names, limit %d states", track->key_count,
                        track->ik_count, MMD_MAX_RECORDS);
    for (size_t k = 0; k < track->key_count; k++) {
        put_u32(w, track->frames[k]);
        put_u8(w, track->visible[k]);
        put_u32(w, (uint32_t)track->ik_count);
        for (size_t i = 0; i < track->ik_count; i++) {
            static const uint8_t unused[MMD_VMD_IK_NAME - MMD_VMD_NAME];
            put_bytes(w, names + i * MMD_VMD_NAME, MMD_VMD_NAME);
            put_bytes(w, unused, sizeof unused);
            put_u8(w, track->ik_enabled[k * track->ik_count + i]);
        }
    }
    return true;
}

size_t mmd_vmd_size(const mmd_motion *motion)
{
    size_t counts = 6 * sizeof(uint32_t);
    size_t states = motion->properties.key_count * motion->properties.ik_count;
    return MMD_VMD_HEAD + MMD_VMD_MODEL_NAME + counts + count_bone_keys(motion) * MMD_VMD_BONE +
           count_morph_keys(motion) * MMD_VMD_MORPH + motion->camera.key_count * MMD_VMD_CAMERA +
           motion->light.key_count * MMD_VMD_LIGHT + motion->shadow.key_count * MMD_VMD_SHADOW +
           motion->properties.key_count * MMD_VMD_PROPERTY + states * MMD_VMD_IK_STATE;
}

bool mmd_vmd_write(const mmd_motion *motion, bool truncate, uint8_t *bytes, mmd_error *err)
{
    static bool (*const sections[])(writer *, const mmd_motion *) = {
        put_header, put_bones, put_morphs, put_camera, put_light, put_shadow, put_properties,
    };
    writer w = {.at = bytes, .truncate = truncate, .err = err};
    w.codes = mmd_cp932_codes(&w.arena);
    bool written = w.codes || mmd_fail_memory(err);
    for (size_t i = 0; written && i < sizeof sections / sizeof *sections; i++)
        written = sections[i](&w, motion);
    mmd_arena_free(&w.arena);
    return written;
}
