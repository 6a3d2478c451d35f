/* SPDX-License-Identifier: MIT */
#ifndef MMD_TEXT_H
#define MMD_TEXT_H

#include "core/base/arena.h"

#include <stdbool.h>

/* The first two as PMX numbers them. */
typedef enum mmd_encoding { MMD_UTF16LE = 0, MMD_UTF8 = 1, MMD_CP932 } mmd_encoding;

/* Decodes `size` bytes into `arena`, up to the first NUL. What does not decode becomes U+FFFD; an
   odd last byte of UTF-16 is dropped (docs/mmd-behaviour.md#robust-reader). The data member is
   NULL when memory is short. */
mmd_text mmd_text_decode(mmd_arena *arena, mmd_encoding encoding, const uint8_t *bytes,
                         size_t size);

/* The bytes of each 16-bit character in cp932, 0 where it has none: what encoding takes. Of two
   ways to write a character it is the one that Windows writes. NULL when memory is short. */
const uint16_t *mmd_cp932_codes(mmd_arena *arena);

/* Encodes as many whole characters as there is `room` for; `size` is what all of them take. What is
   decoded again is equal: U+FFFD becomes a byte that stands for nothing. False, with the character,
   when cp932 has none like it. */
bool mmd_cp932_encode(const uint16_t *codes, mmd_text text, uint8_t *out, size_t room, size_t *size,
                      uint32_t *missing);

#endif
