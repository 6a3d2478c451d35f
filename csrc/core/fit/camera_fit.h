/* SPDX-License-Identifier: MIT */
#ifndef MMD_CAMERA_FIT_H
#define MMD_CAMERA_FIT_H

#include "core/base/thread_pool.h"
#include "core/fit/key_fit.h"

/* Few camera keys for a camera at every frame. */
typedef struct mmd_camera_fit_job {
    size_t frame_count; /* at least 1 */
    uint32_t first_frame;
    const mmd_camera *cameras; /* (F,): position and target differ */
    const bool *cuts;          /* (F,) the frame begins a new shot */
    double tolerance;          /* of target and distance, units */
    double angle_tolerance;    /* radians */
} mmd_camera_fit_job;

typedef struct mmd_camera_fit mmd_camera_fit;

/* Borrows what the job points to. NULL when memory is short. */
mmd_camera_fit *mmd_camera_fit_new(const mmd_camera_fit_job *job, mmd_error *err);
void mmd_camera_fit_free(mmd_camera_fit *fit);

/* The next part, after the one before. They fail with MMD_E_ARGUMENT where a camera has no
   direction, and with MMD_E_MEMORY. */
mmd_thread_part mmd_camera_fit_next(mmd_camera_fit *fit);
/* How much is done, from 0 to 1. */
double mmd_camera_fit_share(const mmd_camera_fit *fit);

/* Passes to the caller, who frees it, a motion with a camera track and the name by which MMD knows
   camera files. View angles at keys are whole degrees, as the format has them. */
mmd_motion *mmd_camera_fit_release_motion(mmd_camera_fit *fit);

#endif
