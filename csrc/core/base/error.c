/* SPDX-License-Identifier: MIT */
/* Fills an mmd_error. */
#include "core/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool mmd_fail(mmd_error *err, mmd_error_code code, const char *format, ...)
{
    if (!err)
        return false;
    memset(err, 0, sizeof *err);
    err->code = code;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return false;
}

bool mmd_fail_memory(mmd_error *err)
{
    return mmd_fail(err, MMD_E_MEMORY, "out of memory");
}
