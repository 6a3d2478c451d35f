/* SPDX-License-Identifier: MIT */
#include "core/physics/rows.h"

#include "core/physics/vector.h"

#include <float.h>
#include <math.h>

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

/* What nothing moves takes no part: 0 times an impulse that has overflown is no number. */
static inline void push_body(const mmd_row *row, const double spin[3], double impulse, double sign,
                             mmd_change *change)
{
    if (change->inverse_mass == 0)
        return;
    mmd_add_scaled3(spin, impulse, change->spin);
    if (!row->turns)
        mmd_add_scaled3(row->axis, sign * impulse * change->inverse_mass, change->velocity);
}

static inline void push(const mmd_row *row, double impulse, mmd_change *changes)
{
    push_body(row, row->spin_a, impulse, 1, &changes[row->a]);
    push_body(row, row->spin_b, impulse, -1, &changes[row->b]);
}

void mmd_row_push(const mmd_row *row, double impulse, mmd_change *changes)
{
    push(row, impulse, changes);
}

void mmd_row_solve(mmd_row *row, mmd_change *changes)
{
    const mmd_change *a = &changes[row->a], *b = &changes[row->b];
    double number = mmd_dot3(row->arm_a, a->spin) + mmd_dot3(row->arm_b, b->spin);
    if (!row->turns)
        number += mmd_dot3(row->axis, a->velocity) - mmd_dot3(row->axis, b->velocity);
    double sum = row->impulse + row->wanted - number * row->share;
    if (isnan(sum)) /* of bodies whose numbers have overflown, which this step puts to rest */
        return;
    sum = sum < row->low ? row->low : sum > row->high ? row->high : sum;
    double impulse = sum - row->impulse;
    if (impulse == 0) /* mostly of contacts that come apart */
        return;
    row->impulse = sum;
    push(row, impulse, changes);
}
