/* SPDX-License-Identifier: MIT */
#include "core/base/error.h"

#include "test.h"

#include <string.h>

static void mmd_fail_returns_false_and_fills_the_error(void)
{
    mmd_error err = {.offset = 7, .section = "old"};
    CHECK(!mmd_fail(&err, MMD_E_ARGUMENT, "vertex %d: bone %d of %d", 812, 40, 37));
    CHECK_INT(err.code, MMD_E_ARGUMENT);
    CHECK(strcmp(err.text, "vertex 812: bone 40 of 37") == 0);
    CHECK_INT(err.offset, 0);
    CHECK(err.section[0] == '\0');
}

static void a_long_text_is_truncated(void)
{
    mmd_error err;
    char text[2 * sizeof err.text];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    mmd_fail(&err, MMD_E_FORMAT, "%s", text);
    CHECK_INT(strlen(err.text), sizeof err.text - 1);
}

static void the_error_may_be_null(void)
{
    CHECK(!mmd_fail(NULL, MMD_E_FORMAT, "%d", 1));
    CHECK(!mmd_fail_memory(NULL));
}

static void memory_errors_have_their_code_and_text(void)
{
    mmd_error err;
    CHECK(!mmd_fail_memory(&err));
    CHECK_INT(err.code, MMD_E_MEMORY);
    CHECK(strcmp(err.text, "out of memory") == 0);
}

void error_tests(void)
{
    RUN(mmd_fail_returns_false_and_fills_the_error);
    RUN(a_long_text_is_truncated);
    RUN(the_error_may_be_null);
    RUN(memory_errors_have_their_code_and_text);
}
