/* SPDX-License-Identifier: MIT */
#ifndef MMD_POSE_H
#define MMD_POSE_H

#include "core/pose/rig.h"

/* Working memory of one evaluation: allocated once, used for any number of frames. A frame depends
   on nothing that an earlier one left here. */
typedef struct mmd_pose_state {
    const mmd_rig *rig;
    mmd_arena arena;
    /* Set by the caller before each frame, per bone, as the motion or the user has them. */
    double (*translations)[3], (*rotations)[4];
    /* From here on the evaluation's own. Own: bone morphs and IK included, appends not. */
    double (*own_translation)[3], (*own_rotation)[4];
    double (*append_translation)[3], (*append_rotation)[4];
    double (*world_position)[3], (*world_rotation)[4];
    double (*memory)[4]; /* of fed links, between the solvers of a frame */
    bool *dropped;       /* rotation appends off: docs/mmd-behaviour.md#ik-dropped-append */
} mmd_pose_state;

bool mmd_pose_begin(mmd_pose_state *state, const mmd_rig *rig, mmd_error *err);
void mmd_pose_end(mmd_pose_state *state);

/* One frame from state->translations and state->rotations (unit quaternions x y z w).
   `weights`: of all morphs after groups and flips, or NULL; bone morphs act.
   `solvers_on`: one flag per rig->solvers, or NULL: all off.
   `matrices`: (B,4,4) skinning matrices, row-major. */
void mmd_pose_frame(mmd_pose_state *state, const float *weights, const uint8_t *solvers_on,
                    float *matrices);

/* Frames from local values; every solver is on when `ik` is set. NULL arrays: rest, sliders at
   zero. A single frame of local values or of sliders serves all. Rotations of any length but zero.
 */
typedef struct mmd_pose_locals_job {
    size_t frame_count;
    const float *translations; /* (translation_frames,B,3) */
    const float *rotations;    /* (rotation_frames,B,4) x y z w */
    const float *sliders;      /* (slider_frames,M) */
    size_t translation_frames, rotation_frames, slider_frames;
    bool ik;
    float *matrices; /* (frame_count,B,4,4) */
} mmd_pose_locals_job;

bool mmd_pose_locals(const mmd_rig *rig, const mmd_pose_locals_job *job, mmd_error *err);

/* For the solver in ik.c. */
void mmd_pose_append(mmd_pose_state *state, int32_t bone);
void mmd_pose_place(mmd_pose_state *state, int32_t bone);
void mmd_ik_solve(mmd_pose_state *state, const mmd_rig_solver *solver);

#endif
