/* SPDX-License-Identifier: MIT */
#ifndef MMD_READER_H
#define MMD_READER_H

#include "core/base/arena.h"
#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/string_table.h"
#include "core/base/text.h"
#include "core/model/model.h"

/* What the file readers share: a cursor, the arena of the result, and the position for errors. */

enum { MMD_NO_RECORD = -1 };

typedef struct mmd_reader {
    mmd_bytes in;
    mmd_arena *arena;  /* of the result */
    mmd_arena scratch; /* freed after reading */
    mmd_error *err;
    mmd_text_encoding encoding;
    const mmd_text_decoder *decoder; /* used instead of the encoding, unless NULL */
    const uint8_t *index_sizes;      /* of a PMX file */
    const char *section;
    long record; /* of the section, or MMD_NO_RECORD */
    bool no_memory;
} mmd_reader;

/* Begins with the section "header" and texts in cp932. */
mmd_reader mmd_reader_begin(const uint8_t *bytes, size_t size, mmd_arena *arena, mmd_error *err);
void mmd_reader_begin_section(mmd_reader *r, const char *section);

/* Returns false with MMD_E_FORMAT, section, record and offset, or with MMD_E_MEMORY if that was the
   cause. */
bool mmd_reader_fail(mmd_reader *r, const char *format, ...) MMD_PRINTF(2, 3);

/* False with an error if a read or an allocation has failed. Called once per record. */
bool mmd_reader_ok(mmd_reader *r);

/* A failure sets no_memory: mmd_reader_ok() reports it. Memory of the result, zeroed or not, or of
   the reader; NULL when short. A text of `size` bytes; empty for NULL and when memory is short. */
void *mmd_reader_alloc(mmd_reader *r, size_t count, size_t size);
void *mmd_reader_alloc_uninitialized(mmd_reader *r, size_t count, size_t size);
void *mmd_reader_scratch(mmd_reader *r, size_t count, size_t size);
mmd_text mmd_reader_text(mmd_reader *r, const uint8_t *bytes, size_t size);

/* The index of a name in a table of the reader, to which it is added if it is new; 0 when memory is
   short. */
uint32_t mmd_reader_intern(mmd_reader *r, mmd_string_table *table, const uint8_t *bytes,
                           size_t size);

/* The text of a name in a table. */
mmd_text mmd_reader_string(mmd_reader *r, const mmd_string_table *table, size_t index);

/* Fails if a count from the file is above `limit` or more records of min_size bytes than the file
   has left. */
bool mmd_reader_check_count(mmd_reader *r, const char *what, int64_t value, size_t min_size,
                            size_t limit, size_t *count);

/* Reads a record, which is zeroed; `owner` is what mmd_reader_records() gets. */
typedef bool mmd_reader_record(mmd_reader *r, void *owner, void *record);

/* A section of `value` records, which become the model's. */
bool mmd_reader_records(mmd_reader *r, mmd_model *model, mmd_model_record_kind kind, int64_t value,
                        size_t min_size, mmd_reader_record *read, void *owner);

/* Begins the section of the vertices: memory for their arrays, of which only sdef is zeroed. */
bool mmd_reader_begin_vertices(mmd_reader *r, mmd_model *model, int64_t value, size_t min_size);

/* The section of `value` indices of vertices, each of `size` bytes. */
bool mmd_reader_faces(mmd_reader *r, mmd_model *model, int64_t value, size_t size);

static inline int32_t mmd_reader_vertex_index_at(const uint8_t *at, size_t size)
{
    return size == 1 ? *at : size == 2 ? mmd_bytes_u16_at(at) : (int32_t)mmd_bytes_u32_at(at);
}

#endif
