/* SPDX-License-Identifier: MIT */
#include "core/base/numbers.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Top bit set: NaN or infinite, whose exponent is all ones. A sum of x * 0 would find them too, but
   each sum would wait for the one before. */
static uint32_t overflowing_exponent(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return (bits & 0x7F800000u) + 0x00800000u;
}

size_t mmd_first_not_finite(const float *numbers, size_t count)
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
    for (size_t i = 0; (i += mmd_first_not_finite(numbers + i, count - i)) < count;)
        numbers[i] = 0;
}

const char *mmd_not_finite_name(double number)
{
    return isnan(number) ? "NaN" : "infinite";
}
