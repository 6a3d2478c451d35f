/* SPDX-License-Identifier: MIT */
/* What all contexts have in common; egl/ and wgl/ make them. */
#include "gl/gl.h"

#include <stdio.h>
#include <string.h>

mmd_gl_1_1 gl1;

/* NULL in the driver: its context was lost meanwhile, which the next call will tell. */
static const char *described(GLenum what)
{
    const char *text = (const char *)gl1.GetString(what);
    return text ? text : "unknown";
}

static bool load_gl(mmd_error *err)
{
#define GL_1_1_LOAD(result, name, arguments)                                                       \
    gl1.name = (result(GLAPIENTRY *) arguments)mmd_gl_proc("gl" #name);                            \
    if (!gl1.name)                                                                                 \
        return mmd_fail(err, MMD_E_BACKEND, "OpenGL: the driver has no gl" #name);
    MMD_GL_1_1(GL_1_1_LOAD)
#undef GL_1_1_LOAD
    GLenum answer = mmd_gl_load_functions();
    if (answer != GLEW_OK)
        return mmd_fail(err, MMD_E_BACKEND, "OpenGL: %s", (const char *)glewGetErrorString(answer));
    if (!GLEW_VERSION_3_3)
        return mmd_fail(err, MMD_E_BACKEND, "OpenGL: 3.3 needed, the driver has %s (%s)",
                        described(GL_VERSION), described(GL_RENDERER));
    return true;
}

static void describe_device(mmd_gl_context *gl)
{
    const char *renderer = described(GL_RENDERER);
    static const char *const programs[] = {"llvmpipe", "softpipe", "swrast", "SwiftShader",
                                           "Software Rasterizer"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        gl->software |= strstr(renderer, programs[i]) != NULL;
    snprintf(gl->device, sizeof gl->device, "%s (%s), OpenGL %s", renderer, described(GL_VENDOR),
             described(GL_VERSION));
}

/* A context without a surface draws nothing, not even into transform feedback, until a complete
   framebuffer is bound. */
static bool bind_framebuffer(mmd_error *err)
{
    GLuint framebuffer, renderbuffer;
    glGenFramebuffers(1, &framebuffer);
    glGenRenderbuffers(1, &renderbuffer);
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    glBindRenderbuffer(GL_RENDERBUFFER, renderbuffer);
    glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, 1, 1);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, renderbuffer);
    gl1.Viewport(0, 0, 1, 1);
    GLenum status = glCheckFramebufferStatus(GL_FRAMEBUFFER);
    if (status != GL_FRAMEBUFFER_COMPLETE)
        return mmd_fail(err, MMD_E_BACKEND, "OpenGL: framebuffer status 0x%04x", status);
    return mmd_gl_check("framebuffer", err);
}

bool mmd_gl_open(mmd_gl_context *gl, mmd_error *err)
{
    if (!mmd_gl_open_context(gl, err))
        return false;
    if (load_gl(err) && (mmd_gl_check("start", NULL), bind_framebuffer(err))) {
        describe_device(gl);
        return true;
    }
    mmd_gl_close(gl);
    return false;
}

void mmd_gl_close(mmd_gl_context *gl)
{
    mmd_gl_close_context(gl);
    mmd_arena_free(&gl->arena);
    gl->programs = NULL;
    gl->buffers = NULL;
    gl->painters = NULL;
}

bool mmd_gl_check(const char *what, mmd_error *err)
{
    GLenum first = gl1.GetError();
    if (first == GL_NO_ERROR)
        return true;
    /* A lost context may repeat its error for ever. */
    for (int i = 0; i < 16 && gl1.GetError() != GL_NO_ERROR; i++)
        ;
    const char *name = first == GL_INVALID_ENUM        ? "GL_INVALID_ENUM"
                       : first == GL_INVALID_VALUE     ? "GL_INVALID_VALUE"
                       : first == GL_INVALID_OPERATION ? "GL_INVALID_OPERATION"
                       : first == GL_OUT_OF_MEMORY     ? "GL_OUT_OF_MEMORY"
                       : first == GL_INVALID_FRAMEBUFFER_OPERATION
                           ? "GL_INVALID_FRAMEBUFFER_OPERATION"
                           : "error";
    return mmd_fail(err, MMD_E_BACKEND, "OpenGL: %s: %s (0x%04x)", what, name, first);
}
