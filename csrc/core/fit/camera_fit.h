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

/* A motion with a camera track and the name by which MMD knows camera files. View angles at keys
   are whole degrees, as the format has them. Fails with MMD_E_ARGUMENT where a camera has no
   direction, with MMD_E_MEMORY, or as the runner does; NULL: none. */
mmd_motion *mmd_camera_fit(const mmd_camera_fit_job *job, const mmd_thread_runner *runner,
                           mmd_error *err);

#endif
