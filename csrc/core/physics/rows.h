/* SPDX-License-Identifier: MIT */
#ifndef MMD_ROWS_H
#define MMD_ROWS_H

#include "core/physics/body.h"

#include <math.h>

/* What is along an axis of space, and what is about it: processors take both at once. */
typedef double mmd_two __attribute__((vector_size(16)));

/* One number of the relative motion of two bodies that is driven to a target by an impulse within
   bounds. With velocities v and spins w the number is
   axis . (v_a - v_b) + arm_a . w_a + arm_b . w_b. */
typedef struct mmd_row {
    mmd_two number_a[3], number_b[3]; /* axis and arm */
    mmd_two push_a[3], push_b[3];     /* axis, and the spin by an impulse of 1 */
    uint32_t a, b;
    uint32_t level;   /* see mmd_rows_interleave */
    double share;     /* impulse for a change of the number by 1 */
    double wanted;    /* impulse from the velocities before the sweeps to the target */
    double low, high; /* bounds of the impulse */
    double impulse;
} mmd_row;

/* What the sweeps add to a body's velocity and spin. */
typedef struct mmd_change {
    mmd_two motion[3];
    double inverse_mass;
} mmd_change;

/* A row between two bodies, with its bounds; then what it drives. A row that can change nothing
   gets a share of zero. */
void mmd_row_begin(mmd_row *row, size_t a, size_t b, double low, double high);
void mmd_row_aim(mmd_row *row, const mmd_body *bodies, const double axis[3], const double arm_a[3],
                 const double arm_b[3], double target);

/* An order (count,) of rows in which those that move the same body follow each other as before, so
   that sweeps have the same bits, while others come between them: a processor works on several at
   once that need not wait for each other. `levels` (bodies,) and `starts` (count + 2,) are room to
   work in. */
void mmd_rows_interleave(mmd_row *rows, size_t count, const mmd_body *bodies, size_t body_count,
                         uint32_t *levels, uint32_t *starts, uint32_t *order);

/* What nothing moves takes no part: 0 times an impulse that has overflown is no number. */
static inline void mmd_change_push(const mmd_two push[3], double impulse, double sign,
                                   mmd_change *change)
{
    if (change->inverse_mass == 0)
        return;
    mmd_two scale = {sign * impulse * change->inverse_mass, impulse};
    for (int i = 0; i < 3; i++)
        change->motion[i] += push[i] * scale;
}

/* What an impulse along the row does to its bodies. */
static inline void mmd_row_push(const mmd_row *row, double impulse, mmd_change *changes)
{
    mmd_change_push(row->push_a, impulse, 1, &changes[row->a]);
    mmd_change_push(row->push_b, impulse, -1, &changes[row->b]);
}

static inline mmd_two mmd_change_number(const mmd_two number[3], const mmd_change *change)
{
    return number[0] * change->motion[0] + number[1] * change->motion[1] +
           number[2] * change->motion[2];
}

/* Brings the row's number to its target, as far as its bounds allow. Six thousand times a frame, so
   that a guess of the processor that fails costs more than pushing by an impulse of 0. */
static inline void mmd_row_solve(mmd_row *row, mmd_change *changes)
{
    mmd_two a = mmd_change_number(row->number_a, &changes[row->a]);
    mmd_two b = mmd_change_number(row->number_b, &changes[row->b]);
    double number = a[1] + b[1] + (a[0] - b[0]);
    double sum = row->impulse + row->wanted - number * row->share;
    if (isnan(sum)) /* of bodies whose numbers have overflown, which this step puts to rest */
        return;
    sum = sum < row->low ? row->low : sum; /* each a minimum or maximum, without a jump */
    sum = sum > row->high ? row->high : sum;
    double impulse = sum - row->impulse;
    row->impulse = sum;
    mmd_row_push(row, impulse, changes);
}

#endif
