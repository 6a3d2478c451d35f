/* SPDX-License-Identifier: MIT */
#include "core/base/bytes.h"

#include <math.h>
#include <string.h>

size_t mmd_bytes_left(const mmd_bytes *bytes)
{
    return bytes->size - bytes->offset;
}

const uint8_t *mmd_bytes_take(mmd_bytes *bytes, size_t size)
{
    if (bytes->failed || size > mmd_bytes_left(bytes)) {
        bytes->failed = true;
        return NULL;
    }
    const uint8_t *taken = bytes->data + bytes->offset;
    bytes->offset += size;
    return taken;
}

static uint32_t little(mmd_bytes *bytes, size_t size)
{
    const uint8_t *from = mmd_bytes_take(bytes, size);
    uint32_t value = 0;
    for (size_t i = 0; from && i < size; i++)
        value |= (uint32_t)from[i] << 8 * i;
    return value;
}

uint8_t mmd_bytes_u8(mmd_bytes *bytes)
{
    return (uint8_t)little(bytes, 1);
}

uint16_t mmd_bytes_u16(mmd_bytes *bytes)
{
    return (uint16_t)little(bytes, 2);
}

uint32_t mmd_bytes_u32(mmd_bytes *bytes)
{
    return little(bytes, 4);
}

int32_t mmd_bytes_i32(mmd_bytes *bytes)
{
    return (int32_t)little(bytes, 4);
}

float mmd_bytes_f32(mmd_bytes *bytes, float fallback)
{
    uint32_t bits = little(bytes, 4);
    float value;
    memcpy(&value, &bits, sizeof value);
    return isfinite(value) ? value : fallback;
}

void mmd_bytes_f32s(mmd_bytes *bytes, float *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = mmd_bytes_f32(bytes, 0);
}
