/* SPDX-License-Identifier: MIT */
/* Motions made of poses: Motion.from_locals and Motion.from_poses. */
#include "core/fit/fit.h"

#include "core/base/error.h"
#include "core/pose/sampling.h"
#include "python/argument.h"
#include "python/batch.h"
#include "python/exceptions.h"
#include "python/fit_type.h"
#include "python/owned.h"
#include "python/pose_io.h"
#include "python/record.h"
#include "python/types.h"

#include <math.h>

typedef enum fit_source { SOURCE_LOCALS, SOURCE_POSES } fit_source;
typedef enum ik_form { IK_AS_KEYED, IK_OFF, IK_BOTH } ik_form;

/* The arguments that both functions share. */
typedef struct fit_options {
    PyObject *frames, *ik, *physics, *like, *threads;
    double tolerance, physics_tolerance;
    PyObject *tolerance_argument, *physics_tolerance_argument;
    ik_form form;
    bool key_physics;
    uint32_t first_frame;
} fit_options;

/* A fit, with the arrays of all frames. */
typedef struct fit_call {
    PyObject *model; /* it and what the options hold: strong references */
    mmd_py_state *state;
    fit_options options;
    size_t frame_count;
    float *translations, *rotations, *morph_weights, *matrices; /* of `arena` or borrowed */
    mmd_arena arena;
    mmd_inverse_pose_loss *losses; /* (B,) */
    mmd_py_model_locals_pose pose; /* from_poses: the memory that `matrices` borrows */
    mmd_motion_fit *fit;
} fit_call;

static bool parse_options(fit_call *call, fit_source source)
{
    static const char *const forms[] = {"as_keyed", "off", "both"};
    static const char *const physics[] = {"leave", "keys"};
    fit_options *options = &call->options;
    int form = source == SOURCE_POSES ? IK_OFF : IK_AS_KEYED, keys = 0;
    if (!mmd_py_argument_word(options->ik, "ik", forms, 3, &form) ||
        !mmd_py_argument_word(options->physics, "physics", physics, 2, &keys))
        return false;
    options->form = (ik_form)form;
    options->key_physics = keys;
    if (source == SOURCE_POSES && form == IK_AS_KEYED)
        return PyErr_Format(
            PyExc_ValueError,
            "ik: \"as_keyed\" needs the values of IK bones, which matrices do not hold;"
            " use from_locals");
    return mmd_py_argument_positive(options->tolerance_argument, "tolerance",
                                    &options->tolerance) &&
           mmd_py_argument_positive(options->physics_tolerance_argument, "physics_tolerance",
                                    &options->physics_tolerance) &&
           mmd_py_motion_check(call->state, options->like, "like: expected a Motion or None");
}

static float *allocate(fit_call *call, size_t numbers)
{
    float *memory =
        mmd_arena_alloc_uninitialized(&call->arena, call->frame_count, numbers * sizeof *memory);
    if (!memory)
        PyErr_NoMemory();
    return memory;
}

/* (F,row) numbers: those of all frames, those of one, repeated, or without any zeros, or identities
   where quaternions are expected. */
static float *expand(fit_call *call, const float *values, size_t frames, size_t row,
                     bool quaternions)
{
    float *out = allocate(call, row);
    for (size_t f = 0; out && row && f < call->frame_count; f++)
        if (values)
            memcpy(out + f * row, values + (frames == 1 ? 0 : f) * row, row * sizeof *out);
        else
            for (size_t i = 0; i < row; i++)
                out[f * row + i] = quaternions && i % 4 == 3;
    return out;
}

static bool invert_call(fit_call *call)
{
    size_t bones = mmd_py_model_data(call->model)->bone_count;
    call->translations = allocate(call, 3 * bones);
    call->rotations = allocate(call, 4 * bones);
    mmd_py_model_locals_job job = {.rig = mmd_py_model_rig(call->model),
                                   .frame_count = call->frame_count,
                                   .matrices = call->matrices,
                                   .morph_weights = call->morph_weights,
                                   .weight_frames = call->frame_count,
                                   .place_goals = call->options.form == IK_BOTH,
                                   .translations = call->translations,
                                   .rotations = call->rotations};
    return call->translations && call->rotations &&
           mmd_py_model_locals_run(call->options.threads, &job, call->losses);
}

/* Posing */

static bool pose_call(fit_call *call, mmd_pose_job *job)
{
    const mmd_model *model = mmd_py_model_data(call->model);
    job->out_matrices = call->matrices = allocate(call, 16 * model->bone_count);
    job->out_morph_weights = call->morph_weights = allocate(call, model->morph_count);
    return call->matrices && call->morph_weights &&
           mmd_py_model_run_pose(call->model, Py_None, job, call->options.threads);
}

