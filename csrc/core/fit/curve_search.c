/* SPDX-License-Identifier: MIT */
/* The search over a grid of pairs x1, x2, and the descent from a pair. */
#include "core/fit/curve_fit.h"

#include "core/base/cpu.h"
#include "core/math/scalar.h"

#include <math.h>
#include <string.h>

/* Loops over LANES numbers side by side. */
#define LOOPS static inline __attribute__((always_inline))

/* Defines a function of such loops, which are compiled twice. AVX2 without FMA gives the same bits
   as SSE2. */
#ifdef MMD_CPU_X86
#define FUNCTION_OF(name, loops, parameters, arguments)                                            \
    __attribute__((target("avx2"))) static void name##_avx2 parameters                             \
    {                                                                                              \
        loops arguments;                                                                           \
    }                                                                                              \
    static void name parameters                                                                    \
    {                                                                                              \
        if (mmd_cpu_has_avx2())                                                                    \
            name##_avx2 arguments;                                                                 \
        else                                                                                       \
            loops arguments;                                                                       \
    }
#else
#define FUNCTION_OF(name, loops, parameters, arguments)                                            \
    static void name parameters                                                                    \
    {                                                                                              \
        loops arguments;                                                                           \
    }
#endif

/* 20 and 107 are MMD's straight line: most hand-made curves leave one handle there. */
const uint8_t mmd_curve_grid_values[MMD_CURVE_GRID] = {0,  8,  16, 20, 24,  32,  40,  48,  56, 64,
                                                       72, 80, 88, 96, 104, 107, 112, 120, 127};

enum {
    LANES = MMD_CURVE_LANES,
    PAIRS = MMD_CURVE_PAIRS,
    CHUNKS = MMD_CURVE_CHUNKS,
    COARSE = MMD_CURVE_COARSE
};

/* Of one n: the basis at samples, and the inverse of the normal equations' matrix. */
typedef struct coarse_chunk {
    float basis1[COARSE][LANES], basis2[COARSE][LANES], basis3[COARSE][LANES];
    float inverse11[LANES], inverse12[LANES], inverse22[LANES]; /* of [a b; b c] */
    float a[LANES], b[LANES], c[LANES];
} coarse_chunk;

typedef struct coarse_table {
    size_t count; /* samples */
    coarse_chunk chunks[CHUNKS];
} coarse_table;

struct mmd_curve_grid_tables {
    coarse_table of_frames[COARSE + 2]; /* the last one is of longer curves */
};

/* mmd_sampling_bezier()'s search for t at which x(t) = x, for LANES numbers x side by side: the
   bisections of one number depend on each other, and those of several keep the processor busy. */
LOOPS void bisect_lanes(double x1, double x2, const double *x, int bisections, double *t)
{
    double half = 0.5;
    for (size_t lane = 0; lane < LANES; lane++)
        t[lane] = 0.5;
    for (int i = 0; i < bisections; i++) {
        half /= 2;
        for (size_t lane = 0; lane < LANES; lane++) {
            double at = t[lane], s = 1 - at;
            double residual = 3 * s * s * at * x1 + 3 * s * at * at * x2 + at * at * at - x[lane];
            t[lane] = at + (residual < 0 ? half : residual > 0 ? -half : 0);
        }
    }
}

LOOPS void bisect_as_mmd(double x1, double x2, const double *x, double *t)
{
    bisect_lanes(x1, x2, x, MMD_CURVE_BISECTIONS, t);
}

FUNCTION_OF(find_parameters, bisect_as_mmd, (double x1, double x2, const double *x, double *t),
            (x1, x2, x, t))

