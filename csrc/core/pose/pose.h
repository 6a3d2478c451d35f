/* SPDX-License-Identifier: MIT */
#ifndef MMD_POSE_H
#define MMD_POSE_H

#include "core/data/motion.h"
#include "core/pose/rig.h"

/* Poses one model: by one motion, or by local values. Holds what a motion and a model have to do
   with each other, and all memory that a frame takes, so that nothing is worked out or allocated
   twice. One thread at a time may use it; rig and motion, which must outlive it, can be shared. */
typedef struct mmd_poser mmd_poser;

/* `motion` NULL: by local values. */
mmd_poser *mmd_poser_new(const mmd_rig *rig, const mmd_motion *motion, mmd_error *err);
void mmd_poser_free(mmd_poser *poser);

typedef struct mmd_pose_job {
    size_t frame_count;
    bool ik; /* whether solvers run; those that the motion switches off do not */

    /* With a motion: (frame_count,) frames in any order. */
    const double *frames;

    /* Without: local values, of one frame for all or of frame_count. NULL: at rest, sliders at
       zero. Rotations may have any length but zero. */
    const float *translations;  /* (translation_frames,B,3) */
    const float *rotations;     /* (rotation_frames,B,4) x y z w */
    const float *given_sliders; /* (slider_frames,M) */
    size_t translation_frames, rotation_frames, slider_frames;

    float *matrices; /* (frame_count,B,4,4) skinning matrices, row-major */
    float *sliders;  /* (frame_count,M) as the motion or the caller has them */
} mmd_pose_job;

/* What mmd_pose() takes for granted: numbers are finite, rotations have a length, frames fit. */
bool mmd_pose_check(const mmd_rig *rig, const mmd_pose_job *job, mmd_error *err);

/* A frame depends on nothing that earlier ones left in the poser. */
void mmd_pose(mmd_poser *poser, const mmd_pose_job *job);

#endif
