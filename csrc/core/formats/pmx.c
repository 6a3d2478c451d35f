/* SPDX-License-Identifier: MIT */
/* Reads PMX 2.0 and 2.1, in the order of docs/mmd-behavior.md#pmx. Malformed files are handled as
   in docs/mmd-behavior.md#robust-reader. */
#include "core/formats/formats.h"

#include "core/base/error.h"
#include "core/formats/reader.h"
#include "core/model/model.h"
#include "core/model/morph.h"

#include <math.h>
#include <string.h>

static bool read_count(mmd_reader *r, const char *what, size_t min_size, size_t limit,
                       size_t *count)
{
    int32_t value = mmd_bytes_i32(&r->in);
    return mmd_reader_check_count(r, what, value, min_size, limit, count);
}

/* The bytes of a text; NULL when fewer are left. */
static const uint8_t *read_text_bytes(mmd_reader *r, size_t *size)
{
    int32_t count = mmd_bytes_i32(&r->in);
    *size = count < 0 ? SIZE_MAX : (size_t)count;
    return mmd_bytes_take(&r->in, *size);
}

static mmd_text read_text(mmd_reader *r)
{
    size_t size;
    const uint8_t *bytes = read_text_bytes(r, &size);
    return mmd_reader_text(r, bytes, size);
}

/* Indices of all kinds but vertices are signed; a negative one means none. */
static int32_t index_at(const uint8_t *at, size_t size)
{
    int32_t value = size == 1   ? (int8_t)*at
                    : size == 2 ? (int16_t)mmd_bytes_u16_at(at)
                                : (int32_t)mmd_bytes_u32_at(at);
    return value < 0 ? -1 : value;
}

static int32_t read_index(mmd_reader *r, mmd_index_kind kind)
{
    size_t size = r->index_sizes[kind];
    const uint8_t *at = mmd_bytes_take(&r->in, size);
    return at ? index_at(at, size) : -1;
}

static void read_field(mmd_reader *r, const mmd_model_field *field, char *record)
{
    void *at = record + field->offset;
    switch (field->content) {
    case MMD_FIELD_TEXT:
        *(mmd_text *)at = read_text(r);
        break;
    case MMD_FIELD_FLOATS:
        mmd_bytes_f32s(&r->in, at, field->count);
        break;
    case MMD_FIELD_INDEX:
        *(int32_t *)at = read_index(r, (mmd_index_kind)field->count);
        break;
    case MMD_FIELD_KIND:
        *(uint8_t *)at = mmd_bytes_u8(&r->in);
        break;
    case MMD_FIELD_BOOL:
        *(bool *)at = mmd_bytes_u8(&r->in) != 0;
        break;
    case MMD_FIELD_UINT16:
        *(uint16_t *)at = mmd_bytes_u16(&r->in);
        break;
    case MMD_FIELD_INT32:
        *(int32_t *)at = mmd_bytes_i32(&r->in);
        break;
    case MMD_FIELD_TOON:
        *(int32_t *)at = ((const mmd_material *)(void *)record)->shared_toon
                             ? mmd_bytes_u8(&r->in)
                             : read_index(r, MMD_INDEX_TEXTURE);
        break;
    }
}

void mmd_pmx_read_fields(mmd_reader *r, mmd_model_record_kind kind, size_t first, void *record)
{
    const mmd_model_record_table *table = &mmd_model_record_tables[kind];
    for (size_t i = 0; i < table->field_count; i++)
        if (table->fields[i].offset >= first && mmd_model_field_is_used(&table->fields[i], record))
            read_field(r, &table->fields[i], record);
}

