/* SPDX-License-Identifier: MIT */
#include "core/physics/simplex.h"

#include "core/physics/vector.h"

#include <float.h>
#include <string.h>

/* How deep two convex bodies are in each other, by van den Bergen's expanding polytope (2001): of a
   hull around the origin the nearest face is pushed out to the corner that is farthest along its
   normal, until it hardly moves. Its thresholds are Bullet's, as far as the result depends on
   them. */

/* Of the search for the first hull: what counts as the origin, as progress, as another corner. */
#define TOUCHING 1e-4
#define LEAST_PROGRESS 1e-4
#define SAME_CORNER 1e-4 /* squared distance */

/* Of the hull: how far a face has to be pushed, its least area (twice), how far it may lie behind
   a corner and not be seen, and how far the origin may be beside it. */
#define LEAST_PUSH 1e-4
#define LEAST_AREA 1e-4
#define BEHIND 1e-5
#define BESIDE 0.01

enum { MOST_STEPS = 128, MOST_PUSHES = 64, CORNERS = MOST_PUSHES + 4, FACES = 2 * CORNERS };

typedef struct face {
    uint8_t corners[3]; /* counterclockwise from outside */
    bool seen;          /* by the corner that joins */
    double normal[3], distance;
    double beside; /* 0 where the origin is above or below it, else negative */
} face;

typedef struct hull {
    size_t corner_count, face_count;
    mmd_corner corners[CORNERS];
    face faces[FACES];                 /* the older first */
    uint8_t left_of[CORNERS][CORNERS]; /* the face to the left of an edge */
} hull;

/* Whether bodies overlap: a simplex comes as near to the origin as it can. */
static bool enclose_origin(mmd_solid a, mmd_solid b, mmd_simplex *held)
{
    double way[3], recent[4][3], least = 0;
    mmd_subtract3(a.body->state.position, b.body->state.position, way);
    double first[3] = {1, 0, 0};
    /* Bullet takes this way as one in A's axes. */
    if (mmd_dot3(way, way) > 0)
        mmd_copy3(way, first);
    mmd_transform3(a.body->axes, first, way);
    mmd_simplex_begin(a, b, MMD_WHOLE, way, held);
    for (int i = 0; i < 4; i++)
        mmd_copy3(held->nearest, recent[i]);
    for (int step = 1; step <= MOST_STEPS; step++) {
        double length = sqrt(held->square), apart[3];
        if (length < TOUCHING)
            return true;
        mmd_scale3(held->nearest, -1, way);
        mmd_corner *corner = &held->corners[held->count];
        mmd_corner_along(a, b, MMD_WHOLE, way, corner);
        for (int i = 0; i < 4; i++) {
            mmd_subtract3(corner->way, recent[i], apart);
            if (mmd_dot3(apart, apart) < SAME_CORNER)
                return false;
        }
        mmd_copy3(corner->way, recent[step % 4]);
        least = fmax(least, mmd_dot3(held->nearest, corner->way) / length);
        if (length - least <= LEAST_PROGRESS * length)
            return false;
        if (!mmd_simplex_join(held, DBL_MAX))
            return false;
        if (held->count == 4)
            return true;
    }
    return false;
}

/* Tries a fourth, third corner on either side of what there is. */
static bool complete(mmd_solid a, mmd_solid b, mmd_simplex *held)
{
    double edge[3], other[3], direction[3];
    if (held->count == 4)
        return mmd_simplex_volume(held) != 0;
    if (held->count < 2)
        return false;
    mmd_subtract3(held->corners[1].way, held->corners[0].way, edge);
    for (int i = 0; i < (held->count == 2 ? 3 : 1); i++) {
        if (held->count == 2)
            mmd_column3(a.body->axes, i, other);
        else
            mmd_subtract3(held->corners[2].way, held->corners[0].way, other);
        mmd_cross3(edge, other, direction);
        if (!(mmd_dot3(direction, direction) > 0))
            continue;
        for (int side = 0; side < 2; side++) {
            mmd_corner_along(a, b, MMD_WHOLE, direction, &held->corners[held->count++]);
            if (complete(a, b, held))
                return true;
            held->count--;
            mmd_scale3(direction, -1, direction);
        }
    }
    return false;
}

static void know_edges(hull *of, size_t index)
{
    const uint8_t *corners = of->faces[index].corners;
    for (int i = 0; i < 3; i++)
        of->left_of[corners[i]][corners[(i + 1) % 3]] = (uint8_t)index;
}

/* How far the origin is on the inner side of the edge from a to b, times the edge's length. */
static double inside_of_edge(const double normal[3], const double a[3], const double b[3])
{
    double edge[3], out[3];
    mmd_subtract3(a, b, edge);
    mmd_cross3(normal, edge, out);
    return mmd_dot3(a, out);
}

