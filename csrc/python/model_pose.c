/* SPDX-License-Identifier: MIT */
/* Model.pose() and Model.pose_from(). */
#include "core/pose/pose.h"
#include "python/argument.h"
#include "python/batch.h"
#include "python/exceptions.h"
#include "python/owned.h"
#include "python/pose_io.h"
#include "python/simulation_type.h"
#include "python/types.h"

/* Bones of a chunk: about 10 ms, including IK. */
enum { CHUNK_BONES = 1 << 15 };

typedef struct pose_call {
    mmd_py_poser_key key;
    const mmd_pose_job *job;
    mmd_py_poser_cached *posers[MMD_MAX_THREADS]; /* per thread */
} pose_call;

static bool run_task(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    const pose_call *call = arg;
    mmd_py_poser_cached *cached = call->posers[worker];
    if (!cached->poser)
        cached->poser = mmd_poser_new(call->key.rig, call->key.motion, err);
    if (!cached->poser)
        return false;
    mmd_pose_job slice = mmd_pose_slice(call->key.rig, call->job, first, count);
    mmd_pose_run(cached->poser, &slice);
    return true;
}

bool mmd_py_model_run_pose(PyObject *model, PyObject *motion, const mmd_pose_job *job,
                           PyObject *threads)
{
    bool by_motion = motion != Py_None;
    pose_call call = {.key = {.rig = mmd_py_model_of(model)->rig,
                              .model_list = &mmd_py_model_of(model)->posers,
                              .motion = by_motion ? mmd_py_motion_of(motion)->motion : NULL,
                              .motion_list = by_motion ? &mmd_py_motion_of(motion)->posers : NULL},
                      .job = job};
    mmd_py_batch batch;
    mmd_error err = {0};
    size_t acquired = 0;
    if (!mmd_py_batch_plan(threads, job->frame_count, call.key.rig->bone_count, CHUNK_BONES,
                           &batch))
        return false;
    while (acquired < batch.threads &&
           (call.posers[acquired] = mmd_py_poser_cache_acquire(&call.key, &err)) != NULL)
        acquired++;
    bool done = acquired == batch.threads;
    if (!done)
        mmd_py_exceptions_raise(&err);
    done = done && mmd_py_batch_run(&batch, run_task, &call);
    while (acquired-- > 0)
        mmd_py_poser_cache_release(&call.key, call.posers[acquired]);
    return done;
}

/* Runs a job that lacks only its outputs. `motion` may be None. */
static PyObject *run(PyObject *self, PyObject *motion, mmd_pose_job *job, bool batched,
                     PyObject *threads)
{
    MMD_PY_CLEARED_BY(mmd_py_pose_arrays_clear) mmd_py_pose_arrays output = {0};
    mmd_error err = {0};
    if (!mmd_pose_check(mmd_py_model_of(self)->rig, job, &err))
        return mmd_py_exceptions_raise(&err);
    MMD_PY_OWNED PyObject *pose =
        mmd_py_pose_output_record(self, batched, job->frame_count, &output);
    if (!pose)
        return NULL;
    job->out_matrices = output.matrices.data;
    job->out_morph_weights = output.weights.data;
    return mmd_py_model_run_pose(self, motion, job, threads) ? Py_NewRef(pose) : NULL;
}

PyObject *mmd_py_model_pose(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"motion", "frame", "ik", "threads", "physics", NULL};
    PyObject *motion = Py_None, *frame = NULL, *threads = Py_None, *physics_arg = Py_None;
    int ik = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO$pOO:pose", names, &motion, &frame, &ik,
                                     &threads, &physics_arg))
        return NULL;
    mmd_simulation_settings physics;
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array frames = {0};
    MMD_PY_OWNED PyObject *record =
        physics_arg == Py_None || physics_arg == Py_False
            ? Py_NewRef(Py_None)
            : mmd_py_object_call(MMD_PY_PHYSICS_ARGUMENTS, "settings_of", "(O)", physics_arg);
    bool simulates = record != Py_None;
    bool is_motion = Py_TYPE(motion) == mmd_py_state_of(self)->types[MMD_PY_MOTION];
    if (!record || (simulates && !mmd_py_physics_record_parse(record, &physics)) ||
        (!is_motion && motion != Py_None &&
         !mmd_py_exceptions_raise_wrong_type(motion, "motion: expected a Motion or None",
                                             "load_motion")) ||
        !mmd_py_motion_check_names(motion, self) ||
        !mmd_py_argument_finite_frames(frame, "frame", &frames))
        return NULL;
    mmd_pose_job job = {
        .frame_count = frames.rank ? frames.shape[0] : 1, .ik = ik, .frames = frames.data};
    return simulates ? mmd_py_simulation_run(self, motion, ik, &physics, &frames)
                     : run(self, motion, &job, frames.rank == 1, threads);
}

PyObject *mmd_py_model_pose_from(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"translations", "rotations", "morph_weights", "ik", "threads", NULL};
    MMD_PY_CLEARED_BY(mmd_py_pose_input_clear)
    mmd_py_pose_input input = {.rotations = Py_None, .weights = Py_None};
    PyObject *threads = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO$OO:pose_from", names, &input.translations,
                                     &input.rotations, &input.weights, &input.ik, &threads))
        return NULL;
    if (input.translations == Py_None)
        return PyErr_Format(PyExc_TypeError, "translations: expected an array or a dict, not None");
    return mmd_py_pose_input_parse(self, &input)
               ? run(self, Py_None, &input.job, input.batched, threads)
               : NULL;
}
