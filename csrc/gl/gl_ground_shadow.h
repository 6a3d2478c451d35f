/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_GROUND_SHADOW_H
#define MMD_GL_GROUND_SHADOW_H

#include "gl/gl_renderer.h"

/* Projects surfaces to the ground along the light: sets the members of the uniforms. False if there
   is no shadow. */
bool mmd_gl_ground_shadow_project(const mmd_gl_renderer *renderer, mmd_gl_frame_uniforms *out);

/* Draws what surfaces cast on the ground, before anything else. */
void mmd_gl_ground_shadow_draw(const mmd_gl_renderer *renderer);

#endif
