/* SPDX-License-Identifier: MIT */
/* Setup and scheduling of constraint rows; constraint_row.h has the equations. */
#include "core/physics/constraint_row.h"

#include "core/math/mat3.h"

#include <float.h>

void mmd_constraint_row_init(mmd_constraint_row *row, size_t body_a, size_t body_b,
                             double lower_impulse, double upper_impulse)
{
    row->body_a = (uint32_t)body_a;
    row->body_b = (uint32_t)body_b;
    row->lower_impulse = lower_impulse;
    row->upper_impulse = upper_impulse;
    row->impulse = 0;
}

void mmd_constraint_row_set_jacobian(mmd_constraint_row *row, const mmd_body *bodies,
                                     const double linear[3], const double angular_a[3],
                                     const double angular_b[3], double target_velocity)
{
    const mmd_body *a = &bodies[row->body_a], *b = &bodies[row->body_b];
    double inverse_inertia_angular_a[3], inverse_inertia_angular_b[3];
    mmd_mat3_transform(a->inverse_inertia_world, angular_a, inverse_inertia_angular_a);
    mmd_mat3_transform(b->inverse_inertia_world, angular_b, inverse_inertia_angular_b);
    double inverse_effective_mass =
        mmd_vec3_dot(inverse_inertia_angular_a, angular_a) +
        mmd_vec3_dot(inverse_inertia_angular_b, angular_b) +
        (a->inverse_mass + b->inverse_mass) * mmd_vec3_dot(linear, linear);
    double velocity = mmd_vec3_dot(linear, a->state.velocity) +
                      mmd_vec3_dot(angular_a, a->state.angular_velocity) -
                      mmd_vec3_dot(linear, b->state.velocity) +
                      mmd_vec3_dot(angular_b, b->state.angular_velocity);
    row->effective_mass = inverse_effective_mass > DBL_MIN ? 1 / inverse_effective_mass : 0;
    row->rhs = (target_velocity - velocity) * row->effective_mass;
    for (int i = 0; i < 3; i++) {
        row->jacobian_a[i] = (mmd_double2){linear[i], angular_a[i]};
        row->jacobian_b[i] = (mmd_double2){linear[i], angular_b[i]};
        row->inverse_mass_jacobian_a[i] = (mmd_double2){linear[i], inverse_inertia_angular_a[i]};
        row->inverse_mass_jacobian_b[i] = (mmd_double2){linear[i], inverse_inertia_angular_b[i]};
    }
}

/* The level of a row is one more than the highest level of the earlier rows that move one of its
   bodies; a counting sort by level makes the order. */
void mmd_constraint_row_schedule(mmd_constraint_row *rows, size_t count, const mmd_body *bodies,
                                 size_t body_count, uint32_t *levels, uint32_t *starts,
                                 uint32_t *order)
{
    memset(levels, 0, body_count * sizeof *levels);
    memset(starts, 0, (count + 2) * sizeof *starts);
    for (size_t i = 0; i < count; i++) {
        mmd_constraint_row *row = &rows[i];
        bool moves_a = bodies[row->body_a].inverse_mass > 0;
        bool moves_b = bodies[row->body_b].inverse_mass > 0;
        uint32_t level_a = moves_a ? levels[row->body_a] : 0;
        uint32_t level_b = moves_b ? levels[row->body_b] : 0;
        row->level = 1 + (level_a > level_b ? level_a : level_b);
        if (moves_a)
            levels[row->body_a] = row->level;
        if (moves_b)
            levels[row->body_b] = row->level;
        starts[row->level + 1]++;
    }
    for (size_t i = 0; i <= count; i++)
        starts[i + 1] += starts[i];
    for (size_t i = 0; i < count; i++)
        order[starts[rows[i].level]++] = (uint32_t)i;
}
