/* SPDX-License-Identifier: MIT */
#ifndef MMD_SIMPLEX_H
#define MMD_SIMPLEX_H

#include "core/physics/collide.h"

/* All ways from a point of B to a point of A make a convex body: bodies overlap where it holds the
   origin, and are as far apart as it is from there. A simplex is one to four of its corners. */

typedef struct mmd_corner {
    double way[3], on_a[3]; /* from A's position */
    double share;           /* in the simplex' point that is nearest to the origin */
} mmd_corner;

typedef struct mmd_simplex {
    size_t count;
    mmd_corner corners[4];
    double nearest[3], square; /* and its squared distance from the origin */
} mmd_simplex;

/* How round the bodies are taken: less their margins or whole. */
typedef enum mmd_rounding { MMD_LESS_MARGIN, MMD_WHOLE } mmd_rounding;

/* The corner that is farthest along a direction, which has a length. */
mmd_corner mmd_corner_along(mmd_solid a, mmd_solid b, mmd_rounding rounding,
                            const double direction[3]);

/* Six times its volume, of four corners; the sign is that of their order. */
double mmd_simplex_volume(const mmd_simplex *of);

/* Only the corners that there are. */
void mmd_simplex_copy(const mmd_simplex *from, mmd_simplex *to);

/* Leaves the corners that hold the nearest point, in their order, and finds that. The last corner
   is one of them, for it was nearer than the others along the way; none are left where rounding, or
   what is no number, knows better. */
void mmd_simplex_reduce(mmd_simplex *of);

#endif
