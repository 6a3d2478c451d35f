/* SPDX-License-Identifier: MIT */
#include "core/skin/skin.h"
#include "core/base/error.h"
#include "gl/gl_skin.h"
#include "python/arguments.h"
#include "python/slices.h"

#include <stdio.h>
#include <string.h>

enum { OUT_POSITIONS, OUT_NORMALS, OUT_TANGENTS, OUTPUTS };

static const char *const output_names[OUTPUTS] = {"out.positions", "out.normals", "out.tangents"};

typedef enum backend_kind { BACKEND_AUTO, BACKEND_GL, BACKEND_CPU } backend_kind;

/* Vertices of a slice: what takes about a hundredth of a second on the CPU. */
enum { SLICE_VERTICES = 1 << 21 };

typedef struct skin_call {
    mmd_state *state;
    PyObject *mesh_object;
    mmd_variants *variants; /* of the mesh */
    mmd_skin_job job;
    bool batch; /* results have an axis of frames */
    mmd_array matrices, weights, outputs[OUTPUTS];
    bool wanted[OUTPUTS];
    backend_kind backend;
    const mmd_kernel *kernel; /* the one that "cpu:..." names; NULL: the best */
    PyObject *threads;        /* as given */
    mmd_skin_space *spaces;   /* of each thread */
    mmd_error gl_failure;     /* of OpenGL, when "auto" has gone on without it */
    mmd_choice choice;        /* of "auto" */
} skin_call;

static bool choose(const char *what, PyObject *value, const char *const *names, int *out)
{
    const char *given = names[0];
    if (value && !mmd_word_take(value, what, &given))
        return false;
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], given) == 0) {
            *out = i;
            return true;
        }
    char known[160] = "";
    for (size_t i = 0, at = 0; names[i] && at < sizeof known; i++)
        at += (size_t)snprintf(known + at, sizeof known - at, "%s\"%s\"", i ? ", " : "", names[i]);
    PyErr_Format(PyExc_ValueError, "%s: \"%s\" is unknown, expected %s", what, given, known);
    return false;
}

static bool take_backend(skin_call *call, PyObject *value)
{
    const char *name = "auto";
    if (value && !mmd_word_take(value, "backend", &name))
        return false;
    if (strcmp(name, "auto") == 0) {
        call->backend = BACKEND_AUTO;
    } else if (strcmp(name, "gl") == 0) {
        call->backend = BACKEND_GL;
    } else if (strcmp(name, "cpu") == 0) {
        call->backend = BACKEND_CPU;
    } else if (strncmp(name, "cpu:", 4) == 0) {
        call->backend = BACKEND_CPU;
        mmd_error err = {0};
        call->kernel = mmd_kernel_find(name + 4, &err);
        if (!call->kernel)
            return mmd_raise(call->state, &err);
    } else {
        PyErr_Format(PyExc_ValueError,
                     "backend: \"%s\" is unknown, expected \"auto\", \"gl\" or \"cpu\"", name);
        return false;
    }
    return true;
}

static bool take_options(skin_call *call, PyObject *method, PyObject *blend,
                         PyObject *given_correction, PyObject *backend)
{
    static const char *const methods[] = {[MMD_METHOD_MMD] = "mmd",
                                          [MMD_METHOD_LINEAR] = "linear",
                                          [MMD_METHOD_DUAL_QUATERNION] = "dual_quaternion",
                                          [MMD_METHOD_BULGE_FREE] = "bulge_free",
                                          [MMD_METHOD_BULGE_COMPENSATED] = "bulge_compensated",
                                          [MMD_METHOD_CENTERS_OF_ROTATION] = "centers_of_rotation",
                                          NULL};
    static const char *const blends[] = {"nlerp", "slerp", NULL};
    int chosen_method, chosen_blend;
    double correction = 1;
    if (!choose("method", method, methods, &chosen_method) ||
        !choose("sdef_blend", blend, blends, &chosen_blend) ||
        (given_correction && !mmd_number_take(given_correction, "correction", &correction)))
        return false;
    call->job.method = (mmd_method)chosen_method;
    call->job.sdef_blend = (mmd_sdef_blend)chosen_blend;
    call->job.correction = (float)correction;
    bool corrected =
        chosen_method == MMD_METHOD_BULGE_FREE || chosen_method == MMD_METHOD_BULGE_COMPENSATED;
    if (correction != 1 && !corrected) {
        char text[96];
        snprintf(text, sizeof text, "correction: %g has no meaning for method \"%s\"", correction,
                 methods[chosen_method]);
        PyErr_SetString(PyExc_ValueError, text);
        return false;
    }
    return take_backend(call, backend);
}

