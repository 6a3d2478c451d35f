/* SPDX-License-Identifier: MIT */
#ifndef MMD_CONTACT_SET_H
#define MMD_CONTACT_SET_H

#include "core/physics/broad_phase.h"
#include "core/physics/collide.h"
#include "core/physics/constraint_solver.h"
#include "core/physics/joint_constraint.h"

/* Persistent contact manifolds: the contact points of a pair of bodies, kept from step to step, as
   the narrow phase finds one point of round shapes at a time, and as warm starting needs their
   impulses. Bullet's btPersistentManifold. */

/* Both without padding, as their bytes are saved. */
typedef struct mmd_contact_manifold_point {
    double local_a[3], local_b[3]; /* in the space of each body */
    mmd_collide_contact contact;
    double on_a[3];    /* in world space, as contact.point is on B */
    double impulse;    /* along the normal, of the last step (m_appliedImpulse) */
    uint64_t lifetime; /* steps */
} mmd_contact_manifold_point;

typedef struct mmd_contact_manifold {
    uint64_t body_a, body_b; /* the ground is the body after the last one */
    uint64_t count;
    mmd_contact_manifold_point points[MMD_COLLIDE_MAX_CONTACTS];
} mmd_contact_manifold;

/* Adds or replaces the contacts of this step, then updates all points for the current poses and
   removes those that have separated by more than `breaking_threshold`. */
void mmd_contact_manifold_update(mmd_contact_manifold *manifold, const mmd_body *bodies,
                                 double breaking_threshold, const mmd_collide_contact *contacts,
                                 size_t count);

/* All contacts of a world: broad phase, narrow phase, manifolds and their constraint rows. The
   ground is the body after the last one. */
typedef struct mmd_contact_set {
    size_t body_count, capacity;
    bool ground;
    double ground_height;
    mmd_shape *shapes;
    double *frictions, *restitutions; /* of the bodies and the ground */
    mmd_broad_phase broad_phase;
    mmd_contact_manifold *manifolds, *previous; /* with points: of this step, the one before */
    size_t count, previous_count, order_count;
    uint32_t *pair_manifolds,
        *ground_manifolds;   /* the manifold of each pair, and of each body with the ground */
    mmd_islands_slot *order; /* in which the manifolds are solved */
    size_t point_count;
} mmd_contact_set;

/* For a world and its bodies, which are at rest. False if out of memory. */
bool mmd_contact_set_init(mmd_arena *arena, const mmd_world_desc *desc, const mmd_body *bodies,
                          mmd_contact_set *set);

/* Removes all contacts, or those of the bodies from `first` to before `end`. */
void mmd_contact_set_clear(mmd_contact_set *set);
void mmd_contact_set_clear_bodies(mmd_contact_set *set, size_t first, size_t end);

/* Collision detection for the current poses. */
void mmd_contact_set_detect(mmd_contact_set *set, const mmd_body *bodies);

/* Sorts the manifolds by island, for setting up the rows. */
void mmd_contact_set_sort(mmd_contact_set *set, const mmd_islands *islands);

/* Sets rows[first] and following: `point_count` contact rows, then as many of friction. There are
   at most MMD_COLLIDE_MAX_CONTACTS points in each of at most `capacity` manifolds. */
void mmd_contact_set_rows(const mmd_contact_set *set, const mmd_body *bodies, double time_step,
                          mmd_constraint_row *rows, size_t first);

/* Stores the impulses of the contact rows, for the next step's warm starting. */
void mmd_contact_set_store_impulses(mmd_contact_set *set, const double *const *impulses);

/* As mmd_broad_phase_parts(): its parts, and the manifolds. */
bool mmd_contact_set_parts(mmd_contact_set *set, mmd_bytes_parts *parts);

#endif
