/* SPDX-License-Identifier: MIT */
/* Contacts of two overlapping boxes: the separating axis test with clipping of btBoxBoxDetector
   (dBoxBox2 of ODE) in Bullet 2.75.

   1. Of 15 axes, 3 face normals of each box and 9 cross products of their edges, the one with the
      least overlap (units) becomes the contact normal. If any separates the boxes, there is no
      contact.
   2. Face normal: the incident face, the face of the other box that faces the reference face the
      most, is clipped to the reference face's rectangle (Sutherland-Hodgman), in coordinates x y
      along the reference face. Its points below that face are the contacts, at most four of them.
   3. Edge cross product: one contact, the closest points of the two edges.

   Which points are kept, and their order, follow Bullet, as the solver depends on the order. */
#include "core/physics/collide.h"

#include "core/math/mat3.h"
#include "core/math/scalar.h"

#include <float.h>

/* An edge axis has to be better than a face axis by this factor (fudge_factor). */
#define EDGE_FACTOR 1.05

/* A later axis must be better by this much. Boxes lying flat on each other have two equal axes,
   between which rounding would alternate. */
#define TIE_TOLERANCE 1e-9

enum { MAX_POINTS = 8, FACE_AXES = 6 };

typedef struct box {
    const double *center, *half_extents;
    double axes[3][3]; /* one per row */
} box;

static box box_of(mmd_collider collider)
{
    box result = {.center = collider.body->state.position,
                  .half_extents = collider.shape->half_extents};
    for (int i = 0; i < 3; i++)
        mmd_mat3_column(collider.body->basis, i, result.axes[i]);
    return result;
}

/* 1. Separating axis test */

/* The axis of least overlap so far. */
typedef struct overlap {
    int axis; /* 0-2 faces of A, 3-5 faces of B, 6-14 edges of A times edges of B; -1: none */
    double normal[3]; /* from A to B */
    double distance;  /* negative */
} overlap;

/* Half the length of the box's projection onto an axis. */
static double projected_radius(const box *of, const double axis[3])
{
    double radius = 0;
    for (int i = 0; i < 3; i++)
        radius += of->half_extents[i] * fabs(mmd_vec3_dot(of->axes[i], axis));
    return radius;
}

/* False if the axis separates the boxes. */
static bool test_axis(const box *a, const box *b, int axis, const double normal[3], overlap *best)
{
    double offset[3];
    mmd_vec3_subtract(b->center, a->center, offset);
    double projection = mmd_vec3_dot(normal, offset);
    double distance = fabs(projection) - projected_radius(a, normal) - projected_radius(b, normal);
    if (distance > 0)
        return false;
    double score = axis < FACE_AXES ? distance : distance * EDGE_FACTOR;
    if (best->axis < 0 || score > best->distance + TIE_TOLERANCE) {
        best->axis = axis;
        best->distance = distance;
        mmd_vec3_scale(normal, projection < 0 ? -1 : 1, best->normal);
    }
    return true;
}

static bool find_overlap(const box *a, const box *b, overlap *best)
{
    best->axis = -1;
    for (int i = 0; i < FACE_AXES; i++)
        if (!test_axis(a, b, i, i < 3 ? a->axes[i] : b->axes[i - 3], best))
            return false;
    for (int i = 0; i < 9; i++) {
        double normal[3];
        mmd_vec3_cross(a->axes[i / 3], b->axes[i % 3], normal);
        double length = mmd_vec3_length(normal);
        if (length < 1e-9) /* parallel edges: a face axis is at least as good */
            continue;
        mmd_vec3_scale(normal, 1 / length, normal);
        if (!test_axis(a, b, FACE_AXES + i, normal, best))
            return false;
    }
    return true;
}

/* 3. Edge against edge */

/* The corner that is farthest along sign * direction. */
static void support_vertex(const box *of, const double direction[3], double sign, double corner[3])
{
    mmd_vec3_copy(of->center, corner);
    for (int i = 0; i < 3; i++) {
        bool positive = mmd_vec3_dot(direction, of->axes[i]) > 0;
        mmd_vec3_add_scaled(of->axes[i], (positive ? sign : -sign) * of->half_extents[i], corner);
    }
}

