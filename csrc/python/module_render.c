/* SPDX-License-Identifier: MIT */
/* The Python function _render(), which draws what rendering.py has made of the arguments of
   render(). */
#include "core/base/error.h"
#include "core/skin/mesh.h"
#include "gl/gl.h"
#include "python/argument.h"
#include "python/batch.h"
#include "python/exceptions.h"
#include "python/owned.h"
#include "python/pose_io.h"
#include "python/record.h"
#include "python/types.h"

#include <string.h>

enum { IMAGE, DEPTH, NORMAL, TRIANGLES, OUTPUTS };

static const struct {
    mmd_py_array_dtype dtype;
    size_t width; /* 0: no third axis */
} outputs[OUTPUTS] = {[IMAGE] = {MMD_PY_UINT8, 4},
                      [DEPTH] = {MMD_PY_FLOAT32, 0},
                      [NORMAL] = {MMD_PY_FLOAT32, 3},
                      [TRIANGLES] = {MMD_PY_INT32, 0}};

/* Samples of a chunk, between which Ctrl-C takes effect: less than a tenth of a second. */
enum { CARD_CHUNK_SAMPLES = 1 << 24, CPU_CHUNK_SAMPLES = 1 << 19 };

/* The key of the first one, as in rendering.py. */
enum { SHARED_TOONS = INT32_MAX - MMD_TOON_COUNT + 1 };

typedef struct render_call {
    mmd_py_state *state;
    mmd_render_job job;
    bool batched;                /* results have a frame axis */
    mmd_skin_job skin;           /* instead of positions, if it has a mesh */
    bool on_device;              /* skins there */
    mmd_py_pose_arrays pose;     /* that `skin` borrows */
    mmd_py_record_parser own;    /* all else that `job` borrows */
    size_t normal_frames;        /* like position_frames of the job */
    const int32_t *texture_keys; /* by which materials refer to textures */
    mmd_gl_caller caller;
    mmd_py_array outputs[OUTPUTS];
} render_call;

/* Arrays with or without an axis of frames, in the order of rendering.py. */
enum { POSITIONS, NORMALS, CAMERAS, UVS, LIGHTS, LIGHT_COLORS, ADDITIONAL_UVS, INPUTS };

static const struct {
    const char *name;
    mmd_py_array_dtype dtype;
    bool per_vertex;
    size_t width, array, frames; /* the last two are offsets in a call */
} inputs[INPUTS] = {
#define JOB(member) offsetof(render_call, job.member)
    [POSITIONS] = {"skinned.positions", MMD_PY_FLOAT32, true, 3, JOB(positions),
                   JOB(position_frames)},
    [NORMALS] = {"skinned.normals", MMD_PY_FLOAT32, true, 3, JOB(normals),
                 offsetof(render_call, normal_frames)},
    [CAMERAS] = {"camera", MMD_PY_FLOAT64, false, MMD_PY_ARGUMENT_CAMERA_WIDTH, JOB(cameras),
                 JOB(camera_frames)},
    [UVS] = {"uvs", MMD_PY_FLOAT32, true, 2, JOB(uvs), JOB(uv_frames)},
    [LIGHTS] = {"light", MMD_PY_FLOAT32, false, 3, JOB(lights), JOB(light_frames)},
    [LIGHT_COLORS] = {"light_color", MMD_PY_FLOAT32, false, 3, JOB(effects.light_colors),
                      JOB(effects.light_color_frames)},
    [ADDITIONAL_UVS] = {"additional_uvs", MMD_PY_FLOAT32, true, 4, JOB(effects.additional_uvs),
                        JOB(effects.additional_uv_frames)},
#undef JOB
};

/* The number of frames of an input, 1: without their axis. */
static size_t *frames_of(render_call *call, int input)
{
    return (size_t *)((char *)call + inputs[input].frames);
}

