/* SPDX-License-Identifier: MIT */
#ifndef MMD_BINDING_H
#define MMD_BINDING_H

#include "core/pose/rig.h"

/* Which track drives which bone, morph and IK solver of a model: names that are equal. A bone name
   that occurs twice binds to the first, a morph name to all. docs/mmd-behaviour.md#names,
   docs/mmd-behaviour.md#tracks
   and
   docs/mmd-behaviour.md#fixed-axis. */
typedef struct mmd_binding {
    mmd_arena arena; /* owns everything below */
    const mmd_motion *motion;
    const mmd_rig *rig;
    int32_t *bone_track;          /* (B,), -1: none */
    const float **bone_rotations; /* (B,) the track's, on fixed-axis bones projected to the axis */
    int32_t *morph_track;         /* (M,) */
    int32_t *solver_property;     /* (solvers,) column of the property track */
    bool *bone_track_bound, *morph_track_bound, *property_bound; /* by track: found in the model */
} mmd_binding;

/* The binding keeps pointers to both. */
mmd_binding *mmd_binding_new(const mmd_rig *rig, const mmd_motion *motion, mmd_error *err);
void mmd_binding_free(mmd_binding *binding);

#endif
