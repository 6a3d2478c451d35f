/* SPDX-License-Identifier: MIT */
#ifndef MMD_SKIN_VECTOR_H
#define MMD_SKIN_VECTOR_H

#include "core/skin/skin_frame.h"

/* The vector kernels, one file per instruction set around the one body in skin_kernel.h, and what
   they share: the work that is done once per group of vertices with the same bones. */

#if defined(__GNUC__) && defined(__x86_64__)
#define MMD_SKIN_X86
#elif defined(__GNUC__) && defined(__aarch64__)
#define MMD_SKIN_ARM
#endif

#ifdef MMD_SKIN_X86
mmd_skin_run mmd_skin_sse2, mmd_skin_avx2, mmd_skin_avx512;
#endif
#ifdef MMD_SKIN_ARM
mmd_skin_run mmd_skin_neon;
#endif

/* By which loop a group is skinned in this frame. */
typedef enum mmd_shape {
    MMD_SHAPE_RIGID_BONE, /* turns normals as it does positions, and leaves them unit */
    MMD_SHAPE_ONE_BONE,
    MMD_SHAPE_TWO_BONES,
    MMD_SHAPE_MORE_BONES,
    MMD_SHAPE_SDEF,
    MMD_SHAPE_QDEF,
    MMD_SHAPE_QDEF_SIGNS, /* the pivot of a vertex decides the signs */
    MMD_SHAPE_CENTER,
    MMD_SHAPE_BULGE_FREE,
    MMD_SHAPE_COMPENSATED
} mmd_shape;

/* What the vertices of a group share in one frame. Bone matrices are rows of a 3x4 matrix. */
typedef struct mmd_group_matrices {
    float base[12];           /* of the last bone */
    float differences[3][12]; /* of the others to it */
    float cofactors[12];      /* one bone: times the sign of the determinant, column 3 unused */
    /* SDEF: with the signs that bring them into one hemisphere. QDEF_SIGNS: as they are. Else with
       these signs, and all but the last as differences to it. */
    float real[4][4], dual[4][4];
    float signs[4][4];  /* of each bone, by each pivot */
    float angle;        /* SDEF by slerp: between the rotations, as quaternions; else 0 */
    float least_normal; /* squares below need mmd_skin_precise_normal */
    /* BULGE_FREE: the segment at rest and now, one by the square of its length, the correction. */
    float rest_head[3], rest_along[3], head[3], along[3], per_square, correction;
    float outward[3]; /* COMPENSATED: times the correction */
} mmd_group_matrices;

/* `normals`: whether they (or tangents) are wanted. */
mmd_shape mmd_group_prepare(const mmd_skin_frame *frame, const mmd_group *group, bool normals,
                            mmd_group_matrices *out);

/* Fills frame->scratch: rest positions of the blocks that morphs can reach, then the offsets of the
   morphs that act. */
void mmd_block_positions(const mmd_skin_frame *frame);

#endif
