/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_POSE_ARGUMENTS_H
#define MMD_PY_POSE_ARGUMENTS_H

#include "python/arrays.h"
#include "python/state.h"

/* What poses are asked for with, and the arrays that they are written to. Functions that return
   bool fail with an exception. */

/* Whether it is a Model. */
bool mmd_model_check(mmd_state *state, PyObject *model);

/* Whether it is a Motion or None. */
bool mmd_motion_check(mmd_state *state, PyObject *motion);

/* Local values as arguments, and the job of them, without outputs; zeroed but for the arguments. */
typedef struct mmd_given_pose {
    PyObject *translations, *rotations, *weights; /* None: at rest */
    PyObject *ik;                                 /* NULL: runs */
    mmd_array arrays[4];
    mmd_pose_job job;
    bool batch; /* one has an axis of frames */
} mmd_given_pose;

/* Cleared in any case. */
bool mmd_given_take(PyObject *model, mmd_given_pose *given);
void mmd_given_clear(mmd_given_pose *given);

/* The members of a Pose; zeroed: none yet. */
typedef struct mmd_pose_arrays {
    mmd_array matrices, weights;
} mmd_pose_arrays;

bool mmd_pose_arrays_new(const mmd_model *model, bool batch, size_t frames,
                         mmd_pose_arrays *arrays);
void mmd_pose_arrays_clear(mmd_pose_arrays *arrays);
/* The Pose of them. */
PyObject *mmd_pose_object(mmd_state *state, const mmd_pose_arrays *arrays);

#endif
