/* SPDX-License-Identifier: MIT */
#include "pmx_sample.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <uchar.h>

typedef struct writer {
    pmx_sample *sample;
    size_t room;
} writer;

static void put_bytes(writer *w, const void *bytes, size_t size)
{
    pmx_sample *sample = w->sample;
    while (sample->size + size > w->room) {
        w->room = w->room ? 2 * w->room : 4096;
        sample->data = realloc(sample->data, w->room);
        if (!sample->data)
            abort();
    }
    memcpy(sample->data + sample->size, bytes, size);
    sample->size += size;
}

static void put(writer *w, size_t size, int64_t value)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)((uint64_t)value >> 8 * i);
    put_bytes(w, bytes, size);
}

static void put_index(writer *w, int kind, int64_t value)
{
    put(w, w->sample->layout.index_sizes[kind], value);
}

static void put_float(writer *w, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(w, 4, bits);
}

static void put_floats(writer *w, size_t count, float (*number)(size_t, size_t), size_t record,
                       size_t first)
{
    for (size_t i = 0; i < count; i++)
        put_float(w, number(record, first + i));
}

static void mark(writer *w, pmx_mark which)
{
    w->sample->marks[which] = w->sample->size;
}

static void put_text(writer *w, const char16_t *utf16, size_t units, const char *utf8, size_t size)
{
    if (w->sample->layout.encoding == MMD_UTF8) {
        put(w, 4, (int64_t)size);
        put_bytes(w, utf8, size);
        return;
    }
    put(w, 4, (int64_t)(2 * units));
    for (size_t i = 0; i < units; i++)
        put(w, 2, utf16[i]);
}

