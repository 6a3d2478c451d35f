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

/* Runs a checked job on the calling thread. `kernel` NULL means the best. */
bool mmd_skin_cpu(const mmd_skin_job *job, const mmd_kernel *kernel, mmd_error *err);

#endif