static bool read_header(mmd_reader *r, mmd_model *model)
{
    mmd_bytes_take(&r->in, 4);
    model->version = mmd_bytes_f32(&r->in, 0);
    uint8_t count = mmd_bytes_u8(&r->in);
    if (!mmd_reader_ok(r))
        return false;
    if (fabsf(model->version - 2.0f) > 1e-3f && fabsf(model->version - 2.1f) > 1e-3f)
        return mmd_reader_fail(r, "PMX version %g, only 2.0 and 2.1 are supported",
                               (double)model->version);
    if (count < 8)
        return mmd_reader_fail(r, "the number of settings is %d, expected at least 8", count);
    const uint8_t *settings = mmd_bytes_take(&r->in, count);
    if (!settings)
        return mmd_reader_ok(r);
    if (settings[0] > 1)
        return mmd_reader_fail(r, "unknown text encoding %d, expected 0 (UTF-16) or 1 (UTF-8)",
                               settings[0]);
    if (settings[1] > 4)
        return mmd_reader_fail(r, "%d additional UVs, limit 4", settings[1]);
    for (int i = 0; i < MMD_INDEX_COUNT; i++) {
        uint8_t size = settings[2 + i];
        if (size != 1 && size != 2 && size != 4)
            return mmd_reader_fail(r, "unknown index size %d, expected 1, 2 or 4", size);
        model->index_sizes[i] = size;
    }
    r->index_sizes = model->index_sizes;
    model->utf8 = settings[0] == 1;
    r->encoding = (mmd_text_encoding)settings[0];
    model->additional_uv_count = settings[1];
    model->name = read_text(r);
    model->name_english = read_text(r);
    model->comment = read_text(r);
    model->comment_english = read_text(r);
    return mmd_reader_ok(r);
}

static void copy_sdef(const uint8_t *at, float *sdef)
{
    bool finite = true;
    for (int i = 0; i < 9; i++) {
        sdef[i] = mmd_bytes_f32_at(at + 4 * i, HUGE_VALF);
        finite &= sdef[i] != HUGE_VALF;
    }
    /* All zero: no SDEF data, skinned as BDEF2. */
    if (!finite)
        memset(sdef, 0, 9 * sizeof *sdef);
}

/* The rest of a vertex: bones and numbers, as many as the deform type has, and the edge scale. */
static bool read_deform(mmd_reader *r, uint8_t type, mmd_model *model, size_t v)
{
    size_t index_size = r->index_sizes[MMD_INDEX_BONE];
    int32_t *bones = model->bone_indices + 4 * v;
    float *weights = model->bone_weights + 4 * v;
    if (type >= MMD_DEFORM_COUNT)
        return mmd_reader_fail(r, "unknown deform type %d, expected 0 to %d", type,
                               MMD_DEFORM_COUNT - 1);
    size_t count = mmd_model_deform_layouts[type].bones;
    size_t numbers = mmd_model_deform_layouts[type].weights + mmd_model_deform_layouts[type].sdef;
    const uint8_t *at = mmd_bytes_take(&r->in, count * index_size + 4 * numbers + 4);
    if (!at)
        return mmd_reader_ok(r);
    model->deform[v] = type;
    bones[1] = bones[2] = bones[3] = -1;
    for (size_t i = 0; i < count; i++)
        bones[i] = index_at(at + i * index_size, index_size);
    at += count * index_size;
    if (count == 4) {
        mmd_bytes_f32s_at(at, weights, 4);
    } else {
        weights[0] = numbers ? mmd_bytes_f32_at(at, 0) : 1;
        weights[1] = 1 - weights[0];
        weights[2] = weights[3] = 0;
    }
    if (type == MMD_SDEF)
        copy_sdef(at + 4, model->sdef + 9 * v);
    model->edge_scales[v] = mmd_bytes_f32_at(at + 4 * numbers, 0);
    return true;
}

static bool read_vertices(mmd_reader *r, mmd_model *model)
{
    size_t sets = model->additional_uv_count, size = 32 + 16 * sets + 1;
    if (!mmd_reader_begin_vertices(r, model, mmd_bytes_i32(&r->in),
                                   size + 4 + r->index_sizes[MMD_INDEX_BONE]))
        return false;
    size_t n = model->vertex_count;
    for (size_t v = 0; v < n; v++) {
        r->record = (long)v;
        const uint8_t *at = mmd_bytes_take(&r->in, size);
        if (!at)
            return mmd_reader_ok(r);
        mmd_bytes_f32s_copy(at, model->positions + 3 * v, 3);
        mmd_bytes_f32s_copy(at + 12, model->normals + 3 * v, 3);
        mmd_bytes_f32s_copy(at + 24, model->uvs + 2 * v, 2);
        for (size_t s = 0; s < sets; s++)
            mmd_bytes_f32s_copy(at + 32 + 16 * s, model->additional_uvs + 4 * (sets * v + s), 4);
        if (!read_deform(r, at[size - 1], model, v))
            return false;
    }
    mmd_numbers_limit(model->positions, 3 * n);
    mmd_numbers_limit(model->normals, 3 * n);
    mmd_numbers_limit(model->uvs, 2 * n);
    mmd_numbers_limit(model->additional_uvs, 4 * sets * n);
    return true;
}

