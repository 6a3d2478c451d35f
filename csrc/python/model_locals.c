/* SPDX-License-Identifier: MIT */
/* Model.locals_of(): local values from skinning matrices. */
#include "python/pose_io.h"

#include "core/base/error.h"
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
    const mmd_py_model_locals_job *job;
    inverse_worker workers[MMD_MAX_THREADS];
} inverse_call;

static bool invert_frames(void *arg, size_t index, size_t first, size_t count, mmd_error *err)
{
    inverse_call *call = arg;
    const mmd_py_model_locals_job *job = call->job;
    inverse_worker *worker = &call->workers[index];
    size_t bones = job->rig->bone_count, morphs = job->rig->morph_count;
    if (!worker->losses) {
        worker->losses = mmd_arena_alloc(&worker->arena, bones, sizeof *worker->losses);
        if (!worker->losses || !mmd_inverse_pose_init(&worker->arena, job->rig, &worker->inverse)) {
            worker->losses = NULL;
            return mmd_fail_memory(err);
        }
    }
    for (size_t f = first; f < first + count; f++) {
        const float *weights = job->morph_weights;
        if (weights && job->weight_frames > 1)
            weights += f * morphs;
        mmd_inverse_pose_run(&worker->inverse, job->matrices + 16 * f * bones, weights,
                             job->place_goals, job->translations + 3 * f * bones,
                             job->rotations + 4 * f * bones, worker->losses);
    }
    return true;
}

bool mmd_py_model_locals_run(PyObject *threads, const mmd_py_model_locals_job *job,
                             mmd_inverse_pose_loss *losses)
{
    mmd_py_batch batch;
    size_t bones = job->rig->bone_count;
    inverse_call *call = PyMem_Calloc(1, sizeof *call);
    if (!call)
        return PyErr_NoMemory();
    call->job = job;
    bool done = mmd_py_batch_plan(threads, job->frame_count, bones, CHUNK_BONES, &batch) &&
                mmd_py_batch_run(&batch, invert_frames, call);
    for (size_t i = 0; i < MMD_MAX_THREADS; i++) {
        inverse_worker *worker = &call->workers[i];
        for (size_t b = 0; done && losses && worker->losses && b < bones; b++) {
            losses[b].off_axis = fmaxf(losses[b].off_axis, worker->losses[b].off_axis);
            losses[b].scale = fmaxf(losses[b].scale, worker->losses[b].scale);
        }
        mmd_arena_free(&worker->arena);
    }
    PyMem_Free(call);
    return done;
}

bool mmd_py_model_locals_parse(PyObject *model, PyObject *pose, mmd_py_model_locals_pose *out)
{
    const mmd_model *data = mmd_py_model_data(model);
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

void mmd_py_model_locals_clear(mmd_py_model_locals_pose *pose)
{
    mmd_py_array_clear(&pose->matrices);
    mmd_py_array_clear(&pose->weights);
}

PyObject *mmd_py_model_locals_of(PyObject *self, PyObject *argument)
{
    size_t bones = mmd_py_model_data(self)->bone_count;
    MMD_PY_CLEARED_BY(mmd_py_model_locals_clear) mmd_py_model_locals_pose pose = {0};
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array translations = {0}, rotations = {0};
    if (!mmd_py_model_locals_parse(self, argument, &pose))
        return NULL;
    const size_t vectors[] = {pose.frame_count, bones, 3};
    const size_t quaternions[] = {pose.frame_count, bones, 4};
    int rank = pose.batched ? 3 : 2;
    if (!mmd_py_array_new_floats(rank, vectors + !pose.batched, &translations) ||
        !mmd_py_array_new_floats(rank, quaternions + !pose.batched, &rotations))
        return NULL;
    mmd_py_model_locals_job job = {.rig = mmd_py_model_rig(self),
                                   .frame_count = pose.frame_count,
                                   .matrices = pose.matrices.data,
                                   .morph_weights = pose.weights.data,
                                   .weight_frames = pose.weight_frames,
                                   .translations = translations.data,
                                   .rotations = rotations.data};
    return mmd_py_model_locals_run(Py_None, &job, NULL)
               ? PyTuple_Pack(2, translations.object, rotations.object)
               : NULL;
}

PyObject *mmd_py_model_locals_at(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"motion", "frame", "threads", NULL};
    PyObject *motion, *frame, *threads = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$O:locals_at", names, &motion, &frame,
                                     &threads))
        return NULL;
    MMD_PY_OWNED PyObject *given = PyTuple_Pack(2, motion, frame);
    MMD_PY_OWNED PyObject *options = Py_BuildValue("{sOsO}", "ik", Py_False, "threads", threads);
    MMD_PY_OWNED PyObject *pose = given && options ? mmd_py_model_pose(self, given, options) : NULL;
    return pose ? mmd_py_model_locals_of(self, pose) : NULL;
}
