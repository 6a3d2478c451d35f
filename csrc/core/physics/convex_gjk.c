/* SPDX-License-Identifier: MIT */
/* Distance of two convex shapes A and B by the algorithm of Gilbert, Johnson and Keerthi (1988), as
   btGjkPairDetector of Bullet 2.75 runs it. With v (units) the point of the current simplex that is
   closest to the origin, one iteration adds the support point

       w = argmax over p in A - B of  -v . p

   and reduces the simplex to the face that contains the new closest point (here by barycentric
   coordinates, where Bullet has btVoronoiSimplexSolver). It ends when w gains next to nothing,
   |v|^2 - v . w <= 1e-6 |v|^2, or when w proves the distance to be out of reach.

   The shapes are shrunk by their collision margins (units): the distance of the surfaces is
   |v| - margin_a - margin_b, the normal v / |v|. If the shrunk shapes overlap, EPA takes over. A
   round shape has a support point in every direction, so that iterations only approach the
   distance; where they end is part of Bullet's result, hence its thresholds. */
#include "core/physics/convex.h"

#include "core/math/mat3.h"

/* Bullet's REL_ERROR2: the relative gain in squared distance that an iteration needs. */
#define RELATIVE_ERROR 1e-6

/* Six times the volume below which a tetrahedron is degenerate. */
#define DEGENERATE_VOLUME 1e-8

/* Distances shorter than this do not define a reliable direction. */
#define MIN_DISTANCE 0.01

enum { MAX_ITERATIONS = 1000 };

/* The support point of one shape, from its own position. `length` is that of the direction. */
static inline void support_of(mmd_collider collider, mmd_convex_margin margin,
                              const double direction[3], double length, double point[3])
{
    const mmd_shape *shape = collider.shape;
    double sum[3] = {0};
    for (int i = 0; i < 3; i++) {
        if (shape->core[i] == 0) /* the core of a sphere is a point, that of a capsule a segment */
            continue;
        double axis[3];
        mmd_mat3_column(collider.body->basis, i, axis);
        bool positive = mmd_vec3_dot(axis, direction) >= 0;
        mmd_vec3_add_scaled(axis, positive ? shape->core[i] : -shape->core[i], sum);
    }
    double radius = shape->radius - (margin == MMD_CONVEX_WITH_MARGIN ? 0 : shape->margin);
    if (radius > 0)
        mmd_vec3_add_scaled(direction, radius / length, sum);
    mmd_vec3_copy(sum, point);
}

void mmd_convex_find_support_point(mmd_collider a, mmd_collider b, mmd_convex_margin margin,
                                   const double direction[3], mmd_convex_support_point *support)
{
    double opposite[3], on_b[3], length = mmd_vec3_length(direction);
    mmd_vec3_scale(direction, -1, opposite);
    support_of(a, margin, direction, length, support->on_a);
    support_of(b, margin, opposite, length, on_b);
    mmd_vec3_subtract(a.body->state.position, b.body->state.position, support->point);
    mmd_vec3_add_scaled(support->on_a, 1, support->point);
    mmd_vec3_subtract(support->point, on_b, support->point);
}

/* Simplex */

