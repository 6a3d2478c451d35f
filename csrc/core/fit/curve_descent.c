/* SPDX-License-Identifier: MIT */
/* Levenberg-Marquardt over the four numbers of a curve. The valley of good pairs x1, x2 is narrow
   and oblique: a search along x1 and x2 does not get through. */
#include "core/fit/curve_descent.h"

#include "core/fit/curve_lanes.h"
#include "core/math/scalar.h"

#include <math.h>
#include <string.h>

enum { LANES = MMD_CURVE_LANES, ROUNDS = 12, PRODUCTS = 10 };

/* The normal equations, and the sum of squares, as sums of each lane. */
typedef struct lane_sums {
    double products[PRODUCTS][LANES]; /* of rows i >= j: 00 10 11 20 21 22 30 31 32 33 */
    double gradient[4][LANES], total[LANES];
} lane_sums;

/* Without MMD's error in t, so that derivatives mean something: Newton's method, kept within the
   interval that the bisections have left. */
MMD_CURVE_LOOPS void smooth_parameters(double x1, double x2, const double *x, double *t)
{
    enum { BISECTIONS = 5, STEPS = 3 };
    const double left = 1.0 / (1 << (BISECTIONS + 1));
    double middle[LANES], same[LANES];
    mmd_curve_lanes_fill(x2, same);
    mmd_curve_lanes_bisect(x1, same, x, BISECTIONS, middle);
    for (size_t lane = 0; lane < LANES; lane++)
        t[lane] = middle[lane];
    for (int i = 0; i < STEPS; i++)
        for (size_t lane = 0; lane < LANES; lane++) {
            double at = t[lane], s = 1 - at;
            double residual = 3 * s * s * at * x1 + 3 * s * at * at * x2 + at * at * at - x[lane];
            double slope = 3 * s * s * x1 + 6 * s * at * (x2 - x1) + 3 * at * at * (1 - x2);
            double next = at - residual / (slope > 1e-6 ? slope : 1e-6);
            next = next < middle[lane] - left ? middle[lane] - left : next;
            t[lane] = next > middle[lane] + left ? middle[lane] + left : next;
        }
}

/* Adds the frames first + 1 and following, `count` of them. At a fixed x the parameter t moves by
   dt = -(b1 dx1 + b2 dx2) / x'(t). */
MMD_CURVE_LOOPS void add_lanes(size_t first, size_t count, size_t n, const float *center,
                               const double p[4], lane_sums *sums)
{
    double x[LANES], t[LANES], row[4][LANES], residual[LANES];
    for (size_t lane = 0; lane < LANES; lane++) {
        x[lane] = (double)(first + lane + 1) / (double)n;
        residual[lane] = lane < count ? (double)center[first + lane] : 0;
    }
    smooth_parameters(p[0], p[2], x, t);
    for (size_t lane = 0; lane < LANES; lane++) {
        double at = t[lane], u = 1 - at, used = lane < count ? 1 : 0;
        double b1 = 3 * u * u * at * used, b2 = 3 * u * at * at * used;
        double slope_x = 3 * u * u * p[0] + 6 * u * at * (p[2] - p[0]) + 3 * at * at * (1 - p[2]);
        double slope_y = 3 * u * u * p[1] + 6 * u * at * (p[3] - p[1]) + 3 * at * at * (1 - p[3]);
        double steepness = -slope_y / (slope_x > 1e-6 ? slope_x : 1e-6);
        row[0][lane] = b1 * steepness, row[1][lane] = b1;
        row[2][lane] = b2 * steepness, row[3][lane] = b2;
        residual[lane] = b1 * p[1] + b2 * p[3] + at * at * at * used - residual[lane];
        sums->total[lane] += residual[lane] * residual[lane];
    }
    for (size_t i = 0, at = 0; i < 4; i++) {
        for (size_t lane = 0; lane < LANES; lane++)
            sums->gradient[i][lane] += row[i][lane] * residual[lane];
        for (size_t j = 0; j <= i; j++, at++)
            for (size_t lane = 0; lane < LANES; lane++)
                sums->products[at][lane] += row[i][lane] * row[j][lane];
    }
}

MMD_CURVE_LOOPS void add_frames(size_t n, const float *center, const double p[4], lane_sums *sums)
{
    for (size_t first = 0; first + 1 < n; first += LANES)
        add_lanes(first, n - 1 - first < LANES ? n - 1 - first : LANES, n, center, p, sums);
}

#ifdef MMD_CPU_X86
MMD_CURVE_AVX2 static void add_frames_avx2(size_t n, const float *center, const double p[4],
                                           lane_sums *sums)
{
    add_frames(n, center, p, sums);
}
#endif

static double sum_of(const double lanes[LANES])
{
    double sum = 0;
    for (size_t lane = 0; lane < LANES; lane++)
        sum += lanes[lane];
    return sum;
}

/* The sum of squares of the control points p, and the normal equations around them. */
static double linearize(size_t n, const float *center, const double p[4], double m[4][4],
                        double gradient[4])
{
    lane_sums sums = {0};
#ifdef MMD_CPU_X86
    if (mmd_cpu_has_avx2())
        add_frames_avx2(n, center, p, &sums);
    else
#endif
        add_frames(n, center, p, &sums);
    for (size_t i = 0, at = 0; i < 4; i++) {
        gradient[i] = sum_of(sums.gradient[i]);
        for (size_t j = 0; j <= i; j++, at++)
            m[i][j] = sum_of(sums.products[at]);
    }
    return sum_of(sums.total);
}

/* Solves the damped normal equations (N + damping diag N) step = gradient by Cholesky's method;
   `m` is overwritten. */
static void solve_damped(double m[4][4], const double gradient[4], double damping, double step[4])
{
    for (int i = 0; i < 4; i++) {
        m[i][i] += damping * (m[i][i] + 1e-6);
        for (int k = 0; k <= i; k++) {
            double sum = m[i][k];
            for (int j = 0; j < k; j++)
                sum -= m[i][j] * m[k][j];
            m[i][k] = i == k ? sqrt(fmax(sum, 1e-12)) : sum / m[k][k];
        }
    }
    for (int i = 0; i < 4; i++) {
        step[i] = gradient[i];
        for (int k = 0; k < i; k++)
            step[i] -= m[i][k] * step[k];
        step[i] /= m[i][i];
    }
    for (int i = 3; i >= 0; i--) {
        for (int k = i + 1; k < 4; k++)
            step[i] -= m[k][i] * step[k];
        step[i] /= m[i][i];
    }
}

void mmd_curve_descend(size_t n, const float *center, double p[4])
{
    double best[4] = {p[0], p[1], p[2], p[3]};
    double m[4][4], gradient[4], kept_m[4][4] = {{0}}, kept_gradient[4] = {0}, step[4];
    double damping = 1e-3, least = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        double total = linearize(n, center, p, m, gradient);
        if (total < least) {
            bool close = least - total < 1e-4 * total;
            memcpy(best, p, sizeof best);
            memcpy(kept_m, m, sizeof m);
            memcpy(kept_gradient, gradient, sizeof gradient);
            least = total;
            damping /= 5;
            if (close)
                break;
        } else {
            damping *= 8;
        }
        memcpy(m, kept_m, sizeof m);
        solve_damped(m, kept_gradient, damping, step);
        for (int i = 0; i < 4; i++)
            p[i] = mmd_clamp(best[i] - step[i], 0, 1);
    }
    memcpy(p, best, sizeof best);
}