/* False when it has hardly an area. */
static bool add_face(hull *of, size_t i, size_t k, size_t m)
{
    if (of->face_count == FACES)
        return false;
    const double *a = of->corners[i].way, *b = of->corners[k].way, *c = of->corners[m].way;
    face *added = &of->faces[of->face_count];
    *added = (face){.corners = {(uint8_t)i, (uint8_t)k, (uint8_t)m}};
    double edge[3], other[3];
    mmd_subtract3(b, a, edge);
    mmd_subtract3(c, a, other);
    mmd_cross3(edge, other, added->normal);
    double area = mmd_length3(added->normal);
    if (!(area > LEAST_AREA))
        return false;
    mmd_scale3(added->normal, 1 / area, added->normal);
    added->distance = mmd_dot3(a, added->normal);
    added->beside =
        fmin(inside_of_edge(added->normal, a, b),
             fmin(inside_of_edge(added->normal, b, c), inside_of_edge(added->normal, c, a)));
    if (added->beside >= -BESIDE)
        added->beside = 0;
    know_edges(of, of->face_count++);
    return true;
}

/* The nearest face, as Bullet seeks it: from the youngest on, one that is nearer and of which the
   origin is not farther beside. */
static const face *nearest_face(const hull *of)
{
    const face *best = &of->faces[of->face_count - 1];
    for (const face *other = best; other-- > of->faces;)
        if (other->beside >= best->beside && fabs(other->distance) < fabs(best->distance))
            best = other;
    return best;
}

/* Joins the last corner to the edges around the faces that it sees, of which one comes from the
   left of an edge. False when they surround a corner. */
static bool join(hull *of, size_t from, size_t to)
{
    size_t tip = of->corner_count - 1;
    face *left = &of->faces[of->left_of[from][to]];
    if (left->seen)
        return false;
    if (mmd_dot3(left->normal, of->corners[tip].way) - left->distance < -BEHIND)
        return add_face(of, to, from, tip) && of->faces[of->face_count - 1].distance >= -BEHIND;
    left->seen = true;
    int at = 0;
    while (left->corners[at] == from || left->corners[at] == to)
        at++;
    size_t third = left->corners[at];
    return join(of, third, to) && join(of, from, third);
}

/* Pushes a face out; false when it is where it stays. */
static bool push_out(mmd_solid a, mmd_solid b, hull *of, size_t index)
{
    face *pushed = &of->faces[index];
    if (of->corner_count == CORNERS)
        return false;
    mmd_corner *tip = &of->corners[of->corner_count];
    mmd_corner_along(a, b, MMD_WHOLE, pushed->normal, tip);
    if (!(mmd_dot3(pushed->normal, tip->way) - pushed->distance > LEAST_PUSH))
        return false;
    of->corner_count++;
    pushed->seen = true;
    for (int i = 0; i < 3; i++)
        if (!join(of, pushed->corners[(i + 1) % 3], pushed->corners[i]))
            return false;
    size_t count = 0;
    for (size_t i = 0; i < of->face_count; i++) {
        if (of->faces[i].seen)
            continue;
        of->faces[count] = of->faces[i];
        know_edges(of, count++);
    }
    of->face_count = count;
    return true;
}

static bool begin_hull(const mmd_simplex *simplex, hull *of)
{
    of->corner_count = 4;
    of->face_count = 0;
    memcpy(of->corners, simplex->corners, sizeof simplex->corners);
    if (mmd_simplex_volume(simplex) > 0) {
        of->corners[0] = simplex->corners[1];
        of->corners[1] = simplex->corners[0];
    }
    return add_face(of, 0, 1, 2) && add_face(of, 1, 0, 3) && add_face(of, 2, 1, 3) &&
           add_face(of, 0, 2, 3);
}

/* Of a face's corners, by the triangles that its point nearest to the origin makes with them. */
static void touch_at(const hull *of, const face *where, double on_a[3])
{
    double apart[3][3], across[3], areas[3], sum = 0;
    for (int i = 0; i < 3; i++) {
        mmd_copy3(of->corners[where->corners[i]].way, apart[i]);
        mmd_add_scaled3(where->normal, -where->distance, apart[i]);
    }
    for (int i = 0; i < 3; i++) {
        mmd_cross3(apart[(i + 1) % 3], apart[(i + 2) % 3], across);
        areas[i] = mmd_length3(across);
        sum += areas[i];
    }
    mmd_copy3((const double[3]){0}, on_a);
    for (int i = 0; i < 3; i++)
        mmd_add_scaled3(of->corners[where->corners[i]].on_a, areas[i] / sum, on_a);
}

size_t mmd_collide_depth(mmd_solid a, mmd_solid b, mmd_contact *contact)
{
    mmd_simplex simplex;
    hull around;
    if (!enclose_origin(a, b, &simplex) || !complete(a, b, &simplex) ||
        !begin_hull(&simplex, &around))
        return 0;
    const face *nearest = nearest_face(&around);
    face outer = *nearest;
    while (push_out(a, b, &around, (size_t)(nearest - around.faces))) {
        nearest = nearest_face(&around);
        if (nearest->beside >= outer.beside)
            outer = *nearest;
    }
    double on_a[3];
    touch_at(&around, &outer, on_a);
    contact->distance = -outer.distance;
    mmd_scale3(outer.normal, -1, contact->normal);
    mmd_copy3(a.body->state.position, contact->point);
    mmd_add_scaled3(on_a, 1, contact->point);
    mmd_add_scaled3(outer.normal, -outer.distance, contact->point);
    return 1;
}
