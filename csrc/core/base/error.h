/* SPDX-License-Identifier: MIT */
#ifndef MMD_ERROR_H
#define MMD_ERROR_H

#include "mmdskin.h"

#if defined(__MINGW32__)
#define MMD_PRINTF(text, first) __attribute__((format(gnu_printf, text, first)))
#elif defined(__GNUC__)
#define MMD_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define MMD_PRINTF(text, first)
#endif

/* Failures: fill an mmd_error. Both return false, so that a failure reads `return mmd_fail(err,
 * ...)`. `err` may be NULL. */
bool mmd_fail(mmd_error *err, mmd_error_code code, const char *format, ...) MMD_PRINTF(3, 4);
bool mmd_fail_memory(mmd_error *err);

/* Whether an argument that must not be NULL is there. */
static inline bool mmd_error_require(const void *argument, const char *name, mmd_error *err)
{
    return argument || mmd_fail(err, MMD_E_ARGUMENT, "%s: missing", name);
}

#endif
