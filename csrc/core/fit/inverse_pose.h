/* SPDX-License-Identifier: MIT */
#ifndef MMD_INVERSE_POSE_H
#define MMD_INVERSE_POSE_H

#include "core/pose/pose.h"

/* From skinning matrices back to the local values that a motion's keys hold: the inverse of
   mmd_pose() with IK off. Bone morphs and appends are undone, and every bone is inverted against
   the transform that the float32 values written for its parent give, so that errors do not add up
   along a chain. */

/* Memory of one thread. Zeroed: empty. */
typedef struct mmd_inverse_pose {
    mmd_pose_state state;
    const int32_t *order;
    double (*morph_translations)[3], (*morph_rotations)[4];
    float *weights; /* (M,) after groups and flips */
} mmd_inverse_pose;

/* What matrices hold and local values cannot, largest over the frames. */
typedef struct mmd_inverse_pose_loss {
    float off_axis; /* radians away from the bone's fixed axis */
    float scale;    /* how far columns are from unit length and right angles; 2: mirrored */
} mmd_inverse_pose_loss;

/* False when memory is short. The rig must outlive it. */
bool mmd_inverse_pose_init(mmd_arena *arena, const mmd_rig *rig, mmd_inverse_pose *inverse);

/* One frame. matrices: (B,4,4) as mmd_pose() writes them; morph_weights: (M,), NULL: zeros.
   place_goals: moves each IK bone to its effector, so that the pose is the same with IK on and off.
   translations (B,3) and rotations (B,4) are written; loss (B,) is raised where it is larger. */
void mmd_inverse_pose_run(mmd_inverse_pose *inverse, const float *matrices,
                          const float *morph_weights, bool place_goals, float *translations,
                          float *rotations, mmd_inverse_pose_loss *loss);

#endif
