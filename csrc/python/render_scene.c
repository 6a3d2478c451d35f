/* SPDX-License-Identifier: MIT */
/* Parses the materials, textures and cameras of render(). */
#include "python/render_scene.h"

#include "core/render/render.h"
#include "python/argument.h"
#include "python/owned.h"
#include "python/record.h"

#include <string.h>

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

/* The position in the scene's textures of one that a material names, -1 if it is not there. */
static bool find_texture(const mmd_py_render_scene *scene, size_t material, const char *field,
                         int32_t index, int32_t *out)
{
    *out = -1;
    for (size_t i = 0; i < scene->texture_count; i++)
        if (scene->texture_indices[i] == index)
            *out = (int32_t)i;
    return index >= -1 ||
           PyErr_Format(PyExc_ValueError, "materials[%zu].%s: %d, expected an index or -1",
                        material, field, (int)index);
}

static bool convert_material(const mmd_py_render_scene *scene, const mmd_material *from,
                             size_t index, mmd_render_material *out)
{
    if (from->index_count < 0 || from->index_count % 3)
        return PyErr_Format(PyExc_ValueError,
                            "materials[%zu].index_count: %d, expected a multiple of 3, at least 0",
                            index, (int)from->index_count);
    memcpy(out->diffuse, from->diffuse, sizeof out->diffuse);
    memcpy(out->specular, from->specular, sizeof out->specular);
    memcpy(out->ambient, from->ambient, sizeof out->ambient);
    memcpy(out->edge_color, from->edge_color, sizeof out->edge_color);
    out->specular_power = from->specular_power;
    out->edge_size = from->edge_size;
    out->flags = from->flags;
    out->sphere_mode = (mmd_sphere_mode)from->sphere_mode;
    out->triangle_count = (size_t)from->index_count / 3;
    bool found =
        find_texture(scene, index, "texture", from->texture, &out->texture) &&
        find_texture(scene, index, "sphere_texture", from->sphere_texture, &out->sphere_texture) &&
        find_texture(scene, index, "toon", from->toon, &out->toon_texture);
    out->shared_toon = from->shared_toon && from->toon < MMD_TOON_COUNT ? from->toon : -1;
    if (from->shared_toon)
        out->toon_texture = -1;
    return found;
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
    MMD_PY_CLEARED_BY(mmd_py_record_parser_free) mmd_py_record_parser parser = {.state = state};
    void *records;
    if (materials == Py_None)
        return parse_default(scene, triangle_count);
    mmd_py_record_parser_enter(&parser, "materials");
    if (!mmd_py_record_parse_list(&parser, MMD_PY_RECORD_MATERIAL, materials, &records,
                                  &scene->material_count))
        return false;
    scene->materials = PyMem_Calloc(scene->material_count + 1, sizeof *scene->materials);
    bool ok = scene->materials || PyErr_NoMemory();
    for (size_t i = 0; ok && i < scene->material_count; i++)
        ok = convert_material(scene, (const mmd_material *)records + i, i, &scene->materials[i]);
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
