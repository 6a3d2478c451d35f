/* SPDX-License-Identifier: MIT */
#ifndef MMD_RIG_SOLVERS_H
#define MMD_RIG_SOLVERS_H

#include "core/pose/rig.h"

/* The IK part of mmd_rig_new(): fills solvers, deferred and settled bones from bones, order and
   layers. False when memory is short. */
bool mmd_rig_solvers_find(mmd_rig *rig, mmd_arena *temporary);

#endif
