/* SPDX-License-Identifier: MIT */
#ifndef MMD_SIMULATION_MEMBER_H
#define MMD_SIMULATION_MEMBER_H

#include "core/physics/bone_bodies.h"
#include "core/physics/notes.h"
#include "core/physics/pose_input.h"
#include "core/physics/world.h"
#include "core/pose/pose.h"

/* One of the models of a simulation: its bones, and which bodies and joints of the world are its
   own. */
typedef struct mmd_simulation_member {
    const mmd_rig *rig;
    size_t first_body, body_count, first_joint, joint_count;
    bool placed;             /* `placement` is not the identity */
    mmd_body_pose placement; /* from the model's space to the world's */
    double offset;           /* frames by which its motion is ahead of the run */
    mmd_poser *poser;
    mmd_bone_bodies bone_bodies; /* by index within the model */
    mmd_notes notes;
    mmd_pose_input input; /* without a motion: the pose of the caller */
    /* Whether the poser has the bones before physics at bones_frame. */
    bool bones_valid;
    double bones_frame;
    float *morph_weights;
    mmd_pose_bone *saved_bones; /* scratch memory: bones before physics */
} mmd_simulation_member;

/* Adds the models to an arena; (count,) members. Fails with MMD_E_ARGUMENT or MMD_E_MEMORY; members
   must be freed all the same. */
bool mmd_simulation_members_init(mmd_arena *arena, const mmd_simulation_model *models, size_t count,
                                 mmd_simulation_member *members, mmd_error *err);
void mmd_simulation_members_free(mmd_simulation_member *members, size_t count);

/* The world of all their bodies and joints, in the order of models. Fails as mmd_world_new() does;
   with several models, the text begins with the model. */
mmd_world *mmd_simulation_members_new_world(const mmd_simulation_member *members, size_t count,
                                            const mmd_world_settings *settings, mmd_error *err);

/* Binds the bones to the bodies of that world. False if out of memory. */
bool mmd_simulation_members_bind(mmd_arena *arena, mmd_world *world, size_t count,
                                 mmd_simulation_member *members);

/* Lets an error begin with the model, if there are several. Returns false. */
bool mmd_simulation_members_fail(size_t member, size_t count, mmd_error *err);

/* The member that a body or joint of the world belongs to. */
mmd_simulation_member *mmd_simulation_members_of_body(mmd_simulation_member *members, size_t body);
mmd_simulation_member *mmd_simulation_members_of_joint(mmd_simulation_member *members,
                                                       size_t joint);

/* From the model's space to the world's, and back. */
void mmd_simulation_member_to_world(const mmd_simulation_member *member, mmd_body_pose *pose);
void mmd_simulation_member_to_model(const mmd_simulation_member *member, mmd_body_pose *pose);

#endif
