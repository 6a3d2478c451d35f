/* SPDX-License-Identifier: MIT */
/* Penetration depth of two overlapping convex shapes by the expanding polytope algorithm (van den
   Bergen, Proximity Queries and Penetration Depth Computation on 3D Game Objects, 2001), as
   btGjkEpaSolver2::Penetration of Bullet 2.75 runs it on the shapes with their margins.

   1. GJK looks for a tetrahedron of the Minkowski difference A - B that encloses the origin.
   2. A polytope starts as that tetrahedron. Its face closest to the origin, with unit normal n at
      distance d (units), is replaced by faces to the support point w in direction n, until
      n . w - d <= 1e-4: then the face lies on the surface of A - B.
   3. The depth is d, the direction n; the witness points are the face's barycentric combination.

   Thresholds and the order of the search are Bullet's, as far as the result depends on them. */
#include "core/physics/collide.h"

#include "core/math/mat3.h"

#include <float.h>

/* Of GJK: distance of the origin that counts as touching, least relative progress, and squared
   distance of support points that count as equal (GJK_MIN_DISTANCE, GJK_ACCURARY,
   GJK_DUPLICATED_EPS). */
#define GJK_MIN_DISTANCE 1e-4
#define GJK_ACCURACY 1e-4
#define GJK_DUPLICATED_EPSILON 1e-4

/* Of EPA: least progress of the closest face, least area of a face (twice), how far a point may lie
   above a face's plane and not see it, and how far outside a face's edges the origin's projection
   may lie (EPA_ACCURACY for both, EPA_PLANE_EPS, EPA_INSIDE_EPS). */
#define EPA_ACCURACY 1e-4
#define EPA_MIN_AREA 1e-4
#define EPA_PLANE_EPSILON 1e-5
#define EPA_INSIDE_EPSILON 0.01

enum {
    GJK_MAX_ITERATIONS = 128,
    EPA_MAX_ITERATIONS = 64,
    MAX_VERTICES = EPA_MAX_ITERATIONS + 4,
    MAX_FACES = 2 * MAX_VERTICES
};

typedef struct face {
    uint8_t vertices[3]; /* counterclockwise from outside */
    bool removed;        /* visible from the vertex that is being added */
    double normal[3], distance;
    double edge_distance; /* 0 if the origin projects into the face, else negative */
} face;

typedef struct polytope {
    size_t vertex_count, face_count;
    mmd_convex_support_point vertices[MAX_VERTICES];
    face faces[MAX_FACES];                            /* oldest first */
    uint8_t face_left_of[MAX_VERTICES][MAX_VERTICES]; /* of the edge from one vertex to another */
} polytope;

/* 1. The tetrahedron */

/* GJK; false if the shapes do not overlap. */
static bool enclose_origin(mmd_collider a, const mmd_convex_pair *pair, mmd_convex_simplex *simplex)
{
    double direction[3], recent[4][3], lower_bound = 0;
    double guess[3] = {1, 0, 0};
    /* Bullet uses this world-space vector as if it were in A's space; reproduced here. */
    if (mmd_vec3_dot(pair->offset, pair->offset) > 0)
        mmd_vec3_copy(pair->offset, guess);
    mmd_mat3_transform(a.body->basis, guess, direction);
    mmd_convex_support_point first;
    mmd_convex_find_support_point(pair, direction, &first);
    mmd_convex_simplex_init(&first, simplex);
    for (int i = 0; i < 4; i++)
        mmd_vec3_copy(simplex->closest, recent[i]);
    for (int iteration = 1; iteration <= GJK_MAX_ITERATIONS; iteration++) {
        double length = sqrt(simplex->squared_distance), difference[3];
        if (length < GJK_MIN_DISTANCE)
            return true;
        mmd_vec3_scale(simplex->closest, -1, direction);
        mmd_convex_support_point *support = &simplex->vertices[simplex->count];
        mmd_convex_find_support_point(pair, direction, support);
        for (int i = 0; i < 4; i++) {
            mmd_vec3_subtract(support->point, recent[i], difference);
            if (mmd_vec3_dot(difference, difference) < GJK_DUPLICATED_EPSILON)
                return false;
        }
        mmd_vec3_copy(support->point, recent[iteration % 4]);
        lower_bound = fmax(lower_bound, mmd_vec3_dot(simplex->closest, support->point) / length);
        if (length - lower_bound <= GJK_ACCURACY * length)
            return false;
        double volume = simplex->count == 3 ? mmd_convex_simplex_volume(simplex) : 0;
        if (!mmd_convex_simplex_add(simplex, DBL_MAX, volume))
            return false;
        if (simplex->count == 4)
            return true;
    }
    return false;
}

