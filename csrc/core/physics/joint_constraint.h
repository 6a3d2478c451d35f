/* SPDX-License-Identifier: MIT */
#ifndef MMD_JOINT_CONSTRAINT_H
#define MMD_JOINT_CONSTRAINT_H

#include "core/physics/broad_phase.h"
#include "core/physics/constraint_solver.h"

enum { MMD_JOINT_CONSTRAINT_ROWS = 6 }; /* at most */

/* One of the six degrees of freedom: translations of B's joint axes along those of A (units), then
   Euler angles between them (rad). */
typedef struct mmd_joint_constraint_dof {
    double lower, upper;     /* free if lower > upper, locked if equal */
    double spring_stiffness; /* 0: no spring */
} mmd_joint_constraint_dof;

/* The constraint frame of a joint in the space of one body: origin and axes (columns). */
typedef struct mmd_joint_constraint_axes {
    double position[3], basis[3][3];
} mmd_joint_constraint_axes;

#define MMD_JOINT_CONSTRAINT_NO_CHILD SIZE_MAX

typedef struct mmd_joint_constraint {
    size_t index; /* among the joints of the world's desc */
    size_t body_a, body_b;
    /* The one of them that the joint stretch limit may move. A body is the child of one joint at
       most, the first in order that can claim it. */
    size_t child;
    mmd_joint_constraint_axes axes_a, axes_b; /* Bullet's m_frameInA, m_frameInB */
    mmd_joint_constraint_dof linear[3], angular[3];
} mmd_joint_constraint;

/* `source` connects two of the bodies, which are at rest. */
void mmd_joint_constraint_init(const mmd_joint *source, const mmd_body *bodies,
                               mmd_joint_constraint *joint);

/* Distance beyond the linear limits: units. */
double mmd_joint_constraint_stretch(const mmd_joint_constraint *joint, const mmd_body *bodies);

/* Distance beyond the angular limits, of the vector of Euler angles: radians. */
double mmd_joint_constraint_bend(const mmd_joint_constraint *joint, const mmd_body *bodies);

/* The joint stretch limit: if the stretch exceeds `max_stretch`, moves the child body, without
   rotating it, back to that stretch, and sets `limited`. Returns the stretch before. */
double mmd_joint_constraint_limit_stretch(const mmd_joint_constraint *joint, double max_stretch,
                                          mmd_body *bodies, bool *limited);

/* Sets up the rows of this step, at most MMD_JOINT_CONSTRAINT_ROWS; returns their number. */
size_t mmd_joint_constraint_rows(const mmd_joint_constraint *joint, const mmd_body *bodies,
                                 double time_step, int iterations, mmd_constraint_row *rows);

/* Sets `islands` (N,) so that bodies of a model have the same island index if joints connect them,
   directly or through other bodies that do not follow bones. */
void mmd_islands_of_model(const mmd_model *model, size_t *islands);

/* The islands of the dynamic bodies of a world, and the order in which it solves joints and
   contacts. A few solver iterations (10 by default) do not converge, so that the order shows in the
   result. */
typedef struct mmd_islands {
    size_t body_count;
    size_t *roots;     /* scratch memory: the union-find */
    uint32_t *islands; /* of the bodies and the ground, from 1; 0: infinite mass */
} mmd_islands;

/* A joint or manifold to be sorted. */
typedef struct mmd_islands_slot {
    uint32_t island; /* 0: both bodies have infinite mass */
    uint32_t index;
} mmd_islands_slot;

/* False if out of memory. */
bool mmd_islands_init(mmd_arena *arena, size_t body_count, mmd_islands *islands);

/* Finds the islands of this step. `broad_phase` NULL: without contacts. */
void mmd_islands_update(mmd_islands *islands, const mmd_body *bodies,
                        const mmd_joint_constraint *joints, size_t joint_count,
                        const mmd_broad_phase *broad_phase);

/* The slot of a joint or manifold between two bodies: its island is that of A, or of B if A has
   infinite mass. */
static inline mmd_islands_slot mmd_islands_slot_of(const mmd_islands *islands, size_t body_a,
                                                   size_t body_b, uint32_t index)
{
    uint32_t a = islands->islands[body_a], b = islands->islands[body_b];
    return (mmd_islands_slot){.island = a ? a : b, .index = index};
}

/* Sorts slots by island as Bullet does, which also exchanges slots of the same island. */
void mmd_islands_sort(mmd_islands_slot *slots, size_t count);

#endif
