/* SPDX-License-Identifier: MIT */
/* The values of a camera, light or shadow track at frames, for motion_methods.py. */
#include "python/argument.h"
#include "python/batch.h"
#include "python/owned.h"
#include "python/types.h"

#include <string.h>

enum { CAMERA, LIGHT, SHADOW, TRACKS, MOST = MMD_PY_ARGUMENT_CAMERA_WIDTH };
enum { CHUNK = 1 << 16 }; /* frames between checks for signals: some milliseconds */

static void camera_at(const mmd_motion *motion, double frame, double row[MOST])
{
    mmd_camera camera;
    mmd_camera_at(&motion->camera, frame, &camera);
    memcpy(row, &camera, sizeof camera);
}

static void light_at(const mmd_motion *motion, double frame, double row[MOST])
{
    mmd_light light;
    mmd_light_at(&motion->light, frame, &light);
    memcpy(row, &light, sizeof light);
}

static void shadow_at(const mmd_motion *motion, double frame, double row[MOST])
{
    mmd_shadow shadow;
    mmd_shadow_at(&motion->shadow, frame, &shadow);
    row[0] = shadow.mode;
    row[1] = shadow.distance;
}

static const struct {
    void (*at)(const mmd_motion *motion, double frame, double row[MOST]);
    size_t width;
} tracks[TRACKS] = {
    [CAMERA] = {camera_at, MOST}, [LIGHT] = {light_at, 6}, [SHADOW] = {shadow_at, 2}};

typedef struct samples_call {
    const mmd_motion *motion;
    int track;
    const double *frames;
    float *rows;
} samples_call;

static bool run_task(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    const samples_call *call = arg;
    size_t width = tracks[call->track].width;
    for (size_t f = first; f < first + count; f++) {
        double row[MOST];
        tracks[call->track].at(call->motion, call->frames[f], row);
        for (size_t i = 0; i < width; i++)
            call->rows[f * width + i] = (float)row[i];
    }
    return true;
}

PyObject *mmd_py_motion_samples(PyObject *module, PyObject *args)
{
    PyObject *motion, *frames_argument;
    samples_call call;
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array frames = {0}, rows = {0};
    if (!PyArg_ParseTuple(args, "O!iO:_samples",
                          mmd_py_state_of_module(module)->types[MMD_PY_MOTION], &motion,
                          &call.track, &frames_argument) ||
        !mmd_py_argument_finite_frames(frames_argument, "frames", &frames))
        return NULL;
    bool batched = frames.rank == 1;
    const size_t shape[] = {batched ? frames.shape[0] : 1, tracks[call.track].width};
    if (!mmd_py_array_new_floats(1 + batched, shape + !batched, &rows))
        return NULL;
    call.motion = mmd_py_motion_of(motion)->motion;
    call.frames = frames.data;
    call.rows = rows.data;
    const mmd_py_batch batch = {.frame_count = shape[0], .chunk = CHUNK, .threads = 1};
    return mmd_py_batch_run(&batch, run_task, &call) ? Py_NewRef(rows.object) : NULL;
}
