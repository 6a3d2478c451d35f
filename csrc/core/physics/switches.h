/* SPDX-License-Identifier: MIT */
#ifndef MMD_SWITCHES_H
#define MMD_SWITCHES_H

#include "core/pose/binding.h"

/* Keys of a motion switch the physics of their bone off and on again:
   docs/mmd-behaviour.md#vmd-bone-curves. Meanwhile its bodies go where the bone carries them. */
typedef struct mmd_switches {
    size_t body_count;
    const mmd_bone_track **tracks; /* of each body; NULL: never off */
    size_t *cursors;
} mmd_switches;

/* `binding` NULL: no motion. False when memory is short. */
bool mmd_switches_init(mmd_arena *arena, const mmd_model *model, const mmd_binding *binding,
                       mmd_switches *switches);

/* Sets (N,) of the bodies whose physics is off at a frame. */
void mmd_switches_read(mmd_switches *switches, double frame, bool *off);

#endif
