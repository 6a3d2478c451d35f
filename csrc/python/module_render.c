/* SPDX-License-Identifier: MIT */
/* The Python functions render(), which parses its arguments and runs the job, and toons(). */
#include "core/skin/mesh.h"
#include "gl/gl.h"
#include "python/argument.h"
#include "python/batch.h"
#include "python/exceptions.h"
#include "python/owned.h"
#include "python/pose_io.h"
#include "python/render_scene.h"
#include "python/types.h"

#include <string.h>

enum { IMAGE, DEPTH, NORMALS, TRIANGLES, OUTPUTS };

static const struct {
    mmd_py_array_dtype dtype;
    size_t width; /* 0: no third axis */
} outputs[OUTPUTS] = {[IMAGE] = {MMD_PY_UINT8, 4},
                      [DEPTH] = {MMD_PY_FLOAT32, 0},
                      [NORMALS] = {MMD_PY_FLOAT32, 3},
                      [TRIANGLES] = {MMD_PY_INT32, 0}};

/* Samples of a chunk, between which Ctrl-C takes effect: less than a tenth of a second. */
enum { CARD_CHUNK_SAMPLES = 1 << 24, CPU_CHUNK_SAMPLES = 1 << 19 };

typedef struct render_call {
    mmd_py_state *state;
    mmd_render_job job;
    bool batched; /* results have a frame axis */
    mmd_py_render_scene scene;
    mmd_py_render_look look;
    mmd_skin_job skin; /* instead of positions, if it has a mesh */
    mmd_py_skin_pose pose;
    bool on_device; /* skins there */
    mmd_gl_caller caller;
    mmd_py_array positions, normals, uvs;
    bool requested[OUTPUTS];
    mmd_py_array arrays[OUTPUTS];
} render_call;

static bool parse_mesh(render_call *call, PyObject *mesh)
{
    const mmd_py_mesh_cache *cache = mmd_py_mesh_cache_from_argument(call->state, mesh);
    if (!cache)
        return false;
    const mmd_mesh_extras *extras = &cache->extras;
    if (!extras->triangles)
        return PyErr_Format(PyExc_ValueError, "mesh: no triangles; pass triangles= to Mesh()");
    call->job.triangles = extras->triangles;
    call->job.triangle_count = extras->triangle_count;
    call->job.uv_frames = call->job.effects.additional_uv_frames = 1;
    call->job.effects.light_color_frames = 1;
    if (cache->model) {
        call->job.vertex_count = cache->model->vertex_count;
        call->job.uvs = cache->model->uvs;
        call->job.edge_scales = cache->model->edge_scales;
        call->job.effects.additional_uv_width = 4 * cache->model->additional_uv_count;
        if (cache->model->additional_uv_count)
            call->job.effects.additional_uvs = cache->model->additional_uvs;
    } else {
        call->job.vertex_count = atomic_load(&cache->base)->vertex_count;
    }
    return true;
}

/* (V, width) or (F, V, width). */
static bool parse_vertices(render_call *call, PyObject *argument, const char *name, size_t width,
                           mmd_py_array *array, size_t *frames)
{
    const size_t shape[] = {MMD_PY_ANY, call->job.vertex_count, width};
    return mmd_py_array_from_frames(argument, name, MMD_PY_FLOAT32, 2, shape, "F", array, frames,
                                    &call->batched);
}

static bool parse_skinned(render_call *call, PyObject *skinned)
{
    int is_skinned = PyObject_IsInstance(skinned, call->state->records[MMD_PY_RECORD_SKINNED]);
    if (is_skinned < 0)
        return false;
    if (!is_skinned || PyTuple_Size(skinned) != 3) {
        const char expected[] = "skinned: expected a Skinned or a Pose";
        if (Py_TYPE(skinned) != call->state->types[MMD_PY_MOTION])
            return mmd_py_exceptions_raise_wrong_type(skinned, expected, "load_motion");
        return PyErr_Format(PyExc_TypeError,
                            "%s, not %R; Model.pose() makes the pose of a frame of a Motion",
                            expected, (PyObject *)Py_TYPE(skinned));
    }
    size_t frames = 0;
    PyObject *normals = PyTuple_GetItem(skinned, 1);
    if (!parse_vertices(call, PyTuple_GetItem(skinned, 0), "skinned.positions", 3, &call->positions,
                        &call->job.position_frames))
        return false;
    call->job.positions = call->positions.data;
    if (normals == Py_None)
        return true;
    if (!parse_vertices(call, normals, "skinned.normals", 3, &call->normals, &frames))
        return false;
    call->job.normals = call->normals.data;
    call->job.has_normals = true;
    return frames == call->job.position_frames ||
           PyErr_Format(PyExc_ValueError, "skinned.normals: %zu frames, positions have %zu", frames,
                        call->job.position_frames);
}