void mmd_convex_simplex_init(mmd_collider a, mmd_collider b, mmd_convex_margin margin,
                             const double direction[3], mmd_convex_simplex *simplex)
{
    mmd_convex_support_point *vertex = &simplex->vertices[0];
    mmd_convex_find_support_point(a, b, margin, direction, vertex);
    simplex->count = 1;
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

/* A vertex, edge or face of a simplex, or all of it: some of its vertices in ascending order, and
   the closest point of their affine hull. */
typedef struct simplex_feature {
    size_t count;
    uint8_t vertices[4];
    double barycentric[4], closest[3], squared_distance;
} simplex_feature;

/* Barycentric coordinates, times a common positive factor, of the point of the feature's line,
   plane or space that is closest to the origin. */
static void project_origin(const mmd_convex_simplex *simplex, simplex_feature *feature)
{
    const mmd_convex_support_point *vertices = simplex->vertices;
    const uint8_t *indices = feature->vertices;
    const double *a = vertices[indices[0]].point, *b, *c, *d;
    double ab[3], ac[3], normal[3], *barycentric = feature->barycentric;
    switch (feature->count) {
    case 1:
        barycentric[0] = 1;
        break;
    case 2:
        b = vertices[indices[1]].point;
        mmd_vec3_subtract(b, a, ab);
        barycentric[0] = mmd_vec3_dot(b, ab);
        barycentric[1] = -mmd_vec3_dot(a, ab);
        break;
    case 3:
        b = vertices[indices[1]].point, c = vertices[indices[2]].point;
        mmd_vec3_subtract(b, a, ab);
        mmd_vec3_subtract(c, a, ac);
        mmd_vec3_cross(ab, ac, normal);
        barycentric[0] = mmd_vec3_triple_product(normal, b, c);
        barycentric[1] = mmd_vec3_triple_product(normal, c, a);
        barycentric[2] = mmd_vec3_triple_product(normal, a, b);
        break;
    default: {
        b = vertices[1].point, c = vertices[2].point, d = vertices[3].point;
        double sign = mmd_convex_simplex_volume(simplex) < 0 ? -1 : 1;
        barycentric[0] = sign * mmd_vec3_triple_product(b, c, d);
        barycentric[1] = -sign * mmd_vec3_triple_product(a, c, d);
        barycentric[2] = sign * mmd_vec3_triple_product(a, b, d);
        barycentric[3] = -sign * mmd_vec3_triple_product(a, b, c);
    }
    }
}

/* Replaces `best` if the feature's point is closer. Copies number by number: a struct is copied by
   vectors, which stall if its numbers have just been written one by one. */
static void keep_closer_point(const mmd_convex_simplex *simplex, const simplex_feature *feature,
                              simplex_feature *best)
{
    double sum = 0, barycentric[4], closest[3] = {0};
    for (size_t i = 0; i < feature->count; i++)
        sum += feature->barycentric[i];
    for (size_t i = 0; i < feature->count; i++) {
        barycentric[i] = feature->barycentric[i] / sum;
        mmd_vec3_add_scaled(simplex->vertices[feature->vertices[i]].point, barycentric[i], closest);
    }
    double squared_distance = mmd_vec3_dot(closest, closest);
    if (!(squared_distance < best->squared_distance))
        return;
    best->count = feature->count;
    best->squared_distance = squared_distance;
    mmd_vec3_copy(closest, best->closest);
    for (size_t i = 0; i < feature->count; i++) {
        best->vertices[i] = feature->vertices[i];
        best->barycentric[i] = barycentric[i];
    }
}

/* Replaces `best` by the feature if its closest point lies inside it and is closer; otherwise tries
   its sub-features without a vertex whose coordinate is not positive. */
static void find_closest_feature(const mmd_convex_simplex *simplex, simplex_feature *candidate,
                                 simplex_feature *best)
{
    size_t positive = 0;
    project_origin(simplex, candidate);
    while (positive < candidate->count && candidate->barycentric[positive] > 0)
        positive++;
    if (positive == candidate->count) {
        keep_closer_point(simplex, candidate, best);
        return;
    }
    for (size_t i = positive; i + 1 < candidate->count; i++) {
        if (candidate->barycentric[i] > 0)
            continue;
        simplex_feature reduced;
        reduced.count = 0;
        for (size_t k = 0; k < candidate->count; k++)
            if (k != i)
                reduced.vertices[reduced.count++] = candidate->vertices[k];
        find_closest_feature(simplex, &reduced, best);
    }
}

static void copy_support_point(const mmd_convex_support_point *from, mmd_convex_support_point *to)
{
    mmd_vec3_copy(from->point, to->point);
    mmd_vec3_copy(from->on_a, to->on_a);
}

bool mmd_convex_simplex_add(mmd_convex_simplex *simplex, double squared_distance)
{
    simplex_feature whole = {.count = simplex->count + 1, .vertices = {0, 1, 2, 3}};
    simplex_feature best = {.squared_distance = squared_distance};
    find_closest_feature(simplex, &whole, &best);
    if (best.count == 0)
        return false;
    simplex->count = best.count;
    for (size_t i = 0; i < best.count; i++) {
        if (best.vertices[i] != i)
            copy_support_point(&simplex->vertices[best.vertices[i]], &simplex->vertices[i]);
        simplex->barycentric[i] = best.barycentric[i];
    }
    mmd_vec3_copy(best.closest, simplex->closest);
    simplex->squared_distance = best.squared_distance;
    return true;
}

/* GJK */

/* Whether a face normal of one of the cores' boxes is a separating axis. It is for most pairs that
   the broad phase finds, and GJK would find no contact either. */
static bool has_separating_axis(mmd_collider a, mmd_collider b, double breaking_threshold)
{
    const double *core_a = a.shape->core, *core_b = b.shape->core;
    double offset[3], offset_a[3], offset_b[3], cosines[3][3]; /* of axes of A and B */
    double radii = a.shape->radius + b.shape->radius + breaking_threshold;
    mmd_vec3_subtract(b.body->state.position, a.body->state.position, offset);
    mmd_mat3_transform_transposed(a.body->basis, offset, offset_a);
    for (int i = 0; i < 3; i++) {
        double axis[3], extent = core_a[i] + radii;
        mmd_mat3_column(a.body->basis, i, axis);
        mmd_mat3_transform_transposed(b.body->basis, axis, cosines[i]);
        for (int k = 0; k < 3; k++)
            extent += fabs(cosines[i][k]) * core_b[k];
        if (fabs(offset_a[i]) > extent)
            return true;
    }
    mmd_mat3_transform_transposed(b.body->basis, offset, offset_b);
    for (int k = 0; k < 3; k++) {
        double extent = core_b[k] + radii;
        for (int i = 0; i < 3; i++)
            extent += fabs(cosines[i][k]) * core_a[i];
        if (fabs(offset_b[k]) > extent)
            return true;
    }
    return false;
}

/* A tetrahedron contains the origin. A NaN distance counts as overlap, too. */
static bool contains_origin(const mmd_convex_simplex *simplex)
{
    return simplex->count == 4 || !(simplex->squared_distance >= MIN_DISTANCE * MIN_DISTANCE);
}

/* One iteration; false if it was the last one. */
static bool iterate(mmd_collider a, mmd_collider b, double max_distance,
                    mmd_convex_simplex *simplex)
{
    mmd_convex_support_point *support = &simplex->vertices[simplex->count];
    double direction[3];
    mmd_vec3_scale(simplex->closest, -1, direction);
    mmd_convex_find_support_point(a, b, MMD_CONVEX_WITHOUT_MARGIN, direction, support);
    double projection = mmd_vec3_dot(simplex->closest, support->point);
    double squared_distance = simplex->squared_distance;
    if (squared_distance - projection <= RELATIVE_ERROR * squared_distance ||
        (projection > 0 &&
         projection * projection > squared_distance * max_distance * max_distance) ||
        (simplex->count == 3 && fabs(mmd_convex_simplex_volume(simplex)) < DEGENERATE_VOLUME))
        return false;
    return mmd_convex_simplex_add(simplex, squared_distance);
}

static mmd_convex_gjk_result contact_of(mmd_collider a, mmd_collider b, double breaking_threshold,
                                        const mmd_convex_simplex *simplex,
                                        mmd_collide_contact *contact)
{
    double length = sqrt(simplex->squared_distance);
    contact->distance = length - a.shape->margin - b.shape->margin;
    if (contact->distance > breaking_threshold)
        return MMD_CONVEX_SEPARATED;
    mmd_vec3_scale(simplex->closest, 1 / length, contact->normal);
    mmd_vec3_copy(a.body->state.position, contact->point);
    for (size_t i = 0; i < simplex->count; i++)
        mmd_vec3_add_scaled(simplex->vertices[i].on_a, simplex->barycentric[i], contact->point);
    mmd_vec3_add_scaled(contact->normal, b.shape->margin - length, contact->point);
    return MMD_CONVEX_CONTACT;
}

mmd_convex_gjk_result mmd_convex_gjk(mmd_collider a, mmd_collider b, double breaking_threshold,
                                     mmd_collide_contact *contact)
{
    static const double down[3] = {0, -1, 0};
    if (has_separating_axis(a, b, breaking_threshold))
        return MMD_CONVEX_SEPARATED;
    double max_distance = a.shape->margin + b.shape->margin + breaking_threshold;
    mmd_convex_simplex simplex;
    mmd_convex_simplex_init(a, b, MMD_CONVEX_WITHOUT_MARGIN, down, &simplex);
    for (int i = 0; !contains_origin(&simplex) && i < MAX_ITERATIONS; i++)
        if (!iterate(a, b, max_distance, &simplex))
            return contact_of(a, b, breaking_threshold, &simplex, contact);
    return MMD_CONVEX_OVERLAP;
}
