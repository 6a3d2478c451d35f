/* SPDX-License-Identifier: MIT */
/* Bone-body binding. With the world transforms T of a bone and its body and their rest transforms
   T0,

       body follows bone    T_body = T_bone (T0_bone^-1 T0_body)      offset and rotation
       bone follows body    T_bone = T_body (T0_bone^-1 T0_body)^-1

   Bones have no rest rotation, so that the binding is a translation and the body's rest rotation.
   In mode "physics_and_bone" the bone takes only the rotation of its body. */
#include "core/physics/simulation_parts.h"

#include "core/math/quat.h"
#include "core/math/vec3.h"
#include "core/pose/sampling.h"

static void bind(const mmd_rig *rig, const mmd_body *body, int32_t bone,
                 mmd_bone_bodies_binding *binding)
{
    binding->bone = bone;
    memcpy(binding->rotation, body->state.rotation, sizeof binding->rotation);
    if (bone >= 0)
        mmd_vec3_subtract(body->state.position, rig->bones[bone].position, binding->offset);
}

static void find_after_physics(const mmd_rig *rig, mmd_bone_bodies *bone_bodies)
{
    bone_bodies->first_after_physics = rig->layers_before_physics < rig->layer_count
                                           ? rig->layers[rig->layers_before_physics].first_bone
                                           : rig->bone_count;
    for (size_t i = bone_bodies->first_after_physics; i < rig->bone_count; i++)
        bone_bodies->moved[rig->order[i]] = true;
    for (size_t i = 0; i < bone_bodies->body_count; i++) {
        int32_t bone = bone_bodies->bindings[i].bone;
        bool after = bone >= 0 && bone_bodies->moved[bone];
        bone_bodies->follows_after_physics |= after;
        bone_bodies->drives_after_physics |= after && bone_bodies->driving_body[bone] >= 0;
    }
}

static bool is_driven(const mmd_bone_bodies *bone_bodies, int32_t bone, const bool *off)
{
    int32_t body = bone_bodies->driving_body[bone];
    return body >= 0 && !(off && off[body]);
}

static bool drives_solver(const mmd_rig_solver *solver, const mmd_bone_bodies *bone_bodies,
                          const bool *off)
{
    bool any = is_driven(bone_bodies, solver->effector, off);
    for (size_t k = 0; k < solver->link_count; k++)
        any |= is_driven(bone_bodies, solver->links[k].bone, off);
    return any;
}

void mmd_bone_bodies_find_fixed(const mmd_rig *rig, const bool *off, mmd_bone_bodies *bone_bodies)
{
    for (size_t b = 0; b < rig->bone_count; b++)
        bone_bodies->fixed[b] = is_driven(bone_bodies, (int32_t)b, off);
    for (size_t s = 0; s < rig->solver_count; s++) {
        const mmd_rig_solver *solver = &rig->solvers[s];
        for (size_t k = 0; k < solver->link_count && drives_solver(solver, bone_bodies, off); k++)
            bone_bodies->fixed[solver->links[k].bone] = true;
    }
}

/* `anchors` (B,): the bone itself or its nearest ancestor that a body drives, -1: none. */
static void find_again(const mmd_rig *rig, int32_t *anchors, mmd_bone_bodies *bone_bodies)
{
    for (size_t i = 0; i < rig->bone_count; i++) {
        int32_t bone = rig->order[i], parent = rig->bones[bone].parent;
        bool driven = is_driven(bone_bodies, bone, NULL);
        anchors[bone] = driven ? bone : parent < 0 ? -1 : anchors[parent];
    }
    for (size_t i = 0; i < bone_bodies->first_after_physics; i++) {
        int32_t bone = rig->order[i], source = rig->bones[bone].source;
        if (source >= 0 && anchors[bone] != bone)
            bone_bodies->again |= rig->bones[bone].append & MMD_APPEND_LOCAL
                                      ? anchors[source] >= 0
                                      : anchors[source] == source;
    }
    for (size_t s = 0; s < rig->solver_count; s++) {
        const mmd_rig_solver *solver = &rig->solvers[s];
        bone_bodies->again |= solver->link_count > 0 &&
                              anchors[solver->goal] != anchors[solver->effector] &&
                              !drives_solver(solver, bone_bodies, NULL);
    }
}

static bool is_ever_off(const mmd_bone_track *track)
{
    for (size_t k = 0; track->physics && k < track->key_count; k++)
        if (!track->physics[k])
            return true;
    return false;
}

static void find_tracks(const mmd_model *model, const mmd_binding *motion,
                        mmd_bone_bodies *bone_bodies)
{
    for (size_t i = 0; motion && i < bone_bodies->body_count; i++) {
        int32_t bone = model->rigid_bodies[i].bone;
        int32_t track = bone < 0 ? -1 : motion->bone_track[bone];
        if (track >= 0 && is_ever_off(&motion->motion->bone_tracks[track]))
            bone_bodies->tracks[i] = &motion->motion->bone_tracks[track];
    }
}

