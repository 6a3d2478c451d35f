/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_SHADOW_MAP_H
#define MMD_GL_SHADOW_MAP_H

#include "gl/gl_renderer.h"

/* How the light sees the frame. */
typedef struct mmd_gl_shadow_view {
    float caster[16], receiver[16]; /* row-major: view space to the map, 0 to 1 */
    float offset; /* of receivers along their normals, against shadows of a surface on itself */
} mmd_gl_shadow_view;

/* Fits the depth map to what is seen of what casts shadows. False if that is nothing. */
bool mmd_gl_shadow_map_fit(const mmd_gl_renderer *renderer, mmd_gl_shadow_view *out);
void mmd_gl_shadow_map_draw(const mmd_gl_renderer *renderer, const mmd_gl_shadow_view *view);

#endif
