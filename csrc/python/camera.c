/* SPDX-License-Identifier: MIT */
#include "core/base/numbers.h"
#include "python/arguments.h"
#include "python/state.h"

#include <math.h>

enum { POSITION, TARGET, UP, FOV, MEMBERS };

static bool check_frames(const mmd_array *frames)
{
    const double *numbers = frames->data;
    size_t count = frames->rank ? frames->shape[0] : 1;
    for (size_t f = 0; f < count; f++)
        if (!isfinite(numbers[f])) {
            PyErr_Format(PyExc_ValueError, "frames: number %zu is %s", f,
                         mmd_not_finite_name(numbers[f]));
            return false;
        }
    return true;
}

static void sample(const mmd_camera_track *track, const double *frames, size_t count,
                   float *const members[MEMBERS])
{
    for (size_t f = 0; f < count; f++) {
        mmd_camera camera;
        mmd_camera_at(track, frames[f], &camera);
        for (size_t i = 0; i < 3; i++) {
            members[POSITION][3 * f + i] = (float)camera.position[i];
            members[TARGET][3 * f + i] = (float)camera.target[i];
            members[UP][3 * f + i] = (float)camera.up[i];
        }
        members[FOV][f] = (float)camera.fov;
    }
}

PyObject *mmd_py_camera_at(PyObject *self, PyObject *given)
{
    const mmd_camera_track *track = &mmd_motion_data(self)->camera;
    mmd_array frames = {0}, members[MEMBERS] = {{0}};
    float *numbers[MEMBERS];
    bool made = mmd_frames_take(given, "frames", &frames) && check_frames(&frames);
    bool batch = frames.rank == 1;
    size_t count = batch ? frames.shape[0] : 1;
    const size_t shape[] = {count, 3};
    for (int i = 0; made && i < MEMBERS; i++) {
        made = mmd_array_new(i == FOV ? batch : 1 + batch, shape + !batch, &members[i]);
        numbers[i] = members[i].data;
    }
    PyObject *camera = NULL;
    if (made) {
        Py_BEGIN_ALLOW_THREADS
        sample(track, frames.data, count, numbers);
        Py_END_ALLOW_THREADS
        camera = PyObject_CallFunctionObjArgs(mmd_state_of(self)->records[MMD_RECORD_CAMERA],
                                              members[POSITION].object, members[TARGET].object,
                                              members[UP].object, members[FOV].object, NULL);
    }
    mmd_array_clear(&frames);
    for (int i = 0; i < MEMBERS; i++)
        mmd_array_clear(&members[i]);
    return camera;
}

const char mmd_camera_at_doc[] =
    "camera_at($self, frames, /)\n--\n\n"
    "The motion's camera by MMD's curves, a Camera as render() takes it.\n\n"
    "frames: a number (30 frames a second, may be fractional), then position, target and up are\n"
    "    (3,) float32 and fov is (); or (F,) numbers in any order, then (F,3) and (F,).\n"
    "Before the first key it holds, after the last the last; keys on neighbouring frames are a "
    "cut,\n"
    "and nothing lies between them. A camera at its target or beyond it, looking away, has a "
    "target\n"
    "one unit ahead. None is nearer than a 4096th of how far out the camera is, so that float32 "
    "still\n"
    "has the way there. Without keys: MMD's own, (0, 10, -45) towards (0, 10, 0) with 30 degrees. "
    "Keys\n"
    "without perspective are taken as if they had it; Motion.camera.perspective tells.\n\n"
    "Raises ValueError for a frame that is not finite.";
