/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_SKIN_H
#define MMD_GL_SKIN_H

#include "core/skin/skin.h"
#include "gl/gl_thread.h"

/* Whether OpenGL can skin on this machine: false with the reason in `err`, or its device ("renderer
   (vendor), version") and whether that renders in software. Starts the OpenGL thread. */
bool mmd_gl_skin_info(const mmd_gl_caller *caller, char *device, size_t size, bool *software,
                      mmd_error *err);

/* Runs a checked job by compute shaders on the OpenGL thread (gl_thread.h) and waits for it. Takes
   the same inputs and outputs as mmd_skin_cpu, from any thread. The mesh stays on the device, in
   its device slot, until mmd_mesh_free or mmd_gl_thread_shutdown. `done`: the number of complete
   frames, all unless it fails; the outputs of the others are undefined. */
bool mmd_gl_skin(const mmd_skin_job *job, const mmd_gl_caller *caller, size_t *done,
                 mmd_error *err);

#endif
