/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_RENDER_SCENE_H
#define MMD_PY_RENDER_SCENE_H

#include "core/render/render.h"
#include "python/array.h"
#include "python/state.h"

/* The materials, textures and cameras of a render() call, with the memory that they borrow.
   Initialize to zero. */
typedef struct mmd_py_render_scene {
    mmd_render_material *materials;
    size_t material_count;
    mmd_render_texture *textures;
    mmd_py_array *pixels;     /* the pixels of `textures` */
    int32_t *texture_indices; /* by which materials refer to `textures` */
    size_t texture_count;
    mmd_camera *cameras; /* NULL: None */
    size_t camera_frames;
    bool cameras_batched; /* a member has a frame axis */
} mmd_py_render_scene;

/* The limit of indices for a Mesh, which has no list of textures. */
#define MMD_PY_RENDER_SCENE_ANY_TEXTURE ((size_t)INT32_MAX)

/* Each parses one argument, or fails with an exception that names it. Set textures first: materials
   refer to them. Materials may be None: one gray material for all triangles. */
bool mmd_py_render_scene_set_textures(mmd_py_render_scene *scene, PyObject *textures, size_t limit);
bool mmd_py_render_scene_set_materials(mmd_py_render_scene *scene, mmd_py_state *state,
                                       PyObject *materials, size_t triangle_count);
bool mmd_py_render_scene_set_camera(mmd_py_render_scene *scene, mmd_py_state *state,
                                    PyObject *camera);

void mmd_py_render_scene_free(mmd_py_render_scene *scene);

/* The arguments of render() that are about the look: Python objects, NULL where they are not given,
   and the arrays that a job borrows from them. Initialize to zero. */
typedef struct mmd_py_render_look {
    PyObject *look, *light, *light_color, *factors, *toons, *additional_uvs, *ground_shadow;
    int self_shadow;
    mmd_py_array lights, light_colors, factor_array, toon_array, uv_array;
} mmd_py_render_look;

/* Sets the look, the lights and the effects of a job, whose materials, vertex count and own
   additional UVs are set; sets `batched` if one has a frame axis. False with an exception. */
bool mmd_py_render_look_parse(mmd_py_render_look *look, mmd_render_job *job, bool *batched);
void mmd_py_render_look_clear(mmd_py_render_look *look);

#endif
