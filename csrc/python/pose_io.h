/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_POSE_IO_H
#define MMD_PY_POSE_IO_H

#include "python/array.h"
#include "python/state.h"

/* The arguments of a pose, and the arrays that it fills. Functions that return bool fail with an
   exception. */

/* Local values: Python arguments, and the job that they become, without outputs. Set the arguments,
   zero the rest. Clear it whether or not parsing succeeds. */
typedef struct mmd_py_pose_input {
    PyObject *translations, *rotations, *weights; /* None: rest pose, zero */
    PyObject *ik;                                 /* NULL: on */
    mmd_py_array arrays[4];                       /* the memory that `job` borrows */
    mmd_pose_job job;
    bool batched; /* an argument has a frame axis */
} mmd_py_pose_input;

bool mmd_py_pose_input_parse(PyObject *model, mmd_py_pose_input *input);
void mmd_py_pose_input_clear(mmd_py_pose_input *input);

/* The members of a Pose. Initialize to zero. */
typedef struct mmd_py_pose_output {
    mmd_py_array matrices, weights;
} mmd_py_pose_output;

bool mmd_py_pose_output_new(const mmd_model *model, bool batched, size_t frame_count,
                            mmd_py_pose_output *output);
void mmd_py_pose_output_clear(mmd_py_pose_output *output);
/* A new Pose of these arrays. */
PyObject *mmd_py_pose_output_record(mmd_py_state *state, const mmd_py_pose_output *output);

#endif
