/* SPDX-License-Identifier: MIT */
#ifndef MMD_SKIN_H
#define MMD_SKIN_H

#include "core/skin/mesh.h"

typedef enum mmd_method {
    MMD_METHOD_MMD, /* each vertex by its own type */
    MMD_METHOD_LINEAR,
    MMD_METHOD_DUAL_QUATERNION
} mmd_method;

typedef enum mmd_sdef_blend { MMD_SDEF_NLERP, MMD_SDEF_SLERP } mmd_sdef_blend;

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

/* A bone of one frame, as every backend takes it: five texels. The rotation is that of the matrix
   by Gram-Schmidt on its columns x and y; `dual` = (t, 0) rotation / 2. Both are zero when the
   determinant is not positive (then SDEF and QDEF vertices of this bone are skinned linearly) or
   when mmd_skin_rotations() says that the job does not need them. */
typedef struct mmd_skin_bone {
    float rows[3][4];
    float rotation[4]; /* unit quaternion x y z w */
    float dual[4];
} mmd_skin_bone;

/* One frame, prepared: what a CPU kernel runs on. */
typedef struct mmd_skin_frame {
    const mmd_mesh *mesh;
    mmd_method method;
    mmd_sdef_blend sdef_blend;
    const mmd_skin_bone *bones;
    const float *weights; /* of all morphs after groups and flips; NULL: no vertex morph acts */
    float *scratch;       /* mmd_skin_scratch(mesh) floats, aligned */
    float *positions, *normals, *tangents;
} mmd_skin_frame;

/* Everything a caller can get wrong: counts, finite numbers. Before any backend. */
bool mmd_skin_check(const mmd_skin_job *job, mmd_error *err);

/* Preparation shared by the backends, per frame: bones (mesh->bone_count of them) and morph weights
   (mesh->morph_count); false when no vertex morph acts, weights are then all zero. */
bool mmd_skin_rotations(const mmd_skin_job *job);
void mmd_skin_bones(const mmd_skin_job *job, size_t frame, mmd_skin_bone *bones);
bool mmd_skin_weights(const mmd_skin_job *job, size_t frame, float *weights);

typedef struct mmd_kernel {
    const char *name; /* "scalar", "avx2", ... */
    bool (*available)(void);
    void (*run)(const mmd_skin_frame *frame);
} mmd_kernel;

/* "scalar" exists everywhere, the others by what this build and this CPU have. */
const mmd_kernel *mmd_kernel_best(void);
const mmd_kernel *mmd_kernel_find(
    const char *name); /* NULL: unknown here or not supported by this CPU */

/* Runs a checked job on the calling thread. `kernel` NULL means the best. */
bool mmd_skin_cpu(const mmd_skin_job *job, const mmd_kernel *kernel, mmd_error *err);
size_t mmd_skin_scratch(const mmd_mesh *mesh);

void mmd_skin_scalar(const mmd_skin_frame *frame);

/* The unit normal of a linear blend, or the input's where the blend has none, in double. Float is
   not enough when the turned normal is short against the matrix: blends of rotations almost 180
   degrees apart. Short means a square below MMD_LEAST_NORMAL x (sum of squares of the linear
   part)^2. */
void mmd_skin_linear_normal(const mmd_skin_frame *frame, const mmd_vertex *vertex, float out[3]);
#define MMD_LEAST_NORMAL (1.0f / 16384) /* LEAST_NORMAL in skinning.glsl */

/* The vector kernels, in skin_simd.c; `count` of them, slowest first. */
const mmd_kernel *mmd_skin_simd(size_t *count);

#endif
