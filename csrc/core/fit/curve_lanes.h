/* SPDX-License-Identifier: MIT */
#ifndef MMD_CURVE_LANES_H
#define MMD_CURVE_LANES_H

#include "core/base/cpu.h"
#include "core/fit/curve_grid.h"

/* Loops over MMD_CURVE_LANES numbers side by side, which are compiled twice. AVX2 without FMA gives
   the same bits as SSE2. */
#define MMD_CURVE_LOOPS static inline __attribute__((always_inline))
#ifdef MMD_CPU_X86
#define MMD_CURVE_AVX2 __attribute__((target("avx2")))
#endif

MMD_CURVE_LOOPS void mmd_curve_lanes_fill(double value, double *lanes)
{
    for (size_t lane = 0; lane < MMD_CURVE_LANES; lane++)
        lanes[lane] = value;
}

/* MMD's search for t at which x(t) = x. */
MMD_CURVE_LOOPS void mmd_curve_lanes_bisect(double x1, const double *x2, const double *x,
                                            int bisections, double *t)
{
    double half = 0.5;
    mmd_curve_lanes_fill(0.5, t);
    for (int i = 0; i < bisections; i++) {
        half /= 2;
        for (size_t lane = 0; lane < MMD_CURVE_LANES; lane++) {
            double at = t[lane], s = 1 - at;
            double residual =
                3 * s * s * at * x1 + 3 * s * at * at * x2[lane] + at * at * at - x[lane];
            t[lane] = at + (residual < 0 ? half : residual > 0 ? -half : 0);
        }
    }
}

#endif
