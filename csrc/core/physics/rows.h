/* SPDX-License-Identifier: MIT */
#ifndef MMD_ROWS_H
#define MMD_ROWS_H

#include "core/physics/body.h"

/* One number of the relative motion of two bodies that is driven to a target by an impulse within
   bounds. With velocities v and spins w the number is
   axis . (v_a - v_b) + arm_a . w_a + arm_b . w_b. */
typedef struct mmd_row {
    size_t a, b;
    bool turns; /* axis is zero */
    double axis[3], arm_a[3], arm_b[3];
    double spin_a[3], spin_b[3]; /* of the bodies by an impulse of 1 */
    double share;                /* impulse for a change of the number by 1 */
    double wanted;               /* impulse from the velocities before the sweeps to the target */
    double low, high;            /* bounds of the impulse */
    double impulse;
} mmd_row;

/* What the sweeps add to a body's velocities. */
typedef struct mmd_change {
    double velocity[3], spin[3], inverse_mass;
} mmd_change;

/* Completes a row of which bodies, axis, arms and bounds are set. A row that can change nothing
   gets a share of zero. */
void mmd_row_aim(mmd_row *row, const mmd_body *bodies, double target);

/* What an impulse along the row does to its bodies. */
void mmd_row_push(const mmd_row *row, double impulse, mmd_change *changes);

/* Brings the row's number to its target, as far as its bounds allow. */
void mmd_row_solve(mmd_row *row, mmd_change *changes);

#endif
