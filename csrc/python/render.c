/* SPDX-License-Identifier: MIT */
#include "core/skin/mesh.h"
#include "gl/gl_render.h"
#include "python/arguments.h"
#include "python/render_scene.h"
#include "python/slices.h"

#include <string.h>

enum { IMAGE, DEPTH, NORMALS, TRIANGLES, OUTPUTS };

static const struct {
    const char *name;
    mmd_dtype dtype;
    size_t width; /* 0: no such axis */
} outputs[OUTPUTS] = {[IMAGE] = {"image", MMD_UINT8, 4},
                      [DEPTH] = {"depth", MMD_FLOAT32, 0},
                      [NORMALS] = {"normals", MMD_FLOAT32, 3},
                      [TRIANGLES] = {"triangles", MMD_INT32, 0}};

/* Samples of a slice: what takes some tenths of a second on the CPU. */
enum { SLICE_SAMPLES = 1 << 24 };

typedef struct render_call {
    mmd_state *state;
    mmd_render_job job;
    bool batch; /* results have an axis of frames */
    mmd_scene scene;
    mmd_array positions, normals, uvs;
    bool wanted[OUTPUTS];
    mmd_array made[OUTPUTS];
} render_call;

static bool take_mesh(render_call *call, PyObject *mesh)
{
    const mmd_variants *variants = mmd_mesh_take(call->state, mesh);
    if (!variants)
        return false;
    const mmd_mesh_extras *extras = &variants->extras;
    if (!extras->triangles) {
        PyErr_SetString(PyExc_ValueError, "mesh: it has no triangles, Mesh(..., triangles=)");
        return false;
    }
    call->job.triangles = extras->triangles;
    call->job.triangle_count = extras->triangle_count;
    call->job.uv_frames = 1;
    if (variants->model) {
        call->job.vertex_count = variants->model->vertex_count;
        call->job.uvs = variants->model->uvs;
        call->job.edge_scales = variants->model->edge_scales;
    } else {
        call->job.vertex_count = atomic_load(&variants->base)->vertex_count;
    }
    return true;
}

/* (V, width) or (F, V, width). */
static bool take_vertices(render_call *call, PyObject *argument, const char *name, size_t width,
                          mmd_array *array, size_t *frames)
{
    const size_t shape[] = {MMD_ANY, call->job.vertex_count, width};
    return mmd_array_from_frames(argument, name, MMD_FLOAT32, 2, shape, "F", array, frames,
                                 &call->batch);
}

static bool take_skinned(render_call *call, PyObject *skinned)
{
    int is_skinned = PyObject_IsInstance(skinned, call->state->records[MMD_RECORD_SKINNED]);
    if (is_skinned < 0)
        return false;
    if (!is_skinned || PyTuple_Size(skinned) != 3) {
        PyErr_Format(PyExc_TypeError, "skinned: expected a Skinned, not %R",
                     (PyObject *)Py_TYPE(skinned));
        return false;
    }
    size_t frames = 0;
    PyObject *normals = PyTuple_GetItem(skinned, 1);
    if (!take_vertices(call, PyTuple_GetItem(skinned, 0), "skinned.positions", 3, &call->positions,
                       &call->job.position_frames))
        return false;
    call->job.positions = call->positions.data;
    if (normals == Py_None)
        return true;
    if (!take_vertices(call, normals, "skinned.normals", 3, &call->normals, &frames))
        return false;
    call->job.normals = call->normals.data;
    if (frames == call->job.position_frames)
        return true;
    PyErr_Format(PyExc_ValueError, "skinned.normals: %zu frames, positions have %zu", frames,
                 call->job.position_frames);
    return false;
}

/* False, with a TypeError of this text unless there is an exception of another kind. */
static bool refuse_type(const char *text)
{
    if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_SetString(PyExc_TypeError, text);
    return false;
}

static bool take_size(render_call *call, PyObject *size)
{
    static const char text[] = "size: expected (width, height), two integers";
    PyObject *two = PySequence_Tuple(size);
    if (!two)
        return refuse_type(text);
    Py_ssize_t given[2] = {0, 0};
    bool pair = PyTuple_Size(two) == 2;
    for (int i = 0; pair && !PyErr_Occurred() && i < 2; i++)
        given[i] = PyNumber_AsSsize_t(PyTuple_GetItem(two, i), NULL);
    Py_DECREF(two);
    if (PyErr_Occurred())
        return refuse_type(text);
    if (!pair) {
        PyErr_SetString(PyExc_ValueError, text);
        return false;
    }
    if (given[0] < 1 || given[1] < 1) {
        PyErr_Format(PyExc_ValueError, "size: %zd x %zd, expected at least 1 x 1", given[0],
                     given[1]);
        return false;
    }
    call->job.width = (size_t)given[0];
    call->job.height = (size_t)given[1];
    return true;
}

