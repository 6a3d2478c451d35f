/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_SKIN_POSE_H
#define MMD_PY_SKIN_POSE_H

#include "core/skin/skin.h"
#include "python/array.h"
#include "python/state.h"

/* The arrays that a skinning job borrows. Initialize to zero. */
typedef struct mmd_py_skin_pose {
    mmd_py_array matrices, weights;
} mmd_py_skin_pose;

/* Sets the mesh, the matrices, the weights and the frames of a job from arguments: a Model or Mesh,
   and bone matrices or a Pose; `weights` may be None. Sets `batched` with an axis of frames. False
   with an exception. */
bool mmd_py_skin_pose_parse(mmd_py_skin_pose *pose, mmd_py_state *state, PyObject *mesh,
                            PyObject *matrices, PyObject *weights, mmd_skin_job *job,
                            bool *batched);
void mmd_py_skin_pose_clear(mmd_py_skin_pose *pose);

#endif
