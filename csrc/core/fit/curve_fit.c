/* SPDX-License-Identifier: MIT */
/* The search for a curve in four stages, each for what the one before has not solved:

   1. Coarse: all pairs x1, x2 of a grid, y1 and y2 by least squares, judged by the largest
      violation of the tube. For curves of more than COARSE frames on samples of the tube.
   2. Refinement: Levenberg-Marquardt from the best pairs, then the integers x1, x2 around.
   3. Integers: for each integer y1 near the optimum the tube leaves an interval of y2.
   4. The neighborhood of small violations, and curves with one handle as MMD leaves it.

   Each stage pays for its work, and the search ends where the credit does. */
#include "core/fit/curve_fit.h"

#include "core/math/scalar.h"
#include "core/pose/sampling.h"

#include <math.h>
#include <string.h>

enum {
    BEST_PAIRS = 4,
    NEIGHBORHOOD = 24, /* curves of more frames do without stage 4 */
};

/* Violations of the tube, as a fraction of the whole progress. Above twice grid_violation on the
   grid, refinement has found no curve. */
static const float RETRY_VIOLATION = 0.004f;
static const double TRY_VIOLATION = 0.003, NEAR_VIOLATION = 0.002, CLOSE_VIOLATION = 0.001;
static const double FAR_VIOLATION = 0.01;

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

/* The samples of a tube as curve_search.c takes them: side by side. */
static size_t lanes_of(size_t n)
{
    return (n + MMD_CURVE_LANES - 1) / MMD_CURVE_LANES * MMD_CURVE_LANES;
}

static bool pay_grid(mmd_curve_fit_scratch *scratch, size_t n, size_t chunks)
{
    return pay(scratch, n < MMD_CURVE_COARSE ? n : MMD_CURVE_COARSE, CHUNK_WORK * chunks);
}

/* y1, y2, the largest violation of the tube and the sum of squares for one pair x1, x2. */
typedef struct candidate {
    int x1, x2;
    double y1, y2, violation, sum;
} candidate;

/* The least squares of one pair over all frames; leaves its basis in the scratch memory. */
static void solve_pair(mmd_curve_fit_scratch *scratch, size_t n, candidate *out)
{
    double p = 0, q = 0;
    mmd_curve_normal m = MMD_CURVE_NORMAL_INIT;
    const mmd_curve_basis *samples = scratch->basis;
    mmd_curve_basis_evaluate(out->x1, out->x2, n, scratch->basis);
    for (size_t k = 0; k + 1 < n; k++) {
        double residual = (double)scratch->center[k] - samples[k].b3;
        mmd_curve_normal_add(&samples[k], &m);
        p += samples[k].b1 * residual, q += samples[k].b2 * residual;
    }
    double scale = 1 / mmd_curve_normal_determinant(&m);
    out->y1 = (m.c * p - m.b * q) * scale;
    out->y2 = (m.a * q - m.b * p) * scale;
    mmd_curve_normal_clamp(&m, p, q, &out->y1, &out->y2);
    out->violation = -1, out->sum = 0;
    for (size_t k = 0; k + 1 < n; k++) {
        double residual = samples[k].b1 * out->y1 + samples[k].b2 * out->y2 + samples[k].b3 -
                          (double)scratch->center[k];
        out->violation = fmax(out->violation, fabs(residual) - (double)scratch->half_width[k]);
        out->sum += residual * residual;
    }
}

/* The interval of y2, in 127ths, that the tube leaves for x1, y1, x2; empty: lower > upper. */
static void interval_of_y2(mmd_curve_fit_scratch *scratch, size_t n, double y1, const double *lower,
                           const double *upper, double *y2_lower, double *y2_upper)
{
    const mmd_curve_basis *samples = scratch->basis;
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
    size_t rounds = mmd_curve_descend(s->n, s->scratch->center, p);
    if (!pay(s->scratch, lanes_of(s->n), rounds * DESCENT_WORK))
        return false;
    pair->x1 = (int)lround(127 * p[0]);
    pair->x2 = (int)lround(127 * p[2]);
    candidate best = {.violation = INFINITY};
    for (int i = 0; i < 25; i++) {
        candidate next = {.x1 = pair->x1 + around[i][0], .x2 = pair->x2 + around[i][1]};
        if (try_near(s, &next))
            return true;
        if (next.violation < best.violation)
            best = next;
        if (i == 0 && next.violation > FAR_VIOLATION)
            break;
    }
    *pair = best;
    return false;
}

/* Stage 4 around a small violation. */
static bool search_neighborhood(search *s, const candidate *best)
{
    for (int x1 = best->x1 - 6; x1 <= best->x1 + 6; x1++)
        for (int x2 = best->x2 - 6; x2 <= best->x2 + 6; x2++) {
            candidate next = {.x1 = x1, .x2 = x2};
            if (try_near(s, &next))
                return true;
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
        mmd_curve_basis_evaluate(start.x1, start.x2, s->n, s->scratch->basis);
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
    bool found = mmd_curve_grid_has(scratch->grid, n, scratch->center, scratch->half_width,
                                    scratch->grid_violation, &scratch->last_chunk, &tried);
    pay_grid(scratch, n, tried);
    return found;
}

bool mmd_curve_fit(mmd_curve_fit_scratch *scratch, size_t n, const double *lower,
                   const double *upper, uint8_t curve[4])
{
    static const uint8_t line[4] = {20, 20, 107, 107};
    float violation[MMD_CURVE_CHUNKS * MMD_CURVE_LANES], limit = 2 * scratch->grid_violation;
    tube_kind kind = classify(n, lower, upper);
    if (kind == TUBE_OF_LINE)
        memcpy(curve, line, sizeof line);
    if (kind != TUBE_OF_CURVE)
        return kind == TUBE_OF_LINE;
    if (!pay_grid(scratch, n, MMD_CURVE_CHUNKS))
        return false;
    clamp_tube(scratch, n, lower, upper);
    float least = mmd_curve_grid_search(scratch->grid, n, scratch->center, scratch->half_width,
                                        limit, violation);
    if (least > limit)
        return false;
    search s = {scratch, n, lower, upper, curve, {{0}}};
    for (int i = 0; i < BEST_PAIRS && scratch->credit >= 0; i++) {
        size_t best = 0;
        for (size_t pair = 1; pair < MMD_CURVE_PAIRS; pair++)
            best = violation[pair] < violation[best] ? pair : best;
        violation[best] = INFINITY;
        candidate pair = {.x1 = mmd_curve_grid_values[best / MMD_CURVE_GRID],
                          .x2 = mmd_curve_grid_values[best % MMD_CURVE_GRID]};
        if (try_pair(&s, &pair, TRY_VIOLATION, 8) || refine(&s, &pair))
            return true;
        if (n > NEIGHBORHOOD)
            continue;
        if (pair.violation < CLOSE_VIOLATION && search_neighborhood(&s, &pair))
            return true;
        if (i == 0 && least < RETRY_VIOLATION && search_one_handle(&s))
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
