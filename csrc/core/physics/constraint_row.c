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

/* Returns what the side adds to the inverse effective mass by turning. */
static double set_side(const mmd_body *body, double sign, const double linear[3],
                       const double angular[3], mmd_constraint_row_side *side)
{
    double inverse_inertia_angular[3];
    mmd_mat3_transform(body->inverse_inertia_world, angular, inverse_inertia_angular);
    for (int i = 0; i < 3; i++) {
        side->jacobian[i] = (mmd_double2){sign * linear[i], angular[i]};
        side->inverse_mass_jacobian[i] =
            (mmd_double2){sign * linear[i], inverse_inertia_angular[i]};
    }
    return mmd_vec3_dot(inverse_inertia_angular, angular);
}

void mmd_constraint_row_set_jacobian(mmd_constraint_row *row, const mmd_body *bodies,
                                     const double linear[3], const double angular_a[3],
                                     const double angular_b[3], double target_velocity)
{
    const mmd_body *a = &bodies[row->body_a], *b = &bodies[row->body_b];
    bool moves_a = a->inverse_mass > 0, moves_b = b->inverse_mass > 0;
    double turning_a = 0, turning_b = 0;
    row->two_sided = moves_a && moves_b;
    row->bodies[0] = moves_a ? row->body_a : row->body_b;
    row->bodies[1] = row->body_b;
    if (moves_a)
        turning_a = set_side(a, 1, linear, angular_a, &row->sides[0]);
    if (moves_b || !moves_a)
        turning_b = set_side(b, -1, linear, angular_b, &row->sides[moves_a]);
    double inverse_mass = a->inverse_mass + b->inverse_mass;
    double inverse_effective_mass =
        turning_a + turning_b + inverse_mass * mmd_vec3_dot(linear, linear);
    double velocity = mmd_vec3_dot(linear, a->state.velocity) +
                      mmd_vec3_dot(angular_a, a->state.angular_velocity) -
                      mmd_vec3_dot(linear, b->state.velocity) +
                      mmd_vec3_dot(angular_b, b->state.angular_velocity);
    row->effective_mass = inverse_effective_mass > DBL_MIN ? 1 / inverse_effective_mass : 0;
    row->rhs = (target_velocity - velocity) * row->effective_mass;
}

/* The level of a row is one more than the highest level of the earlier rows that move one of its
   bodies; a counting sort by level and number of sides makes the order. */
void mmd_constraint_row_schedule(mmd_constraint_row *rows, size_t count, const mmd_body *bodies,
                                 size_t body_count, uint32_t *levels, uint32_t *starts,
                                 uint32_t *order)
{
    memset(levels, 0, body_count * sizeof *levels);
    memset(starts, 0, (2 * count + 3) * sizeof *starts);
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
        starts[2 * row->level + row->two_sided + 1]++;
    }
    for (size_t i = 0; i <= 2 * count + 1; i++)
        starts[i + 1] += starts[i];
    for (size_t i = 0; i < count; i++)
        order[starts[2 * rows[i].level + rows[i].two_sided]++] = (uint32_t)i;
}
