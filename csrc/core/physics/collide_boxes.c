/* SPDX-License-Identifier: MIT */
#include "core/physics/collide.h"

#include "core/physics/elementary.h"
#include "core/physics/vector.h"

#include <float.h>

/* Two boxes: of 15 directions the one in which they overlap least; then a face clips the face
   across from it, or two edges cross. Bullet's rules of taste are kept, as ten sweeps depend on the
   order of the points. */

/* By how much an edge's direction has to be better than a face's. */
#define EDGE_PENALTY 1.05

/* By how much a direction has to be better than the ones before: boxes that lie on each other have
   two, and rounding should not choose another one in each step. */
#define TIE 1e-9

enum { CORNERS = 8, FACE_DIRECTIONS = 6 };

typedef struct box {
    const double *middle, *half;
    double axes[3][3]; /* one a row */
} box;

static box box_of(mmd_solid solid)
{
    box result = {.middle = solid.body->state.position, .half = solid.shape->half};
    for (int i = 0; i < 3; i++)
        mmd_column3(solid.body->axes, i, result.axes[i]);
    return result;
}

/* The direction of least overlap so far, from A to B. */
typedef struct overlap {
    int direction; /* 0-2 faces of A, 3-5 faces of B, 6-14 edges of A times edges of B; -1: none */
    double normal[3], distance;
} overlap;

static double reach_along(const box *of, const double direction[3])
{
    double reach = 0;
    for (int i = 0; i < 3; i++)
        reach += of->half[i] * fabs(mmd_dot3(of->axes[i], direction));
    return reach;
}

/* False where the boxes are apart. */
static bool try_direction(const box *a, const box *b, int direction, const double normal[3],
                          overlap *best)
{
    double way[3];
    mmd_subtract3(b->middle, a->middle, way);
    double side = mmd_dot3(normal, way);
    double distance = fabs(side) - reach_along(a, normal) - reach_along(b, normal);
    if (distance > 0)
        return false;
    double judged = direction < FACE_DIRECTIONS ? distance : distance * EDGE_PENALTY;
    if (best->direction < 0 || judged > best->distance + TIE) {
        best->direction = direction;
        best->distance = distance;
        mmd_scale3(normal, side < 0 ? -1 : 1, best->normal);
    }
    return true;
}

static bool find_overlap(const box *a, const box *b, overlap *best)
{
    best->direction = -1;
    for (int i = 0; i < FACE_DIRECTIONS; i++)
        if (!try_direction(a, b, i, i < 3 ? a->axes[i] : b->axes[i - 3], best))
            return false;
    for (int i = 0; i < 9; i++) {
        double normal[3];
        mmd_cross3(a->axes[i / 3], b->axes[i % 3], normal);
        double length = mmd_length3(normal);
        if (length < 1e-9) /* parallel edges: a face's direction has been better */
            continue;
        mmd_scale3(normal, 1 / length, normal);
        if (!try_direction(a, b, FACE_DIRECTIONS + i, normal, best))
            return false;
    }
    return true;
}

/* The corner that is farthest along a direction. */
static void far_corner(const box *of, const double direction[3], double sign, double corner[3])
{
    mmd_copy3(of->middle, corner);
    for (int i = 0; i < 3; i++) {
        bool ahead = mmd_dot3(direction, of->axes[i]) > 0;
        mmd_add_scaled3(of->axes[i], (ahead ? sign : -sign) * of->half[i], corner);
    }
}

static size_t edge_contact(const box *a, const box *b, const overlap *best, mmd_contact *contact)
{
    const double *edge_a = a->axes[(best->direction - FACE_DIRECTIONS) / 3];
    const double *edge_b = b->axes[(best->direction - FACE_DIRECTIONS) % 3];
    double on_a[3], way[3];
    far_corner(a, best->normal, 1, on_a);
    far_corner(b, best->normal, -1, contact->point);
    mmd_subtract3(contact->point, on_a, way);
    double same = mmd_dot3(edge_a, edge_b), turn = 1 - same * same;
    if (turn > 0.0001)
        mmd_add_scaled3(edge_b, (same * mmd_dot3(edge_a, way) - mmd_dot3(edge_b, way)) / turn,
                        contact->point);
    mmd_scale3(best->normal, -1, contact->normal);
    contact->distance = best->distance;
    return 1;
}

