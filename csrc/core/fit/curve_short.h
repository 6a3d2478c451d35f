/* SPDX-License-Identifier: MIT */
#ifndef MMD_CURVE_SHORT_H
#define MMD_CURVE_SHORT_H

#include "core/base/arena.h"

#include <stdint.h>

/* Exhaustive search for curves of few frames. Two to four samples leave a valley of real control
   points, in which a narrow tube may hold one single curve of integers: no descent finds it. */

enum { MMD_CURVE_SHORT_MIN = 3, MMD_CURVE_SHORT_MAX = 5 }; /* n of such a curve */

/* For any number of threads. */
typedef struct mmd_curve_short_tables mmd_curve_short_tables;

/* NULL when memory is short. */
const mmd_curve_short_tables *mmd_curve_short_tables_new(mmd_arena *arena);

/* Of all pairs x1, x2 with the integers y1, y2 nearest to their least squares, writes the curve
   that is farthest from the bounds of the tube. False when none is within them. */
bool mmd_curve_short_search(const mmd_curve_short_tables *tables, size_t n, const double *lower,
                            const double *upper, uint8_t curve[4]);

#endif
