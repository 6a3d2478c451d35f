/* SPDX-License-Identifier: MIT */
#ifndef MMD_IK_H
#define MMD_IK_H

#include "core/pose/place.h"

/* Turns the links of one solver, and places what follows them. */
void mmd_ik_solve(mmd_frame *frame, const mmd_rig_solver *solver);

#endif
