/* SPDX-License-Identifier: MIT */
#ifndef MMD_POSE_H
#define MMD_POSE_H

#include "core/pose/pose_state.h"
#include "core/pose/sampling.h"

/* Evaluates poses of checked jobs, for mmd_pose() and for physics. */

struct mmd_poser {
    mmd_arena arena;      /* owns everything below but the binding */
    mmd_binding *binding; /* of the motion, NULL without one */
    mmd_sampling_cursor *cursors;
    mmd_sampling_locals locals;
    float *weights; /* (M,) after groups and flips */
    mmd_pose_state pose;
};

/* Fails with MMD_E_ARGUMENT unless numbers are finite, rotations have a length and counts of frames
   fit, which mmd_pose_run() relies on. */
bool mmd_pose_check(const mmd_rig *rig, const mmd_pose_job *job, mmd_error *err);

/* mmd_pose() without the check. */
void mmd_pose_run(mmd_poser *poser, const mmd_pose_job *job);

/* The part of a job with the frames [first, first + count). */
mmd_pose_job mmd_pose_slice(const mmd_rig *rig, const mmd_pose_job *job, size_t first,
                            size_t count);

/* One frame of a checked job in three parts. The first samples frame `f`, writes its sliders and
   evaluates the bones before physics; the second evaluates those after physics; the third is
   mmd_pose_state_matrices(). Between the first two, physics may move bones. */
void mmd_pose_before_physics(mmd_poser *poser, const mmd_pose_job *job, size_t f);

/* Evaluates the bones before physics again, after physics has moved some: those that are `fixed`
   (B,) keep their place relative to their parent, solvers that would move them do not run.
   docs/mmd-behavior.md#bones-again. `before` (B,) is memory. */
void mmd_pose_again(mmd_poser *poser, const mmd_pose_job *job, const bool *fixed,
                    mmd_pose_bone *before);
void mmd_pose_after_physics(mmd_poser *poser, const mmd_pose_job *job);

/* The transforms of bones in the spaces that other programs use, and back to skinning matrices:
   world = skinning matrix * rest matrix, local = inverse of the parent's world * world. A rest
   matrix is the translation to the bone's position. (B,4,4) as in mmd_pose(), through double. */

/* Positions are those of MMD_BONE_WORLD, (B,3). */
typedef enum mmd_bone_space { MMD_BONE_WORLD, MMD_BONE_LOCAL, MMD_BONE_POSITIONS } mmd_bone_space;

/* From skinning matrices. False if a parent's matrix has no inverse: `bad` is its index. */
bool mmd_bone_spaces_from_skinning(const mmd_model *model, mmd_bone_space space,
                                   const float *skinning, float *out, size_t *bad);

/* To skinning matrices, in the order of mmd_model_order(). `worlds` (B,12) is memory for a frame.
 */
void mmd_bone_spaces_to_skinning(const mmd_model *model, mmd_bone_space space, const size_t *order,
                                 const float *transforms, double *worlds, float *out);

#endif
