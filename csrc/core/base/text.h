/* SPDX-License-Identifier: MIT */
#ifndef MMD_TEXT_H
#define MMD_TEXT_H

#include "core/base/arena.h"

/* The first two as PMX numbers them. */
typedef enum mmd_encoding { MMD_UTF16LE = 0, MMD_UTF8 = 1, MMD_CP932 } mmd_encoding;

/* Decodes `size` bytes into `arena`, up to the first NUL. What does not decode becomes U+FFFD; an
   odd last byte of UTF-16 is dropped (docs/mmd-behaviour.md#robust-reader). The data member is
   NULL when memory is short. */
mmd_text mmd_text_decode(mmd_arena *arena, mmd_encoding encoding, const uint8_t *bytes,
                         size_t size);

#endif
