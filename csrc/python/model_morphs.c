/* SPDX-License-Identifier: MIT */
/* Model.uvs_at(), materials_at() and texture_factors_at(): morphs of texture coordinates and
   materials. */
#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/model/morph.h"
#include "python/argument.h"
#include "python/batch.h"
#include "python/exceptions.h"
#include "python/owned.h"
#include "python/record.h"
#include "python/types.h"

static bool parse_weights(PyObject *self, PyObject *argument, mmd_py_array *weights, size_t *frames,
                          bool *batched)
{
    const mmd_model *model = mmd_py_model_of(self)->model;
    const size_t shape[] = {MMD_PY_ANY, model->morph_count};
    mmd_error err = {0};
    return mmd_py_array_from_frames(argument, "morph_weights", MMD_PY_FLOAT32, 1, shape, "F",
                                    weights, frames, batched) &&
           (mmd_morph_check(weights->data, *frames, model->morph_count, &err) ||
            mmd_py_exceptions_raise(&err));
}

/* What a call computes for each frame: UVs of a channel, or texture factors. */
typedef struct morph_call {
    const mmd_model *model;
    const float *sliders;
    int channel; /* TEXTURE_FACTORS: none */
    float *out;
    size_t row; /* numbers of a frame */
} morph_call;

enum { TEXTURE_FACTORS = -1, CHUNK_NUMBERS = 1 << 22 };

static bool run_task(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    const morph_call *call = arg;
    const mmd_model *model = call->model;
    MMD_PY_CLEARED_BY(mmd_arena_free) mmd_arena temporary = {0};
    float *weights = mmd_arena_alloc(&temporary, model->morph_count, sizeof *weights);
    bool ok = weights || mmd_fail_memory(err);
    for (size_t f = first; ok && f < first + count; f++) {
        float *out = call->out + f * call->row;
        mmd_morph_weights(model->morphs, model->morph_count, call->sliders + f * model->morph_count,
                          weights);
        if (call->channel == TEXTURE_FACTORS)
            ok = mmd_morph_texture_factors(model, weights, out, err);
        else
            mmd_morph_uvs(model, weights, call->channel, out);
    }
    return ok;
}

/* An array of this shape, with the axis of frames in front if the weights have one. */
static PyObject *run_frames(PyObject *self, PyObject *weights_arg, int channel, int rank,
                            const size_t *shape)
{
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array weights = {0}, out = {0};
    size_t frames, lengths[MMD_PY_MAX_RANK], row = 1;
    bool batched = false;
    mmd_py_batch batch;
    if (!parse_weights(self, weights_arg, &weights, &frames, &batched))
        return NULL;
    lengths[0] = frames;
    for (int i = 0; i < rank; i++) {
        lengths[i + 1] = shape[i];
        row *= shape[i];
    }
    if (!mmd_py_array_new_floats(rank + batched, lengths + !batched, &out))
        return NULL;
    morph_call call = {mmd_py_model_of(self)->model, weights.data, channel, out.data, row};
    return mmd_py_batch_plan(NULL, frames, row, CHUNK_NUMBERS, &batch) &&
                   mmd_py_batch_run(&batch, run_task, &call)
               ? Py_NewRef(out.object)
               : NULL;
}

PyObject *mmd_py_model_uvs_at(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"morph_weights", "channel", NULL};
    PyObject *weights, *channel_arg = NULL;
    long channel = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:uvs_at", names, &weights, &channel_arg) ||
        (channel_arg && !mmd_py_argument_int(channel_arg, "channel", 0, 4, &channel)))
        return NULL;
    const size_t shape[] = {mmd_py_model_of(self)->model->vertex_count, channel == 0 ? 2 : 4};
    return run_frames(self, weights, (int)channel, 2, shape);
}

PyObject *mmd_py_model_texture_factors_at(PyObject *self, PyObject *weights)
{
    const size_t shape[] = {mmd_py_model_of(self)->model->material_count, 2, 3, 4};
    return run_frames(self, weights, TEXTURE_FACTORS, 4, shape);
}

PyObject *mmd_py_model_materials_at(PyObject *self, PyObject *weights_arg)
{
    mmd_py_state *state = mmd_py_state_of(self);
    const mmd_model *model = mmd_py_model_of(self)->model;
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array weights = {0};
    size_t frames;
    bool batched = false;
    PyObject *result = NULL;
    if (!parse_weights(self, weights_arg, &weights, &frames, &batched))
        return NULL;
    if (batched)
        return PyErr_Format(PyExc_ValueError, "morph_weights: a batch of frames, expected (%zu,)",
                            model->morph_count);
    float *final = PyMem_Calloc(model->morph_count + 1, sizeof *final);
    mmd_material *materials = PyMem_Calloc(model->material_count + 1, sizeof *materials);
    mmd_error err = {0};
    if (final && materials) {
        mmd_morph_weights(model->morphs, model->morph_count, weights.data, final);
        result = mmd_morph_materials(model, final, materials, &err)
                     ? mmd_py_record_tuple(state, MMD_PY_RECORD_MATERIAL, materials,
                                           model->material_count, NULL)
                     : mmd_py_exceptions_raise(&err);
    } else {
        PyErr_NoMemory();
    }
    PyMem_Free(materials);
    PyMem_Free(final);
    return result;
}
