/* SPDX-License-Identifier: MIT */
#include "core/physics/simplex.h"

#include "core/physics/vector.h"

#include <float.h>

/* Farthest point of a solid, from its own position. */
static void support(mmd_solid of, mmd_rounding rounding, const double direction[3], double point[3])
{
    const mmd_shape *shape = of.shape;
    double local[3], round = shape->radius - (rounding == MMD_WHOLE ? 0 : shape->margin);
    mmd_untransform3(of.body->axes, direction, local);
    for (int i = 0; i < 3; i++)
        local[i] = local[i] >= 0 ? shape->core[i] : -shape->core[i];
    mmd_transform3(of.body->axes, local, point);
    if (round > 0)
        mmd_add_scaled3(direction, round / mmd_length3(direction), point);
}

mmd_corner mmd_corner_along(mmd_solid a, mmd_solid b, mmd_rounding rounding,
                            const double direction[3])
{
    mmd_corner found = {.share = 0};
    double back[3], on_b[3];
    mmd_scale3(direction, -1, back);
    support(a, rounding, direction, found.on_a);
    support(b, rounding, back, on_b);
    mmd_subtract3(a.body->state.position, b.body->state.position, found.way);
    mmd_add_scaled3(found.on_a, 1, found.way);
    mmd_add_scaled3(on_b, -1, found.way);
    return found;
}

static double determinant(const double a[3], const double b[3], const double c[3])
{
    double across[3];
    mmd_cross3(b, c, across);
    return mmd_dot3(a, across);
}

double mmd_simplex_volume(const mmd_simplex *of)
{
    double edges[3][3];
    for (int i = 0; i < 3; i++)
        mmd_subtract3(of->corners[i + 1].way, of->corners[0].way, edges[i]);
    return determinant(edges[0], edges[1], edges[2]);
}

/* Shares of the corners in that point of their line, plane or space that is nearest to the origin,
   all of them times the same positive number. */
static void weigh(mmd_simplex *of)
{
    mmd_corner *corners = of->corners;
    const double *a = corners[0].way, *b = corners[1].way, *c = corners[2].way, *d = corners[3].way;
    double edge[3], other[3], normal[3];
    switch (of->count) {
    case 1:
        corners[0].share = 1;
        break;
    case 2:
        mmd_subtract3(b, a, edge);
        corners[0].share = mmd_dot3(b, edge);
        corners[1].share = -mmd_dot3(a, edge);
        break;
    case 3:
        mmd_subtract3(b, a, edge);
        mmd_subtract3(c, a, other);
        mmd_cross3(edge, other, normal);
        corners[0].share = determinant(normal, b, c);
        corners[1].share = determinant(normal, c, a);
        corners[2].share = determinant(normal, a, b);
        break;
    default: {
        double side = mmd_simplex_volume(of) < 0 ? -1 : 1;
        corners[0].share = side * determinant(b, c, d);
        corners[1].share = -side * determinant(a, c, d);
        corners[2].share = side * determinant(a, b, d);
        corners[3].share = -side * determinant(a, b, c);
    }
    }
}

/* Whether all shares are positive; then finds the nearest point. */
static bool holds_nearest(mmd_simplex *of)
{
    double sum = 0;
    weigh(of);
    for (size_t i = 0; i < of->count; i++) {
        if (!(of->corners[i].share > 0))
            return false;
        sum += of->corners[i].share;
    }
    mmd_copy3((const double[3]){0}, of->nearest);
    for (size_t i = 0; i < of->count; i++) {
        of->corners[i].share /= sum;
        mmd_add_scaled3(of->corners[i].way, of->corners[i].share, of->nearest);
    }
    of->square = mmd_dot3(of->nearest, of->nearest);
    return true;
}

static void copy_corners(const mmd_simplex *from, size_t but, mmd_simplex *to)
{
    to->count = 0;
    for (size_t i = 0; i < from->count; i++)
        if (i != but)
            to->corners[to->count++] = from->corners[i];
}

void mmd_simplex_copy(const mmd_simplex *from, mmd_simplex *to)
{
    copy_corners(from, SIZE_MAX, to);
    mmd_copy3(from->nearest, to->nearest);
    to->square = from->square;
}

void mmd_simplex_reduce(mmd_simplex *of)
{
    if (holds_nearest(of))
        return;
    mmd_simplex face, best;
    best.count = 0;
    best.square = DBL_MAX;
    mmd_copy3((const double[3]){0}, best.nearest);
    for (size_t i = 0; i + 1 < of->count; i++) {
        if (of->corners[i].share > 0)
            continue;
        copy_corners(of, i, &face);
        mmd_simplex_reduce(&face);
        if (face.square < best.square)
            mmd_simplex_copy(&face, &best);
    }
    mmd_simplex_copy(&best, of);
}
