/* SPDX-License-Identifier: MIT */
/* Writes VMD: all sections, keys track by track, so that reading it back gives an equal motion. */
#include "core/base/error.h"
#include "core/base/string_table.h"
#include "core/base/text.h"
#include "core/formats/formats.h"
#include "core/formats/reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct writer {
    uint8_t *at;
    mmd_arena arena;          /* freed after writing */
    const uint16_t *encoding; /* cp932 */
    bool cut_names;
    mmd_error *err;
} writer;

static void write_u8(writer *w, uint8_t value)
{
    *w->at++ = value;
}

static void write_u32(writer *w, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        write_u8(w, (uint8_t)(value >> 8 * i));
}

static void write_f32s(writer *w, const float *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        write_u32(w, bits);
    }
}

static void write_bytes(writer *w, const void *bytes, size_t size)
{
    memcpy(w->at, bytes, size);
    w->at += size;
}

/* Fills a field with the name, padded with zeros. */
static bool encode_name(const writer *w, mmd_text name, const char *where, uint8_t *field)
{
    mmd_motion_names_fault fault;
    return mmd_motion_names_encode(w->encoding, name, MMD_VMD_NAME, field, &fault) ||
           w->cut_names ||
           mmd_refuse(w->err, "%s: \"%.*s\" %s", where, mmd_text_fit(name, 120), name.data,
                      fault.text);
}

/* The fields of names that are `stride` bytes apart. NULL if two of them are equal, possibly
   because they were cut, or on any other failure. */
static const uint8_t *encode_names(writer *w, const char *kind, const mmd_text *first,
                                   size_t stride, size_t count)
{
    mmd_string_table table = {0};
    uint8_t *fields = mmd_arena_alloc(&w->arena, count, MMD_VMD_NAME);
    bool ok = fields || mmd_fail_memory(w->err);
    for (size_t i = 0; ok && i < count; i++) {
        char where[48];
        uint32_t index;
        uint8_t *field = fields + i * MMD_VMD_NAME;
        const mmd_text *name = (const mmd_text *)(const void *)((const char *)first + i * stride);
        snprintf(where, sizeof where, "%s[%zu]", kind, i);
        ok = encode_name(w, *name, where, field);
        if (ok && !mmd_string_table_add(&w->arena, &table, field, MMD_VMD_NAME, &index))
            ok = mmd_fail_memory(w->err);
        else if (ok && index != i)
            ok = mmd_refuse(
                w->err, "%s: \"%.*s\" and the name of %s[%u] have the same first %d bytes", where,
                mmd_text_fit(*name, 120), name->data, kind, (unsigned)index, MMD_VMD_NAME);
    }
    return ok ? fields : NULL;
}

/* Readers accept no more than this. */
static bool write_count(writer *w, const char *what, size_t count)
{
    if (count > MMD_MAX_RECORDS)
        return mmd_refuse(w->err, "%s: %zu keys, limit %d", what, count, MMD_MAX_RECORDS);
    write_u32(w, (uint32_t)count);
    return true;
}

static bool write_header(writer *w, const mmd_motion *motion)
{
    uint8_t header[MMD_VMD_HEAD] = "Vocaloid Motion Data 0002";
    mmd_motion_names_fault
        ignored; /* MMD only asks whether a motion of another model shall be loaded */
    write_bytes(w, header, sizeof header);
    mmd_motion_names_encode(w->encoding, motion->name, MMD_VMD_MODEL_NAME, w->at, &ignored);
    w->at += MMD_VMD_MODEL_NAME;
    return true;
}

/* Four rows of the same sixteen numbers, each shifted by one more, padded with zeros: channel c
   begins row c. Two numbers of row 0 are replaced by the physics flag. */
static void write_curves(writer *w, const uint8_t curves[16], bool physics)
{
    for (int row = 0; row < 4; row++)
        for (int i = row; i < 16 + row; i++) {
            if (row == 0 && (i == 2 || i == 3))
                write_u8(w, physics ? 0 : mmd_vmd_physics_off[i - 2]);
            else
                write_u8(w, i < 16 ? curves[4 * (i % 4) + i / 4] : 0);
        }
}

