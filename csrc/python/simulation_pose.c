/* SPDX-License-Identifier: MIT */
/* Simulation.pose(), and Model.pose() with physics: frames in any order are simulated in theirs. */
#include "python/exceptions.h"
#include "python/owned.h"
#include "python/pose_io.h"
#include "python/simulation_type.h"
#include "python/types.h"

#include <stdlib.h>

/* Bodies and bones times steps between checks for signals: about 10 ms. */
enum { CHUNK_WORK = 1 << 14 };

typedef struct requested_frame {
    double frame;
    size_t index; /* in the result */
} requested_frame;

static int compare_frames(const void *first, const void *second)
{
    const requested_frame *a = first, *b = second;
    return a->frame != b->frame ? (a->frame < b->frame ? -1 : 1)
                                : (a->index > b->index) - (a->index < b->index);
}

typedef struct simulation_call {
    requested_frame *requested; /* in the order of frames */
    size_t count, next, chunk, model_count;
    mmd_py_pose_arrays *outputs; /* of each model */
} simulation_call;

size_t mmd_py_simulation_chunk(PyObject *models)
{
    size_t work = 1;
    for (Py_ssize_t m = 0; m < PyTuple_Size(models); m++) {
        const mmd_model *model = mmd_py_model_of(PyTuple_GetItem(models, m))->model;
        work += model->bone_count + model->rigid_body_count;
    }
    return CHUNK_WORK / work + 1;
}

/* Whether all frames are done. A frame that needs no step counts as one. */
static bool run_chunk(mmd_simulation *simulation, simulation_call *call)
{
    size_t steps = call->chunk;
    for (; call->next < call->count && steps > 0; call->next++) {
        const requested_frame *requested = &call->requested[call->next];
        if (!mmd_simulation_seek(simulation, requested->frame, &steps, NULL))
            return false;
        for (size_t m = 0; m < call->model_count; m++) {
            const mmd_py_array *matrices = &call->outputs[m].matrices;
            const mmd_py_array *weights = &call->outputs[m].weights;
            size_t bones = mmd_py_bone_matrices_count(matrices);
            mmd_simulation_pose(
                simulation, m, (float *)matrices->data + requested->index * 16 * bones,
                (float *)weights->data + requested->index * weights->shape[weights->rank - 1],
                NULL);
        }
        steps -= steps > 0;
    }
    return call->next == call->count;
}

static bool run(mmd_simulation *simulation, simulation_call *call)
{
    bool done = false;
    while (!done) {
        Py_BEGIN_ALLOW_THREADS
        done = run_chunk(simulation, call);
        Py_END_ALLOW_THREADS
        if (done ? PyErr_CheckSignals() < 0 : mmd_py_exceptions_interrupted())
            return false;
    }
    return true;
}

PyObject *mmd_py_simulation_pose_frames(PyObject *models, bool is_list, mmd_simulation *simulation,
                                        const mmd_py_array *frames)
{
    size_t count = frames->rank ? frames->shape[0] : 1;
    simulation_call call = {.count = count,
                            .model_count = (size_t)PyTuple_Size(models),
                            .chunk = mmd_py_simulation_chunk(models)};
    mmd_error err = {0};
    if (!mmd_simulation_check(simulation, frames->data, count, &err))
        return mmd_py_exceptions_raise(&err);
    call.requested = PyMem_Calloc(count + 1, sizeof *call.requested);
    call.outputs = PyMem_Calloc(call.model_count, sizeof *call.outputs);
    PyObject *result = NULL;
    if (!call.requested || !call.outputs) {
        PyErr_NoMemory();
    } else {
        for (size_t i = 0; i < count; i++)
            call.requested[i] = (requested_frame){((const double *)frames->data)[i], i};
        qsort(call.requested, count, sizeof *call.requested, compare_frames);
        result =
            mmd_py_pose_output_records(models, is_list, frames->rank == 1, count, call.outputs);
        if (result && !run(simulation, &call))
            Py_CLEAR(result);
    }
    for (size_t m = 0; call.outputs && m < call.model_count; m++)
        mmd_py_pose_arrays_clear(&call.outputs[m]);
    PyMem_Free(call.outputs);
    PyMem_Free(call.requested);
    return result;
}

mmd_simulation *mmd_py_simulation_create(PyObject *models, PyObject *motions,
                                         const double *transforms, const double *offsets, bool ik,
                                         const mmd_simulation_settings *physics)
{
    mmd_error err = {0};
    mmd_simulation *simulation;
    size_t count = (size_t)PyTuple_Size(models);
    mmd_simulation_model *list = PyMem_Calloc(count + 1, sizeof *list);
    if (!list) {
        PyErr_NoMemory();
        return NULL;
    }
    for (size_t m = 0; m < count; m++) {
        PyObject *motion = PyTuple_GetItem(motions, (Py_ssize_t)m);
        list[m].rig = mmd_py_model_of(PyTuple_GetItem(models, (Py_ssize_t)m))->rig;
        list[m].motion = motion == Py_None ? NULL : mmd_py_motion_of(motion)->motion;
        list[m].transform = transforms ? transforms + 7 * m : NULL;
        list[m].offset = offsets ? offsets[m] : 0;
    }
    Py_BEGIN_ALLOW_THREADS
    simulation = mmd_simulation_new(list, count, ik, physics, &err);
    Py_END_ALLOW_THREADS
    PyMem_Free(list);
    if (!simulation)
        mmd_py_exceptions_raise(&err);
    return simulation;
}

PyObject *mmd_py_simulation_run(PyObject *model, PyObject *motion, bool ik,
                                const mmd_simulation_settings *physics, const mmd_py_array *frames)
{
    MMD_PY_OWNED PyObject *models = PyTuple_Pack(1, model), *motions = PyTuple_Pack(1, motion);
    PyObject *pose = NULL;
    mmd_simulation *simulation =
        models && motions ? mmd_py_simulation_create(models, motions, NULL, NULL, ik, physics)
                          : NULL;
    if (simulation)
        pose = mmd_py_simulation_pose_frames(models, false, simulation, frames);
    mmd_simulation_free(simulation);
    return pose;
}
