/* SPDX-License-Identifier: MIT */
#ifndef MMD_SIMULATION_PARTS_H
#define MMD_SIMULATION_PARTS_H

#include "core/base/arena.h"
#include "core/physics/body.h"
#include "core/physics/world.h"
#include "core/pose/pose.h"
#include "core/pose/sampling.h"

/* What the files of a simulation share. Bone bodies: bone_bodies.c. */

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

/* Pose inputs: pose_input.c. */

/* Local values of one pose, as in a mmd_pose_job. */
typedef struct mmd_pose_input_values {
    float *translations, *rotations, *morph_weights; /* (B,3), (B,4), (M,) */
    uint8_t *ik;                                     /* (B,) 1: the IK of this bone runs */
    uint8_t *physics;                                /* (B,) 1: physics moves its bodies */
} mmd_pose_input_values;

/* What drives the bones of a simulation without a motion: interpolation from one pose of the caller
   to the next. */
typedef struct mmd_pose_input {
    size_t bone_count, morph_count, values_size; /* bytes of each of the three */
    mmd_pose_input_values start, target, current;
} mmd_pose_input;

/* At rest, in zeroed memory for as many bytes as this returns; NULL only counts. */
size_t mmd_pose_input_init(void *memory, size_t bone_count, size_t morph_count,
                           mmd_pose_input *input);

/* Starts an interpolation from the current pose to the values of a checked job of one frame.
   `physics` (B,), NULL: 1 for all bones. */
void mmd_pose_input_set_target(mmd_pose_input *input, const mmd_pose_job *job,
                               const uint8_t *physics);

/* Sets the current pose at a fraction, 0 to 1, of the interpolation: linear, and slerp for
   rotations. `ik` and `physics` change at 1. */
void mmd_pose_input_interpolate(mmd_pose_input *input, double fraction);

/* Whether its numbers, which may come from outside, are finite and its rotations not zero. */
bool mmd_pose_input_is_valid(const mmd_pose_input *input);

/* Notes: notes.c. */

/* What a user should know about a model's physics. Each kind is reported once, with the first body
   or joint (dropped pairs: the first frame) and the number of others; the order is that of
   Simulation.notes. */
typedef enum mmd_notes_kind {
    MMD_NOTES_JOINT_KIND,      /* a joint of PMX 2.1, solved by its limits alone */
    MMD_NOTES_NOT_CONNECTED,   /* a joint that does not connect two bodies */
    MMD_NOTES_NO_MASS,         /* a dynamic body without mass */
    MMD_NOTES_OUT_OF_RANGE,    /* a bone would move its body beyond MMD_BODY_LIMIT */
    MMD_NOTES_DIVERGED,        /* a body exceeded MMD_BODY_LIMIT or became NaN */
    MMD_NOTES_STRETCH_LIMITED, /* the joint stretch limit moved a body back */
    MMD_NOTES_STRETCHED,       /* a joint was far beyond its limits */
    MMD_NOTES_TELEPORTED,      /* all bodies restarted after a sudden move */
    MMD_NOTES_DROPPED_PAIRS,   /* more neighbors than a world has room for */
    MMD_NOTES_COUNT
} mmd_notes_kind;

/* The first body or joint of a kind, and how many there are. */
typedef struct mmd_notes_entry {
    size_t count, index;
    double frame, distance;
} mmd_notes_entry;

typedef struct mmd_notes {
    const mmd_model *model;
    mmd_notes_entry *notes; /* of each kind */
    uint16_t *noted;        /* of bodies, then joints: bits of kinds, so that each counts once */
} mmd_notes;

/* Notes what the model alone shows, in zeroed memory for as many bytes as this returns; NULL only
   counts. */
size_t mmd_notes_init(void *memory, const mmd_model *model, mmd_notes *notes);

/* Whether its numbers, which may come from outside, name bodies and joints of the model. */
bool mmd_notes_are_valid(const mmd_notes *notes);

/* Adds a body or joint of the model; `distance` 0 where its kind has none. */
void mmd_notes_add(mmd_notes *notes, mmd_notes_kind kind, size_t index, double frame,
                   double distance);
/* Nothing if there are none. */
void mmd_notes_add_dropped_pairs(mmd_notes *notes, size_t pairs, double frame);

size_t mmd_notes_count(const mmd_notes *notes);

/* The text of the note at an index below the count; before a body or joint, `owner`. */
void mmd_notes_text(const mmd_notes *notes, size_t index, const char *owner, char *text,
                    size_t size);

/* Checkpoints and the state: simulation_state.c. */

enum { MMD_SIMULATION_CHECKPOINTS_MAX = 64 };

/* The state of a world after a step of a run. */
typedef struct mmd_simulation_checkpoint {
    mmd_arena arena;
    double step;
    size_t size;
    void *world; /* of mmd_world_save() */
} mmd_simulation_checkpoint;

/* Saved states of a run, so that seeking backwards need not run from the start. There are never
   many: the longer the run, the larger the interval. All zero is empty. */
typedef struct mmd_simulation_checkpoints {
    mmd_simulation_checkpoint list[MMD_SIMULATION_CHECKPOINTS_MAX]; /* `count`, by ascending step */
    size_t count, bytes;
    double interval; /* steps; 0 until the first checkpoint */
} mmd_simulation_checkpoints;

/* Saves the world if the step is due and memory suffices. */
void mmd_simulation_checkpoints_update(mmd_simulation_checkpoints *checkpoints,
                                       const mmd_world *world, double step);

