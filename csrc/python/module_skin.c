/* SPDX-License-Identifier: MIT */
/* The Python function skin(): parses its arguments and runs the job. */
#include "core/base/error.h"
#include "core/skin/skin.h"
#include "gl/gl.h"
#include "python/argument.h"
#include "python/batch.h"
#include "python/exceptions.h"
#include "python/pose_io.h"
#include "python/types.h"

#include <stdio.h>
#include <string.h>

enum { OUT_POSITIONS, OUT_NORMALS, OUT_TANGENTS, OUTPUTS };

static const char *const output_names[OUTPUTS] = {"out.positions", "out.normals", "out.tangents"};

enum {
    CHUNK_VERTICES = 1 << 21, /* about 10 ms on the CPU, 40 ms by a software renderer */
    CARD_CHUNKS = 4           /* of these at once: a graphics card is idle between chunks */
};

typedef struct skin_call {
    mmd_py_state *state;
    mmd_py_mesh_cache *mesh_cache;
    mmd_skin_job job;
    bool batched; /* results have a frame axis */
    mmd_py_pose_arrays pose;
    mmd_py_array outputs[OUTPUTS];
    bool requested[OUTPUTS];
    bool on_gl;
    mmd_gl_caller caller;
    const mmd_skin_kernel *kernel;  /* by "cpu:NAME"; NULL: the fastest */
    PyObject *threads;              /* the argument */
    mmd_skin_workspace *workspaces; /* per thread */
} skin_call;

static bool parse_backend(skin_call *call, PyObject *value)
{
    const char *name = "auto";
    if (value && !mmd_py_argument_str(value, "backend", &name))
        return false;
    call->on_gl = strcmp(name, "gl") == 0;
    /* "auto" is the CPU: results end in the host's memory, and the way there alone takes longer. */
    if (call->on_gl || strcmp(name, "cpu") == 0 || strcmp(name, "auto") == 0)
        return true;
    if (strncmp(name, "cpu:", 4) == 0) {
        mmd_error err = {0};
        call->kernel = mmd_skin_kernel_find(name + 4, &err);
        return call->kernel || mmd_py_exceptions_raise(&err);
    }
    return PyErr_Format(PyExc_ValueError,
                        "backend: \"%s\" is unknown, expected \"auto\", \"gl\" or \"cpu\"", name);
}

static bool parse_options(skin_call *call, PyObject *method, PyObject *blend,
                          PyObject *correction_arg, PyObject *backend)
{
    static const char *const methods[] = {[MMD_METHOD_MMD] = "mmd",
                                          [MMD_METHOD_LINEAR] = "linear",
                                          [MMD_METHOD_DUAL_QUATERNION] = "dual_quaternion",
                                          [MMD_METHOD_BULGE_FREE] = "bulge_free",
                                          [MMD_METHOD_BULGE_COMPENSATED] = "bulge_compensated",
                                          [MMD_METHOD_CENTERS_OF_ROTATION] = "centers_of_rotation"};
    static const char *const blends[] = {"nlerp", "slerp"};
    int chosen_method = MMD_METHOD_MMD, chosen_blend = MMD_SDEF_NLERP;
    double correction = 1;
    if (!mmd_py_argument_word(method, "method", methods, sizeof methods / sizeof *methods,
                              &chosen_method) ||
        !mmd_py_argument_word(blend, "sdef_blend", blends, 2, &chosen_blend) ||
        (correction_arg && !mmd_py_argument_double(correction_arg, "correction", &correction)))
        return false;
    call->job.method = (mmd_method)chosen_method;
    call->job.sdef_blend = (mmd_sdef_blend)chosen_blend;
    call->job.correction = (float)correction;
    bool corrected =
        chosen_method == MMD_METHOD_BULGE_FREE || chosen_method == MMD_METHOD_BULGE_COMPENSATED;
    if (correction != 1 && !corrected) {
        char text[96];
        snprintf(text, sizeof text, "correction: %g is not used by method \"%s\"", correction,
                 methods[chosen_method]);
        PyErr_SetString(PyExc_ValueError, text);
        return false;
    }
    return parse_backend(call, backend);
}

