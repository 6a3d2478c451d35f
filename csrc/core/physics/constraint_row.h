/* SPDX-License-Identifier: MIT */
#ifndef MMD_CONSTRAINT_ROW_H
#define MMD_CONSTRAINT_ROW_H

#include <stdbool.h>
#include <stdint.h>

/* One row of a velocity constraint between two bodies A and B. With their velocities
   V = (v_a, w_a, v_b, w_b) and the Jacobian J = (n, r_a, -n, r_b) it is

       J V = u        within  lower <= lambda <= upper

       lambda         accumulated impulse (mass units/s; for angular rows mass units^2/s)
       n              linear axis, the same for both bodies; zero in rows of angles
       r_a, r_b       angular axes: (p_a - x_a) x n and n x (p_b - x_b) for a point p
       u              target velocity (units/s or rad/s): Baumgarte stabilization, restitution,
                      joint motor

   constraint_solver.h solves it. */
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

#endif
