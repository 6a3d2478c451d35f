/* SPDX-License-Identifier: MIT */
/* What is fitted: the functions _fit_motion() and _fit_camera(), whose arguments fitting.py has
   checked. */
#include "python/fit_type.h"

#include "core/formats/formats.h"
#include "python/argument.h"
#include "python/exceptions.h"
#include "python/owned.h"
#include "python/types.h"

/* Motions */

enum { TRANSLATIONS, ROTATIONS, WEIGHTS, MATRICES, ARRAYS };

typedef struct motion_call {
    PyObject *args; /* the model, the arrays and what else the fit borrows */
    mmd_py_array arrays[ARRAYS];
    mmd_motion_fit *fit;
} motion_call;

static mmd_thread_part next_of_motion(void *call)
{
    return mmd_motion_fit_next(((motion_call *)call)->fit);
}

static double share_of_motion(const void *call, double of_part)
{
    return mmd_motion_fit_share(((const motion_call *)call)->fit, of_part);
}

static PyObject *motion_result(mmd_py_state *state, void *arg)
{
    const motion_call *call = arg;
    mmd_motion_fit *fit = call->fit;
    MMD_PY_CLEARED_BY(mmd_arena_free) mmd_arena arena = {0};
    mmd_motion tracks = *fit->motion;
    MMD_PY_OWNED PyObject *names = mmd_py_motion_name_faults(&arena, MMD_VMD_NAME_SIZE, &tracks);
    MMD_PY_OWNED PyObject *motion =
        names ? mmd_py_motion_new(state, mmd_motion_fit_release_motion(fit), NULL) : NULL;
    return motion ? mmd_py_object_call(
                        "mmdskin.fitting", "result", "(Ondy#OOO)", motion,
                        (Py_ssize_t)fit->key_count, fit->max_distance, (const char *)fit->skipped,
                        (Py_ssize_t)fit->job.rig->bone_count, names, PyTuple_GetItem(call->args, 0),
                        PyTuple_GetItem(call->args, 1 + ARRAYS))
                  : NULL;
}

static void free_motion(void *arg)
{
    motion_call *call = arg;
    mmd_motion_fit_free(call->fit);
    for (int i = 0; i < ARRAYS; i++)
        mmd_py_array_clear(&call->arrays[i]);
    Py_DECREF(call->args);
    PyMem_Free(call);
}

static const mmd_py_fit_kind motion_kind = {next_of_motion, share_of_motion, motion_result,
                                            free_motion};

/* (F,B,3), (F,B,4), (F,M) and (F,B,4,4). */
static bool take_arrays(motion_call *call, PyObject *const given[ARRAYS], mmd_motion_fit_job *job)
{
    size_t bones = job->rig->bone_count, frames = MMD_PY_ANY;
    for (int i = 0; i < ARRAYS; i++) {
        const size_t shape[] = {frames, i == WEIGHTS ? job->rig->morph_count : bones,
                                i == TRANSLATIONS ? 3 : 4, 4};
        mmd_py_array *array = &call->arrays[i];
        if (!mmd_py_array_from(given[i], "values", MMD_PY_FLOAT32, false, array) ||
            !mmd_py_array_check_shape(array, "values", 3 - (i == WEIGHTS) + (i == MATRICES), shape,
                                      "F"))
            return false;
        frames = array->shape[0];
    }
    job->frame_count = frames;
    job->translations = call->arrays[TRANSLATIONS].data;
    job->rotations = call->arrays[ROTATIONS].data;
    job->morph_weights = call->arrays[WEIGHTS].data;
    job->matrices = call->arrays[MATRICES].data;
    return true;
}

static bool begin_motion(motion_call *call, PyObject *model, mmd_motion_fit_job *job)
{
    mmd_error err = {0};
    Py_BEGIN_ALLOW_THREADS
    job->mesh = mmd_py_mesh_cache_base(mmd_py_model_mesh_cache(model), &err);
    call->fit = job->mesh ? mmd_motion_fit_new(job, &err) : NULL;
    Py_END_ALLOW_THREADS
    return call->fit || mmd_py_exceptions_raise(&err);
}

