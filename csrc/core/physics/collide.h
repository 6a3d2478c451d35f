/* SPDX-License-Identifier: MIT */
#ifndef MMD_COLLIDE_H
#define MMD_COLLIDE_H

#include "core/physics/shape.h"

enum { MMD_CONTACTS = 4 }; /* of two bodies, at most */

/* Where two bodies touch: a point on B, the direction from there towards A, of unit length, and how
   far A is along it; negative when they overlap. */
typedef struct mmd_contact {
    double point[3], normal[3], distance;
} mmd_contact;

/* One body of two. */
typedef struct mmd_solid {
    const mmd_body *body;
    const mmd_shape *shape;
} mmd_solid;

/* Contacts with gaps up to `breaking`; returns their number. */
size_t mmd_collide(mmd_solid a, mmd_solid b, double breaking, mmd_contact *contacts);

/* With the ground, a plane y = height, as B. */
size_t mmd_collide_ground(mmd_solid a, double height, mmd_contact *contacts);

/* In collide_gap.c: of any two convex bodies. */
size_t mmd_collide_convex(mmd_solid a, mmd_solid b, double breaking, mmd_contact *contact);

/* In collide_depth.c: of two that are in each other by more than their margins. */
size_t mmd_collide_depth(mmd_solid a, mmd_solid b, mmd_contact *contact);

/* In collide_boxes.c: of overlapping boxes. */
size_t mmd_collide_boxes(mmd_solid a, mmd_solid b, mmd_contact *contacts);

#endif
