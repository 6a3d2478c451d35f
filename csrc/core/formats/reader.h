/* SPDX-License-Identifier: MIT */
#ifndef MMD_READER_H
#define MMD_READER_H

#include "core/base/arena.h"
#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/names.h"
#include "core/base/text.h"

/* What the file readers share: a cursor, the memory that they fill, and the place that errors name.
 */

enum { MMD_NO_RECORD = -1, MMD_MAX_RECORDS = 10000000 };

typedef struct mmd_reader {
    mmd_bytes in;
    mmd_arena *arena;
    mmd_error *err;
    mmd_encoding encoding;
    const char *section;
    long record; /* of the section, or MMD_NO_RECORD */
    bool no_memory;
} mmd_reader;

/* At the start of the section "header". Texts are cp932 until the file says otherwise. */
mmd_reader mmd_reader_begin(const uint8_t *bytes, size_t size, mmd_arena *arena, mmd_error *err);
void mmd_reader_open(mmd_reader *r, const char *section);

/* MMD_E_FORMAT with section, record and offset, or MMD_E_MEMORY when that was the trouble. */
bool mmd_reader_fail(mmd_reader *r, const char *format, ...) MMD_PRINTF(2, 3);

/* Called once per record: has anything gone wrong since the last call? */
bool mmd_reader_sound(mmd_reader *r);

/* All latch a failure: zeroed memory, or NULL; memory that holds anything, or NULL; the text of
   `size` bytes, empty when it fails and for NULL. */
void *mmd_reader_alloc(mmd_reader *r, size_t count, size_t size);
void *mmd_reader_alloc_unset(mmd_reader *r, size_t count, size_t size);
mmd_text mmd_reader_text(mmd_reader *r, const uint8_t *bytes, size_t size);

/* The number of a name; 0 when memory is short, which is latched. */
uint32_t mmd_reader_number(mmd_reader *r, mmd_names *names, const uint8_t *bytes, size_t size);

/* A count that was read: believed only up to `limit`, and if that many of the smallest records can
 * follow. */
bool mmd_reader_believe(mmd_reader *r, const char *what, int64_t value, size_t least_size,
                        size_t limit, size_t *count);

/* What PMX and PMD have alike: memory for vertices, of which only sdef is zeroed, a rigid body from
   its group on, the eight vectors of a joint. */
bool mmd_reader_add_vertices(mmd_reader *r, mmd_model *model, size_t count);
void mmd_read_rigid_body(mmd_reader *r, mmd_rigid_body *body);
void mmd_read_joint(mmd_reader *r, mmd_joint *joint);

#endif
