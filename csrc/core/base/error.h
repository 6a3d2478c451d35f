/* SPDX-License-Identifier: MIT */
#ifndef MMD_ERROR_H
#define MMD_ERROR_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__MINGW32__)
#define MMD_PRINTF(text, first) __attribute__((format(gnu_printf, text, first)))
#elif defined(__GNUC__)
#define MMD_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define MMD_PRINTF(text, first)
#endif

/* One row per kind of failure: the enum member MMD_E_<name> and its general description. */
#define MMD_ERRORS(X)                                                                              \
    X(NONE, "no error")                                                                            \
    X(ARGUMENT, "bad argument")                                                                    \
    X(FORMAT, "malformed file")                                                                    \
    X(MEMORY, "out of memory")                                                                     \
    X(BACKEND, "backend not available")

typedef enum mmd_error_code {
#define MMD_ERROR_ENUM(name, text) MMD_E_##name,
    MMD_ERRORS(MMD_ERROR_ENUM)
#undef MMD_ERROR_ENUM
} mmd_error_code;

/* Owned by the caller. Functions that take one return false (or NULL) exactly when they filled it.
   `offset` and `section` ("bones[12]") are set for MMD_E_FORMAT only. */
typedef struct mmd_error {
    mmd_error_code code;
    size_t offset;
    char section[64];
    char text[256];
} mmd_error;

const char *mmd_error_name(mmd_error_code code);

/* Both return false, so that a failing line reads `return mmd_fail(err, ...)`. `err` may be NULL.
 */
bool mmd_fail(mmd_error *err, mmd_error_code code, const char *format, ...) MMD_PRINTF(3, 4);
bool mmd_fail_memory(mmd_error *err);

#endif
