/* SPDX-License-Identifier: MIT */
#ifndef MMD_BYTES_H
#define MMD_BYTES_H

#include "core/base/error.h"

#include <stdint.h>

/* A bounded little-endian cursor over borrowed memory. A read past the end returns zeros and
   latches `failed`; readers test it once per record instead of once per field. */
typedef struct mmd_bytes {
    const uint8_t *data;
    size_t size;
    size_t offset;
    bool failed;
} mmd_bytes;

size_t mmd_bytes_left(const mmd_bytes *bytes);
const uint8_t *mmd_bytes_take(mmd_bytes *bytes, size_t size); /* NULL when fewer are left */
uint8_t mmd_bytes_u8(mmd_bytes *bytes);
uint16_t mmd_bytes_u16(mmd_bytes *bytes);
uint32_t mmd_bytes_u32(mmd_bytes *bytes);
int32_t mmd_bytes_i32(mmd_bytes *bytes);
/* NaN and infinity read as `fallback` (docs/mmd-behaviour.md#robust-reader). */
float mmd_bytes_f32(mmd_bytes *bytes, float fallback);
void mmd_bytes_f32s(mmd_bytes *bytes, float *out, size_t count);

#endif