static size_t edge_contact(const box *a, const box *b, const overlap *best,
                           mmd_collide_contact *contact)
{
    const double *edge_a = a->axes[(best->axis - FACE_AXES) / 3];
    const double *edge_b = b->axes[(best->axis - FACE_AXES) % 3];
    double on_a[3], offset[3];
    support_vertex(a, best->normal, 1, on_a);
    support_vertex(b, best->normal, -1, contact->point);
    mmd_vec3_subtract(contact->point, on_a, offset);
    double cosine = mmd_vec3_dot(edge_a, edge_b), denominator = 1 - cosine * cosine;
    if (denominator > 0.0001)
        mmd_vec3_add_scaled(edge_b,
                            (cosine * mmd_vec3_dot(edge_a, offset) - mmd_vec3_dot(edge_b, offset)) /
                                denominator,
                            contact->point);
    mmd_vec3_scale(best->normal, -1, contact->normal);
    contact->distance = best->distance;
    return 1;
}

/* 2. Face against face */

/* A point in the plane of the reference face, and how deep it is below that face. */
typedef struct clip_point {
    double at[2], depth;
} clip_point;

/* Clips a polygon to sign * at[axis] <= limit; keeps at most MAX_POINTS points. */
static size_t clip(const clip_point *from, size_t count, int axis, double sign, double limit,
                   clip_point *to)
{
    size_t kept = 0;
    for (size_t i = 0; i < count && kept < MAX_POINTS; i++) {
        const clip_point *current = &from[i], *next = &from[(i + 1) % count];
        double value = sign * current->at[axis], next_value = sign * next->at[axis];
        if (value < limit)
            to[kept++] = *current;
        if (kept == MAX_POINTS || (value < limit) == (next_value < limit))
            continue;
        double t = (limit - value) / (next_value - value);
        for (int k = 0; k < 2; k++)
            to[kept].at[k] = current->at[k] + t * (next->at[k] - current->at[k]);
        to[kept++].at[axis] = sign * limit;
    }
    return kept;
}

/* The centroid of a polygon, or of its points if it has no area. */
static void centroid_of(const clip_point *points, size_t count, double centroid[2])
{
    double area = 0, sum[2] = {0}, mean[2] = {0};
    for (size_t i = 0; i < count; i++) {
        const clip_point *current = &points[i], *next = &points[(i + 1) % count];
        double cross = current->at[0] * next->at[1] - next->at[0] * current->at[1];
        area += cross;
        for (int k = 0; k < 2; k++) {
            sum[k] += cross * (current->at[k] + next->at[k]);
            mean[k] += current->at[k] / (double)count;
        }
    }
    bool has_area = count > 2 && fabs(area) > DBL_EPSILON;
    for (int k = 0; k < 2; k++)
        centroid[k] = has_area ? sum[k] / (3 * area) : mean[k];
}

/* Reduces the points to four (cullPoints2): the deepest, then those whose angles about the centroid
   are nearest to 90, 180 and 270 degrees from it. */
static void choose_points(const clip_point *points, size_t count,
                          size_t chosen[MMD_COLLIDE_MAX_CONTACTS])
{
    double centroid[2], angles[MAX_POINTS];
    bool taken[MAX_POINTS] = {false};
    centroid_of(points, count, centroid);
    chosen[0] = 0;
    for (size_t i = 0; i < count; i++) {
        angles[i] =
            mmd_portable_atan2(points[i].at[1] - centroid[1], points[i].at[0] - centroid[0]);
        if (points[i].depth > points[chosen[0]].depth)
            chosen[0] = i;
    }
    taken[chosen[0]] = true;
    for (size_t k = 1; k < MMD_COLLIDE_MAX_CONTACTS; k++) {
        double target = angles[chosen[0]] + (double)k * MMD_PI / 2, least = DBL_MAX;
        if (target > MMD_PI)
            target -= 2 * MMD_PI;
        for (size_t i = 0; i < count; i++) {
            double difference = fabs(angles[i] - target);
            if (difference > MMD_PI)
                difference = 2 * MMD_PI - difference;
            if (!taken[i] && difference < least) {
                least = difference;
                chosen[k] = i;
            }
        }
        taken[chosen[k]] = true;
    }
}

/* The axis of a box that is most parallel to a direction. */
static int most_parallel_axis(const box *of, const double direction[3])
{
    double cosines[3];
    for (int i = 0; i < 3; i++)
        cosines[i] = fabs(mmd_vec3_dot(of->axes[i], direction));
    if (cosines[1] > cosines[0])
        return cosines[1] > cosines[2] ? 1 : 2;
    return cosines[0] > cosines[2] ? 0 : 2;
}

