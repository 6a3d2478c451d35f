/* SPDX-License-Identifier: MIT */
/* The search for a curve in five stages, each for what the one before has not solved:

   1. Coarse: all pairs x1, x2 of a grid, y1 and y2 by least squares, judged by the largest
      violation of the tube. For curves of more than COARSE frames on samples of the tube.
   2. Refinement: Levenberg-Marquardt from the best pairs, then the integers x1, x2 around.
   3. Integers: for each integer y1 near the optimum the tube leaves an interval of y2.
   4. The neighborhood of small violations, and curves with one handle as MMD leaves it.
   5. Of few frames, instead of stage 4: all curves. */
#include "core/fit/curve_fit.h"

#include "core/fit/curve_descent.h"
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

bool mmd_curve_fit_tables_init(mmd_arena *arena, mmd_curve_fit_tables *tables)
{
    tables->grid = mmd_curve_grid_tables_new(arena);
    tables->few = mmd_curve_short_tables_new(arena);
    return tables->grid && tables->few;
}

bool mmd_curve_fit_scratch_init(mmd_arena *arena, const mmd_curve_fit_tables *tables,
                                size_t max_frames, mmd_curve_fit_scratch *scratch)
{
    size_t n = max_frames + 1;
    *scratch = (mmd_curve_fit_scratch){
        .tables = tables,
        .grid_violation = MMD_CURVE_GRID_VIOLATION,
        .center = mmd_arena_alloc(arena, n, sizeof *scratch->center),
        .half_width = mmd_arena_alloc(arena, n, sizeof *scratch->half_width),
        .basis = mmd_arena_alloc(arena, n, sizeof *scratch->basis),
    };
    return scratch->center && scratch->half_width && scratch->basis;
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
static void interval_of_y2(const mmd_curve_basis *samples, size_t n, double y1, const double *lower,
                           const double *upper, double *y2_lower, double *y2_upper)
{
    *y2_lower = 0, *y2_upper = 127;
    for (size_t k = 0; k + 1 < n && *y2_lower <= *y2_upper; k++) {
        double at = samples[k].b3 + samples[k].b1 * y1, slope = samples[k].b2 / 127;
        if (slope < 1e-12) {
            if (at < lower[k] - 1e-12 || at > upper[k] + 1e-12)
                *y2_upper = -1;
            continue;
        }
        *y2_lower = fmax(*y2_lower, (lower[k] - at) / slope);
        *y2_upper = fmin(*y2_upper, (upper[k] - at) / slope);
    }
}

/* Stage 3: integer y1 within `radius` of the candidate's and y2 within the tube, those that leave
   y2 the widest interval. The basis is that of the candidate's x1, x2. Where x1 = y1 and x2 = y2
   MMD draws a straight line: no such curve. */
static bool find_integers(const mmd_curve_fit_scratch *scratch, size_t n, const double *lower,
                          const double *upper, const candidate *near, int radius, uint8_t curve[4])
{
    int center = (int)lround(near->y1 * 127), first = center - radius, last = center + radius;
    first = first < 0 ? 0 : first;
    last = last > 127 ? 127 : last;
    double widest = -1;
    for (int y1 = first; y1 <= last; y1++) {
        double y2_lower, y2_upper;
        interval_of_y2(scratch->basis, n, y1 / 127.0, lower, upper, &y2_lower, &y2_upper);
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
} search;

/* Solves one pair, and tries integers when its violation is below `limit`. */
static bool try_pair(const search *s, candidate *pair, double limit, int radius)
{
    solve_pair(s->scratch, s->n, pair);
    return pair->violation < limit &&
           find_integers(s->scratch, s->n, s->lower, s->upper, pair, radius, s->curve);
}

static bool in_range(int value)
{
    return value >= 0 && value <= 127;
}

/* Stage 2: the integers around the optimum, the nearest first. */
static bool refine(const search *s, candidate *pair)
{
    static const int8_t around[25][2] = {
        {0, 0},  {1, 0},  {-1, 0},  {0, 1},  {0, -1}, {1, 1},  {-1, -1}, {1, -1},  {-1, 1},
        {2, 0},  {-2, 0}, {0, 2},   {0, -2}, {2, 1},  {2, -1}, {-2, 1},  {-2, -1}, {1, 2},
        {-1, 2}, {1, -2}, {-1, -2}, {2, 2},  {2, -2}, {-2, 2}, {-2, -2}};
    double p[4] = {pair->x1 / 127.0, pair->y1, pair->x2 / 127.0, pair->y2};
    mmd_curve_descend(s->n, s->scratch->center, p);
    pair->x1 = (int)lround(127 * p[0]);
    pair->x2 = (int)lround(127 * p[2]);
    candidate best = {.violation = INFINITY};
    for (int i = 0; i < 25; i++) {
        candidate next = {.x1 = pair->x1 + around[i][0], .x2 = pair->x2 + around[i][1]};
        if (!in_range(next.x1) || !in_range(next.x2))
            continue;
        if (try_pair(s, &next, NEAR_VIOLATION, 4))
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
static bool search_neighborhood(const search *s, const candidate *best)
{
    for (int x1 = best->x1 - 6; x1 <= best->x1 + 6; x1++)
        for (int x2 = best->x2 - 6; x2 <= best->x2 + 6; x2++) {
            candidate next = {.x1 = x1, .x2 = x2};
            if (in_range(x1) && in_range(x2) && try_pair(s, &next, NEAR_VIOLATION, 4))
                return true;
        }
    return false;
}

/* Stage 4: (20, 20 | free) and (free | 107, 107). */
static bool search_one_handle(const search *s)
{
    for (int x = 0; x <= 127; x++) {
        candidate start = {.x1 = 20, .x2 = x, .y1 = 20 / 127.0}, end = {.x1 = x, .x2 = 107};
        mmd_curve_basis_evaluate(start.x1, start.x2, s->n, s->scratch->basis);
        if (find_integers(s->scratch, s->n, s->lower, s->upper, &start, 0, s->curve) ||
            try_pair(s, &end, NEAR_VIOLATION, 4))
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
    return mmd_curve_grid_has(scratch->tables->grid, n, scratch->center, scratch->half_width,
                              scratch->grid_violation, &scratch->last_chunk);
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
    clamp_tube(scratch, n, lower, upper);
    float least = mmd_curve_grid_search(scratch->tables->grid, n, scratch->center,
                                        scratch->half_width, limit, violation);
    if (least > limit)
        return false;
    search s = {scratch, n, lower, upper, curve};
    bool few = n >= MMD_CURVE_SHORT_MIN && n <= MMD_CURVE_SHORT_MAX;
    double closest = INFINITY;
    for (int i = 0; i < BEST_PAIRS; i++) {
        size_t best = 0;
        for (size_t pair = 1; pair < MMD_CURVE_PAIRS; pair++)
            best = violation[pair] < violation[best] ? pair : best;
        violation[best] = INFINITY;
        candidate pair = {.x1 = mmd_curve_grid_values[best / MMD_CURVE_GRID],
                          .x2 = mmd_curve_grid_values[best % MMD_CURVE_GRID]};
        if (try_pair(&s, &pair, TRY_VIOLATION, 8) || refine(&s, &pair))
            return true;
        closest = fmin(closest, pair.violation);
        if (n > NEIGHBORHOOD || few)
            continue;
        if (pair.violation < CLOSE_VIOLATION && search_neighborhood(&s, &pair))
            return true;
        if (i == 0 && least < RETRY_VIOLATION && search_one_handle(&s))
            return true;
    }
    return few && closest < CLOSE_VIOLATION &&
           mmd_curve_short_search(scratch->tables->few, n, lower, upper, curve);
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
