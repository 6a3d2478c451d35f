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

/* Failures: fill an mmd_error. All return false, so that a failure reads `return mmd_fail(err,
   ...)`. `err` may be NULL. */
bool mmd_fail(mmd_error *err, mmd_error_code code, const char *format, ...) MMD_PRINTF(3, 4);
#define mmd_refuse(err, ...) mmd_fail(err, MMD_E_ARGUMENT, __VA_ARGS__)
bool mmd_fail_memory(mmd_error *err);

/* Whether an argument that must not be NULL is there. */
static inline bool mmd_error_require(const void *argument, const char *name, mmd_error *err)
{
    return argument || mmd_refuse(err, "%s: missing", name);
}

/* Checks and clamps for numbers that files or callers provide. */

/* Index of the first NaN or infinity, or `count`. */
size_t mmd_numbers_first_not_finite(const float *numbers, size_t count);

/* What models and motions hold is at most this large (MMD_BYTES_LIMIT), and what poses and morphs
   make of it at most MMD_NUMBERS_MAX: so all results fit into a float, and no loop checks that. */
#define MMD_NUMBERS_MAX 1e15

/* Index of the first NaN or number beyond MMD_BYTES_LIMIT, or `count`. */
size_t mmd_numbers_first_beyond_limit(const float *numbers, size_t count);

/* Replaces NaN and infinity by 0, and other numbers beyond MMD_BYTES_LIMIT by it. */
void mmd_numbers_limit(float *numbers, size_t count);

/* The nearest number within MMD_NUMBERS_MAX; 0 for NaN. */
double mmd_numbers_clamp(double number);

/* "NaN", "infinite" or "beyond 1e10", for error texts. */
const char *mmd_numbers_fault(double number);

/* The noun after a count, for error texts. */
static inline const char *mmd_numbers_noun(size_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* Fails unless the array `name` has one frame, which all frames of the job share, or `expected`. */
bool mmd_numbers_check_frame_count(const char *name, size_t frames, size_t expected,
                                   mmd_error *err);

/* An array of so many frames, of `items` with `width` numbers each. */
typedef struct mmd_numbers_array {
    const char *name, *item; /* in errors */
    const float *numbers;    /* NULL: left out, and not checked */
    size_t frames, items, width;
} mmd_numbers_array;

/* Fails unless all have one frame or `expected`, and finite numbers. */
bool mmd_numbers_check(const mmd_numbers_array *arrays, size_t count, size_t expected,
                       mmd_error *err);

/* Makes an array of so many frames, of `row` numbers each, that of frames [first, first + count);
   all frames share a single one. */
#define MMD_NUMBERS_SLICE(array, frames, row, first, count)                                        \
    do {                                                                                           \
        if ((frames) > 1) {                                                                        \
            (array) = (array) ? (array) + (first) * (row) : NULL;                                  \
            (frames) = (count);                                                                    \
        }                                                                                          \
    } while (0)

/* Fails unless all frames, the array or number `name`, are finite. */
bool mmd_numbers_check_frames(const char *name, const double *frames, size_t count, mmd_error *err);

#endif
