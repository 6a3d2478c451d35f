/* SPDX-License-Identifier: MIT */
/* Parses what skin() and render() skin a mesh by: bone matrices and morph weights, or a Pose. */
#include "python/pose_io.h"

#include "core/base/error.h"
#include "python/exceptions.h"
#include "python/types.h"

static bool parse_mesh(mmd_py_state *state, PyObject *mesh, mmd_skin_job *job)
{
    mmd_error err = {0};
    mmd_py_mesh_cache *cache = mmd_py_mesh_cache_from_argument(state, mesh);
    if (!cache)
        return false;
    Py_BEGIN_ALLOW_THREADS
    job->mesh = mmd_py_mesh_cache_base(cache, &err);
    Py_END_ALLOW_THREADS
    return job->mesh || mmd_py_exceptions_raise(&err);
}

static bool parse_matrices(mmd_py_pose_arrays *pose, mmd_py_state *state, PyObject *mesh,
                           PyObject *matrices, mmd_skin_job *job, bool *batched)
{
    if (!mmd_py_bone_matrices_from(matrices, "bone_matrices", MMD_PY_ANY, &pose->matrices,
                                   &job->matrix_frames, batched))
        return false;
    job->matrices = pose->matrices.data;
    job->bone_count = mmd_py_bone_matrices_count(&pose->matrices);
    if (Py_TYPE(mesh) != state->types[MMD_PY_MODEL])
        return true;
    size_t bones = mmd_py_model_of(mesh)->model->bone_count;
    return job->bone_count == bones ||
           PyErr_Format(PyExc_ValueError, "bone_matrices: %zu %s, the model has %zu",
                        job->bone_count, mmd_numbers_noun(job->bone_count, "bone", "bones"), bones);
}

static bool parse_weights(mmd_py_pose_arrays *pose, PyObject *weights, mmd_skin_job *job,
                          bool *batched)
{
    const size_t shape[] = {MMD_PY_ANY, job->mesh->morph_count};
    job->morph_weight_frames = 1;
    if (weights == Py_None)
        return true;
    if (!mmd_py_array_from_frames(weights, "morph_weights", MMD_PY_FLOAT32, 1, shape, "F",
                                  &pose->weights, &job->morph_weight_frames, batched))
        return false;
    job->morph_weights = pose->weights.data;
    return true;
}

bool mmd_py_skin_pose_parse(mmd_py_pose_arrays *pose, mmd_py_state *state, PyObject *mesh,
                            PyObject *matrices, PyObject *weights, mmd_skin_job *job, bool *batched)
{
    int is_pose = PyObject_IsInstance(matrices, state->records[MMD_PY_RECORD_POSE]);
    if (is_pose < 0 || !parse_mesh(state, mesh, job))
        return false;
    if (is_pose) {
        if (PyTuple_Size(matrices) != 2)
            return PyErr_Format(PyExc_ValueError, "bone_matrices: expected a Pose of two members");
        if (weights == Py_None)
            weights = PyTuple_GetItem(matrices, 1);
        matrices = PyTuple_GetItem(matrices, 0);
    }
    if (!parse_matrices(pose, state, mesh, matrices, job, batched) ||
        !parse_weights(pose, weights, job, batched))
        return false;
    job->frame_count = job->matrix_frames == 1 ? job->morph_weight_frames : job->matrix_frames;
    return job->morph_weight_frames == 1 || job->morph_weight_frames == job->frame_count ||
           PyErr_Format(PyExc_ValueError, "morph_weights: %zu frames, bone_matrices has %zu",
                        job->morph_weight_frames, job->matrix_frames);
}
