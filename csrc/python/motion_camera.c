/* SPDX-License-Identifier: MIT */
/* The camera of a motion: Motion.camera_at() and Motion.from_camera(). */
#include "core/fit/camera_fit.h"
#include "python/argument.h"
#include "python/batch.h"
#include "python/exceptions.h"
#include "python/render_scene.h"
#include "python/types.h"

enum { POSITION, TARGET, UP, FOV, MEMBERS };

typedef struct camera_samples {
    const mmd_camera_track *track;
    const double *frames;
    float *members[MEMBERS];
} camera_samples;

static bool sample(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    const camera_samples *call = arg;
    float *const *members = call->members;
    (void)worker, (void)err;
    for (size_t f = first; f < first + count; f++) {
        mmd_camera camera;
        mmd_camera_at(call->track, call->frames[f], &camera);
        for (size_t i = 0; i < 3; i++) {
            members[POSITION][3 * f + i] = (float)camera.position[i];
            members[TARGET][3 * f + i] = (float)camera.target[i];
            members[UP][3 * f + i] = (float)camera.up[i];
        }
        members[FOV][f] = (float)camera.fov;
    }
    return true;
}

PyObject *mmd_py_motion_camera_at(PyObject *self, PyObject *frames_arg)
{
    mmd_py_array frames = {0}, members[MEMBERS] = {{0}};
    camera_samples call = {.track = &mmd_py_motion_data(self)->camera};
    bool ok = mmd_py_argument_finite_frames(frames_arg, "frames", &frames);
    bool batched = frames.rank == 1;
    size_t count = batched ? frames.shape[0] : 1;
    const size_t shape[] = {count, 3};
    for (int i = 0; ok && i < MEMBERS; i++) {
        ok = mmd_py_array_new_floats(i == FOV ? batched : 1 + batched, shape + !batched,
                                     &members[i]);
        call.members[i] = members[i].data;
    }
    PyObject *camera = NULL;
    call.frames = frames.data;
    if (ok && mmd_py_batch_run_samples(mmd_py_state_of(self), count, sample, &call))
        camera = PyObject_CallFunctionObjArgs(mmd_py_state_of(self)->records[MMD_PY_RECORD_CAMERA],
                                              members[POSITION].object, members[TARGET].object,
                                              members[UP].object, members[FOV].object, NULL);
    mmd_py_array_clear(&frames);
    for (int i = 0; i < MEMBERS; i++)
        mmd_py_array_clear(&members[i]);
    return camera;
}

const char mmd_py_motion_camera_at_doc[] =
    "camera_at($self, frames, /)\n--\n\n"
    "The camera of the motion at these frames, interpolated as in MMD. Returns a Camera for\n"
    "render().\n\n"
    "frames: a number (30 frames per second, fractions allowed) for position, target and up\n"
    "    (3,) float32 and fov (), or (F,) numbers in any order for (F,3) and (F,).\n"
    "Before the first key the first values apply, after the last key the last. Keys on\n"
    "consecutive frames are a cut, with nothing in between. A camera at or beyond its target\n"
    "looks away from it; its target is then one unit ahead. A target is moved away from the\n"
    "camera to at least 1/4096 of the camera's largest coordinate, so that float32 can resolve\n"
    "the direction.\n"
    "Without keys it is MMD's default: (0, 10, -45) towards (0, 10, 0), 30 degrees. Keys\n"
    "without perspective are treated as if they had it; Motion.camera.perspective has the flag.\n\n"
    "Raises ValueError for a frame that is not finite.";

/* (F,): true at the frame numbers of a sequence, each of which must be among the frames. */
static bool *parse_cuts(PyObject *cuts, uint32_t first, size_t frame_count)
{
    mmd_py_array numbers = {0};
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
    mmd_py_array_clear(&numbers);
    if (valid)
        return flags;
    PyMem_Free(flags);
    return NULL;
}

static mmd_motion *fit_camera(mmd_py_state *state, const mmd_py_render_scene *scene,
                              const mmd_camera_fit_job *options)
{
    mmd_camera_fit_job job = *options;
    mmd_camera *repeated = NULL;
    mmd_error err = {0};
    job.cameras = scene->cameras;
    if (scene->camera_frames == 1 && job.frame_count > 1) {
        job.cameras = repeated = PyMem_Calloc(job.frame_count, sizeof *repeated);
        if (!repeated) {
            PyErr_NoMemory();
            return NULL;
        }
        for (size_t f = 0; f < job.frame_count; f++)
            repeated[f] = scene->cameras[0];
    }
    mmd_py_batch_runner batches = mmd_py_batch_runner_of(state, NULL);
    mmd_motion *motion = mmd_camera_fit(&job, &batches.runner, &err);
    PyMem_Free(repeated);
    if (!motion)
        mmd_py_exceptions_raise(state, &err);
    return motion;
}

PyObject *mmd_py_motion_from_camera(PyObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"camera", "frames", "tolerance", "degrees", "cuts", NULL};
    mmd_py_state *state = PyType_GetModuleState((PyTypeObject *)type);
    PyObject *camera, *frames = Py_None, *no_cuts = PyTuple_New(0), *cuts = no_cuts, *made = NULL;
    PyObject *tolerance_argument = NULL, *degrees_argument = NULL;
    double tolerance = 0.02, degrees = 0.05;
    mmd_py_render_scene scene = {0};
    if (no_cuts &&
        PyArg_ParseTupleAndKeywords(args, kwargs, "O|O$OOO:from_camera", names, &camera, &frames,
                                    &tolerance_argument, &degrees_argument, &cuts) &&
        mmd_py_argument_positive(tolerance_argument, "tolerance", &tolerance) &&
        mmd_py_argument_positive(degrees_argument, "degrees", &degrees)) {
        mmd_camera_fit_job job = {.tolerance = tolerance,
                                  .angle_tolerance = degrees / 57.29577951308232};
        if (camera == Py_None)
            PyErr_SetString(PyExc_TypeError, "camera: expected a Camera, not None");
        else if (!mmd_py_render_scene_set_camera(&scene, state, camera))
            made = NULL;
        else if (!scene.camera_frames)
            PyErr_SetString(PyExc_ValueError, "camera: no frames");
        else if (mmd_py_argument_frame_range(frames, &scene.camera_frames, &job.first_frame)) {
            bool *flags = parse_cuts(cuts, job.first_frame, scene.camera_frames);
            job.frame_count = scene.camera_frames;
            job.cuts = flags;
            mmd_motion *motion = flags ? fit_camera(state, &scene, &job) : NULL;
            made = motion ? mmd_py_motion_new(state, motion, NULL) : NULL;
            PyMem_Free(flags);
        }
    }
    mmd_py_render_scene_free(&scene);
    Py_XDECREF(no_cuts);
    return made;
}

const char mmd_py_motion_from_camera_doc[] =
    "from_camera($type, camera, frames=None, *, tolerance=0.02, degrees=0.05, cuts=())\n--\n\n"
    "A Motion with few camera keys, the inverse of camera_at().\n\n"
    "camera: a Camera of every frame: position, target and up (F,3), fov (F,).\n"
    "frames: the frame numbers, whole and consecutive; None: 0, 1, 2 and so on.\n"
    "tolerance: of target and distance, model units. degrees: of the three angles.\n"
    "cuts: the frame numbers at which a new shot begins.\n"
    "View angles at keys are whole degrees, as in the file format: within half a degree.\n\n"
    "Raises ValueError for numbers that are not finite and cameras without a direction.";
