/* SPDX-License-Identifier: MIT */
#include "core/physics/rows.h"

#include "core/physics/vector.h"

#include <float.h>

void mmd_row_aim(mmd_row *row, const mmd_body *bodies, double target)
{
    const mmd_body *a = &bodies[row->a], *b = &bodies[row->b];
    mmd_transform3(a->inverse_tensor, row->arm_a, row->spin_a);
    mmd_transform3(b->inverse_tensor, row->arm_b, row->spin_b);
    double mass = mmd_dot3(row->spin_a, row->arm_a) + mmd_dot3(row->spin_b, row->arm_b) +
                  (a->inverse_mass + b->inverse_mass) * mmd_dot3(row->axis, row->axis);
    double number = mmd_dot3(row->axis, a->state.velocity) + mmd_dot3(row->arm_a, a->state.spin) -
                    mmd_dot3(row->axis, b->state.velocity) + mmd_dot3(row->arm_b, b->state.spin);
    row->share = mass > DBL_MIN ? 1 / mass : 0;
    row->wanted = (target - number) * row->share;
}

void mmd_row_push(const mmd_row *row, double impulse, mmd_change *changes)
{
    mmd_change *a = &changes[row->a], *b = &changes[row->b];
    mmd_add_scaled3(row->spin_a, impulse, a->spin);
    mmd_add_scaled3(row->spin_b, impulse, b->spin);
    if (!row->turns) {
        mmd_add_scaled3(row->axis, impulse * a->inverse_mass, a->velocity);
        mmd_add_scaled3(row->axis, -impulse * b->inverse_mass, b->velocity);
    }
}

void mmd_row_solve(mmd_row *row, mmd_change *changes)
{
    const mmd_change *a = &changes[row->a], *b = &changes[row->b];
    double number = mmd_dot3(row->arm_a, a->spin) + mmd_dot3(row->arm_b, b->spin);
    if (!row->turns)
        number += mmd_dot3(row->axis, a->velocity) - mmd_dot3(row->axis, b->velocity);
    double sum = row->impulse + row->wanted - number * row->share;
    sum = sum < row->low ? row->low : sum > row->high ? row->high : sum;
    double impulse = sum - row->impulse;
    row->impulse = sum;
    mmd_row_push(row, impulse, changes);
}