/* Faces */

/* Points in the plane of the clipping face, with how deep they are behind it. */
typedef struct corner {
    double x, y, depth;
} corner;

/* Keeps of a polygon what is within `most` on one side of one axis; at most CORNERS points. */
static size_t clip(const corner *from, size_t count, bool of_y, double sign, double most,
                   corner *to)
{
    size_t kept = 0;
    for (size_t i = 0; i < count && kept < CORNERS; i++) {
        const corner *here = &from[i], *next = &from[(i + 1) % count];
        double place = sign * (of_y ? here->y : here->x), after = sign * (of_y ? next->y : next->x);
        if (place < most)
            to[kept++] = *here;
        if (kept == CORNERS || (place < most) == (after < most))
            continue;
        double share = (most - place) / (after - place);
        to[kept] = (corner){.x = here->x + share * (next->x - here->x),
                            .y = here->y + share * (next->y - here->y)};
        if (of_y)
            to[kept].y = sign * most;
        else
            to[kept].x = sign * most;
        kept++;
    }
    return kept;
}

/* The centre of a polygon's area, or of its points when it has none. */
static void polygon_middle(const corner *points, size_t count, double *x, double *y)
{
    double area = 0;
    *x = *y = 0;
    for (size_t i = 0; i < count; i++) {
        const corner *here = &points[i], *next = &points[(i + 1) % count];
        double part = here->x * next->y - next->x * here->y;
        area += part;
        *x += part * (here->x + next->x);
        *y += part * (here->y + next->y);
    }
    if (count > 2 && fabs(area) > DBL_EPSILON) {
        *x /= 3 * area;
        *y /= 3 * area;
        return;
    }
    *x = *y = 0;
    for (size_t i = 0; i < count; i++) {
        *x += points[i].x / (double)count;
        *y += points[i].y / (double)count;
    }
}

/* Of more points than are wanted: the deepest, then those that are seen from the middle nearest to
   a quarter turn, a half and three quarters from it. */
static void choose_points(const corner *points, size_t count, size_t chosen[MMD_CONTACTS])
{
    const double pi = 3.14159265358979323846;
    double x, y, angles[CORNERS];
    bool taken[CORNERS] = {false};
    polygon_middle(points, count, &x, &y);
    chosen[0] = 0;
    for (size_t i = 0; i < count; i++) {
        angles[i] = mmd_atan2(points[i].y - y, points[i].x - x);
        if (points[i].depth > points[chosen[0]].depth)
            chosen[0] = i;
    }
    taken[chosen[0]] = true;
    for (size_t k = 1; k < MMD_CONTACTS; k++) {
        double wanted = angles[chosen[0]] + (double)k * pi / 2, least = DBL_MAX;
        if (wanted > pi)
            wanted -= 2 * pi;
        for (size_t i = 0; i < count; i++) {
            double apart = fabs(angles[i] - wanted);
            if (apart > pi)
                apart = 2 * pi - apart;
            if (!taken[i] && apart < least) {
                least = apart;
                chosen[k] = i;
            }
        }
        taken[chosen[k]] = true;
    }
}

/* The face that is most across from a direction: its axis, and the two others. */
static int face_axis(const box *of, const double direction[3])
{
    double along[3];
    for (int i = 0; i < 3; i++)
        along[i] = fabs(mmd_dot3(of->axes[i], direction));
    if (along[1] > along[0])
        return along[1] > along[2] ? 1 : 2;
    return along[0] > along[2] ? 0 : 2;
}

