/* SPDX-License-Identifier: MIT */
#ifndef MMD_COLLIDE_H
#define MMD_COLLIDE_H

#include "core/physics/body.h"
#include "core/physics/shape.h"

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

#endif