/* The last checkpoint at or before a step, or NULL. */
const mmd_simulation_checkpoint *mmd_simulation_checkpoints_find(
    const mmd_simulation_checkpoints *checkpoints, double step);

void mmd_simulation_checkpoints_free(mmd_simulation_checkpoints *checkpoints);

/* One of the models of a simulation: its bones, and which bodies and joints of the world are its
   own. */
typedef struct mmd_simulation_member {
    const mmd_rig *rig;
    size_t first_body, body_count, first_joint, joint_count;
    bool placed;             /* `transform` is not the identity */
    mmd_body_pose transform; /* from the model's space to the world's */
    double offset;           /* frames by which its motion is ahead of the run */
    mmd_poser *poser;
    mmd_bone_bodies bone_bodies; /* by index within the model */
    mmd_notes notes;
    mmd_pose_input input; /* without a motion: the pose of the caller */
    /* Whether the poser has the bones before physics at bones_frame. */
    bool bones_valid;
    double bones_frame, motion_frame; /* of the run; of its motion, for the last pose job */
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

/* The steps of a simulation, for simulation.c and simulation_state.c. */

enum { MMD_SIMULATION_FRAMES_PER_SECOND = 30 };

/* All numbers that change while a simulation runs, except those of bodies, members and the world.
   Steps count from the start; negative ones settle there. Without padding, so that equal states are
   equal bytes. */
typedef struct mmd_simulation_state {
    uint64_t layout; /* of this version and system */
    uint64_t started;
    uint64_t has_previous; /* whether previous_poses are those of the step before */
    double step, frame;
    double still_step; /* while settling: since when no body has left still_poses */

    /* Poses of the caller for models without a motion, interpolated during an interval. Steps are
       1 / hz apart whatever its length: the rest of it is carried over to the next one. */
    uint64_t uses_input;
    double input_start_step, input_end_step; /* the last steps before the interval and in it */
    double input_start_frame, input_end_frame;
    double time_accumulator; /* steps from the last step to the present; 0 to 1 */
    double input_start_accumulator, input_end_accumulator;
    uint64_t has_gravity; /* of the caller, in place of that of the settings; interpolated, too */
    double gravity[3], start_gravity[3], target_gravity[3];
} mmd_simulation_state;

struct mmd_simulation {
    mmd_arena arena;
    size_t member_count, body_count;
    mmd_simulation_member *members;
    mmd_simulation_settings settings;
    double start; /* frame */
    bool ik;
    mmd_world *world;
    mmd_simulation_checkpoints checkpoints;
    size_t *islands;           /* bodies with the same index restart together */
    mmd_body_pose *rest_poses; /* of all bodies */
    double time_step;          /* seconds */
    bool arrived;              /* at a frame that can be posed */

    /* What changes while it runs is in the world, and here in one block of state_size bytes, which
       also holds the inputs and notes of the members: it is saved by copying it. Everything else
       is set once, computed again from these, or scratch memory. */
    mmd_simulation_state *state;
    size_t state_size;
    mmd_body_pose *previous_poses; /* of the bodies before the last step */
    mmd_body_pose *still_poses;
    uint8_t *physics_off_in_world; /* 1: bodies whose physics is off in the world at present */

    bool *physics_off;    /* scratch memory: those at a frame */
    mmd_body_pose *poses; /* scratch memory: those that bones give to bodies, or that are shown */
    bool *in_range;       /* whether the bone gives the body a pose in range */
    bool *restarting;     /* scratch memory, by island index; false between steps */
    void *backup;         /* scratch memory of the size of the block */
};

/* Allocates the block, at rest and before the start. False if out of memory. */
bool mmd_simulation_state_init(mmd_simulation *simulation);

/* The frame of a step of a run along a motion. */
double mmd_simulation_run_frame_of_step(const mmd_simulation *simulation, double step);

/* Whether a model has no motion, so that the caller moves it. */
bool mmd_simulation_run_takes_input(const mmd_simulation *simulation);

/* The pose job for the bones of a member at a frame of the run, or for its current pose input. */
mmd_pose_job mmd_simulation_run_pose_job(const mmd_simulation *simulation,
                                         mmd_simulation_member *member, double frame);

/* Evaluates the bones before physics, unless that is done. */
void mmd_simulation_run_pose_bones(mmd_simulation *simulation, mmd_simulation_member *member,
                                   double frame);

/* Sets poses and gravity of the caller at a fraction, 0 to 1, of the interval. */
void mmd_simulation_run_interpolate(mmd_simulation *simulation, double fraction);

/* To be called when the bones of all members have to be evaluated again. */
void mmd_simulation_run_forget_bones(mmd_simulation *simulation);

/* Sets physics_off from the keys of motions at a frame, or from the pose input. */
void mmd_simulation_run_read_switches(mmd_simulation *simulation, double frame);

/* Makes a body that is not of mode "follow_bone" kinematic, or dynamic again. */
void mmd_simulation_run_set_switch(mmd_simulation *simulation, size_t body, bool off);

/* The present poses of the bodies. */
void mmd_simulation_run_copy_poses(const mmd_simulation *simulation, mmd_body_pose *poses);

/* To the start, before settling; forward by one step; back to a world saved after a step. */
void mmd_simulation_run_start(mmd_simulation *simulation);
void mmd_simulation_run_step(mmd_simulation *simulation);
void mmd_simulation_run_restore(mmd_simulation *simulation,
                                const mmd_simulation_checkpoint *checkpoint);

#endif