static bool take_mesh(skin_call *call, PyObject *mesh)
{
    mmd_error err = {0};
    call->mesh_object = mesh;
    call->variants = mmd_mesh_take(call->state, mesh);
    if (!call->variants)
        return false;
    Py_BEGIN_ALLOW_THREADS
    call->job.mesh = mmd_variants_base(call->variants, &err);
    Py_END_ALLOW_THREADS
    if (!call->job.mesh)
        mmd_raise(call->state, &err);
    return call->job.mesh != NULL;
}

static bool take_pose(skin_call *call, PyObject *matrices, PyObject *weights)
{
    mmd_skin_job *job = &call->job;
    int is_pose = PyObject_IsInstance(matrices, call->state->records[MMD_RECORD_POSE]);
    if (is_pose < 0)
        return false;
    if (is_pose) {
        if (PyTuple_Size(matrices) != 2) {
            PyErr_SetString(PyExc_ValueError, "a Pose has two members");
            return false;
        }
        if (weights == Py_None)
            weights = PyTuple_GetItem(matrices, 1);
        matrices = PyTuple_GetItem(matrices, 0);
    }
    const size_t matrix_shape[] = {MMD_ANY, MMD_ANY, 4, 4};
    if (!mmd_array_from_frames(matrices, "bone_matrices", MMD_FLOAT32, 3, matrix_shape, "FB",
                               &call->matrices, &job->matrix_frames, &call->batch))
        return false;
    job->matrices = call->matrices.data;
    job->bone_count = call->matrices.shape[call->matrices.rank - 3];
    if (Py_TYPE(call->mesh_object) == call->state->model_type) {
        size_t bones = mmd_model_data(call->mesh_object)->bone_count;
        if (job->bone_count != bones) {
            PyErr_Format(PyExc_ValueError, "bone_matrices: %zu bones, the model has %zu",
                         job->bone_count, bones);
            return false;
        }
    }
    job->slider_frames = 1;
    if (weights != Py_None) {
        const size_t weight_shape[] = {MMD_ANY, job->mesh->morph_count};
        if (!mmd_array_from_frames(weights, "morph_weights", MMD_FLOAT32, 1, weight_shape, "F",
                                   &call->weights, &job->slider_frames, &call->batch))
            return false;
        job->sliders = call->weights.data;
    }
    job->frame_count = job->matrix_frames == 1 ? job->slider_frames : job->matrix_frames;
    if (job->slider_frames != 1 && job->slider_frames != job->frame_count) {
        PyErr_Format(PyExc_ValueError, "morph_weights: %zu frames, bone_matrices has %zu",
                     job->slider_frames, job->matrix_frames);
        return false;
    }
    return true;
}

static int output_shape(const skin_call *call, int output, size_t shape[3])
{
    int rank = 0;
    if (call->batch)
        shape[rank++] = call->job.frame_count;
    shape[rank++] = call->job.mesh->vertex_count;
    shape[rank++] = output == OUT_TANGENTS ? call->job.mesh->tangent_width : 3;
    return rank;
}

static bool check_overlaps(const skin_call *call)
{
    const struct {
        const mmd_array *array;
        const char *name;
    } others[] = {{&call->matrices, "bone_matrices"},
                  {&call->weights, "morph_weights"},
                  {&call->outputs[OUT_POSITIONS], output_names[OUT_POSITIONS]},
                  {&call->outputs[OUT_NORMALS], output_names[OUT_NORMALS]}};
    for (int i = 0; i < OUTPUTS; i++)
        for (int k = 0; k < 2 + i; k++)
            if (mmd_array_overlap(&call->outputs[i], others[k].array)) {
                PyErr_Format(PyExc_ValueError, "%s: overlaps with %s", output_names[i],
                             others[k].name);
                return false;
            }
    return true;
}

static bool take_outputs(skin_call *call, PyObject *out)
{
    int is_skinned = PyObject_IsInstance(out, call->state->records[MMD_RECORD_SKINNED]);
    if (is_skinned < 0)
        return false;
    if (!is_skinned || PyTuple_Size(out) != OUTPUTS) {
        PyErr_Format(PyExc_TypeError, "out: expected a Skinned, not %R", (PyObject *)Py_TYPE(out));
        return false;
    }
    for (int i = 0; i < OUTPUTS; i++) {
        PyObject *member = PyTuple_GetItem(out, i);
        const char *name = output_names[i];
        if ((member != Py_None) != call->wanted[i]) {
            PyErr_Format(PyExc_ValueError, "%s: %s", name,
                         call->wanted[i] ? "None, expected an array"
                                         : "expected None, as it is not computed");
            return false;
        }
        size_t shape[3];
        int rank = output_shape(call, i, shape);
        if (call->wanted[i] && !mmd_array_for_output(member, name, rank, shape, &call->outputs[i]))
            return false;
    }
    return check_overlaps(call);
}

