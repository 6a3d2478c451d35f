/* SPDX-License-Identifier: MIT */
#ifndef MMD_SIMULATION_RUN_H
#define MMD_SIMULATION_RUN_H

#include "core/physics/checkpoints.h"
#include "core/physics/given.h"
#include "core/physics/notes.h"
#include "core/physics/seats.h"
#include "core/physics/simulation.h"
#include "core/physics/switches.h"
#include "core/physics/world.h"
#include "core/pose/pose.h"

/* The steps of a simulation, of which simulation.c is the outside. */

enum { MMD_FRAMES_PER_SECOND = 30 };

struct mmd_simulation {
    mmd_arena arena;
    const mmd_rig *rig;
    mmd_physics physics;
    double start;
    bool ik;
    mmd_world *world;
    mmd_poser *poser;
    mmd_seats seats;

    mmd_switches switches;
    mmd_checkpoints checkpoints;
    mmd_notes notes;
    size_t *islands; /* bodies of one number are joined, by bodies that do not follow bones */

    /* Steps are counted from the start; those before it are held there. `stands` is of the step,
       `stands_before` of the one before, `shown` of the frame that is posed; `rest` is of the model
       at rest. */
    bool begun, has_before; /* has_before: stands_before is known */
    double step, period, frame;
    mmd_stand *stands, *stands_before, *shown, *rest;
    bool *held, *off; /* bodies that go where their bones carry them: in the world, at a frame */

    /* Poses that are given instead of a motion: the way began at one step and ends at another. */
    bool is_given;
    mmd_given given;
    double way_start, way_end, way_frames;

    /* The frame at which the bones before physics have been placed, if any, and what it takes to
       place all of them and come back. */
    bool placed;
    double placed_frame;
    float *sliders;
    mmd_posed_bone *kept;
    bool *within;
    bool *anew; /* islands that begin anew, by their number; none between steps */
};

/* The frame of a step of a run along a motion. */
double mmd_run_frame(const mmd_simulation *simulation, double step);

/* Places the bones that come before physics, unless they are. */
void mmd_run_place_bones(mmd_simulation *simulation, double frame);

/* Sets `off` of the bodies of bones whose physics is switched off at a frame, or is given so. */
void mmd_run_read_switches(mmd_simulation *simulation, double frame);

/* A job of that frame, or of the pose that is given. */
mmd_pose_job mmd_run_job(const mmd_simulation *simulation, const double *frame);

/* Where the bodies stand. */
void mmd_run_keep_stands(const mmd_simulation *simulation, mmd_stand *stands);

/* The length of the steps from here on, in seconds. */
void mmd_run_set_period(mmd_simulation *simulation, double seconds);

/* To the start, before it settles; on by one step; back to a world as it was after a step. */
void mmd_run_begin(mmd_simulation *simulation);
void mmd_run_step(mmd_simulation *simulation);
void mmd_run_go_back(mmd_simulation *simulation, double step, const void *world);

#endif