bool mmd_bone_bodies_init(mmd_arena *arena, const mmd_rig *rig, const mmd_body *bodies,
                          const mmd_binding *motion, mmd_bone_bodies *bone_bodies)
{
    const mmd_model *model = rig->model;
    size_t count = model->rigid_body_count;
    int32_t *anchors;
    *bone_bodies = (mmd_bone_bodies){.body_count = count};
    if (!MMD_ARENA_ARRAY(arena, anchors, rig->bone_count) ||
        !MMD_ARENA_ARRAY(arena, bone_bodies->bindings, count) ||
        !MMD_ARENA_ARRAY(arena, bone_bodies->driving_body, rig->bone_count) ||
        !MMD_ARENA_ARRAY(arena, bone_bodies->moved, rig->bone_count) ||
        !MMD_ARENA_ARRAY(arena, bone_bodies->tracks, count) ||
        !MMD_ARENA_ARRAY(arena, bone_bodies->cursors, count) ||
        !MMD_ARENA_ARRAY(arena, bone_bodies->fixed, rig->bone_count))
        return false;
    for (size_t b = 0; b < rig->bone_count; b++)
        bone_bodies->driving_body[b] = -1;
    for (size_t i = 0; i < count; i++) {
        int32_t bone = model->rigid_bodies[i].bone;
        bool dynamic = !bodies[i].kinematic;
        bool starts_at_root = bone < 0 && dynamic && rig->bone_count > 0;
        bind(rig, &bodies[i], starts_at_root ? 0 : bone, &bone_bodies->bindings[i]);
        if (bone >= 0 && dynamic)
            bone_bodies->driving_body[bone] = (int32_t)i;
    }
    /* A child of a bone that has a driving body: "physics_and_bone" acts as "physics". */
    for (size_t i = 0; i < count; i++) {
        int32_t bone = bone_bodies->bindings[i].bone;
        int32_t parent = bone < 0 ? -1 : rig->bones[bone].parent;
        bone_bodies->bindings[i].rotation_only =
            model->rigid_bodies[i].mode == MMD_PHYSICS_AND_BONE &&
            !(parent >= 0 && bone_bodies->driving_body[parent] >= 0);
    }
    find_after_physics(rig, bone_bodies);
    find_again(rig, anchors, bone_bodies);
    find_tracks(model, motion, bone_bodies);
    return true;
}

bool mmd_bone_bodies_follow(const mmd_bone_bodies_binding *binding, const mmd_pose_state *state,
                            mmd_body_pose *pose)
{
    if (binding->bone < 0)
        return false;
    const mmd_pose_bone *bone = &state->bones[binding->bone];
    mmd_quat_rotate(bone->world_rotation, binding->offset, pose->position);
    mmd_quat_multiply(bone->world_rotation, binding->rotation, pose->rotation);
    mmd_quat_normalize(pose->rotation);
    mmd_vec3_add_scaled(bone->world_position, 1, pose->position);
    return mmd_body_is_in_range(pose->position);
}

/* Sets the bone's world transform from its body, then the local values that yield it under the
   present transform of its parent. */
static void drive_bone(mmd_pose_state *state, int32_t index, const mmd_bone_bodies_binding *binding,
                       const mmd_body_pose *pose)
{
    const mmd_rig_bone *bone = &state->rig->bones[index];
    mmd_pose_bone *driven = &state->bones[index];
    double inverse[4], rotation[4], offset[3];
    mmd_quat_conjugate(binding->rotation, inverse);
    mmd_quat_multiply(pose->rotation, inverse, rotation);
    if (binding->rotation_only) {
        mmd_pose_state_update_position(state, index);
    } else {
        mmd_quat_rotate(rotation, binding->offset, offset);
        mmd_vec3_subtract(pose->position, offset, driven->world_position);
    }
    memcpy(driven->world_rotation, rotation, sizeof rotation);

    const mmd_pose_bone *parent = bone->parent < 0 ? NULL : &state->bones[bone->parent];
    double *translation = driven->local_translation;
    mmd_vec3_copy(driven->world_position, translation);
    if (parent) {
        mmd_quat_conjugate(parent->world_rotation, inverse);
        mmd_quat_multiply(inverse, rotation, rotation);
        mmd_vec3_subtract(translation, parent->world_position, translation);
        mmd_quat_rotate(inverse, translation, translation);
    }
    mmd_vec3_subtract(translation, bone->offset, translation);
    mmd_vec3_subtract(translation, driven->append_translation, translation);
    mmd_quat_conjugate(driven->append_rotation, inverse);
    mmd_quat_multiply(rotation, inverse, driven->local_rotation);
}

void mmd_bone_bodies_drive(mmd_bone_bodies *bone_bodies, const mmd_body_pose *poses,
                           const bool *off, mmd_pose_state *state, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        int32_t index = state->rig->order[i], parent = state->rig->bones[index].parent;
        int32_t body = bone_bodies->driving_body[index];
        bool driven = body >= 0 && !off[body];
        bone_bodies->moved[index] = driven || (parent >= 0 && bone_bodies->moved[parent]);
        /* Bones after physics still have the transforms of an earlier frame. */
        bool outdated = bone_bodies->drives_after_physics && i >= bone_bodies->first_after_physics;
        if (driven)
            drive_bone(state, index, &bone_bodies->bindings[body], &poses[body]);
        else if (bone_bodies->moved[index] || outdated)
            mmd_pose_state_update(state, index);
    }
}

void mmd_bone_bodies_read_switches(mmd_bone_bodies *bone_bodies, double frame, bool *off)
{
    for (size_t i = 0; i < bone_bodies->body_count; i++) {
        const mmd_bone_track *track = bone_bodies->tracks[i];
        off[i] = track && !track->physics[mmd_sampling_key_before(track->frames, track->key_count,
                                                                  frame, &bone_bodies->cursors[i])];
    }
}