static bool make_outputs(skin_call *call)
{
    for (int i = 0; i < OUTPUTS; i++) {
        size_t shape[3];
        int rank = output_shape(call, i, shape);
        if (call->wanted[i] && !mmd_array_new(rank, shape, &call->outputs[i]))
            return false;
    }
    return true;
}

/* The mesh that the method takes, and with tangents where they are wanted. */
static bool choose_mesh(skin_call *call)
{
    mmd_error err = {0};
    const mmd_mesh *mesh;
    Py_BEGIN_ALLOW_THREADS
    mesh = mmd_variants_get(call->variants, call->job.method, call->wanted[OUT_TANGENTS], &err);
    Py_END_ALLOW_THREADS
    if (!mesh)
        mmd_raise(call->state, &err);
    call->job.mesh = mesh;
    return mesh != NULL;
}

/* Without the interpreter lock from here on. */

static bool run_gl(const mmd_skin_job *slice, size_t first, mmd_error *err)
{
    size_t done;
    if (mmd_gl_skin(slice, &done, err))
        return true;
    mmd_error cause = *err;
    if (first + done > 0)
        mmd_fail(err, cause.code, "%.200s; frames before %zu are done", cause.text, first + done);
    return false;
}

/* Which backend "auto" is, unless that is known. */
static void choose_backend(skin_call *call)
{
    bool software = true;
    char device[8];
    if (call->backend != BACKEND_AUTO || call->choice != MMD_CHOICE_OPEN)
        return;
    bool hardware = mmd_gl_info(device, sizeof device, &software, NULL) && !software;
    call->choice = hardware ? MMD_CHOICE_GL : MMD_CHOICE_CPU;
}

static bool run_part(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    skin_call *call = arg;
    mmd_skin_job part = mmd_skin_slice(&call->job, first, count);
    if (call->backend == BACKEND_GL)
        return run_gl(&part, first, err);
    if (call->backend == BACKEND_AUTO && call->choice == MMD_CHOICE_GL) {
        if (run_gl(&part, first, &call->gl_failure))
            return true;
        call->choice = MMD_CHOICE_CPU; /* for good: a device that failed is not asked again */
    }
    return mmd_skin_part(&call->job, first, count, call->kernel, &call->spaces[worker], err);
}

static PyObject *skinned(skin_call *call)
{
    PyObject *members[OUTPUTS];
    for (int i = 0; i < OUTPUTS; i++)
        members[i] = call->outputs[i].object ? call->outputs[i].object : Py_None;
    return PyObject_CallFunctionObjArgs(call->state->records[MMD_RECORD_SKINNED], members[0],
                                        members[1], members[2], NULL);
}

/* OpenGL has a thread of its own. */
static bool plan_slices(const skin_call *call, mmd_slices *slices)
{
    size_t vertices = call->job.mesh->vertex_count;
    if (!mmd_slices_plan(call->threads, vertices ? call->job.frame_count : 0, vertices,
                         SLICE_VERTICES, slices))
        return false;
    if (call->backend == BACKEND_GL ||
        (call->backend == BACKEND_AUTO && call->choice == MMD_CHOICE_GL))
        slices->threads = 1;
    return true;
}

static bool run_slices(skin_call *call, const mmd_slices *slices)
{
    mmd_skin_space spaces[MMD_MOST_THREADS];
    call->spaces = spaces;
    for (size_t i = 0; i < slices->threads; i++)
        spaces[i] = (mmd_skin_space){0};
    bool done = mmd_slices_run(call->state, slices, run_part, call);
    for (size_t i = 0; i < slices->threads; i++)
        mmd_skin_space_free(&spaces[i]);
    return done;
}

static PyObject *execute(skin_call *call, PyObject *out)
{
    mmd_skin_job *job = &call->job;
    if (out == Py_None ? !make_outputs(call) : !take_outputs(call, out))
        return NULL;
    job->positions = call->outputs[OUT_POSITIONS].data;
    job->normals = call->outputs[OUT_NORMALS].data;
    job->tangents = call->outputs[OUT_TANGENTS].data;
    call->choice = call->state->choice;
    mmd_error err = {0};
    bool done;
    Py_BEGIN_ALLOW_THREADS
    done = mmd_skin_check(&call->job, &err);
    if (done)
        choose_backend(call);
    Py_END_ALLOW_THREADS
    if (!done)
        return mmd_raise(call->state, &err);
    mmd_slices slices;
    done = plan_slices(call, &slices) && run_slices(call, &slices);
    call->state->choice = call->choice;
    if (call->gl_failure.code != MMD_E_NONE)
        call->state->gl_failure = call->gl_failure;
    if (!done)
        return NULL;
    return out == Py_None ? skinned(call) : Py_NewRef(out);
}

