/* SPDX-License-Identifier: MIT */
/* Distance of two convex shapes A and B by the algorithm of Gilbert, Johnson and Keerthi (1988), as
   btGjkPairDetector of Bullet 2.75 runs it. With v (units) the point of the current simplex that is
   closest to the origin, one iteration adds the support point

       w = argmax over p in A - B of  -v . p

   and reduces the simplex to the face that contains the new closest point (here by barycentric
   coordinates, where Bullet has btVoronoiSimplexSolver). It ends when w gains next to nothing,
   |v|^2 - v . w <= 1e-6 |v|^2, or when w proves the distance to be out of reach.

   The shapes are shrunk by their collision margins (units): the distance of the surfaces is
   |v| - margin_a - margin_b, the normal v / |v|. If the shrunk shapes overlap, EPA is needed. A
   round shape has a support point in every direction, so that iterations only approach the
   distance; where they end is part of Bullet's result, hence its thresholds. */
#include "core/math/mat3.h"
#include "core/physics/collide.h"

/* Simplices

   The point of a simplex that is closest to the origin, by barycentric coordinates. The newest
   vertex is a vertex of the feature (vertex, edge or face) that contains it, so that only the
   features with that vertex are tried: first the whole simplex, then those without a vertex whose
   coordinate is not positive. */

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

/* Bullet's REL_ERROR2: the relative gain in squared distance that an iteration needs. */
#define RELATIVE_ERROR 1e-6

/* Six times the volume below which a tetrahedron is degenerate. */
#define DEGENERATE_VOLUME 1e-8

/* Distances shorter than this do not define a reliable direction. */
#define MIN_DISTANCE 0.01

enum { MAX_ITERATIONS = 1000 };

void mmd_convex_pair_init(mmd_collider a, mmd_collider b, bool with_margins, mmd_convex_pair *pair)
{
    pair->axis_count = 0;
    for (int i = 0; i < 3; i++) {
        mmd_double2 core = {a.shape->core[i], b.shape->core[i]};
        if (core[0] == 0 && core[1] == 0)
            continue;
        mmd_double2 *axis = pair->axes[pair->axis_count], *half = pair->core[pair->axis_count];
        pair->axis_count++;
        for (int k = 0; k < 3; k++) {
            axis[k] = (mmd_double2){a.body->basis[k][i], b.body->basis[k][i]};
            half[k] = axis[k] * core;
        }
    }
    pair->radius = (mmd_double2){a.shape->radius, b.shape->radius};
    if (!with_margins)
        pair->radius -= (mmd_double2){a.shape->margin, b.shape->margin};
    mmd_vec3_subtract(a.body->state.position, b.body->state.position, pair->offset);
}

/* The support point of a rounded box: the sum of its half axes, each with the sign that points
   along the direction, and of the radius along the direction. B's is that of the opposite
   direction. */
void mmd_convex_find_support_point(const mmd_convex_pair *pair, const double direction[3],
                                   mmd_convex_support_point *support)
{
    const mmd_double2_bits sign_bits = {INT64_MIN, INT64_MIN};
    mmd_double2 along[3], sum[3];
    for (int k = 0; k < 3; k++) {
        along[k] = (mmd_double2){direction[k], -direction[k]};
        sum[k] = (mmd_double2){0, 0};
    }
    for (size_t i = 0; i < pair->axis_count; i++) {
        const mmd_double2 *axis = pair->axes[i];
        mmd_double2 cosine = axis[0] * along[0] + axis[1] * along[1] + axis[2] * along[2];
        mmd_double2_bits negative = ~(cosine >= 0) & sign_bits;
        for (int k = 0; k < 3; k++)
            sum[k] += (mmd_double2)((mmd_double2_bits)pair->core[i][k] ^ negative);
    }
    mmd_double2 scale = pair->radius / mmd_vec3_length(direction);
    for (int k = 0; k < 3; k++) {
        sum[k] += along[k] * scale;
        support->on_a[k] = sum[k][0];
        support->point[k] = pair->offset[k] + sum[k][0] - sum[k][1];
    }
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
static bool iterate(const mmd_convex_pair *pair, double max_distance, mmd_convex_simplex *simplex)
{
    mmd_convex_support_point *support = &simplex->vertices[simplex->count];
    double direction[3];
    mmd_vec3_scale(simplex->closest, -1, direction);
    mmd_convex_find_support_point(pair, direction, support);
    double projection = mmd_vec3_dot(simplex->closest, support->point);
    double squared_distance = simplex->squared_distance;
    if (squared_distance - projection <= RELATIVE_ERROR * squared_distance ||
        (projection > 0 &&
         projection * projection > squared_distance * max_distance * max_distance))
        return false;
    double volume = simplex->count == 3 ? mmd_convex_simplex_volume(simplex) : 0;
    if (simplex->count == 3 && fabs(volume) < DEGENERATE_VOLUME)
        return false;
    return mmd_convex_simplex_add(simplex, squared_distance, volume);
}

static size_t contact_of(mmd_collider a, mmd_collider b, double breaking_threshold,
                         const mmd_convex_simplex *simplex, mmd_collide_contact *contact)
{
    double length = sqrt(simplex->squared_distance);
    contact->distance = length - a.shape->margin - b.shape->margin;
    if (contact->distance > breaking_threshold)
        return 0;
    mmd_vec3_scale(simplex->closest, 1 / length, contact->normal);
    mmd_vec3_copy(a.body->state.position, contact->point);
    for (size_t i = 0; i < simplex->count; i++)
        mmd_vec3_add_scaled(simplex->vertices[i].on_a, simplex->barycentric[i], contact->point);
    mmd_vec3_add_scaled(contact->normal, b.shape->margin - length, contact->point);
    return 1;
}

bool mmd_convex_gjk(mmd_collider a, mmd_collider b, double breaking_threshold,
                    mmd_collide_contact *contact, size_t *count)
{
    static const double down[3] = {0, -1, 0};
    *count = 0;
    if (has_separating_axis(a, b, breaking_threshold))
        return true;
    double max_distance = a.shape->margin + b.shape->margin + breaking_threshold;
    mmd_convex_pair pair;
    mmd_convex_support_point first;
    mmd_convex_simplex simplex;
    mmd_convex_pair_init(a, b, false, &pair);
    mmd_convex_find_support_point(&pair, down, &first);
    mmd_convex_simplex_init(&first, &simplex);
    for (int i = 0; !contains_origin(&simplex) && i < MAX_ITERATIONS; i++)
        if (!iterate(&pair, max_distance, &simplex)) {
            *count = contact_of(a, b, breaking_threshold, &simplex, contact);
            return true;
        }
    return false;
}
