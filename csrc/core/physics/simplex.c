/* SPDX-License-Identifier: MIT */
#include "core/physics/simplex.h"

#include "core/physics/vector.h"

/* Farthest point of a solid, from its own position. `length` is that of the direction. */
static void support(mmd_solid of, mmd_rounding rounding, const double direction[3], double length,
                    double point[3])
{
    const mmd_shape *shape = of.shape;
    mmd_copy3((const double[3]){0}, point);
    for (int i = 0; i < 3; i++) {
        if (shape->core[i] == 0) /* a sphere's core is a point, a capsule's a line */
            continue;
        double axis[3];
        mmd_column3(of.body->axes, i, axis);
        bool ahead = mmd_dot3(axis, direction) >= 0;
        mmd_add_scaled3(axis, ahead ? shape->core[i] : -shape->core[i], point);
    }
    double round = shape->radius - (rounding == MMD_WHOLE ? 0 : shape->margin);
    if (round > 0)
        mmd_add_scaled3(direction, round / length, point);
}

void mmd_corner_along(mmd_solid a, mmd_solid b, mmd_rounding rounding, const double direction[3],
                      mmd_corner *corner)
{
    double back[3], on_b[3], length = mmd_length3(direction);
    mmd_scale3(direction, -1, back);
    support(a, rounding, direction, length, corner->on_a);
    support(b, rounding, back, length, on_b);
    mmd_subtract3(a.body->state.position, b.body->state.position, corner->way);
    mmd_add_scaled3(corner->on_a, 1, corner->way);
    mmd_subtract3(corner->way, on_b, corner->way);
}

void mmd_simplex_begin(mmd_solid a, mmd_solid b, mmd_rounding rounding, const double direction[3],
                       mmd_simplex *simplex)
{
    mmd_corner *corner = &simplex->corners[0];
    mmd_corner_along(a, b, rounding, direction, corner);
    simplex->count = 1;
    simplex->shares[0] = 1;
    mmd_copy3(corner->way, simplex->nearest);
    simplex->square = mmd_dot3(corner->way, corner->way);
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

/* Some corners of a simplex by their numbers, which ascend, and what is nearest to the origin of
   the line, triangle or tetrahedron between them. */
typedef struct part {
    size_t count;
    uint8_t numbers[4];
    double shares[4], nearest[3], square;
} part;

/* Shares of the corners in that point of their line, plane or space that is nearest to the origin,
   all of them times the same positive number. */
static void weigh(const mmd_simplex *simplex, part *of)
{
    const mmd_corner *corners = simplex->corners;
    const uint8_t *numbers = of->numbers;
    const double *a = corners[numbers[0]].way, *b, *c, *d;
    double edge[3], other[3], normal[3], *shares = of->shares;
    switch (of->count) {
    case 1:
        shares[0] = 1;
        break;
    case 2:
        b = corners[numbers[1]].way;
        mmd_subtract3(b, a, edge);
        shares[0] = mmd_dot3(b, edge);
        shares[1] = -mmd_dot3(a, edge);
        break;
    case 3:
        b = corners[numbers[1]].way, c = corners[numbers[2]].way;
        mmd_subtract3(b, a, edge);
        mmd_subtract3(c, a, other);
        mmd_cross3(edge, other, normal);
        shares[0] = determinant(normal, b, c);
        shares[1] = determinant(normal, c, a);
        shares[2] = determinant(normal, a, b);
        break;
    default: {
        b = corners[1].way, c = corners[2].way, d = corners[3].way;
        double side = mmd_simplex_volume(simplex) < 0 ? -1 : 1;
        shares[0] = side * determinant(b, c, d);
        shares[1] = -side * determinant(a, c, d);
        shares[2] = side * determinant(a, b, d);
        shares[3] = -side * determinant(a, b, c);
    }
    }
}

static void find_nearest(const mmd_simplex *simplex, part *of)
{
    double sum = 0;
    for (size_t i = 0; i < of->count; i++)
        sum += of->shares[i];
    mmd_copy3((const double[3]){0}, of->nearest);
    for (size_t i = 0; i < of->count; i++) {
        of->shares[i] /= sum;
        mmd_add_scaled3(simplex->corners[of->numbers[i]].way, of->shares[i], of->nearest);
    }
    of->square = mmd_dot3(of->nearest, of->nearest);
}

/* Puts into `best` what is nearer: the part if it has a point of its own that is nearest, else what
   is nearest of those without a corner that has no share. */
static void seek(const mmd_simplex *simplex, part *of, part *best)
{
    size_t held = 0;
    weigh(simplex, of);
    while (held < of->count && of->shares[held] > 0)
        held++;
    if (held == of->count) {
        find_nearest(simplex, of);
        if (of->square < best->square)
            *best = *of;
        return;
    }
    for (size_t i = held; i + 1 < of->count; i++) {
        if (of->shares[i] > 0)
            continue;
        part less = {.count = 0};
        for (size_t k = 0; k < of->count; k++)
            if (k != i)
                less.numbers[less.count++] = of->numbers[k];
        seek(simplex, &less, best);
    }
}

bool mmd_simplex_join(mmd_simplex *of, double square)
{
    part all = {.count = of->count + 1, .numbers = {0, 1, 2, 3}}, best = {.square = square};
    seek(of, &all, &best);
    if (best.count == 0)
        return false;
    of->count = best.count;
    for (size_t i = 0; i < best.count; i++) {
        if (best.numbers[i] != i)
            of->corners[i] = of->corners[best.numbers[i]];
        of->shares[i] = best.shares[i];
    }
    mmd_copy3(best.nearest, of->nearest);
    of->square = best.square;
    return true;
}
