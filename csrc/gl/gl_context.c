/* SPDX-License-Identifier: MIT */
/* The part of a context that is the same for all window systems; egl/ and wgl/ have the rest. */
#define _POSIX_C_SOURCE 200809L
#include "gl/gl_context.h"

#include "core/base/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mmd_gl_1_1 mmd_gl1;

/* The driver returns NULL if its context was lost meanwhile; the next call reports that. */
static const char *gl_string(GLenum name)
{
    const char *text = (const char *)mmd_gl1.GetString(name);
    return text ? text : "unknown";
}

static bool load_gl(mmd_error *err)
{
#define LOAD_GL_1_1(result, name, arguments)                                                       \
    mmd_gl1.name = (result(GLAPIENTRY *) arguments)mmd_gl_platform_proc("gl" #name);               \
    if (!mmd_gl1.name)                                                                             \
        return mmd_gl_fail(err, "the driver has no gl" #name);
    MMD_GL_1_1(LOAD_GL_1_1)
#undef LOAD_GL_1_1
    GLenum status = mmd_gl_glew_init();
    if (status != GLEW_OK)
        return mmd_gl_fail(err, "%s", (const char *)glewGetErrorString(status));
    if (!GLEW_VERSION_4_3)
        return mmd_gl_fail(err, "4.3 needed, the driver has %s (%s)", gl_string(GL_VERSION),
                           gl_string(GL_RENDERER));
    return true;
}

static void describe_device(mmd_gl_context *gl)
{
    const char *renderer = gl_string(GL_RENDERER);
    static const char *const software[] = {"llvmpipe", "softpipe", "swrast", "SwiftShader",
                                           "Software Rasterizer"};
    for (size_t i = 0; i < sizeof software / sizeof *software; i++)
        gl->device.software |= strstr(renderer, software[i]) != NULL;
    gl->keeps_mappings = (GLEW_VERSION_4_4 || GLEW_ARB_buffer_storage) && glBufferStorage;
    snprintf(gl->device.name, sizeof gl->device.name, "%s (%s), OpenGL %s", renderer,
             gl_string(GL_VENDOR), gl_string(GL_VERSION));
}

enum { DEFAULT_SECONDS = 60, MAX_SECONDS = 86400 };

/* The limit for a caller who wants to stop: passes and bands take some hundredths of a second. */
enum { INTERRUPTED_SECONDS = 3 };

static const GLuint64 WAIT_NANOSECONDS = 30000000; /* between looks at the clock and the caller */

/* MMDSKIN_GL_TIMEOUT, or the default. */
static bool read_timeout(unsigned *seconds, mmd_error *err)
{
    const char *text = getenv("MMDSKIN_GL_TIMEOUT");
    *seconds = DEFAULT_SECONDS;
    if (!text || !*text)
        return true;
    char *end;
    long value = strtol(text, &end, 10);
    if (*end != 0 || value < 1 || value > MAX_SECONDS)
        return mmd_gl_fail(err, "MMDSKIN_GL_TIMEOUT: %.40s: 1 to %d seconds", text, MAX_SECONDS);
    *seconds = (unsigned)value;
    return true;
}

bool mmd_gl_context_open(mmd_gl_context *gl, mmd_error *err)
{
    if (!read_timeout(&gl->timeout_seconds, err) || !mmd_gl_platform_open(gl, err))
        return false;
    if (load_gl(err)) {
        mmd_gl_check("start", NULL);
        describe_device(gl);
        return true;
    }
    mmd_gl_context_close(gl);
    return false;
}

void mmd_gl_context_close(mmd_gl_context *gl)
{
    if (!mmd_gl_context_hangs(gl))
        mmd_gl_platform_close(gl);
    mmd_arena_free(&gl->arena);
}

/* Contexts that do not know the status may still answer each call by an error. */
static bool calls_are_lost(void)
{
    mmd_gl1.Flush();
    return mmd_gl1.GetError() == GL_CONTEXT_LOST;
}

bool mmd_gl_context_is_lost(bool failed, mmd_error *err)
{
    GLenum status = GLEW_VERSION_4_5      ? glGetGraphicsResetStatus()
                    : GLEW_ARB_robustness ? glGetGraphicsResetStatusARB()
                                          : GL_NO_ERROR;
    if (status == GL_NO_ERROR && !(failed && calls_are_lost()))
        return false;
    mmd_gl_fail(err, "the device was reset%s; the next call starts OpenGL again",
                status == GL_GUILTY_CONTEXT_RESET     ? " because of this program"
                : status == GL_INNOCENT_CONTEXT_RESET ? " because of another program"
                                                      : "");
    return true;
}

bool mmd_gl_check(const char *what, mmd_error *err)
{
    GLenum first = mmd_gl1.GetError();
    if (first == GL_NO_ERROR)
        return true;
    /* A lost context may repeat its error forever. */
    for (int i = 0; i < 16 && mmd_gl1.GetError() != GL_NO_ERROR; i++)
        ;
    const char *name = first == GL_INVALID_ENUM        ? "GL_INVALID_ENUM"
                       : first == GL_INVALID_VALUE     ? "GL_INVALID_VALUE"
                       : first == GL_INVALID_OPERATION ? "GL_INVALID_OPERATION"
                       : first == GL_OUT_OF_MEMORY     ? "GL_OUT_OF_MEMORY"
                       : first == GL_INVALID_FRAMEBUFFER_OPERATION
                           ? "GL_INVALID_FRAMEBUFFER_OPERATION"
                           : "error";
    return mmd_gl_fail(err, "%s: %s (0x%04x)", what, name, first);
}

bool mmd_gl_is_interrupted(const mmd_gl_context *context, mmd_error *err)
{
    return *context->interrupted && !mmd_fail(err, MMD_E_INTERRUPTED, "interrupted");
}

static bool fail_hung(mmd_gl_context *context, bool interrupted, mmd_error *err)
{
    if (interrupted)
        mmd_gl_fail(&context->hang, "the device has not finished within %d s of an interrupt",
                    INTERRUPTED_SECONDS);
    else
        mmd_gl_fail(&context->hang,
                    "the device has not finished within %u s (MMDSKIN_GL_TIMEOUT, 1 to %d, sets "
                    "the limit)",
                    context->timeout_seconds, MAX_SECONDS);
    if (err)
        *err = context->hang;
    return false;
}

bool mmd_gl_fence_wait(mmd_gl_context *context, GLsync fence, mmd_error *err)
{
    double begin = mmd_thread_seconds();
    unsigned limit = context->timeout_seconds;
    GLenum state;
    do {
        state = glClientWaitSync(fence, 0, WAIT_NANOSECONDS);
        double waited = mmd_thread_seconds() - begin;
        if (mmd_gl_is_interrupted(context, NULL) && limit > waited + INTERRUPTED_SECONDS)
            limit = (unsigned)waited + INTERRUPTED_SECONDS;
    } while (state == GL_TIMEOUT_EXPIRED && mmd_thread_seconds() < begin + limit);
    if (state == GL_TIMEOUT_EXPIRED)
        return fail_hung(context, limit < context->timeout_seconds, err);
    if (state != GL_WAIT_FAILED)
        return true;
    mmd_gl_check("fence", NULL);
    return mmd_gl_fail(err, "waiting for a pass failed");
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