void mmd_vmd_encode(const float rotation[4], const uint8_t curves[16], bool physics,
                    uint8_t stored[MMD_STORED_SIZE])
{
    writer w = {.at = stored};
    write_f32s(&w, rotation, 4);
    write_curves(&w, curves, physics);
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

static void write_stored(writer *w, const mmd_bone_track *track, size_t k)
{
    if (track->stored)
        memcpy(w->at, track->stored + MMD_STORED_SIZE * k, MMD_STORED_SIZE);
    else
        mmd_vmd_encode(track->rotations + 4 * k, track->interpolation + 16 * k, track->physics[k],
                       w->at);
    w->at += MMD_STORED_SIZE;
}

static bool write_bones(writer *w, const mmd_motion *motion)
{
    const mmd_bone_track *tracks = motion->bone_tracks;
    const uint8_t *names = encode_names(w, "bones", tracks ? &tracks->name : NULL, sizeof *tracks,
                                        motion->bone_track_count);
    if (!names || !write_count(w, "bones", count_bone_keys(motion)))
        return false;
    for (size_t t = 0; t < motion->bone_track_count; t++)
        for (size_t k = 0; k < tracks[t].key_count; k++) {
            write_bytes(w, names + t * MMD_VMD_NAME, MMD_VMD_NAME);
            write_u32(w, tracks[t].frames[k]);
            write_f32s(w, tracks[t].translations + 3 * k, 3);
            write_stored(w, &tracks[t], k);
        }
    return true;
}

static bool write_morphs(writer *w, const mmd_motion *motion)
{
    const mmd_morph_track *tracks = motion->morph_tracks;
    const uint8_t *names = encode_names(w, "morphs", tracks ? &tracks->name : NULL, sizeof *tracks,
                                        motion->morph_track_count);
    if (!names || !write_count(w, "morphs", count_morph_keys(motion)))
        return false;
    for (size_t t = 0; t < motion->morph_track_count; t++)
        for (size_t k = 0; k < tracks[t].key_count; k++) {
            write_bytes(w, names + t * MMD_VMD_NAME, MMD_VMD_NAME);
            write_u32(w, tracks[t].frames[k]);
            write_f32s(w, &tracks[t].weights[k], 1);
        }
    return true;
}

/* Whole degrees. UINT32_MAX is no float: a reader makes it 2^32. */
static bool write_view_angle(writer *w, double degrees, size_t key)
{
    static const double limit = 4294967296.0;
    if (!(degrees >= 0 && degrees <= limit && degrees == floor(degrees)))
        return mmd_refuse(w->err, "camera: key %zu: view angle %g, but a VMD stores whole degrees",
                          key, degrees);
    write_u32(w, degrees == limit ? UINT32_MAX : (uint32_t)degrees);
    return true;
}

static bool write_camera(writer *w, const mmd_motion *motion)
{
    const mmd_camera_track *track = &motion->camera;
    bool ok = write_count(w, "camera", track->key_count);
    for (size_t k = 0; ok && k < track->key_count; k++) {
        const uint8_t *curve = track->interpolation + 24 * k;
        write_u32(w, track->frames[k]);
        write_f32s(w, &track->distances[k], 1);
        write_f32s(w, track->targets + 3 * k, 3);
        write_f32s(w, track->rotations + 3 * k, 3);
        for (int i = 0; i < 6; i++, curve += 4)
            write_bytes(w, (uint8_t[4]){curve[0], curve[2], curve[1], curve[3]},
                        4); /* x1 x2 y1 y2 */
        ok = write_view_angle(w, (double)track->view_angles[k], k);
        if (ok)
            write_u8(w, !track->perspective[k]);
    }
    return ok;
}

static bool write_light(writer *w, const mmd_motion *motion)
{
    const mmd_light_track *track = &motion->light;
    if (!write_count(w, "light", track->key_count))
        return false;
    for (size_t k = 0; k < track->key_count; k++) {
        write_u32(w, track->frames[k]);
        write_f32s(w, track->colors + 3 * k, 3);
        write_f32s(w, track->directions + 3 * k, 3);
    }
    return true;
}

static bool write_shadow(writer *w, const mmd_motion *motion)
{
    const mmd_shadow_track *track = &motion->shadow;
    if (!write_count(w, "shadow", track->key_count))
        return false;
    for (size_t k = 0; k < track->key_count; k++) {
        write_u32(w, track->frames[k]);
        write_u8(w, track->modes[k]);
        write_f32s(w, &track->distances[k], 1);
    }
    return true;
}

static bool write_properties(writer *w, const mmd_motion *motion)
{
    const mmd_property_track *track = &motion->properties;
    const uint8_t *names = encode_names(w, "properties.ik_names", track->ik_names,
                                        sizeof *track->ik_names, track->ik_count);
    if (!names || !write_count(w, "properties", track->key_count))
        return false;
    if (track->ik_count && track->key_count > MMD_MAX_RECORDS / track->ik_count)
        return mmd_refuse(w->err, "properties: %zu keys of %zu IK names, limit %d states",
                          track->key_count, track->ik_count, MMD_MAX_RECORDS);
    for (size_t k = 0; k < track->key_count; k++) {
        write_u32(w, track->frames[k]);
        write_u8(w, track->visible[k]);
        write_u32(w, (uint32_t)track->ik_count);
        for (size_t i = 0; i < track->ik_count; i++) {
            static const uint8_t unused[MMD_VMD_IK_NAME - MMD_VMD_NAME];
            write_bytes(w, names + i * MMD_VMD_NAME, MMD_VMD_NAME);
            write_bytes(w, unused, sizeof unused);
            write_u8(w, track->ik_enabled[k * track->ik_count + i]);
        }
    }
    return true;
}

size_t mmd_vmd_size(const mmd_motion *motion)
{
    if (!motion)
        return 0;
    size_t counts = 6 * sizeof(uint32_t);
    size_t states = motion->properties.key_count * motion->properties.ik_count;
    return MMD_VMD_HEAD + MMD_VMD_MODEL_NAME + counts + count_bone_keys(motion) * MMD_VMD_BONE +
           count_morph_keys(motion) * MMD_VMD_MORPH + motion->camera.key_count * MMD_VMD_CAMERA +
           motion->light.key_count * MMD_VMD_LIGHT + motion->shadow.key_count * MMD_VMD_SHADOW +
           motion->properties.key_count * MMD_VMD_PROPERTY + states * MMD_VMD_IK_STATE;
}

bool mmd_vmd_write(const mmd_motion *motion, bool cut_names, uint8_t *bytes, mmd_error *err)
{
    static bool (*const sections[])(writer *, const mmd_motion *) = {
        write_header, write_bones,  write_morphs,     write_camera,
        write_light,  write_shadow, write_properties,
    };
    if (!mmd_error_require(motion, "motion", err) || !mmd_error_require(bytes, "bytes", err))
        return false;
    writer w = {.at = bytes, .cut_names = cut_names, .err = err};
    w.encoding = mmd_text_cp932_table(&w.arena);
    bool written = w.encoding || mmd_fail_memory(err);
    for (size_t i = 0; written && i < sizeof sections / sizeof *sections; i++)
        written = sections[i](&w, motion);
    mmd_arena_free(&w.arena);
    return written;
}
