/* SPDX-License-Identifier: MIT */
#ifndef MMD_POSE_H
#define MMD_POSE_H

#include "mmdskin.h"

/* The job of `count` of the frames, from `first` on. */
mmd_pose_job mmd_pose_slice(const mmd_rig *rig, const mmd_pose_job *job, size_t first,
                            size_t count);

#endif