static bool set_mesh(render_call *call, PyObject *mesh)
{
    mmd_render_job *job = &call->job;
    const mmd_py_mesh_cache *cache = mmd_py_mesh_cache_from_argument(call->state, mesh);
    if (!cache)
        return false;
    if (!cache->extras.triangles)
        return PyErr_Format(PyExc_ValueError, "mesh: no triangles; pass triangles= to Mesh()");
    job->triangles = cache->extras.triangles;
    job->triangle_count = cache->extras.triangle_count;
    const mmd_model *model = cache->model;
    job->vertex_count = model ? model->vertex_count : atomic_load(&cache->base)->vertex_count;
    if (!model)
        return true;
    job->edge_scales = model->edge_scales;
    job->uvs = model->uvs;
    job->effects.additional_uv_width = 4 * model->additional_uv_count;
    if (model->additional_uv_count && job->look == MMD_LOOK_MMD)
        job->effects.additional_uvs = model->additional_uvs;
    return true;
}

/* None leaves what is there. */
static bool set_input(render_call *call, int i, PyObject *argument)
{
    const size_t width = inputs[i].width, vertices = call->job.vertex_count;
    const size_t shape[] = {MMD_PY_ANY, inputs[i].per_vertex ? vertices : width, width};
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array array = {0};
    if (argument == Py_None)
        return true;
    if (!mmd_py_array_from_frames(argument, inputs[i].name, inputs[i].dtype,
                                  1 + inputs[i].per_vertex, shape, "F", &array, frames_of(call, i),
                                  &call->batched))
        return false;
    if (i == ADDITIONAL_UVS)
        call->job.effects.additional_uv_width = width;
    mmd_bytes_put_pointer(call, inputs[i].array, array.data);
    return mmd_py_record_parser_keep(&call->own, array.object);
}

/* `shown` is a Skinned, whose arrays are among the inputs, or a Pose. */
static bool set_shape(render_call *call, PyObject *mesh, PyObject *shown)
{
    mmd_render_job *job = &call->job;
    size_t frames = call->normal_frames;
    if (job->positions) {
        job->has_normals = job->normals;
        return !job->has_normals || frames == job->position_frames ||
               PyErr_Format(PyExc_ValueError, "skinned.normals: %zu %s, positions have %zu", frames,
                            mmd_numbers_noun(frames, "frame", "frames"), job->position_frames);
    }
    if (!mmd_py_skin_pose_parse(&call->pose, call->state, mesh, shown, Py_None, &call->skin,
                                &call->batched))
        return false;
    job->has_normals = call->skin.mesh->has_normals;
    job->position_frames = call->skin.frame_count;
    return true;
}

/* A batch without a camera gets one that sees all its frames. */
static bool frame_batch(render_call *call, PyObject *mesh, PyObject *shown)
{
    if (call->job.cameras || call->job.position_frames < 2)
        return true;
    MMD_PY_OWNED PyObject *row =
        mmd_py_object_call("mmdskin.camera_framing", "batch_camera", "(OO(nn))", mesh, shown,
                           (Py_ssize_t)call->job.width, (Py_ssize_t)call->job.height);
    return row && set_input(call, CAMERAS, row);
}

/* A list of (key, pixels), which keeps the arrays. */
static bool set_textures(render_call *call, PyObject *textures)
{
    size_t count = (size_t)PyList_Size(textures);
    int32_t *keys = mmd_py_record_parser_alloc(&call->own, count, sizeof *keys);
    mmd_render_texture *all = mmd_py_record_parser_alloc(&call->own, count, sizeof *all);
    bool ok = keys && all;
    for (size_t i = 0; ok && i < count; i++) {
        PyObject *array;
        mmd_py_array pixels = {0};
        ok = PyArg_ParseTuple(PyList_GetItem(textures, (Py_ssize_t)i), "iO", &keys[i], &array) &&
             mmd_py_array_borrow(array, MMD_PY_UINT8, &pixels);
        all[i] = (mmd_render_texture){pixels.shape[1], pixels.shape[0], pixels.data, {0}};
    }
    call->texture_keys = keys;
    call->job.textures = all;
    call->job.texture_count = count;
    return ok;
}

/* Puts the position among the textures in place of a key by which a material names one, -1 if it is
   not there. */
