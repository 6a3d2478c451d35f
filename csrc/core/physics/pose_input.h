/* SPDX-License-Identifier: MIT */
#ifndef MMD_POSE_INPUT_H
#define MMD_POSE_INPUT_H

#include "mmdskin.h"

/* Local values of one pose, as in a mmd_pose_job. */
typedef struct mmd_pose_input_values {
    float *translations, *rotations, *morph_weights; /* (B,3), (B,4), (M,) */
    uint8_t *ik;                                     /* (B,) 1: the IK of this bone runs */
    uint8_t *physics;                                /* (B,) 1: physics moves its bodies */
} mmd_pose_input_values;

/* What drives the bones of a simulation without a motion: interpolation from one pose of the caller
   to the next. */
typedef struct mmd_pose_input {
    size_t bone_count, morph_count, values_size; /* bytes of each of the three */
    mmd_pose_input_values start, target, current;
} mmd_pose_input;

/* At rest, in zeroed memory for as many bytes as this returns; NULL only counts. */
size_t mmd_pose_input_init(void *memory, size_t bone_count, size_t morph_count,
                           mmd_pose_input *input);

/* Starts an interpolation from the current pose to the values of a checked job of one frame.
   `physics` (B,), NULL: 1 for all bones. */
void mmd_pose_input_set_target(mmd_pose_input *input, const mmd_pose_job *job,
                               const uint8_t *physics);

/* Sets the current pose at a fraction, 0 to 1, of the interpolation: linear, and slerp for
   rotations. `ik` and `physics` change at 1. */
void mmd_pose_input_interpolate(mmd_pose_input *input, double fraction);

/* Whether its numbers, which may come from outside, are finite and its rotations not zero. */
bool mmd_pose_input_is_valid(const mmd_pose_input *input);

#endif
