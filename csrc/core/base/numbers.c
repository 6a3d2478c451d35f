/* SPDX-License-Identifier: MIT */
/* Checks and clamps for numbers that files or callers provide. */
#include "core/base/numbers.h"

#include "core/base/error.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* The top bit is set for NaN and infinity, whose exponents have all bits set. Summing x * 0 would
   detect them too, but each addition would wait for the one before. */
static uint32_t overflowing_exponent(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return (bits & 0x7F800000u) + 0x00800000u;
}

size_t mmd_numbers_first_not_finite(const float *numbers, size_t count)
{
    enum { CHUNK = 64 };
    size_t i = 0;
    for (; i + CHUNK <= count; i += CHUNK) {
        uint32_t found = 0;
        for (size_t k = 0; k < CHUNK; k++)
            found |= overflowing_exponent(numbers[i + k]);
        if (found & 0x80000000u)
            break;
    }
    while (i < count && isfinite(numbers[i]))
        i++;
    return i;
}

void mmd_numbers_make_finite(float *numbers, size_t count)
{
    for (size_t i = 0; (i += mmd_numbers_first_not_finite(numbers + i, count - i)) < count;)
        numbers[i] = 0;
}

double mmd_numbers_clamp_to_float(double number)
{
    if (fabs(number) <= (double)FLT_MAX)
        return number;
    return number > 0 ? (double)FLT_MAX : number < 0 ? -(double)FLT_MAX : 0;
}

const char *mmd_numbers_not_finite_name(double number)
{
    return isnan(number) ? "NaN" : "infinite";
}

bool mmd_numbers_check_frame_count(const char *name, size_t frames, size_t expected, mmd_error *err)
{
    return frames == 1 || frames == expected ||
           mmd_fail(err, MMD_E_ARGUMENT, "%s: %zu frames, expected 1 or %zu", name, frames,
                    expected);
}

bool mmd_numbers_check_frames(const char *name, const double *frames, size_t count, mmd_error *err)
{
    size_t f = 0;
    while (f < count && isfinite(frames[f]))
        f++;
    if (f == count)
        return true;
    const char *fault = mmd_numbers_not_finite_name(frames[f]);
    return count == 1 ? mmd_fail(err, MMD_E_ARGUMENT, "%s is %s", name, fault)
                      : mmd_fail(err, MMD_E_ARGUMENT, "%s[%zu] is %s", name, f, fault);
}
