/* SPDX-License-Identifier: MIT */
#ifndef MMD_BYTES_H
#define MMD_BYTES_H

#include "mmdskin.h"

#include <string.h>

/* A bounded little-endian cursor over borrowed memory. A read past the end returns zeros and sets
   `failed`, which a file reader checks once per record rather than once per field. Inline, because
   loading a file makes millions of these calls. */
typedef struct mmd_bytes {
    const uint8_t *data;
    size_t size;
    size_t offset;
    bool failed;
} mmd_bytes;

static inline size_t mmd_bytes_left(const mmd_bytes *bytes)
{
    return bytes->size - bytes->offset;
}

/* NULL when fewer are left. */
static inline const uint8_t *mmd_bytes_take(mmd_bytes *bytes, size_t size)
{
    if (bytes->failed || size > mmd_bytes_left(bytes)) {
        bytes->failed = true;
        return NULL;
    }
    const uint8_t *taken = bytes->data + bytes->offset;
    bytes->offset += size;
    return taken;
}

static inline uint8_t mmd_bytes_u8(mmd_bytes *bytes)
{
    const uint8_t *at = mmd_bytes_take(bytes, 1);
    return at ? *at : 0;
}

static inline uint16_t mmd_bytes_u16_at(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint16_t mmd_bytes_u16(mmd_bytes *bytes)
{
    const uint8_t *at = mmd_bytes_take(bytes, 2);
    return at ? mmd_bytes_u16_at(at) : 0;
}

static inline uint32_t mmd_bytes_u32_at(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint32_t mmd_bytes_u32(mmd_bytes *bytes)
{
    const uint8_t *at = mmd_bytes_take(bytes, 4);
    return at ? mmd_bytes_u32_at(at) : 0;
}

static inline int32_t mmd_bytes_i32(mmd_bytes *bytes)
{
    return (int32_t)mmd_bytes_u32(bytes);
}

/* Numbers of files are at most this large: docs/mmd-behavior.md#robust-reader. */
#define MMD_BYTES_LIMIT 1e10f

/* `fallback` for NaN and infinity, whose exponents have all bits set. */
static inline float mmd_bytes_f32_at(const uint8_t *at, float fallback)
{
    uint32_t bits = mmd_bytes_u32_at(at);
    float value;
    memcpy(&value, &bits, sizeof value);
    if ((bits & 0x7F800000) == 0x7F800000)
        return fallback;
    return value > MMD_BYTES_LIMIT ? MMD_BYTES_LIMIT
                                   : (value < -MMD_BYTES_LIMIT ? -MMD_BYTES_LIMIT : value);
}

static inline float mmd_bytes_f32(mmd_bytes *bytes, float fallback)
{
    const uint8_t *at = mmd_bytes_take(bytes, 4);
    return at ? mmd_bytes_f32_at(at, fallback) : 0;
}

/* NaN and infinity read as 0. */
static inline void mmd_bytes_f32s_at(const uint8_t *at, float *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = mmd_bytes_f32_at(at + 4 * i, 0);
}

/* Keeps NaN and infinity: mmd_numbers_limit() replaces them all at once, which is faster. */
static inline void mmd_bytes_f32s_copy(const uint8_t *at, float *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = mmd_bytes_u32_at(at + 4 * i);
        memcpy(out + i, &bits, sizeof bits);
    }
}

/* NaN and infinity read as 0, and all numbers do when fewer are left. */
static inline void mmd_bytes_f32s(mmd_bytes *bytes, float *out, size_t count)
{
    const uint8_t *at = mmd_bytes_take(bytes, 4 * count);
    if (at)
        mmd_bytes_f32s_at(at, out, count);
    else if (count)
        memset(out, 0, count * sizeof *out);
}

/* Writing. Little-endian; with a constant size, compilers make one store of it. Returns the end. */
static inline uint8_t *mmd_bytes_put(uint8_t *at, uint32_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> 8 * i);
    return at + size;
}

static inline uint8_t *mmd_bytes_put_f32s(uint8_t *at, const float *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        mmd_bytes_put(at + 4 * i, bits, 4);
    }
    return at + 4 * count;
}

/* The parts of a state, which one list saves, counts and restores, so that these always agree. */
typedef struct mmd_bytes_parts {
    mmd_bytes from; /* restores, if it has data; fails where bytes are missing */
    uint8_t *to;    /* saves; NULL: only counts */
    size_t size;    /* of the parts saved or counted so far */
} mmd_bytes_parts;

static inline void mmd_bytes_part(mmd_bytes_parts *parts, void *part, size_t size)
{
    const uint8_t *taken = parts->from.data ? mmd_bytes_take(&parts->from, size) : NULL;
    if (taken && size)
        memcpy(part, taken, size);
    else if (!parts->from.data && parts->to && size)
        memcpy(parts->to + parts->size, part, size);
    parts->size += size;
}

/* Members of a struct by their offsets: numbers and pointers to arrays. */
static inline size_t mmd_bytes_size_at(const void *owner, size_t offset)
{
    size_t size;
    memcpy(&size, (const char *)owner + offset, sizeof size);
    return size;
}

static inline void mmd_bytes_put_size(void *owner, size_t offset, size_t size)
{
    memcpy((char *)owner + offset, &size, sizeof size);
}

static inline void *mmd_bytes_pointer_at(const void *owner, size_t offset)
{
    void *pointer;
    memcpy(&pointer, (const char *)owner + offset, sizeof pointer);
    return pointer;
}

static inline void mmd_bytes_put_pointer(void *owner, size_t offset, const void *pointer)
{
    memcpy((char *)owner + offset, &pointer, sizeof pointer);
}

#endif
