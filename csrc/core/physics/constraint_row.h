/* SPDX-License-Identifier: MIT */
#ifndef MMD_CONSTRAINT_ROW_H
#define MMD_CONSTRAINT_ROW_H

#include "core/math/vec3.h"
#include "core/physics/body.h"

/* One row of a velocity constraint between two bodies, solved by sequential impulses (projected
   Gauss-Seidel): btSolverConstraint of Bullet 2.75, resolveSingleConstraintRowGeneric.

   With the velocities V = (v_a, w_a, v_b, w_b) of both bodies and the Jacobian
   J = (n, r_a, -n, r_b) the constraint is

       J V = u        within  lower <= lambda <= upper

       lambda         accumulated impulse (mass units/s; for angular rows mass units^2/s)
       n              linear axis, the same for both bodies (zero in angular rows)
       r_a, r_b       angular axes: (p_a - x_a) x n and n x (p_b - x_b) for a point p
       u              target velocity (units/s or rad/s): Baumgarte stabilization, restitution,
                      joint motor
       K^-1           effective mass = 1 / (J M^-1 J^T)
       rhs            (u - J V0) K^-1, the impulse that V0, the velocities before the solver, need

   The solver does not change V but sums up delta velocities dV. One visit of a row does

       lambda' = clamp(lambda + rhs - J dV K^-1, lower, upper)
       dV     += M^-1 J^T (lambda' - lambda) */

/* What one body contributes to a row. Linear and angular parts share SIMD registers: component 0 is
   linear, component 1 angular. */
typedef struct mmd_constraint_row_side {
    mmd_double2 jacobian[3]; /* A: n and r_a, B: -n and r_b */
    mmd_double2
        inverse_mass_jacobian[3]; /* n and I^-1 r; mmd_delta_velocity has the inverse mass */
} mmd_constraint_row_side;

/* Half of a model's rows connect a dynamic body to one of infinite mass, whose delta velocity stays
   zero. Such a row has one side, the first, and the solver reads nothing beyond it. */
typedef struct mmd_constraint_row {
    uint32_t bodies[2]; /* of the sides */
    uint32_t body_a, body_b;
    uint32_t level; /* see mmd_constraint_row_schedule */
    bool two_sided;
    double effective_mass;
    double rhs;
    double lower_impulse, upper_impulse;
    double impulse; /* lambda */
    mmd_constraint_row_side sides[2];
} mmd_constraint_row;

/* What the solver has added to a body's velocities so far (btSolverBody). */
typedef struct mmd_delta_velocity {
    mmd_double2 velocity[3]; /* linear, angular */
    double inverse_mass;
} mmd_delta_velocity;

/* A row between two bodies with its impulse limits and no impulse yet. */
void mmd_constraint_row_init(mmd_constraint_row *row, size_t body_a, size_t body_b,
                             double lower_impulse, double upper_impulse);

/* Sets Jacobian, effective mass and rhs. A row that cannot move its bodies gets an effective mass
   of zero. */
void mmd_constraint_row_set_jacobian(mmd_constraint_row *row, const mmd_body *bodies,
                                     const double linear[3], const double angular_a[3],
                                     const double angular_b[3], double target_velocity);

/* Level scheduling: sets the order (count,) in which rows are solved. Rows that move the same body
   keep their relative order, so that the result has the same bits; independent rows come between
   them, those with one side first, so that the CPU works on several at once and predicts its
   branches. `levels` (body_count,) and `starts` (2 count + 3,) are scratch memory. */
void mmd_constraint_row_schedule(mmd_constraint_row *rows, size_t count, const mmd_body *bodies,
                                 size_t body_count, uint32_t *levels, uint32_t *starts,
                                 uint32_t *order);

static inline void mmd_delta_velocity_apply(const mmd_constraint_row_side *side, double impulse,
                                            mmd_delta_velocity *delta)
{
    mmd_double2 scale = {impulse * delta->inverse_mass, impulse};
    for (int i = 0; i < 3; i++)
        delta->velocity[i] += side->inverse_mass_jacobian[i] * scale;
}

/* dV += M^-1 J^T impulse */
static inline void mmd_constraint_row_apply(const mmd_constraint_row *row, double impulse,
                                            mmd_delta_velocity *deltas)
{
    mmd_delta_velocity_apply(&row->sides[0], impulse, &deltas[row->bodies[0]]);
    if (row->two_sided)
        mmd_delta_velocity_apply(&row->sides[1], impulse, &deltas[row->bodies[1]]);
}

static inline mmd_double2 mmd_delta_velocity_dot(const mmd_constraint_row_side *side,
                                                 const mmd_delta_velocity *delta)
{
    return side->jacobian[0] * delta->velocity[0] + side->jacobian[1] * delta->velocity[1] +
           side->jacobian[2] * delta->velocity[2];
}

/* One solver iteration of one row. It runs six thousand times a frame: a mispredicted branch costs
   more than applying an impulse of 0. */
static inline void mmd_constraint_row_solve(mmd_constraint_row *row, mmd_delta_velocity *deltas)
{
    mmd_double2 a = mmd_delta_velocity_dot(&row->sides[0], &deltas[row->bodies[0]]);
    double relative_velocity = a[1] + a[0];
    if (row->two_sided) {
        mmd_double2 b = mmd_delta_velocity_dot(&row->sides[1], &deltas[row->bodies[1]]);
        relative_velocity = a[1] + b[1] + (a[0] + b[0]);
    }
    double sum = row->impulse + row->rhs - relative_velocity * row->effective_mass;
    if (isnan(sum)) /* a body's velocity has overflowed; the end of this step stops it */
        return;
    sum = sum < row->lower_impulse ? row->lower_impulse : sum; /* compiles to minimum, maximum */
    sum = sum > row->upper_impulse ? row->upper_impulse : sum;
    double impulse = sum - row->impulse;
    row->impulse = sum;
    mmd_constraint_row_apply(row, impulse, deltas);
}

#endif
