/* SPDX-License-Identifier: MIT */
#include "python/render_scene.h"

#include "python/arguments.h"

/* Textures */

static bool take_texture(mmd_scene *scene, PyObject *item, size_t limit, int32_t *index)
{
    PyObject *key = PyTuple_GetItem(item, 0);
    size_t at = scene->texture_count;
    if (!PyLong_Check(key)) {
        PyErr_Format(PyExc_TypeError, "textures: key %R, expected the index of a texture", key);
        return false;
    }
    int overflow;
    long number = PyLong_AsLongAndOverflow(key, &overflow);
    if (overflow || number < 0 || (size_t)number >= limit) {
        if (limit == MMD_SCENE_ANY_TEXTURE)
            PyErr_Format(PyExc_ValueError, "textures: key %S, expected 0 to %zu", key, limit - 1);
        else
            PyErr_Format(PyExc_ValueError, "textures: key %S, the model has %zu textures", key,
                         limit);
        return false;
    }
    char name[48];
    PyOS_snprintf(name, sizeof name, "textures[%ld]", number);
    const size_t shape[] = {MMD_ANY, MMD_ANY, 4};
    mmd_array *pixels = &scene->pixels[at];
    if (!mmd_array_from(PyTuple_GetItem(item, 1), name, MMD_UINT8, false, pixels))
        return false;
    scene->texture_count++;
    if (!mmd_array_check_shape(pixels, name, 3, shape, "hw"))
        return false;
    if (!pixels->shape[0] || !pixels->shape[1]) {
        PyErr_Format(PyExc_ValueError, "%s: %zu x %zu pixels", name, pixels->shape[1],
                     pixels->shape[0]);
        return false;
    }
    scene->textures[at] = (mmd_render_texture){pixels->shape[1], pixels->shape[0], pixels->data};
    *index = (int32_t)number;
    return true;
}

bool mmd_scene_take_textures(mmd_scene *scene, PyObject *textures, size_t limit)
{
    if (textures == Py_None)
        return true;
    if (!PyDict_Check(textures)) {
        PyErr_Format(PyExc_TypeError, "textures: expected a dict, not %R",
                     (PyObject *)Py_TYPE(textures));
        return false;
    }
    PyObject *items = PyDict_Items(textures);
    size_t count = items ? (size_t)PyList_Size(items) : 0;
    scene->textures = PyMem_Calloc(count + 1, sizeof *scene->textures);
    scene->pixels = PyMem_Calloc(count + 1, sizeof *scene->pixels);
    scene->texture_indices = PyMem_Calloc(count + 1, sizeof *scene->texture_indices);
    bool taken = items && scene->textures && scene->pixels && scene->texture_indices;
    if (items && !taken)
        PyErr_NoMemory();
    for (size_t i = 0; taken && i < count; i++)
        taken = take_texture(scene, PyList_GetItem(items, (Py_ssize_t)i), limit,
                             &scene->texture_indices[i]);
    Py_XDECREF(items);
    return taken;
}

/* Materials */

static bool take_floats(PyObject *record, size_t index, const char *field, size_t count, float *out)
{
    char name[48];
    PyOS_snprintf(name, sizeof name, "materials[%zu].%s", index, field);
    PyObject *member = PyObject_GetAttrString(record, field);
    bool taken = member && mmd_numbers_take(member, name, MMD_FLOAT32, count, out);
    Py_XDECREF(member);
    return taken;
}

static bool take_integer(PyObject *record, size_t index, const char *field, long least, long *out)
{
    char name[48];
    PyOS_snprintf(name, sizeof name, "materials[%zu].%s", index, field);
    PyObject *member = PyObject_GetAttrString(record, field);
    bool taken = member && mmd_integer_take(member, name, least, INT32_MAX, out);
    Py_XDECREF(member);
    return taken;
}

static bool take_material(mmd_scene *scene, mmd_state *state, PyObject *record, size_t index)
{
    mmd_render_material *out = &scene->materials[index];
    int is_material = PyObject_IsInstance(record, state->records[MMD_RECORD_MATERIAL]);
    if (is_material == 0)
        PyErr_Format(PyExc_TypeError, "materials[%zu]: expected a Material, not %R", index,
                     (PyObject *)Py_TYPE(record));
    long flags = 0, texture = 0, corners = 0;
    if (is_material <= 0 || !take_floats(record, index, "diffuse", 4, out->diffuse) ||
        !take_floats(record, index, "ambient", 3, out->ambient) ||
        !take_floats(record, index, "edge_color", 4, out->edge_color) ||
        !take_floats(record, index, "edge_size", 1, &out->edge_size) ||
        !take_integer(record, index, "flags", 0, &flags) ||
        !take_integer(record, index, "texture", -1, &texture) ||
        !take_integer(record, index, "index_count", 0, &corners))
        return false;
    if (corners % 3) {
        PyErr_Format(PyExc_ValueError, "materials[%zu].index_count: %ld, expected a multiple of 3",
                     index, corners);
        return false;
    }
    out->both_sides = flags & MMD_MATERIAL_DOUBLE_SIDED;
    out->has_edge = flags & MMD_MATERIAL_EDGE;
    out->triangle_count = (size_t)corners / 3;
    out->texture = -1;
    for (size_t i = 0; i < scene->texture_count; i++)
        if (scene->texture_indices[i] == texture)
            out->texture = (int32_t)i;
    return true;
}

