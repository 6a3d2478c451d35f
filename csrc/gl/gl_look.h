/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_LOOK_H
#define MMD_GL_LOOK_H

#include "gl/gl_renderer.h"

/* Draw the frame in the look of MMD: the depth map of the light, if it has one, and by it the
   surfaces, edges and shadows. */
void mmd_gl_look_draw_shadow_map(const mmd_gl_renderer *renderer);
bool mmd_gl_look_draw(const mmd_gl_renderer *renderer, mmd_error *err);

/* Set the members of the uniforms that place shadows, on the ground along the light and in the
   depth map, which is fitted to what is seen of what casts them. False if there are none. */
bool mmd_gl_look_project_ground(const mmd_gl_renderer *renderer, mmd_gl_frame_uniforms *out);
bool mmd_gl_look_fit_shadow_map(const mmd_gl_renderer *renderer, mmd_gl_frame_uniforms *out);

#endif
