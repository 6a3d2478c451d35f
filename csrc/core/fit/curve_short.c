/* SPDX-License-Identifier: MIT */
/* The exhaustive search for curves of few frames. */
#include "core/fit/curve_short.h"

#include "core/fit/curve_lanes.h"

enum {
    LANES = MMD_CURVE_LANES, /* x2 side by side */
    VALUES = 128,            /* of x1 and of x2 */
    SAMPLES = MMD_CURVE_SHORT_MAX - 1,
    COUNTS = MMD_CURVE_SHORT_MAX - MMD_CURVE_SHORT_MIN + 1 /* of n */
};

/* t at which x(t) = k / n, 0 < k < n. */
struct mmd_curve_short_tables {
    double t[COUNTS][VALUES][SAMPLES][VALUES]; /* n - 3, x1, k - 1, x2 */
};

const mmd_curve_short_tables *mmd_curve_short_tables_new(mmd_arena *arena)
{
    mmd_curve_short_tables *tables = mmd_arena_alloc_uninitialized(arena, 1, sizeof *tables);
    if (!tables)
        return NULL;
    double x[LANES], x2[VALUES];
    for (size_t i = 0; i < VALUES; i++)
        x2[i] = (double)i / 127;
    for (size_t n = MMD_CURVE_SHORT_MIN; n <= MMD_CURVE_SHORT_MAX; n++)
        for (size_t k = 0; k + 1 < n; k++) {
            for (size_t lane = 0; lane < LANES; lane++)
                x[lane] = (double)(k + 1) / (double)n;
            for (size_t x1 = 0; x1 < VALUES; x1++)
                for (size_t i = 0; i < VALUES; i += LANES)
                    mmd_curve_parameters((double)x1 / 127, x2 + i, x,
                                         &tables->t[n - MMD_CURVE_SHORT_MIN][x1][k][i]);
        }
    return tables;
}

/* The nearest integer, 0 to 127. */
MMD_CURVE_LOOPS int32_t nearest(double y)
{
    y = y > 0 ? y : 0;
    return (int32_t)(127 * (y < 1 ? y : 1) + 0.5);
}

/* For LANES values x2: the integers y1, y2, and by how much their curve violates the tube; negative
   within it. */
MMD_CURVE_LOOPS void solve_lanes(const double (*parameters)[VALUES], size_t first, size_t n,
                                 const double *lower, const double *upper, int32_t y1[LANES],
                                 int32_t y2[LANES], double violation[LANES])
{
    double basis1[SAMPLES][LANES], basis2[SAMPLES][LANES], basis3[SAMPLES][LANES];
    double a[LANES] = {0}, b[LANES] = {0}, c[LANES] = {0}, p[LANES] = {0}, q[LANES] = {0};
    for (size_t k = 0; k + 1 < n; k++) {
        double center = (lower[k] + upper[k]) / 2;
        for (size_t lane = 0; lane < LANES; lane++) {
            double t = parameters[k][first + lane], s = 1 - t;
            double b1 = 3 * s * s * t, b2 = 3 * s * t * t, b3 = t * t * t, residual = center - b3;
            basis1[k][lane] = b1, basis2[k][lane] = b2, basis3[k][lane] = b3;
            a[lane] += b1 * b1, b[lane] += b1 * b2, c[lane] += b2 * b2;
            p[lane] += b1 * residual, q[lane] += b2 * residual;
        }
    }
    for (size_t lane = 0; lane < LANES; lane++) {
        double scale = 1 / (a[lane] * c[lane] - b[lane] * b[lane] + 1e-14);
        y1[lane] = nearest((c[lane] * p[lane] - b[lane] * q[lane]) * scale);
        y2[lane] = nearest((a[lane] * q[lane] - b[lane] * p[lane]) * scale);
        violation[lane] = -1;
    }
    for (size_t k = 0; k + 1 < n; k++)
        for (size_t lane = 0; lane < LANES; lane++) {
            double y = basis1[k][lane] * (y1[lane] / 127.0) + basis2[k][lane] * (y2[lane] / 127.0) +
                       basis3[k][lane];
            double below = lower[k] - y, above = y - upper[k];
            below = below > above ? below : above;
            violation[lane] = below > violation[lane] ? below : violation[lane];
        }
}

MMD_CURVE_LOOPS bool search(const mmd_curve_short_tables *tables, size_t n, const double *lower,
                            const double *upper, uint8_t curve[4])
{
    double least = 1e-12, violation[LANES];
    int32_t y1[LANES], y2[LANES];
    bool found = false;
    for (size_t x1 = 0; x1 < VALUES; x1++)
        for (size_t first = 0; first < VALUES; first += LANES) {
            solve_lanes(tables->t[n - MMD_CURVE_SHORT_MIN][x1], first, n, lower, upper, y1, y2,
                        violation);
            for (size_t lane = 0; lane < LANES; lane++) {
                size_t x2 = first + lane;
                /* Where x1 = y1 and x2 = y2 MMD draws a straight line. */
                if (violation[lane] >= least ||
                    ((int32_t)x1 == y1[lane] && (int32_t)x2 == y2[lane]))
                    continue;
                least = violation[lane];
                curve[0] = (uint8_t)x1, curve[1] = (uint8_t)y1[lane];
                curve[2] = (uint8_t)x2, curve[3] = (uint8_t)y2[lane];
                found = true;
            }
        }
    return found;
}

#ifdef MMD_CPU_X86
MMD_CURVE_AVX2 static bool search_avx2(const mmd_curve_short_tables *tables, size_t n,
                                       const double *lower, const double *upper, uint8_t curve[4])
{
    return search(tables, n, lower, upper, curve);
}
#endif

bool mmd_curve_short_search(const mmd_curve_short_tables *tables, size_t n, const double *lower,
                            const double *upper, uint8_t curve[4])
{
#ifdef MMD_CPU_X86
    if (mmd_cpu_has_avx2())
        return search_avx2(tables, n, lower, upper, curve);
#endif
    return search(tables, n, lower, upper, curve);
}