static bool read_material(mmd_reader *r, void *record)
{
    (void)r;
    mmd_material *material = record;
    if (material->sphere_mode >= MMD_SPHERE_MODE_COUNT)
        material->sphere_mode = MMD_SPHERE_NONE;
    return true;
}

static bool read_bone(mmd_reader *r, void *record)
{
    mmd_bone *bone = record;
    if (!(bone->flags & MMD_BONE_IK))
        return true;
    mmd_ik *ik = bone->ik = mmd_reader_alloc(r, 1, sizeof *ik);
    if (!ik)
        return mmd_reader_ok(r);
    ik->target = read_index(r, MMD_INDEX_BONE);
    ik->loop_count = mmd_bytes_i32(&r->in);
    /* A solver with a negative angle does not run. */
    ik->unit_angle = mmd_bytes_f32(&r->in, -1);
    if (!read_count(r, "IK links", r->index_sizes[MMD_INDEX_BONE] + 1u, MMD_MAX_RECORDS,
                    &ik->link_count))
        return false;
    ik->links = mmd_reader_alloc(r, ik->link_count, sizeof *ik->links);
    for (size_t k = 0; ik->links && k < ik->link_count; k++) {
        mmd_ik_link *link = &ik->links[k];
        link->bone = read_index(r, MMD_INDEX_BONE);
        link->limited = mmd_bytes_u8(&r->in) != 0;
        if (!link->limited)
            continue;
        mmd_bytes_f32s(&r->in, link->lower, 3);
        mmd_bytes_f32s(&r->in, link->upper, 3);
        for (int i = 0; i < 3; i++)
            if (link->lower[i] > link->upper[i]) {
                float upper = link->lower[i];
                link->lower[i] = link->upper[i];
                link->upper[i] = upper;
            }
    }
    return mmd_reader_ok(r);
}

static bool read_morph(mmd_reader *r, void *record)
{
    mmd_morph *morph = record;
    uint8_t kind = mmd_bytes_u8(&r->in);
    if (!mmd_reader_ok(r))
        return false;
    if (kind >= MMD_MORPH_KIND_COUNT)
        return mmd_reader_fail(r, "unknown morph type %d, expected 0 to %d", kind,
                               MMD_MORPH_KIND_COUNT - 1);
    morph->kind = (mmd_morph_kind)kind;
    size_t width = mmd_morph_width(morph->kind);
    size_t bytes = 4 * width - (mmd_morph_has_switch(morph->kind) ? 3 : 0);
    size_t index_size = r->index_sizes[mmd_morph_target(morph->kind)], size = index_size + bytes,
           count;
    if (!read_count(r, "offsets", size, MMD_MAX_RECORDS, &count))
        return false;
    morph->offset_count = count;
    morph->indices = mmd_reader_alloc_uninitialized(r, count, sizeof *morph->indices);
    morph->values = mmd_reader_alloc_uninitialized(r, count, width * sizeof *morph->values);
    const uint8_t *at = mmd_bytes_take(&r->in, count * size);
    if (!mmd_reader_ok(r))
        return false;
    bool is_vertex = mmd_morph_target(morph->kind) == MMD_INDEX_VERTEX;
    bool has_switch = mmd_morph_has_switch(morph->kind); /* a byte */
    for (size_t i = 0; i < count; i++, at += size) {
        const uint8_t *numbers = at + index_size;
        float *values = morph->values + width * i;
        morph->indices[i] =
            is_vertex ? mmd_reader_vertex_index_at(at, index_size) : index_at(at, index_size);
        if (has_switch)
            *values++ = *numbers++ != 0;
        mmd_bytes_f32s_at(numbers, values, width - has_switch);
    }
    return true;
}

