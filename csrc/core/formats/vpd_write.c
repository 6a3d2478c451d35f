/* SPDX-License-Identifier: MIT */
/* Writes VPD as MMD does: docs/mmd-behavior.md#vpd. */
#include "core/base/error.h"
#include "core/base/string_table.h"
#include "core/formats/formats.h"
#include "core/formats/track.h"

#include "core/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* cp932 for the comments that MMD writes: the name of the parent file, the number of bones. */
#define PARENT_FILE "\x90\x65\x83\x74\x83\x40\x83\x43\x83\x8B\x96\xBC"
#define BONE_COUNT "\x91\x8D\x83\x7C\x81\x5B\x83\x59\x83\x7B\x81\x5B\x83\x93\x90\x94"
#define NEW_LINE "\r\n"

enum {
    DECIMALS = 1000000,
    NUMBER_SIZE = 48, /* -3.4e38 has 39 digits before its point */
    BLOCK_SIZE = 160 + 7 * NUMBER_SIZE,
    HEADER_SIZE = 256
};

typedef struct writer {
    mmd_arena *arena;
    mmd_string_table bones, morphs; /* names so far */
    uint8_t *at, *end;
    const uint16_t *encoding; /* cp932 */
    bool cut_names;
    mmd_error *err;
} writer;

static void write_text(writer *w, const char *text)
{
    size_t size = strlen(text);
    memcpy(w->at, text, size);
    w->at += size;
}

static void write_index(writer *w, const char *kind, size_t index)
{
    w->at += snprintf((char *)w->at, (size_t)(w->end - w->at), "%s%zu{", kind, index);
}

/* A copy of a text. */
static char *copy_text(writer *w, mmd_text text)
{
    char *copy = mmd_arena_alloc(w->arena, text.size + 1, 1);
    if (!copy)
        mmd_fail_memory(w->err);
    else if (text.size)
        memcpy(copy, text.data, text.size);
    return copy;
}

static void encode_text(writer *w, mmd_text text)
{
    uint32_t missing;
    w->at += mmd_text_encode_cp932(w->encoding, text, w->at, (size_t)(w->end - w->at), &missing);
}

/* Cut names may become equal; then a reader would lose one. */
static bool check_unique(writer *w, mmd_string_table *names, const uint8_t *name, const char *kind,
                         size_t index)
{
    uint32_t first;
    if (!mmd_string_table_add(w->arena, names, name, (size_t)(w->at - name), &first))
        return mmd_fail_memory(w->err);
    return first == index || mmd_refuse(w->err, "%s[%zu] and %s[%u] have the same name in the file",
                                        kind, index, kind, (unsigned)first);
}

static bool write_name(writer *w, mmd_string_table *names, const char *kind, size_t index,
                       mmd_text name)
{
    mmd_motion_names_fault fault;
    if (!mmd_motion_names_fits(w->encoding, name, MMD_NAME_ANY_SIZE, &fault)) {
        if (!w->cut_names)
            return mmd_refuse(w->err, "%s[%zu]: \"%.*s\" %s", kind, index, mmd_text_fit(name, 120),
                              name.data, fault.text);
        char *copy = copy_text(w, name);
        if (!copy)
            return false;
        name.data = copy;
        for (const char *found; (found = mmd_motion_names_find_syntax(name));)
            copy[found - copy] = '?';
    }
    uint8_t *start = w->at;
    encode_text(w, name);
    if (!check_unique(w, names, start, kind, index))
        return false;
    write_text(w, NEW_LINE);
    return true;
}

/* A number as printf's %.6f writes it, but in every locale: the millionths of a float are exact in
   double. */
static void write_number(writer *w, float value)
{
    double whole, part = modf(fabs((double)value), &whole);
    long millionths = lrint(part * DECIMALS);
    if (millionths == DECIMALS)
        whole += 1, millionths = 0;
    w->at += snprintf((char *)w->at, NUMBER_SIZE, "%s%.0f.%06ld", signbit(value) ? "-" : "", whole,
                      millionths);
}

/* The rotation that a reader makes of millionths. */
static void read_back(const long millionths[4], const float signs[4], float rotation[4])
{
    for (int i = 0; i < 4; i++)
        rotation[i] = copysignf((float)((double)millionths[i] / DECIMALS), signs[i]);
    mmd_track_sanitize_rotation(rotation);
}

/* The millionths of a unit quaternion. A reader normalizes them, which moves some that have been
   read from a file by one: of the 81 around, those are taken that give the same rotation. */