void mmd_curve_basis_evaluate(int x1, int x2, size_t n, mmd_curve_basis *out)
{
    double x[LANES], t[LANES];
    for (size_t first = 0; first + 1 < n; first += LANES) {
        size_t count = n - 1 - first < LANES ? n - 1 - first : LANES;
        for (size_t lane = 0; lane < LANES; lane++)
            x[lane] = (double)(first + lane + 1) / (double)n;
        find_parameters(x1 / 127.0, x2 / 127.0, x, t);
        for (size_t lane = 0; lane < count; lane++) {
            double at = t[lane], s = 1 - at;
            out[first + lane] = (mmd_curve_basis){3 * s * s * at, 3 * s * at * at, at * at * at};
        }
    }
}

void mmd_curve_normal_clamp(const mmd_curve_normal *m, double p, double q, double *y1, double *y2)
{
    if (*y1 >= 0 && *y1 <= 1 && *y2 >= 0 && *y2 <= 1)
        return;
    double fixed1 = mmd_clamp(*y1, 0, 1), fixed2 = mmd_clamp(*y2, 0, 1);
    double free2 = mmd_clamp((q - m->b * fixed1) / m->c, 0, 1),
           free1 = mmd_clamp((p - m->b * fixed2) / m->a, 0, 1);
    double cost1 = m->a * fixed1 * fixed1 + 2 * m->b * fixed1 * free2 + m->c * free2 * free2 -
                   2 * p * fixed1 - 2 * q * free2;
    double cost2 = m->a * free1 * free1 + 2 * m->b * free1 * fixed2 + m->c * fixed2 * fixed2 -
                   2 * p * free1 - 2 * q * fixed2;
    *y1 = cost1 < cost2 ? fixed1 : free1;
    *y2 = cost1 < cost2 ? free2 : fixed2;
}

static void fill_lane(coarse_table *table, size_t pair, size_t n)
{
    coarse_chunk *chunk = &table->chunks[pair / LANES];
    size_t lane = pair % LANES, known = pair < PAIRS ? pair : PAIRS - 1;
    mmd_curve_normal sum = MMD_CURVE_NORMAL_INIT;
    mmd_curve_basis samples[COARSE];
    mmd_curve_basis_evaluate(mmd_curve_grid_values[known / MMD_CURVE_GRID],
                             mmd_curve_grid_values[known % MMD_CURVE_GRID], n, samples);
    for (size_t k = 0; k < table->count; k++) {
        chunk->basis1[k][lane] = (float)samples[k].b1;
        chunk->basis2[k][lane] = (float)samples[k].b2;
        chunk->basis3[k][lane] = (float)samples[k].b3;
        mmd_curve_normal_add(&samples[k], &sum);
    }
    double scale = 1 / mmd_curve_normal_determinant(&sum);
    chunk->inverse11[lane] = (float)(sum.c * scale);
    chunk->inverse12[lane] = (float)(-sum.b * scale);
    chunk->inverse22[lane] = (float)(sum.a * scale);
    chunk->a[lane] = (float)sum.a, chunk->b[lane] = (float)sum.b, chunk->c[lane] = (float)sum.c;
}

const mmd_curve_grid_tables *mmd_curve_grid_tables_new(mmd_arena *arena)
{
    mmd_curve_grid_tables *tables = mmd_arena_alloc_uninitialized(arena, 1, sizeof *tables);
    if (!tables)
        return NULL;
    for (size_t i = 2; i < COARSE + 2; i++) {
        size_t n = i <= COARSE ? i : COARSE;
        tables->of_frames[i].count = n - 1;
        for (size_t pair = 0; pair < (size_t)CHUNKS * LANES; pair++)
            fill_lane(&tables->of_frames[i], pair, n);
    }
    return tables;
}

LOOPS float least_of(const float lanes[LANES])
{
    float least = lanes[0];
    for (size_t lane = 1; lane < LANES; lane++)
        least = lanes[lane] < least ? lanes[lane] : least;
    return least;
}

LOOPS float clamp_unit(float y)
{
    y = y > 0 ? y : 0;
    return y < 1 ? y : 1;
}

