/* SPDX-License-Identifier: MIT */
/* The search for a curve in four stages, each for what the one before has not solved:

   1. Coarse: all pairs x1, x2 of a grid, y1 and y2 by least squares, judged by the largest
      violation of the tube. For curves of more than COARSE frames on samples of the tube.
   2. Refinement: Levenberg-Marquardt from the best pairs, then the integers x1, x2 around.
   3. Integers: for each integer y1 near the optimum the tube leaves an interval of y2.
   4. Curves with one handle as MMD leaves it, for small violations.

   Each stage pays for its work, and the search ends where the credit does. */
#include "core/fit/fit.h"

#include "core/base/cpu.h"
#include "core/math/scalar.h"
#include "core/pose/sampling.h"

/* The grid and the descent, by loops over LANES numbers side by side. */
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

enum {
    LANES = 16, /* numbers or pairs side by side */
    GRID = 19,
    PAIRS = GRID * GRID,
    CHUNKS = (PAIRS + LANES - 1) / LANES,
    BISECTIONS = 12, /* of MMD's search for t: docs/mmd-behavior.md#bezier */
    COARSE = 32      /* frames of the grid's tables; longer tubes are sampled */
};

/* 20 and 107 are MMD's straight line: most hand-made curves leave one handle there. */
static const uint8_t grid_values[GRID] = {0,  8,  16, 20, 24,  32,  40,  48,  56, 64,
                                          72, 80, 88, 96, 104, 107, 112, 120, 127};

/* Of one frame: progress = b1 y1 + b2 y2 + b3. */
typedef struct mmd_curve_basis {
    double b1, b2, b3;
} curve_basis;

/* The matrix [a b; b c] of the normal equations, kept away from singular by a trace of damping. */
typedef struct normal_matrix {
    double a, b, c;
} normal_matrix;

#define NORMAL_INIT                                                                                \
    {                                                                                              \
        1e-9, 0, 1e-9                                                                              \
    }

static inline double determinant_of(const normal_matrix *m)
{
    return m->a * m->c - m->b * m->b + 1e-14;
}

static inline void add_to_normal(const curve_basis *at, normal_matrix *sums)
{
    sums->a += at->b1 * at->b1;
    sums->b += at->b1 * at->b2;
    sums->c += at->b2 * at->b2;
}

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
    bisect_lanes(x1, x2, x, BISECTIONS, t);
}

FUNCTION_OF(find_parameters, bisect_as_mmd, (double x1, double x2, const double *x, double *t),
            (x1, x2, x, t))

/* The basis of a pair x1, x2 in 127ths at k / n, 0 < k < n. */
static void evaluate_basis(int x1, int x2, size_t n, curve_basis *out)
{
    double x[LANES], t[LANES];
    for (size_t first = 0; first + 1 < n; first += LANES) {
        size_t count = n - 1 - first < LANES ? n - 1 - first : LANES;
        for (size_t lane = 0; lane < LANES; lane++)
            x[lane] = (double)(first + lane + 1) / (double)n;
        find_parameters(x1 / 127.0, x2 / 127.0, x, t);
        for (size_t lane = 0; lane < count; lane++) {
            double at = t[lane], s = 1 - at;
            out[first + lane] = (curve_basis){3 * s * s * at, 3 * s * at * at, at * at * at};
        }
    }
}

/* Minimizes a y1^2 + 2 b y1 y2 + c y2^2 - 2 p y1 - 2 q y2 over the box where the free minimum
   y1, y2 is outside of it: on one of two edges. */
static void clamp_minimum(const normal_matrix *m, double p, double q, double *y1, double *y2)
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
    normal_matrix sum = NORMAL_INIT;
    curve_basis samples[COARSE];
    evaluate_basis(grid_values[known / GRID], grid_values[known % GRID], n, samples);
    for (size_t k = 0; k < table->count; k++) {
        chunk->basis1[k][lane] = (float)samples[k].b1;
        chunk->basis2[k][lane] = (float)samples[k].b2;
        chunk->basis3[k][lane] = (float)samples[k].b3;
        add_to_normal(&samples[k], &sum);
    }
    double scale = 1 / determinant_of(&sum);
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

/* clamp_minimum() of a whole chunk. */
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

/* For each pair of the grid, by how much its best curve violates a tube with these centers and half
   widths (n - 1,), as a fraction of the whole progress, or a number above `limit` where it is
   above. Long tubes are compared at samples only. Returns the least violation and writes those of
   all pairs. */
static float search_grid(const mmd_curve_grid_tables *tables, size_t n, const float *center,
                         const float *half_width, float limit, float violation[CHUNKS * LANES])
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

