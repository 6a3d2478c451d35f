/* SPDX-License-Identifier: MIT */
#ifndef MMD_CONSTRAINT_SOLVER_H
#define MMD_CONSTRAINT_SOLVER_H

#include "core/physics/constraint_block.h"

/* Sequential impulses (projected Gauss-Seidel): btSequentialImpulseConstraintSolver of Bullet 2.75,
   resolveSingleConstraintRowGeneric. The solver does not change the velocities V but sums up delta
   velocities dV. One visit of a row does

       lambda' = clamp(lambda + rhs - J dV K^-1, lower, upper)
       dV     += M^-1 J^T (lambda' - lambda)

       K^-1    effective mass = 1 / (J M^-1 J^T)
       rhs     (u - J V) K^-1, the impulse that V, the velocities before the solver, need

   Blocks of rows (constraint_block.h) are solved side by side, in the lanes of registers. */

typedef struct mmd_constraint_solver {
    size_t body_count;
    mmd_delta_velocity *deltas; /* of all bodies, and of the ground after them */
    mmd_constraint_schedule schedule;
    mmd_constraint_block *blocks;
    mmd_constraint_links *links; /* of the blocks */
    uint32_t *halves;            /* of each row: its first half, among those of all blocks */
    const double **impulses;     /* of each row */
} mmd_constraint_solver;

/* For at most `row_count` rows; false if out of memory. */
bool mmd_constraint_solver_init(mmd_arena *arena, size_t body_count, size_t row_count,
                                mmd_constraint_solver *solver);

/* Sets up the rows, which are in the order in which they are to be solved. A row that cannot move
   its bodies gets an effective mass of zero. */
void mmd_constraint_solver_begin(mmd_constraint_solver *solver, const mmd_constraint_row *rows,
                                 size_t row_count, const mmd_body *bodies);

/* Applies the impulse that a row starts with. */
void mmd_constraint_solver_warm_start(mmd_constraint_solver *solver, const mmd_constraint_row *row,
                                      const mmd_body *bodies);

/* One iteration: a visit of all rows. */
void mmd_constraint_solver_iterate(mmd_constraint_solver *solver);

/* Adds the delta velocities to the velocities. */
void mmd_constraint_solver_end(const mmd_constraint_solver *solver, mmd_body *bodies);

#endif
