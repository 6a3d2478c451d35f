/* SPDX-License-Identifier: MIT */
#ifndef MMD_SIMULATION_RUN_H
#define MMD_SIMULATION_RUN_H

#include "core/physics/checkpoints.h"
#include "core/physics/gravity.h"
#include "core/physics/simulation_member.h"

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
    mmd_checkpoints checkpoints;
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
void mmd_simulation_run_restore(mmd_simulation *simulation, double step, const void *world);

#endif