/* Whether any of these violations is at most `limit`. Starts at the chunk `last_chunk` and sets it
   to the chunk of such a pair: a segment that grows by a few frames needs about the same curve.
   Writes how many chunks it tried. */
static bool grid_has(const mmd_curve_grid_tables *tables, size_t n, const float *center,
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
    enum { FIRST_BISECTIONS = 5, STEPS = 3 };
    const double left = 1.0 / (1 << (FIRST_BISECTIONS + 1));
    double middle[LANES];
    bisect_lanes(x1, x2, x, FIRST_BISECTIONS, middle);
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

/* Moves the control points p = x1 y1 x2 y2, each within 0..1, to where the curve's distances from
   `center`, (n - 1,) the progress at k / n, 0 < k < n, have the least sum of squares nearby.
   Returns the number of rounds it took. */
static size_t descend(size_t n, const float *center, double p[4])
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

/* The stages */

enum {
    BEST_PAIRS = 4,
    MAX_RETRIED = 24, /* curves of more frames do without stage 4 */
};

/* Violations of the tube, as a fraction of the whole progress. Above twice grid_violation on the
   grid, refinement has found no curve. */
static const float RETRY_VIOLATION = 0.004f;
static const double TRY_VIOLATION = 0.003, NEAR_VIOLATION = 0.002, FAR_VIOLATION = 0.01;

/* Of a sample of the tube, in units of about a nanosecond. */
enum { CHUNK_WORK = 10, PAIR_WORK = 14, INTEGER_WORK = 4, DESCENT_WORK = 16 };

/* Pays for `count` times n samples; whether there was credit. */
static bool pay(mmd_curve_fit_scratch *scratch, size_t n, size_t count)
{
    scratch->credit -= (int64_t)(n * count);
    return scratch->credit >= 0;
}

bool mmd_curve_fit_scratch_init(mmd_arena *arena, const mmd_curve_grid_tables *grid,
                                size_t max_frames, mmd_curve_fit_scratch *scratch)
{
    size_t n = max_frames + 1;
    *scratch = (mmd_curve_fit_scratch){.grid = grid, .grid_violation = MMD_CURVE_GRID_VIOLATION};
    return MMD_ARENA_ARRAY(arena, scratch->center, n) &&
           MMD_ARENA_ARRAY(arena, scratch->half_width, n) &&
           MMD_ARENA_ARRAY(arena, scratch->basis, n);
}

/* The samples of a tube, side by side. */
static size_t lanes_of(size_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

static bool pay_grid(mmd_curve_fit_scratch *scratch, size_t n, size_t chunks)
{
    return pay(scratch, n < COARSE ? n : COARSE, CHUNK_WORK * chunks);
}

/* y1, y2 and the largest violation of the tube for one pair x1, x2. */
typedef struct candidate {
    int x1, x2;
    double y1, y2, violation;
} candidate;

/* The least squares of one pair over all frames; leaves its basis in the scratch memory. */
static void solve_pair(mmd_curve_fit_scratch *scratch, size_t n, candidate *out)
{
    double p = 0, q = 0;
    normal_matrix m = NORMAL_INIT;
    const curve_basis *samples = scratch->basis;
    evaluate_basis(out->x1, out->x2, n, scratch->basis);
    for (size_t k = 0; k + 1 < n; k++) {
        double residual = (double)scratch->center[k] - samples[k].b3;
        add_to_normal(&samples[k], &m);
        p += samples[k].b1 * residual, q += samples[k].b2 * residual;
    }
    double scale = 1 / determinant_of(&m);
    out->y1 = (m.c * p - m.b * q) * scale;
    out->y2 = (m.a * q - m.b * p) * scale;
    clamp_minimum(&m, p, q, &out->y1, &out->y2);
    out->violation = -1;
    for (size_t k = 0; k + 1 < n; k++) {
        double residual = samples[k].b1 * out->y1 + samples[k].b2 * out->y2 + samples[k].b3 -
                          (double)scratch->center[k];
        double violation = fabs(residual) - (double)scratch->half_width[k];
        if (violation > out->violation) /* GCC 12 for ARM crashes by fmax() here */
            out->violation = violation;
    }
}

/* The interval of y2, in 127ths, that the tube leaves for x1, y1, x2; empty: lower > upper. */
static void interval_of_y2(mmd_curve_fit_scratch *scratch, size_t n, double y1, const double *lower,
                           const double *upper, double *y2_lower, double *y2_upper)
{
    const curve_basis *samples = scratch->basis;
    size_t k = 0;
    *y2_lower = 0, *y2_upper = 127;
    for (; k + 1 < n && *y2_lower <= *y2_upper; k++) {
        double at = samples[k].b3 + samples[k].b1 * y1, slope = samples[k].b2 / 127;
        if (slope < 1e-12) {
            if (at < lower[k] - 1e-12 || at > upper[k] + 1e-12)
                *y2_upper = -1;
            continue;
        }
        *y2_lower = fmax(*y2_lower, (lower[k] - at) / slope);
        *y2_upper = fmin(*y2_upper, (upper[k] - at) / slope);
    }
    pay(scratch, k + 2, INTEGER_WORK);
}

/* Stage 3: integer y1 within `radius` of the candidate's and y2 within the tube, those that leave
   y2 the widest interval. The basis is that of the candidate's x1, x2. Where x1 = y1 and x2 = y2
   MMD draws a straight line: no such curve. */
static bool find_integers(mmd_curve_fit_scratch *scratch, size_t n, const double *lower,
                          const double *upper, const candidate *near, int radius, uint8_t curve[4])
{
    int center = (int)lround(near->y1 * 127), first = center - radius, last = center + radius;
    first = first < 0 ? 0 : first;
    last = last > 127 ? 127 : last;
    double widest = -1;
    for (int y1 = first; y1 <= last; y1++) {
        double y2_lower, y2_upper;
        interval_of_y2(scratch, n, y1 / 127.0, lower, upper, &y2_lower, &y2_upper);
        int y2 = (int)ceil(y2_lower - 1e-9);
        if (y2_lower > y2_upper + 1e-9 || y2 > y2_upper + 1e-9)
            continue;
        int middle = (int)lround((y2_lower + y2_upper) / 2);
        if (middle >= y2_lower - 1e-9 && middle <= y2_upper + 1e-9)
            y2 = middle;
        bool is_line = near->x1 == y1 && near->x2 == y2;
        if (is_line || y2_upper - y2_lower <= widest)
            continue;
        widest = y2_upper - y2_lower;
        curve[0] = (uint8_t)near->x1, curve[1] = (uint8_t)y1;
        curve[2] = (uint8_t)near->x2, curve[3] = (uint8_t)y2;
    }
    return widest >= 0;
}

typedef struct search {
    mmd_curve_fit_scratch *scratch;
    size_t n;
    const double *lower, *upper;
    uint8_t *curve;
    uint64_t tried[128][2]; /* bits of pairs x1, x2 that stages 2 and 4 have tried */
} search;

/* Solves one pair, and tries integers when its violation is below `limit`. */
static bool try_pair(const search *s, candidate *pair, double limit, int radius)
{
    pair->violation = INFINITY;
    if (!pay(s->scratch, lanes_of(s->n), PAIR_WORK))
        return false;
    solve_pair(s->scratch, s->n, pair);
    return pair->violation < limit &&
           find_integers(s->scratch, s->n, s->lower, s->upper, pair, radius, s->curve);
}

/* Tries a pair near an optimum, unless that has been done: the best pairs of the grid often lead to
   the same optimum. */
static bool try_near(search *s, candidate *pair)
{
    pair->violation = INFINITY;
    if (pair->x1 < 0 || pair->x1 > 127 || pair->x2 < 0 || pair->x2 > 127)
        return false;
    uint64_t *bits = &s->tried[pair->x1][pair->x2 / 64], bit = UINT64_C(1) << pair->x2 % 64;
    if (*bits & bit)
        return false;
    *bits |= bit;
    return try_pair(s, pair, NEAR_VIOLATION, 4);
}

/* Stage 2: the integers around the optimum, the nearest first. */
static bool refine(search *s, candidate *pair)
{
    static const int8_t around[25][2] = {
        {0, 0},  {1, 0},  {-1, 0},  {0, 1},  {0, -1}, {1, 1},  {-1, -1}, {1, -1},  {-1, 1},
        {2, 0},  {-2, 0}, {0, 2},   {0, -2}, {2, 1},  {2, -1}, {-2, 1},  {-2, -1}, {1, 2},
        {-1, 2}, {1, -2}, {-1, -2}, {2, 2},  {2, -2}, {-2, 2}, {-2, -2}};
    double p[4] = {pair->x1 / 127.0, pair->y1, pair->x2 / 127.0, pair->y2};
    size_t rounds = descend(s->n, s->scratch->center, p);
    if (!pay(s->scratch, lanes_of(s->n), rounds * DESCENT_WORK))
        return false;
    pair->x1 = (int)lround(127 * p[0]);
    pair->x2 = (int)lround(127 * p[2]);
    for (int i = 0; i < 25; i++) {
        candidate next = {.x1 = pair->x1 + around[i][0], .x2 = pair->x2 + around[i][1]};
        if (try_near(s, &next))
            return true;
        if (i == 0 && next.violation > FAR_VIOLATION)
            break;
    }
    return false;
}

/* Stage 4: (20, 20 | free) and (free | 107, 107). */
static bool search_one_handle(search *s)
{
    for (int x = 0; x <= 127; x++) {
        candidate start = {.x1 = 20, .x2 = x, .y1 = 20 / 127.0}, end = {.x1 = x, .x2 = 107};
        if (!pay(s->scratch, lanes_of(s->n), PAIR_WORK))
            return false;
        evaluate_basis(start.x1, start.x2, s->n, s->scratch->basis);
        if (find_integers(s->scratch, s->n, s->lower, s->upper, &start, 0, s->curve) ||
            try_near(s, &end))
            return true;
    }
    return false;
}

typedef enum tube_kind { TUBE_EMPTY, TUBE_OF_LINE, TUBE_OF_CURVE } tube_kind;

/* A curve with control points within 0..1 never turns back, so that a tube whose running maximum of
   `lower` passes `upper` holds none: exact, and cheap. */
static tube_kind classify(size_t n, const double *lower, const double *upper)
{
    tube_kind kind = TUBE_OF_LINE;
    double top = 0;
    for (size_t k = 0; k + 1 < n; k++) {
        double x = (double)(k + 1) / (double)n;
        top = fmax(top, lower[k]);
        if (top > upper[k] || lower[k] > 1 || upper[k] < 0)
            return TUBE_EMPTY;
        if (x < lower[k] || x > upper[k])
            kind = TUBE_OF_CURVE;
    }
    return kind;
}

static void clamp_tube(mmd_curve_fit_scratch *scratch, size_t n, const double *lower,
                       const double *upper)
{
    for (size_t k = 0; k + 1 < n; k++) {
        double from = mmd_clamp(lower[k], 0, 1), to = mmd_clamp(upper[k], 0, 1);
        scratch->center[k] = (float)((from + to) / 2);
        scratch->half_width[k] = (float)((to - from) / 2);
    }
}

bool mmd_curve_fit_exists(mmd_curve_fit_scratch *scratch, size_t n, const double *lower,
                          const double *upper)
{
    tube_kind kind = classify(n, lower, upper);
    if (kind != TUBE_OF_CURVE)
        return kind == TUBE_OF_LINE;
    clamp_tube(scratch, n, lower, upper);
    size_t tried;
    bool found = grid_has(scratch->grid, n, scratch->center, scratch->half_width,
                          scratch->grid_violation, &scratch->last_chunk, &tried);
    pay_grid(scratch, n, tried);
    return found;
}

bool mmd_curve_fit(mmd_curve_fit_scratch *scratch, size_t n, const double *lower,
                   const double *upper, uint8_t curve[4])
{
    static const uint8_t line[4] = {20, 20, 107, 107};
    float violation[CHUNKS * LANES], limit = 2 * scratch->grid_violation;
    tube_kind kind = classify(n, lower, upper);
    if (kind == TUBE_OF_LINE)
        memcpy(curve, line, sizeof line);
    if (kind != TUBE_OF_CURVE)
        return kind == TUBE_OF_LINE;
    if (!pay_grid(scratch, n, CHUNKS))
        return false;
    clamp_tube(scratch, n, lower, upper);
    float least =
        search_grid(scratch->grid, n, scratch->center, scratch->half_width, limit, violation);
    if (least > limit)
        return false;
    search s = {scratch, n, lower, upper, curve, {{0}}};
    for (int i = 0; i < BEST_PAIRS && scratch->credit >= 0; i++) {
        size_t best = 0;
        for (size_t pair = 1; pair < PAIRS; pair++)
            best = violation[pair] < violation[best] ? pair : best;
        violation[best] = INFINITY;
        candidate pair = {.x1 = grid_values[best / GRID], .x2 = grid_values[best % GRID]};
        if (try_pair(&s, &pair, TRY_VIOLATION, 8) || refine(&s, &pair))
            return true;
        bool retries = i == 0 && n <= MAX_RETRIED && least < RETRY_VIOLATION;
        if (retries && search_one_handle(&s))
            return true;
    }
    return false;
}

bool mmd_curve_fit_is_within(const uint8_t curve[4], size_t n, const double *lower,
                             const double *upper)
{
    for (size_t k = 0; k + 1 < n; k++) {
        double y = mmd_sampling_bezier(curve, (double)(k + 1) / (double)n);
        if (y < lower[k] - 1e-9 || y > upper[k] + 1e-9)
            return false;
    }
    return true;
}