static bool read_display_frame(mmd_reader *r, void *record)
{
    mmd_display_frame *frame = record;
    size_t bone = r->index_sizes[MMD_INDEX_BONE], morph = r->index_sizes[MMD_INDEX_MORPH];
    size_t min_size = 1 + (bone < morph ? bone : morph);
    if (!read_count(r, "elements", min_size, MMD_MAX_RECORDS, &frame->element_count))
        return false;
    frame->elements = mmd_reader_alloc(r, frame->element_count, sizeof *frame->elements);
    if (!mmd_reader_ok(r))
        return false;
    for (size_t i = 0; i < frame->element_count; i++) {
        frame->elements[i].kind = mmd_bytes_u8(&r->in) != 0;
        frame->elements[i].index =
            read_index(r, frame->elements[i].kind == 0 ? MMD_INDEX_BONE : MMD_INDEX_MORPH);
    }
    return mmd_reader_ok(r);
}

/* Counts and skips them. Some 2.1 files end before this section. */
static bool skip_soft_bodies(mmd_reader *r, mmd_model *model)
{
    const uint8_t *sizes = r->index_sizes;
    if (model->version < 2.05f || mmd_bytes_left(&r->in) == 0)
        return true;
    size_t count, items, anchor = 1u + sizes[MMD_INDEX_RIGID_BODY] + sizes[MMD_INDEX_VERTEX];
    mmd_reader_begin_section(r, "soft_bodies");
    if (!read_count(r, "soft_bodies", 141 + sizes[MMD_INDEX_MATERIAL], MMD_MAX_RECORDS, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        r->record = (long)i;
        for (int k = 0; k < 2; k++)
            read_text_bytes(r, &items);
        mmd_bytes_take(&r->in, 125u + sizes[MMD_INDEX_MATERIAL]);
        if (!read_count(r, "anchors", anchor, MMD_MAX_RECORDS, &items))
            return false;
        mmd_bytes_take(&r->in, items * anchor);
        if (!read_count(r, "pins", sizes[MMD_INDEX_VERTEX], MMD_MAX_RECORDS, &items))
            return false;
        mmd_bytes_take(&r->in, items * sizes[MMD_INDEX_VERTEX]);
        if (!mmd_reader_ok(r))
            return false;
    }
    model->soft_body_count = count;
    return true;
}

/* A section of records, whose least size is this with so many indices. */
typedef struct record_section {
    size_t min_size, index_count;
    mmd_index_kind index;
    bool (*read_parts)(mmd_reader *r, void *record); /* that follow its fields */
} record_section;

static const record_section sections[MMD_RECORD_KIND_COUNT] = {
    [MMD_RECORD_TEXTURE] = {4, 0, 0, NULL},
    [MMD_RECORD_MATERIAL] = {84, 2, MMD_INDEX_TEXTURE, read_material},
    [MMD_RECORD_BONE] = {26, 2, MMD_INDEX_BONE, read_bone},
    [MMD_RECORD_MORPH] = {14, 0, 0, read_morph},
    [MMD_RECORD_DISPLAY_FRAME] = {13, 0, 0, read_display_frame},
    [MMD_RECORD_RIGID_BODY] = {69, 1, MMD_INDEX_BONE, NULL},
    [MMD_RECORD_JOINT] = {105, 2, MMD_INDEX_RIGID_BODY, NULL},
};

static bool read_record(mmd_reader *r, void *owner, void *record)
{
    const mmd_model_record_kind *kind = owner;
    mmd_pmx_read_fields(r, *kind, 0, record);
    return mmd_reader_ok(r) &&
           (!sections[*kind].read_parts || sections[*kind].read_parts(r, record));
}

bool mmd_pmx_read(mmd_reader *r, mmd_model *model)
{
    const uint8_t *sizes = model->index_sizes;
    bool read = read_header(r, model) && read_vertices(r, model) &&
                mmd_reader_faces(r, model, mmd_bytes_i32(&r->in), sizes[MMD_INDEX_VERTEX]);
    for (mmd_model_record_kind kind = 0; read && kind < MMD_RECORD_KIND_COUNT; kind++) {
        size_t size = sections[kind].index_count * sizes[sections[kind].index];
        read = mmd_reader_records(r, model, kind, mmd_bytes_i32(&r->in),
                                  sections[kind].min_size + size, read_record, &kind);
    }
    return read && skip_soft_bodies(r, model);
}
