/* SPDX-License-Identifier: MIT */
#ifndef MMD_CURVE_FIT_H
#define MMD_CURVE_FIT_H

#include "core/base/arena.h"

/* Fits one of MMD's interpolation curves into a tube.

   A curve is a cubic Bezier from (0, 0) to (1, 1) with control points (x1, y1) and (x2, y2) in
   127ths (docs/mmd-behavior.md#bezier). Between two keys n frames apart it gives the progress
   y(k / n) of every frame k; a tube lower[k - 1] <= y <= upper[k - 1], 0 < k < n, is what the
   samples and the tolerance allow.

   For fixed x1, x2 the parameter t_k at which x(t_k) = k / n is fixed, and the progress is linear
   in the rest: y_k = 3 (1 - t)^2 t y1 + 3 (1 - t) t^2 y2 + t^3. So the search runs over x1, x2
   alone and solves y1, y2 by least squares. MMD's own error in t is part of the fit. */

/* Basis values of a grid of curves, for any number of threads; NULL when memory is short. */
typedef struct mmd_curve_grid_tables mmd_curve_grid_tables;
const mmd_curve_grid_tables *mmd_curve_grid_tables_new(mmd_arena *arena);

enum { MMD_CURVE_MAX_FRAMES = 16384 }; /* n of one curve */

/* Memory of one thread for curves of up to `max_frames` frames. */
typedef struct mmd_curve_fit_scratch {
    const mmd_curve_grid_tables *grid;
    float *center, *half_width;    /* of the tube, clamped to 0..1 */
    struct mmd_curve_basis *basis; /* of the pair x1, x2 under test */
    float grid_violation; /* by which the coarse grid may violate a tube that a curve fits */
    size_t last_chunk;    /* of the grid, where the search found a curve last */
    int64_t credit;       /* work that may still be done, about nanoseconds */
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