/* mmd_curve_normal_clamp() of a whole chunk. */
LOOPS void clamp_lanes(const coarse_chunk *chunk, const float *p, const float *q, float *y1,
                       float *y2)
{
    for (size_t lane = 0; lane < LANES; lane++) {
        float a = chunk->a[lane], b = chunk->b[lane], c = chunk->c[lane];
        float fixed1 = clamp_unit(y1[lane]), fixed2 = clamp_unit(y2[lane]);
        float free1 = clamp_unit((p[lane] - b * fixed2) / a);
        float free2 = clamp_unit((q[lane] - b * fixed1) / c);
        float cost1 = a * fixed1 * fixed1 + 2 * b * fixed1 * free2 + c * free2 * free2 -
                      2 * p[lane] * fixed1 - 2 * q[lane] * free2;
        float cost2 = a * free1 * free1 + 2 * b * free1 * fixed2 + c * fixed2 * fixed2 -
                      2 * p[lane] * free1 - 2 * q[lane] * fixed2;
        bool inside = fixed1 == y1[lane] && fixed2 == y2[lane], first = cost1 < cost2;
        y1[lane] = inside || first ? fixed1 : free1;
        y2[lane] = !inside && first ? free2 : fixed2;
    }
}

/* The violations of the pairs of one chunk, or numbers above `limit` where all are. */
LOOPS void find_violations(const coarse_table *table, const coarse_chunk *chunk,
                           const float *center, const float *half_width, float limit,
                           float violation[LANES])
{
    float p[LANES] = {0}, q[LANES] = {0}, y1[LANES], y2[LANES], outside = 0;
    for (size_t k = 0; k < table->count; k++)
        for (size_t lane = 0; lane < LANES; lane++) {
            float residual = center[k] - chunk->basis3[k][lane];
            p[lane] += chunk->basis1[k][lane] * residual;
            q[lane] += chunk->basis2[k][lane] * residual;
        }
    for (size_t lane = 0; lane < LANES; lane++) {
        y1[lane] = chunk->inverse11[lane] * p[lane] + chunk->inverse12[lane] * q[lane];
        y2[lane] = chunk->inverse12[lane] * p[lane] + chunk->inverse22[lane] * q[lane];
        float distance1 = fabsf(y1[lane] - 0.5f), distance2 = fabsf(y2[lane] - 0.5f);
        distance1 = distance1 > distance2 ? distance1 : distance2;
        outside = distance1 > outside ? distance1 : outside;
        violation[lane] = -1;
    }
    if (outside > 0.5f)
        clamp_lanes(chunk, p, q, y1, y2);
    for (size_t k = 0; k < table->count; k++) {
        for (size_t lane = 0; lane < LANES; lane++) {
            float residual = chunk->basis1[k][lane] * y1[lane] + chunk->basis2[k][lane] * y2[lane] +
                             chunk->basis3[k][lane] - center[k];
            float beyond = fabsf(residual) - half_width[k];
            violation[lane] = beyond > violation[lane] ? beyond : violation[lane];
        }
        if (k % 4 == 3 && least_of(violation) > limit)
            return;
    }
}

FUNCTION_OF(violations_of_chunk, find_violations,
            (const coarse_table *table, const coarse_chunk *chunk, const float *center,
             const float *half_width, float limit, float violation[LANES]),
            (table, chunk, center, half_width, limit, violation))

/* Of the tube with its ends, (0, 0) and (1, 1), between frames. */
static void resample(const float *values, size_t n, float first, float last, float *out)
{
    for (size_t k = 0; k + 1 < COARSE; k++) {
        double at = (double)(k + 1) / COARSE * (double)n;
        size_t i = (size_t)at;
        float before = i ? values[i - 1] : first, after = i < n - 1 ? values[i] : last;
        out[k] = before + (after - before) * (float)(at - (double)i);
    }
}

