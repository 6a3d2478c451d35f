/* SPDX-License-Identifier: MIT */
#ifndef MMD_CONSTRAINT_BLOCK_H
#define MMD_CONSTRAINT_BLOCK_H

#include "core/math/vec3.h"
#include "core/physics/constraint_schedule.h"

/* A block of constraint rows as the solver visits it, in four lanes: two halves of linear and
   angular. The halves are the sides of one row, or two rows with one side each. */

/* Lanes of a half. */
enum { MMD_CONSTRAINT_LINEAR, MMD_CONSTRAINT_ANGULAR };

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

/* The two lanes of each half. Those that the row's numbers leave free have what an impulse does to
   the body, so that a block fills whole cache lines:

                     linear            angular
     jacobian        n; -n of a        J's angular
                     second side       part
     effective_mass  the row's         I^-1 r along x
     rhs             the row's         I^-1 r along y
     lower_impulse   the row's         I^-1 r along z
     upper_impulse   the row's         the inverse mass
     impulse         the row's         the row's */
typedef struct mmd_constraint_block {
    mmd_constraint_lanes jacobian[3];
    mmd_constraint_lanes effective_mass, rhs, lower_impulse, upper_impulse, impulse;
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
