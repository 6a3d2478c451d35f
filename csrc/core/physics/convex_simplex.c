/* SPDX-License-Identifier: MIT */
/* The point of a simplex that is closest to the origin, by barycentric coordinates. The newest
   vertex is a vertex of the feature (vertex, edge or face) that contains it, so that only the
   features with that vertex are tried: first the whole simplex, then those without a vertex whose
   coordinate is not positive. */
#include "core/physics/convex.h"

void mmd_convex_simplex_init(const mmd_convex_support_point *vertex, mmd_convex_simplex *simplex)
{
    simplex->count = 1;
    simplex->vertices[0] = *vertex;
    simplex->barycentric[0] = 1;
    mmd_vec3_copy(vertex->point, simplex->closest);
    simplex->squared_distance = mmd_vec3_dot(vertex->point, vertex->point);
}

double mmd_convex_simplex_volume(const mmd_convex_simplex *simplex)
{
    double edges[3][3];
    for (int i = 0; i < 3; i++)
        mmd_vec3_subtract(simplex->vertices[i + 1].point, simplex->vertices[0].point, edges[i]);
    return mmd_vec3_triple_product(edges[0], edges[1], edges[2]);
}

/* The closest point so far, and the vertices of its feature. */
typedef struct closest_point {
    size_t count;
    uint8_t vertices[4]; /* in ascending order */
    double barycentric[4], point[3], squared_distance;
} closest_point;

/* Replaces `best` by the point with these coordinates, which are to be divided by their sum, if it
   is closer. */
static inline __attribute__((always_inline)) void try_point(const mmd_convex_simplex *simplex,
                                                            const uint8_t *vertices,
                                                            const double *coordinates, size_t count,
                                                            closest_point *best)
{
    double sum = 0, barycentric[4], point[3] = {0};
    for (size_t i = 0; i < count; i++)
        sum += coordinates[i];
    for (size_t i = 0; i < count; i++) {
        barycentric[i] = coordinates[i] / sum;
        mmd_vec3_add_scaled(simplex->vertices[vertices[i]].point, barycentric[i], point);
    }
    double squared_distance = mmd_vec3_dot(point, point);
    if (!(squared_distance < best->squared_distance))
        return;
    best->count = count;
    best->squared_distance = squared_distance;
    mmd_vec3_copy(point, best->point);
    for (size_t i = 0; i < count; i++) {
        best->vertices[i] = vertices[i];
        best->barycentric[i] = barycentric[i];
    }
}

static void try_edge(const mmd_convex_simplex *simplex, uint8_t i, uint8_t k, closest_point *best)
{
    const double *a = simplex->vertices[i].point, *b = simplex->vertices[k].point;
    double ab[3];
    mmd_vec3_subtract(b, a, ab);
    const uint8_t vertices[] = {i, k};
    const double coordinates[] = {mmd_vec3_dot(b, ab), -mmd_vec3_dot(a, ab)};
    if (!(coordinates[0] > 0))
        try_point(simplex, &k, (const double[]){1}, 1, best);
    else if (coordinates[1] > 0)
        try_point(simplex, vertices, coordinates, 2, best);
}

static void try_face(const mmd_convex_simplex *simplex, uint8_t i, uint8_t k, uint8_t m,
                     closest_point *best)
{
    const double *a = simplex->vertices[i].point, *b = simplex->vertices[k].point;
    const double *c = simplex->vertices[m].point;
    double ab[3], ac[3], normal[3];
    mmd_vec3_subtract(b, a, ab);
    mmd_vec3_subtract(c, a, ac);
    mmd_vec3_cross(ab, ac, normal);
    const uint8_t vertices[] = {i, k, m};
    const double coordinates[] = {mmd_vec3_triple_product(normal, b, c),
                                  mmd_vec3_triple_product(normal, c, a),
                                  mmd_vec3_triple_product(normal, a, b)};
    if (coordinates[0] > 0 && coordinates[1] > 0 && coordinates[2] > 0) {
        try_point(simplex, vertices, coordinates, 3, best);
        return;
    }
    if (!(coordinates[0] > 0))
        try_edge(simplex, k, m, best);
    if (!(coordinates[1] > 0))
        try_edge(simplex, i, m, best);
}

static void try_tetrahedron(const mmd_convex_simplex *simplex, double volume, closest_point *best)
{
    static const uint8_t vertices[] = {0, 1, 2, 3};
    const double *a = simplex->vertices[0].point, *b = simplex->vertices[1].point;
    const double *c = simplex->vertices[2].point, *d = simplex->vertices[3].point;
    double sign = volume < 0 ? -1 : 1, cd[3];
    mmd_vec3_cross(c, d, cd);
    const double coordinates[] = {sign * mmd_vec3_dot(b, cd), -sign * mmd_vec3_dot(a, cd),
                                  sign * mmd_vec3_triple_product(a, b, d),
                                  -sign * mmd_vec3_triple_product(a, b, c)};
    if (coordinates[0] > 0 && coordinates[1] > 0 && coordinates[2] > 0 && coordinates[3] > 0) {
        try_point(simplex, vertices, coordinates, 4, best);
        return;
    }
    if (!(coordinates[0] > 0))
        try_face(simplex, 1, 2, 3, best);
    if (!(coordinates[1] > 0))
        try_face(simplex, 0, 2, 3, best);
    if (!(coordinates[2] > 0))
        try_face(simplex, 0, 1, 3, best);
}

static void copy_support_point(const mmd_convex_support_point *from, mmd_convex_support_point *to)
{
    mmd_vec3_copy(from->point, to->point);
    mmd_vec3_copy(from->on_a, to->on_a);
}

bool mmd_convex_simplex_add(mmd_convex_simplex *simplex, double squared_distance, double volume)
{
    closest_point best;
    best.count = 0;
    best.squared_distance = squared_distance;
    if (simplex->count == 1)
        try_edge(simplex, 0, 1, &best);
    else if (simplex->count == 2)
        try_face(simplex, 0, 1, 2, &best);
    else
        try_tetrahedron(simplex, volume, &best);
    if (best.count == 0)
        return false;
    simplex->count = best.count;
    for (size_t i = 0; i < best.count; i++) {
        if (best.vertices[i] != i)
            copy_support_point(&simplex->vertices[best.vertices[i]], &simplex->vertices[i]);
        simplex->barycentric[i] = best.barycentric[i];
    }
    mmd_vec3_copy(best.point, simplex->closest);
    simplex->squared_distance = best.squared_distance;
    return true;
}
