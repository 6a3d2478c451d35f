/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_PROGRAM_H
#define MMD_GL_PROGRAM_H

#include "core/skin/skin_input.h"
#include "gl/gl_context.h"

#include <stdbool.h>
#include <stdint.h>

/* Compiles shaders, and the skinning programs of a context: variants of skin.vert with
   skinning.glsl. Those that render are in gl_render_program.h. */

/* Compiles a shader from concatenated sources, and links a program. 0 or false if the driver
   refuses; `err` has its log. */
GLuint mmd_gl_program_compile(GLenum stage, const char *const *sources, GLsizei count,
                              mmd_error *err);
bool mmd_gl_program_link(GLuint program, mmd_error *err);

/* Vertex attributes of skin.vert in the order of their locations: name, components, whether they
   are integers (else floats), member of a device vertex. */
#define MMD_GL_SKIN_ATTRIBUTES(X)                                                                  \
    X(position, 3, false, vertex.position)                                                         \
    X(normal, 3, false, vertex.normal)                                                             \
    X(tangent, 4, false, vertex.tangent)                                                           \
    X(c, 3, false, vertex.c)                                                                       \
    X(c0, 3, false, vertex.c0)                                                                     \
    X(factor, 1, false, vertex.factor)                                                             \
    X(weights, 4, false, vertex.weights)                                                           \
    X(bone_indices, 4, true, vertex.bones)                                                         \
    X(pivot, 1, true, vertex.pivot)                                                                \
    X(morph_range, 2, true, morph_range)

/* The macros that skin.vert is compiled with. */
typedef struct mmd_gl_skin_variant {
    mmd_skin_kind kind;
    int32_t influences; /* 0, 1, 2 or 4 */
    bool morphed, slerp, normals;
    size_t tangent_width; /* 0: no tangents */
    bool single_frame;    /* an instance computes one frame, else MMD_GL_INSTANCE_FRAMES */
    bool approximate;     /* no normal is MMD_GL_IMPRECISE */
} mmd_gl_skin_variant;

/* Four frames fit one output: four vec3 fill three vec4. */
enum { MMD_GL_INSTANCE_FRAMES = 4 };

typedef struct mmd_gl_skin_program {
    GLuint name; /* 0: not compiled yet */
    GLint last_frame, bone_stride, morph_stride, max_offsets, correction;
} mmd_gl_skin_program;

/* RGBA32F texels of a mmd_skin_bone in a buffer texture. */
enum { MMD_GL_BONE_TEXELS = sizeof(mmd_skin_bone) / 16 };

/* x of a normal for which float is not precise enough, and of its tangent; no unit vector has it.
   mmd_skin_scalar_directions computes them again. */
#define MMD_GL_IMPRECISE 2.0f

/* Texture units of the samplers in skin.vert. */
enum { MMD_GL_BONES_UNIT, MMD_GL_MORPH_OFFSETS_UNIT, MMD_GL_MORPH_WEIGHTS_UNIT };

/* Compiles the variant at the first call. NULL if the driver refuses it; `err` has its log. */
const mmd_gl_skin_program *mmd_gl_skin_program_get(mmd_gl_context *context,
                                                   const mmd_gl_skin_variant *variant,
                                                   mmd_error *err);

#endif
