/* SPDX-License-Identifier: MIT */
#include "python/pose_arguments.h"

#include "python/named_values.h"

bool mmd_model_check(mmd_state *state, PyObject *model)
{
    if (Py_TYPE(model) == state->model_type)
        return true;
    PyErr_Format(PyExc_TypeError, "model: expected a Model, not %R", (PyObject *)Py_TYPE(model));
    return false;
}

bool mmd_motion_check(mmd_state *state, PyObject *motion)
{
    if (motion == Py_None || Py_TYPE(motion) == state->motion_type)
        return true;
    PyErr_Format(PyExc_TypeError, "motion: expected a Motion or None, not %R",
                 (PyObject *)Py_TYPE(motion));
    return false;
}

/* Local values as two arrays, or as a dict of the bones that move. */
static bool take_locals(PyObject *self, PyObject *given_translations, PyObject *given_rotations,
                        mmd_array *translations, mmd_array *rotations, mmd_pose_job *job,
                        bool *batch)
{
    if (given_translations == Py_None && given_rotations == Py_None) {
        job->translation_frames = job->rotation_frames = 1;
        return true;
    }
    const size_t bones = mmd_model_data(self)->bone_count;
    const size_t vectors[] = {MMD_ANY, bones, 3}, quaternions[] = {MMD_ANY, bones, 4};
    if (given_translations == Py_None) {
        if (!mmd_array_from_frames(given_rotations, "rotations", MMD_FLOAT32, 2, quaternions, "F",
                                   rotations, &job->rotation_frames, batch))
            return false;
        job->translation_frames = 1;
    } else if (PyDict_Check(given_translations) && given_rotations != Py_None) {
        PyErr_SetString(PyExc_TypeError, "rotations: a dict of bones has them already");
        return false;
    } else if (given_rotations == Py_None) {
        if (!mmd_named_bones(self, given_translations, translations, rotations,
                             &job->translation_frames, batch))
            return false;
        job->rotation_frames = job->translation_frames;
    } else if (!mmd_array_from_frames(given_translations, "translations", MMD_FLOAT32, 2, vectors,
                                      "F", translations, &job->translation_frames, batch) ||
               !mmd_array_from_frames(given_rotations, "rotations", MMD_FLOAT32, 2, quaternions,
                                      "F", rotations, &job->rotation_frames, batch)) {
        return false;
    }
    job->translations = translations->data;
    job->rotations = rotations->data;
    return true;
}

/* Whether IK runs: one truth, or one for each bone. */
static bool take_ik(PyObject *argument, const mmd_model *model, mmd_array *switches,
                    mmd_pose_job *job, bool *batch)
{
    const size_t shape[] = {MMD_ANY, model->bone_count};
    if (argument && PySequence_Check(argument)) {
        if (!mmd_array_from_frames(argument, "ik", MMD_BOOL, 1, shape, "F", switches,
                                   &job->ik_frames, batch))
            return false;
        job->ik_bones = switches->data;
    }
    int on = !argument || job->ik_bones ? 1 : PyObject_IsTrue(argument);
    job->ik = on > 0;
    return on >= 0;
}

/* The number of frames of a job is that of whatever has more than one. */
static size_t count_frames(const mmd_pose_job *job)
{
    const size_t counts[] = {job->translation_frames, job->rotation_frames, job->slider_frames};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] != 1)
            return counts[i];
    return job->ik_frames;
}

bool mmd_given_take(PyObject *model, mmd_given_pose *given)
{
    mmd_pose_job *job = &given->job;
    job->slider_frames = job->ik_frames = 1;
    if (!take_locals(model, given->translations, given->rotations, &given->arrays[0],
                     &given->arrays[1], job, &given->batch))
        return false;
    const size_t weight_shape[] = {MMD_ANY, mmd_model_data(model)->morph_count};
    if (given->weights != Py_None &&
        !mmd_array_from_frames(given->weights, "morph_weights", MMD_FLOAT32, 1, weight_shape, "F",
                               &given->arrays[2], &job->slider_frames, &given->batch))
        return false;
    if (!take_ik(given->ik, mmd_model_data(model), &given->arrays[3], job, &given->batch))
        return false;
    job->given_sliders = given->arrays[2].data;
    job->frame_count = count_frames(job);
    return true;
}

void mmd_given_clear(mmd_given_pose *given)
{
    for (size_t i = 0; i < sizeof given->arrays / sizeof *given->arrays; i++)
        mmd_array_clear(&given->arrays[i]);
}

bool mmd_pose_arrays_new(const mmd_model *model, bool batch, size_t frames, mmd_pose_arrays *arrays)
{
    const size_t matrix_shape[] = {frames, model->bone_count, 4, 4};
    const size_t weight_shape[] = {frames, model->morph_count};
    return mmd_array_new(batch ? 4 : 3, matrix_shape + !batch, &arrays->matrices) &&
           mmd_array_new(batch ? 2 : 1, weight_shape + !batch, &arrays->weights);
}

void mmd_pose_arrays_clear(mmd_pose_arrays *arrays)
{
    mmd_array_clear(&arrays->matrices);
    mmd_array_clear(&arrays->weights);
}

PyObject *mmd_pose_object(mmd_state *state, const mmd_pose_arrays *arrays)
{
    return PyObject_CallFunctionObjArgs(state->records[MMD_RECORD_POSE], arrays->matrices.object,
                                        arrays->weights.object, NULL);
}
