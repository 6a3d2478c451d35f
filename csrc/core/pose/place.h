/* SPDX-License-Identifier: MIT */
#ifndef MMD_PLACE_H
#define MMD_PLACE_H

#include "core/pose/quaternion.h"
#include "core/pose/rig.h"

#include <float.h>

/* A bone of the frame that is being evaluated. Own: bone morphs and IK included, appends not. */
typedef struct mmd_posed_bone {
    double own_rotation[4], append_rotation[4], world_rotation[4];
    double own_translation[3], append_translation[3], world_position[3];
    double memory[4]; /* of fed links, between the solvers of a frame */
    bool dropped;     /* rotation append off: docs/mmd-behaviour.md#ik-dropped-append */
} mmd_posed_bone;

/* What the evaluation works on; a frame depends on nothing that an earlier one left here. */
typedef struct mmd_frame {
    const mmd_rig *rig;
    mmd_posed_bone *bones; /* (B,) */
} mmd_frame;

/* What a bone that appends has from its source as it stands now. */
void mmd_append_bone(mmd_frame *frame, int32_t bone);

/* The bone's place in model space, from where its parent stands now, is its position and its
   rotation. Inline: IK does little else. */
static inline void mmd_move_bone(mmd_frame *frame, int32_t index)
{
    const mmd_rig_bone *bone = &frame->rig->bones[index];
    mmd_posed_bone *posed = &frame->bones[index];
    mmd_vector place = mmd_vector_add(
        mmd_vector_add(mmd_vector_load(bone->offset), mmd_vector_load(posed->own_translation)),
        mmd_vector_load(posed->append_translation));
    if (bone->parent >= 0) {
        const mmd_posed_bone *parent = &frame->bones[bone->parent];
        place = mmd_vector_rotate(parent->world_rotation, place);
        place = mmd_vector_add(mmd_vector_load(parent->world_position), place);
    }
    mmd_vector_store(place, posed->world_position);
}

static inline void mmd_turn_bone(mmd_frame *frame, int32_t index)
{
    const mmd_rig_bone *bone = &frame->rig->bones[index];
    mmd_posed_bone *posed = &frame->bones[index];
    const double *local = posed->own_rotation;
    double q[4];
    if (bone->source >= 0) { /* the append rotation of others is the identity */
        mmd_quaternion_multiply(local, posed->append_rotation, q);
        local = q;
    }
    if (bone->parent < 0)
        memcpy(posed->world_rotation, local, sizeof posed->world_rotation);
    else
        mmd_quaternion_multiply(frame->bones[bone->parent].world_rotation, local,
                                posed->world_rotation);
}

static inline void mmd_place_bone(mmd_frame *frame, int32_t index)
{
    mmd_move_bone(frame, index);
    mmd_turn_bone(frame, index);
}

/* Append, then place: what every sweep does. */
static inline void mmd_evaluate_bone(mmd_frame *frame, int32_t index)
{
    if (frame->rig->bones[index].source >= 0)
        mmd_append_bone(frame, index);
    mmd_place_bone(frame, index);
}

/* The nearest number that a float can hold: hostile files can ask for more. */
static inline double mmd_within_float(double value)
{
    if (fabs(value) <= (double)FLT_MAX)
        return value;
    return value > 0 ? (double)FLT_MAX : value < 0 ? -(double)FLT_MAX : 0;
}

#endif
