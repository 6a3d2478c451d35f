/* SPDX-License-Identifier: MIT */
#ifndef MMD_SAMPLING_H
#define MMD_SAMPLING_H

#include "core/data/motion.h"
#include "core/pose/pose.h"

/* Which track drives which bone, morph and IK solver of a model: names that are equal. A bone name
   that occurs twice binds to the first, a morph name to all. docs/mmd-behaviour.md#names,
   docs/mmd-behaviour.md#sampling and docs/mmd-behaviour.md#fixed-axis. */
typedef struct mmd_binding {
    mmd_arena arena; /* owns everything below */
    const mmd_motion *motion;
    const mmd_rig *rig;
    int32_t *bone_track;          /* (B,), -1: none */
    const float **bone_rotations; /* (B,) the track's, on fixed-axis bones projected to the axis */
    int32_t *morph_track;         /* (M,) */
    int32_t *solver_property;     /* (solvers,) column of the property track */
    bool *bone_track_bound, *morph_track_bound, *property_bound; /* by track: found in the model */
    size_t *cursor; /* (B + M + 1,) where the last frame was found: only for speed */
} mmd_binding;

/* The binding keeps pointers to all three. */
bool mmd_binding_init(mmd_binding *binding, const mmd_model *model, const mmd_rig *rig,
                      const mmd_motion *motion, mmd_error *err);
void mmd_binding_free(mmd_binding *binding);

/* Local values at a frame: state->translations and rotations, all sliders, all solvers. */
void mmd_sample(mmd_binding *binding, double frame, mmd_pose_state *state, float *sliders,
                uint8_t *solvers_on);

/* Skinning matrices (F,B,4,4) and sliders (F,M) of `count` finite frames. */
bool mmd_pose_motion(const mmd_model *model, const mmd_rig *rig, const mmd_motion *motion,
                     const double *frames, size_t count, bool ik, float *matrices, float *sliders,
                     mmd_error *err);

/* The curve of an interpolation row (x1 y1 x2 y2, bytes 0-127) at x in 0..1. */
double mmd_bezier(const uint8_t row[4], double x);

#endif
