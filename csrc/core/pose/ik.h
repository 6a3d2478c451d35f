/* SPDX-License-Identifier: MIT */
#ifndef MMD_IK_H
#define MMD_IK_H

#include "core/pose/pose_state.h"

/* Rotates the links of a solver so that its effector reaches its goal, and updates the bones that
   depend on them. */
void mmd_ik_solve(mmd_pose_state *pose, const mmd_rig_solver *solver);

#endif
