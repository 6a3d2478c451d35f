/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_RENDER_OUTPUT_H
#define MMD_GL_RENDER_OUTPUT_H

#include "gl/gl_renderer.h"

/* Takes the pixels of drawn frames to the caller's memory. */

/* Takes those that were just drawn: a frame into a buffer, so that the device can go on with the
   next one, or a software renderer's band at once. What is still in buffers is taken when they are
   needed again, or by mmd_gl_render_output_finish(). */
bool mmd_gl_render_output_take(const mmd_gl_renderer *renderer, mmd_error *err);

/* Waits for all frames that were taken. Needed after the last one, also after an error, which ends
   without waiting. */
bool mmd_gl_render_output_finish(const mmd_gl_renderer *renderer, bool ok, mmd_error *err);

#endif