static const int others[3][2] = {{1, 2}, {0, 2}, {0, 1}};

static size_t face_contacts(const box *a, const box *b, const overlap *best, mmd_contact *contacts)
{
    bool of_a = best->direction < 3;
    const box *face = of_a ? a : b, *other = of_a ? b : a;
    double out[3]; /* from the clipping face to the other box */
    mmd_scale3(best->normal, of_a ? 1 : -1, out);
    int axis = best->direction % 3, x = others[axis][0], y = others[axis][1];
    int facing = face_axis(other, out), u = others[facing][0], v = others[facing][1];

    /* The middle of the other face, from that of the clipping box. */
    double middle[3];
    mmd_subtract3(other->middle, face->middle, middle);
    double side = mmd_dot3(other->axes[facing], out) < 0 ? 1 : -1;
    mmd_add_scaled3(other->axes[facing], side * other->half[facing], middle);

    corner polygon[CORNERS], clipped[CORNERS];
    const double signs[4][2] = {{-1, -1}, {-1, 1}, {1, 1}, {1, -1}};
    double xu = mmd_dot3(face->axes[x], other->axes[u]),
           xv = mmd_dot3(face->axes[x], other->axes[v]);
    double yu = mmd_dot3(face->axes[y], other->axes[u]),
           yv = mmd_dot3(face->axes[y], other->axes[v]);
    double middle_x = mmd_dot3(face->axes[x], middle), middle_y = mmd_dot3(face->axes[y], middle);
    for (int i = 0; i < 4; i++) {
        double at_u = signs[i][0] * other->half[u], at_v = signs[i][1] * other->half[v];
        polygon[i] =
            (corner){.x = middle_x + xu * at_u + xv * at_v, .y = middle_y + yu * at_u + yv * at_v};
    }
    size_t count = clip(polygon, 4, false, -1, face->half[x], clipped);
    count = clip(clipped, count, false, 1, face->half[x], polygon);
    count = clip(polygon, count, true, -1, face->half[y], clipped);
    count = clip(clipped, count, true, 1, face->half[y], polygon);

    /* Back onto the other face; what is in front of the clipping face falls away. */
    double turn = xu * yv - xv * yu, points[CORNERS][3];
    if (turn == 0)
        return 0;
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        double px = polygon[i].x - middle_x, py = polygon[i].y - middle_y;
        mmd_copy3(middle, points[found]);
        mmd_add_scaled3(other->axes[u], (yv * px - xv * py) / turn, points[found]);
        mmd_add_scaled3(other->axes[v], (xu * py - yu * px) / turn, points[found]);
        double depth = face->half[axis] - mmd_dot3(out, points[found]);
        if (depth >= 0) {
            polygon[found] = polygon[i];
            polygon[found++].depth = depth;
        }
    }
    size_t chosen[MMD_CONTACTS] = {0, 1, 2, 3};
    if (found > MMD_CONTACTS)
        choose_points(polygon, found, chosen);
    size_t wanted = found < MMD_CONTACTS ? found : MMD_CONTACTS;
    for (size_t i = 0; i < wanted; i++) {
        mmd_contact *contact = &contacts[i];
        mmd_copy3(points[chosen[i]], contact->point);
        mmd_add_scaled3(face->middle, 1, contact->point);
        mmd_scale3(best->normal, -1, contact->normal);
        contact->distance = -polygon[chosen[i]].depth;
    }
    return wanted;
}

size_t mmd_collide_boxes(mmd_solid a, mmd_solid b, mmd_contact *contacts)
{
    box box_a = box_of(a), box_b = box_of(b);
    overlap best;
    if (!find_overlap(&box_a, &box_b, &best))
        return 0;
    return best.direction < FACE_DIRECTIONS ? face_contacts(&box_a, &box_b, &best, contacts)
                                            : edge_contact(&box_a, &box_b, &best, contacts);
}
