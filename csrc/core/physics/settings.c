/* SPDX-License-Identifier: MIT */
#include "core/physics/settings.h"

#include "core/base/error.h"

#include <math.h>

const mmd_physics mmd_physics_default = {.world = {.gravity = {0, -98, 0},
                                                   .hz = 60,
                                                   .iterations = 10,
                                                   .ground = true,
                                                   .damping_extra = true,
                                                   .joined_collide = true},
                                         .settle = 60};

bool mmd_physics_check(const mmd_physics *physics, mmd_error *err)
{
    if (physics->starts && !(fabs(physics->start) <= UINT32_MAX))
        return mmd_fail(err, MMD_E_ARGUMENT, "start: %g, expected a frame", physics->start);
    if (physics->settle < 0 || physics->settle > MMD_SIMULATION_SETTLE)
        return mmd_fail(err, MMD_E_ARGUMENT, "settle: %d steps, expected 0 to %d", physics->settle,
                        MMD_SIMULATION_SETTLE);
    if (!(physics->teleport >= 0))
        return mmd_fail(err, MMD_E_ARGUMENT, "teleport: %g, expected at least 0",
                        physics->teleport);
    return true;
}
