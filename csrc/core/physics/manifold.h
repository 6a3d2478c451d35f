/* SPDX-License-Identifier: MIT */
#ifndef MMD_MANIFOLD_H
#define MMD_MANIFOLD_H

#include "core/physics/collide.h"
#include "core/physics/rows.h"

/* The points at which two bodies touch, kept from step to step: a collision of round shapes finds
   one point at a time, and impulses start from those of the step before. */

typedef struct mmd_manifold_point {
    double local_a[3], local_b[3]; /* in the bodies' axes */
    mmd_contact contact;
    double on_a[3]; /* as contact.point is on B */
    double impulse;
    uint32_t age; /* steps */
} mmd_manifold_point;

typedef struct mmd_manifold {
    size_t a, b;
    size_t count;
    mmd_manifold_point points[MMD_CONTACTS];
} mmd_manifold;

/* Whether one from elsewhere may be gone on with; the ground is the body behind the last one. */
bool mmd_manifold_fits(const mmd_manifold *manifold, size_t body_count);

/* Brings the points up to date: those of this step, and what is left of the old ones. */
void mmd_manifold_update(mmd_manifold *manifold, const mmd_body *bodies, double breaking,
                         const mmd_contact *contacts, size_t count);

/* A contact's row and that of its friction, which waits for its bounds; `changes` get the impulse
   that the contact starts from. */
void mmd_contact_rows(const mmd_manifold *manifold, size_t point, const mmd_body *bodies,
                      double restitution, double step, mmd_row *contact, mmd_row *friction,
                      mmd_change *changes);

#endif
