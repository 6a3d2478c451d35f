/* SPDX-License-Identifier: MIT */
/* Parses the materials, textures and cameras of render(). */
#include "python/render_scene.h"

#include "core/render/render.h"
#include "python/argument.h"
#include "python/owned.h"

/* Textures */

static bool parse_texture(mmd_py_render_scene *scene, PyObject *item, size_t limit, int32_t *index)
{
    PyObject *key = PyTuple_GetItem(item, 0);
    size_t at = scene->texture_count;
    if (!PyLong_Check(key))
        return PyErr_Format(PyExc_TypeError, "textures: key %R, expected the index of a texture",
                            key);
    int overflow;
    long number = PyLong_AsLongAndOverflow(key, &overflow);
    if (overflow || number < 0 || (size_t)number >= limit) {
        if (limit == MMD_PY_RENDER_SCENE_ANY_TEXTURE)
            PyErr_Format(PyExc_ValueError, "textures: key %S, expected 0 to %zu", key, limit - 1);
        else
            PyErr_Format(PyExc_ValueError, "textures: key %S, the model has %zu textures", key,
                         limit);
        return false;
    }
    char name[48];
    PyOS_snprintf(name, sizeof name, "textures[%ld]", number);
    const size_t shape[] = {MMD_PY_ANY, MMD_PY_ANY, 4};
    mmd_py_array *pixels = &scene->pixels[at];
    if (!mmd_py_array_from(PyTuple_GetItem(item, 1), name, MMD_PY_UINT8, false, pixels))
        return false;
    scene->texture_count++;
    if (!mmd_py_array_check_shape(pixels, name, 3, shape, "hw"))
        return false;
    if (!pixels->shape[0] || !pixels->shape[1])
        return PyErr_Format(PyExc_ValueError, "%s: %zu x %zu pixels", name, pixels->shape[1],
                            pixels->shape[0]);
    scene->textures[at] =
        (mmd_render_texture){pixels->shape[1], pixels->shape[0], pixels->data, {0}};
    *index = (int32_t)number;
    return true;
}

bool mmd_py_render_scene_set_textures(mmd_py_render_scene *scene, PyObject *textures, size_t limit)
{
    if (textures == Py_None)
        return true;
    if (!PyDict_Check(textures))
        return PyErr_Format(PyExc_TypeError, "textures: expected a dict, not %R",
                            (PyObject *)Py_TYPE(textures));
    MMD_PY_OWNED PyObject *items = PyDict_Items(textures);
    size_t count = items ? (size_t)PyList_Size(items) : 0;
    scene->textures = PyMem_Calloc(count + 1, sizeof *scene->textures);
    scene->pixels = PyMem_Calloc(count + 1, sizeof *scene->pixels);
    scene->texture_indices = PyMem_Calloc(count + 1, sizeof *scene->texture_indices);
    bool ok = items && scene->textures && scene->pixels && scene->texture_indices;
    if (items && !ok)
        PyErr_NoMemory();
    for (size_t i = 0; ok && i < count; i++)
        ok = parse_texture(scene, PyList_GetItem(items, (Py_ssize_t)i), limit,
                           &scene->texture_indices[i]);
    return ok;
}

/* Materials */

static bool parse_floats(PyObject *record, size_t index, const char *field, size_t count,
                         float *out)
{
    char name[48];
    PyOS_snprintf(name, sizeof name, "materials[%zu].%s", index, field);
    MMD_PY_OWNED PyObject *member = PyObject_GetAttrString(record, field);
    return member && mmd_py_argument_numbers(member, name, MMD_PY_FLOAT32, count, out);
}

static bool parse_integer(PyObject *record, size_t index, const char *field, long min, long *out)
{
    char name[48];
    PyOS_snprintf(name, sizeof name, "materials[%zu].%s", index, field);
    MMD_PY_OWNED PyObject *member = PyObject_GetAttrString(record, field);
    return member && mmd_py_argument_int(member, name, min, INT32_MAX, out);
}