/* The result of skin(), or a Pose, which is skinned while drawing. */
static bool parse_shape(render_call *call, PyObject *mesh, PyObject *skinned)
{
    int is_pose = PyObject_IsInstance(skinned, call->state->records[MMD_PY_RECORD_POSE]);
    if (is_pose <= 0)
        return is_pose == 0 && parse_skinned(call, skinned);
    if (!mmd_py_skin_pose_parse(&call->pose, call->state, mesh, skinned, Py_None, &call->skin,
                                &call->batched))
        return false;
    call->job.has_normals = call->skin.mesh->has_normals;
    call->job.position_frames = call->skin.frame_count;
    return true;
}

static bool parse_size(render_call *call, PyObject *size)
{
    Py_ssize_t width, height;
    MMD_PY_OWNED PyObject *two = mmd_py_object_call("mmdskin.argument", "parse_size", "(O)", size);
    if (!two || !PyArg_ParseTuple(two, "nn", &width, &height))
        return false;
    call->job.width = (size_t)width;
    call->job.height = (size_t)height;
    return true;
}

static bool parse_want(render_call *call, PyObject *want)
{
    MMD_PY_OWNED PyObject *all = mmd_py_object_call("mmdskin.argument", "parse_want", "(O)", want);
    for (int i = 0; all && i < OUTPUTS; i++)
        call->requested[i] = PyTuple_GetItem(all, i) == Py_True;
    return all != NULL;
}

static bool parse_backend(render_call *call, PyObject *value)
{
    const char *name;
    if (!mmd_py_argument_str(value, "backend", &name))
        return false;
    call->on_device = strcmp(name, "gl") == 0;
    return strcmp(name, "auto") == 0 || call->on_device ||
           PyErr_Format(PyExc_ValueError,
                        "backend: \"%s\" cannot render, expected \"auto\" or \"gl\"", name);
}

static void count_frames(render_call *call)
{
    mmd_render_job *job = &call->job;
    job->cameras = call->scene.cameras;
    job->camera_frames = call->scene.camera_frames;
    call->batched |= call->scene.cameras_batched;
    const size_t counts[] = {job->position_frames,
                             job->camera_frames,
                             job->uv_frames,
                             job->light_frames,
                             job->effects.light_color_frames,
                             job->effects.additional_uv_frames};
    job->frame_count = 1;
    for (size_t i = 0; job->frame_count == 1 && i < sizeof counts / sizeof *counts; i++)
        job->frame_count = counts[i];
}

static bool make_outputs(render_call *call)
{
    const mmd_render_job *job = &call->job;
    for (int i = 0; i < OUTPUTS; i++) {
        size_t shape[4] = {job->frame_count, job->height, job->width, outputs[i].width};
        int rank = call->batched + 2 + (outputs[i].width > 0);
        if (call->requested[i] &&
            !mmd_py_array_new(outputs[i].dtype, rank, shape + !call->batched, &call->arrays[i]))
            return false;
    }
    call->job.image = call->arrays[IMAGE].data;
    call->job.depth_buffer = call->arrays[DEPTH].data;
    call->job.normal_buffer = call->arrays[NORMALS].data;
    call->job.triangle_buffer = call->arrays[TRIANGLES].data;
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

static PyObject *execute(render_call *call)
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
    if (!make_outputs(call) ||
        !mmd_py_batch_plan(NULL, job->frame_count, samples,
                           card ? CARD_CHUNK_SAMPLES : CPU_CHUNK_SAMPLES, &batch) ||
        !mmd_py_batch_run(&batch, run_task, call))
        return NULL;
    PyObject *members[OUTPUTS];
    for (int i = 0; i < OUTPUTS; i++)
        members[i] = call->arrays[i].object ? call->arrays[i].object : Py_None;
    return PyObject_CallFunctionObjArgs(call->state->records[MMD_PY_RECORD_RENDERED], members[0],
                                        members[1], members[2], members[3], NULL);
}

/* The optional arguments. */
typedef struct render_options {
    PyObject *size, *camera, *background, *materials, *uvs, *textures, *want;
    PyObject *samples, *backend;
} render_options;

static bool parse_surface(render_call *call, PyObject *mesh, const render_options *options)
{
    bool is_model = Py_TYPE(mesh) == call->state->types[MMD_PY_MODEL];
    mmd_render_job *job = &call->job;
    if (options->uvs != Py_None) {
        if (!parse_vertices(call, options->uvs, "uvs", 2, &call->uvs, &job->uv_frames))
            return false;
        job->uvs = call->uvs.data;
    }
    size_t limit =
        is_model ? mmd_py_model_data(mesh)->texture_count : MMD_PY_RENDER_SCENE_ANY_TEXTURE;
    if (!mmd_py_render_scene_set_textures(&call->scene, options->textures, limit))
        return false;
    if (call->scene.texture_count && !job->uvs)
        return PyErr_Format(PyExc_ValueError,
                            "textures: a Mesh has no texture coordinates; pass uvs=");
    MMD_PY_OWNED PyObject *materials = options->materials != Py_None ? Py_NewRef(options->materials)
                                       : is_model ? PyObject_GetAttrString(mesh, "materials")
                                                  : Py_NewRef(Py_None);
    bool ok = materials && mmd_py_render_scene_set_materials(&call->scene, call->state, materials,
                                                             job->triangle_count);
    job->materials = call->scene.materials;
    job->material_count = call->scene.material_count;
    job->textures = call->scene.textures;
    job->texture_count = call->scene.texture_count;
    return ok;
}