/* The IK switches of `like`, which the motion keeps, act on the pose that it is compared with. */
static bool apply_switches(fit_call *call, mmd_pose_job *job)
{
    const fit_options *options = &call->options;
    const mmd_rig *rig = mmd_py_model_rig(call->model);
    size_t bones = rig->bone_count, cursor = 0;
    mmd_error err = {0};
    if (options->form != IK_AS_KEYED || options->like == Py_None)
        return true;
    const mmd_motion *like = mmd_py_motion_data(options->like);
    const mmd_property_track *properties = &like->properties;
    mmd_binding *binding = mmd_binding_new(rig, like, &err);
    uint8_t *on = mmd_arena_alloc_uninitialized(&call->arena, call->frame_count, bones);
    if (!binding || !on) {
        mmd_binding_free(binding);
        return PyErr_NoMemory();
    }
    memset(on, 1, call->frame_count * bones);
    for (size_t f = 0; properties->key_count && f < call->frame_count; f++) {
        double frame = (double)options->first_frame + (double)f;
        size_t at =
            mmd_sampling_key_before(properties->frames, properties->key_count, frame, &cursor);
        for (size_t s = 0; s < rig->solver_count; s++) {
            int32_t column = binding->solver_property[s];
            if (column >= 0)
                on[f * bones + (size_t)rig->solvers[s].goal] =
                    properties->ik_enabled[at * properties->ik_count + (size_t)column];
        }
    }
    mmd_binding_free(binding);
    job->ik_bones = on;
    job->ik_frames = call->frame_count;
    return true;
}

/* Fitting */

static bool make_fit(fit_call *call)
{
    const fit_options *options = &call->options;
    mmd_error err = {0};
    mmd_py_mesh_cache *cache = mmd_py_model_mesh_cache(call->model);
    mmd_motion_fit_job job = {
        .rig = mmd_py_model_rig(call->model),
        .mesh = mmd_py_mesh_cache_base(cache, &err),
        .frame_count = call->frame_count,
        .first_frame = options->first_frame,
        .translations = call->translations,
        .rotations = call->rotations,
        .morph_weights = call->morph_weights,
        .matrices = call->matrices,
        .ik = options->form == IK_OFF ? MMD_MOTION_FIT_IK_OFF : MMD_MOTION_FIT_IK_AS_KEYED,
        .key_physics = options->key_physics,
        .tolerance = options->tolerance,
        .physics_tolerance = options->physics_tolerance,
        .earlier = options->like == Py_None ? NULL : mmd_py_motion_data(options->like),
        .keep_switches = options->form == IK_AS_KEYED,
    };
    if (job.mesh) {
        Py_BEGIN_ALLOW_THREADS
        call->fit = mmd_motion_fit_new(&job, &err);
        Py_END_ALLOW_THREADS
    }
    return call->fit || mmd_py_exceptions_raise(&err);
}

static mmd_thread_part next_part(void *call)
{
    return mmd_motion_fit_next(((fit_call *)call)->fit);
}

static double share_done(const void *call, double of_part)
{
    return mmd_motion_fit_share(((const fit_call *)call)->fit, of_part);
}

static PyObject *make_result(mmd_py_state *state, void *arg)
{
    fit_call *call = arg;
    MMD_PY_OWNED PyObject *report = mmd_py_fit_report(call->fit, call->losses);
    MMD_PY_OWNED PyObject *motion =
        report ? mmd_py_motion_new(state, mmd_motion_fit_release_motion(call->fit), NULL) : NULL;
    return motion ? PyTuple_Pack(2, motion, report) : NULL;
}

static void free_call(void *arg)
{
    fit_call *call = arg;
    mmd_motion_fit_free(call->fit);
    mmd_arena_free(&call->arena);
    mmd_py_model_locals_clear(&call->pose);
    Py_XDECREF(call->model);
    Py_XDECREF(call->options.like);
    Py_XDECREF(call->options.threads);
    PyMem_Free(call);
}

static const mmd_py_fit_kind fit_kind = {next_part, share_done, make_result, free_call};

/* A call on the heap, with the parsed arguments of a call on the stack. */
static fit_call *keep_call(const fit_call *parsed)
{
    fit_call *call = PyMem_Calloc(1, sizeof *call);
    if (!call) {
        PyErr_NoMemory();
        return NULL;
    }
    *call = *parsed;
    Py_INCREF(call->model);
    Py_INCREF(call->options.like);
    Py_INCREF(call->options.threads);
    return call;
}

static bool begin(fit_call *call, fit_source source)
{
    if (!mmd_py_model_check(call->state, call->model) || !parse_options(call, source))
        return false;
    call->losses = mmd_arena_alloc(&call->arena, mmd_py_model_data(call->model)->bone_count,
                                   sizeof *call->losses);
    return call->losses || PyErr_NoMemory();
}

