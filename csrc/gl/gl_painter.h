/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_PAINTER_H
#define MMD_GL_PAINTER_H

/* The programs that draw pictures (shaders/render.*, resolve.*): one a pass. */
#include "gl/gl_job.h"

/* Passes: the surfaces' colours, the hulls of edges behind them, what pixels show, and the samples'
   mean. Their numbers are macros in the shaders. */
#define PASSES(X)                                                                                  \
    X(COLOR)                                                                                       \
    X(EDGE)                                                                                        \
    X(DATA)                                                                                        \
    X(RESOLVE)
#define PASS_NAME(name) name,
enum mmd_gl_pass { PASSES(PASS_NAME) PASS_COUNT };
#undef PASS_NAME

#define UNIFORMS(X)                                                                                \
    X(ambient)                                                                                     \
    X(background)                                                                                  \
    X(color)                                                                                       \
    X(depth_scale)                                                                                 \
    X(diffuse)                                                                                     \
    X(drawn)                                                                                       \
    X(edge_size)                                                                                   \
    X(first_triangle)                                                                              \
    X(has_normals)                                                                                 \
    X(image)                                                                                       \
    X(nearest)                                                                                     \
    X(pixel)                                                                                       \
    X(positions)                                                                                   \
    X(reach)                                                                                       \
    X(samples)                                                                                     \
    X(to_light)                                                                                    \
    X(triangles)                                                                                   \
    X(view)

/* A program and the places of its uniforms, -1 where it has none. */
typedef struct mmd_gl_painter {
    GLuint name;
#define UNIFORM_MEMBER(name) GLint name;
    UNIFORMS(UNIFORM_MEMBER)
#undef UNIFORM_MEMBER
} mmd_gl_painter;

struct mmd_gl_painters {
    mmd_gl_painter of[PASS_COUNT];
};

/* Inputs of render.vert, in the order of their locations. */
enum input { POSITION, NORMAL, UV, EDGE_SCALE, INPUTS };

/* Texture units. */
enum { IMAGE_UNIT, TRIANGLES_UNIT, POSITIONS_UNIT };

/* Those of a context, made at the first call; they go with it. */
const struct mmd_gl_painters *mmd_gl_painters_of(mmd_gl_context *context, mmd_error *err);

#endif