static bool place_texture(const render_call *call, size_t material, const char *field, int32_t *key)
{
    int32_t position = -1;
    for (size_t i = 0; i < call->job.texture_count; i++)
        if (call->texture_keys[i] == *key)
            position = (int32_t)i;
    if (*key < -1)
        return PyErr_Format(PyExc_ValueError, "materials[%zu].%s: %d, expected an index or -1",
                            material, field, (int)*key);
    *key = position;
    return true;
}

static bool place_textures(const render_call *call, size_t index, mmd_material *material)
{
    if (material->index_count < 0 || material->index_count % 3)
        return PyErr_Format(PyExc_ValueError,
                            "materials[%zu].index_count: %d, expected a multiple of 3, at least 0",
                            index, (int)material->index_count);
    if (material->shared_toon && material->toon >= 0)
        material->toon = material->toon < MMD_TOON_COUNT ? SHARED_TOONS + material->toon : -1;
    return place_texture(call, index, "texture", &material->texture) &&
           place_texture(call, index, "sphere_texture", &material->sphere_texture) &&
           place_texture(call, index, "toon", &material->toon);
}

static bool set_materials(render_call *call, PyObject *materials, bool for_all_triangles)
{
    enum { MOST = INT32_MAX / 3 }; /* which is more than OpenGL draws */
    mmd_render_job *job = &call->job;
    void *records = NULL;
    bool ok = mmd_py_record_parse_list(&call->own, MMD_PY_RECORD_MATERIAL, materials, &records,
                                       &job->material_count);
    mmd_material *all = records;
    for (size_t i = 0; ok && i < job->material_count; i++)
        ok = place_textures(call, i, &all[i]);
    if (ok && for_all_triangles)
        all->index_count = 3 * (int32_t)(job->triangle_count < MOST ? job->triangle_count : MOST);
    job->materials = all;
    return ok;
}

static bool set_factors(render_call *call, PyObject *factors)
{
    const size_t shape[] = {call->job.material_count, 2, 3, 4};
    MMD_PY_CLEARED_BY(mmd_py_array_clear) mmd_py_array array = {0};
    if (factors != Py_None &&
        !(mmd_py_array_from(factors, "factors", MMD_PY_FLOAT32, false, &array) &&
          mmd_py_array_check_shape(&array, "factors", 4, shape, "") &&
          mmd_py_record_parser_keep(&call->own, array.object)))
        return false;
    call->job.effects.factors = array.data;
    return true;
}

static bool make_outputs(render_call *call, PyObject *want)
{
    const mmd_render_job *job = &call->job;
    for (int i = 0; i < OUTPUTS; i++) {
        size_t shape[4] = {job->frame_count, job->height, job->width, outputs[i].width};
        int rank = call->batched + 2 + (outputs[i].width > 0);
        if (PyTuple_GetItem(want, i) == Py_True &&
            !mmd_py_array_new(outputs[i].dtype, rank, shape + !call->batched, &call->outputs[i]))
            return false;
    }
    call->job.image = call->outputs[IMAGE].data;
    call->job.depth_buffer = call->outputs[DEPTH].data;
    call->job.normal_buffer = call->outputs[NORMAL].data;
    call->job.triangle_buffer = call->outputs[TRIANGLES].data;
    return true;
}

static bool run_task(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    const render_call *call = arg;
    mmd_render_job slice = mmd_render_slice(&call->job, first, count);
    if (!call->skin.mesh)
        return mmd_gl_render(&slice, NULL, false, &call->caller, err);
    mmd_skin_job skin = call->skin;
    if (skin.frame_count > 1)
        skin = mmd_skin_slice(&skin, first, count);
    return mmd_gl_render(&slice, &skin, call->on_device, &call->caller, err);
}

