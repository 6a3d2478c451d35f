/* SPDX-License-Identifier: MIT */
#ifndef MMD_BODY_CONTACTS_H
#define MMD_BODY_CONTACTS_H

#include "core/physics/manifold.h"
#include "core/physics/pairs.h"

/* What touches in a world, from step to step. The ground counts as the body behind the last one. */
typedef struct mmd_touch {
    size_t body_count, room;
    bool ground;
    double ground_height;
    mmd_shape *shapes;
    double *frictions, *restitutions; /* of bodies and the ground */
    mmd_pairs pairs;
    mmd_manifold *manifolds, *before; /* those with points, of this step and the one before */
    size_t count, before_count;
    mmd_row *rows; /* first the contacts, then the friction of each */
    size_t point_count;
} mmd_touch;

typedef struct mmd_touch_desc {
    size_t body_count, joint_count;
    const mmd_rigid_body *sources;
    const mmd_body *bodies;
    const mmd_joint *apart; /* what these join does not touch */
    bool ground;
    double ground_height;
} mmd_touch_desc;

/* False when memory is short. */
bool mmd_touch_init(mmd_arena *arena, const mmd_touch_desc *desc, mmd_touch *touch);

/* Nothing touched in the step before. */
void mmd_touch_forget(mmd_touch *touch);

/* Finds what touches where the bodies are. */
void mmd_touch_find(mmd_touch *touch, const mmd_body *bodies);

/* Makes the rows; the changes get the impulses that they start from. */
void mmd_touch_rows(mmd_touch *touch, const mmd_body *bodies, double step, mmd_change *changes);

/* One sweep over the rows. */
void mmd_touch_solve(mmd_touch *touch, mmd_change *changes);

/* Keeps the impulses for the next step. */
void mmd_touch_keep(mmd_touch *touch);

#endif
