/* SPDX-License-Identifier: MIT */
#ifndef MMD_CONSTRAINT_BLOCK_H
#define MMD_CONSTRAINT_BLOCK_H

#include "core/math/vec3.h"
#include "core/physics/constraint_schedule.h"

/* A block of constraint rows as the solver visits it, in four lanes: two halves of two lanes. The
   halves are the sides of one row, or two rows with one side each. With the Jacobian (n, r) of a
   side (-n for the second), its visit (constraint_solver.h) is

       lambda' = clamp(lambda + rhs - (n . dv + r . dw, of both sides) K^-1, lower, upper)
       dv     += n m^-1 (lambda' - lambda)
       dw     += t (lambda' - lambda)            t = I^-1 r, the turn by an impulse of 1 */

/* Lanes of a half: of vectors the linear and the angular part; of other numbers that of the row and
   one of the body, so that a block fills whole cache lines. */
enum { MMD_CONSTRAINT_LINEAR, MMD_CONSTRAINT_ANGULAR };
enum { MMD_CONSTRAINT_ROW, MMD_CONSTRAINT_BODY };

/* What the solver has added to a body's velocities so far (btSolverBody): the linear and the
   angular one along x, y and z. */
typedef struct mmd_delta_velocity {
    double axes[3][2];
    double padding[2]; /* to a cache line */
} mmd_delta_velocity;

/* Two numbers of each half. */
typedef struct mmd_constraint_lanes {
    _Alignas(32) double of[2][2];
} mmd_constraint_lanes;

typedef struct mmd_constraint_block {
    mmd_constraint_lanes jacobian[3];           /* n and r, along x, y and z */
    mmd_constraint_lanes effective_mass_turn_x; /* K^-1 and t along x */
    mmd_constraint_lanes rhs_turn_y;            /* rhs and t along y */
    mmd_constraint_lanes lower_turn_z;          /* the lower impulse and t along z */
    mmd_constraint_lanes upper_inverse_mass;    /* the upper impulse and m^-1 */
    mmd_constraint_lanes impulse;               /* lambda in both lanes */
} mmd_constraint_block;

/* Of each half. */
typedef struct mmd_constraint_links {
    uint32_t bodies[2];
    uint32_t contacts[2]; /* of friction: the contact's number among all halves of blocks */
} mmd_constraint_links;

/* All blocks, in the order of the schedule. */
typedef struct mmd_constraint_blocks {
    const mmd_constraint_schedule *schedule;
    mmd_constraint_block *blocks;
    const mmd_constraint_links *links;
    mmd_delta_velocity *deltas;
} mmd_constraint_blocks;

/* One iteration: a visit of all blocks. The second one is for CPUs with AVX2. */
void mmd_constraint_iterate(const mmd_constraint_blocks *blocks);
void mmd_constraint_iterate_avx2(const mmd_constraint_blocks *blocks);

#endif