static int output_shape(const skin_call *call, int output, size_t shape[3])
{
    int rank = 0;
    if (call->batched)
        shape[rank++] = call->job.frame_count;
    shape[rank++] = call->job.mesh->vertex_count;
    shape[rank++] = output == OUT_TANGENTS ? call->job.mesh->tangent_width : 3;
    return rank;
}

/* Whether the memory of two arguments overlaps. */
static bool overlap(const mmd_py_array *a, const mmd_py_array *b)
{
    return a->object && b->object && a->memory_begin < a->memory_end &&
           b->memory_begin < b->memory_end && a->memory_begin < b->memory_end &&
           b->memory_begin < a->memory_end;
}

static bool check_overlaps(const skin_call *call)
{
    const struct {
        const mmd_py_array *array;
        const char *name;
    } others[] = {{&call->pose.matrices, "bone_matrices"},
                  {&call->pose.weights, "morph_weights"},
                  {&call->outputs[OUT_POSITIONS], output_names[OUT_POSITIONS]},
                  {&call->outputs[OUT_NORMALS], output_names[OUT_NORMALS]}};
    for (int i = 0; i < OUTPUTS; i++)
        for (int k = 0; k < 2 + i; k++)
            if (overlap(&call->outputs[i], others[k].array))
                return PyErr_Format(PyExc_ValueError, "%s: overlaps %s", output_names[i],
                                    others[k].name);
    return true;
}

static bool parse_outputs(skin_call *call, PyObject *out)
{
    int is_skinned = PyObject_IsInstance(out, call->state->records[MMD_PY_RECORD_SKINNED]);
    if (is_skinned < 0)
        return false;
    if (!is_skinned || PyTuple_Size(out) != OUTPUTS)
        return PyErr_Format(PyExc_TypeError, "out: expected a Skinned, not %R",
                            (PyObject *)Py_TYPE(out));
    for (int i = 0; i < OUTPUTS; i++) {
        PyObject *member = PyTuple_GetItem(out, i);
        const char *name = output_names[i];
        if ((member != Py_None) != call->requested[i])
            return PyErr_Format(PyExc_ValueError, "%s: %s", name,
                                call->requested[i] ? "None, expected an array"
                                                   : "expected None, as it is not computed");
        size_t shape[3];
        int rank = output_shape(call, i, shape);
        if (call->requested[i] &&
            !mmd_py_array_for_output(member, name, rank, shape, &call->outputs[i]))
            return false;
    }
    return check_overlaps(call);
}

static bool make_outputs(skin_call *call)
{
    for (int i = 0; i < OUTPUTS; i++) {
        size_t shape[3];
        int rank = output_shape(call, i, shape);
        if (call->requested[i] && !mmd_py_array_new_floats(rank, shape, &call->outputs[i]))
            return false;
    }
    return true;
}

/* The mesh that the method needs, with tangents if requested. */
static bool choose_mesh(skin_call *call)
{
    mmd_error err = {0};
    const mmd_mesh *mesh = mmd_py_mesh_cache_get(call->mesh_cache, call->job.method,
                                                 call->requested[OUT_TANGENTS], &err);
    if (!mesh)
        mmd_py_exceptions_raise(&err);
    call->job.mesh = mesh;
    return mesh != NULL;
}

/* Called without the GIL. */

static bool run_gl(const skin_call *call, const mmd_skin_job *slice, size_t first, mmd_error *err)
{
    size_t done;
    if (mmd_gl_skin(slice, &call->caller, &done, err))
        return true;
    mmd_error cause = *err;
    if (first + done > 0)
        mmd_fail(err, cause.code, "%.200s; frames before %zu are done", cause.text, first + done);
    return false;
}

static bool run_task(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    skin_call *call = arg;
    mmd_skin_job slice = mmd_skin_slice(&call->job, first, count);
    if (call->on_gl)
        return run_gl(call, &slice, first, err);
    return mmd_skin_frames(&call->job, first, count, call->kernel, &call->workspaces[worker], err);
}

