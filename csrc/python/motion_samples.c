/* SPDX-License-Identifier: MIT */
/* Motion.camera_at(), light_at() and shadow_at(): records of arrays of a track's values. */
#include "python/argument.h"
#include "python/batch.h"
#include "python/owned.h"
#include "python/types.h"

enum { MAX_MEMBERS = 4 };

/* What a track gives at a frame: the members of a record. */
typedef struct track_values {
    mmd_py_record_kind record;
    mmd_thread_pool_task *sample; /* its argument: track_samples */
    size_t member_count;
    struct {
        mmd_py_array_dtype dtype;
        bool vector; /* of three numbers; false: one */
    } members[MAX_MEMBERS];
} track_values;

typedef struct track_samples {
    const void *track;
    const double *frames;
    void *members[MAX_MEMBERS]; /* (F,3) or (F,) */
} track_samples;

static PyObject *sample_track(PyObject *self, PyObject *frames_arg, const track_values *values,
                              const void *track)
{
    mmd_py_state *state = mmd_py_state_of(self);
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array frames = {0};
    mmd_py_array members[MAX_MEMBERS] = {{0}};
    bool ok = mmd_py_argument_finite_frames(frames_arg, "frames", &frames);
    bool batched = frames.rank == 1;
    const size_t shape[] = {batched ? frames.shape[0] : 1, 3};
    track_samples samples = {.track = track, .frames = frames.data};
    for (size_t i = 0; ok && i < values->member_count; i++) {
        ok = mmd_py_array_new(values->members[i].dtype, values->members[i].vector + batched,
                              shape + !batched, &members[i]);
        samples.members[i] = members[i].data;
    }
    PyObject *record = NULL;
    /* Members that the record lacks are NULL, which ends the arguments. */
    if (ok && mmd_py_batch_run_samples(shape[0], values->sample, &samples))
        record = PyObject_CallFunctionObjArgs(state->records[values->record], members[0].object,
                                              members[1].object, members[2].object,
                                              members[3].object, NULL);
    for (size_t i = 0; i < values->member_count; i++)
        mmd_py_array_clear(&members[i]);
    return record;
}

static void store(const track_samples *samples, size_t member, size_t frame, const double v[3])
{
    float *to = (float *)samples->members[member] + 3 * frame;
    for (size_t i = 0; i < 3; i++)
        to[i] = (float)v[i];
}

static bool sample_cameras(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    const track_samples *samples = arg;
    for (size_t f = first; f < first + count; f++) {
        mmd_camera camera;
        mmd_camera_at(samples->track, samples->frames[f], &camera);
        store(samples, 0, f, camera.position);
        store(samples, 1, f, camera.target);
        store(samples, 2, f, camera.up);
        ((float *)samples->members[3])[f] = (float)camera.fov;
    }
    return true;
}

static bool sample_lights(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    const track_samples *samples = arg;
    for (size_t f = first; f < first + count; f++) {
        mmd_light light;
        mmd_light_at(samples->track, samples->frames[f], &light);
        store(samples, 0, f, light.color);
        store(samples, 1, f, light.direction);
    }
    return true;
}

static bool sample_shadows(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    const track_samples *samples = arg;
    for (size_t f = first; f < first + count; f++) {
        mmd_shadow shadow;
        mmd_shadow_at(samples->track, samples->frames[f], &shadow);
        ((uint8_t *)samples->members[0])[f] = shadow.mode;
        ((float *)samples->members[1])[f] = (float)shadow.distance;
    }
    return true;
}

PyObject *mmd_py_motion_camera_at(PyObject *self, PyObject *frames)
{
    static const track_values camera = {MMD_PY_RECORD_CAMERA,
                                        sample_cameras,
                                        4,
                                        {{MMD_PY_FLOAT32, true},
                                         {MMD_PY_FLOAT32, true},
                                         {MMD_PY_FLOAT32, true},
                                         {MMD_PY_FLOAT32, false}}};
    return sample_track(self, frames, &camera, &mmd_py_motion_data(self)->camera);
}

PyObject *mmd_py_motion_light_at(PyObject *self, PyObject *frames)
{
    static const track_values light = {
        MMD_PY_RECORD_LIGHT, sample_lights, 2, {{MMD_PY_FLOAT32, true}, {MMD_PY_FLOAT32, true}}};
    return sample_track(self, frames, &light, &mmd_py_motion_data(self)->light);
}

PyObject *mmd_py_motion_shadow_at(PyObject *self, PyObject *frames)
{
    static const track_values shadow = {
        MMD_PY_RECORD_SHADOW, sample_shadows, 2, {{MMD_PY_UINT8, false}, {MMD_PY_FLOAT32, false}}};
    return sample_track(self, frames, &shadow, &mmd_py_motion_data(self)->shadow);
}
