/* SPDX-License-Identifier: MIT */
/* Parses the arguments of a pose, and allocates its arrays. */
#include "python/pose_io.h"

#include "python/owned.h"
#include "python/record.h"
#include "python/types.h"

/* An array (B,width) or (F,B,width); None leaves it empty, with one frame. */
static bool parse_array(PyObject *argument, const char *name, size_t bones, size_t width,
                        mmd_py_array *array, size_t *frames, bool *batched)
{
    const size_t shape[] = {MMD_PY_ANY, bones, width};
    *frames = 1;
    return argument == Py_None || mmd_py_array_from_frames(argument, name, MMD_PY_FLOAT32, 2, shape,
                                                           "F", array, frames, batched);
}

/* Two arrays, or a dict of the bones that move. */
static bool parse_local_values(PyObject *model, mmd_py_pose_input *input)
{
    mmd_pose_job *job = &input->job;
    mmd_py_array *translations = &input->arrays[0], *rotations = &input->arrays[1];
    const size_t bones = mmd_py_model_of(model)->model->bone_count;
    bool parsed;
    if (PyDict_Check(input->translations) && input->rotations != Py_None)
        return PyErr_Format(PyExc_TypeError,
                            "rotations: expected None, as the dict includes rotations");
    if (input->translations != Py_None && input->rotations == Py_None) {
        parsed = mmd_py_model_names_parse_bones(model, input->translations, translations, rotations,
                                                &job->translation_frames, &input->batched);
        job->rotation_frames = job->translation_frames;
    } else {
        parsed = parse_array(input->translations, "translations", bones, 3, translations,
                             &job->translation_frames, &input->batched) &&
                 parse_array(input->rotations, "rotations", bones, 4, rotations,
                             &job->rotation_frames, &input->batched);
    }
    job->translations = translations->data;
    job->rotations = rotations->data;
    return parsed;
}

/* A bool, or one for each bone. */
static bool parse_ik(PyObject *argument, const mmd_model *model, mmd_py_array *bones_on,
                     mmd_pose_job *job, bool *batched)
{
    const size_t shape[] = {MMD_PY_ANY, model->bone_count};
    if (argument && PySequence_Check(argument)) {
        if (!mmd_py_array_from_frames(argument, "ik", MMD_PY_BOOL, 1, shape, "F", bones_on,
                                      &job->ik_frames, batched))
            return false;
        job->ik_bones = bones_on->data;
    }
    int on = !argument || job->ik_bones ? 1 : PyObject_IsTrue(argument);
    job->ik = on > 0;
    return on >= 0;
}

/* The frame count of a job: that of any argument with more than one frame. */
static size_t count_frames(const mmd_pose_job *job)
{
    const size_t counts[] = {job->translation_frames, job->rotation_frames,
                             job->morph_weight_frames};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] != 1)
            return counts[i];
    return job->ik_frames;
}

bool mmd_py_pose_input_parse(PyObject *model, mmd_py_pose_input *input)
{
    mmd_pose_job *job = &input->job;
    job->morph_weight_frames = job->ik_frames = 1;
    if (!parse_local_values(model, input))
        return false;
    const size_t weight_shape[] = {MMD_PY_ANY, mmd_py_model_of(model)->model->morph_count};
    if (input->weights != Py_None &&
        !mmd_py_array_from_frames(input->weights, "morph_weights", MMD_PY_FLOAT32, 1, weight_shape,
                                  "F", &input->arrays[2], &job->morph_weight_frames,
                                  &input->batched))
        return false;
    if (!parse_ik(input->ik, mmd_py_model_of(model)->model, &input->arrays[3], job,
                  &input->batched))
        return false;
    job->morph_weights = input->arrays[2].data;
    job->frame_count = count_frames(job);
    return true;
}

void mmd_py_pose_input_clear(mmd_py_pose_input *input)
{
    for (size_t i = 0; i < sizeof input->arrays / sizeof *input->arrays; i++)
        mmd_py_array_clear(&input->arrays[i]);
}

PyObject *mmd_py_pose_input_values(PyObject *module, PyObject *args)
{
    MMD_PY_CLEARED_BY(mmd_py_pose_input_clear) mmd_py_pose_input input = {0};
    PyObject *model, *values[3];
    if (!PyArg_ParseTuple(args, "O!OOO:_local_values",
                          mmd_py_state_of_module(module)->types[MMD_PY_MODEL], &model,
                          &input.translations, &input.rotations, &input.weights) ||
        !mmd_py_pose_input_parse(model, &input))
        return NULL;
    for (int i = 0; i < 3; i++)
        values[i] = input.arrays[i].object ? input.arrays[i].object : Py_None;
    return PyTuple_Pack(3, values[0], values[1], values[2]);
}

void mmd_py_pose_arrays_clear(mmd_py_pose_arrays *arrays)
{
    mmd_py_array_clear(&arrays->matrices);
    mmd_py_array_clear(&arrays->weights);
}

PyObject *mmd_py_pose_output_record(PyObject *model, bool batched, size_t frame_count,
                                    mmd_py_pose_arrays *output)
{
    const mmd_model *data = mmd_py_model_of(model)->model;
    const size_t matrix_shape[] = {frame_count, data->bone_count, 4, 4};
    const size_t weight_shape[] = {frame_count, data->morph_count};
    return mmd_py_array_new_floats(batched ? 4 : 3, matrix_shape + !batched, &output->matrices) &&
                   mmd_py_array_new_floats(batched ? 2 : 1, weight_shape + !batched,
                                           &output->weights)
               ? PyObject_CallFunctionObjArgs(mmd_py_state_of(model)->records[MMD_PY_RECORD_POSE],
                                              output->matrices.object, output->weights.object, NULL)
               : NULL;
}

PyObject *mmd_py_pose_output_records(PyObject *models, bool is_list, bool batched,
                                     size_t frame_count, mmd_py_pose_arrays *outputs)
{
    if (!is_list)
        return mmd_py_pose_output_record(PyTuple_GetItem(models, 0), batched, frame_count,
                                         &outputs[0]);
    size_t count = (size_t)PyTuple_Size(models);
    PyObject *result = PyTuple_New((Py_ssize_t)count);
    for (size_t m = 0; result && m < count; m++)
        mmd_py_record_tuple_set(&result, m,
                                mmd_py_pose_output_record(PyTuple_GetItem(models, (Py_ssize_t)m),
                                                          batched, frame_count, &outputs[m]));
    return result;
}
