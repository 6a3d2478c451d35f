/* SPDX-License-Identifier: MIT */
#include "core/physics/manifold.h"

#include "core/physics/vector.h"

#include <float.h>

/* Share of a contact's overlap that one step takes back. */
#define OVERLAP_SHARE 0.2

/* Of the impulse of the step before. */
#define WARM_START 0.85

enum { BOUNCING_AGE = 2 }; /* older contacts do not bounce */

static void to_local(const double point[3], const mmd_body *body, double local[3])
{
    double from[3];
    mmd_subtract3(point, body->state.position, from);
    mmd_untransform3(body->axes, from, local);
}

static void to_world(const double local[3], const mmd_body *body, double point[3])
{
    mmd_transform3(body->axes, local, point);
    mmd_add_scaled3(body->state.position, 1, point);
}

static double distance_squared(const double a[3], const double b[3])
{
    double way[3];
    mmd_subtract3(a, b, way);
    return mmd_dot3(way, way);
}

/* The old point that a new one takes the place of: the nearest one closer than `breaking`, or
   `count`. */
static size_t same_point(const mmd_manifold *manifold, const mmd_manifold_point *point,
                         double breaking)
{
    double least = breaking * breaking;
    size_t found = manifold->count;
    for (size_t i = 0; i < manifold->count; i++) {
        double square = distance_squared(manifold->points[i].local_a, point->local_a);
        if (square < least) {
            least = square;
            found = i;
        }
    }
    return found;
}

/* Twice the area that is spanned by the diagonals of four points, squared. */
static double spread(const double a[3], const double b[3], const double c[3], const double d[3])
{
    double one[3], other[3], cross[3];
    mmd_subtract3(a, b, one);
    mmd_subtract3(c, d, other);
    mmd_cross3(one, other, cross);
    return mmd_dot3(cross, cross);
}

/* Which of four points gives way to a fifth, so that they stay spread out; never the deepest. */
static size_t point_to_drop(const mmd_manifold *manifold, const mmd_manifold_point *point)
{
    const mmd_manifold_point *p = manifold->points;
    size_t deepest = MMD_CONTACTS, dropped = 0;
    double least = point->contact.distance, most = -DBL_MAX;
    for (size_t i = 0; i < MMD_CONTACTS; i++)
        if (p[i].contact.distance < least) {
            least = p[i].contact.distance;
            deepest = i;
        }
    static const size_t rest[MMD_CONTACTS][3] = {{1, 3, 2}, {0, 3, 2}, {0, 3, 1}, {0, 2, 1}};
    for (size_t i = 0; i < MMD_CONTACTS; i++) {
        const size_t *r = rest[i];
        double area = i == deepest ? 0
                                   : spread(point->local_a, p[r[0]].local_a, p[r[1]].local_a,
                                            p[r[2]].local_a);
        if (area > most) {
            most = area;
            dropped = i;
        }
    }
    return dropped;
}

static void add_point(mmd_manifold *manifold, const mmd_body *bodies, double breaking,
                      const mmd_contact *contact)
{
    mmd_manifold_point point = {.contact = *contact};
    mmd_copy3(contact->point, point.on_a);
    mmd_add_scaled3(contact->normal, contact->distance, point.on_a);
    to_local(point.on_a, &bodies[manifold->a], point.local_a);
    to_local(contact->point, &bodies[manifold->b], point.local_b);
    size_t place = same_point(manifold, &point, breaking);
    if (place < manifold->count) {
        point.impulse = manifold->points[place].impulse;
        point.age = manifold->points[place].age;
    } else if (manifold->count == MMD_CONTACTS) {
        place = point_to_drop(manifold, &point);
    } else {
        manifold->count++;
    }
    manifold->points[place] = point;
}

/* Where the point has gone with the bodies; false when it has come apart. */
static bool carry_point(mmd_manifold_point *point, const mmd_body *a, const mmd_body *b,
                        double breaking)
{
    mmd_contact *contact = &point->contact;
    double way[3];
    to_world(point->local_a, a, point->on_a);
    to_world(point->local_b, b, contact->point);
    mmd_subtract3(point->on_a, contact->point, way);
    contact->distance = mmd_dot3(way, contact->normal);
    if (contact->distance > breaking)
        return false;
    point->age++;
    mmd_add_scaled3(contact->normal, -contact->distance, way); /* what is left is sideways */
    return mmd_dot3(way, way) <= breaking * breaking;
}

