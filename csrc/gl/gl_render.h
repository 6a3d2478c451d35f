/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_RENDER_H
#define MMD_GL_RENDER_H

#include "core/render/render.h"

/* Whether OpenGL can draw so large a picture here; MMD_E_ARGUMENT says its limit. Starts the OpenGL
   thread. */
bool mmd_gl_render_fits(size_t width, size_t height, size_t samples, mmd_error *err);

/* Draws a checked job that fits, on the OpenGL thread (gl_thread.h), and waits for it; from any
   thread. What a frame shows depends on nothing but its inputs. Outputs are undefined when it
   fails. */
bool mmd_gl_render(const mmd_render_job *job, mmd_error *err);

#endif
