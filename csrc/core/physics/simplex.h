/* SPDX-License-Identifier: MIT */
#ifndef MMD_SIMPLEX_H
#define MMD_SIMPLEX_H

#include "core/physics/collide.h"

/* All ways from a point of B to a point of A make a convex body: bodies overlap where it holds the
   origin, and are as far apart as it is from there. A simplex is one to four of its corners. */

typedef struct mmd_corner {
    double way[3], on_a[3]; /* from A's position */
} mmd_corner;

typedef struct mmd_simplex {
    size_t count;
    mmd_corner corners[4];     /* one behind the last is a corner that may join */
    double shares[4];          /* of the corners in the point that is nearest to the origin */
    double nearest[3], square; /* that point, and its squared distance from there */
} mmd_simplex;

/* How round the bodies are taken: less their margins or whole. */
typedef enum mmd_rounding { MMD_LESS_MARGIN, MMD_WHOLE } mmd_rounding;

/* The corner that is farthest along a direction, which has a length. */
void mmd_corner_along(mmd_solid a, mmd_solid b, mmd_rounding rounding, const double direction[3],
                      mmd_corner *corner);

/* Of one corner, the farthest along a direction. */
void mmd_simplex_begin(mmd_solid a, mmd_solid b, mmd_rounding rounding, const double direction[3],
                       mmd_simplex *simplex);

/* Six times its volume, of four corners; the sign is that of their order. */
double mmd_simplex_volume(const mmd_simplex *of);

/* Lets the corner behind the last join, and leaves those that hold the nearest point, in their
   order. That corner is one of them, for it was nearer than the others along the way. False, and
   all stays as it was, where the point would not come nearer than `square`, as when rounding, or
   what is no number, knows better. */
bool mmd_simplex_join(mmd_simplex *of, double square);

#endif
