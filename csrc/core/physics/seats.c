/* SPDX-License-Identifier: MIT */
#include "core/physics/seats.h"

#include "core/physics/vector.h"

void mmd_stand_between(const mmd_stand *last, const mmd_stand *before, double share,
                       mmd_stand *stand)
{
    *stand = *last;
    if (share == 0)
        return;
    double dot =
        mmd_dot3(last->rotation, before->rotation) + last->rotation[3] * before->rotation[3];
    double sign = dot < 0 ? -1 : 1;
    for (int k = 0; k < 3; k++)
        stand->position[k] += share * (before->position[k] - last->position[k]);
    for (int k = 0; k < 4; k++)
        stand->rotation[k] += share * (sign * before->rotation[k] - last->rotation[k]);
    mmd_quaternion_normalize(stand->rotation);
}

static void conjugate(const double q[4], double out[4])
{
    out[0] = -q[0], out[1] = -q[1], out[2] = -q[2], out[3] = q[3];
}

static void seat_init(const mmd_rig *rig, const mmd_body *body, int32_t bone, mmd_seat *seat)
{
    seat->bone = bone;
    memcpy(seat->turn, body->state.rotation, sizeof seat->turn);
    if (bone >= 0)
        mmd_subtract3(body->state.position, rig->bones[bone].position, seat->offset);
}

static void find_after_physics(const mmd_rig *rig, mmd_seats *seats)
{
    seats->first_after = rig->layers_before_physics < rig->layer_count
                             ? rig->layers[rig->layers_before_physics].first_bone
                             : rig->bone_count;
    for (size_t i = seats->first_after; i < rig->bone_count; i++)
        seats->moved[rig->order[i]] = true;
    for (size_t i = 0; i < seats->body_count; i++) {
        int32_t bone = seats->seats[i].bone;
        bool after = bone >= 0 && seats->moved[bone];
        seats->on_after |= after;
        seats->drives_after |= after && seats->drivers[bone] >= 0;
    }
}

bool mmd_seats_init(mmd_arena *arena, const mmd_rig *rig, const mmd_body *bodies, mmd_seats *seats)
{
    const mmd_model *model = rig->model;
    size_t count = model->rigid_body_count;
    *seats = (mmd_seats){.body_count = count};
    seats->seats = mmd_arena_alloc(arena, count, sizeof *seats->seats);
    seats->drivers = mmd_arena_alloc(arena, rig->bone_count, sizeof *seats->drivers);
    seats->moved = mmd_arena_alloc(arena, rig->bone_count, sizeof *seats->moved);
    if (!seats->seats || !seats->drivers || !seats->moved)
        return false;
    for (size_t b = 0; b < rig->bone_count; b++)
        seats->drivers[b] = -1;
    for (size_t i = 0; i < count; i++) {
        int32_t bone = model->rigid_bodies[i].bone;
        bool hangs = bone >= 0, begins = !hangs && !bodies[i].follows && rig->bone_count > 0;
        seat_init(rig, &bodies[i], begins ? 0 : bone, &seats->seats[i]);
        if (hangs && !bodies[i].follows)
            seats->drivers[bone] = (int32_t)i;
    }
    /* What hangs on a bone that physics moves goes all the way with physics. */
    for (size_t i = 0; i < count; i++) {
        int32_t bone = seats->seats[i].bone, parent = bone < 0 ? -1 : rig->bones[bone].parent;
        seats->seats[i].turns = model->rigid_bodies[i].mode == MMD_PHYSICS_AND_BONE &&
                                !(parent >= 0 && seats->drivers[parent] >= 0);
    }
    find_after_physics(rig, seats);
    return true;
}

bool mmd_seat_stand(const mmd_seat *seat, const mmd_frame *frame, mmd_stand *stand)
{
    if (seat->bone < 0)
        return false;
    const mmd_posed_bone *bone = &frame->bones[seat->bone];
    mmd_quaternion_rotate(bone->world_rotation, seat->offset, stand->position);
    mmd_quaternion_multiply(bone->world_rotation, seat->turn, stand->rotation);
    mmd_quaternion_normalize(stand->rotation);
    bool within = true;
    for (int i = 0; i < 3; i++) {
        stand->position[i] += bone->world_position[i];
        within &= fabs(stand->position[i]) <= MMD_FARTHEST;
    }
    return within;
}

/* The bone's own amounts for where it is to stand, under its parent as that stands now. */
static void drive_bone(mmd_frame *frame, int32_t index, const mmd_seat *seat,
                       const mmd_stand *stand)
{
    const mmd_rig_bone *bone = &frame->rig->bones[index];
    mmd_posed_bone *posed = &frame->bones[index];
    double back[4], rotation[4], offset[3];
    conjugate(seat->turn, back);
    mmd_quaternion_multiply(stand->rotation, back, rotation);
    if (seat->turns) {
        mmd_move_bone(frame, index);
    } else {
        mmd_quaternion_rotate(rotation, seat->offset, offset);
        mmd_subtract3(stand->position, offset, posed->world_position);
    }
    memcpy(posed->world_rotation, rotation, sizeof rotation);

    const mmd_posed_bone *parent = bone->parent < 0 ? NULL : &frame->bones[bone->parent];
    double *own = posed->own_translation;
    mmd_copy3(posed->world_position, own);
    if (parent) {
        conjugate(parent->world_rotation, back);
        mmd_quaternion_multiply(back, rotation, rotation);
        mmd_subtract3(own, parent->world_position, own);
        mmd_quaternion_rotate(back, own, own);
    }
    mmd_subtract3(own, bone->offset, own);
    mmd_subtract3(own, posed->append_translation, own);
    conjugate(posed->append_rotation, back);
    mmd_quaternion_multiply(rotation, back, posed->own_rotation);
}

void mmd_seats_drive(mmd_seats *seats, const mmd_stand *stands, const bool *held, mmd_frame *frame,
                     size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        int32_t index = frame->rig->order[i], parent = frame->rig->bones[index].parent;
        int32_t driver = seats->drivers[index];
        bool driven = driver >= 0 && !held[driver];
        seats->moved[index] = driven || (parent >= 0 && seats->moved[parent]);
        if (driven)
            drive_bone(frame, index, &seats->seats[driver], &stands[driver]);
        else if (seats->moved[index] || (seats->drives_after && i >= seats->first_after))
            mmd_place_bone(frame, index); /* those after physics still stand as in another frame */
    }
}
