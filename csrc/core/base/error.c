/* SPDX-License-Identifier: MIT */
/* Errors, the checks of numbers that lead to them, and the version that a program may compare with
   its header's. */
#include "core/base/error.h"

#include "core/base/bytes.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

bool mmd_fail(mmd_error *err, mmd_error_code code, const char *format, ...)
{
    if (!err)
        return false;
    *err = (mmd_error){.code = code};
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

const char *mmd_version(void)
{
    return MMDSKIN_VERSION;
}

uint32_t mmd_version_number(void)
{
    return MMDSKIN_VERSION_NUMBER;
}

/* Numbers */

/* The top bit is set for exponents from `exponent` on: of NaN and infinity 255. Summing x * 0 would
   detect these too, but each addition would wait for the one before. */
static inline uint32_t overflowing_exponent(float number, uint32_t exponent)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return (bits & 0x7F800000u) + 0x80000000u - (exponent << 23);
}

/* A multiple of 64 numbers from the start that have lower exponents. */
static inline size_t skip_small(const float *numbers, size_t count, uint32_t exponent)
{
    enum { CHUNK = 64 };
    size_t i = 0;
    for (; i + CHUNK <= count; i += CHUNK) {
        uint32_t found = 0;
        for (size_t k = 0; k < CHUNK; k++)
            found |= overflowing_exponent(numbers[i + k], exponent);
        if (found & 0x80000000u)
            break;
    }
    return i;
}

/* Index of the first NaN or number beyond a limit with this exponent, or `count`. */
static inline size_t first_beyond(const float *numbers, size_t count, float limit,
                                  uint32_t exponent)
{
    size_t i = 0;
    while (i < count) {
        i += skip_small(numbers + i, count - i, exponent);
        size_t last = count - i < 64 ? count : i + 64;
        while (i < last && fabsf(numbers[i]) <= limit)
            i++;
        if (i < last)
            break;
    }
    return i;
}

size_t mmd_numbers_first_not_finite(const float *numbers, size_t count)
{
    return first_beyond(numbers, count, FLT_MAX, 255);
}

size_t mmd_numbers_first_beyond_limit(const float *numbers, size_t count)
{
    return first_beyond(numbers, count, MMD_BYTES_LIMIT, 127 + 33);
}

void mmd_numbers_limit(float *numbers, size_t count)
{
    for (size_t i = 0; (i += mmd_numbers_first_beyond_limit(numbers + i, count - i)) < count;)
        numbers[i] = isfinite(numbers[i]) ? copysignf(MMD_BYTES_LIMIT, numbers[i]) : 0;
}

double mmd_numbers_clamp(double number)
{
    if (fabs(number) <= MMD_NUMBERS_MAX)
        return number;
    return number > 0 ? MMD_NUMBERS_MAX : number < 0 ? -MMD_NUMBERS_MAX : 0;
}

const char *mmd_numbers_fault(double number)
{
    return isnan(number) ? "NaN" : isinf(number) ? "infinite" : "beyond 1e10";
}

bool mmd_numbers_check_frame_count(const char *name, size_t frames, size_t expected, mmd_error *err)
{
    return frames == 1 || frames == expected ||
           mmd_refuse(err, "%s: %zu frames, expected 1 or %zu", name, frames, expected);
}

bool mmd_numbers_check(const mmd_numbers_array *arrays, size_t count, size_t expected,
                       mmd_error *err)
{
    for (const mmd_numbers_array *a = arrays; a < arrays + count; a++) {
        size_t numbers = a->numbers ? a->frames * a->items * a->width : 0;
        if (a->numbers && !mmd_numbers_check_frame_count(a->name, a->frames, expected, err))
            return false;
        size_t bad = mmd_numbers_first_not_finite(a->numbers, numbers);
        if (bad == numbers)
            continue;
        char frame[40] = "", component[40] = "";
        if (a->frames > 1)
            snprintf(frame, sizeof frame, "frame %zu, ", bad / a->width / a->items);
        if (a->width > 1)
            snprintf(component, sizeof component, ", component %zu", bad % a->width);
        return mmd_refuse(err, "%s: %s%s %zu%s is %s", a->name, frame, a->item,
                          bad / a->width % a->items, component,
                          mmd_numbers_fault((double)a->numbers[bad]));
    }
    return true;
}

bool mmd_numbers_check_frames(const char *name, const double *frames, size_t count, mmd_error *err)
{
    size_t f = 0;
    while (f < count && isfinite(frames[f]))
        f++;
    if (f == count)
        return true;
    const char *fault = mmd_numbers_fault(frames[f]);
    return count == 1 ? mmd_refuse(err, "%s is %s", name, fault)
                      : mmd_refuse(err, "%s[%zu] is %s", name, f, fault);
}
