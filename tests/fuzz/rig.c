/* SPDX-License-Identifier: MIT */
/* The input is a script that writes a valid PMX file: bones with any parents, layers, appends, axes
   and IK, morphs that name one another at will, vertices of every type. No input is lost to a
   damaged file, so that all the work goes into posing and skinning. */
#include "core/model/model.h"
#include "core/model/morph.h"
#include "script.h"
#include "target.h"

#include <math.h>
#include <string.h>

static size_t take_below(script *s, size_t end)
{
    return take(s) % end;
}

/* An index into a table, seldom one that points nowhere. */
static uint8_t take_index(script *s, size_t count)
{
    uint8_t byte = take(s);
    return byte > 250 || count == 0 ? 0xFF : (uint8_t)(byte % count);
}

typedef struct writer {
    uint8_t bytes[1 << 16];
    size_t size;
} writer;

static void put(writer *w, const void *bytes, size_t size)
{
    PROMISE(w->size + size <= sizeof w->bytes);
    memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
}

static void put8(writer *w, size_t value)
{
    uint8_t byte = (uint8_t)value;
    put(w, &byte, 1);
}

static void put32(writer *w, size_t value)
{
    int32_t number = (int32_t)value;
    put(w, &number, 4);
}

static void put_float(writer *w, float value)
{
    put(w, &value, 4);
}

static void put_numbers(writer *w, script *s, size_t count)
{
    while (count--)
        put_float(w, take_number(s));
}

static void put_zeros(writer *w, size_t count)
{
    while (count--)
        put_float(w, 0);
}

/* A name, and no English one. */
static void put_names(writer *w, char letter, size_t number)
{
    char text[16];
    int size = snprintf(text, sizeof text, "%c%zu", letter, number);
    put32(w, (size_t)size);
    put(w, text, (size_t)size);
    put32(w, 0);
}

typedef struct counts {
    size_t vertices, materials, bones, morphs;
} counts;

static void put_vertex(writer *w, script *s, const counts *n)
{
    static const size_t slots[] = {1, 2, 4, 2, 4}, weights[] = {0, 1, 4, 1, 4};
    put_numbers(w, s, 6);
    put_zeros(w, 2);
    size_t type = take_below(s, 5);
    put8(w, type);
    for (size_t k = 0; k < slots[type]; k++)
        put8(w, take_index(s, n->bones));
    put_numbers(w, s, weights[type] + (type == MMD_SDEF ? 9 : 0));
    put_float(w, 1);
}

static void put_material(writer *w, script *s, size_t i)
{
    put_names(w, 'm', i);
    put_numbers(w, s, 11);
    put8(w, 0);
    put_numbers(w, s, 5);
    put(w, "\xFF\xFF\0\1\0", 5); /* no textures, a shared toon */
    put32(w, 0);
    put32(w, 0);
}

static void put_ik(writer *w, script *s, const counts *n)
{
    size_t loops = take(s);
    put8(w, take_index(s, n->bones));
    put32(w, loops == 255 ? 400 : loops % 12);
    put_float(w, fabsf(take_number(s)) * (take_below(s, 16) ? 1 : -1));
    size_t links = take_below(s, 9);
    put32(w, links);
    for (size_t k = 0; k < links; k++) {
        put8(w, take_index(s, n->bones));
        size_t limited = take_below(s, 2);
        put8(w, limited);
        put_numbers(w, s, 6 * limited);
    }
}

static void put_bone(writer *w, script *s, const counts *n, size_t i)
{
    put_names(w, 'b', i);
    put_numbers(w, s, 3);
    put8(w, take_index(s, n->bones));
    put32(w, take_below(s, 4) - 1);
    size_t flags = (size_t)take(s) << 6; /* local append, appends, axes, after physics */
    flags &= MMD_BONE_APPEND_LOCAL | MMD_BONE_APPEND_ROTATION | MMD_BONE_APPEND_TRANSLATION |
             MMD_BONE_FIXED_AXIS | MMD_BONE_LOCAL_AXES | MMD_BONE_AFTER_PHYSICS;
    flags |= take_below(s, 3) == 0 ? MMD_BONE_IK : 0;
    put8(w, flags & 0xFF);
    put8(w, flags >> 8);
    put_zeros(w, 3); /* tail */
    if (flags & (MMD_BONE_APPEND_ROTATION | MMD_BONE_APPEND_TRANSLATION)) {
        put8(w, take_index(s, n->bones));
        put_numbers(w, s, 1);
    }
    put_numbers(w, s, flags & MMD_BONE_FIXED_AXIS ? 3 : 0);
    put_numbers(w, s, flags & MMD_BONE_LOCAL_AXES ? 6 : 0);
    if (flags & MMD_BONE_IK)
        put_ik(w, s, n);
}

static void put_morph(writer *w, script *s, const counts *n, size_t i)
{
    static const mmd_morph_kind kinds[] = {MMD_MORPH_GROUP, MMD_MORPH_VERTEX,  MMD_MORPH_BONE,
                                           MMD_MORPH_UV,    MMD_MORPH_FLIP,    MMD_MORPH_BONE,
                                           MMD_MORPH_GROUP, MMD_MORPH_MATERIAL};
    const size_t targets[MMD_MORPH_KIND_COUNT] = {[MMD_MORPH_GROUP] = n->morphs,
                                                  [MMD_MORPH_FLIP] = n->morphs,
                                                  [MMD_MORPH_BONE] = n->bones,
                                                  [MMD_MORPH_MATERIAL] = n->materials};
    put_names(w, 'o', i);
    put8(w, 1);
    mmd_morph_kind kind = kinds[take_below(s, 8)];
    size_t offsets = take_below(s, 6);
    put8(w, kind);
    put32(w, offsets);
    for (size_t k = 0; k < offsets; k++) {
        bool of_vertex = kind == MMD_MORPH_VERTEX || kind == MMD_MORPH_UV;
        put8(w, of_vertex ? take_below(s, n->vertices + 1) : take_index(s, targets[kind]));
        if (kind == MMD_MORPH_MATERIAL)
            put8(w, take_below(s, 2));
        put_numbers(w, s, mmd_morph_width(kind) - (kind == MMD_MORPH_MATERIAL));
    }
}

static void put_file(writer *w, script *s)
{
    counts n = {take_below(s, 24), take_below(s, 3), take_below(s, 20), take_below(s, 12)};
    w->size = 0;
    put(w, "PMX ", 4);
    put_float(w, 2.1f);
    put8(w, 8);
    put(w, "\1\0\1\1\1\1\1\1", 8); /* UTF-8, indices of one byte */
    for (int i = 0; i < 4; i++)
        put32(w, 0);
    put32(w, n.vertices);
    for (size_t i = 0; i < n.vertices; i++)
        put_vertex(w, s, &n);
    put32(w, 0); /* triangles, textures */
    put32(w, 0);
    put32(w, n.materials);
    for (size_t i = 0; i < n.materials; i++)
        put_material(w, s, i);
    put32(w, n.bones);
    for (size_t i = 0; i < n.bones; i++)
        put_bone(w, s, &n, i);
    put32(w, n.morphs);
    for (size_t i = 0; i < n.morphs; i++)
        put_morph(w, s, &n, i);
    for (int i = 0; i < 4; i++) /* display frames, bodies, joints, soft bodies */
        put32(w, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static writer w;
    script s = {data, size, 0};
    chance c = chance_of(data, size);
    put_file(&w, &s);
    mmd_model *model = mmd_model_load(w.bytes, w.size, NULL);
    PROMISE(model);
    exercise_model(model, &c);
    mmd_model_free(model);
    return 0;
}
