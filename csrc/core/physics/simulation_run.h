/* SPDX-License-Identifier: MIT */
#ifndef MMD_SIMULATION_RUN_H
#define MMD_SIMULATION_RUN_H

#include "core/physics/bone_bodies.h"
#include "core/physics/checkpoints.h"
#include "core/physics/notes.h"
#include "core/physics/pose_input.h"
#include "core/physics/simulation.h"
#include "core/pose/pose.h"

/* The steps of a simulation, for simulation.c. */

enum { MMD_SIMULATION_FRAMES_PER_SECOND = 30 };

struct mmd_simulation {
    mmd_arena arena;
    const mmd_rig *rig;
    mmd_simulation_settings settings;
    double start; /* frame */
    bool ik;
    mmd_world *world;
    mmd_poser *poser;
    mmd_bone_bodies bone_bodies;
    mmd_checkpoints checkpoints;
    mmd_notes notes;
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

    /* Poses of the caller instead of a motion, interpolated during an interval. Steps are 1 / hz
       apart whatever its length: the rest of it is carried over to the next one. */
    bool uses_input;
    mmd_pose_input input;
    double input_start_step, input_end_step; /* the last steps before the interval and in it */
    double input_start_frame, input_end_frame;
    double input_carried; /* steps from the last step to the present; 0 to 1 */
    double input_start_carried, input_end_carried;

    /* Whether the poser has the bones before physics at bones_frame. */
    bool bones_valid;
    double bones_frame;
    float *morph_weights;
    mmd_pose_bone *saved_bones; /* scratch memory: bones before physics */
    bool *in_range;             /* whether the bone gives the body a pose in range */
    bool *restarting;           /* scratch memory, by island index; false between steps */
};

/* The frame of a step of a run along a motion. */
double mmd_simulation_run_frame_of_step(const mmd_simulation *simulation, double step);

/* The pose job for the bones at a frame, or for the current pose input. */
mmd_pose_job mmd_simulation_run_pose_job(const mmd_simulation *simulation, const double *frame);

/* Evaluates the bones before physics, unless that is done. */
void mmd_simulation_run_pose_bones(mmd_simulation *simulation, double frame);

/* Sets physics_off from the motion's keys at a frame, or from the pose input. */
void mmd_simulation_run_read_switches(mmd_simulation *simulation, double frame);

/* The present poses of the bodies. */
void mmd_simulation_run_copy_poses(const mmd_simulation *simulation, mmd_body_pose *poses);

/* To the start, before settling; forward by one step; back to a world saved after a step. */
void mmd_simulation_run_start(mmd_simulation *simulation);
void mmd_simulation_run_step(mmd_simulation *simulation);
void mmd_simulation_run_restore(mmd_simulation *simulation, double step, const void *world);

#endif
