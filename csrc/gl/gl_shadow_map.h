/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_SHADOW_MAP_H
#define MMD_GL_SHADOW_MAP_H

#include "core/render/depth_map.h"
#include "gl/gl_renderer.h"
#include "gl/gl_small_triangles.h"

/* Memory and names; NULL and 0 until they are needed. */
typedef struct mmd_gl_shadow_map {
    mmd_depth_map map;
    uint16_t *pixels;                 /* a band of it as the texture's numbers */
    mmd_gl_small_triangles triangles; /* (V,4): vertices in the map, and their depths */
    mmd_depth_map_span *spans;        /* of each band: where the texture has something */
} mmd_gl_shadow_map;

/* How the light sees the frame. */
typedef struct mmd_gl_shadow_view {
    float caster[16], receiver[16]; /* row-major: view space to the map, 0 to 1 */
    float offset; /* of receivers along their normals, against shadows of a surface on itself */
} mmd_gl_shadow_view;

/* Fits the depth map to what is seen of what casts shadows. False if that is nothing. */
bool mmd_gl_shadow_map_fit(const mmd_gl_renderer *renderer, mmd_gl_shadow_view *out);
bool mmd_gl_shadow_map_draw(const mmd_gl_renderer *renderer, const mmd_gl_shadow_view *view,
                            mmd_error *err);
void mmd_gl_shadow_map_free(mmd_gl_context *context, mmd_gl_shadow_map *map);

#endif
