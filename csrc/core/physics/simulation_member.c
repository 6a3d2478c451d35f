/* SPDX-License-Identifier: MIT */
/* The models of a simulation in one world: their bodies and joints follow each other in the order
   of models, as if one model had them all. Groups and masks of bodies therefore act across models,
   as in MMD. */
#include "core/physics/simulation_parts.h"

#include "core/base/error.h"

#include <math.h>

/* Members */

static bool set_transform(const mmd_simulation_model *model, mmd_simulation_member *member,
                          mmd_error *err)
{
    static const double identity[7] = {0, 0, 0, 0, 0, 0, 1};
    const double *numbers = model->transform ? model->transform : identity;
    if (!mmd_world_check_vector("transforms", numbers, 7, err))
        return false;
    if (mmd_vec3_dot(numbers + 3, numbers + 3) + numbers[6] * numbers[6] < 1e-12)
        return mmd_refuse(err, "transforms: quaternion of zero length");
    mmd_vec3_copy(numbers, member->transform.position);
    memcpy(member->transform.rotation, numbers + 3, sizeof member->transform.rotation);
    mmd_quat_normalize(member->transform.rotation);
    for (int i = 0; i < 6; i++)
        member->placed |= numbers[i] != 0;
    return true;
}

static bool init_member(mmd_arena *arena, const mmd_simulation_model *model,
                        mmd_simulation_member *member, mmd_error *err)
{
    const mmd_rig *rig = member->rig = model->rig;
    member->body_count = rig->model->rigid_body_count;
    member->joint_count = rig->model->joint_count;
    if (!set_transform(model, member, err))
        return false;
    if (!(fabs(model->offset) <= UINT32_MAX))
        return mmd_refuse(err, "offsets: %g, expected frames", model->offset);
    member->offset = model->offset;
    member->poser = mmd_poser_new(rig, model->motion, err);
    if (!member->poser)
        return false;
    return (MMD_ARENA_ARRAY(arena, member->morph_weights, rig->morph_count) &&
            MMD_ARENA_ARRAY(arena, member->saved_bones, rig->bone_count)) ||
           mmd_fail_memory(err);
}

bool mmd_simulation_members_init(mmd_arena *arena, const mmd_simulation_model *models, size_t count,
                                 mmd_simulation_member *members, mmd_error *err)
{
    size_t bodies = 0, joints = 0;
    for (size_t m = 0; m < count; m++) {
        members[m].first_body = bodies;
        members[m].first_joint = joints;
        if (!init_member(arena, &models[m], &members[m], err))
            return mmd_simulation_members_fail(m, count, err);
        bodies += members[m].body_count;
        joints += members[m].joint_count;
    }
    return true;
}

void mmd_simulation_members_free(mmd_simulation_member *members, size_t count)
{
    for (size_t m = 0; m < count; m++)
        mmd_poser_free(members[m].poser);
}

bool mmd_simulation_members_fail(size_t member, size_t count, mmd_error *err)
{
    char text[sizeof err->text];
    if (err && count > 1 && err->code == MMD_E_ARGUMENT) {
        memcpy(text, err->text, sizeof text);
        mmd_fail(err, err->code, "model %zu: %s", member, text);
    }
    return false;
}

/* The world */

/* Joints that connect bodies of the joined list. */
static void copy_joints(const mmd_simulation_member *member, mmd_joint *joints)
{
    const mmd_model *model = member->rig->model;
    for (size_t i = 0; i < member->joint_count; i++) {
        joints[i] = model->joints[i];
        if (joints[i].body_a >= 0)
            joints[i].body_a += (int32_t)member->first_body;
        if (joints[i].body_b >= 0)
            joints[i].body_b += (int32_t)member->first_body;
    }
}

mmd_world *mmd_simulation_members_new_world(const mmd_simulation_member *members, size_t count,
                                            const mmd_world_settings *settings, mmd_error *err)
{
    const mmd_simulation_member *last = &members[count - 1];
    size_t body_count = last->first_body + last->body_count;
    size_t joint_count = last->first_joint + last->joint_count;
    MMD_ARENA_LOCAL mmd_arena arena = {0};
    mmd_rigid_body *bodies = mmd_arena_alloc(&arena, body_count, sizeof *bodies);
    mmd_joint *joints = mmd_arena_alloc(&arena, joint_count, sizeof *joints);
    if (!bodies || !joints || body_count > INT32_MAX) {
        mmd_fail_memory(err);
        return NULL;
    }
    mmd_world_desc desc = {.contacts = true, .settings = *settings};
    for (size_t m = 0; m < count; m++) {
        const mmd_simulation_member *member = &members[m];
        desc.body_count = member->body_count;
        desc.joint_count = member->joint_count;
        desc.bodies = member->rig->model->rigid_bodies;
        desc.joints = member->rig->model->joints;
        if (!mmd_world_check(&desc, err)) {
            mmd_simulation_members_fail(m, count, err);
            return NULL;
        }
        if (desc.body_count)
            memcpy(bodies + member->first_body, desc.bodies, desc.body_count * sizeof *bodies);
        copy_joints(member, joints + member->first_joint);
    }
    desc.body_count = body_count;
    desc.joint_count = joint_count;
    desc.bodies = bodies;
    desc.joints = joints;
    return mmd_world_new(&desc, err);
}

bool mmd_simulation_members_bind(mmd_arena *arena, mmd_world *world, size_t count,
                                 mmd_simulation_member *members)
{
    for (size_t m = 0; m < count; m++) {
        mmd_simulation_member *member = &members[m];
        if (!mmd_bone_bodies_init(arena, member->rig, mmd_world_bodies(world) + member->first_body,
                                  member->poser->binding, &member->bone_bodies))
            return false;
    }
    return true;
}

/* Use */

mmd_simulation_member *mmd_simulation_members_of_body(mmd_simulation_member *members, size_t body)
{
    while (body >= members->first_body + members->body_count)
        members++;
    return members;
}

mmd_simulation_member *mmd_simulation_members_of_joint(mmd_simulation_member *members, size_t joint)
{
    while (joint >= members->first_joint + members->joint_count)
        members++;
    return members;
}

void mmd_simulation_member_to_world(const mmd_simulation_member *member, mmd_body_pose *pose)
{
    const mmd_body_pose *transform = &member->transform;
    if (!member->placed)
        return;
    mmd_quat_rotate(transform->rotation, pose->position, pose->position);
    mmd_vec3_add_scaled(transform->position, 1, pose->position);
    mmd_quat_multiply(transform->rotation, pose->rotation, pose->rotation);
    mmd_quat_normalize(pose->rotation);
}

void mmd_simulation_member_to_model(const mmd_simulation_member *member, mmd_body_pose *pose)
{
    const mmd_body_pose *transform = &member->transform;
    double inverse[4];
    if (!member->placed)
        return;
    mmd_quat_conjugate(transform->rotation, inverse);
    mmd_vec3_subtract(pose->position, transform->position, pose->position);
    mmd_quat_rotate(inverse, pose->position, pose->position);
    mmd_quat_multiply(inverse, pose->rotation, pose->rotation);
    mmd_quat_normalize(pose->rotation);
}
