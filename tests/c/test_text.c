/* SPDX-License-Identifier: MIT */
#include "core/base/text.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

/* Decodes from a buffer of exactly that size. EF BF BD is U+FFFD in UTF-8. */
#define CHECK_DECODED(encoding, bytes, want)                                                       \
    do {                                                                                           \
        mmd_arena arena = {0};                                                                     \
        uint8_t *exact = test_exact(bytes, sizeof(bytes) - 1);                                     \
        CHECK_TEXT(mmd_text_decode(&arena, encoding, exact, sizeof(bytes) - 1), want);             \
        free(exact);                                                                               \
        mmd_arena_free(&arena);                                                                    \
    } while (0)

static void utf16_becomes_utf8(void)
{
    CHECK_DECODED(MMD_UTF16LE, "a\0\x1D\x52\xF3\x97", "a\xE5\x88\x9D\xE9\x9F\xB3"); /* a初音 */
    CHECK_DECODED(MMD_UTF16LE, "\x7F\0\x80\0\xFF\x07\0\x08\xFF\xFF",
                  "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF");
}

static void surrogate_pairs_become_one_character(void)
{
    CHECK_DECODED(MMD_UTF16LE, "\x42\xD8\xB7\xDF", "\xF0\xA0\xAE\xB7"); /* U+20BB7 */
    CHECK_DECODED(MMD_UTF16LE, "\xFF\xDB\xFF\xDF", "\xF4\x8F\xBF\xBF"); /* U+10FFFF */
}

static void lone_surrogates_are_replaced(void)
{
    CHECK_DECODED(MMD_UTF16LE, "\x42\xD8", "\xEF\xBF\xBD");
    CHECK_DECODED(MMD_UTF16LE, "\x42\xD8z\0", "\xEF\xBF\xBDz");
    CHECK_DECODED(MMD_UTF16LE, "\xB7\xDFz\0", "\xEF\xBF\xBDz");
    CHECK_DECODED(MMD_UTF16LE, "\x42\xD8\x42\xD8\xB7\xDF", "\xEF\xBF\xBD\xF0\xA0\xAE\xB7");
}

static void an_odd_last_byte_is_dropped(void)
{
    CHECK_DECODED(MMD_UTF16LE, "a\0b", "a");
    CHECK_DECODED(MMD_UTF16LE, "a", "");
    CHECK_DECODED(MMD_UTF16LE, "\x42\xD8\xB7", "\xEF\xBF\xBD");
}

static void text_ends_at_the_first_nul(void)
{
    CHECK_DECODED(MMD_UTF16LE, "a\0\0\0b\0", "a");
    CHECK_DECODED(MMD_UTF8, "a\0b", "a");
    CHECK_DECODED(MMD_UTF8, "\0b", "");
}

static void valid_utf8_stays(void)
{
    CHECK_DECODED(MMD_UTF8, "", "");
    CHECK_DECODED(MMD_UTF8, "a\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF",
                  "a\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF");
    CHECK_DECODED(MMD_UTF8, "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
}

/* One replacement per maximal subpart: the table of the Unicode standard, section 3.9. */
static void invalid_utf8_is_replaced(void)
{
    CHECK_DECODED(MMD_UTF8, "\x80z", "\xEF\xBF\xBDz");
    CHECK_DECODED(MMD_UTF8, "\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD");
    CHECK_DECODED(MMD_UTF8, "\xE0\x80\xBF", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    CHECK_DECODED(MMD_UTF8, "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    CHECK_DECODED(MMD_UTF8, "\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    CHECK_DECODED(MMD_UTF8, "\xF5z", "\xEF\xBF\xBDz");
    CHECK_DECODED(MMD_UTF8, "\xE1\x80\xE2\xF0\x91\x92\xF1\xBFz",
                  "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz");
}

static void utf8_that_ends_early_is_replaced(void)
{
    CHECK_DECODED(MMD_UTF8, "a\xE5\x88", "a\xEF\xBF\xBD");
    CHECK_DECODED(MMD_UTF8, "\xF0\x90\x80", "\xEF\xBF\xBD");
    CHECK_DECODED(MMD_UTF8, "\xC3", "\xEF\xBF\xBD");
}

static void a_text_without_memory_has_no_data(void)
{
    mmd_arena arena = {0};
    mmd_arena_fail_after(0);
    CHECK(mmd_text_decode(&arena, MMD_UTF8, (const uint8_t *)"a", 1).data == NULL);
    mmd_arena_fail_after(-1);
}

static void texts_are_equal_if_all_their_bytes_are(void)
{
    CHECK(mmd_text_equal((mmd_text){"abc", 3}, (mmd_text){"abx", 3}) == false);
    CHECK(mmd_text_equal((mmd_text){"abc", 3}, (mmd_text){"abcd", 4}) == false);
    CHECK(mmd_text_equal((mmd_text){"abc", 2}, (mmd_text){"abx", 2}));
    CHECK(mmd_text_equal((mmd_text){"", 0}, (mmd_text){0}));
}

static void a_shown_text_is_cut_between_characters(void)
{
    const char bytes[] = "a\xE5\x88\x9D\xF0\xA0\xAE\xB7"; /* 1, 3 and 4 bytes */
    const int shown[] = {0, 1, 1, 1, 4, 4, 4, 4, 8, 8};
    for (int limit = 0; limit < 10; limit++)
        CHECK(mmd_text_fit((mmd_text){bytes, sizeof bytes - 1}, limit) == shown[limit]);
    CHECK(mmd_text_fit((mmd_text){0}, 5) == 0);
}

void text_tests(void)
{
    RUN(utf16_becomes_utf8);
    RUN(surrogate_pairs_become_one_character);
    RUN(lone_surrogates_are_replaced);
    RUN(an_odd_last_byte_is_dropped);
    RUN(text_ends_at_the_first_nul);
    RUN(valid_utf8_stays);
    RUN(invalid_utf8_is_replaced);
    RUN(utf8_that_ends_early_is_replaced);
    RUN(a_text_without_memory_has_no_data);
    RUN(texts_are_equal_if_all_their_bytes_are);
    RUN(a_shown_text_is_cut_between_characters);
}
