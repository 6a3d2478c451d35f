/* SPDX-License-Identifier: MIT */
/* Writes PMX 2.0 and 2.1, in the order of docs/mmd-behavior.md#pmx. The same functions measure the
   file and write it. */
#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/formats/formats.h"
#include "core/model/model.h"
#include "core/model/morph.h"

#include <string.h>

typedef struct writer {
    uint8_t *at; /* NULL: only measure */
    size_t size;
    bool utf8;
    uint8_t index_sizes[MMD_INDEX_COUNT];
} writer;

static void write_bytes(writer *w, const void *bytes, size_t size)
{
    if (w->at && size)
        memcpy(w->at + w->size, bytes, size);
    w->size += size;
}

/* Where to put the next bytes; NULL if they are only measured. */
static inline uint8_t *next_bytes(const writer *w)
{
    return w->at ? w->at + w->size : NULL;
}

static inline uint8_t *put_index(uint8_t *at, int32_t index, size_t size)
{
    uint32_t value = (uint32_t)index;
    return size == 1   ? mmd_bytes_put(at, value, 1)
           : size == 2 ? mmd_bytes_put(at, value, 2)
                       : mmd_bytes_put(at, value, 4);
}

static void write_number(writer *w, uint32_t value, size_t size)
{
    uint8_t *at = next_bytes(w);
    if (at)
        mmd_bytes_put(at, value, size);
    w->size += size;
}

static void write_u8(writer *w, uint8_t value)
{
    write_number(w, value, 1);
}

static void write_count(writer *w, size_t count)
{
    write_number(w, (uint32_t)count, 4);
}

static void write_f32s(writer *w, const float *numbers, size_t count)
{
    uint8_t *at = next_bytes(w);
    if (at)
        mmd_bytes_put_f32s(at, numbers, count);
    w->size += 4 * count;
}

static void write_index(writer *w, mmd_index_kind kind, int32_t index)
{
    write_number(w, (uint32_t)index, w->index_sizes[kind]);
}

static void write_utf16(writer *w, mmd_text text)
{
    for (size_t at = 0; at < text.size;) {
        uint32_t character = mmd_text_next_utf8((const uint8_t *)text.data, text.size, &at);
        if (character >= 0x10000) {
            write_number(w, 0xD7C0 + (character >> 10), 2);
            character = 0xDC00 | (character & 0x3FF);
        }
        write_number(w, character, 2);
    }
}

/* The bytes of a text and, before them, their number. */
static void write_text(writer *w, mmd_text text)
{
    if (w->utf8) {
        write_count(w, text.size);
        write_bytes(w, text.data, text.size);
        return;
    }
    writer measured = {0};
    write_utf16(&measured, text);
    write_count(w, measured.size);
    write_utf16(w, text);
}

/* PMX does not know the version of PMD. */
static float version_of(const mmd_model *model)
{
    return model->version < 1.5f ? 2.0f : model->version;
}

static void write_header(writer *w, const mmd_model *model)
{
    float version = version_of(model);
    write_bytes(w, "PMX ", 4);
    write_f32s(w, &version, 1);
    write_u8(w, 2 + MMD_INDEX_COUNT);
    write_u8(w, w->utf8);
    write_u8(w, (uint8_t)model->additional_uv_count);
    write_bytes(w, w->index_sizes, MMD_INDEX_COUNT);
    write_text(w, model->name);
    write_text(w, model->name_english);
    write_text(w, model->comment);
    write_text(w, model->comment_english);
}

/* On a copy of the writer, which stays in registers: bytes that are written might be its own. */
static void write_vertices(writer *to, const mmd_model *model)
{
    size_t sets = model->additional_uv_count, index_size = to->index_sizes[MMD_INDEX_BONE];
    write_count(to, model->vertex_count);
    writer w = *to;
    for (size_t v = 0; v < model->vertex_count; v++) {
        uint8_t type = model->deform[v], *at = next_bytes(&w);
        const mmd_model_deform_layout *has = &mmd_model_deform_layouts[type];
        if (at) {
            at = mmd_bytes_put_f32s(at, model->positions + 3 * v, 3);
            at = mmd_bytes_put_f32s(at, model->normals + 3 * v, 3);
            at = mmd_bytes_put_f32s(at, model->uvs + 2 * v, 2);
            at = mmd_bytes_put_f32s(at, model->additional_uvs + 4 * sets * v, 4 * sets);
            *at++ = type;
            for (size_t i = 0; i < has->bones; i++)
                at = put_index(at, model->bone_indices[4 * v + i], index_size);
            at = mmd_bytes_put_f32s(at, model->bone_weights + 4 * v, has->weights);
            at = mmd_bytes_put_f32s(at, model->sdef + 9 * v, has->sdef);
            mmd_bytes_put_f32s(at, model->edge_scales + v, 1);
        }
        w.size += 37 + 16 * sets + index_size * has->bones + 4 * (has->weights + has->sdef);
    }
    *to = w;
}

static void write_faces(writer *w, const mmd_model *model)
{
    size_t count = 3 * model->triangle_count, size = w->index_sizes[MMD_INDEX_VERTEX];
    write_count(w, count);
    uint8_t *at = next_bytes(w);
    for (size_t i = 0; at && i < count; i++)
        at = put_index(at, model->triangles[i], size);
    w->size += count * size;
}

