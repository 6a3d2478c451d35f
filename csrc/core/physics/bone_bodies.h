/* SPDX-License-Identifier: MIT */
#ifndef MMD_BONE_BODIES_H
#define MMD_BONE_BODIES_H

#include "core/physics/body.h"
#include "core/pose/binding.h"
#include "core/pose/pose_state.h"

/* The pose of a body in the space of its bone. */
typedef struct mmd_bone_bodies_binding {
    int32_t bone; /* -1: none. Dynamic bodies without a bone start relative to the first one */
    bool rotation_only; /* physics sets the bone's rotation, but not its position */
    double offset[3];   /* from the bone's origin, along model axes at rest */
    double rotation[4]; /* the body's rest rotation, as bones have none */
} mmd_bone_bodies_binding;

/* Which bodies follow which bones, which bones follow which bodies, and the physics switches of a
   motion. */
typedef struct mmd_bone_bodies {
    size_t body_count;
    mmd_bone_bodies_binding *bindings; /* of each body */
    int32_t *driving_body;             /* (B,) the body that moves a bone, -1: none */
    bool *moved;                       /* (B,) by physics, directly or through a parent */
    size_t first_after_physics; /* in the rig's order: bones from here on come after physics */
    /* Whether a body follows, or drives, a bone after physics. */
    bool follows_after_physics, drives_after_physics;
    /* Whether bones before physics depend on those that bodies drive, other than as children:
       docs/mmd-behavior.md#bones-again. */
    bool again;
    bool *fixed; /* (B,) that mmd_pose_again() leaves alone */

    const mmd_bone_track **tracks; /* (bodies,) NULL: physics is never switched off */
    size_t *cursors;               /* of the tracks */
} mmd_bone_bodies;

/* `bodies` are those of the rig's model, at rest. `motion` NULL: physics is never switched off.
   False if out of memory. */
bool mmd_bone_bodies_init(mmd_arena *arena, const mmd_rig *rig, const mmd_body *bodies,
                          const mmd_binding *motion, mmd_bone_bodies *bone_bodies);

/* Computes the pose of a body that follows its bone. False if it exceeds MMD_BODY_LIMIT, or if
   there is no bone. */
bool mmd_bone_bodies_follow(const mmd_bone_bodies_binding *binding, const mmd_pose_state *state,
                            mmd_body_pose *pose);

/* Moves bones to their bodies by setting their local values, and children with their parents: the
   bones of the rig's order from `first` to before `end`. Bodies that are `off` drive nothing. */
void mmd_bone_bodies_drive(mmd_bone_bodies *bone_bodies, const mmd_body_pose *poses,
                           const bool *off, mmd_pose_state *state, size_t first, size_t end);

/* Sets `fixed`: bones that bodies drive, and all links of solvers that would move such a bone. */
void mmd_bone_bodies_find_fixed(const mmd_rig *rig, const bool *off, mmd_bone_bodies *bone_bodies);

/* Sets `off` (bodies,): the motion has switched off the physics of the body's bone at a frame. */
void mmd_bone_bodies_read_switches(mmd_bone_bodies *bone_bodies, double frame, bool *off);

#endif
