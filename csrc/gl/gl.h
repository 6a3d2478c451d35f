/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_H
#define MMD_GL_H

#include "core/base/arena.h"
#include "core/base/error.h"

#define GLEW_STATIC
#define GLEW_NO_GLU
#include <GL/glew.h>

#include <stdbool.h>

/* An OpenGL 3.3 core context without a window, current on the thread that opened it.
   Functions of OpenGL 1.2 and later are called by their names (GLEW); those of 1.0 and 1.1, which
   GLEW would take from a libGL at link time, as gl1.<Name>. */

#define MMD_GL_1_1(X)                                                                              \
    X(void, BindTexture, (GLenum target, GLuint texture))                                          \
    X(void, BlendFunc, (GLenum source, GLenum target))                                             \
    X(void, CullFace, (GLenum side))                                                               \
    X(void, DeleteTextures, (GLsizei count, const GLuint *textures))                               \
    X(void, DepthFunc, (GLenum comparison))                                                        \
    X(void, Disable, (GLenum capability))                                                          \
    X(void, DrawArrays, (GLenum mode, GLint first, GLsizei count))                                 \
    X(void, DrawElements, (GLenum mode, GLsizei count, GLenum type, const void *offset))           \
    X(void, Enable, (GLenum capability))                                                           \
    X(void, Finish, (void))                                                                        \
    X(void, Flush, (void))                                                                         \
    X(void, GenTextures, (GLsizei count, GLuint * textures))                                       \
    X(GLenum, GetError, (void))                                                                    \
    X(void, GetIntegerv, (GLenum name, GLint * value))                                             \
    X(const GLubyte *, GetString, (GLenum name))                                                   \
    X(void, ReadBuffer, (GLenum source))                                                           \
    X(void, ReadPixels,                                                                            \
      (GLint x, GLint y, GLsizei width, GLsizei height, GLenum format, GLenum type, void *pixels)) \
    X(void, TexImage2D,                                                                            \
      (GLenum target, GLint level, GLint internal_format, GLsizei width, GLsizei height,           \
       GLint border, GLenum format, GLenum type, const void *pixels))                              \
    X(void, TexParameteri, (GLenum target, GLenum name, GLint value))                              \
    X(void, Viewport, (GLint x, GLint y, GLsizei width, GLsizei height))

typedef struct mmd_gl_1_1 {
#define MMD_GL_MEMBER(result, name, arguments) result(GLAPIENTRY *name) arguments;
    MMD_GL_1_1(MMD_GL_MEMBER)
#undef MMD_GL_MEMBER
} mmd_gl_1_1;

extern mmd_gl_1_1 gl1;

typedef struct mmd_gl_context {
    unsigned generation; /* differs from that of every other context of this process */
    bool software;
    char device[192];
    void *display, *context, *surface; /* of EGL or WGL */
    /* What is kept with the context, made at first use by the files named; it lies in the arena. */
    mmd_arena arena;
    struct mmd_gl_programs *programs; /* gl_program.c */
    struct mmd_gl_buffers *buffers;   /* gl_skin.c */
    struct mmd_gl_painters *painters; /* gl_render.c */
} mmd_gl_context;

/* Opens a context and makes it current on the calling thread. Nothing stays open after a failure.
 */
bool mmd_gl_open(mmd_gl_context *context, mmd_error *err);

/* Frees all that is kept with the context. */
void mmd_gl_close(mmd_gl_context *context);

/* Of the window system, in egl/ or wgl/. Nothing stays open after a failure. */
bool mmd_gl_open_context(mmd_gl_context *context, mmd_error *err);
void mmd_gl_close_context(mmd_gl_context *context);
void (*mmd_gl_proc(const char *name))(void); /* a function of OpenGL, while a context is current */

/* GLEW's, in glew.c: asks mmd_gl_proc for the functions that are called by their names. gl1 must be
   filled. */
GLenum mmd_gl_load_functions(void);

/* False when OpenGL has recorded errors since the last check; clears them. */
bool mmd_gl_check(const char *what, mmd_error *err);

#endif