static bool parse_sphere_mode(PyObject *record, size_t index, mmd_sphere_mode *out)
{
    static const char *const names[MMD_SPHERE_MODE_COUNT] = {"none", "multiply", "add",
                                                             "sub_texture"};
    char name[48];
    int mode = MMD_SPHERE_NONE;
    PyOS_snprintf(name, sizeof name, "materials[%zu].sphere_mode", index);
    MMD_PY_OWNED PyObject *member = PyObject_GetAttrString(record, "sphere_mode");
    bool known = member && mmd_py_argument_word(member, name, names, MMD_SPHERE_MODE_COUNT, &mode);
    *out = (mmd_sphere_mode)mode;
    return known;
}

/* The position in the scene's textures of one that a material names, -1 if it is not there. */
static int32_t find_texture(const mmd_py_render_scene *scene, long index)
{
    for (size_t i = 0; i < scene->texture_count; i++)
        if (scene->texture_indices[i] == index)
            return (int32_t)i;
    return -1;
}

static bool parse_textures_of(const mmd_py_render_scene *scene, PyObject *record, size_t index,
                              mmd_render_material *out)
{
    long texture = 0, sphere = 0, toon = 0, shared = 0;
    if (!parse_integer(record, index, "texture", -1, &texture) ||
        !parse_integer(record, index, "sphere_texture", -1, &sphere) ||
        !parse_sphere_mode(record, index, &out->sphere_mode) ||
        !parse_integer(record, index, "toon", -1, &toon) ||
        !parse_integer(record, index, "shared_toon", 0, &shared))
        return false;
    out->texture = find_texture(scene, texture);
    out->sphere_texture = find_texture(scene, sphere);
    out->toon_texture = shared ? -1 : find_texture(scene, toon);
    out->shared_toon = shared && toon < MMD_TOON_COUNT ? (int32_t)toon : -1;
    return true;
}

static bool parse_material(mmd_py_render_scene *scene, mmd_py_state *state, PyObject *record,
                           size_t index)
{
    mmd_render_material *out = &scene->materials[index];
    int is_material = PyObject_IsInstance(record, state->records[MMD_PY_RECORD_MATERIAL]);
    if (is_material == 0)
        PyErr_Format(PyExc_TypeError, "materials[%zu]: expected a Material, not %R", index,
                     (PyObject *)Py_TYPE(record));
    long flags = 0, corners = 0;
    if (is_material <= 0 || !parse_floats(record, index, "diffuse", 4, out->diffuse) ||
        !parse_floats(record, index, "specular", 3, out->specular) ||
        !parse_floats(record, index, "specular_power", 1, &out->specular_power) ||
        !parse_floats(record, index, "ambient", 3, out->ambient) ||
        !parse_floats(record, index, "edge_color", 4, out->edge_color) ||
        !parse_floats(record, index, "edge_size", 1, &out->edge_size) ||
        !parse_integer(record, index, "flags", 0, &flags) ||
        !parse_textures_of(scene, record, index, out) ||
        !parse_integer(record, index, "index_count", 0, &corners))
        return false;
    if (corners % 3)
        return PyErr_Format(PyExc_ValueError,
                            "materials[%zu].index_count: %ld, expected a multiple of 3", index,
                            corners);
    out->flags = (uint8_t)(flags & UINT8_MAX);
    out->triangle_count = (size_t)corners / 3;
    return true;
}

enum {
    DEFAULT_FLAGS = MMD_MATERIAL_DOUBLE_SIDED | MMD_MATERIAL_GROUND_SHADOW |
                    MMD_MATERIAL_CASTS_SELF_SHADOW | MMD_MATERIAL_RECEIVES_SELF_SHADOW |
                    MMD_MATERIAL_EDGE
};

static bool parse_default(mmd_py_render_scene *scene, size_t triangle_count)
{
    scene->materials = PyMem_Calloc(1, sizeof *scene->materials);
    if (!scene->materials)
        return PyErr_NoMemory() != NULL;
    scene->material_count = 1;
    *scene->materials = (mmd_render_material){.diffuse = {0.7f, 0.7f, 0.7f, 1},
                                              .ambient = {0.35f, 0.35f, 0.35f},
                                              .edge_color = {0, 0, 0, 1},
                                              .edge_size = 1,
                                              .flags = DEFAULT_FLAGS,
                                              .texture = scene->texture_count ? 0 : -1,
                                              .sphere_texture = -1,
                                              .toon_texture = -1,
                                              .shared_toon = -1,
                                              .triangle_count = triangle_count};
    return true;
}

