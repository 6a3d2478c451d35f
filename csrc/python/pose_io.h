/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_POSE_IO_H
#define MMD_PY_POSE_IO_H

#include "core/skin/skin.h"
#include "python/array.h"
#include "python/state.h"
#include "python/types.h"

/* The transforms of bones that an argument holds, as float32 (B,4,4) or (F,B,4,4): in this form,
   as (...,B,3,4) without the last row, or as (...,B,7), positions and quaternions x y z w of any
   length but zero. `bones` may be MMD_PY_ANY. False with an exception that begins with `name`. */
bool mmd_py_bone_matrices_from(PyObject *argument, const char *name, size_t bones,
                               mmd_py_array *out, size_t *frames, bool *batched);

/* The number of bones of such an array. */
size_t mmd_py_bone_matrices_count(const mmd_py_array *matrices);

/* Fails with a ValueError that names the first matrix of which a number is not finite. */
bool mmd_py_bone_matrices_check_finite(const mmd_py_array *matrices, const char *name);

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
/* The function _local_values(model, translations, rotations, morph_weights) of the module: the
   arrays that they are, or None. */
PyObject *mmd_py_pose_input_values(PyObject *module, PyObject *args);

/* The arrays of a Pose. Initialize to zero; clear it whether or not parsing succeeds. */
typedef struct mmd_py_pose_arrays {
    mmd_py_array matrices; /* (B,4,4) or (F,B,4,4) */
    mmd_py_array weights;  /* (M,) or (F,M), or nothing */
    size_t frame_count, weight_frames;
    bool batched;
} mmd_py_pose_arrays;

void mmd_py_pose_arrays_clear(mmd_py_pose_arrays *arrays);

/* A Pose of new arrays for a model. */
PyObject *mmd_py_pose_output_record(PyObject *model, bool batched, size_t frame_count,
                                    mmd_py_pose_arrays *output);
/* The same for the only model of a tuple, or with `is_list` a tuple of a Pose for each. */
PyObject *mmd_py_pose_output_records(PyObject *models, bool is_list, bool batched,
                                     size_t frame_count, mmd_py_pose_arrays *outputs);

/* Sets the mesh, the matrices, the weights and the frames of a job from arguments: a Model or Mesh,
   and bone matrices or a Pose; `weights` may be None. Sets `batched` with an axis of frames. False
   with an exception. */
bool mmd_py_skin_pose_parse(mmd_py_pose_arrays *pose, mmd_py_state *state, PyObject *mesh,
                            PyObject *matrices, PyObject *weights, mmd_skin_job *job,
                            bool *batched);

/* A Pose, or its matrices alone. */
bool mmd_py_model_locals_parse(PyObject *model, PyObject *pose, mmd_py_pose_arrays *out);

PyObject *mmd_py_model_locals_of(PyObject *model, PyObject *pose);
/* The function _locals_of(model, pose, place_goals, threads) of the module: matrices, weights or
   None, translations, rotations, and what is lost, a mmd_inverse_pose_loss of each bone, as (B,2).
 */
PyObject *mmd_py_model_locals_and_losses(PyObject *module, PyObject *args);

#endif
