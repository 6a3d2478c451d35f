/* SPDX-License-Identifier: MIT */
#include "core/base/bytes.h"

#include "test.h"

#include <stdlib.h>

static void numbers_are_little_endian(void)
{
    const uint8_t data[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0xFE,
                            0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x20, 0xC1};
    mmd_bytes in = {.data = data, .size = sizeof data};
    CHECK_INT(mmd_bytes_u8(&in), 0x01);
    CHECK_INT(mmd_bytes_u16(&in), 0x0302);
    CHECK_INT(mmd_bytes_u32(&in), 0x07060504);
    CHECK_INT(mmd_bytes_i32(&in), -2);
    CHECK(mmd_bytes_f32(&in, 0) == -10.0f);
    CHECK(!in.failed);
    CHECK_INT(mmd_bytes_left(&in), 0);
}

static void a_read_past_the_end_returns_zero_and_sets_failed(void)
{
    const uint8_t data[] = {1, 2, 3};
    uint8_t *exact = test_exact(data, sizeof data);
    mmd_bytes in = {.data = exact, .size = sizeof data};
    CHECK_INT(mmd_bytes_u32(&in), 0);
    CHECK(in.failed);
    CHECK_INT(in.offset, 0);
    CHECK_INT(mmd_bytes_u8(&in), 0);
    CHECK(mmd_bytes_take(&in, 1) == NULL);
    free(exact);
}

static void huge_sizes_do_not_wrap(void)
{
    const uint8_t data[] = {1, 2, 3};
    mmd_bytes in = {.data = data, .size = sizeof data};
    mmd_bytes_u8(&in);
    CHECK(mmd_bytes_take(&in, SIZE_MAX) == NULL);
    CHECK(in.failed);
    CHECK_INT(in.offset, 1);
}

static void taking_returns_a_pointer_and_advances(void)
{
    const uint8_t data[] = {1, 2, 3};
    mmd_bytes in = {.data = data, .size = sizeof data};
    CHECK(mmd_bytes_take(&in, 2) == data);
    CHECK(mmd_bytes_take(&in, 0) == data + 2);
    CHECK_INT(mmd_bytes_u8(&in), 3);
    CHECK(mmd_bytes_take(&in, 0) != NULL);
    CHECK(!in.failed);
}

static void numbers_that_are_not_finite_read_as_the_fallback(void)
{
    const uint8_t data[] = {0, 0, 0xC0, 0x7F, 0, 0, 0x80, 0x7F, 0, 0, 0x80, 0xFF};
    mmd_bytes in = {.data = data, .size = sizeof data};
    CHECK(mmd_bytes_f32(&in, 3) == 3);
    CHECK(mmd_bytes_f32(&in, 4) == 4);
    CHECK(mmd_bytes_f32(&in, 5) == 5);
    CHECK(!in.failed);
    float out[4] = {9, 9, 9, 9};
    in.offset = 0;
    mmd_bytes_f32s(&in, out, 4);
    CHECK_FLOATS(out, 4, 0, 0, 0, 0);
    CHECK(in.failed);
}

void bytes_tests(void)
{
    RUN(numbers_are_little_endian);
    RUN(a_read_past_the_end_returns_zero_and_sets_failed);
    RUN(huge_sizes_do_not_wrap);
    RUN(taking_returns_a_pointer_and_advances);
    RUN(numbers_that_are_not_finite_read_as_the_fallback);
}
