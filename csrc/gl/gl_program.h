/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_PROGRAM_H
#define MMD_GL_PROGRAM_H

#include "core/skin/skin.h"
#include "gl/gl_context.h"

#include <stdbool.h>
#include <stdint.h>

/* Compiles shaders, and the skinning programs of a context: variants of skin.comp with
   skinning.glsl. Those that render are in gl_render_program.h. */

/* Compiles a shader from concatenated sources, and links a program. 0 or false if the driver
   refuses; `err` has its log. */
GLuint mmd_gl_program_compile(GLenum stage, const char *const *sources, GLsizei count,
                              mmd_error *err);
bool mmd_gl_program_link(GLuint program, mmd_error *err);

/* The macros that skin.comp is compiled with. */
typedef struct mmd_gl_skin_variant {
    mmd_skin_kind kind;
    int32_t influences; /* 0, 1, 2 or 4 */
    bool morphed, slerp, normals;
    size_t tangent_width; /* 0: no tangents */
    bool drawn; /* positions in view space, and float is enough for normals; else positions in model
                   space, and no normal that is not precise */
} mmd_gl_skin_variant;

/* Invocations of a work group, and work groups in a direction; OpenGL guarantees so many. */
enum { MMD_GL_GROUP_SIZE = 128, MMD_GL_MAX_GROUPS = 65535 };

/* Locations of uniforms in skin.comp, which has them as macros. */
#define MMD_GL_SKIN_UNIFORMS(X)                                                                    \
    X(SIZES)                                                                                       \
    X(CORRECTION)                                                                                  \
    X(VIEW_ROTATION)                                                                               \
    X(CAMERA)

/* Texture units of its samplers, after those of the programs that render. */
#define MMD_GL_SKIN_UNITS(X)                                                                       \
    X(VERTICES)                                                                                    \
    X(BONES)                                                                                       \
    X(MORPH_OFFSETS)                                                                               \
    X(MORPH_WEIGHTS)

#define MMD_GL_SKIN_LOCATION(name) MMD_GL_SKIN_##name,
#define MMD_GL_SKIN_UNIT(name) MMD_GL_##name##_UNIT,
enum { MMD_GL_SKIN_UNIFORMS(MMD_GL_SKIN_LOCATION) };
enum { MMD_GL_BEFORE_SKIN_UNITS = 7, MMD_GL_SKIN_UNITS(MMD_GL_SKIN_UNIT) };

/* RGBA32F texels of a mmd_skin_bone in a buffer texture. */
enum { MMD_GL_BONE_TEXELS = sizeof(mmd_skin_bone) / 16 };

/* x of a normal for which float is not precise enough, and of its tangent; no unit vector has it.
   mmd_skin_scalar_directions computes them again. */
#define MMD_GL_IMPRECISE 2.0f

/* Compiles the variant at the first call. 0 if the driver refuses it; `err` has its log. */
GLuint mmd_gl_skin_program_get(mmd_gl_context *context, const mmd_gl_skin_variant *variant,
                               mmd_error *err);

#endif
