/* SPDX-License-Identifier: MIT */
/* What morphs make of a model beside its vertices: texture coordinates and materials. */
#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/data/morph.h"
#include "python/arguments.h"
#include "python/records.h"
#include "python/slices.h"

static bool take_weights(PyObject *self, PyObject *argument, mmd_array *weights, size_t *frames,
                         bool *batch)
{
    const mmd_model *model = mmd_model_data(self);
    const size_t shape[] = {MMD_ANY, model->morph_count};
    mmd_error err = {0};
    if (!mmd_array_from_frames(argument, "morph_weights", MMD_FLOAT32, 1, shape, "F", weights,
                               frames, batch))
        return false;
    if (mmd_morph_check(weights->data, *frames, model->morph_count, &err))
        return true;
    mmd_raise(mmd_state_of(self), &err);
    return false;
}

/* Final weights of all morphs of one frame; freed by PyMem_Free. */
static float *final_weights(const mmd_model *model, const float *sliders)
{
    float *weights = PyMem_Calloc(model->morph_count + 1, sizeof *weights);
    if (weights)
        mmd_morph_weights(model->morphs, model->morph_count, sliders, weights);
    if (!weights)
        PyErr_NoMemory();
    return weights;
}

enum { SLICE_UVS = 1 << 22 };

typedef struct uvs_call {
    const mmd_model *model;
    const float *sliders;
    int channel;
    size_t width;
    float *uvs;
} uvs_call;

static bool run_uvs(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    (void)worker;
    const uvs_call *call = arg;
    const mmd_model *model = call->model;
    mmd_arena temporary = {0};
    float *weights = mmd_arena_alloc(&temporary, model->morph_count, sizeof *weights);
    for (size_t f = first; weights && f < first + count; f++) {
        mmd_morph_weights(model->morphs, model->morph_count, call->sliders + f * model->morph_count,
                          weights);
        mmd_morph_uvs(model, weights, call->channel,
                      call->uvs + f * model->vertex_count * call->width);
    }
    mmd_arena_free(&temporary);
    return weights || mmd_fail_memory(err);
}

PyObject *mmd_py_uvs_at(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"morph_weights", "channel", NULL};
    PyObject *given, *given_channel = NULL;
    long channel = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:uvs_at", names, &given, &given_channel) ||
        (given_channel && !mmd_integer_take(given_channel, "channel", 0, 4, &channel)))
        return NULL;
    const mmd_model *model = mmd_model_data(self);
    mmd_array weights = {0}, uvs = {0};
    size_t frames = 1, width = channel == 0 ? 2 : 4;
    bool batch = false;
    bool taken = take_weights(self, given, &weights, &frames, &batch);
    const size_t shape[] = {frames, model->vertex_count, width};
    taken = taken && mmd_array_new(batch ? 3 : 2, shape + !batch, &uvs);
    uvs_call call = {model, weights.data, (int)channel, width, uvs.data};
    mmd_slices slices;
    taken = taken && mmd_slices_plan(NULL, frames, model->vertex_count, SLICE_UVS, &slices) &&
            mmd_slices_run(mmd_state_of(self), &slices, run_uvs, &call);
    PyObject *result = taken ? Py_NewRef(uvs.object) : NULL;
    mmd_array_clear(&weights);
    mmd_array_clear(&uvs);
    return result;
}

PyObject *mmd_py_materials_at(PyObject *self, PyObject *given)
{
    mmd_state *state = mmd_state_of(self);
    const mmd_model *model = mmd_model_data(self);
    mmd_array weights = {0};
    size_t frames;
    bool batch = false;
    PyObject *result = NULL;
    if (!take_weights(self, given, &weights, &frames, &batch))
        return NULL;
    if (batch) {
        PyErr_Format(PyExc_ValueError, "morph_weights: a batch of frames, expected (%zu,)",
                     model->morph_count);
        mmd_array_clear(&weights);
        return NULL;
    }
    float *used = final_weights(model, weights.data);
    mmd_material *materials = PyMem_Calloc(model->material_count + 1, sizeof *materials);
    mmd_error err = {0};
    if (!used || !materials)
        PyErr_NoMemory();
    else if (!mmd_morph_materials(model, used, materials, &err))
        mmd_raise(state, &err);
    else
        result = mmd_records_of(state, MMD_RECORD_MATERIAL, materials, model->material_count, NULL);
    PyMem_Free(materials);
    PyMem_Free(used);
    mmd_array_clear(&weights);
    return result;
}

const char mmd_uvs_at_doc[] =
    "uvs_at($self, morph_weights, channel=0)\n--\n\n"
    "Texture coordinates with UV morphs applied, float32: (V,2) or (F,V,2) of the main UV, or\n"
    "(..., V, 4) of the additional UV 1 to 4, which starts from zero when the model lacks it.\n\n"
    "morph_weights: (M,) or (F,M) slider values. Raises ValueError for other channels.";

const char mmd_materials_at_doc[] =
    "materials_at($self, morph_weights, /)\n--\n\n"
    "The model's materials with material morphs applied, a tuple of Material: factors multiply "
    "over\n"
    "all morphs, summands add up. morph_weights: (M,) slider values.";
