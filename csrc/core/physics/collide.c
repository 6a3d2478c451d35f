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

/* Slopes that rounding can make of a line along a face. */
#define FLAT 1e-9

/* A line against the core of a box, all in the box's axes. `toward` leads from the box to `point`
   of the line, `distance` is negative inside. */
typedef struct box_gap {
    double point[3], toward[3], distance;
} box_gap;

/* Slope of half the squared distance to the box at `t`. */
static double slope_at(const line *of, const double core[3], double t)
{
    double slope = 0;
    for (int i = 0; i < 3; i++) {
        double x = of->middle[i] + t * of->along[i];
        slope += (x - clamped(x, core[i])) * of->along[i];
    }
    return slope;
}

/* The squared distance is a parabola between the places where the line crosses a face's plane, and
   its slope only grows. Along a face it is zero on a stretch, of which the middle is taken. */
static double nearest_place(const line *of, const double core[3])
{
    double low = -DBL_MAX, high = DBL_MAX, slope_low = 0, slope_high = 0;
    double flat_low = DBL_MAX, flat_high = -DBL_MAX;
    for (int i = 0; i < 8; i++) {
        double t = i == 6 ? -of->half : of->half;
        if (i < 6 && of->along[i / 2] != 0)
            t = ((i % 2 ? core[i / 2] : -core[i / 2]) - of->middle[i / 2]) / of->along[i / 2];
        if (!(fabs(t) <= of->half))
            continue;
        double slope = slope_at(of, core, t);
        if (fabs(slope) < FLAT) {
            flat_low = fmin(flat_low, t);
            flat_high = fmax(flat_high, t);
        } else if (slope < 0 && t > low) {
            low = t, slope_low = slope;
        } else if (slope > 0 && t < high) {
            high = t, slope_high = slope;
        }
    }
    if (flat_low <= flat_high)
        return (flat_low + flat_high) / 2;
    if (slope_low == 0)
        return -of->half;
    if (slope_high == 0)
        return of->half;
    return low - slope_low * (high - low) / (slope_high - slope_low);
}

static bool gap_outside(const line *of, const double core[3], box_gap *gap)
{
    double t = nearest_place(of, core);
    for (int i = 0; i < 3; i++) {
        gap->point[i] = of->middle[i] + t * of->along[i];
        gap->toward[i] = gap->point[i] - clamped(gap->point[i], core[i]);
    }
    gap->distance = mmd_length3(gap->toward);
    if (!(gap->distance > 1e-9))
        return false;
    mmd_scale3(gap->toward, 1 / gap->distance, gap->toward);
    return true;
}

/* Keeps the direction in which the line leaves the box soonest. */
static void try_direction(const line *of, const double core[3], const double direction[3],
                          box_gap *gap)
{
    double depth = of->half * fabs(mmd_dot3(direction, of->along));
    for (int i = 0; i < 3; i++)
        depth += core[i] * fabs(direction[i]);
    double side = mmd_dot3(direction, of->middle);
    depth -= fabs(side);
    if (-depth > gap->distance) {
        gap->distance = -depth;
        mmd_scale3(direction, side < 0 ? -1 : 1, gap->toward);
    }
}

/* The line goes through the core. */
static void gap_inside(const line *of, const double core[3], box_gap *gap)
{
    gap->distance = -DBL_MAX;
    for (int i = 0; i < 3; i++) {
        double face[3] = {0}, edge[3];
        face[i] = 1;
        try_direction(of, core, face, gap);
        mmd_cross3(face, of->along, edge);
        double length = mmd_length3(edge);
        if (of->half == 0 || length < 1e-6)
            continue;
        mmd_scale3(edge, 1 / length, edge);
        try_direction(of, core, edge, gap);
    }
    /* The deepest point of the line; along an edge or a face, where it crosses the middle. */
    double sink = mmd_dot3(gap->toward, of->along), t;
    if (fabs(sink) > 1e-6)
        t = sink > 0 ? -of->half : of->half;
    else
        t = clamped(-mmd_dot3(of->middle, of->along), of->half);
    mmd_copy3(of->middle, gap->point);
    mmd_add_scaled3(of->along, t, gap->point);
}

/* The gap between a box and a ball along a line. */
static box_gap gap_to_box(mmd_solid box, mmd_solid other)
{
    line world = middle_line(other), local = {.half = world.half};
    double from[3];
    mmd_subtract3(world.middle, box.body->state.position, from);
    mmd_untransform3(box.body->axes, from, local.middle);
    mmd_untransform3(box.body->axes, world.along, local.along);
    box_gap gap, out;
    if (!gap_outside(&local, box.shape->core, &gap))
        gap_inside(&local, box.shape->core, &gap);
    mmd_transform3(box.body->axes, gap.point, out.point);
    mmd_add_scaled3(box.body->state.position, 1, out.point);
    mmd_transform3(box.body->axes, gap.toward, out.toward);
    out.distance = gap.distance;
    return out;
}

static size_t collide_box(mmd_solid a, mmd_solid b, double breaking, mmd_contact *contact)
{
    bool a_is_box = a.shape->kind == MMD_BOX;
    box_gap gap = a_is_box ? gap_to_box(a, b) : gap_to_box(b, a);
    contact->distance = gap.distance - a.shape->radius - b.shape->radius;
    if (contact->distance > breaking)
        return 0;
    mmd_copy3(gap.point, contact->point);
    mmd_scale3(gap.toward, a_is_box ? -1 : 1, contact->normal);
    /* From the line to the surface of B: nearer to A by B's radius, or over the gap to the box. */
    mmd_add_scaled3(contact->normal, b.shape->radius - (a_is_box ? 0 : gap.distance),
                    contact->point);
    return 1;
}

size_t mmd_collide(mmd_solid a, mmd_solid b, double breaking, mmd_contact *contacts)
{
    if (a.shape->kind == MMD_BOX && b.shape->kind == MMD_BOX)
        return mmd_collide_boxes(a, b, contacts);
    if (a.shape->kind == MMD_BOX || b.shape->kind == MMD_BOX)
        return collide_box(a, b, breaking, contacts);
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
