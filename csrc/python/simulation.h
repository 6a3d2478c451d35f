/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_SIMULATION_H
#define MMD_PY_SIMULATION_H

#include "core/physics/simulation.h"
#include "python/arrays.h"
#include "python/state.h"

/* What Physics() takes for fields that are left out. */
PyObject *mmd_physics_defaults(void);

/* An argument `physics`: 0 for None and False, 1 for True and for a Physics, -1 with an
   exception. */
int mmd_physics_take(mmd_state *state, PyObject *argument, mmd_physics *physics);

/* The Pose of frames by a run of its own. */
PyObject *mmd_simulate(PyObject *model, PyObject *motion, bool ik, const mmd_physics *physics,
                       const mmd_array *frames);

/* Local values as arguments, and the job of them, without outputs; zeroed but for the arguments. */
typedef struct mmd_given_pose {
    PyObject *translations, *rotations, *weights; /* None: at rest */
    PyObject *ik;                                 /* NULL: runs */
    mmd_array arrays[4];
    mmd_pose_job job;
    bool batch; /* one has an axis of frames */
} mmd_given_pose;

/* In pose.c. False with an exception; cleared in any case. */
bool mmd_given_take(PyObject *model, mmd_given_pose *given);
void mmd_given_clear(mmd_given_pose *given);

/* The Physics of settings. */
PyObject *mmd_physics_object(mmd_state *state, const mmd_physics *physics);

/* In pose.c: whether it is a Motion or None; a number (NULL: 0) or (F,) as float64; arrays for a
   Pose. False with an exception. */
bool mmd_motion_check(mmd_state *state, PyObject *motion);
bool mmd_frames_take(PyObject *frame, mmd_array *frames);
bool mmd_pose_arrays(const mmd_model *model, bool batch, size_t frames, mmd_array *matrices,
                     mmd_array *weights);

#endif
