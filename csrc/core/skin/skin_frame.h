/* SPDX-License-Identifier: MIT */
#ifndef MMD_SKIN_FRAME_H
#define MMD_SKIN_FRAME_H

#include "core/skin/mesh.h"

/* What every kernel, on the CPU or in a shader, takes and must agree on. */

/* A bone of one frame. The rotation is that of the matrix by Gram-Schmidt on its columns x and y;
   `dual` = (t, 0) rotation / 2. Both are zero when the determinant is not positive (then SDEF and
   QDEF vertices of this bone are skinned linearly) or when no vertex of the job takes them. Shaders
   read it as texels of four floats. */
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
    float correction; /* 0 to 1, of BULGE_FREE and COMPENSATED */
    const mmd_skin_bone *bones;
    const float *weights; /* of all morphs after groups and flips; NULL: no vertex morph acts */
    float *scratch;       /* for morphed positions, as many floats as the kernel wants; aligned */
    float *positions, *normals, *tangents;
} mmd_skin_frame;

typedef void mmd_skin_run(const mmd_skin_frame *frame);

/* The formula for a vertex of this kind and so many influences. */
static inline mmd_skin_kind mmd_skin_kind_of(mmd_method method, int32_t kind, int32_t count)
{
    return method == MMD_METHOD_LINEAR || count == 0 ? MMD_SKIN_LINEAR
           : method == MMD_METHOD_DUAL_QUATERNION    ? MMD_SKIN_QDEF
                                                     : (mmd_skin_kind)kind;
}

/* Constants of the formulas, in float; the shaders get them from gl_program.c. */

/* A turned normal is too short for float (then see mmd_skin_precise_normal) when its square is
   below this times (sum of squares of the linear part)^2: blends of rotations almost 180 degrees
   apart. */
#define MMD_LEAST_NORMAL (1.0f / 16384)
/* A tangent lies along the normal when the square of what is left of it is below this share. */
#define MMD_LEAST_TANGENT 1e-12f
/* A blend of quaternions vanishes below this square of its length; it takes negative weights. */
#define MMD_LEAST_QUATERNION 1e-12f

#endif
