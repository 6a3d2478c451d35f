/* SPDX-License-Identifier: MIT */
#include "core/formats/reader.h"

#include <stdarg.h>
#include <stdio.h>

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

bool mmd_reader_sound(mmd_reader *r)
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

bool mmd_reader_believe(mmd_reader *r, const char *what, int64_t value, size_t least_size,
                        size_t limit, size_t *count)
{
    if (!mmd_reader_sound(r))
        return false;
    size_t left = mmd_bytes_left(&r->in);
    if (value < 0 || value > (int64_t)limit)
        return mmd_reader_fail(r, "%lld %s, limit %zu", (long long)value, what, limit);
    if ((size_t)value > left / least_size)
        return mmd_reader_fail(r, "%lld %s need %zu bytes each, %zu bytes are left",
                               (long long)value, what, least_size, left);
    *count = (size_t)value;
    return true;
}
