/* SPDX-License-Identifier: MIT */
#ifndef MMD_CONSTRAINT_SOLVER_H
#define MMD_CONSTRAINT_SOLVER_H

#include "core/base/arena.h"
#include "core/math/vec3.h"
#include "core/physics/body.h"

#include <stdbool.h>
#include <stdint.h>

/* The constraint solver: sequential impulses (projected Gauss-Seidel):
   btSequentialImpulseConstraintSolver of Bullet 2.75, resolveSingleConstraintRowGeneric. The solver
   does not change the velocities V but sums up delta velocities dV. One visit of a row does

       lambda' = clamp(lambda + rhs - J dV K^-1, lower, upper)
       dV     += M^-1 J^T (lambda' - lambda)

       K^-1    effective mass = 1 / (J M^-1 J^T)
       rhs     (u - J V) K^-1, the impulse that V, the velocities before the solver, need

   Blocks of rows that move different bodies are solved side by side, in the lanes of registers. */

/* One row of a velocity constraint between two bodies A and B. With their velocities
   V = (v_a, w_a, v_b, w_b) and the Jacobian J = (n, r_a, -n, r_b) it is

       J V = u        within  lower <= lambda <= upper

       lambda         accumulated impulse (mass units/s; for angular rows mass units^2/s)
       n              linear axis, the same for both bodies; zero in rows of angles
       r_a, r_b       angular axes: (p_a - x_a) x n and n x (p_b - x_b) for a point p
       u              target velocity (units/s or rad/s): Baumgarte stabilization, restitution,
                      joint motor */
typedef struct mmd_constraint_row {
    uint32_t body_a, body_b;
    bool friction;    /* its impulse limits are those below times the impulse of its contact, and it
                         acts only while that is positive */
    uint32_t contact; /* of friction: an earlier row between the same bodies */
    double linear[3], angular_a[3], angular_b[3];
    double target_velocity;
    double lower_impulse, upper_impulse;
    double impulse; /* what the solver starts with (warm starting), then its result */
} mmd_constraint_row;

/* Half of a model's rows connect a dynamic body to one of infinite mass, whose velocity the solver
   leaves alone: they have one side, that of the dynamic body, and two of them are a block. A row
   with two sides is a block by itself. */
typedef enum mmd_constraint_block_kind {
    MMD_CONSTRAINT_ONE_SIDED,
    MMD_CONSTRAINT_ONE_SIDED_FRICTION,
    MMD_CONSTRAINT_TWO_SIDED,
    MMD_CONSTRAINT_TWO_SIDED_FRICTION,
    MMD_CONSTRAINT_BLOCK_KINDS
} mmd_constraint_block_kind;

/* The second row of a block, where none is left. */
#define MMD_CONSTRAINT_NO_ROW UINT32_MAX

/* The order in which rows are solved. Rows that move the same body keep their relative order, so
   that the result has the same bits as if they were solved one by one; independent rows come
   between them, so that the CPU works on several at once. */
typedef struct mmd_constraint_schedule {
    size_t level_count;
    uint32_t *block_counts;                    /* of each kind, level after level */
    uint32_t *rows;                            /* of each block: two if it has one side, else one */
    uint32_t *levels, *groups, *ranks, *slots; /* scratch memory */
} mmd_constraint_schedule;

/* A block of constraint rows as the solver visits it, in four lanes: two halves of two lanes. The
   halves are the sides of one row, or two rows with one side each. With the Jacobian (n, r) of a
   side (-n for the second), its visit is

       lambda' = clamp(lambda + rhs - (n . dv + r . dw, of both sides) K^-1, lower, upper)
       dv     += n m^-1 (lambda' - lambda)
       dw     += t (lambda' - lambda)            t = I^-1 r, the turn by an impulse of 1 */

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

/* The ground is the body after the last one. */
typedef struct mmd_constraint_solver {
    size_t body_count;
    mmd_delta_velocity *deltas; /* of all bodies, and of the ground after them */
    mmd_constraint_schedule schedule;
    mmd_constraint_block *blocks; /* in the order of the schedule */
    mmd_constraint_links *links;  /* of the blocks */
    uint32_t *halves;             /* of each row: its first half, among those of all blocks */
    const double **impulses;      /* of each row */
} mmd_constraint_solver;

/* For at most `row_count` rows; false if out of memory. */
bool mmd_constraint_solver_init(mmd_arena *arena, size_t body_count, size_t row_count,
                                mmd_constraint_solver *solver);

/* Sets up the rows, which are in the order in which they are to be solved, and applies the impulses
   that they start with. A row that cannot move its bodies gets an effective mass of zero. */
void mmd_constraint_solver_begin(mmd_constraint_solver *solver, const mmd_constraint_row *rows,
                                 size_t row_count, const mmd_body *bodies);

/* One iteration: a visit of all rows. */
void mmd_constraint_solver_iterate(mmd_constraint_solver *solver);

/* The same for every CPU, and for those with AVX2. */
void mmd_constraint_iterate(const mmd_constraint_solver *solver);
void mmd_constraint_iterate_avx2(const mmd_constraint_solver *solver);

/* Adds the delta velocities to the velocities. */
void mmd_constraint_solver_end(const mmd_constraint_solver *solver, mmd_body *bodies);

#endif
