/* SPDX-License-Identifier: MIT */
#ifndef MMD_SKIN_INPUT_H
#define MMD_SKIN_INPUT_H

#include "core/skin/mesh.h"

/* What the CPU kernels and the shaders read of one frame, and the constants that they share. */

/* A bone: its skinning matrix, and the rigid part of it as a dual quaternion. The rotation is by
   Gram-Schmidt on columns x and y; dual = (t, 0) rotation / 2, t being the translation. Both are
   zero if the determinant is not positive, so that SDEF and QDEF vertices of this bone are skinned
   linearly, or if no vertex needs them. Shaders read a bone as five RGBA32F texels. */
typedef struct mmd_skin_bone {
    float rows[3][4];
    float rotation[4]; /* unit quaternion x y z w */
    float dual[4];
} mmd_skin_bone;

/* One frame, as a CPU kernel takes it. */
typedef struct mmd_skin_input {
    const mmd_mesh *mesh;
    mmd_method method;
    mmd_sdef_blend sdef_blend;
    float correction; /* 0 to 1, for BULGE_FREE and COMPENSATED */
    const mmd_skin_bone *bones;
    const float *weights; /* of all morphs after groups and flips; NULL: no vertex morph acts */
    float *scratch;       /* for morphed positions: mmd_skin_kernel.scratch_size floats, aligned */
    float *positions, *normals, *tangents; /* outputs */
} mmd_skin_input;

/* The bones of a frame, mesh->bone_count of them. */
void mmd_skin_input_bones(const mmd_skin_job *job, size_t frame, mmd_skin_bone *bones);

/* The morph weights of a frame, mesh->morph_count of them. False if no vertex morph acts. */
bool mmd_skin_input_weights(const mmd_skin_job *job, size_t frame, float *weights);

/* Squared length, relative to (sum of squares of the blended 3x3 matrix)^2, below which a
   transformed normal has too few digits in float, and mmd_skin_scalar_precise_normal computes it:
   blends of rotations that are almost 180 degrees apart. */
#define MMD_MIN_NORMAL (1.0f / 16384)
/* Squared length, relative to the tangent's, below which its part orthogonal to the normal is only
   rounding. */
#define MMD_MIN_TANGENT 1e-12f
/* Squared length below which a blend of quaternions has vanished, which takes negative weights. */
#define MMD_MIN_QUATERNION 1e-12f

#endif