/* Completes a simplex that touches the origin to a tetrahedron, by support points on either side of
   it (EncloseOrigin). */
static bool complete_tetrahedron(mmd_collider a, const mmd_convex_pair *pair,
                                 mmd_convex_simplex *simplex)
{
    double edge[3], other[3], direction[3];
    if (simplex->count == 4)
        return mmd_convex_simplex_volume(simplex) != 0;
    if (simplex->count < 2)
        return false;
    mmd_vec3_subtract(simplex->vertices[1].point, simplex->vertices[0].point, edge);
    for (int i = 0; i < (simplex->count == 2 ? 3 : 1); i++) {
        if (simplex->count == 2)
            mmd_mat3_column(a.body->basis, i, other);
        else
            mmd_vec3_subtract(simplex->vertices[2].point, simplex->vertices[0].point, other);
        mmd_vec3_cross(edge, other, direction);
        if (!(mmd_vec3_dot(direction, direction) > 0))
            continue;
        for (int side = 0; side < 2; side++) {
            mmd_convex_find_support_point(pair, direction, &simplex->vertices[simplex->count++]);
            if (complete_tetrahedron(a, pair, simplex))
                return true;
            simplex->count--;
            mmd_vec3_scale(direction, -1, direction);
        }
    }
    return false;
}

/* 2. The polytope */

static void register_edges(polytope *hull, size_t index)
{
    const uint8_t *vertices = hull->faces[index].vertices;
    for (int i = 0; i < 3; i++)
        hull->face_left_of[vertices[i]][vertices[(i + 1) % 3]] = (uint8_t)index;
}

/* Signed distance of the origin from the edge ab in the face's plane, times the edge's length;
   negative outside the face. */
static double distance_from_edge(const double normal[3], const double a[3], const double b[3])
{
    double edge[3], outward[3];
    mmd_vec3_subtract(a, b, edge);
    mmd_vec3_cross(normal, edge, outward);
    return mmd_vec3_dot(a, outward);
}

/* False if the face is degenerate or there is no room for it. */
static bool add_face(polytope *hull, size_t i, size_t k, size_t m)
{
    if (hull->face_count == MAX_FACES)
        return false;
    const double *a = hull->vertices[i].point, *b = hull->vertices[k].point;
    const double *c = hull->vertices[m].point;
    face *added = &hull->faces[hull->face_count];
    added->vertices[0] = (uint8_t)i, added->vertices[1] = (uint8_t)k;
    added->vertices[2] = (uint8_t)m;
    added->removed = false;
    double edge[3], other[3];
    mmd_vec3_subtract(b, a, edge);
    mmd_vec3_subtract(c, a, other);
    mmd_vec3_cross(edge, other, added->normal);
    double area = mmd_vec3_length(added->normal);
    if (!(area > EPA_MIN_AREA))
        return false;
    mmd_vec3_scale(added->normal, 1 / area, added->normal);
    added->distance = mmd_vec3_dot(a, added->normal);
    added->edge_distance = fmin(
        distance_from_edge(added->normal, a, b),
        fmin(distance_from_edge(added->normal, b, c), distance_from_edge(added->normal, c, a)));
    if (added->edge_distance >= -EPA_INSIDE_EPSILON)
        added->edge_distance = 0;
    register_edges(hull, hull->face_count++);
    return true;
}

/* In Bullet's order (findbest): from the newest face on, one that is closer and whose projection of
   the origin is not farther outside. */
static const face *closest_face(const polytope *hull)
{
    const face *best = &hull->faces[hull->face_count - 1];
    for (const face *other = best; other-- > hull->faces;)
        if (other->edge_distance >= best->edge_distance &&
            fabs(other->distance) < fabs(best->distance))
            best = other;
    return best;
}

/* Connects the newest vertex to the horizon, the boundary of the faces that it sees, starting at an
   edge of a removed face (Bullet's expand). False if that fails, as when it sees all faces around
   another vertex. */
