/* SPDX-License-Identifier: MIT */
#ifndef MMD_SETTINGS_H
#define MMD_SETTINGS_H

#include "core/physics/world.h"

/* What a simulation may be told. MMD's own settings are not public: docs/physics.md. */
typedef struct mmd_physics {
    mmd_world_settings world;
    bool starts; /* at `start`; else at the motion's first frame */
    double start;
    int settle;      /* steps that are held at the start */
    double teleport; /* units in a frame beyond which bodies begin anew; 0: never */
} mmd_physics;

enum {
    MMD_SIMULATION_FRAMES = 10000000, /* from the start on, at most */
    MMD_SIMULATION_SETTLE = 100000,
    MMD_SIMULATION_SECONDS = 3600 /* of a way, at most */
};

extern const mmd_physics mmd_physics_default;

/* What a world does not check itself. Fails with MMD_E_ARGUMENT, which names the setting. */
bool mmd_physics_check(const mmd_physics *physics, mmd_error *err);

#endif
