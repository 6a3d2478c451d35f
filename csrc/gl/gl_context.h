/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_CONTEXT_H
#define MMD_GL_CONTEXT_H

#include "core/base/arena.h"
#include "core/base/error.h"
#include "gl/gl_thread.h"

#define GLEW_STATIC
#define GLEW_NO_GLU
#include <GL/glew.h>

#include <stdatomic.h>
#include <stdbool.h>

/* A windowless OpenGL 4.3 core context, current on the thread that opened it. Functions of
   OpenGL 1.2 and later are called by their names (GLEW). Those of 1.0 and 1.1, which GLEW would
   take from libGL at link time, are members of mmd_gl1. */

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

extern mmd_gl_1_1 mmd_gl1;

typedef struct mmd_gl_context {
    unsigned generation; /* unique among the contexts of this process */
    mmd_gl_device device;
    bool keeps_mappings;            /* buffers may stay mapped while the device writes to them */
    unsigned timeout_seconds;       /* of waits for the device */
    const atomic_bool *interrupted; /* whether the caller of the job wants to stop */
    mmd_error hang; /* why no function of OpenGL may be called any more; else empty */
    void *display, *context, *surface; /* of EGL or WGL */
    /* Objects that live as long as the context, made at first use, from the arena. */
    mmd_arena arena;
    GLuint *skin_programs; /* by the index of their variants, 0: not compiled yet; gl_skin_pass.c */
    struct mmd_gl_render_programs *render_programs; /* gl_render_program.c */
    struct mmd_gl_skin_buffers *skin_buffers;       /* gl_skin_pass.c */
    struct mmd_gl_skin_ring *skin_ring;             /* gl_skin.c */
    struct mmd_gl_render_targets *render_targets;   /* gl_render_targets.c */
    struct mmd_gl_render_ring *render_ring;         /* gl_render_output.c */
    struct mmd_gl_texture_cache *textures;          /* gl_render_textures.c */
} mmd_gl_context;

/* MMD_E_BACKEND with a text after "OpenGL: ". Returns false. */
#define mmd_gl_fail(err, ...) mmd_fail(err, MMD_E_BACKEND, "OpenGL: " __VA_ARGS__)

/* Makes a member of the context, zeroed, at first use; false with MMD_E_MEMORY. */
#define MMD_GL_CONTEXT_KEEP(context, member, err)                                                  \
    ((context)->member || MMD_ARENA_ARRAY(&(context)->arena, (context)->member, 1) ||              \
     mmd_fail_memory(err))

/* Opens a context and makes it current on the calling thread; leaves nothing open if it fails. */
bool mmd_gl_context_open(mmd_gl_context *context, mmd_error *err);

static inline bool mmd_gl_context_hangs(const mmd_gl_context *context)
{
    return context->hang.code != MMD_E_NONE;
}

/* Whether the device was reset, after which the current context does nothing any more; with an
   error that says so. `failed`: whether a job has failed; then a slower question is asked, too. */
bool mmd_gl_context_is_lost(bool failed, mmd_error *err);

/* Closes the context and frees everything that is kept with it. A context that hangs stays open:
   closing it might block, and the device may still use its objects. */
void mmd_gl_context_close(mmd_gl_context *context);

/* Implemented in egl/ and wgl/. Leaves nothing open if it fails. */
bool mmd_gl_platform_open(mmd_gl_context *context, mmd_error *err);
void mmd_gl_platform_close(mmd_gl_context *context);

/* Address of an OpenGL function, while a context is current. */
void (*mmd_gl_platform_proc(const char *name))(void);

/* In glew.c: loads the functions that are called by their names, after those of mmd_gl1. */
GLenum mmd_gl_glew_init(void);

/* Whether the job should end, with MMD_E_INTERRUPTED. Asked at least every tenth of a second. */
bool mmd_gl_is_interrupted(const mmd_gl_context *context, mmd_error *err);

/* False if OpenGL has recorded errors since the last call, which it clears. `what` is named in the
   error. */
bool mmd_gl_check(const char *what, mmd_error *err);

/* A macro of shaders. */
typedef struct mmd_gl_macro {
    const char *name;
    double value;
} mmd_gl_macro;

/* A stage of a program: its sources after the macros, "" if there are fewer. */
typedef struct mmd_gl_stage {
    GLenum type;
    const char *sources[3];
} mmd_gl_stage;

/* In gl_program.c: compiles and links a program, with macros that are integers, then floats. 0 if
   the driver refuses it; `err` has its log. */
GLuint mmd_gl_program_make(const mmd_gl_macro *macros, size_t integers, size_t floats,
                           const mmd_gl_stage *stages, size_t stage_count, mmd_error *err);

/* In gl_buffer.c */

enum { MMD_GL_MAX_BUFFER_BYTES = 1 << 30 }; /* the largest buffer that any driver is asked for */

/* Gives a buffer, 0: a new one, other contents, NULL: undefined ones. Returns it, still bound. One
   without bytes has a few, so that programs can be given any. */
GLuint mmd_gl_buffer_fill(GLenum target, GLuint buffer, size_t bytes, const void *data,
                          GLenum usage);

/* A new texture of bytes of a buffer, 0: of all that it has at any time. It stays bound to the
   unit, which stays active. */
GLuint mmd_gl_buffer_texture(GLenum unit, GLenum format, GLuint buffer, size_t first, size_t bytes);

/* Activates a texture unit, too. */
static inline void mmd_gl_texture_bind(GLenum unit, GLenum target, GLuint texture)
{
    glActiveTexture(GL_TEXTURE0 + unit);
    mmd_gl1.BindTexture(target, texture);
}

/* Waits for the device, with a time limit: a device that hangs would otherwise block its callers
   forever. */

/* Waits for a submitted fence, only some seconds more once the caller is interrupted. If the limit
   expires, the context is marked as hung: the device may still write to its objects, and any
   function of OpenGL may block, so none may be called. */
bool mmd_gl_fence_wait(mmd_gl_context *context, GLsync fence, mmd_error *err);

/* The same for all commands so far, which it submits. */
bool mmd_gl_fence_finish(mmd_gl_context *context, mmd_error *err);

#endif
