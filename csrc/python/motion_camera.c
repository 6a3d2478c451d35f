/* SPDX-License-Identifier: MIT */
/* Motion.from_camera(). */
#include "core/fit/fit.h"
#include "python/argument.h"
#include "python/exceptions.h"
#include "python/fit_type.h"
#include "python/owned.h"
#include "python/render_scene.h"
#include "python/types.h"

/* (F,): true at the frame numbers of a sequence, each of which must be among the frames. */
static bool *parse_cuts(PyObject *cuts, uint32_t first, size_t frame_count)
{
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array numbers = {0};
    bool *flags = PyMem_Calloc(frame_count, sizeof *flags);
    bool valid = flags || PyErr_NoMemory();
    valid = valid && mmd_py_argument_frames(cuts, "cuts", &numbers);
    size_t count = numbers.rank ? numbers.shape[0] : 1;
    for (size_t i = 0; valid && i < count; i++) {
        double frame = ((const double *)numbers.data)[i] - first;
        valid = frame >= 0 && frame < (double)frame_count && frame == floor(frame);
        if (valid)
            flags[(size_t)frame] = true;
        else
            PyErr_Format(PyExc_ValueError, "cuts: number %zu is not one of the frames", i);
    }
    if (valid)
        return flags;
    PyMem_Free(flags);
    return NULL;
}

/* A fit, with what its job borrows. */
typedef struct camera_call {
    mmd_py_render_scene scene;
    mmd_camera *repeated; /* one camera that is that of all frames */
    bool *cuts;
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
    mmd_py_render_scene_free(&call->scene);
    PyMem_Free(call->repeated);
    PyMem_Free(call->cuts);
    PyMem_Free(call);
}

static const mmd_py_fit_kind fit_kind = {next_part, share_done, make_result, free_call};

static bool set_up(mmd_py_state *state, camera_call *call, PyObject *camera, PyObject *frames,
                   PyObject *cuts, mmd_camera_fit_job *job)
{
    mmd_py_render_scene *scene = &call->scene;
    mmd_error err = {0};
    if (camera == Py_None)
        return PyErr_Format(PyExc_TypeError, "camera: expected a Camera, not None");
    if (!mmd_py_render_scene_set_camera(scene, state, camera))
        return false;
    job->frame_count = scene->camera_frames;
    if (!job->frame_count)
        return PyErr_Format(PyExc_ValueError, "camera: no frames");
    if (!mmd_py_argument_frame_range(frames, &job->frame_count, &job->first_frame) ||
        (cuts && !(call->cuts = parse_cuts(cuts, job->first_frame, job->frame_count))))
        return false;
    job->cuts = call->cuts;
    job->cameras = scene->cameras;
    if (scene->camera_frames == 1 && job->frame_count > 1) {
        job->cameras = call->repeated = PyMem_Calloc(job->frame_count, sizeof *call->repeated);
        for (size_t f = 0; call->repeated && f < job->frame_count; f++)
            call->repeated[f] = scene->cameras[0];
    }
    call->fit = job->cameras ? mmd_camera_fit_new(job, &err) : NULL;
    if (!job->cameras)
        PyErr_NoMemory();
    else if (!call->fit)
        mmd_py_exceptions_raise(&err);
    return call->fit != NULL;
}

PyObject *mmd_py_motion_fit_camera(mmd_py_state *state, PyObject *args, PyObject *kwargs)
{
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
    mmd_py_state *state = PyType_GetModuleState((PyTypeObject *)type);
    return mmd_py_fit_finish(mmd_py_motion_fit_camera(state, args, kwargs));
}