static bool take_wanted(render_call *call, PyObject *want)
{
    PyObject *names = PyUnicode_Check(want) ? NULL : PySequence_Tuple(want);
    if (!names)
        return refuse_type("want: expected a tuple of names");
    bool known = true;
    for (Py_ssize_t i = 0; known && i < PyTuple_Size(names); i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        known = false;
        for (int k = 0; PyUnicode_Check(name) && k < OUTPUTS; k++)
            if (PyUnicode_CompareWithASCIIString(name, outputs[k].name) == 0)
                known = call->wanted[k] = true;
        if (!known)
            PyErr_Format(PyExc_ValueError,
                         "want: %R is unknown, expected \"image\", \"depth\", \"normals\" or "
                         "\"triangles\"",
                         name);
    }
    Py_DECREF(names);
    return known;
}

static bool check_backend(PyObject *value)
{
    const char *name;
    if (!mmd_word_take(value, "backend", &name))
        return false;
    if (strcmp(name, "auto") == 0 || strcmp(name, "gl") == 0)
        return true;
    PyErr_Format(PyExc_ValueError, "backend: \"%s\", pictures are drawn by \"gl\" alone", name);
    return false;
}

static void count_frames(render_call *call)
{
    mmd_render_job *job = &call->job;
    job->cameras = call->scene.cameras;
    job->camera_frames = call->scene.camera_frames;
    call->batch |= call->scene.camera_batch;
    job->frame_count = job->position_frames != 1 ? job->position_frames
                       : job->camera_frames != 1 ? job->camera_frames
                                                 : job->uv_frames;
}

static bool make_outputs(render_call *call)
{
    const mmd_render_job *job = &call->job;
    for (int i = 0; i < OUTPUTS; i++) {
        size_t shape[4] = {job->frame_count, job->height, job->width, outputs[i].width};
        int rank = call->batch + 2 + (outputs[i].width > 0);
        if (call->wanted[i] &&
            !mmd_array_new_of(outputs[i].dtype, rank, shape + !call->batch, &call->made[i]))
            return false;
    }
    call->job.image = call->made[IMAGE].data;
    call->job.depths = call->made[DEPTH].data;
    call->job.normals_seen = call->made[NORMALS].data;
    call->job.triangles_seen = call->made[TRIANGLES].data;
    return true;
}

static bool run_part(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    (void)worker;
    const render_call *call = arg;
    mmd_render_job part = mmd_render_slice(&call->job, first, count);
    return mmd_gl_render(&part, err);
}

static PyObject *execute(render_call *call)
{
    const mmd_render_job *job = &call->job;
    mmd_error err = {0};
    bool sound;
    Py_BEGIN_ALLOW_THREADS
    sound = mmd_render_check(job, &err) &&
            mmd_gl_render_fits(job->width, job->height, job->samples, &err);
    Py_END_ALLOW_THREADS
    if (!sound)
        return mmd_raise(call->state, &err);
    size_t samples = job->width * job->height * job->samples * job->samples;
    mmd_slices slices;
    if (!make_outputs(call) ||
        !mmd_slices_plan(NULL, job->frame_count, samples, SLICE_SAMPLES, &slices) ||
        !mmd_slices_run(call->state, &slices, run_part, call))
        return NULL;
    PyObject *members[OUTPUTS];
    for (int i = 0; i < OUTPUTS; i++)
        members[i] = call->made[i].object ? call->made[i].object : Py_None;
    return PyObject_CallFunctionObjArgs(call->state->records[MMD_RECORD_RENDERED], members[0],
                                        members[1], members[2], members[3], NULL);
}

/* What the call leaves to defaults. */
typedef struct render_options {
    PyObject *size, *camera, *background, *light, *materials, *uvs, *textures, *want;
    PyObject *samples, *backend;
} render_options;

static bool take_surface(render_call *call, PyObject *mesh, const render_options *given)
{
    bool is_model = Py_TYPE(mesh) == call->state->model_type;
    mmd_render_job *job = &call->job;
    if (given->uvs != Py_None) {
        if (!take_vertices(call, given->uvs, "uvs", 2, &call->uvs, &job->uv_frames))
            return false;
        job->uvs = call->uvs.data;
    }
    size_t limit = is_model ? mmd_model_data(mesh)->texture_count : MMD_SCENE_ANY_TEXTURE;
    if (!mmd_scene_take_textures(&call->scene, given->textures, limit))
        return false;
    if (call->scene.texture_count && !job->uvs) {
        PyErr_SetString(PyExc_ValueError, "textures: a Mesh has no texture coordinates, give uvs");
        return false;
    }
    PyObject *materials = given->materials != Py_None ? Py_NewRef(given->materials)
                          : is_model                  ? PyObject_GetAttrString(mesh, "materials")
                                                      : Py_NewRef(Py_None);
    bool taken = materials && mmd_scene_take_materials(&call->scene, call->state, materials,
                                                       job->triangle_count);
    Py_XDECREF(materials);
    job->materials = call->scene.materials;
    job->material_count = call->scene.material_count;
    job->textures = call->scene.textures;
    job->texture_count = call->scene.texture_count;
    return taken;
}