static void round_rotation(const float rotation[4], long millionths[4])
{
    long nearest[4];
    for (int i = 0; i < 4; i++)
        millionths[i] = nearest[i] = lrint(fabs((double)rotation[i]) * DECIMALS);
    for (int n = 0; n < 81; n++) {
        static const int step[3] = {0, 1, -1};
        static const int place[4] = {1, 3, 9, 27};
        long near[4];
        float again[4];
        bool valid = true;
        for (int i = 0; i < 4; i++) {
            near[i] = nearest[i] + step[n / place[i] % 3];
            valid = valid && near[i] >= 0;
        }
        read_back(near, rotation, again);
        if (valid && memcmp(again, rotation, sizeof again) == 0) {
            memcpy(millionths, near, sizeof near);
            return;
        }
    }
}

static bool write_bone(writer *w, size_t index, const mmd_bone_track *track)
{
    long millionths[4];
    write_index(w, "Bone", index);
    if (!write_name(w, &w->bones, "bones", index, track->name))
        return false;
    for (int i = 0; i < 3; i++) {
        write_text(w, i ? "," : "  ");
        write_number(w, track->translations[i]);
    }
    write_text(w, ";\t\t\t\t// trans x,y,z" NEW_LINE);
    round_rotation(track->rotations, millionths);
    for (int i = 0; i < 4; i++)
        w->at += snprintf((char *)w->at, NUMBER_SIZE, "%s%s%ld.%06ld", i ? "," : "  ",
                          signbit(track->rotations[i]) ? "-" : "", millionths[i] / DECIMALS,
                          millionths[i] % DECIMALS);
    write_text(w, ";\t\t// Quaternion x,y,z,w" NEW_LINE "}" NEW_LINE NEW_LINE);
    return true;
}

static bool write_morph(writer *w, size_t index, const mmd_morph_track *track)
{
    write_index(w, "Morph", index);
    if (!write_name(w, &w->morphs, "morphs", index, track->name))
        return false;
    write_text(w, "  ");
    write_number(w, track->weights[0]);
    write_text(w, ";\t\t\t\t// weight" NEW_LINE "}" NEW_LINE NEW_LINE);
    return true;
}

/* The name of the file ends at a semicolon, line end or comment, begins after blanks, and has no
   block. */
static bool write_header(writer *w, const mmd_motion *pose)
{
    write_text(w, "Vocaloid Pose Data file" NEW_LINE NEW_LINE);
    char *name = copy_text(w, pose->name);
    if (!name)
        return false;
    if (*name == ' ' || *name == '\t')
        *name = '_';
    for (char *c = name; *c; c++)
        if (strchr(";{\r\n", *c) || (c[0] == '/' && c[1] == '/'))
            *c = '_';
    encode_text(w, (mmd_text){name, pose->name.size});
    write_text(w, ".osm;\t\t// " PARENT_FILE NEW_LINE);
    w->at += snprintf((char *)w->at, NUMBER_SIZE, "%zu;\t\t\t\t// ", pose->bone_track_count);
    write_text(w, BONE_COUNT NEW_LINE NEW_LINE);
    return true;
}

static size_t size_limit(const mmd_motion *pose)
{
    size_t size = HEADER_SIZE + 2 * pose->name.size;
    for (size_t i = 0; i < pose->bone_track_count; i++)
        size += BLOCK_SIZE + pose->bone_tracks[i].name.size;
    for (size_t i = 0; i < pose->morph_track_count; i++)
        size += BLOCK_SIZE + pose->morph_tracks[i].name.size;
    return size;
}

const uint8_t *mmd_vpd_write(mmd_arena *arena, const mmd_motion *pose, bool cut_names, size_t *size,
                             mmd_error *err)
{
    size_t limit = size_limit(pose);
    uint8_t *bytes = mmd_arena_alloc_uninitialized(arena, limit, 1);
    writer w = {
        .arena = arena, .at = bytes, .end = bytes + limit, .cut_names = cut_names, .err = err};
    w.encoding = bytes ? mmd_text_cp932_table(arena) : NULL;
    if (!w.encoding) {
        mmd_fail_memory(err);
        return NULL;
    }
    bool written = write_header(&w, pose);
    for (size_t i = 0; written && i < pose->bone_track_count; i++)
        written = write_bone(&w, i, &pose->bone_tracks[i]);
    for (size_t i = 0; written && i < pose->morph_track_count; i++)
        written = write_morph(&w, i, &pose->morph_tracks[i]);
    *size = (size_t)(w.at - bytes);
    return written ? bytes : NULL;
}
