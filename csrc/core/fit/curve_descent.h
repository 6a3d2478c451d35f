/* SPDX-License-Identifier: MIT */
#ifndef MMD_CURVE_DESCENT_H
#define MMD_CURVE_DESCENT_H

#include <stddef.h>

/* Moves the control points p = x1 y1 x2 y2, each within 0..1, to where the curve's distances from
   `center`, (n - 1,) the progress at k / n, 0 < k < n, have the least sum of squares nearby. */
void mmd_curve_descend(size_t n, const float *center, double p[4]);

#endif
