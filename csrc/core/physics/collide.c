/* SPDX-License-Identifier: MIT */
/* Narrow phase: chooses the algorithm for a pair of shapes, as Bullet's dispatcher does, and has
   the closed forms. Two spheres, or two capsules, are segments (a sphere's has no length) rounded
   by a radius: their contact follows from the closest points of the segments
   (btSphereSphereCollisionAlgorithm; capsuleCapsuleDistance, after Ericson, Real-Time Collision
   Detection, 5.1.9). All other pairs but two boxes go to GJK and EPA. Against the ground only the
   lowest point counts (btConvexPlaneCollisionAlgorithm). */
#include "core/physics/collide.h"

#include "core/math/mat3.h"
#include "core/math/scalar.h"

#include <float.h>

typedef struct segment {
    double center[3], direction[3], half_length;
} segment;

static segment segment_of(mmd_collider collider)
{
    segment result = {.half_length = collider.shape->core[1]};
    mmd_vec3_copy(collider.body->state.position, result.center);
    mmd_mat3_column(collider.body->basis, 1, result.direction);
    return result;
}

static double clamp_to_segment(const segment *of, double offset)
{
    return mmd_clamp(offset, -of->half_length, of->half_length);
}

static void closest_points(const segment *a, const segment *b, double on_a[3], double on_b[3])
{
    double offset[3];
    mmd_vec3_subtract(b->center, a->center, offset);
    double cosine = mmd_vec3_dot(a->direction, b->direction), denominator = 1 - cosine * cosine;
    double offset_a = mmd_vec3_dot(a->direction, offset);
    double offset_b = mmd_vec3_dot(b->direction, offset);
    double s =
        denominator == 0 ? 0 : clamp_to_segment(a, (offset_a - offset_b * cosine) / denominator);
    double unclamped = s * cosine - offset_b, t = clamp_to_segment(b, unclamped);
    if (t != unclamped)
        s = clamp_to_segment(a, t * cosine + offset_a);
    mmd_vec3_copy(a->center, on_a);
    mmd_vec3_add_scaled(a->direction, s, on_a);
    mmd_vec3_copy(b->center, on_b);
    mmd_vec3_add_scaled(b->direction, t, on_b);
}

static size_t collide_segments(mmd_collider a, mmd_collider b, double breaking_threshold,
                               mmd_collide_contact *contact)
{
    segment segment_a = segment_of(a), segment_b = segment_of(b);
    double on_a[3];
    closest_points(&segment_a, &segment_b, on_a, contact->point);
    mmd_vec3_subtract(on_a, contact->point, contact->normal);
    double length = mmd_vec3_length(contact->normal);
    contact->distance = length - a.shape->radius - b.shape->radius;
    if (contact->distance > breaking_threshold)
        return 0;
    if (length > DBL_EPSILON)
        mmd_vec3_scale(contact->normal, 1 / length, contact->normal);
    else
        mmd_vec3_perpendicular(segment_a.direction, contact->normal);
    mmd_vec3_add_scaled(contact->normal, b.shape->radius, contact->point);
    return 1;
}

size_t mmd_collide(mmd_collider a, mmd_collider b, double breaking_threshold,
                   mmd_collide_contact *contacts)
{
    if (a.shape->kind == MMD_SHAPE_BOX && b.shape->kind == MMD_SHAPE_BOX)
        return mmd_collide_box_box(a, b, contacts);
    if (a.shape->kind != b.shape->kind) {
        size_t count;
        return mmd_convex_gjk(a, b, breaking_threshold, contacts, &count)
                   ? count
                   : mmd_convex_epa(a, b, contacts);
    }
    /* Bullet reports contacts of two spheres only if they overlap. */
    bool spheres = a.shape->kind == MMD_SHAPE_SPHERE && b.shape->kind == MMD_SHAPE_SPHERE;
    return collide_segments(a, b, spheres ? 0 : breaking_threshold, contacts);
}

size_t mmd_collide_ground(mmd_collider a, double height, mmd_collide_contact *contacts)
{
    mmd_shape_lowest_point(a.shape, a.body->state.position, a.body->basis, contacts->point);
    contacts->distance = contacts->point[1] - height;
    contacts->point[1] = height;
    mmd_vec3_copy((const double[]){0, 1, 0}, contacts->normal);
    return contacts->distance < a.shape->breaking_threshold;
}
