/* SPDX-License-Identifier: MIT */
#include "core/base/error.h"
#include "test.h"

#include <math.h>
#include <string.h>

static void the_first_bad_number_is_found(void)
{
    float numbers[200] = {0};
    CHECK_INT(mmd_numbers_first_not_finite(numbers, 200), 200);
    CHECK_INT(mmd_numbers_first_not_finite(NULL, 0), 0);
    for (size_t i = 0; i < 200; i++) {
        numbers[i] = i % 2 ? NAN : -INFINITY;
        CHECK_INT(mmd_numbers_first_not_finite(numbers, 200), i);
        numbers[i] = i % 2 ? 3e38f : -3e38f;
    }
}

static void bad_numbers_become_zero(void)
{
    float numbers[200];
    for (size_t i = 0; i < 200; i++)
        numbers[i] = i % 70 == 3 ? NAN : i >= 190 ? INFINITY : (float)i;
    mmd_numbers_limit(numbers, 200);
    for (size_t i = 0; i < 200; i++)
        CHECK(numbers[i] == (i % 70 == 3 || i >= 190 ? 0 : (float)i));
    mmd_numbers_limit(NULL, 0);
}

static void the_first_number_beyond_the_limit_is_found(void)
{
    float numbers[200] = {0};
    for (size_t i = 0; i < 200; i++)
        numbers[i] = i % 2 ? 1e10f : -9e9f;
    CHECK_INT(mmd_numbers_first_beyond_limit(numbers, 200), 200);
    CHECK_INT(mmd_numbers_first_beyond_limit(NULL, 0), 0);
    for (size_t i = 200; i-- > 0;) {
        numbers[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? 1.1e10f : -3e38f;
        CHECK_INT(mmd_numbers_first_beyond_limit(numbers, 200), i);
    }
    mmd_numbers_limit(numbers, 200);
    for (size_t i = 0; i < 200; i++)
        CHECK(numbers[i] == (i % 3 == 0 ? 0 : i % 3 == 1 ? 1e10f : -1e10f));
}

static void numbers_that_are_not_finite_have_names(void)
{
    CHECK(strcmp(mmd_numbers_fault(NAN), "NaN") == 0);
    CHECK(strcmp(mmd_numbers_fault(-INFINITY), "infinite") == 0);
}

void numbers_tests(void)
{
    RUN(the_first_bad_number_is_found);
    RUN(bad_numbers_become_zero);
    RUN(the_first_number_beyond_the_limit_is_found);
    RUN(numbers_that_are_not_finite_have_names);
}