static const int other_axes[3][2] = {{1, 2}, {0, 2}, {0, 1}};

static size_t face_contacts(const box *a, const box *b, const overlap *best,
                            mmd_collide_contact *contacts)
{
    bool reference_is_a = best->axis < 3;
    const box *reference = reference_is_a ? a : b, *incident = reference_is_a ? b : a;
    double normal[3]; /* from the reference face to the incident box */
    mmd_vec3_scale(best->normal, reference_is_a ? 1 : -1, normal);
    int axis = best->axis % 3;
    int incident_axis = most_parallel_axis(incident, normal);
    int u = other_axes[incident_axis][0], v = other_axes[incident_axis][1];

    /* The center of the incident face, from that of the reference box. */
    double center[3];
    mmd_vec3_subtract(incident->center, reference->center, center);
    double side = mmd_vec3_dot(incident->axes[incident_axis], normal) < 0 ? 1 : -1;
    mmd_vec3_add_scaled(incident->axes[incident_axis], side * incident->half_extents[incident_axis],
                        center);

    clip_point polygon[MAX_POINTS], clipped[MAX_POINTS];
    const double signs[4][2] = {{-1, -1}, {-1, 1}, {1, 1}, {1, -1}};
    double middle[2], along_u[2], along_v[2]; /* in the plane of the reference face */
    size_t count = 4;
    for (int k = 0; k < 2; k++) {
        const double *direction = reference->axes[other_axes[axis][k]];
        middle[k] = mmd_vec3_dot(direction, center);
        along_u[k] = mmd_vec3_dot(direction, incident->axes[u]);
        along_v[k] = mmd_vec3_dot(direction, incident->axes[v]);
        for (int i = 0; i < 4; i++)
            polygon[i].at[k] = middle[k] + along_u[k] * (signs[i][0] * incident->half_extents[u]) +
                               along_v[k] * (signs[i][1] * incident->half_extents[v]);
    }
    for (int k = 0; k < 2; k++) {
        double limit = reference->half_extents[other_axes[axis][k]];
        count = clip(polygon, count, k, -1, limit, clipped);
        count = clip(clipped, count, k, 1, limit, polygon);
    }

    /* Back onto the incident face; points above the reference face are dropped. */
    double determinant = along_u[0] * along_v[1] - along_v[0] * along_u[1];
    double points[MAX_POINTS][3];
    if (determinant == 0)
        return 0;
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        double x = polygon[i].at[0] - middle[0], y = polygon[i].at[1] - middle[1];
        mmd_vec3_copy(center, points[found]);
        mmd_vec3_add_scaled(incident->axes[u], (along_v[1] * x - along_v[0] * y) / determinant,
                            points[found]);
        mmd_vec3_add_scaled(incident->axes[v], (along_u[0] * y - along_u[1] * x) / determinant,
                            points[found]);
        double depth = reference->half_extents[axis] - mmd_vec3_dot(normal, points[found]);
        if (depth >= 0) {
            polygon[found] = polygon[i];
            polygon[found++].depth = depth;
        }
    }
    size_t chosen[MMD_COLLIDE_MAX_CONTACTS] = {0, 1, 2, 3};
    if (found > MMD_COLLIDE_MAX_CONTACTS)
        choose_points(polygon, found, chosen);
    size_t contact_count = found < MMD_COLLIDE_MAX_CONTACTS ? found : MMD_COLLIDE_MAX_CONTACTS;
    for (size_t i = 0; i < contact_count; i++) {
        mmd_collide_contact *contact = &contacts[i];
        mmd_vec3_copy(points[chosen[i]], contact->point);
        mmd_vec3_add_scaled(reference->center, 1, contact->point);
        mmd_vec3_scale(best->normal, -1, contact->normal);
        contact->distance = -polygon[chosen[i]].depth;
    }
    return contact_count;
}

size_t mmd_collide_box_box(mmd_collider a, mmd_collider b, mmd_collide_contact *contacts)
{
    box box_a = box_of(a), box_b = box_of(b);
    overlap best;
    if (!find_overlap(&box_a, &box_b, &best))
        return 0;
    return best.axis < FACE_AXES ? face_contacts(&box_a, &box_b, &best, contacts)
                                 : edge_contact(&box_a, &box_b, &best, contacts);
}
