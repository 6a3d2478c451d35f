/* SPDX-License-Identifier: MIT */
#ifndef MMD_POSE_H
#define MMD_POSE_H

#include "mmdskin.h"

/* What mmd_pose_run() takes for granted: numbers are finite, rotations have a length, counts of
   frames fit. Fails with MMD_E_ARGUMENT. */
bool mmd_pose_check(const mmd_rig *rig, const mmd_pose_job *job, mmd_error *err);

/* mmd_pose() of a job that was checked. */
void mmd_pose_run(mmd_poser *poser, const mmd_pose_job *job);

/* The job of `count` of the frames, from `first` on. */
mmd_pose_job mmd_pose_slice(const mmd_rig *rig, const mmd_pose_job *job, size_t first,
                            size_t count);

#endif