static bool take_options(render_call *call, const render_options *given)
{
    mmd_render_job *job = &call->job;
    const float background[] = {1, 1, 1, 0}, light[] = {-0.5f, -1, 0.5f};
    memcpy(job->background, background, sizeof background);
    memcpy(job->light, light, sizeof light);
    job->width = job->height = 512;
    call->wanted[IMAGE] = !given->want;
    long samples = 1;
    if (given->samples &&
        !mmd_integer_take(given->samples, "samples", 1, MMD_MOST_SAMPLES, &samples))
        return false;
    job->samples = (size_t)samples;
    return (!given->backend || check_backend(given->backend)) &&
           (!given->size || take_size(call, given->size)) &&
           (!given->background ||
            mmd_numbers_take(given->background, "background", MMD_FLOAT32, 4, job->background)) &&
           (!given->light || mmd_numbers_take(given->light, "light", MMD_FLOAT32, 3, job->light)) &&
           (!given->want || take_wanted(call, given->want)) &&
           mmd_scene_take_camera(&call->scene, call->state, given->camera);
}

PyObject *mmd_py_render(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"mesh",     "skinned", "size",    "camera",    "background",
                            "light",    "edges",   "want",    "materials", "uvs",
                            "textures", "samples", "backend", NULL};
    PyObject *mesh, *skinned;
    int edges = 0;
    render_options given = {
        .camera = Py_None, .materials = Py_None, .uvs = Py_None, .textures = Py_None};
    render_call call = {.state = mmd_state_of_module(module)};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$OOOOpOOOOOO:render", names, &mesh, &skinned,
                                     &given.size, &given.camera, &given.background, &given.light,
                                     &edges, &given.want, &given.materials, &given.uvs,
                                     &given.textures, &given.samples, &given.backend))
        return NULL;
    call.job.edges = edges;
    PyObject *result = NULL;
    if (take_mesh(&call, mesh) && take_skinned(&call, skinned) && take_options(&call, &given) &&
        take_surface(&call, mesh, &given)) {
        count_frames(&call);
        result = execute(&call);
    }
    mmd_scene_free(&call.scene);
    mmd_array_clear(&call.positions);
    mmd_array_clear(&call.normals);
    mmd_array_clear(&call.uvs);
    for (int i = 0; i < OUTPUTS; i++)
        mmd_array_clear(&call.made[i]);
    return result;
}

const char mmd_render_doc[] =
    "render($module, mesh, skinned, *, size=(512, 512), camera=None, background=(1, 1, 1, 0),\n"
    "       light=(-0.5, -1, 0.5), edges=False, want=[\"image\"], materials=None, uvs=None,\n"
    "       textures=None, samples=1, backend=\"auto\")\n--\n\n"
    "A picture without a window, drawn by OpenGL. Returns a Rendered.\n\n"
    "mesh: a Model, or a Mesh with triangles, whose corners go clockwise seen from outside.\n"
    "skinned: what skin() returned for it, positions (V,3) or a batch (F,V,3); a batch also makes\n"
    "    results with an F in front, and so do F cameras or uvs. A single one of any serves all.\n"
    "    Without normals those of the triangles are taken.\n"
    "size: (width, height) in pixels. Pixels are square; row 0 is the top; a pixel shows what the "
    "ray\n"
    "    through its middle meets.\n"
    "camera: a Camera, as of Motion.camera_at; None: straight in front of each frame, all of it "
    "in\n"
    "    the picture. Left-handed: looking along +z with y up, +x is right.\n"
    "background: (4,) sRGB and alpha, 0 to 1.\n"
    "light: (3,) the way that light goes; MMD's by default. A surface's colour is\n"
    "    texture * min(1, ambient + diffuse * cosine of light and normal), by its material.\n"
    "edges: whether materials with the edge flag have edges, by a hull swollen along the normals. "
    "An\n"
    "    edge of size and scale 1 is one pixel wide in a picture 512 high, and grows with it.\n"
    "want: names of members of Rendered; the others are None. Edges are in the image alone.\n"
    "materials: Materials, as of Model.materials_at; None: the Model's, and one grey of both "
    "sides\n"
    "    for a Mesh. Drawn in their order, alpha over what is behind; where alpha is 0 nothing "
    "is.\n"
    "uvs: (V,2) or (F,V,2), as of Model.uvs_at; None: the Model's. A Mesh has none.\n"
    "textures: {index: (h,w,4) uint8 sRGB, straight alpha}, row 0 at v = 0, repeated; indices as\n"
    "    materials have them, for a Mesh without materials any one. What is missing is white. "
    "They\n"
    "    go to the device in every call, and again for every 2^24 samples or so of a batch (a "
    "picture\n"
    "    has width * height * samples * samples): draw batches of small pictures.\n"
    "samples: n by n samples a pixel of the image, 1 to 8, for smooth outlines.\n"
    "backend: \"auto\" or \"gl\", which are the same here; llvmpipe does on machines without a "
    "GPU.\n\n"
    "sRGB is dealt with once: colours are made linear, lit and mixed, and the image is sRGB "
    "again.\n"
    "Depth and triangles are exact; what is nearer than a hundred-thousandth of the farthest "
    "vertex\n"
    "is cut off. Raises TypeError and ValueError, also for more pixels than the device draws, and\n"
    "BackendError without OpenGL.";
