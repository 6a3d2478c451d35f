/* SPDX-License-Identifier: MIT */
#ifndef MMD_GRAVITY_H
#define MMD_GRAVITY_H

#include "mmdskin.h"

/* Checks gravity, and tells it at a frame. */

/* Fails with MMD_E_ARGUMENT if a number exceeds 1e6 or is not finite. */
bool mmd_gravity_check_vector(const double gravity[3], mmd_error *err);

/* Fails with MMD_E_ARGUMENT, which names the row, if a number exceeds 1e6 or is not finite. */
bool mmd_gravity_check(const mmd_gravity *gravity, mmd_error *err);

/* The gravity at a frame: linear between rows, the first row before and the last one after them, or
   `constant`. Plus noise: random numbers of each frame, also linear in between, so that they depend
   on seed and frame, not on the length of steps. */
void mmd_gravity_at(const mmd_gravity *gravity, const double constant[3], double frame,
                    double result[3]);

#endif
