/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "gl/gl_fence.h"

#include "core/base/threads.h"

#include <stdlib.h>

enum { DEFAULT_SECONDS = 60, MAX_SECONDS = 86400 };

static const GLuint64 WAIT_NANOSECONDS = 1000000000; /* per wait; drivers limit it */

bool mmd_gl_fence_read_timeout(unsigned *seconds, mmd_error *err)
{
    const char *text = getenv("MMDSKIN_GL_TIMEOUT");
    *seconds = DEFAULT_SECONDS;
    if (!text || !*text)
        return true;
    char *end;
    long value = strtol(text, &end, 10);
    if (*end != 0 || value < 1 || value > MAX_SECONDS)
        return mmd_fail(err, MMD_E_BACKEND, "OpenGL: MMDSKIN_GL_TIMEOUT: %.40s: 1 to %d seconds",
                        text, MAX_SECONDS);
    *seconds = (unsigned)value;
    return true;
}

static bool fail_hung(mmd_gl_context *context, mmd_error *err)
{
    mmd_fail(&context->hang, MMD_E_BACKEND,
             "OpenGL: the device has not finished within %u s (MMDSKIN_GL_TIMEOUT, 1 to %d, sets "
             "the limit)",
             context->timeout_seconds, MAX_SECONDS);
    if (err)
        *err = context->hang;
    return false;
}

bool mmd_gl_fence_wait(mmd_gl_context *context, GLsync fence, mmd_error *err)
{
    double end = mmd_thread_seconds() + context->timeout_seconds;
    GLenum state;
    do
        state = glClientWaitSync(fence, 0, WAIT_NANOSECONDS);
    while (state == GL_TIMEOUT_EXPIRED && mmd_thread_seconds() < end);
    if (state == GL_TIMEOUT_EXPIRED)
        return fail_hung(context, err);
    if (state != GL_WAIT_FAILED)
        return true;
    mmd_gl_check("fence", NULL);
    return mmd_fail(err, MMD_E_BACKEND, "OpenGL: waiting for a pass failed");
}

bool mmd_gl_fence_finish(mmd_gl_context *context, mmd_error *err)
{
    GLsync fence = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    mmd_gl1.Flush();
    bool ok = mmd_gl_fence_wait(context, fence, err);
    if (!mmd_gl_context_hangs(context))
        glDeleteSync(fence);
    return ok;
}
