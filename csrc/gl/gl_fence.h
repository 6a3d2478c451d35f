/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_FENCE_H
#define MMD_GL_FENCE_H

#include "gl/gl_context.h"

/* Waits for the device, with a time limit: a device that hangs would otherwise block its callers
   forever. */

/* The limit of a context: MMDSKIN_GL_TIMEOUT, or its default. */
bool mmd_gl_fence_read_timeout(unsigned *seconds, mmd_error *err);

/* Waits for a submitted fence. If the limit expires, the context is marked as hung: the device may
   still write to its objects, and any function of OpenGL may block, so none may be called. */
bool mmd_gl_fence_wait(mmd_gl_context *context, GLsync fence, mmd_error *err);

/* The same for all commands so far, which it submits. */
bool mmd_gl_fence_finish(mmd_gl_context *context, mmd_error *err);

#endif
