/* SPDX-License-Identifier: MIT */
#ifndef MMD_CONTACT_MANIFOLD_H
#define MMD_CONTACT_MANIFOLD_H

#include "core/physics/collide.h"

/* Persistent contact manifolds: the contact points of a pair of bodies, kept from step to step, as
   the narrow phase finds one point of round shapes at a time, and as warm starting needs their
   impulses. Bullet's btPersistentManifold. */

typedef struct mmd_contact_manifold_point {
    double local_a[3], local_b[3]; /* in the space of each body */
    mmd_collide_contact contact;
    double on_a[3];    /* in world space, as contact.point is on B */
    double impulse;    /* along the normal, of the last step (m_appliedImpulse) */
    uint32_t lifetime; /* steps */
} mmd_contact_manifold_point;

typedef struct mmd_contact_manifold {
    size_t body_a, body_b; /* the ground is the body after the last one */
    size_t count;
    mmd_contact_manifold_point points[MMD_COLLIDE_MAX_CONTACTS];
} mmd_contact_manifold;

/* Adds or replaces the contacts of this step, then updates all points for the current poses and
   removes those that have separated by more than `breaking_threshold`. */
void mmd_contact_manifold_update(mmd_contact_manifold *manifold, const mmd_body *bodies,
                                 double breaking_threshold, const mmd_collide_contact *contacts,
                                 size_t count);

#endif
