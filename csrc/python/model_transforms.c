/* SPDX-License-Identifier: MIT */
/* Model.joint_positions(), transforms() and skinning_matrices(): where bones are. */
#include "python/types.h"

#include "core/base/error.h"
#include "core/model/model.h"
#include "core/pose/pose.h"
#include "python/argument.h"
#include "python/batch.h"
#include "python/exceptions.h"
#include "python/owned.h"
#include "python/pose_io.h"

enum { CHUNK_BONES = 1 << 18 }; /* about 10 ms */

typedef enum conversion { TRANSFORMS, SKINNING_MATRICES } conversion;

typedef struct transforms_call {
    const mmd_model *model;
    conversion kind;
    mmd_bone_space space;
    const float *from;
    float *to;
    size_t *order;  /* SKINNING_MATRICES: parents first */
    double *worlds; /* and 12 numbers per bone for each thread */
} transforms_call;

static bool convert_frame(const transforms_call *call, size_t worker, size_t frame, mmd_error *err)
{
    size_t bones = call->model->bone_count, width = call->space == MMD_BONE_POSITIONS ? 3 : 16, bad;
    const float *from = call->from + 16 * bones * frame;
    float *to = call->to + width * bones * frame;
    if (call->kind == SKINNING_MATRICES) {
        mmd_bone_spaces_to_skinning(call->model, call->space, call->order, from,
                                    call->worlds + 12 * bones * worker, to);
        return true;
    }
    if (mmd_bone_spaces_from_skinning(call->model, call->space, from, to, &bad))
        return true;
    return mmd_refuse(err, "pose: frame %zu, bone %zu: matrix has no inverse", frame, bad);
}

static bool run_task(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    const transforms_call *call = arg;
    for (size_t f = first; f < first + count; f++)
        if (!convert_frame(call, worker, f, err))
            return false;
    return true;
}

/* Memory for SKINNING_MATRICES. */
static bool allocate(transforms_call *call, size_t threads)
{
    size_t bones = call->model->bone_count;
    if (call->kind != SKINNING_MATRICES)
        return true;
    call->order = PyMem_Calloc(bones + 1, sizeof *call->order);
    call->worlds = PyMem_Calloc(12 * bones * threads + 1, sizeof *call->worlds);
    return (call->order && call->worlds &&
            mmd_model_order(call->model->bones, offsetof(mmd_bone, parent), sizeof(mmd_bone),
                            call->model->bone_count, call->order)) ||
           PyErr_NoMemory();
}

static bool run_frames(transforms_call *call, size_t frame_count)
{
    mmd_py_batch batch;
    size_t bones = call->model->bone_count;
    bool done = mmd_py_batch_plan(Py_None, bones ? frame_count : 0, bones, CHUNK_BONES, &batch) &&
                allocate(call, batch.threads) && mmd_py_batch_run(&batch, run_task, call);
    PyMem_Free(call->worlds);
    PyMem_Free(call->order);
    return done;
}

/* The array that a conversion gives. */
static PyObject *convert(PyObject *model, conversion kind, int space, const mmd_py_array *matrices,
                         size_t frame_count, bool batched)
{
    const mmd_model *data = mmd_py_model_of(model)->model;
    const size_t positions[] = {frame_count, data->bone_count, 3};
    const size_t transforms[] = {frame_count, data->bone_count, 4, 4};
    const size_t *shape = space == MMD_BONE_POSITIONS ? positions : transforms;
    int rank = space == MMD_BONE_POSITIONS ? 3 : 4;
    mmd_py_array out = {0};
    transforms_call call = {
        .model = data, .kind = kind, .space = (mmd_bone_space)space, .from = matrices->data};
    if (!mmd_py_array_new_floats(rank - !batched, shape + !batched, &out))
        return NULL;
    call.to = out.data;
    if (!run_frames(&call, frame_count))
        mmd_py_array_clear(&out);
    return out.object;
}

static PyObject *convert_pose(PyObject *model, PyObject *argument, int space)
{
    MMD_PY_CLEARED_BY(mmd_py_pose_arrays_clear) mmd_py_pose_arrays pose = {0};
    PyObject *result = NULL;
    if (mmd_py_model_locals_parse(model, argument, &pose))
        result = convert(model, TRANSFORMS, space, &pose.matrices, pose.frame_count, pose.batched);
    return result;
}

static bool parse_space(PyObject *args, PyObject *kwargs, const char *format, PyObject **argument,
                        int *space)
{
    static char *names[] = {"", "space", NULL};
    static const char *const words[] = {[MMD_BONE_WORLD] = "world", [MMD_BONE_LOCAL] = "local"};
    PyObject *word = NULL;
    *space = MMD_BONE_WORLD;
    return PyArg_ParseTupleAndKeywords(args, kwargs, format, names, argument, &word) &&
           mmd_py_argument_word(word, "space", words, 2, space);
}

PyObject *mmd_py_model_joint_positions(PyObject *model, PyObject *pose)
{
    return convert_pose(model, pose, MMD_BONE_POSITIONS);
}

PyObject *mmd_py_model_transforms(PyObject *model, PyObject *args, PyObject *kwargs)
{
    PyObject *pose;
    int space;
    if (!parse_space(args, kwargs, "O|O:transforms", &pose, &space))
        return NULL;
    return convert_pose(model, pose, space);
}

PyObject *mmd_py_model_skinning_matrices(PyObject *model, PyObject *args, PyObject *kwargs)
{
    PyObject *transforms, *result = NULL;
    int space;
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array matrices = {0};
    size_t frames;
    bool batched = false;
    if (!parse_space(args, kwargs, "O|O:skinning_matrices", &transforms, &space))
        return NULL;
    if (mmd_py_bone_matrices_from(transforms, "transforms",
                                  mmd_py_model_of(model)->model->bone_count, &matrices, &frames,
                                  &batched) &&
        mmd_py_bone_matrices_check_finite(&matrices, "transforms"))
        result = convert(model, SKINNING_MATRICES, space, &matrices, frames, batched);
    return result;
}
