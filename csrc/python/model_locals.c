/* SPDX-License-Identifier: MIT */
/* Model.locals_of(): local values from skinning matrices. */
#include "python/pose_io.h"

#include "core/base/error.h"
#include "core/fit/fit.h"
#include "core/model/morph.h"
#include "python/batch.h"
#include "python/exceptions.h"
#include "python/owned.h"

#include <math.h>

enum { CHUNK_BONES = 1 << 15 }; /* about 10 ms */

typedef struct inverse_worker {
    mmd_arena arena;
    mmd_inverse_pose inverse;
    mmd_inverse_pose_loss *losses;
} inverse_worker;

typedef struct inverse_call {
    const mmd_rig *rig;
    mmd_py_pose_arrays pose;
    int place_goals;
    mmd_py_array translations, rotations; /* (F,B,3), (F,B,4): outputs */
    mmd_py_array losses;                  /* (B,2): mmd_inverse_pose_loss */
    inverse_worker workers[MMD_MAX_THREADS];
} inverse_call;

static bool invert_frames(void *arg, size_t index, size_t first, size_t count, mmd_error *err)
{
    inverse_call *call = arg;
    inverse_worker *worker = &call->workers[index];
    const float *matrices = call->pose.matrices.data, *weights = call->pose.weights.data;
    float *translations = call->translations.data, *rotations = call->rotations.data;
    size_t bones = call->rig->bone_count, morphs = call->rig->morph_count;
    size_t step = weights && call->pose.weight_frames > 1 ? morphs : 0;
    if (!worker->losses) {
        worker->losses = mmd_arena_alloc(&worker->arena, bones, sizeof *worker->losses);
        if (!worker->losses ||
            !mmd_inverse_pose_init(&worker->arena, call->rig, &worker->inverse)) {
            worker->losses = NULL;
            return mmd_fail_memory(err);
        }
    }
    for (size_t f = first; f < first + count; f++)
        mmd_inverse_pose_run(&worker->inverse, matrices + 16 * f * bones,
                             step ? weights + f * step : weights, call->place_goals,
                             translations + 3 * f * bones, rotations + 4 * f * bones,
                             worker->losses);
    return true;
}

/* The largest losses of all threads. */
static void merge_losses(const inverse_call *call)
{
    size_t bones = call->rig->bone_count;
    mmd_inverse_pose_loss *losses = call->losses.data;
    for (size_t b = 0; b < bones; b++)
        losses[b] = (mmd_inverse_pose_loss){0, 0};
    for (size_t i = 0; i < MMD_MAX_THREADS; i++) {
        const mmd_inverse_pose_loss *own = call->workers[i].losses;
        for (size_t b = 0; own && b < bones; b++) {
            losses[b].off_axis = fmaxf(losses[b].off_axis, own[b].off_axis);
            losses[b].scale = fmaxf(losses[b].scale, own[b].scale);
        }
    }
}

static bool run(inverse_call *call, PyObject *threads)
{
    const mmd_py_pose_arrays *pose = &call->pose;
    const size_t bones = call->rig->bone_count, loss[] = {bones, 2};
    const size_t vectors[] = {pose->frame_count, bones, 3};
    const size_t quaternions[] = {pose->frame_count, bones, 4};
    int rank = pose->batched ? 3 : 2;
    mmd_py_batch batch;
    if (!mmd_py_array_new_floats(rank, vectors + !pose->batched, &call->translations) ||
        !mmd_py_array_new_floats(rank, quaternions + !pose->batched, &call->rotations) ||
        !mmd_py_array_new_floats(2, loss, &call->losses) ||
        !mmd_py_batch_plan(threads, pose->frame_count, bones, CHUNK_BONES, &batch) ||
        !mmd_py_batch_run(&batch, invert_frames, call))
        return false;
    merge_losses(call);
    return true;
}

/* The matrices, the weights (or None), the translations, the rotations and the losses. */
static PyObject *invert(PyObject *model, PyObject *pose, int place_goals, PyObject *threads)
{
    PyObject *all = NULL;
    inverse_call *call = PyMem_Calloc(1, sizeof *call);
    if (!call)
        return PyErr_NoMemory();
    call->rig = mmd_py_model_of(model)->rig;
    call->place_goals = place_goals;
    if (mmd_py_model_locals_parse(model, pose, &call->pose) && run(call, threads)) {
        PyObject *weights = call->pose.weights.object;
        all = PyTuple_Pack(5, call->pose.matrices.object, weights ? weights : Py_None,
                           call->translations.object, call->rotations.object, call->losses.object);
    }
    for (size_t i = 0; i < MMD_MAX_THREADS; i++)
        mmd_arena_free(&call->workers[i].arena);
    mmd_py_array_clear(&call->losses);
    mmd_py_array_clear(&call->rotations);
    mmd_py_array_clear(&call->translations);
    mmd_py_pose_arrays_clear(&call->pose);
    PyMem_Free(call);
    return all;
}

bool mmd_py_model_locals_parse(PyObject *model, PyObject *pose, mmd_py_pose_arrays *out)
{
    const mmd_model *data = mmd_py_model_of(model)->model;
    const size_t weight_shape[] = {MMD_PY_ANY, data->morph_count};
    PyObject *matrices = pose, *weights = Py_None;
    if (PyTuple_Check(pose) && PyTuple_Size(pose) == 2) {
        matrices = PyTuple_GetItem(pose, 0);
        weights = PyTuple_GetItem(pose, 1);
    }
    out->weight_frames = 1;
    if (!mmd_py_bone_matrices_from(matrices, "pose", data->bone_count, &out->matrices,
                                   &out->frame_count, &out->batched) ||
        !mmd_py_bone_matrices_check_finite(&out->matrices, "pose"))
        return false;
    if (weights == Py_None)
        return true;
    bool batched_weights = false;
    mmd_error err = {0};
    if (!mmd_py_array_from_frames(weights, "morph_weights", MMD_PY_FLOAT32, 1, weight_shape, "F",
                                  &out->weights, &out->weight_frames, &batched_weights))
        return false;
    if (out->weight_frames != 1 && out->weight_frames != out->frame_count)
        return PyErr_Format(PyExc_ValueError, "morph_weights: %zu frames, expected 1 or %zu",
                            out->weight_frames, out->frame_count);
    if (!mmd_morph_check(out->weights.data, out->weight_frames, data->morph_count, &err))
        return mmd_py_exceptions_raise(&err);
    return true;
}

PyObject *mmd_py_model_locals_of(PyObject *self, PyObject *pose)
{
    MMD_PY_OWNED PyObject *all = invert(self, pose, false, Py_None);
    return all ? PyTuple_GetSlice(all, 2, 4) : NULL;
}

PyObject *mmd_py_model_locals_and_losses(PyObject *module, PyObject *args)
{
    PyObject *model, *pose, *threads;
    int place_goals;
    return PyArg_ParseTuple(args, "O!OpO:_locals_of",
                            mmd_py_state_of_module(module)->types[MMD_PY_MODEL], &model, &pose,
                            &place_goals, &threads)
               ? invert(model, pose, place_goals, threads)
               : NULL;
}