bool mmd_py_render_scene_set_materials(mmd_py_render_scene *scene, mmd_py_state *state,
                                       PyObject *materials, size_t triangle_count)
{
    if (materials == Py_None)
        return parse_default(scene, triangle_count);
    MMD_PY_OWNED PyObject *all = PySequence_Tuple(materials);
    if (!all)
        return false;
    scene->material_count = (size_t)PyTuple_Size(all);
    scene->materials = PyMem_Calloc(scene->material_count + 1, sizeof *scene->materials);
    bool ok = scene->materials || PyErr_NoMemory();
    for (size_t i = 0; ok && i < scene->material_count; i++)
        ok = parse_material(scene, state, PyTuple_GetItem(all, (Py_ssize_t)i), i);
    return ok;
}

/* Cameras */

/* A member of shape (...) or (F, ...). All members with a frame axis must have the same F, or 1. */
static bool parse_member(mmd_py_render_scene *scene, PyObject *camera, Py_ssize_t index,
                         const char *name, mmd_py_array *out)
{
    const size_t shape[] = {MMD_PY_ANY, 3};
    int rank = index < 3; /* without frames: fov is a number */
    PyObject *member = PyTuple_GetItem(camera, index);
    size_t frames;
    if (!member || !mmd_py_array_from_frames(member, name, MMD_PY_FLOAT64, rank, shape, "F", out,
                                             &frames, &scene->cameras_batched))
        return false;
    if (scene->camera_frames == 1)
        scene->camera_frames = frames;
    return frames == 1 || frames == scene->camera_frames ||
           PyErr_Format(PyExc_ValueError, "%s: %zu frames, other members have %zu", name, frames,
                        scene->camera_frames);
}

static double number_at(const mmd_py_array *member, size_t frame, size_t width, size_t i)
{
    const double *numbers = member->data;
    bool single = member->rank == (width > 1) || member->shape[0] == 1;
    return numbers[(single ? 0 : frame * width) + i];
}

bool mmd_py_render_scene_set_camera(mmd_py_render_scene *scene, mmd_py_state *state,
                                    PyObject *camera)
{
    static const char *const names[] = {"camera.position", "camera.target", "camera.up",
                                        "camera.fov"};
    scene->camera_frames = 1;
    if (camera == Py_None)
        return true;
    int is_camera = PyObject_IsInstance(camera, state->records[MMD_PY_RECORD_CAMERA]);
    if (is_camera == 0 || (is_camera > 0 && PyTuple_Size(camera) != 4))
        PyErr_Format(PyExc_TypeError, "camera: expected a Camera, not %R",
                     (PyObject *)Py_TYPE(camera));
    mmd_py_array members[4] = {{0}};
    bool ok = is_camera > 0 && !PyErr_Occurred();
    for (int i = 0; ok && i < 4; i++)
        ok = parse_member(scene, camera, i, names[i], &members[i]);
    scene->cameras = ok ? PyMem_Calloc(scene->camera_frames + 1, sizeof *scene->cameras) : NULL;
    if (ok && !scene->cameras)
        PyErr_NoMemory();
    for (size_t f = 0; scene->cameras && f < scene->camera_frames; f++) {
        mmd_camera *out = &scene->cameras[f];
        for (size_t i = 0; i < 3; i++) {
            out->position[i] = number_at(&members[0], f, 3, i);
            out->target[i] = number_at(&members[1], f, 3, i);
            out->up[i] = number_at(&members[2], f, 3, i);
        }
        out->fov = number_at(&members[3], f, 1, 0);
    }
    for (int i = 0; i < 4; i++)
        mmd_py_array_clear(&members[i]);
    return scene->cameras != NULL;
}

void mmd_py_render_scene_free(mmd_py_render_scene *scene)
{
    for (size_t i = 0; i < scene->texture_count; i++)
        mmd_py_array_clear(&scene->pixels[i]);
    PyMem_Free(scene->pixels);
    PyMem_Free(scene->textures);
    PyMem_Free(scene->texture_indices);
    PyMem_Free(scene->materials);
    PyMem_Free(scene->cameras);
}