static bool parse_options(render_call *call, const render_options *options)
{
    mmd_render_job *job = &call->job;
    const float background[] = {1, 1, 1, 0};
    memcpy(job->background, background, sizeof background);
    job->width = job->height = 512;
    call->requested[IMAGE] = !options->want;
    long samples = 1;
    if (options->samples &&
        !mmd_py_argument_int(options->samples, "samples", 1, MMD_MAX_SAMPLES, &samples))
        return false;
    job->samples = (size_t)samples;
    return (!options->backend || parse_backend(call, options->backend)) &&
           (!options->size || parse_size(call, options->size)) &&
           (!options->background || mmd_py_argument_numbers(options->background, "background",
                                                            MMD_PY_FLOAT32, 4, job->background)) &&
           (!options->want || parse_want(call, options->want)) &&
           mmd_py_render_scene_set_camera(&call->scene, call->state, options->camera);
}

/* Of MMD's look without the textures that it needs. */
static bool warn_of_textures(const render_call *call, PyObject *mesh, PyObject *textures)
{
    bool is_model = Py_TYPE(mesh) == call->state->types[MMD_PY_MODEL];
    size_t count = is_model ? mmd_py_model_data(mesh)->texture_count : 0;
    return textures != Py_None || !count || call->job.look != MMD_LOOK_MMD ||
           PyErr_WarnFormat(PyExc_UserWarning, 1,
                            "textures: the model has %zu, but is drawn without them: "
                            "load_textures(model) reads them; {} if that is intended",
                            count) == 0;
}

/* One camera that sees all frames of a batch. */
static bool frame_batch(render_call *call, PyObject *mesh, PyObject *skinned)
{
    MMD_PY_OWNED PyObject *camera =
        mmd_py_object_call("mmdskin.camera_framing", "batch_camera", "(OO(nn))", mesh, skinned,
                           (Py_ssize_t)call->job.width, (Py_ssize_t)call->job.height);
    return camera && mmd_py_render_scene_set_camera(&call->scene, call->state, camera);
}

PyObject *mmd_py_module_render(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"mesh",     "skinned", "size",           "camera",        "background",
                            "light",    "edges",   "want",           "materials",     "uvs",
                            "textures", "samples", "backend",        "look",          "light_color",
                            "factors",  "toons",   "additional_uvs", "ground_shadow", "self_shadow",
                            NULL};
    PyObject *mesh, *skinned;
    int edges = 0;
    render_options options = {
        .camera = Py_None, .materials = Py_None, .uvs = Py_None, .textures = Py_None};
    render_call call = {.state = mmd_py_state_of_module(module)};
    mmd_py_render_look *look = &call.look;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "OO|$OOOOpOOOOOOOOOOOOp:render", names, &mesh, &skinned, &options.size,
            &options.camera, &options.background, &look->light, &edges, &options.want,
            &options.materials, &options.uvs, &options.textures, &options.samples, &options.backend,
            &look->look, &look->light_color, &look->factors, &look->toons, &look->additional_uvs,
            &look->ground_shadow, &look->self_shadow))
        return NULL;
    call.job.edges = edges;
    PyObject *result = NULL;
    if (parse_mesh(&call, mesh) && parse_shape(&call, mesh, skinned) &&
        parse_options(&call, &options) && parse_surface(&call, mesh, &options) &&
        mmd_py_render_look_parse(look, &call.job, &call.batched) &&
        warn_of_textures(&call, mesh, options.textures) &&
        (options.camera != Py_None || call.job.position_frames < 2 ||
         frame_batch(&call, mesh, skinned))) {
        count_frames(&call);
        result = execute(&call);
    }
    mmd_py_render_scene_free(&call.scene);
    mmd_py_render_look_clear(look);
    mmd_py_skin_pose_clear(&call.pose);
    mmd_py_array_clear(&call.positions);
    mmd_py_array_clear(&call.normals);
    mmd_py_array_clear(&call.uvs);
    for (int i = 0; i < OUTPUTS; i++)
        mmd_py_array_clear(&call.arrays[i]);
    return result;
}

PyObject *mmd_py_module_toons(PyObject *module, PyObject *unused)
{
    static const size_t shape[] = {MMD_TOON_COUNT, MMD_TOON_ROWS, 4};
    mmd_py_array toons = {0};
    if (!mmd_py_array_new(MMD_PY_UINT8, 3, shape, &toons))
        return NULL;
    mmd_toons(toons.data);
    return toons.object;
}
