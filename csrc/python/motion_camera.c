/* SPDX-License-Identifier: MIT */
/* Motion.from_camera(). */
#include "core/fit/fit.h"
#include "python/argument.h"
#include "python/exceptions.h"
#include "python/fit_type.h"
#include "python/owned.h"
#include "python/types.h"

/* Python makes flags (F,) of the frame numbers, each of which must be among the frames. */
static bool parse_cuts(PyObject *cuts, const mmd_camera_fit_job *job, mmd_py_array *flags)
{
    MMD_PY_OWNED PyObject *of_frames =
        mmd_py_object_call("mmdskin.argument", "frame_flags", "(OsIn)", cuts, "cuts",
                           job->first_frame, (Py_ssize_t)job->frame_count);
    return of_frames && mmd_py_array_from(of_frames, "cuts", MMD_PY_BOOL, false, flags);
}

/* A fit, with what its job borrows. */
typedef struct camera_call {
    mmd_py_array cameras, cuts;
    mmd_camera_fit *fit;
} camera_call;

static mmd_thread_part next_part(void *call)
{
    return mmd_camera_fit_next(((camera_call *)call)->fit);
}

static double share_done(const void *call, double of_part)
{
    return mmd_camera_fit_share(((const camera_call *)call)->fit);
}

static PyObject *make_result(mmd_py_state *state, void *call)
{
    return mmd_py_motion_new(state, mmd_camera_fit_release_motion(((camera_call *)call)->fit),
                             NULL);
}

static void free_call(void *arg)
{
    camera_call *call = arg;
    mmd_camera_fit_free(call->fit);
    mmd_py_array_clear(&call->cameras);
    mmd_py_array_clear(&call->cuts);
    PyMem_Free(call);
}

static const mmd_py_fit_kind fit_kind = {next_part, share_done, make_result, free_call};

static bool set_up(mmd_py_state *state, camera_call *call, PyObject *camera, PyObject *frames,
                   PyObject *cuts, mmd_camera_fit_job *job)
{
    static const size_t shape[] = {MMD_PY_ANY, MMD_PY_ARGUMENT_CAMERA_WIDTH};
    mmd_error err = {0};
    bool batched;
    MMD_PY_OWNED PyObject *rows =
        mmd_py_object_call("mmdskin.argument", "camera_rows", "(O)", camera);
    if (!rows || !mmd_py_array_from_frames(rows, "camera", MMD_PY_FLOAT64, 1, shape, "F",
                                           &call->cameras, &job->frame_count, &batched))
        return false;
    if (!job->frame_count)
        return PyErr_Format(PyExc_ValueError, "camera: no frames");
    if (!mmd_py_argument_frame_range(frames, &job->frame_count, &job->first_frame) ||
        (cuts && !parse_cuts(cuts, job, &call->cuts)))
        return false;
    job->cuts = call->cuts.data;
    job->cameras = call->cameras.data;
    call->fit = mmd_camera_fit_new(job, &err);
    return call->fit || mmd_py_exceptions_raise(&err);
}

PyObject *mmd_py_motion_fit_camera(PyObject *module, PyObject *args, PyObject *kwargs)
{
    mmd_py_state *state = mmd_py_state_of_module(module);
    static char *names[] = {"camera", "frames", "tolerance", "degrees", "cuts", NULL};
    PyObject *camera, *frames = Py_None, *cuts = NULL;
    PyObject *tolerance_argument = NULL, *degrees_argument = NULL;
    double tolerance = 0.02, degrees = 0.05;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O$OOO:from_camera", names, &camera, &frames,
                                     &tolerance_argument, &degrees_argument, &cuts) ||
        !mmd_py_argument_positive(tolerance_argument, "tolerance", &tolerance) ||
        !mmd_py_argument_positive(degrees_argument, "degrees", &degrees))
        return NULL;
    camera_call *call = PyMem_Calloc(1, sizeof *call);
    if (!call)
        return PyErr_NoMemory();
    mmd_camera_fit_job job = {.tolerance = tolerance,
                              .angle_tolerance = degrees / 57.29577951308232};
    if (set_up(state, call, camera, frames, cuts, &job))
        return mmd_py_fit_new(state, &fit_kind, call, NULL);
    free_call(call);
    return NULL;
}

PyObject *mmd_py_motion_from_camera(PyObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *module = PyType_GetModule((PyTypeObject *)type);
    return mmd_py_fit_finish(mmd_py_motion_fit_camera(module, args, kwargs));
}
