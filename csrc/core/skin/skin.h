/* SPDX-License-Identifier: MIT */
#ifndef MMD_SKIN_H
#define MMD_SKIN_H

#include "core/skin/kernels.h"
#include "core/skin/skin_frame.h"

/* Everything a caller can get wrong: counts, finite numbers. Before any backend. */
bool mmd_skin_check(const mmd_skin_job *job, mmd_error *err);

/* Preparation shared by the backends, per frame: bones (mesh->bone_count of them) and morph weights
   (mesh->morph_count); false when no vertex morph acts, weights are then all zero. */
void mmd_skin_bones(const mmd_skin_job *job, size_t frame, mmd_skin_bone *bones);
bool mmd_skin_weights(const mmd_skin_job *job, size_t frame, float *weights);

/* The job of `count` of the frames, from `first` on. */
mmd_skin_job mmd_skin_slice(const mmd_skin_job *job, size_t first, size_t count);

/* What a thread needs for the frames of a job: zeroed before its first ones, kept for the rest. */
typedef struct mmd_skin_space {
    mmd_arena arena;
    mmd_skin_bone *bones;
    float *weights, *scratch;
    float
        *stage; /* where a frame is made when the results of the job outgrow the caches; or NULL */
} mmd_skin_space;

/* Runs frames [first, first + count) of a checked job on the calling thread. `kernel` NULL means
   the best. False when memory is short, before anything is written. */
bool mmd_skin_part(const mmd_skin_job *job, size_t first, size_t count, const mmd_kernel *kernel,
                   mmd_skin_space *space, mmd_error *err);
void mmd_skin_space_free(mmd_skin_space *space);

/* All its frames. */
bool mmd_skin_cpu(const mmd_skin_job *job, const mmd_kernel *kernel, mmd_error *err);

#endif
