/* SPDX-License-Identifier: MIT */
#include "core/physics/simplex.h"

#include "core/physics/vector.h"

/* The gap of two convex bodies by the algorithm of Gilbert, Johnson and Keerthi (1988): the corner
   that is farthest back along the shortest way so far joins a simplex, of which the face with the
   nearest point stays. A round body has a corner in each direction, so that the search only comes
   near; where it ends is part of Bullet's result. */

/* Share of the squared distance that a step has to gain. */
#define LEAST_GAIN 1e-6

/* Six times the volume of a simplex that is taken as flat. */
#define FLAT 1e-8

/* Ways shorter than this say nothing sure about a direction. */
#define SHORTEST 0.01

enum { MOST_STEPS = 1000 };

/* Whether a plane across an axis of one of two bodies keeps them apart, as it does most neighbours:
   the search would find nothing else. */
static bool axis_between(mmd_solid a, mmd_solid b, double breaking)
{
    const double *core_a = a.shape->core, *core_b = b.shape->core;
    double way[3], along_a[3], along_b[3], shared[3][3]; /* of axes of A with those of B */
    double round = a.shape->radius + b.shape->radius + breaking;
    mmd_subtract3(b.body->state.position, a.body->state.position, way);
    mmd_untransform3(a.body->axes, way, along_a);
    for (int i = 0; i < 3; i++) {
        double axis[3], reach = core_a[i] + round;
        mmd_column3(a.body->axes, i, axis);
        mmd_untransform3(b.body->axes, axis, shared[i]);
        for (int k = 0; k < 3; k++)
            reach += fabs(shared[i][k]) * core_b[k];
        if (fabs(along_a[i]) > reach)
            return true;
    }
    mmd_untransform3(b.body->axes, way, along_b);
    for (int k = 0; k < 3; k++) {
        double reach = core_b[k] + round;
        for (int i = 0; i < 3; i++)
            reach += fabs(shared[i][k]) * core_a[i];
        if (fabs(along_b[k]) > reach)
            return true;
    }
    return false;
}

/* Four corners hold the origin, also where they are too far apart for rounding to know. */
static bool overlaps(const mmd_simplex *of)
{
    return of->count == 4 || !(of->square >= SHORTEST * SHORTEST);
}

/* A step towards the origin; false when this is the end of them. */
static bool approach(mmd_solid a, mmd_solid b, double reach, mmd_simplex *held)
{
    mmd_corner *next = &held->corners[held->count];
    double back[3];
    mmd_scale3(held->nearest, -1, back);
    mmd_corner_along(a, b, MMD_LESS_MARGIN, back, next);
    double ahead = mmd_dot3(held->nearest, next->way);
    if (held->square - ahead <= LEAST_GAIN * held->square ||
        (ahead > 0 && ahead * ahead > held->square * reach * reach) ||
        (held->count == 3 && fabs(mmd_simplex_volume(held)) < FLAT))
        return false;
    return mmd_simplex_join(held, held->square);
}

static size_t collide_gap(mmd_solid a, mmd_solid b, double breaking, const mmd_simplex *held,
                          mmd_contact *contact)
{
    double length = sqrt(held->square);
    contact->distance = length - a.shape->margin - b.shape->margin;
    if (contact->distance > breaking)
        return 0;
    mmd_scale3(held->nearest, 1 / length, contact->normal);
    mmd_copy3(a.body->state.position, contact->point);
    for (size_t i = 0; i < held->count; i++)
        mmd_add_scaled3(held->corners[i].on_a, held->shares[i], contact->point);
    mmd_add_scaled3(contact->normal, b.shape->margin - length, contact->point);
    return 1;
}

size_t mmd_collide_convex(mmd_solid a, mmd_solid b, double breaking, mmd_contact *contact)
{
    static const double down[3] = {0, -1, 0};
    if (axis_between(a, b, breaking))
        return 0;
    double reach = a.shape->margin + b.shape->margin + breaking;
    mmd_simplex held;
    mmd_simplex_begin(a, b, MMD_LESS_MARGIN, down, &held);
    for (int step = 0; !overlaps(&held) && step < MOST_STEPS; step++)
        if (!approach(a, b, reach, &held))
            return collide_gap(a, b, breaking, &held, contact);
    return mmd_collide_depth(a, b, contact);
}
