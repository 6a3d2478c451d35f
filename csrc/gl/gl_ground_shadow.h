/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_GROUND_SHADOW_H
#define MMD_GL_GROUND_SHADOW_H

#include "gl/gl_renderer.h"

/* Draws what surfaces cast on the ground, before anything else. */
void mmd_gl_ground_shadow_draw(const mmd_gl_renderer *renderer);

#endif