/* A tube as the tables take it. */
typedef struct coarse_tube {
    const coarse_table *table;
    const float *center, *half_width;
    float sampled_center[COARSE], sampled_half_width[COARSE];
} coarse_tube;

static void coarse_tube_init(const mmd_curve_grid_tables *tables, size_t n, const float *center,
                             const float *half_width, coarse_tube *tube)
{
    tube->table = &tables->of_frames[n <= COARSE ? n : COARSE + 1];
    tube->center = center, tube->half_width = half_width;
    if (n > COARSE) {
        resample(center, n, 0, 1, tube->sampled_center);
        resample(half_width, n, 0, 0, tube->sampled_half_width);
        tube->center = tube->sampled_center, tube->half_width = tube->sampled_half_width;
    }
}

float mmd_curve_grid_search(const mmd_curve_grid_tables *tables, size_t n, const float *center,
                            const float *half_width, float limit,
                            float violation[MMD_CURVE_CHUNKS * MMD_CURVE_LANES])
{
    coarse_tube tube;
    float least = INFINITY;
    coarse_tube_init(tables, n, center, half_width, &tube);
    for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
        float *of_chunk = violation + chunk * LANES;
        violations_of_chunk(tube.table, &tube.table->chunks[chunk], tube.center, tube.half_width,
                            limit, of_chunk);
        least = fminf(least, least_of(of_chunk));
    }
    return least;
}

bool mmd_curve_grid_has(const mmd_curve_grid_tables *tables, size_t n, const float *center,
                        const float *half_width, float limit, size_t *last_chunk, size_t *tried)
{
    coarse_tube tube;
    float violation[LANES];
    coarse_tube_init(tables, n, center, half_width, &tube);
    for (*tried = 1; *tried <= CHUNKS; ++*tried) {
        violations_of_chunk(tube.table, &tube.table->chunks[*last_chunk], tube.center,
                            tube.half_width, limit, violation);
        if (least_of(violation) <= limit)
            return true;
        *last_chunk = (*last_chunk + 1) % CHUNKS;
    }
    return false;
}

/* Descent */

enum { ROUNDS = 12, PRODUCTS = 10 };

/* The normal equations, and the sum of squares, as sums of each lane. */
typedef struct lane_sums {
    double products[PRODUCTS][LANES]; /* of rows i >= j: 00 10 11 20 21 22 30 31 32 33 */
    double gradient[4][LANES], total[LANES];
} lane_sums;

/* Without MMD's error in t, so that derivatives mean something: Newton's method, kept within the
   interval that the bisections have left. */
LOOPS void smooth_parameters(double x1, double x2, const double *x, double *t)
{
    enum { BISECTIONS = 5, STEPS = 3 };
    const double left = 1.0 / (1 << (BISECTIONS + 1));
    double middle[LANES];
    bisect_lanes(x1, x2, x, BISECTIONS, middle);
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
LOOPS void add_lanes(size_t first, size_t count, size_t n, const float *center, const double p[4],
                     lane_sums *sums)
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

LOOPS void add_frames(size_t n, const float *center, const double p[4], lane_sums *sums)
{
    for (size_t first = 0; first + 1 < n; first += LANES)
        add_lanes(first, n - 1 - first < LANES ? n - 1 - first : LANES, n, center, p, sums);
}

FUNCTION_OF(sum_frames, add_frames,
            (size_t n, const float *center, const double p[4], lane_sums *sums),
            (n, center, p, sums))

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
    sum_frames(n, center, p, &sums);
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

size_t mmd_curve_descend(size_t n, const float *center, double p[4])
{
    double best[4] = {p[0], p[1], p[2], p[3]};
    double m[4][4], gradient[4], kept_m[4][4] = {{0}}, kept_gradient[4] = {0}, step[4];
    double damping = 1e-3, least = INFINITY;
    size_t round = 0;
    while (round++ < ROUNDS) {
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
    return round < ROUNDS ? round : ROUNDS;
}