static bool check_count(const fit_call *call)
{
    if (call->frame_count == 0)
        PyErr_SetString(PyExc_ValueError, "pose: no frames");
    return call->frame_count > 0;
}

static fit_call new_call(mmd_py_state *state)
{
    return (fit_call){.state = state,
                      .options = {.frames = Py_None,
                                  .like = Py_None,
                                  .threads = Py_None,
                                  .tolerance = 0.02,
                                  .physics_tolerance = 0.1}};
}

static PyObject *start(fit_call *call, bool ready)
{
    if (ready && make_fit(call))
        return mmd_py_fit_new(call->state, &fit_kind, call, call->options.threads);
    free_call(call);
    return NULL;
}

static bool set_up_poses(fit_call *call, PyObject *pose)
{
    if (!begin(call, SOURCE_POSES) || !mmd_py_model_locals_parse(call->model, pose, &call->pose))
        return false;
    call->frame_count = call->pose.frame_count;
    call->matrices = call->pose.matrices.data;
    return check_count(call) &&
           mmd_py_argument_frame_range(call->options.frames, &call->frame_count,
                                       &call->options.first_frame) &&
           (call->morph_weights = expand(call, call->pose.weights.data, call->pose.weight_frames,
                                         mmd_py_model_data(call->model)->morph_count, false)) &&
           invert_call(call);
}

PyObject *mmd_py_motion_fit_poses(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"model", "pose",    "frames", "tolerance", "physics_tolerance",
                            "ik",    "physics", "like",   "threads",   NULL};
    fit_call parsed = new_call(mmd_py_state_of_module(module));
    fit_options *options = &parsed.options;
    PyObject *pose;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$OOOOOOO:from_poses", names, &parsed.model,
                                     &pose, &options->frames, &options->tolerance_argument,
                                     &options->physics_tolerance_argument, &options->ik,
                                     &options->physics, &options->like, &options->threads))
        return NULL;
    fit_call *call = keep_call(&parsed);
    return call ? start(call, set_up_poses(call, pose)) : NULL;
}

static bool set_up_locals(fit_call *call, mmd_py_pose_input *input)
{
    mmd_pose_job *job = &input->job;
    mmd_error err = {0};
    if (!begin(call, SOURCE_LOCALS) || !mmd_py_pose_input_parse(call->model, input))
        return false;
    call->frame_count = job->frame_count;
    job->ik = call->options.form == IK_AS_KEYED;
    if (!mmd_pose_check(mmd_py_model_rig(call->model), job, &err))
        return mmd_py_exceptions_raise(&err);
    size_t bones = mmd_py_model_data(call->model)->bone_count;
    if (!check_count(call) ||
        !mmd_py_argument_frame_range(call->options.frames, &call->frame_count,
                                     &call->options.first_frame) ||
        !apply_switches(call, job) || !pose_call(call, job))
        return false;
    if (call->options.form == IK_BOTH)
        return invert_call(call);
    call->translations = expand(call, job->translations, job->translation_frames, 3 * bones, false);
    call->rotations = call->translations
                          ? expand(call, job->rotations, job->rotation_frames, 4 * bones, true)
                          : NULL;
    return call->rotations != NULL;
}

PyObject *mmd_py_motion_fit_locals(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"model",   "translations", "rotations",         "morph_weights",
                            "frames",  "tolerance",    "physics_tolerance", "ik",
                            "physics", "like",         "threads",           NULL};
    fit_call parsed = new_call(mmd_py_state_of_module(module));
    fit_options *options = &parsed.options;
    MMD_PY_CLEARED_BY(mmd_py_pose_input_clear)
    mmd_py_pose_input input = {.rotations = Py_None, .weights = Py_None};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO$OOOOOOO:from_locals", names,
                                     &parsed.model, &input.translations, &input.rotations,
                                     &input.weights, &options->frames, &options->tolerance_argument,
                                     &options->physics_tolerance_argument, &options->ik,
                                     &options->physics, &options->like, &options->threads))
        return NULL;
    fit_call *call = keep_call(&parsed);
    return call ? start(call, set_up_locals(call, &input)) : NULL;
}

PyObject *mmd_py_motion_from_poses(PyObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *module = PyType_GetModule((PyTypeObject *)type);
    return mmd_py_fit_finish(mmd_py_motion_fit_poses(module, args, kwargs));
}

PyObject *mmd_py_motion_from_locals(PyObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *module = PyType_GetModule((PyTypeObject *)type);
    return mmd_py_fit_finish(mmd_py_motion_fit_locals(module, args, kwargs));
}