PyObject *mmd_py_skin(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"mesh",       "bone_matrices", "morph_weights", "method",
                            "sdef_blend", "correction",    "normals",       "tangents",
                            "backend",    "out",           "threads",       NULL};
    PyObject *mesh, *matrices, *weights = Py_None, *correction = NULL, *out = Py_None;
    PyObject *method = NULL, *blend = NULL, *backend = NULL;
    int normals = 1, tangents = 0;
    skin_call call = {.state = mmd_state_of_module(module), .threads = Py_None};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O$OOOppOOO:skin", names, &mesh, &matrices,
                                     &weights, &method, &blend, &correction, &normals, &tangents,
                                     &backend, &out, &call.threads))
        return NULL;
    PyObject *result = NULL;
    if (take_options(&call, method, blend, correction, backend) && take_mesh(&call, mesh) &&
        take_pose(&call, matrices, weights)) {
        call.wanted[OUT_POSITIONS] = true;
        call.wanted[OUT_NORMALS] = normals && call.job.mesh->has_normals;
        call.wanted[OUT_TANGENTS] = tangents;
        result = choose_mesh(&call) ? execute(&call, out) : NULL;
    }
    mmd_array_clear(&call.matrices);
    mmd_array_clear(&call.weights);
    for (int i = 0; i < OUTPUTS; i++)
        mmd_array_clear(&call.outputs[i]);
    return result;
}

const char mmd_skin_doc[] =
    "skin($module, mesh, bone_matrices, morph_weights=None, *, method=\"mmd\",\n"
    "     sdef_blend=\"nlerp\", correction=1.0, normals=True, tangents=False, backend=\"auto\", "
    "out=None,\n"
    "     threads=None)\n--\n\n"
    "The deformed mesh: morphs, then skinning, as MMD does it. Returns a Skinned.\n\n"
    "mesh: a Model or a Mesh.\n"
    "bone_matrices: skinning matrices (B,4,4) or (F,B,4,4) float32, row-major for column vectors,\n"
    "    translations in model units; the last row is not used. Or a Pose, for this and weights.\n"
    "morph_weights: slider values (M,) or (F,M); None: all zero. Groups and flips are applied "
    "here.\n"
    "    A single frame of matrices or weights serves all frames of the other.\n"
    "method: \"mmd\" (each vertex by its own type), \"linear\" or \"dual_quaternion\"; and "
    "against\n"
    "    the bulge of dual quaternions \"bulge_free\" (removes it), \"bulge_compensated\" (lessens "
    "it,\n"
    "    fastest) and \"centers_of_rotation\" (lessens it, without a skeleton). A Model has what "
    "they\n"
    "    need, a Mesh takes it as arguments.\n"
    "correction: 0 to 1, how much \"bulge_free\" and \"bulge_compensated\" correct.\n"
    "sdef_blend: how SDEF blends two rotations, \"nlerp\" or \"slerp\".\n"
    "normals, tangents: whether to compute them; normals only when the mesh has some. Tangents of "
    "a\n"
    "    Model are made of its UVs at first use: along u, x y z of unit length and w of 1 or -1, "
    "so\n"
    "    that w (normal x tangent) goes along v; ValueError for a model without UVs.\n"
    "backend: \"gl\", \"cpu\" or \"auto\": gl on a hardware renderer, else cpu. \"cpu:scalar\",\n"
    "    \"cpu:sse2\", \"cpu:avx2\", \"cpu:avx512\", \"cpu:neon\" name one kernel.\n"
    "out: a Skinned of writable C-contiguous float32 arrays to fill, None where nothing is\n"
    "    computed; it is returned.\n"
    "threads: how many the frames are shared among, at least 1; no more are used than there are\n"
    "    frames, nor than 256, and one by OpenGL. None: all cores where they are worth it. "
    "Results\n"
    "    do not differ.\n\n"
    "Positions (V,3) or (F,V,3) in model units, normals alike and of unit length. QDEF and\n"
    "\"dual_quaternion\" take rotation and translation of a matrix and ignore its scale.\n"
    "Formulas: the MMD morphing and skinning article of dragonmeteor (BDEF, SDEF by equation (4),\n"
    "QDEF), https://qiita.com/dragonmeteor/items/0211166d55bb2eb7c07c; normals by the inverse\n"
    "transpose. Bulge-free: Kim and Han 2014, doi 10.1002/cav.1604; compensated: Sulema and "
    "Rudenko\n"
    "2020, doi 10.31891/2307-5732-2020-281-1-12-19; centers of rotation: Le and Hodgins 2016, ACM\n"
    "Transactions on Graphics 35(4); as written down in docs/methods.md.\n\n"
    "Raises TypeError, ValueError (naming the place and the limit), and BackendError when the\n"
    "backend that was asked for cannot be used. Nothing is written then, unless an OpenGL device "
    "fails on\n"
    "the way: the text says before which frame the results are done. Signals are seen between "
    "frames;\n"
    "what a handler raises, as Ctrl-C does, leaves `out` half written.";
