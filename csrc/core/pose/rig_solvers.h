/* SPDX-License-Identifier: MIT */
#ifndef MMD_RIG_SOLVERS_H
#define MMD_RIG_SOLVERS_H

#include "core/pose/rig.h"

/* The part of mmd_rig_new() that is about IK: fills everything of the rig that bones, order and
   layers do not need, from those. False when memory is short. */
bool mmd_rig_find_solvers(mmd_rig *rig, mmd_arena *temporary);

#endif
