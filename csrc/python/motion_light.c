/* SPDX-License-Identifier: MIT */
/* Motion.light_at() and Motion.shadow_at(). */
#include "python/argument.h"
#include "python/batch.h"
#include "python/types.h"

typedef struct light_samples {
    const mmd_light_track *track;
    const double *frames;
    float *colors, *directions;
} light_samples;

static bool sample_lights(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    const light_samples *call = arg;
    (void)worker, (void)err;
    for (size_t f = first; f < first + count; f++) {
        mmd_light light;
        mmd_light_at(call->track, call->frames[f], &light);
        for (size_t i = 0; i < 3; i++) {
            call->colors[3 * f + i] = (float)light.color[i];
            call->directions[3 * f + i] = (float)light.direction[i];
        }
    }
    return true;
}

PyObject *mmd_py_motion_light_at(PyObject *self, PyObject *frames_arg)
{
    mmd_py_array frames = {0}, colors = {0}, directions = {0};
    bool ok = mmd_py_argument_finite_frames(frames_arg, "frames", &frames);
    bool batched = frames.rank == 1;
    const size_t shape[] = {batched ? frames.shape[0] : 1, 3};
    PyObject *light = NULL;
    if (ok && mmd_py_array_new_floats(1 + batched, shape + !batched, &colors) &&
        mmd_py_array_new_floats(1 + batched, shape + !batched, &directions)) {
        light_samples call = {&mmd_py_motion_data(self)->light, frames.data, colors.data,
                              directions.data};
        if (mmd_py_batch_run_samples(mmd_py_state_of(self), shape[0], sample_lights, &call))
            light =
                PyObject_CallFunctionObjArgs(mmd_py_state_of(self)->records[MMD_PY_RECORD_LIGHT],
                                             colors.object, directions.object, NULL);
    }
    mmd_py_array_clear(&frames);
    mmd_py_array_clear(&colors);
    mmd_py_array_clear(&directions);
    return light;
}

typedef struct shadow_samples {
    const mmd_shadow_track *track;
    const double *frames;
    uint8_t *modes;
    float *distances;
} shadow_samples;

static bool sample_shadows(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    const shadow_samples *call = arg;
    (void)worker, (void)err;
    for (size_t f = first; f < first + count; f++) {
        mmd_shadow shadow;
        mmd_shadow_at(call->track, call->frames[f], &shadow);
        call->modes[f] = shadow.mode;
        call->distances[f] = (float)shadow.distance;
    }
    return true;
}

PyObject *mmd_py_motion_shadow_at(PyObject *self, PyObject *frames_arg)
{
    mmd_py_array frames = {0}, modes = {0}, distances = {0};
    bool ok = mmd_py_argument_finite_frames(frames_arg, "frames", &frames);
    const size_t count = frames.rank == 1 ? frames.shape[0] : 1;
    PyObject *shadow = NULL;
    if (ok && mmd_py_array_new(MMD_PY_UINT8, frames.rank, &count, &modes) &&
        mmd_py_array_new_floats(frames.rank, &count, &distances)) {
        shadow_samples call = {&mmd_py_motion_data(self)->shadow, frames.data, modes.data,
                               distances.data};
        if (mmd_py_batch_run_samples(mmd_py_state_of(self), count, sample_shadows, &call))
            shadow =
                PyObject_CallFunctionObjArgs(mmd_py_state_of(self)->records[MMD_PY_RECORD_SHADOW],
                                             modes.object, distances.object, NULL);
    }
    mmd_py_array_clear(&frames);
    mmd_py_array_clear(&modes);
    mmd_py_array_clear(&distances);
    return shadow;
}

const char mmd_py_motion_light_at_doc[] =
    "light_at($self, frames, /)\n--\n\n"
    "The light of the motion at these frames. Returns a Light, whose members render() takes as\n"
    "light_color and light.\n\n"
    "frames: a number (30 frames per second, fractions allowed) for color and direction (3,)\n"
    "    float32, or (F,) numbers in any order for (F,3).\n"
    "Both change linearly from key to key. Before the first key the first values apply, after\n"
    "the last key the last; keys on consecutive frames are a cut. Without keys it is MMD's\n"
    "default: (154, 154, 154) / 255 along (-0.5, -1, 0.5).\n\n"
    "Raises ValueError for a frame that is not finite.";

const char mmd_py_motion_shadow_at_doc[] =
    "shadow_at($self, frames, /)\n--\n\n"
    "Self-shadowing of the motion at these frames. Returns a Shadow: mode (0 off, 1 or 2) uint8\n"
    "and distance (as in the file) float32, () for a frame and (F,) for (F,) frames.\n\n"
    "Modes change at keys, distances linearly from key to key; keys on consecutive frames are a\n"
    "cut. Without keys the mode is 0 and the distance 0.01125, which MMD's panel shows as 8875.\n\n"
    "Raises ValueError for a frame that is not finite.";
