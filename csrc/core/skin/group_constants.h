/* SPDX-License-Identifier: MIT */
#ifndef MMD_GROUP_CONSTANTS_H
#define MMD_GROUP_CONSTANTS_H

#include "core/skin/skin.h"

/* What the SIMD kernels compute once per frame and block group, in scalar code: everything that
   depends on the bones only. */

/* The specialized loop that skins a group. */
typedef enum mmd_group_path {
    MMD_GROUP_RIGID_BONE, /* also transforms normals, which stay unit */
    MMD_GROUP_ONE_BONE,
    MMD_GROUP_LINEAR_TWO_BONES,
    MMD_GROUP_LINEAR,
    MMD_GROUP_SDEF,
    MMD_GROUP_QDEF,
    MMD_GROUP_QDEF_SIGNED, /* the signs depend on each vertex's pivot */
    MMD_GROUP_CENTER,
    MMD_GROUP_BULGE_FREE,
    MMD_GROUP_COMPENSATED
} mmd_group_path;

/* Bone matrices are 3x4, row by row. */
typedef struct mmd_group_constants {
    float last[12];           /* of the last bone */
    float differences[3][12]; /* the other bones minus the last */
    float cofactors[12];      /* ONE_BONE: times the sign of the determinant, column 3 unused */
    /* Dual quaternions of the bones. QDEF_SIGNED: with their own signs. SDEF: signs aligned to the
       first bone. Other paths: aligned, and the last bone's subtracted from all others. */
    float real[4][4], dual[4][4];
    float signs[4][4]; /* by pivot: of each bone */
    float slerp_angle; /* SDEF by slerp: radians between the quaternions; 0: nlerp */
    float min_normal;  /* squared length below which mmd_skin_scalar_precise_normal is needed */
    /* BULGE_FREE: the segment at rest and posed, as head and vector to the tail. */
    float rest_head[3], rest_segment[3], head[3], segment[3];
    float inverse_square; /* of the segment's length */
    float correction;
    float bulge_offset[3]; /* COMPENSATED: times the correction */
} mmd_group_constants;

/* `directions`: whether normals or tangents are outputs. */
mmd_group_path mmd_group_constants_prepare(const mmd_skin_input *input,
                                           const mmd_vertex_block_group *group, bool directions,
                                           mmd_group_constants *out);

#endif
