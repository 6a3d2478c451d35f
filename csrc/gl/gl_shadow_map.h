/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_SHADOW_MAP_H
#define MMD_GL_SHADOW_MAP_H

#include "gl/gl_renderer.h"

/* Fits the depth map to what is seen of what casts shadows: sets the members of the uniforms. False
   if that is nothing. */
bool mmd_gl_shadow_map_fit(const mmd_gl_renderer *renderer, mmd_gl_frame_uniforms *out);
void mmd_gl_shadow_map_draw(const mmd_gl_renderer *renderer);

#endif
