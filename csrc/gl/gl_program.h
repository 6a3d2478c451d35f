/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_PROGRAM_H
#define MMD_GL_PROGRAM_H

#include "core/skin/skin_frame.h"
#include "gl/gl.h"

#include <stdbool.h>
#include <stdint.h>

/* Which of the programs that skin.vert can be compiled to. */
typedef struct mmd_gl_variant {
    mmd_skin_kind kind;
    int32_t influences; /* 0, 1, 2 or 4 */
    bool morphed, slerp, normals;
    size_t tangent_width; /* 0: no tangents */
    bool single;          /* of one frame an instance, else of MMD_GL_FRAMES */
} mmd_gl_variant;

/* Frames that an instance makes when there are several: four vec3 fill three vec4. */
enum { MMD_GL_FRAMES = 4 };

typedef struct mmd_gl_program {
    GLuint name; /* 0: not made yet */
    GLint last_frame, bone_stride, morph_stride, most_offsets, correction;
} mmd_gl_program;

/* A mmd_skin_bone in a buffer of RGBA32F texels. */
enum { MMD_GL_BONE_TEXELS = sizeof(mmd_skin_bone) / 16 };

/* The shader marks a normal for which float is not enough, and its tangent, by this x, which no
   unit vector has: they want mmd_skin_scalar_directions. */
#define MMD_GL_MARK 2.0f

/* Texture units of the samplers in skin.vert. */
enum { MMD_GL_BONES, MMD_GL_MORPH_OFFSETS, MMD_GL_MORPH_WEIGHTS };

/* The program in this context, compiled by the first call. NULL: the driver refused, `err` has its
 * log. */
const mmd_gl_program *mmd_gl_program_of(mmd_gl_context *context, const mmd_gl_variant *variant,
                                        mmd_error *err);

/* Of any program: 0 or false when the driver refuses, `err` has its log. */
GLuint mmd_gl_compile(GLenum stage, const char *const *sources, GLsizei count, mmd_error *err);
bool mmd_gl_link(GLuint program, mmd_error *err);

#endif
