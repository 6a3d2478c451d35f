/* SPDX-License-Identifier: MIT */
#ifndef MMD_SIMULATION_RUN_H
#define MMD_SIMULATION_RUN_H

#include "core/physics/checkpoints.h"
#include "core/physics/simulation_member.h"

/* The steps of a simulation, for simulation.c and simulation_state.c. */

enum { MMD_SIMULATION_FRAMES_PER_SECOND = 30 };

struct mmd_simulation {
    mmd_arena arena;
    size_t member_count, body_count;
    mmd_simulation_member *members;
    mmd_simulation_settings settings;
    double start; /* frame */
    bool ik;
    mmd_world *world;
    mmd_checkpoints checkpoints;
    size_t *islands; /* bodies with the same index restart together */

    /* Steps count from the start; negative ones settle there. Body poses: of the last step, of the
       one before (if has_previous), at the frame that is posed, and at rest. */
    bool started, has_previous;
    double step, frame;
    double time_step; /* seconds */
    mmd_body_pose *poses, *previous_poses, *interpolated_poses, *rest_poses;
    mmd_body_pose *still_poses; /* those that no body has left since still_step, while settling */
    double still_step;
    bool *physics_off_in_world; /* bodies whose physics is off in the world at present */
    bool *physics_off;          /* those at the frame that was read last */

    /* Poses of the caller for models without a motion, interpolated during an interval. Steps are
       1 / hz apart whatever its length: the rest of it is carried over to the next one. */
    bool uses_input;
    double input_start_step, input_end_step; /* the last steps before the interval and in it */
    double input_start_frame, input_end_frame;
    double input_carried; /* steps from the last step to the present; 0 to 1 */
    double input_start_carried, input_end_carried;

    bool *in_range;   /* whether the bone gives the body a pose in range */
    bool *restarting; /* scratch memory, by island index; false between steps */
};

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

/* To be called when the bones of all members have to be evaluated again. */
void mmd_simulation_run_forget_bones(mmd_simulation *simulation);

/* Sets physics_off from the keys of motions at a frame, or from the pose input. */
void mmd_simulation_run_read_switches(mmd_simulation *simulation, double frame);

/* The present poses of the bodies. */
void mmd_simulation_run_copy_poses(const mmd_simulation *simulation, mmd_body_pose *poses);

/* To the start, before settling; forward by one step; back to a world saved after a step. */
void mmd_simulation_run_start(mmd_simulation *simulation);
void mmd_simulation_run_step(mmd_simulation *simulation);
void mmd_simulation_run_restore(mmd_simulation *simulation, double step, const void *world);

#endif