static PyObject *execute(render_call *call, PyObject *want)
{
    const mmd_render_job *job = &call->job;
    mmd_error err = {0};
    bool valid, card;
    size_t cores = mmd_py_batch_count_cores();
    if (!cores || !mmd_py_batch_gl_caller(cores, &call->caller))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    valid = (!call->skin.mesh || mmd_skin_check(&call->skin, &err)) &&
            mmd_render_check(job, &err) && mmd_render_check_vertices(job, &err) &&
            mmd_gl_render_fits(&call->caller, job->width, job->height, job->samples, &err);
    Py_END_ALLOW_THREADS
    if (!valid)
        return mmd_py_exceptions_raise(&err);
    if (!mmd_py_batch_is_on_card(&call->caller, &card))
        return NULL;
    /* To frame a model and to fit a depth map, its vertices must be known here. */
    call->on_device =
        (call->on_device || (card && call->skin.mesh)) && job->cameras && !job->effects.self_shadow;
    size_t samples = job->width * job->height * job->samples * job->samples;
    mmd_py_batch batch;
    if (!make_outputs(call, want) ||
        !mmd_py_batch_plan(NULL, job->frame_count, samples,
                           card ? CARD_CHUNK_SAMPLES : CPU_CHUNK_SAMPLES, &batch) ||
        !mmd_py_batch_run(&batch, run_task, call))
        return NULL;
    PyObject *members[OUTPUTS];
    for (int i = 0; i < OUTPUTS; i++)
        members[i] = call->outputs[i].object ? call->outputs[i].object : Py_None;
    return PyObject_CallFunctionObjArgs(call->state->records[MMD_PY_RECORD_RENDERED], members[0],
                                        members[1], members[2], members[3], NULL);
}

PyObject *mmd_py_module_render(PyObject *module, PyObject *args)
{
    PyObject *mesh, *shown, *in[INPUTS], *textures, *materials, *factors, *background;
    PyObject *ground_color, *samples, *want;
    Py_ssize_t width, height;
    int gray, edges, is_mmd, ground_shadow, self_shadow, on_device;
    if (!PyArg_ParseTuple(args, "OO(OOOOOOO)O!OpOOiO(nn)OO!pppp:_render", &mesh, &shown, &in[0],
                          &in[1], &in[2], &in[3], &in[4], &in[5], &in[6], &PyList_Type, &textures,
                          &materials, &gray, &factors, &background, &ground_shadow, &ground_color,
                          &width, &height, &samples, &PyTuple_Type, &want, &edges, &is_mmd,
                          &self_shadow, &on_device))
        return NULL;
    mmd_py_state *state = mmd_py_state_of_module(module);
    render_call call = {
        .state = state, .own = {.state = state, .path = "materials"}, .on_device = on_device};
    mmd_render_job *job = &call.job;
    job->frame_count = 1;
    job->width = (size_t)width;
    job->height = (size_t)height;
    job->edges = edges;
    job->look = is_mmd ? MMD_LOOK_MMD : MMD_LOOK_LAMBERT;
    job->effects.ground_shadow = (mmd_ground_shadow)ground_shadow;
    job->effects.self_shadow = self_shadow;
    long sample_count = 1;
    bool ok =
        set_mesh(&call, mesh) &&
        mmd_py_argument_int(samples, "samples", 1, MMD_MAX_SAMPLES, &sample_count) &&
        mmd_py_argument_numbers(background, "background", MMD_PY_FLOAT32, 4, job->background) &&
        mmd_py_argument_numbers(ground_color, "ground_shadow", MMD_PY_FLOAT32, 4,
                                job->effects.ground_color);
    job->samples = (size_t)sample_count;
    for (int i = 0; i < INPUTS; i++) {
        *frames_of(&call, i) = 1;
        ok = ok && set_input(&call, i, in[i]);
    }
    PyObject *result = NULL;
    if (ok && set_shape(&call, mesh, shown) && set_textures(&call, textures) &&
        set_materials(&call, materials, gray) && set_factors(&call, factors) &&
        frame_batch(&call, mesh, shown)) {
        for (int i = 0; job->frame_count == 1 && i < INPUTS; i++)
            job->frame_count = *frames_of(&call, i);
        result = execute(&call, want);
    }
    mmd_py_record_parser_free(&call.own);
    mmd_py_pose_arrays_clear(&call.pose);
    for (int i = 0; i < OUTPUTS; i++)
        mmd_py_array_clear(&call.outputs[i]);
    return result;
}