static bool expand(polytope *hull, size_t from, size_t to)
{
    size_t newest = hull->vertex_count - 1;
    face *left = &hull->faces[hull->face_left_of[from][to]];
    if (left->removed)
        return false;
    if (mmd_vec3_dot(left->normal, hull->vertices[newest].point) - left->distance <
        -EPA_PLANE_EPSILON)
        return add_face(hull, to, from, newest) &&
               hull->faces[hull->face_count - 1].distance >= -EPA_PLANE_EPSILON;
    left->removed = true;
    int corner = 0;
    while (left->vertices[corner] == from || left->vertices[corner] == to)
        corner++;
    size_t third = left->vertices[corner];
    return expand(hull, third, to) && expand(hull, from, third);
}

/* Replaces a face by faces to its support point; false if there is none beyond it. */
static bool expand_face(const mmd_convex_pair *pair, polytope *hull, size_t index)
{
    face *expanded = &hull->faces[index];
    if (hull->vertex_count == MAX_VERTICES)
        return false;
    mmd_convex_support_point *support = &hull->vertices[hull->vertex_count];
    mmd_convex_find_support_point(pair, expanded->normal, support);
    if (!(mmd_vec3_dot(expanded->normal, support->point) - expanded->distance > EPA_ACCURACY))
        return false;
    hull->vertex_count++;
    expanded->removed = true;
    for (int i = 0; i < 3; i++)
        if (!expand(hull, expanded->vertices[(i + 1) % 3], expanded->vertices[i]))
            return false;
    size_t count = 0;
    for (size_t i = 0; i < hull->face_count; i++) {
        if (hull->faces[i].removed)
            continue;
        if (count < i) {
            hull->faces[count] = hull->faces[i];
            register_edges(hull, count);
        }
        count++;
    }
    hull->face_count = count;
    return true;
}

static bool polytope_init(const mmd_convex_simplex *simplex, polytope *hull)
{
    hull->vertex_count = 4;
    hull->face_count = 0;
    memcpy(hull->vertices, simplex->vertices, sizeof simplex->vertices);
    if (mmd_convex_simplex_volume(simplex) > 0) {
        hull->vertices[0] = simplex->vertices[1];
        hull->vertices[1] = simplex->vertices[0];
    }
    return add_face(hull, 0, 1, 2) && add_face(hull, 1, 0, 3) && add_face(hull, 2, 1, 3) &&
           add_face(hull, 0, 2, 3);
}

/* 3. The witness point on A, from A's position: barycentric coordinates are areas of the triangles
   that the origin's projection makes with the edges. */
static void witness_point(const polytope *hull, const face *nearest, double on_a[3])
{
    double offsets[3][3], cross[3], areas[3], sum = 0;
    for (int i = 0; i < 3; i++) {
        mmd_vec3_copy(hull->vertices[nearest->vertices[i]].point, offsets[i]);
        mmd_vec3_add_scaled(nearest->normal, -nearest->distance, offsets[i]);
    }
    for (int i = 0; i < 3; i++) {
        mmd_vec3_cross(offsets[(i + 1) % 3], offsets[(i + 2) % 3], cross);
        areas[i] = mmd_vec3_length(cross);
        sum += areas[i];
    }
    mmd_vec3_copy((const double[3]){0}, on_a);
    for (int i = 0; i < 3; i++)
        mmd_vec3_add_scaled(hull->vertices[nearest->vertices[i]].on_a, areas[i] / sum, on_a);
}

size_t mmd_convex_epa(mmd_collider a, mmd_collider b, mmd_collide_contact *contact)
{
    mmd_convex_simplex simplex;
    mmd_convex_pair pair;
    polytope hull;
    mmd_convex_pair_init(a, b, true, &pair);
    if (!enclose_origin(a, &pair, &simplex) || !complete_tetrahedron(a, &pair, &simplex) ||
        !polytope_init(&simplex, &hull))
        return 0;
    const face *closest = closest_face(&hull);
    face outermost = *closest;
    while (expand_face(&pair, &hull, (size_t)(closest - hull.faces))) {
        closest = closest_face(&hull);
        if (closest->edge_distance >= outermost.edge_distance)
            outermost = *closest;
    }
    double on_a[3];
    witness_point(&hull, &outermost, on_a);
    contact->distance = -outermost.distance;
    mmd_vec3_scale(outermost.normal, -1, contact->normal);
    mmd_vec3_copy(a.body->state.position, contact->point);
    mmd_vec3_add_scaled(on_a, 1, contact->point);
    mmd_vec3_add_scaled(outermost.normal, -outermost.distance, contact->point);
    return 1;
}
