/* SPDX-License-Identifier: MIT */
/* The state and the errors that all file readers share. */
#include "core/formats/reader.h"

#include <stdarg.h>
#include <stdio.h>

mmd_reader mmd_reader_begin(const uint8_t *bytes, size_t size, mmd_arena *arena, mmd_error *err)
{
    return (mmd_reader){.in = {.data = bytes, .size = size},
                        .arena = arena,
                        .err = err,
                        .encoding = MMD_CP932,
                        .section = "header",
                        .record = MMD_NO_RECORD};
}

void mmd_reader_begin_section(mmd_reader *r, const char *section)
{
    r->section = section;
    r->record = MMD_NO_RECORD;
}

bool mmd_reader_fail(mmd_reader *r, const char *format, ...)
{
    if (r->no_memory)
        return mmd_fail_memory(r->err);
    char text[sizeof r->err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mmd_fail(r->err, MMD_E_FORMAT, "%s", text);
    if (!r->err)
        return false;
    r->err->offset = r->in.offset;
    if (r->record == MMD_NO_RECORD)
        snprintf(r->err->section, sizeof r->err->section, "%s", r->section);
    else
        snprintf(r->err->section, sizeof r->err->section, "%s[%ld]", r->section, r->record);
    return false;
}

bool mmd_reader_ok(mmd_reader *r)
{
    if (!r->in.failed && !r->no_memory)
        return true;
    return mmd_reader_fail(r, "the file ends at byte %zu, in the middle of a record", r->in.size);
}

void *mmd_reader_alloc(mmd_reader *r, size_t count, size_t size)
{
    void *memory = mmd_arena_alloc(r->arena, count, size);
    r->no_memory |= !memory;
    return memory;
}

void *mmd_reader_scratch(mmd_reader *r, size_t count, size_t size)
{
    void *memory = mmd_arena_alloc(&r->scratch, count, size);
    r->no_memory |= !memory;
    return memory;
}

void *mmd_reader_alloc_uninitialized(mmd_reader *r, size_t count, size_t size)
{
    void *memory = mmd_arena_alloc_uninitialized(r->arena, count, size);
    r->no_memory |= !memory;
    return memory;
}

mmd_text mmd_reader_text(mmd_reader *r, const uint8_t *bytes, size_t size)
{
    if (!bytes)
        return (mmd_text){"", 0};
    mmd_text text = r->decoder ? r->decoder->decode(r->decoder->arg, r->arena, bytes, size)
                               : mmd_text_decode(r->arena, r->encoding, bytes, size);
    if (text.data)
        return text;
    r->no_memory = true;
    return (mmd_text){"", 0};
}

uint32_t mmd_reader_intern(mmd_reader *r, mmd_string_table *table, const uint8_t *bytes,
                           size_t size)
{
    uint32_t index = 0;
    r->no_memory |= !mmd_string_table_add(&r->scratch, table, bytes, size, &index);
    return index;
}

mmd_text mmd_reader_string(mmd_reader *r, const mmd_string_table *table, size_t index)
{
    return mmd_reader_text(r, table->strings[index].bytes, table->strings[index].size);
}

bool mmd_reader_check_count(mmd_reader *r, const char *what, int64_t value, size_t min_size,
                            size_t limit, size_t *count)
{
    if (!mmd_reader_ok(r))
        return false;
    size_t left = mmd_bytes_left(&r->in);
    if (value < 0 || value > (int64_t)limit)
        return mmd_reader_fail(r, "%lld %s, limit %zu", (long long)value, what, limit);
    if ((size_t)value > left / min_size)
        return mmd_reader_fail(r,
                               "the number of %s is %lld, of %zu bytes each, but only %zu are left",
                               what, (long long)value, min_size, left);
    *count = (size_t)value;
    return true;
}

bool mmd_reader_records(mmd_reader *r, mmd_model *model, mmd_model_record_kind kind, int64_t value,
                        size_t min_size, mmd_reader_record *read, void *owner)
{
    const mmd_model_record_table *table = &mmd_model_record_tables[kind];
    size_t count;
    mmd_reader_begin_section(r, table->section);
    if (!mmd_reader_check_count(r, table->section, value, min_size, MMD_MAX_RECORDS, &count))
        return false;
    char *records = mmd_reader_alloc(r, count, table->size);
    for (size_t i = 0; records && i < count; i++) {
        r->record = (long)i;
        if (!read(r, owner, records + i * table->size) || !mmd_reader_ok(r))
            return false;
    }
    mmd_bytes_put_pointer(model, table->array, records);
    mmd_bytes_put_size(model, table->count, count);
    return mmd_reader_ok(r);
}

bool mmd_reader_begin_vertices(mmd_reader *r, mmd_model *model, int64_t value, size_t min_size)
{
    size_t count = 0;
    mmd_reader_begin_section(r, "vertices");
    if (!mmd_reader_check_count(r, "vertices", value, min_size, MMD_MAX_VERTICES, &count))
        return false;
    model->positions = mmd_reader_alloc_uninitialized(r, count, 3 * sizeof *model->positions);
    model->normals = mmd_reader_alloc_uninitialized(r, count, 3 * sizeof *model->normals);
    model->uvs = mmd_reader_alloc_uninitialized(r, count, 2 * sizeof *model->uvs);
    model->additional_uvs = mmd_reader_alloc_uninitialized(
        r, count, 4 * model->additional_uv_count * sizeof *model->additional_uvs);
    model->edge_scales = mmd_reader_alloc_uninitialized(r, count, sizeof *model->edge_scales);
    model->deform = mmd_reader_alloc_uninitialized(r, count, sizeof *model->deform);
    model->bone_indices = mmd_reader_alloc_uninitialized(r, count, 4 * sizeof *model->bone_indices);
    model->bone_weights = mmd_reader_alloc_uninitialized(r, count, 4 * sizeof *model->bone_weights);
    model->sdef = mmd_reader_alloc(r, count, 9 * sizeof *model->sdef);
    if (!mmd_reader_ok(r))
        return false;
    model->vertex_count = count;
    return true;
}

bool mmd_reader_faces(mmd_reader *r, mmd_model *model, int64_t value, size_t size)
{
    size_t count;
    mmd_reader_begin_section(r, "faces");
    if (!mmd_reader_check_count(r, "faces", value, size, INT32_MAX, &count))
        return false;
    model->triangle_count = count / 3;
    model->triangles = mmd_reader_alloc_uninitialized(r, count / 3, 3 * sizeof *model->triangles);
    const uint8_t *at = mmd_bytes_take(&r->in, count * size);
    for (size_t i = 0; model->triangles && i < 3 * model->triangle_count; i++)
        model->triangles[i] = mmd_reader_vertex_index_at(at + i * size, size);
    return mmd_reader_ok(r);
}