static bool take_default(mmd_scene *scene, size_t triangle_count)
{
    scene->materials = PyMem_Calloc(1, sizeof *scene->materials);
    if (!scene->materials)
        return PyErr_NoMemory() != NULL;
    scene->material_count = 1;
    *scene->materials = (mmd_render_material){.diffuse = {0.7f, 0.7f, 0.7f, 1},
                                              .ambient = {0.35f, 0.35f, 0.35f},
                                              .edge_color = {0, 0, 0, 1},
                                              .edge_size = 1,
                                              .both_sides = true,
                                              .has_edge = true,
                                              .texture = scene->texture_count ? 0 : -1,
                                              .triangle_count = triangle_count};
    return true;
}

bool mmd_scene_take_materials(mmd_scene *scene, mmd_state *state, PyObject *materials,
                              size_t triangle_count)
{
    if (materials == Py_None)
        return take_default(scene, triangle_count);
    PyObject *all = PySequence_Tuple(materials);
    if (!all)
        return false;
    scene->material_count = (size_t)PyTuple_Size(all);
    scene->materials = PyMem_Calloc(scene->material_count + 1, sizeof *scene->materials);
    bool taken = scene->materials || PyErr_NoMemory();
    for (size_t i = 0; taken && i < scene->material_count; i++)
        taken = take_material(scene, state, PyTuple_GetItem(all, (Py_ssize_t)i), i);
    Py_DECREF(all);
    return taken;
}

/* Cameras */

/* A member of shape (...) or (F, ...). `frames`: of all members so far, 1 when there is no axis. */
static bool take_member(mmd_scene *scene, PyObject *camera, Py_ssize_t index, const char *name,
                        mmd_array *out)
{
    const size_t shape[] = {MMD_ANY, 3};
    int rank = index < 3; /* of one frame */
    PyObject *member = PyTuple_GetItem(camera, index);
    size_t frames;
    if (!member || !mmd_array_from_frames(member, name, MMD_FLOAT64, rank, shape, "F", out, &frames,
                                          &scene->camera_batch))
        return false;
    if (scene->camera_frames == 1)
        scene->camera_frames = frames;
    if (frames == 1 || frames == scene->camera_frames)
        return true;
    PyErr_Format(PyExc_ValueError, "%s: %zu frames, other members have %zu", name, frames,
                 scene->camera_frames);
    return false;
}

static double number_at(const mmd_array *member, size_t frame, size_t width, size_t i)
{
    const double *numbers = member->data;
    bool single = member->rank == (width > 1) || member->shape[0] == 1;
    return numbers[(single ? 0 : frame * width) + i];
}

bool mmd_scene_take_camera(mmd_scene *scene, mmd_state *state, PyObject *camera)
{
    static const char *const names[] = {"camera.position", "camera.target", "camera.up",
                                        "camera.fov"};
    scene->camera_frames = 1;
    if (camera == Py_None)
        return true;
    int is_camera = PyObject_IsInstance(camera, state->records[MMD_RECORD_CAMERA]);
    if (is_camera == 0 || (is_camera > 0 && PyTuple_Size(camera) != 4))
        PyErr_Format(PyExc_TypeError, "camera: expected a Camera, not %R",
                     (PyObject *)Py_TYPE(camera));
    mmd_array members[4] = {{0}};
    bool taken = is_camera > 0 && !PyErr_Occurred();
    for (int i = 0; taken && i < 4; i++)
        taken = take_member(scene, camera, i, names[i], &members[i]);
    scene->cameras = taken ? PyMem_Calloc(scene->camera_frames + 1, sizeof *scene->cameras) : NULL;
    if (taken && !scene->cameras)
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
        mmd_array_clear(&members[i]);
    return scene->cameras != NULL;
}

void mmd_scene_free(mmd_scene *scene)
{
    for (size_t i = 0; i < scene->texture_count; i++)
        mmd_array_clear(&scene->pixels[i]);
    PyMem_Free(scene->pixels);
    PyMem_Free(scene->textures);
    PyMem_Free(scene->texture_indices);
    PyMem_Free(scene->materials);
    PyMem_Free(scene->cameras);
}
