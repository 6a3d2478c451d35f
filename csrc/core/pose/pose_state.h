/* SPDX-License-Identifier: MIT */
#ifndef MMD_POSE_STATE_H
#define MMD_POSE_STATE_H

#include "core/math/quat.h"
#include "core/math/vec3.h"
#include "core/pose/rig.h"

/* A bone while a pose is evaluated. Local values are relative to the rest pose; they include bone
   morphs and IK, but not the append. */
typedef struct mmd_pose_bone {
    double local_rotation[4], append_rotation[4], world_rotation[4];
    double local_translation[3], append_translation[3], world_position[3];
    double ik_memory[4]; /* of link-driven links: docs/mmd-behavior.md#ik-memory */
    bool append_dropped; /* rotation append off: docs/mmd-behavior.md#ik-dropped-append */
} mmd_pose_bone;

/* All bones while a pose is evaluated. Nothing in it outlasts a frame: frames do not depend on each
   other. */
typedef struct mmd_pose_state {
    const mmd_rig *rig;
    mmd_pose_bone *bones; /* (B,) */
} mmd_pose_state;

/* At rest. False when memory is short. */
bool mmd_pose_state_init(mmd_arena *arena, const mmd_rig *rig, mmd_pose_state *pose);

/* Begins a frame with local = morph user: user values (B,3) and (B,4), NULL at rest, and bone
   morphs of the final weights (M,): docs/mmd-behavior.md#bone-morphs. */
void mmd_pose_state_reset(mmd_pose_state *pose, double (*translations)[3], double (*rotations)[4],
                          const float *weights);

/* Evaluates the append of a bone from the present state of its source. */
void mmd_pose_state_append(mmd_pose_state *pose, int32_t bone);

/* Skinning matrices (B,4,4): world x inverse rest. */
void mmd_pose_state_matrices(const mmd_pose_state *pose, float *matrices);

/* World position and world rotation of a bone from the present state of its parent. Inline: the IK
   solver spends most of its time here. */
static inline void mmd_pose_state_update_position(mmd_pose_state *pose, int32_t index)
{
    const mmd_rig_bone *bone = &pose->rig->bones[index];
    mmd_pose_bone *state = &pose->bones[index];
    mmd_simd_vec3 position =
        mmd_simd_vec3_add(mmd_simd_vec3_add(mmd_simd_vec3_load(bone->offset),
                                            mmd_simd_vec3_load(state->local_translation)),
                          mmd_simd_vec3_load(state->append_translation));
    if (bone->parent >= 0) {
        const mmd_pose_bone *parent = &pose->bones[bone->parent];
        position = mmd_quat_rotate_simd(parent->world_rotation, position);
        position = mmd_simd_vec3_add(mmd_simd_vec3_load(parent->world_position), position);
    }
    mmd_simd_vec3_store(position, state->world_position);
}

static inline void mmd_pose_state_update_rotation(mmd_pose_state *pose, int32_t index)
{
    const mmd_rig_bone *bone = &pose->rig->bones[index];
    mmd_pose_bone *state = &pose->bones[index];
    const double *local = state->local_rotation;
    double q[4];
    if (bone->source >= 0) { /* without an append, append_rotation is the identity */
        mmd_quat_multiply(local, state->append_rotation, q);
        local = q;
    }
    if (bone->parent < 0)
        memcpy(state->world_rotation, local, sizeof state->world_rotation);
    else
        mmd_quat_multiply(pose->bones[bone->parent].world_rotation, local, state->world_rotation);
}

static inline void mmd_pose_state_update(mmd_pose_state *pose, int32_t index)
{
    mmd_pose_state_update_position(pose, index);
    mmd_pose_state_update_rotation(pose, index);
}

/* The append, then the world position and rotation. */
static inline void mmd_pose_state_evaluate(mmd_pose_state *pose, int32_t index)
{
    if (pose->rig->bones[index].source >= 0)
        mmd_pose_state_append(pose, index);
    mmd_pose_state_update(pose, index);
}

/* Rotates the links of a solver so that its effector reaches its goal, and updates the bones that
   depend on them. */
void mmd_ik_solve(mmd_pose_state *pose, const mmd_rig_solver *solver);

#endif
