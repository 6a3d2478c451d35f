/* SPDX-License-Identifier: MIT */
#ifndef MMD_BINDING_H
#define MMD_BINDING_H

#include "core/pose/rig.h"

/* Which track of a motion drives which bone, morph and IK solver of a model, by equal names. A
   track of a bone drives the first bone of its name, a track of a morph all morphs of its name.
   docs/mmd-behavior.md#names, #tracks and #fixed-axis. */
typedef struct mmd_binding {
    mmd_arena arena; /* owns everything below */
    const mmd_motion *motion;
    const mmd_rig *rig;
    int32_t *bone_track;          /* (B,), -1: none */
    const float **bone_rotations; /* (B,) of the track; about the fixed axis if the bone has one */
    int32_t *morph_track;         /* (M,) */
    int32_t *solver_property;     /* (solvers,) index of the IK name in the property track */
    /* By track: whether the model has that name. */
    bool *bone_track_bound, *morph_track_bound, *property_bound;
} mmd_binding;

/* The binding keeps pointers to both. */
mmd_binding *mmd_binding_new(const mmd_rig *rig, const mmd_motion *motion, mmd_error *err);
void mmd_binding_free(mmd_binding *binding);

#endif