void mmd_manifold_update(mmd_manifold *manifold, const mmd_body *bodies, double breaking,
                         const mmd_contact *contacts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_point(manifold, bodies, breaking, &contacts[i]);
    for (size_t i = manifold->count; i-- > 0;)
        if (!carry_point(&manifold->points[i], &bodies[manifold->a], &bodies[manifold->b],
                         breaking))
            manifold->points[i] = manifold->points[--manifold->count];
}

bool mmd_manifold_fits(const mmd_manifold *manifold, size_t body_count)
{
    if (manifold->a >= body_count || manifold->b > body_count || manifold->a == manifold->b ||
        manifold->count > MMD_CONTACTS)
        return false;
    for (size_t i = 0; i < manifold->count; i++) {
        const mmd_manifold_point *point = &manifold->points[i];
        const double *vectors[] = {point->local_a, point->local_b, point->on_a,
                                   point->contact.point, point->contact.normal};
        for (size_t k = 0; k < 15; k++)
            if (isnan(vectors[k / 3][k % 3])) /* shapes may be of any size */
                return false;
        if (isnan(point->contact.distance) || !isfinite(point->impulse))
            return false;
    }
    return true;
}

/* Drives the speed of the points from each other along an axis. */
static void aim(const mmd_manifold_point *point, const mmd_body *bodies, const double axis[3],
                double target, mmd_row *row)
{
    double arm[3], arm_a[3], arm_b[3];
    mmd_subtract3(point->on_a, bodies[row->a].state.position, arm);
    mmd_cross3(arm, axis, arm_a);
    mmd_subtract3(point->contact.point, bodies[row->b].state.position, arm);
    mmd_cross3(axis, arm, arm_b);
    mmd_row_aim(row, bodies, axis, arm_a, arm_b, target);
}

/* Of A's point as seen from that of B. */
static void sliding(const mmd_manifold_point *point, const mmd_body *a, const mmd_body *b,
                    double velocity[3])
{
    double arm[3], turning[3];
    mmd_subtract3(a->state.velocity, b->state.velocity, velocity);
    mmd_subtract3(point->on_a, a->state.position, arm);
    mmd_cross3(a->state.spin, arm, turning);
    mmd_add_scaled3(turning, 1, velocity);
    mmd_subtract3(point->contact.point, b->state.position, arm);
    mmd_cross3(b->state.spin, arm, turning);
    mmd_add_scaled3(turning, -1, velocity);
}

void mmd_contact_rows(const mmd_manifold *manifold, size_t index, const mmd_body *bodies,
                      double restitution, double step, mmd_row *contact, mmd_row *friction,
                      mmd_change *changes)
{
    const mmd_manifold_point *point = &manifold->points[index];
    const mmd_body *a = &bodies[manifold->a], *b = &bodies[manifold->b];
    double velocity[3];
    sliding(point, a, b, velocity);
    double leaving = mmd_dot3(velocity, point->contact.normal);
    double bounce = point->age > BOUNCING_AGE ? 0 : fmax(0, -leaving * restitution);

    mmd_row_begin(contact, manifold->a, manifold->b, 0, DBL_MAX);
    aim(point, bodies, point->contact.normal,
        bounce - point->contact.distance * OVERLAP_SHARE / step, contact);
    contact->impulse = point->impulse * WARM_START;
    mmd_row_push(contact, contact->impulse, changes);

    double aside[3];
    mmd_copy3(velocity, aside);
    mmd_add_scaled3(point->contact.normal, -leaving, aside);
    if (mmd_dot3(aside, aside) > DBL_EPSILON)
        mmd_normalize3(aside);
    else
        mmd_across3(point->contact.normal, aside); /* does not slide */
    mmd_row_begin(friction, manifold->a, manifold->b, 0, 0);
    aim(point, bodies, aside, 0, friction);
}
