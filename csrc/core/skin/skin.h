/* SPDX-License-Identifier: MIT */
#ifndef MMD_SKIN_H
#define MMD_SKIN_H

#include "core/skin/skin_kernel.h"

/* Skinning jobs (mmd_skin_job): their check, for all backends, and their frames on the CPU. */

/* Checks everything that backends rely on: counts, finite numbers. Fails with MMD_E_ARGUMENT. */
bool mmd_skin_check(const mmd_skin_job *job, mmd_error *err);

/* The job of frames [first, first + count). */
mmd_skin_job mmd_skin_slice(const mmd_skin_job *job, size_t first, size_t count);

/* A thread's memory for the frames of a job. Zeroed before the first call, allocated by it. */
typedef struct mmd_skin_workspace {
    mmd_arena arena;
    mmd_skin_bone *bones;
    float *weights, *scratch;
    float *staging; /* outputs of one frame, if they are streamed to the results, else NULL */
} mmd_skin_workspace;

/* Skins frames [first, first + count) of a checked job on the calling thread. `kernel` NULL: the
   fastest. Fails with MMD_E_MEMORY, before anything is written. */
bool mmd_skin_frames(const mmd_skin_job *job, size_t first, size_t count,
                     const mmd_skin_kernel *kernel, mmd_skin_workspace *workspace, mmd_error *err);
void mmd_skin_workspace_free(mmd_skin_workspace *workspace);

/* Skins all frames of a checked job. */
bool mmd_skin_cpu(const mmd_skin_job *job, const mmd_skin_kernel *kernel, mmd_error *err);

#endif
