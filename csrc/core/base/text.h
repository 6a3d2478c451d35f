/* SPDX-License-Identifier: MIT */
#ifndef MMD_TEXT_H
#define MMD_TEXT_H

#include "core/base/arena.h"

#include <stdbool.h>

/* Text encodings of files. PMX numbers the first two like this. Names of motions are often cut
   inside a character: MMD_CP932_NAMES keeps the bytes that form no character. */
typedef enum mmd_text_encoding {
    MMD_UTF16LE = 0,
    MMD_UTF8 = 1,
    MMD_CP932,
    MMD_CP932_NAMES
} mmd_text_encoding;

/* Decodes `size` bytes into `arena`, up to the first NUL. Invalid bytes become U+FFFD, or with
   MMD_CP932_NAMES the surrogates U+DC80 to U+DCFF, as in Python's surrogateescape; an odd last byte
   of UTF-16 is dropped (docs/mmd-behavior.md#robust-reader). The data member is NULL when memory
   is short. */
mmd_text mmd_text_decode(mmd_arena *arena, mmd_text_encoding encoding, const uint8_t *bytes,
                         size_t size);

/* Decodes names of a motion in another encoding than cp932, as MMD_CP932_NAMES does. The data
   member is NULL when it fails. */
typedef struct mmd_text_decoder {
    mmd_text (*decode)(void *arg, mmd_arena *arena, const uint8_t *bytes, size_t size);
    void *arg;
} mmd_text_decoder;

/* The next character of UTF-8 that has not ended, and moves past it: U+FFFD for each maximal
   subpart of an ill-formed sequence, as Unicode recommends and Python does. */
uint32_t mmd_text_next_utf8(const uint8_t *bytes, size_t size, size_t *at);

/* Whether a text is UTF-8 without NUL, as all texts of models and motions are, apart from the
   surrogates of MMD_CP932_NAMES. */
bool mmd_text_is_valid(mmd_text text);

bool mmd_text_equal(mmd_text a, mmd_text b);

/* How many bytes of a text are shown, if it may take `limit` bytes and is cut between characters:
   for "%.*s". */
int mmd_text_fit(mmd_text text, int limit);

/* The cp932 code of each 16-bit character, 0 where there is none. If a character has two codes, it
   is the one that Windows writes. NULL when memory is short. */
const uint16_t *mmd_text_cp932_table(mmd_arena *arena);

/* Encodes into `capacity` bytes and cuts there, inside a character if need be, as MMD does. Returns
   the bytes that the whole text takes. Surrogates of MMD_CP932_NAMES become the bytes that they
   stand for; a character that cp932 lacks becomes "?". `missing` is the first character that would
   not be read again: one that cp932 lacks, or a surrogate whose byte forms a character; else 0. */
size_t mmd_text_encode_cp932(const uint16_t *table, mmd_text text, uint8_t *out, size_t capacity,
                             uint32_t *missing);

#endif
