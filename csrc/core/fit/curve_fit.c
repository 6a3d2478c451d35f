/* SPDX-License-Identifier: MIT */
/* The search for a curve in four stages, each for what the one before has not solved:

   1. Coarse: all pairs x1, x2 of a grid, y1 and y2 by least squares, judged by the largest
      violation of the tube. For curves of more than COARSE frames on samples of the tube.
   2. Refinement: from the best pairs downhill to the integers x1, x2 around.
   3. Integers: for each integer y1 near the optimum the tube leaves an interval of y2.
   4. Curves with one handle as MMD leaves it, for small violations.

   Each stage pays for its work, and the search ends where the credit does. */
#include "core/fit/fit.h"

#include "core/base/cpu.h"
#include "core/math/scalar.h"
#include "core/pose/sampling.h"

/* The loops over LANES numbers side by side. */
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
LOOPS void bisect_lanes(double x1, double x2, const double *x, double *t)
{
    double half = 0.5;
    for (size_t lane = 0; lane < LANES; lane++)
        t[lane] = 0.5;
    for (int i = 0; i < BISECTIONS; i++) {
        half /= 2;
        for (size_t lane = 0; lane < LANES; lane++) {
            double at = t[lane], s = 1 - at;
            double residual = 3 * s * s * at * x1 + 3 * s * at * at * x2 + at * at * at - x[lane];
            t[lane] = at + (residual < 0 ? half : residual > 0 ? -half : 0);
        }
    }
}

