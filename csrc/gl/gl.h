/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_H
#define MMD_GL_H

#include "core/render/render.h"
#include "core/skin/skin.h"
#include "gl/gl_thread.h"

/* What the OpenGL thread does for its callers: skinning and pictures. */

/* Whether OpenGL can skin on this machine: on which device, or false with the reason in `err`.
   Starts the OpenGL thread. */
bool mmd_gl_skin_device(const mmd_gl_caller *caller, mmd_gl_device *out, mmd_error *err);

/* Runs a checked job by compute shaders on the OpenGL thread (gl_thread.h) and waits for it. Takes
   the same inputs and outputs as mmd_skin_cpu, from any thread. The mesh stays on the device, in
   its device slot, until mmd_mesh_free or mmd_gl_thread_shutdown. `done`: the number of complete
   frames, all unless it fails; the outputs of the others are undefined. */
bool mmd_gl_skin(const mmd_skin_job *job, const mmd_gl_caller *caller, size_t *done,
                 mmd_error *err);

/* Whether OpenGL supports an image of this size. Fails with MMD_E_ARGUMENT, which names the limit.
   Starts the OpenGL thread. */
bool mmd_gl_render_fits(const mmd_gl_caller *caller, size_t width, size_t height, size_t samples,
                        mmd_error *err);

/* Renders a checked job that fits, on the OpenGL thread (gl_thread.h), and waits for it; from any
   thread. A frame depends on its own inputs only. The outputs are undefined if it fails.

   `skin`: a checked job of the same frames, if the render job has no positions, else NULL. It is
   skinned on the device if `on_device`, for which the render job needs cameras and may not have
   self-shadows. */
bool mmd_gl_render(const mmd_render_job *job, const mmd_skin_job *skin, bool on_device,
                   const mmd_gl_caller *caller, mmd_error *err);

#endif
