/* SPDX-License-Identifier: MIT */
#ifndef MMD_COLLIDE_H
#define MMD_COLLIDE_H

#include "core/math/vec3.h"
#include "core/physics/body.h"

/* Narrow phase: contacts of two shapes. */

enum { MMD_COLLIDE_MAX_CONTACTS = 4 }; /* of a pair of bodies */

/* A body with its shape. */
typedef struct mmd_collider {
    const mmd_body *body;
    const mmd_shape *shape;
} mmd_collider;

/* A contact point on B, the unit normal from there towards A, and the signed distance of the
   surfaces along it, negative if they overlap: btManifoldPoint's m_positionWorldOnB,
   m_normalWorldOnB, m_distance1. */
typedef struct mmd_collide_contact {
    double point[3], normal[3], distance;
} mmd_collide_contact;

/* Contacts up to a distance of `breaking_threshold`; returns their number. */
size_t mmd_collide(mmd_collider a, mmd_collider b, double breaking_threshold,
                   mmd_collide_contact *contacts);

/* With the ground, a plane y = height, as B. */
size_t mmd_collide_ground(mmd_collider a, double height, mmd_collide_contact *contacts);

/* Two overlapping boxes; in collide_box_box.c. */
size_t mmd_collide_box_box(mmd_collider a, mmd_collider b, mmd_collide_contact *contacts);

/* Distance and penetration depth of two convex shapes A and B: btConvexConvexAlgorithm. GJK and EPA
   share support points and simplices. Both work on the Minkowski difference A - B, the convex set
   of all vectors from a point of B to a point of A: two shapes overlap if it contains the origin,
   and are as far apart as it is from the origin. */

/* A point of the Minkowski difference that is farthest in a direction. */
typedef struct mmd_convex_support_point {
    double point[3]; /* of A - B */
    double on_a[3];  /* the point of A, from A's position */
} mmd_convex_support_point;

/* One to four support points: a point, segment, triangle or tetrahedron. */
typedef struct mmd_convex_simplex {
    size_t count;
    mmd_convex_support_point vertices[4]; /* one after the last may be a candidate */
    double barycentric[4];                /* coordinates of `closest` */
    double closest[3], squared_distance;  /* its point that is closest to the origin */
} mmd_convex_simplex;

/* Two shapes, prepared for many directions: A in lane 0, B in lane 1. */
typedef struct mmd_convex_pair {
    size_t axis_count;      /* along which a core extends: a sphere's is a point */
    mmd_double2 axes[3][3]; /* of the bodies */
    mmd_double2 core[3][3]; /* the axes times the half extents of the core */
    mmd_double2 radius;
    double offset[3]; /* from B to A */
} mmd_convex_pair;

/* Without margins, the shapes are shrunk by their collision margins. */
void mmd_convex_pair_init(mmd_collider a, mmd_collider b, bool with_margins, mmd_convex_pair *pair);

/* `direction` need not have unit length, but must not be zero. */
void mmd_convex_find_support_point(const mmd_convex_pair *pair, const double direction[3],
                                   mmd_convex_support_point *support);

/* The simplex of one vertex. */
void mmd_convex_simplex_init(const mmd_convex_support_point *vertex, mmd_convex_simplex *simplex);

/* Six times the signed volume of four vertices. */
double mmd_convex_simplex_volume(const mmd_convex_simplex *simplex);

/* Adds the candidate vertex and reduces the simplex to the vertices, in their order, of the face
   that contains the point closest to the origin. The candidate is one of them, as it lies farther
   towards the origin than the others. Returns false, and changes nothing, unless that brings the
   squared distance below `squared_distance`: rounding or NaN can prevent it. `volume` is that with
   the candidate, if it is the fourth vertex. In convex_gjk.c, as the two above. */
bool mmd_convex_simplex_add(mmd_convex_simplex *simplex, double squared_distance, double volume);

/* The contact of two shapes and the number of contacts, 0 or 1; in convex_gjk.c, as the pair of
   shapes. False if they overlap by more than their margins: EPA finds that contact. */
bool mmd_convex_gjk(mmd_collider a, mmd_collider b, double breaking_threshold,
                    mmd_collide_contact *contact, size_t *count);

/* Two shapes that overlap by more than their margins: the number of contacts. */
size_t mmd_convex_epa(mmd_collider a, mmd_collider b, mmd_collide_contact *contact);

#endif