PyObject *mmd_py_fit_motion(PyObject *module, PyObject *args)
{
    mmd_py_state *state = mmd_py_state_of_module(module);
    PyObject *model, *given[ARRAYS], *losses, *like, *threads;
    int is_off, as_keyed, key_physics;
    mmd_motion_fit_job job = {0};
    if (!PyArg_ParseTuple(args, "O!OOOOOIddpppOO:_fit_motion", state->types[MMD_PY_MODEL], &model,
                          &given[0], &given[1], &given[2], &given[3], &losses, &job.first_frame,
                          &job.tolerance, &job.physics_tolerance, &is_off, &as_keyed, &key_physics,
                          &like, &threads))
        return NULL;
    job.rig = mmd_py_model_rig(model);
    job.ik = is_off ? MMD_MOTION_FIT_IK_OFF : MMD_MOTION_FIT_IK_AS_KEYED;
    job.keep_switches = as_keyed;
    job.key_physics = key_physics;
    job.earlier = like == Py_None ? NULL : mmd_py_motion_data(like);
    motion_call *call = PyMem_Calloc(1, sizeof *call);
    if (!call)
        return PyErr_NoMemory();
    call->args = Py_NewRef(args);
    if (take_arrays(call, given, &job) && begin_motion(call, model, &job))
        return mmd_py_fit_new(state, &motion_kind, call, threads);
    free_motion(call);
    return NULL;
}

/* Cameras */

typedef struct camera_call {
    mmd_py_array cameras, cuts; /* (F,10) and (F,) */
    mmd_camera_fit *fit;
} camera_call;

static mmd_thread_part next_of_camera(void *call)
{
    return mmd_camera_fit_next(((camera_call *)call)->fit);
}

static double share_of_camera(const void *call, double of_part)
{
    return mmd_camera_fit_share(((const camera_call *)call)->fit);
}

static PyObject *camera_result(mmd_py_state *state, void *call)
{
    return mmd_py_motion_new(state, mmd_camera_fit_release_motion(((camera_call *)call)->fit),
                             NULL);
}

static void free_camera(void *arg)
{
    camera_call *call = arg;
    mmd_camera_fit_free(call->fit);
    mmd_py_array_clear(&call->cameras);
    mmd_py_array_clear(&call->cuts);
    PyMem_Free(call);
}

static const mmd_py_fit_kind camera_kind = {next_of_camera, share_of_camera, camera_result,
                                            free_camera};

PyObject *mmd_py_fit_camera(PyObject *module, PyObject *args)
{
    PyObject *rows, *cuts;
    mmd_camera_fit_job job = {0};
    mmd_error err = {0};
    if (!PyArg_ParseTuple(args, "OOIdd:_fit_camera", &rows, &cuts, &job.first_frame, &job.tolerance,
                          &job.angle_tolerance))
        return NULL;
    camera_call *call = PyMem_Calloc(1, sizeof *call);
    if (!call)
        return PyErr_NoMemory();
    size_t shape[] = {MMD_PY_ANY, MMD_PY_ARGUMENT_CAMERA_WIDTH};
    bool taken = mmd_py_array_from(rows, "camera", MMD_PY_FLOAT64, false, &call->cameras) &&
                 mmd_py_array_check_shape(&call->cameras, "camera", 2, shape, "F") &&
                 mmd_py_array_from(cuts, "cuts", MMD_PY_BOOL, false, &call->cuts) &&
                 mmd_py_array_check_shape(&call->cuts, "cuts", 1, call->cameras.shape, "");
    if (taken) {
        job.frame_count = call->cameras.shape[0];
        job.cameras = call->cameras.data;
        job.cuts = call->cuts.data;
        call->fit = mmd_camera_fit_new(&job, &err);
        if (!call->fit)
            mmd_py_exceptions_raise(&err);
    }
    if (call->fit)
        return mmd_py_fit_new(mmd_py_state_of_module(module), &camera_kind, call, NULL);
    free_camera(call);
    return NULL;
}
