/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_MODEL_LOCALS_H
#define MMD_PY_MODEL_LOCALS_H

#include "core/fit/inverse_pose.h"
#include "python/array.h"
#include "python/types.h"

/* Local values of poses: Model.locals_of, and what fits of motions share with it. Functions that
   return bool fail with an exception. */

/* A Pose, or its matrices alone. Initialize to zero; clear it whether or not parsing succeeds. */
typedef struct mmd_py_model_locals_pose {
    mmd_py_array matrices; /* (B,4,4) or (F,B,4,4) */
    mmd_py_array weights;  /* (M,) or (F,M), or nothing */
    size_t frame_count, weight_frames;
    bool batched;
} mmd_py_model_locals_pose;

bool mmd_py_model_locals_parse(PyObject *model, PyObject *pose, mmd_py_model_locals_pose *out);
void mmd_py_model_locals_clear(mmd_py_model_locals_pose *pose);

/* mmd_inverse_pose_run() of every frame. */
typedef struct mmd_py_model_locals_job {
    const mmd_rig *rig;
    size_t frame_count;
    const float *matrices;      /* (F,B,4,4) */
    const float *morph_weights; /* (weight_frames,M), NULL: zero */
    size_t weight_frames;       /* 1 or frame_count */
    bool place_goals;
    float *translations, *rotations; /* (F,B,3), (F,B,4): outputs */
} mmd_py_model_locals_job;

/* Runs it on `threads` threads (the Python argument); raises losses (B,) where they are larger. */
bool mmd_py_model_locals_run(mmd_py_state *state, PyObject *threads,
                             const mmd_py_model_locals_job *job, mmd_inverse_pose_loss *losses);

PyObject *mmd_py_model_locals_of(PyObject *model, PyObject *pose);

extern const char mmd_py_model_locals_of_doc[];

PyObject *mmd_py_model_locals_at(PyObject *model, PyObject *args, PyObject *kwargs);
extern const char mmd_py_model_locals_at_doc[];

#endif
