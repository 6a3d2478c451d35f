/* SPDX-License-Identifier: MIT */
#ifndef MMD_PLACE_H
#define MMD_PLACE_H

#include "core/pose/quaternion.h"
#include "core/pose/rig.h"

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

/* What a bone has from its append, from where the source stands now. */
void mmd_append_bone(mmd_frame *frame, int32_t bone);

/* The bone's place in model space, from where its parent stands now. Inline: IK does little else.
 */
static inline void mmd_place_bone(mmd_frame *frame, int32_t index)
{
    const mmd_rig_bone *bone = &frame->rig->bones[index];
    mmd_posed_bone *posed = &frame->bones[index];
    double t[3], q[4];
    for (int i = 0; i < 3; i++)
        t[i] = bone->offset[i] + posed->own_translation[i] + posed->append_translation[i];
    mmd_quaternion_multiply(posed->own_rotation, posed->append_rotation, q);
    if (bone->parent < 0) {
        memcpy(posed->world_position, t, sizeof t);
        memcpy(posed->world_rotation, q, sizeof q);
        return;
    }
    const mmd_posed_bone *parent = &frame->bones[bone->parent];
    mmd_quaternion_rotate(parent->world_rotation, t, t);
    for (int i = 0; i < 3; i++)
        posed->world_position[i] = parent->world_position[i] + t[i];
    mmd_quaternion_multiply(parent->world_rotation, q, posed->world_rotation);
}

/* The nearest number that a float can hold: hostile files can ask for more. */
double mmd_within_float(double value);

#endif