#define PUT_TEXT(w, text)                                                                          \
    put_text(w, u##text, sizeof(u##text) / 2 - 1, u8##text, sizeof(u8##text) - 1)

float vertex_number(size_t record, size_t field)
{
    return (float)record + (float)field / 64;
}

float record_number(size_t record, size_t field)
{
    return (float)(100 * record + field) / 8;
}

static void put_header(writer *w)
{
    const pmx_layout *layout = &w->sample->layout;
    put_bytes(w, "PMX ", 4);
    mark(w, MARK_VERSION);
    put_float(w, layout->version);
    mark(w, MARK_SETTING_COUNT);
    put(w, 1, 8);
    put(w, 1, layout->encoding);
    put(w, 1, layout->uv_sets);
    put_bytes(w, layout->index_sizes, 6);
    mark(w, MARK_NAME);
    PUT_TEXT(w, "見本");
    PUT_TEXT(w, "sample");
    PUT_TEXT(w, "一行\r\n二行");
    PUT_TEXT(w, "");
}

static void put_vertex(writer *w, size_t v)
{
    static const uint8_t types[] = {MMD_BDEF1, MMD_BDEF2, MMD_BDEF4, MMD_SDEF, MMD_QDEF, MMD_BDEF2};
    static const int8_t bones[][4] = {{3}, {0, 1}, {0, 1, 2, 3}, {1, 2}, {3, 2, 1, 0}, {2, -1}};
    uint8_t type = v < 6 ? types[v] : MMD_BDEF1;
    size_t count = type == MMD_BDEF1 ? 1 : type == MMD_BDEF2 || type == MMD_SDEF ? 2 : 4;
    put_floats(w, 8 + 4u * w->sample->layout.uv_sets, vertex_number, v, 0);
    if (v == 0)
        mark(w, MARK_DEFORM);
    put(w, 1, type);
    for (size_t i = 0; i < count; i++)
        put_index(w, INDEX_BONE, v < 6 ? bones[v][i] : (int64_t)(v / 8 % 4));
    if (v == 2)
        mark(w, MARK_BDEF4_WEIGHTS);
    for (size_t i = 0; count == 4 && i < 4; i++)
        put_float(w, (float)(4 - i) / 8);
    if (count == 2)
        put_float(w, 0.75f);
    if (v == 3)
        mark(w, MARK_SDEF);
    if (type == MMD_SDEF)
        put_floats(w, 9, record_number, 1, 0);
    put_float(w, vertex_number(v, 60));
}

static void put_geometry(writer *w)
{
    static const uint8_t corners[] = {0, 1, 2, 2, 3, 4, 3, 4, 5};
    size_t count = 6 + w->sample->layout.extra_vertices;
    mark(w, MARK_VERTEX_COUNT);
    put(w, 4, (int64_t)count);
    for (size_t v = 0; v < count; v++)
        put_vertex(w, v);
    mark(w, MARK_FACE_COUNT);
    put(w, 4, sizeof corners);
    for (size_t i = 0; i < sizeof corners; i++)
        put_index(w, INDEX_VERTEX, corners[i]);
}

static void put_materials(writer *w)
{
    mark(w, MARK_TEXTURE_COUNT);
    put(w, 4, 2);
    PUT_TEXT(w, "tex\\body.png");
    PUT_TEXT(w, "表情.bmp");
    mark(w, MARK_MATERIAL_COUNT);
    put(w, 4, 2);
    for (size_t m = 0; m < 2; m++) {
        PUT_TEXT(w, "材質");
        PUT_TEXT(w, "material");
        put_floats(w, 11, record_number, m, 0);
        put(w, 1, m ? 0x0E : 0x11);
        put_floats(w, 5, record_number, m, 11);
        if (m == 0)
            mark(w, MARK_TEXTURE_INDEX);
        put_index(w, INDEX_TEXTURE, m ? -1 : 1);
        put_index(w, INDEX_TEXTURE, m ? 0 : -1);
        put(w, 1, m ? 2 : 0);
        put(w, 1, m == 0);
        put(w, m ? w->sample->layout.index_sizes[INDEX_TEXTURE] : 1, m ? 1 : 7);
        PUT_TEXT(w, "メモ");
        if (m == 0)
            mark(w, MARK_INDEX_COUNT);
        put(w, 4, m ? 3 : 6);
    }
}

static void put_bone_start(writer *w, size_t bone, int parent, int layer, int flags)
{
    PUT_TEXT(w, "ボーン");
    PUT_TEXT(w, "bone");
    put_floats(w, 3, record_number, bone, 0);
    if (bone == 1)
        mark(w, MARK_PARENT);
    put_index(w, INDEX_BONE, parent);
    put(w, 4, layer);
    mark(w, MARK_BONE_FLAGS);
    put(w, 2, flags);
}

static void put_bones(writer *w)
{
    mark(w, MARK_BONE_COUNT);
    put(w, 4, 4);
    put_bone_start(w, 0, -1, 0, 0x001E);
    put_floats(w, 3, record_number, 0, 3);
    put_bone_start(w, 1, 0, -1, 0x001B);
    put_index(w, INDEX_BONE, 2);
    put_bone_start(w, 2, 1, 2, 0x3D80);
    put_floats(w, 3, record_number, 2, 3);
    put_index(w, INDEX_BONE, 1);
    put_float(w, -0.5f);
    put_floats(w, 3 + 6, record_number, 2, 6);
    put(w, 4, -77);
    put_bone_start(w, 3, 0, 0, 0x0220);
    put_floats(w, 3, record_number, 3, 3);
    put_index(w, INDEX_BONE, 0);
    put_float(w, 2);
    mark(w, MARK_IK_TARGET);
    put_index(w, INDEX_BONE, 2);
    put(w, 4, 40);
    put_float(w, 0.5f);
    mark(w, MARK_LINK_COUNT);
    put(w, 4, 2);
    put_index(w, INDEX_BONE, 1);
    put(w, 1, 1);
    for (int i = 0; i < 6; i++) /* lower 3, -2, 1 and upper 1, 2, 3: x is inverted */
        put_float(w, (float[]){3, -2, 1, 1, 2, 3}[i]);
    put_index(w, INDEX_BONE, 0);
    put(w, 1, 0);
}

static void put_morph_start(writer *w, size_t kind, int count)
{
    PUT_TEXT(w, "あ");
    PUT_TEXT(w, "a");
    put(w, 1, (int64_t)(kind % 5));
    if (kind == MMD_MORPH_VERTEX)
        mark(w, MARK_MORPH_KIND);
    put(w, 1, (int64_t)kind);
    put(w, 4, count);
}

/* Morph k is of kind k. */
static void put_morphs(writer *w)
{
    mark(w, MARK_MORPH_COUNT);
    put(w, 4, MMD_MORPH_KIND_COUNT);
    put_morph_start(w, MMD_MORPH_GROUP, 2);
    for (int i = 0; i < 2; i++) {
        put_index(w, INDEX_MORPH, 1 + i);
        put_float(w, 0.5f);
    }
    put_morph_start(w, MMD_MORPH_VERTEX, 2);
    for (size_t i = 0; i < 2; i++) {
        put_index(w, INDEX_VERTEX, 5 - (int)i);
        put_floats(w, 3, record_number, i, 0);
    }
    put_morph_start(w, MMD_MORPH_BONE, 1);
    mark(w, MARK_BONE_MORPH);
    put_index(w, INDEX_BONE, 2);
    put_floats(w, 7, record_number, 0, 1);
    for (size_t set = 0; set < 5; set++) {
        put_morph_start(w, MMD_MORPH_UV + set, 1);
        put_index(w, INDEX_VERTEX, 3);
        put_floats(w, 4, record_number, set, 0);
    }
    put_morph_start(w, MMD_MORPH_MATERIAL, 2);
    for (size_t i = 0; i < 2; i++) {
        put_index(w, INDEX_MATERIAL, i ? 1 : -1);
        put(w, 1, (int64_t)i);
        put_floats(w, 28, record_number, i, 0);
    }
    put_morph_start(w, MMD_MORPH_FLIP, 1);
    put_index(w, INDEX_MORPH, 1);
    put_float(w, 0.25f);
    put_morph_start(w, MMD_MORPH_IMPULSE, 1);
    put_index(w, INDEX_BODY, 1);
    put(w, 1, 1);
    put_floats(w, 6, record_number, 0, 0);
}

static void put_display_frames(writer *w)
{
    mark(w, MARK_FRAME_COUNT);
    put(w, 4, 2);
    PUT_TEXT(w, "Root");
    PUT_TEXT(w, "Root");
    put(w, 1, 1);
    put(w, 4, 0);
    PUT_TEXT(w, "表情");
    PUT_TEXT(w, "Exp");
    put(w, 1, 0);
    mark(w, MARK_ELEMENT_COUNT);
    put(w, 4, 2);
    put(w, 1, 0);
    put_index(w, INDEX_BONE, 3);
    put(w, 1, 1);
    put_index(w, INDEX_MORPH, 10);
}

static void put_bodies(writer *w)
{
    mark(w, MARK_BODY_COUNT);
    put(w, 4, 2);
    for (size_t i = 0; i < 2; i++) {
        PUT_TEXT(w, "剛体");
        PUT_TEXT(w, "body");
        if (i == 0)
            mark(w, MARK_BODY_BONE);
        put_index(w, INDEX_BONE, i ? -1 : 2);
        put(w, 1, i ? 15 : 3);
        put(w, 2, 0xFFF0);
        if (i == 0)
            mark(w, MARK_BODY_SHAPE);
        put(w, 1, i ? 2 : 1);
        put_floats(w, 14, record_number, i, 0);
        if (i == 0)
            mark(w, MARK_BODY_MODE);
        put(w, 1, i ? 1 : 2);
    }
    mark(w, MARK_JOINT_COUNT);
    put(w, 4, 1);
    PUT_TEXT(w, "継手");
    PUT_TEXT(w, "joint");
    mark(w, MARK_JOINT_KIND);
    put(w, 1, 0);
    put_index(w, INDEX_BODY, 0);
    put_index(w, INDEX_BODY, 1);
    put_floats(w, 24, record_number, 3, 0);
}

static void put_soft_body(writer *w)
{
    mark(w, MARK_SOFT_BODY_COUNT);
    put(w, 4, 1);
    PUT_TEXT(w, "布");
    PUT_TEXT(w, "cloth");
    put(w, 1, 0);
    put_index(w, INDEX_MATERIAL, 1);
    put(w, 1, 2);
    put(w, 2, 0xFF);
    put(w, 1, 1);
    put(w, 4, 2);
    put(w, 4, 3);
    put_floats(w, 2, record_number, 0, 0);
    put(w, 4, 0);
    put_floats(w, 12 + 6, record_number, 0, 0);
    for (int i = 0; i < 4; i++)
        put(w, 4, 1);
    put_floats(w, 3, record_number, 0, 0);
    mark(w, MARK_ANCHOR_COUNT);
    put(w, 4, 1);
    put_index(w, INDEX_BODY, 1);
    put_index(w, INDEX_VERTEX, 2);
    put(w, 1, 0);
    mark(w, MARK_PIN_COUNT);
    put(w, 4, 2);
    put_index(w, INDEX_VERTEX, 3);
    put_index(w, INDEX_VERTEX, 4);
}

pmx_layout pmx_sample_layout(void)
{
    return (pmx_layout){.version = 2.1f,
                        .encoding = MMD_UTF16LE,
                        .uv_sets = 1,
                        .index_sizes = {1, 1, 1, 1, 1, 1},
                        .soft_body = true};
}

pmx_sample pmx_sample_new(pmx_layout layout)
{
    pmx_sample sample = {.layout = layout};
    writer w = {.sample = &sample};
    put_header(&w);
    put_geometry(&w);
    put_materials(&w);
    put_bones(&w);
    put_morphs(&w);
    put_display_frames(&w);
    put_bodies(&w);
    if (layout.soft_body)
        put_soft_body(&w);
    uint8_t *exact = test_exact(sample.data, sample.size);
    free(sample.data);
    sample.data = exact;
    return sample;
}

void pmx_sample_free(pmx_sample *sample)
{
    free(sample->data);
    *sample = (pmx_sample){0};
}

void pmx_sample_put(pmx_sample *sample, size_t offset, size_t size, int64_t value)
{
    for (size_t i = 0; i < size; i++)
        sample->data[offset + i] = (uint8_t)((uint64_t)value >> 8 * i);
}

void pmx_sample_put_float(pmx_sample *sample, size_t offset, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    pmx_sample_put(sample, offset, 4, bits);
}
