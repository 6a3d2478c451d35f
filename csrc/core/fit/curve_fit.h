/* SPDX-License-Identifier: MIT */
#ifndef MMD_CURVE_FIT_H
#define MMD_CURVE_FIT_H

#include "core/base/arena.h"

#include <math.h>

/* What the search for a curve is made of: the basis of a pair x1, x2, the least squares of y1 and
   y2 in it, tables of both for a grid of pairs, and a descent over all four numbers. */

enum {
    MMD_CURVE_LANES = 16, /* numbers or pairs side by side */
    MMD_CURVE_GRID = 19,
    MMD_CURVE_PAIRS = MMD_CURVE_GRID * MMD_CURVE_GRID,
    MMD_CURVE_CHUNKS = (MMD_CURVE_PAIRS + MMD_CURVE_LANES - 1) / MMD_CURVE_LANES,
    MMD_CURVE_BISECTIONS = 12, /* of MMD's search for t: docs/mmd-behavior.md#bezier */
    MMD_CURVE_COARSE = 32      /* frames of the grid's tables; longer tubes are sampled */
};

/* The x1 and x2 of the grid, in 127ths. */
extern const uint8_t mmd_curve_grid_values[MMD_CURVE_GRID];

/* Of one frame: progress = b1 y1 + b2 y2 + b3. */
typedef struct mmd_curve_basis {
    double b1, b2, b3;
} mmd_curve_basis;

/* The basis of a pair x1, x2 in 127ths at k / n, 0 < k < n. */
void mmd_curve_basis_evaluate(int x1, int x2, size_t n, mmd_curve_basis *out);

/* The matrix [a b; b c] of the normal equations, kept away from singular by a trace of damping. */
typedef struct mmd_curve_normal {
    double a, b, c;
} mmd_curve_normal;

#define MMD_CURVE_NORMAL_INIT                                                                      \
    {                                                                                              \
        1e-9, 0, 1e-9                                                                              \
    }

static inline double mmd_curve_normal_determinant(const mmd_curve_normal *m)
{
    return m->a * m->c - m->b * m->b + 1e-14;
}

static inline void mmd_curve_normal_add(const mmd_curve_basis *at, mmd_curve_normal *sums)
{
    sums->a += at->b1 * at->b1;
    sums->b += at->b1 * at->b2;
    sums->c += at->b2 * at->b2;
}

/* Minimizes a y1^2 + 2 b y1 y2 + c y2^2 - 2 p y1 - 2 q y2 over the box where the free minimum
   y1, y2 is outside of it: on one of two edges. */
void mmd_curve_normal_clamp(const mmd_curve_normal *m, double p, double q, double *y1, double *y2);

/* Basis values of the grid, for any number of threads. */
typedef struct mmd_curve_grid_tables mmd_curve_grid_tables;

/* NULL when memory is short. */
const mmd_curve_grid_tables *mmd_curve_grid_tables_new(mmd_arena *arena);

/* For each pair of the grid, by how much its best curve violates a tube with these centers and half
   widths (n - 1,), as a fraction of the whole progress, or a number above `limit` where it is
   above. Long tubes are compared at samples only. Returns the least violation and writes those of
   all pairs. */
float mmd_curve_grid_search(const mmd_curve_grid_tables *tables, size_t n, const float *center,
                            const float *half_width, float limit,
                            float violation[MMD_CURVE_CHUNKS * MMD_CURVE_LANES]);

/* Whether any of these violations is at most `limit`. Starts at the chunk `last_chunk` and sets it
   to the chunk of such a pair: a segment that grows by a few frames needs about the same curve.
   Writes how many chunks it tried. */
bool mmd_curve_grid_has(const mmd_curve_grid_tables *tables, size_t n, const float *center,
                        const float *half_width, float limit, size_t *last_chunk, size_t *tried);

/* Moves the control points p = x1 y1 x2 y2, each within 0..1, to where the curve's distances from
   `center`, (n - 1,) the progress at k / n, 0 < k < n, have the least sum of squares nearby.
   Returns the number of rounds it took. */
size_t mmd_curve_descend(size_t n, const float *center, double p[4]);

/* Fits one of MMD's interpolation curves into a tube.

   A curve is a cubic Bezier from (0, 0) to (1, 1) with control points (x1, y1) and (x2, y2) in
   127ths (docs/mmd-behavior.md#bezier). Between two keys n frames apart it gives the progress
   y(k / n) of every frame k; a tube lower[k - 1] <= y <= upper[k - 1], 0 < k < n, is what the
   samples and the tolerance allow.

   For fixed x1, x2 the parameter t_k at which x(t_k) = k / n is fixed, and the progress is linear
   in the rest: y_k = 3 (1 - t)^2 t y1 + 3 (1 - t) t^2 y2 + t^3. So the search runs over x1, x2
   alone and solves y1, y2 by least squares. MMD's own error in t is part of the fit. */

enum { MMD_CURVE_MAX_FRAMES = 16384 }; /* n of one curve */

/* Memory of one thread for curves of up to `max_frames` frames. */
typedef struct mmd_curve_fit_scratch {
    const mmd_curve_grid_tables *grid;
    float *center, *half_width; /* of the tube, clamped to 0..1 */
    mmd_curve_basis *basis;     /* of the pair x1, x2 under test */
    float grid_violation;       /* by which the coarse grid may violate a tube that a curve fits */
    size_t last_chunk;          /* of the grid, where the search found a curve last */
    int64_t credit;             /* work that may still be done, about nanoseconds */
} mmd_curve_fit_scratch;

/* False when memory is short. Steep curves, as cameras have them, need a larger grid_violation than
   the MMD_CURVE_GRID_VIOLATION that it gets here; the search then takes longer. */
#define MMD_CURVE_GRID_VIOLATION 0.015f
#define MMD_CURVE_STEEP_GRID_VIOLATION 0.03f
bool mmd_curve_fit_scratch_init(mmd_arena *arena, const mmd_curve_grid_tables *grid,
                                size_t max_frames, mmd_curve_fit_scratch *scratch);

/* Whether a curve with real control points stays in the tube, up to grid_violation. Unlike
   mmd_curve_fit() this is monotonic in n: a part of a Bezier curve is a Bezier curve, but not one
   of integers. */
bool mmd_curve_fit_exists(mmd_curve_fit_scratch *scratch, size_t n, const double *lower,
                          const double *upper);

/* Finds x1 y1 x2 y2 within the tube. False when the search finds none, or the credit ends. */
bool mmd_curve_fit(mmd_curve_fit_scratch *scratch, size_t n, const double *lower,
                   const double *upper, uint8_t curve[4]);

/* Whether a curve stays in the tube. */
bool mmd_curve_fit_is_within(const uint8_t curve[4], size_t n, const double *lower,
                             const double *upper);

#endif
