/* SPDX-License-Identifier: MIT */
/* A manifold keeps up to four contact points of a pair of bodies from step to step, as
   btManifoldResult::addContactPoint, getCacheEntry, sortCachedPoints and refreshContactPoints do:

   1. A new contact replaces the old point that is closer to it than the breaking threshold
      (units, measured on A), and inherits its impulse and lifetime. A fifth point replaces the one
      without which the others span the largest area; the deepest point stays.
   2. Every point moves with its bodies: distance = (p_a - p_b) . n (units). It is dropped if that
      exceeds the threshold, or if p_a and p_b drift apart across the normal by more than it. */
#include "core/physics/contact_set.h"

#include "core/math/mat3.h"

#include <float.h>

static void to_local(const double point[3], const mmd_body *body, double local[3])
{
    double offset[3];
    mmd_vec3_subtract(point, body->state.position, offset);
    mmd_mat3_transform_transposed(body->basis, offset, local);
}

static void to_world(const double local[3], const mmd_body *body, double point[3])
{
    mmd_mat3_transform(body->basis, local, point);
    mmd_vec3_add_scaled(body->state.position, 1, point);
}

/* The index of the old point that a new one replaces: the nearest one closer than the threshold, or
   `count` (getCacheEntry). */
static size_t find_cached(const mmd_contact_manifold *manifold,
                          const mmd_contact_manifold_point *point, double breaking_threshold)
{
    double least = breaking_threshold * breaking_threshold;
    size_t found = manifold->count;
    for (size_t i = 0; i < manifold->count; i++) {
        double squared = mmd_vec3_squared_distance(manifold->points[i].local_a, point->local_a);
        if (squared < least) {
            least = squared;
            found = i;
        }
    }
    return found;
}

/* Four times the squared area of a quadrilateral with the diagonals ab and cd. */
static double squared_area(const double a[3], const double b[3], const double c[3],
                           const double d[3])
{
    double ab[3], cd[3], cross[3];
    mmd_vec3_subtract(a, b, ab);
    mmd_vec3_subtract(c, d, cd);
    mmd_vec3_cross(ab, cd, cross);
    return mmd_vec3_dot(cross, cross);
}

/* Which of four points a fifth replaces, so that the area stays large; never the deepest
   (sortCachedPoints). */
static size_t find_replaced(const mmd_contact_manifold *manifold,
                            const mmd_contact_manifold_point *point)
{
    const mmd_contact_manifold_point *p = manifold->points;
    size_t deepest = MMD_COLLIDE_MAX_CONTACTS, replaced = 0;
    double least = point->contact.distance, largest = -DBL_MAX;
    for (size_t i = 0; i < MMD_COLLIDE_MAX_CONTACTS; i++)
        if (p[i].contact.distance < least) {
            least = p[i].contact.distance;
            deepest = i;
        }
    static const size_t remaining[MMD_COLLIDE_MAX_CONTACTS][3] = {
        {1, 3, 2}, {0, 3, 2}, {0, 3, 1}, {0, 2, 1}};
    for (size_t i = 0; i < MMD_COLLIDE_MAX_CONTACTS; i++) {
        const size_t *r = remaining[i];
        double area = i == deepest ? 0
                                   : squared_area(point->local_a, p[r[0]].local_a, p[r[1]].local_a,
                                                  p[r[2]].local_a);
        if (area > largest) {
            largest = area;
            replaced = i;
        }
    }
    return replaced;
}

static void add_point(mmd_contact_manifold *manifold, const mmd_body *bodies,
                      double breaking_threshold, const mmd_collide_contact *contact)
{
    mmd_contact_manifold_point point = {.contact = *contact};
    mmd_vec3_copy(contact->point, point.on_a);
    mmd_vec3_add_scaled(contact->normal, contact->distance, point.on_a);
    to_local(point.on_a, &bodies[manifold->body_a], point.local_a);
    to_local(contact->point, &bodies[manifold->body_b], point.local_b);
    size_t index = find_cached(manifold, &point, breaking_threshold);
    if (index < manifold->count) {
        point.impulse = manifold->points[index].impulse;
        point.lifetime = manifold->points[index].lifetime;
    } else if (manifold->count == MMD_COLLIDE_MAX_CONTACTS) {
        index = find_replaced(manifold, &point);
    } else {
        manifold->count++;
    }
    manifold->points[index] = point;
}

/* Moves a point with its bodies; false if they have separated there. */
static bool refresh_point(mmd_contact_manifold_point *point, const mmd_body *a, const mmd_body *b,
                          double breaking_threshold)
{
    mmd_collide_contact *contact = &point->contact;
    double difference[3];
    to_world(point->local_a, a, point->on_a);
    to_world(point->local_b, b, contact->point);
    mmd_vec3_subtract(point->on_a, contact->point, difference);
    contact->distance = mmd_vec3_dot(difference, contact->normal);
    if (contact->distance > breaking_threshold)
        return false;
    point->lifetime++;
    mmd_vec3_add_scaled(contact->normal, -contact->distance, difference); /* tangential part */
    return mmd_vec3_dot(difference, difference) <= breaking_threshold * breaking_threshold;
}

void mmd_contact_manifold_update(mmd_contact_manifold *manifold, const mmd_body *bodies,
                                 double breaking_threshold, const mmd_collide_contact *contacts,
                                 size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_point(manifold, bodies, breaking_threshold, &contacts[i]);
    for (size_t i = manifold->count; i-- > 0;)
        if (!refresh_point(&manifold->points[i], &bodies[manifold->body_a],
                           &bodies[manifold->body_b], breaking_threshold))
            manifold->points[i] = manifold->points[--manifold->count];
}
