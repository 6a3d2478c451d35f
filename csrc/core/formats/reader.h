/* SPDX-License-Identifier: MIT */
#ifndef MMD_READER_H
#define MMD_READER_H

#include "core/base/arena.h"
#include "core/base/bytes.h"

/* What the file readers share: a cursor, the memory that they fill, and the place that errors name.
 */

enum { MMD_NO_RECORD = -1, MMD_MAX_RECORDS = 10000000 };

typedef struct mmd_reader {
    mmd_bytes in;
    mmd_arena *arena;
    mmd_error *err;
    const char *section;
    long record; /* of the section, or MMD_NO_RECORD */
    bool no_memory;
} mmd_reader;

/* MMD_E_FORMAT with section, record and offset, or MMD_E_MEMORY when that was the trouble. */
bool mmd_reader_fail(mmd_reader *r, const char *format, ...) MMD_PRINTF(2, 3);

/* Called once per record: has anything gone wrong since the last call? */
bool mmd_reader_sound(mmd_reader *r);

/* Latches a failure. */
void *mmd_reader_alloc(mmd_reader *r, size_t count, size_t size);

/* A count that was read: believed only up to `limit`, and if that many of the smallest records can
 * follow. */
bool mmd_reader_believe(mmd_reader *r, const char *what, int64_t value, size_t least_size,
                        size_t limit, size_t *count);

#endif
