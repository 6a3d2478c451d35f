/* SPDX-License-Identifier: MIT */
#ifndef MMD_SIMULATION_RUN_H
#define MMD_SIMULATION_RUN_H

#include "core/base/arena.h"
#include "core/physics/bone_bodies.h"
#include "core/physics/gravity.h"
#include "core/physics/notes.h"
#include "core/physics/pose_input.h"
#include "core/physics/world.h"
#include "core/pose/pose.h"

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

/* The frame of the member's motion at one of the run: with poses of the caller, `frame` counts from
 * the start. */
double mmd_simulation_run_member_frame(const mmd_simulation *simulation,
                                       const mmd_simulation_member *member, double frame);

/* The pose job for the bones of a member at a frame of its motion, or for its current pose input.
 */
mmd_pose_job mmd_simulation_run_pose_job(const mmd_simulation *simulation,
                                         const mmd_simulation_member *member,
                                         const double *member_frame);

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