static PyObject *skinned(skin_call *call)
{
    PyObject *members[OUTPUTS];
    for (int i = 0; i < OUTPUTS; i++)
        members[i] = call->outputs[i].object ? call->outputs[i].object : Py_None;
    return PyObject_CallFunctionObjArgs(call->state->records[MMD_PY_RECORD_SKINNED], members[0],
                                        members[1], members[2], NULL);
}

/* OpenGL runs on one thread, its own, and others copy the results. */
static bool plan_batch(skin_call *call, mmd_py_batch *batch)
{
    size_t vertices = call->job.mesh->vertex_count;
    if (!mmd_py_batch_plan(call->threads, vertices ? call->job.frame_count : 0, vertices,
                           CHUNK_VERTICES, batch))
        return false;
    if (!call->on_gl)
        return true;
    bool card = false;
    if (!mmd_py_batch_gl_caller(batch->threads, &call->caller) ||
        (batch->frame_count > batch->chunk && !mmd_py_batch_is_on_card(&call->caller, &card)))
        return false;
    if (card)
        batch->chunk *= CARD_CHUNKS;
    batch->threads = 1;
    return true;
}

static bool run_batch(skin_call *call, const mmd_py_batch *batch)
{
    mmd_skin_workspace workspaces[MMD_MAX_THREADS];
    call->workspaces = workspaces;
    for (size_t i = 0; i < batch->threads; i++)
        workspaces[i] = (mmd_skin_workspace){0};
    bool done = mmd_py_batch_run(batch, run_task, call);
    for (size_t i = 0; i < batch->threads; i++)
        mmd_skin_workspace_free(&workspaces[i]);
    return done;
}

static PyObject *execute(skin_call *call, PyObject *out)
{
    mmd_skin_job *job = &call->job;
    if (out == Py_None ? !make_outputs(call) : !parse_outputs(call, out))
        return NULL;
    job->positions = call->outputs[OUT_POSITIONS].data;
    job->normals = call->outputs[OUT_NORMALS].data;
    job->tangents = call->outputs[OUT_TANGENTS].data;
    mmd_error err = {0};
    bool done;
    Py_BEGIN_ALLOW_THREADS
    done = mmd_skin_check(&call->job, &err);
    Py_END_ALLOW_THREADS
    if (!done)
        return mmd_py_exceptions_raise(&err);
    mmd_py_batch batch;
    done = plan_batch(call, &batch) && run_batch(call, &batch);
    if (!done)
        return NULL;
    return out == Py_None ? skinned(call) : Py_NewRef(out);
}

PyObject *mmd_py_module_skin(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"mesh",       "bone_matrices", "morph_weights", "method",
                            "sdef_blend", "correction",    "normals",       "tangents",
                            "backend",    "out",           "threads",       NULL};
    PyObject *mesh, *matrices, *weights = Py_None, *correction = NULL, *out = Py_None;
    PyObject *method = NULL, *blend = NULL, *backend = NULL;
    int normals = 1, tangents = 0;
    skin_call call = {.state = mmd_py_state_of_module(module), .threads = Py_None};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O$OOOppOOO:skin", names, &mesh, &matrices,
                                     &weights, &method, &blend, &correction, &normals, &tangents,
                                     &backend, &out, &call.threads))
        return NULL;
    PyObject *result = NULL;
    call.mesh_cache = mmd_py_mesh_cache_from_argument(call.state, mesh);
    if (call.mesh_cache && parse_options(&call, method, blend, correction, backend) &&
        mmd_py_skin_pose_parse(&call.pose, call.state, mesh, matrices, weights, &call.job,
                               &call.batched)) {
        call.requested[OUT_POSITIONS] = true;
        call.requested[OUT_NORMALS] = normals && call.job.mesh->has_normals;
        call.requested[OUT_TANGENTS] = tangents;
        result = choose_mesh(&call) ? execute(&call, out) : NULL;
    }
    mmd_py_pose_arrays_clear(&call.pose);
    for (int i = 0; i < OUTPUTS; i++)
        mmd_py_array_clear(&call.outputs[i]);
    return result;
}
