/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_RENDER_SCENE_H
#define MMD_PY_RENDER_SCENE_H

#include "core/render/render.h"
#include "python/arrays.h"
#include "python/state.h"

/* What render() is given beside the mesh, and the memory behind it. Zeroed: nothing taken yet. */
typedef struct mmd_scene {
    mmd_render_material *materials;
    size_t material_count;
    mmd_render_texture *textures;
    mmd_array *pixels;        /* of the textures */
    int32_t *texture_indices; /* that materials call them by */
    size_t texture_count;
    mmd_camera *cameras; /* NULL: None */
    size_t camera_frames;
    bool camera_batch; /* members have an axis of frames */
} mmd_scene;

/* The limit of a Mesh's textures, of which there is no list. */
#define MMD_SCENE_ANY_TEXTURE ((size_t)INT32_MAX)

/* Each takes one argument, or fails with an exception that names it. `textures` comes before
   materials, which refer to it; None for materials: one grey material of all triangles. */
bool mmd_scene_take_textures(mmd_scene *scene, PyObject *textures, size_t limit);
bool mmd_scene_take_materials(mmd_scene *scene, mmd_state *state, PyObject *materials,
                              size_t triangle_count);
bool mmd_scene_take_camera(mmd_scene *scene, mmd_state *state, PyObject *camera);

void mmd_scene_free(mmd_scene *scene);

#endif