static void write_field(writer *w, const mmd_model_field *field, const char *record)
{
    const void *at = record + field->offset;
    switch (field->content) {
    case MMD_FIELD_TEXT:
        write_text(w, *(const mmd_text *)at);
        break;
    case MMD_FIELD_FLOATS:
        write_f32s(w, at, field->count);
        break;
    case MMD_FIELD_INDEX:
        write_index(w, (mmd_index_kind)field->count, *(const int32_t *)at);
        break;
    case MMD_FIELD_KIND:
        write_u8(w, *(const uint8_t *)at);
        break;
    case MMD_FIELD_BOOL:
        write_u8(w, *(const bool *)at);
        break;
    case MMD_FIELD_UINT16:
        write_number(w, *(const uint16_t *)at, 2);
        break;
    case MMD_FIELD_INT32:
        write_number(w, *(const uint32_t *)at, 4);
        break;
    case MMD_FIELD_TOON:
        if (((const mmd_material *)(const void *)record)->shared_toon)
            write_u8(w, (uint8_t) * (const int32_t *)at);
        else
            write_index(w, MMD_INDEX_TEXTURE, *(const int32_t *)at);
        break;
    }
}

static void write_ik(writer *w, const mmd_ik *ik)
{
    write_index(w, MMD_INDEX_BONE, ik->target);
    write_number(w, (uint32_t)ik->loop_count, 4);
    write_f32s(w, &ik->unit_angle, 1);
    write_count(w, ik->link_count);
    for (size_t k = 0; k < ik->link_count; k++) {
        const mmd_ik_link *link = &ik->links[k];
        write_index(w, MMD_INDEX_BONE, link->bone);
        write_u8(w, link->limited);
        write_f32s(w, link->lower, link->limited ? 3 : 0);
        write_f32s(w, link->upper, link->limited ? 3 : 0);
    }
}

static void write_bone(writer *w, const void *record)
{
    const mmd_bone *bone = record;
    if (bone->flags & MMD_BONE_IK)
        write_ik(w, bone->ik);
}

static void write_morph(writer *w, const void *record)
{
    const mmd_morph *morph = record;
    size_t width = mmd_morph_width(morph->kind);
    size_t index_size = w->index_sizes[mmd_morph_target(morph->kind)];
    bool has_switch = mmd_morph_has_switch(morph->kind); /* a byte */
    write_u8(w, (uint8_t)morph->kind);
    write_count(w, morph->offset_count);
    for (size_t k = 0; k < morph->offset_count; k++) {
        const float *values = morph->values + width * k;
        uint8_t *at = next_bytes(w);
        if (at) {
            at = put_index(at, morph->indices[k], index_size);
            if (has_switch)
                *at++ = values[0] != 0;
            mmd_bytes_put_f32s(at, values + has_switch, width - has_switch);
        }
        w->size += index_size + 4 * width - (has_switch ? 3 : 0);
    }
}

static void write_display_frame(writer *w, const void *record)
{
    const mmd_display_frame *frame = record;
    write_count(w, frame->element_count);
    for (size_t k = 0; k < frame->element_count; k++) {
        const mmd_frame_element *element = &frame->elements[k];
        write_u8(w, element->kind);
        write_index(w, element->kind == 0 ? MMD_INDEX_BONE : MMD_INDEX_MORPH, element->index);
    }
}

/* Fields, then parts. */
static void write_records(writer *w, const mmd_model *model)
{
    static void (*const parts[MMD_RECORD_KIND_COUNT])(writer *, const void *) = {
        [MMD_RECORD_BONE] = write_bone,
        [MMD_RECORD_MORPH] = write_morph,
        [MMD_RECORD_DISPLAY_FRAME] = write_display_frame};
    for (size_t t = 0; t < MMD_RECORD_KIND_COUNT; t++) {
        const mmd_model_record_table *table = &mmd_model_record_tables[t];
        size_t count = mmd_bytes_size_at(model, table->count);
        const char *record = mmd_bytes_pointer_at(model, table->array);
        write_count(w, count);
        for (size_t i = 0; i < count; i++, record += table->size) {
            for (size_t f = 0; f < table->field_count; f++)
                if (mmd_model_field_is_used(&table->fields[f], record))
                    write_field(w, &table->fields[f], record);
            if (parts[t])
                parts[t](w, record);
        }
    }
}

/* The bytes that an index of each kind needs, but no fewer than the file had. */
static void choose_index_sizes(writer *w, const mmd_model *model)
{
    for (int kind = 0; kind < MMD_INDEX_COUNT; kind++) {
        size_t count = mmd_model_count_of(model, (mmd_index_kind)kind);
        if (kind == MMD_INDEX_VERTEX) /* unsigned */
            count /= 2;
        uint8_t needed = count < 0x80 ? 1 : count < 0x8000 ? 2 : 4;
        uint8_t had = model->index_sizes[kind];
        w->index_sizes[kind] = had > needed ? had : needed;
    }
}

/* Into `bytes`; NULL: only measures. Returns the size. */
static size_t write_all(const mmd_model *model, uint8_t *bytes)
{
    writer w = {.at = bytes, .utf8 = model->utf8};
    choose_index_sizes(&w, model);
    write_header(&w, model);
    write_vertices(&w, model);
    write_faces(&w, model);
    write_records(&w, model);
    if (version_of(model) >= 2.05f)
        write_count(&w, 0); /* soft bodies */
    return w.size;
}

size_t mmd_pmx_size(const mmd_model *model)
{
    return model ? write_all(model, NULL) : 0;
}

bool mmd_pmx_write(const mmd_model *model, uint8_t *bytes, mmd_error *err)
{
    if (!mmd_error_require(model, "model", err) || !mmd_error_require(bytes, "bytes", err))
        return false;
    if (model->soft_body_count)
        return mmd_refuse(err,
                          "the model was loaded without its soft bodies, so it cannot be saved");
    write_all(model, bytes);
    return true;
}
