/* SPDX-License-Identifier: MIT */
#ifndef MMD_WORLD_CHECK_H
#define MMD_WORLD_CHECK_H

#include "core/physics/world.h"

/* Whether bodies, joints and settings hold what a world can step; MMD_E_ARGUMENT names what does
   not. The order of joints is looked at by who takes it. */
bool mmd_world_check(const mmd_world_desc *desc, mmd_error *err);

#endif