FUNCTION_OF(find_parameters, bisect_lanes, (double x1, double x2, const double *x, double *t),
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

/* Defines a function that minimizes a y1^2 + 2 b y1 y2 + c y2^2 - 2 p y1 - 2 q y2 over the box
   where the free minimum y1, y2 is outside of it: on one of two edges. */
#define CLAMP_MINIMUM(name, number)                                                                \
    static inline number name##_unit(number y)                                                     \
    {                                                                                              \
        y = y > 0 ? y : 0;                                                                         \
        return y < 1 ? y : 1;                                                                      \
    }                                                                                              \
    LOOPS void name(number a, number b, number c, number p, number q, number *y1, number *y2)      \
    {                                                                                              \
        number fixed1 = name##_unit(*y1), fixed2 = name##_unit(*y2);                               \
        number free1 = name##_unit((p - b * fixed2) / a);                                          \
        number free2 = name##_unit((q - b * fixed1) / c);                                          \
        number cost1 = a * fixed1 * fixed1 + 2 * b * fixed1 * free2 + c * free2 * free2 -          \
                       2 * p * fixed1 - 2 * q * free2;                                             \
        number cost2 = a * free1 * free1 + 2 * b * free1 * fixed2 + c * fixed2 * fixed2 -          \
                       2 * p * free1 - 2 * q * fixed2;                                             \
        bool inside = fixed1 == *y1 && fixed2 == *y2, first = cost1 < cost2;                       \
        *y1 = inside || first ? fixed1 : free1;                                                    \
        *y2 = !inside && first ? free2 : fixed2;                                                   \
    }

CLAMP_MINIMUM(clamp_double, double)
CLAMP_MINIMUM(clamp_float, float)

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

/* A tube as the tables take it: long ones are compared at samples only. */
typedef struct coarse_tube {
    const coarse_table *table;
    const float *center, *half_width;
    float sampled_center[COARSE], sampled_half_width[COARSE];
} coarse_tube;

/* By how much the best curve of each pair of a chunk violates a tube, as a fraction of the whole
   progress, or numbers above `limit` where all are. */
LOOPS void find_violations(const coarse_tube *tube, size_t index, float limit,
                           float violation[LANES])
{
    const coarse_chunk *chunk = &tube->table->chunks[index];
    const float *center = tube->center, *half_width = tube->half_width;
    size_t count = tube->table->count;
    float p[LANES] = {0}, q[LANES] = {0}, y1[LANES], y2[LANES], outside = 0;
    for (size_t k = 0; k < count; k++)
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
    for (size_t lane = 0; outside > 0.5f && lane < LANES; lane++)
        clamp_float(chunk->a[lane], chunk->b[lane], chunk->c[lane], p[lane], q[lane], &y1[lane],
                    &y2[lane]);
    for (size_t k = 0; k < count; k++) {
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
            (const coarse_tube *tube, size_t chunk, float limit, float violation[LANES]),
            (tube, chunk, limit, violation))

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

/* Clamps the tube of the scratch memory to 0..1. */
static void coarse_tube_init(mmd_curve_fit_scratch *scratch, size_t n, coarse_tube *tube)
{
    for (size_t k = 0; k + 1 < n; k++) {
        double from = mmd_clamp(scratch->lower[k], 0, 1), to = mmd_clamp(scratch->upper[k], 0, 1);
        scratch->center[k] = (float)((from + to) / 2);
        scratch->half_width[k] = (float)((to - from) / 2);
    }
    tube->table = &scratch->grid->of_frames[n <= COARSE ? n : COARSE + 1];
    tube->center = scratch->center, tube->half_width = scratch->half_width;
    if (n > COARSE) {
        resample(scratch->center, n, 0, 1, tube->sampled_center);
        resample(scratch->half_width, n, 0, 0, tube->sampled_half_width);
        tube->center = tube->sampled_center, tube->half_width = tube->sampled_half_width;
    }
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
enum { CHUNK_WORK = 10, PAIR_WORK = 14, INTEGER_WORK = 4 };

/* Pays for `count` times n samples; whether there was credit. */
static bool pay(mmd_curve_fit_scratch *scratch, size_t n, size_t count)
{
    scratch->credit -= (int64_t)(n * count);
    return scratch->credit >= 0;
}

bool mmd_curve_fit_scratch_init(mmd_arena *arena, const mmd_curve_grid_tables *grid,
                                size_t frame_count, mmd_curve_fit_scratch *scratch)
{
    size_t n = (frame_count < MMD_CURVE_MAX_FRAMES ? frame_count : MMD_CURVE_MAX_FRAMES) + 1;
    *scratch = (mmd_curve_fit_scratch){.grid = grid, .grid_violation = MMD_CURVE_GRID_VIOLATION};
    return MMD_ARENA_ARRAY(arena, scratch->lower, n) && MMD_ARENA_ARRAY(arena, scratch->upper, n) &&
           MMD_ARENA_ARRAY(arena, scratch->center, n) &&
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

/* y1 and y2 for one pair x1, x2, their sum of squares and largest violation of the tube. */
typedef struct candidate {
    int x1, x2;
    double y1, y2, squares, violation;
} candidate;

typedef struct search {
    mmd_curve_fit_scratch *scratch;
    size_t n;
    uint8_t *curve;
    uint64_t tried[128][2]; /* bits of pairs x1, x2 that stages 2 and 4 have tried */
} search;

/* The least squares of one pair over all frames; leaves its basis in the scratch memory. */
static void solve_pair(const search *s, candidate *out)
{
    const mmd_curve_fit_scratch *scratch = s->scratch;
    size_t n = s->n;
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
    clamp_double(m.a, m.b, m.c, p, q, &out->y1, &out->y2);
    out->squares = 0, out->violation = -1;
    for (size_t k = 0; k + 1 < n; k++) {
        double residual = samples[k].b1 * out->y1 + samples[k].b2 * out->y2 + samples[k].b3 -
                          (double)scratch->center[k];
        double violation = fabs(residual) - (double)scratch->half_width[k];
        out->squares += residual * residual;
        if (violation > out->violation) /* GCC 12 for ARM crashes by fmax() here */
            out->violation = violation;
    }
}

/* The interval of y2, in 127ths, that the tube leaves for x1, y1, x2; empty: lower > upper. */
static void interval_of_y2(const search *s, double y1, double *y2_lower, double *y2_upper)
{
    const curve_basis *samples = s->scratch->basis;
    const double *lower = s->scratch->lower, *upper = s->scratch->upper;
    size_t k = 0;
    *y2_lower = 0, *y2_upper = 127;
    for (; k + 1 < s->n && *y2_lower <= *y2_upper; k++) {
        double at = samples[k].b3 + samples[k].b1 * y1, slope = samples[k].b2 / 127;
        if (slope < 1e-12) {
            if (at < lower[k] - 1e-12 || at > upper[k] + 1e-12)
                *y2_upper = -1;
            continue;
        }
        *y2_lower = fmax(*y2_lower, (lower[k] - at) / slope);
        *y2_upper = fmin(*y2_upper, (upper[k] - at) / slope);
    }
    pay(s->scratch, k + 2, INTEGER_WORK);
}

/* Stage 3: integer y1 within `radius` of the candidate's and y2 within the tube, those that leave
   y2 the widest interval. The basis is that of the candidate's x1, x2. Where x1 = y1 and x2 = y2
   MMD draws a straight line: no such curve. */
static bool find_integers(const search *s, const candidate *near, int radius)
{
    int center = (int)lround(near->y1 * 127), first = center - radius, last = center + radius;
    first = first < 0 ? 0 : first;
    last = last > 127 ? 127 : last;
    double widest = -1;
    for (int y1 = first; y1 <= last; y1++) {
        double y2_lower, y2_upper;
        interval_of_y2(s, y1 / 127.0, &y2_lower, &y2_upper);
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
        s->curve[0] = (uint8_t)near->x1, s->curve[1] = (uint8_t)y1;
        s->curve[2] = (uint8_t)near->x2, s->curve[3] = (uint8_t)y2;
    }
    return widest >= 0;
}

/* Solves one pair, and tries integers when its violation is below `limit`. */
static bool try_pair(const search *s, candidate *pair, double limit, int radius)
{
    pair->squares = pair->violation = INFINITY;
    if (!pay(s->scratch, lanes_of(s->n), PAIR_WORK))
        return false;
    solve_pair(s, pair);
    return pair->violation < limit && find_integers(s, pair, radius);
}

/* Tries a pair near an optimum, unless that has been done: the best pairs of the grid often lead to
   the same optimum. `best` becomes it where its sum of squares is less. */
static bool try_near(search *s, int x1, int x2, candidate *best)
{
    candidate pair = {.x1 = x1, .x2 = x2};
    if (x1 < 0 || x1 > 127 || x2 < 0 || x2 > 127)
        return false;
    uint64_t *bits = &s->tried[x1][x2 / 64], bit = UINT64_C(1) << x2 % 64;
    if (*bits & bit)
        return false;
    *bits |= bit;
    bool found = try_pair(s, &pair, NEAR_VIOLATION, 4);
    if (pair.squares < best->squares)
        *best = pair;
    return found;
}

/* Stage 2: downhill to the best of the pairs around, and on in its direction while that is better;
   by steps of two, then of one and those of a knight. */
static bool refine(search *s, candidate *best)
{
    static const int8_t around[16][2] = {{1, 0},  {-1, 0}, {0, 1},  {0, -1}, {1, 1},  {-1, -1},
                                         {1, -1}, {-1, 1}, {2, 1},  {2, -1}, {-2, 1}, {-2, -1},
                                         {1, 2},  {-1, 2}, {1, -2}, {-1, -2}};
    for (int step = 2; step > 0; step--) {
        candidate from, last;
        do {
            from = *best;
            for (int i = 0; i < (step == 1 ? 16 : 8); i++)
                if (try_near(s, from.x1 + step * around[i][0], from.x2 + step * around[i][1], best))
                    return true;
            do {
                last = *best;
                if (try_near(s, 2 * last.x1 - from.x1, 2 * last.x2 - from.x2, best))
                    return true;
            } while (best->squares < last.squares);
        } while (best->squares < from.squares);
        if (best->violation > FAR_VIOLATION)
            return false;
    }
    return false;
}

/* Stage 4: (20, 20 | free) and (free | 107, 107). */
static bool search_one_handle(search *s)
{
    for (int x = 0; x <= 127; x++) {
        candidate start = {.x1 = 20, .x2 = x, .y1 = 20 / 127.0}, end = {0};
        if (!pay(s->scratch, lanes_of(s->n), PAIR_WORK))
            return false;
        evaluate_basis(start.x1, start.x2, s->n, s->scratch->basis);
        if (find_integers(s, &start, 0) || try_near(s, x, 107, &end))
            return true;
    }
    return false;
}

typedef enum tube_kind { TUBE_EMPTY, TUBE_OF_LINE, TUBE_OF_CURVE } tube_kind;

/* A curve with control points within 0..1 never turns back, so that a tube whose running maximum of
   `lower` passes `upper` holds none: exact, and cheap. */
static tube_kind classify(const mmd_curve_fit_scratch *scratch, size_t n)
{
    const double *lower = scratch->lower, *upper = scratch->upper;
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

/* Begins with the chunk of the last curve: a segment that grows by a few frames needs about the
   same one. */
bool mmd_curve_fit_exists(mmd_curve_fit_scratch *scratch, size_t n)
{
    float violation[LANES];
    coarse_tube tube;
    tube_kind kind = classify(scratch, n);
    if (kind != TUBE_OF_CURVE)
        return kind == TUBE_OF_LINE;
    coarse_tube_init(scratch, n, &tube);
    size_t tried = 1;
    for (; tried <= CHUNKS; tried++) {
        violations_of_chunk(&tube, scratch->last_chunk, scratch->grid_violation, violation);
        if (least_of(violation) <= scratch->grid_violation)
            break;
        scratch->last_chunk = (scratch->last_chunk + 1) % CHUNKS;
    }
    pay_grid(scratch, n, tried);
    return tried <= CHUNKS;
}

bool mmd_curve_fit(mmd_curve_fit_scratch *scratch, size_t n, uint8_t curve[4])
{
    static const uint8_t line[4] = {20, 20, 107, 107};
    float violation[CHUNKS * LANES], limit = 2 * scratch->grid_violation, least = INFINITY;
    coarse_tube tube;
    tube_kind kind = classify(scratch, n);
    if (kind == TUBE_OF_LINE)
        memcpy(curve, line, sizeof line);
    if (kind != TUBE_OF_CURVE)
        return kind == TUBE_OF_LINE;
    if (!pay_grid(scratch, n, CHUNKS))
        return false;
    coarse_tube_init(scratch, n, &tube);
    for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
        violations_of_chunk(&tube, chunk, limit, violation + chunk * LANES);
        least = fminf(least, least_of(violation + chunk * LANES));
    }
    if (least > limit)
        return false;
    search s = {scratch, n, curve, {{0}}};
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

bool mmd_curve_fit_is_within(const mmd_curve_fit_scratch *scratch, size_t n, const uint8_t curve[4])
{
    for (size_t k = 0; k + 1 < n; k++) {
        double y = mmd_sampling_bezier(curve, (double)(k + 1) / (double)n);
        if (y < scratch->lower[k] - 1e-9 || y > scratch->upper[k] + 1e-9)
            return false;
    }
    return true;
}
