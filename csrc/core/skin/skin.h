/* SPDX-License-Identifier: MIT */
#ifndef MMD_SKIN_H
#define MMD_SKIN_H

#include "core/skin/kernels.h"
#include "core/skin/skin_frame.h"

/* Frames of one mesh. Matrices are row-major for column vectors, their last row is not used.
   A single frame of matrices or of sliders serves all frames. Outputs are (F,V,3), tangents
   (F,V,mesh->tangent_width); normals and tangents may be NULL. Nothing may overlap. */
typedef struct mmd_skin_job {
    const mmd_mesh *mesh;
    size_t frame_count;
    size_t bone_count;
    const float *matrices; /* (matrix_frames,B,4,4) */
    size_t matrix_frames;  /* 1 or frame_count */
    const float *sliders;  /* (slider_frames,mesh->morph_count), or NULL: all zero */
    size_t slider_frames;
    mmd_method method;
    mmd_sdef_blend sdef_blend;
    float *positions, *normals, *tangents;
} mmd_skin_job;

/* Everything a caller can get wrong: counts, finite numbers. Before any backend. */
bool mmd_skin_check(const mmd_skin_job *job, mmd_error *err);

/* Preparation shared by the backends, per frame: bones (mesh->bone_count of them) and morph weights
   (mesh->morph_count); false when no vertex morph acts, weights are then all zero. */
bool mmd_skin_rotations(const mmd_skin_job *job);
void mmd_skin_bones(const mmd_skin_job *job, size_t frame, mmd_skin_bone *bones);
bool mmd_skin_weights(const mmd_skin_job *job, size_t frame, float *weights);

/* Runs a checked job on the calling thread. `kernel` NULL means the best. */
bool mmd_skin_cpu(const mmd_skin_job *job, const mmd_kernel *kernel, mmd_error *err);
size_t mmd_skin_scratch(const mmd_mesh *mesh);

#endif
