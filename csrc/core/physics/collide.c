/* SPDX-License-Identifier: MIT */
#include "core/physics/collide.h"

#include "core/physics/vector.h"

#include <float.h>

/* Spheres and capsules are balls along a line, of which that of a sphere has no length. */

typedef struct line {
    double middle[3], along[3], half;
} line;

static line middle_line(mmd_solid solid)
{
    line result = {.half = solid.shape->core[1]};
    mmd_copy3(solid.body->state.position, result.middle);
    mmd_column3(solid.body->axes, 1, result.along);
    return result;
}

static double clamped(double number, double most)
{
    return number < -most ? -most : number > most ? most : number;
}

/* Points of two lines that are nearest to each other. */
static void nearest_points(const line *a, const line *b, double on_a[3], double on_b[3])
{
    double way[3];
    mmd_subtract3(b->middle, a->middle, way);
    double same = mmd_dot3(a->along, b->along), turn = 1 - same * same;
    double way_a = mmd_dot3(a->along, way), way_b = mmd_dot3(b->along, way);
    double at_a = turn == 0 ? 0 : clamped((way_a - way_b * same) / turn, a->half);
    double free = at_a * same - way_b, at_b = clamped(free, b->half);
    if (at_b != free)
        at_a = clamped(at_b * same + way_a, a->half);
    mmd_copy3(a->middle, on_a);
    mmd_add_scaled3(a->along, at_a, on_a);
    mmd_copy3(b->middle, on_b);
    mmd_add_scaled3(b->along, at_b, on_b);
}

static size_t collide_lines(mmd_solid a, mmd_solid b, double breaking, mmd_contact *contact)
{
    line line_a = middle_line(a), line_b = middle_line(b);
    double on_a[3];
    nearest_points(&line_a, &line_b, on_a, contact->point);
    mmd_subtract3(on_a, contact->point, contact->normal);
    double length = mmd_length3(contact->normal);
    contact->distance = length - a.shape->radius - b.shape->radius;
    if (contact->distance > breaking)
        return 0;
    if (length > DBL_EPSILON)
        mmd_scale3(contact->normal, 1 / length, contact->normal);
    else
        mmd_across3(line_a.along, contact->normal);
    mmd_add_scaled3(contact->normal, b.shape->radius, contact->point);
    return 1;
}

size_t mmd_collide(mmd_solid a, mmd_solid b, double breaking, mmd_contact *contacts)
{
    if (a.shape->kind == MMD_BOX && b.shape->kind == MMD_BOX)
        return mmd_collide_boxes(a, b, contacts);
    if (a.shape->kind != b.shape->kind)
        return mmd_collide_convex(a, b, breaking, contacts);
    /* Bullet's spheres touch only when they do. */
    bool spheres = a.shape->kind == MMD_SPHERE && b.shape->kind == MMD_SPHERE;
    return collide_lines(a, b, spheres ? 0 : breaking, contacts);
}

size_t mmd_collide_ground(mmd_solid a, double height, mmd_contact *contacts)
{
    mmd_shape_lowest(a.shape, a.body, contacts->point);
    contacts->distance = contacts->point[1] - height;
    contacts->point[1] = height;
    mmd_copy3((const double[]){0, 1, 0}, contacts->normal);
    return contacts->distance < a.shape->breaking;
}
