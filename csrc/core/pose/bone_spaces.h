/* SPDX-License-Identifier: MIT */
#ifndef MMD_BONE_SPACES_H
#define MMD_BONE_SPACES_H

#include "mmdskin.h"

/* The transforms of bones in the spaces that other programs use, and back to skinning matrices:
   world = skinning matrix * rest matrix, local = inverse of the parent's world * world. A rest
   matrix is the translation to the bone's position. (B,4,4) as in mmd_pose(), through double. */

typedef enum mmd_bone_space { MMD_BONE_WORLD, MMD_BONE_LOCAL } mmd_bone_space;

/* The bones in an order in which parents come before their children. `order` (B,) is written;
   false when memory is short. */
bool mmd_bone_spaces_order(const mmd_model *model, size_t *order);

/* From skinning matrices. False if a parent's matrix has no inverse: `bad` is its index. */
bool mmd_bone_spaces_from_skinning(const mmd_model *model, mmd_bone_space space,
                                   const float *skinning, float *out, size_t *bad);

/* To skinning matrices. `worlds` (B,12) is memory for a frame. */
void mmd_bone_spaces_to_skinning(const mmd_model *model, mmd_bone_space space, const size_t *order,
                                 const float *transforms, double *worlds, float *out);

/* Where the bones are, (B,3). */
void mmd_bone_spaces_joint_positions(const mmd_model *model, const float *skinning, float *out);

#endif
