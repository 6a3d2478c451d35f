/* SPDX-License-Identifier: MIT */
#include "core/physics/rows.h"

#include "core/physics/vector.h"

#include <float.h>
#include <string.h>

void mmd_row_begin(mmd_row *row, size_t a, size_t b, double low, double high)
{
    row->a = (uint32_t)a;
    row->b = (uint32_t)b;
    row->low = low;
    row->high = high;
    row->impulse = 0;
}

void mmd_row_aim(mmd_row *row, const mmd_body *bodies, const double axis[3], const double arm_a[3],
                 const double arm_b[3], double target)
{
    const mmd_body *a = &bodies[row->a], *b = &bodies[row->b];
    double spin_a[3], spin_b[3];
    mmd_transform3(a->inverse_tensor, arm_a, spin_a);
    mmd_transform3(b->inverse_tensor, arm_b, spin_b);
    double mass = mmd_dot3(spin_a, arm_a) + mmd_dot3(spin_b, arm_b) +
                  (a->inverse_mass + b->inverse_mass) * mmd_dot3(axis, axis);
    double number = mmd_dot3(axis, a->state.velocity) + mmd_dot3(arm_a, a->state.spin) -
                    mmd_dot3(axis, b->state.velocity) + mmd_dot3(arm_b, b->state.spin);
    row->share = mass > DBL_MIN ? 1 / mass : 0;
    row->wanted = (target - number) * row->share;
    for (int i = 0; i < 3; i++) {
        row->number_a[i] = (mmd_two){axis[i], arm_a[i]};
        row->number_b[i] = (mmd_two){axis[i], arm_b[i]};
        row->push_a[i] = (mmd_two){axis[i], spin_a[i]};
        row->push_b[i] = (mmd_two){axis[i], spin_b[i]};
    }
}

void mmd_rows_interleave(mmd_row *rows, size_t count, const mmd_body *bodies, size_t body_count,
                         uint32_t *levels, uint32_t *starts, uint32_t *order)
{
    memset(levels, 0, body_count * sizeof *levels);
    memset(starts, 0, (count + 2) * sizeof *starts);
    for (size_t i = 0; i < count; i++) {
        mmd_row *row = &rows[i];
        bool moves_a = bodies[row->a].inverse_mass > 0, moves_b = bodies[row->b].inverse_mass > 0;
        uint32_t before_a = moves_a ? levels[row->a] : 0, before_b = moves_b ? levels[row->b] : 0;
        row->level = 1 + (before_a > before_b ? before_a : before_b);
        if (moves_a)
            levels[row->a] = row->level;
        if (moves_b)
            levels[row->b] = row->level;
        starts[row->level + 1]++;
    }
    for (size_t i = 0; i <= count; i++)
        starts[i + 1] += starts[i];
    for (size_t i = 0; i < count; i++)
        order[starts[rows[i].level]++] = (uint32_t)i;
}
