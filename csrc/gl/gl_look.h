/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_LOOK_H
#define MMD_GL_LOOK_H

#include "gl/gl_renderer.h"

/* Draws the surfaces, edges and shadows of the frame in the look of MMD. */
bool mmd_gl_look_draw(const mmd_gl_renderer *renderer, mmd_error *err);

#endif
