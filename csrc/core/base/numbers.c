/* SPDX-License-Identifier: MIT */
#include "core/base/numbers.h"

#include <math.h>

size_t mmd_first_not_finite(const float *numbers, size_t count)
{
    size_t i = 0;
    /* x * 0 is NaN exactly when x is not finite; sums of a chunk keep it. */
    for (; i + 64 <= count; i += 64) {
        float sum = 0;
        for (size_t k = 0; k < 64; k++)
            sum += numbers[i + k] * 0.0f;
        if (!(sum == 0))
            break;
    }
    while (i < count && isfinite(numbers[i]))
        i++;
    return i;
}

const char *mmd_not_finite_name(double number)
{
    return isnan(number) ? "NaN" : "infinite";
}
