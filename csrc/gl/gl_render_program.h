/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_RENDER_PROGRAM_H
#define MMD_GL_RENDER_PROGRAM_H

#include "gl/gl_context.h"
#include "mmdskin.h"

/* The shader programs that render: one for each pass, from render.*, look.* and resolve.*. */

/* COLOR: the surfaces. EDGE: the outlines, as inverted hulls behind the surfaces. GBUFFER: depth,
   normal and triangle of each pixel. RESOLVE: the mean of a pixel's samples over the background.
   For the look of MMD: LOOK: the surfaces. GROUND_SHADOW: what they cast on the ground. SHADOW_MAP:
   depths as the light sees them. RESOLVE_SRGB: as RESOLVE, but of numbers that are not linear. The
   shaders get these as macros, and the names of attributes and texture units. */
#define MMD_GL_RENDER_PASSES(X)                                                                    \
    X(COLOR)                                                                                       \
    X(EDGE)                                                                                        \
    X(GBUFFER)                                                                                     \
    X(RESOLVE)                                                                                     \
    X(GROUND_SHADOW)                                                                               \
    X(SHADOW_MAP)                                                                                  \
    X(RESOLVE_SRGB)                                                                                \
    X(LOOK)

typedef enum mmd_gl_render_pass {
#define MMD_GL_PASS_ENUMERATOR(name) MMD_GL_PASS_##name,
    MMD_GL_RENDER_PASSES(MMD_GL_PASS_ENUMERATOR)
#undef MMD_GL_PASS_ENUMERATOR
        MMD_GL_PASS_COUNT
} mmd_gl_render_pass;

/* The macros that the pass LOOK is compiled with: what a material has. */
typedef struct mmd_gl_look_variant {
    bool textured, toon, specular;
    bool self_shadow; /* whether it is on for the picture */
    bool receives;    /* whether it falls on the material */
    mmd_sphere_mode sphere;
} mmd_gl_look_variant;

enum { MMD_GL_LOOK_VARIANTS = 32 * MMD_SPHERE_MODE_COUNT };

/* Vertex attributes of render.vert and look.vert, in the order of their locations. */
#define MMD_GL_RENDER_ATTRIBUTES(X)                                                                \
    X(POSITION)                                                                                    \
    X(NORMAL)                                                                                      \
    X(UV)                                                                                          \
    X(EDGE_SCALE)                                                                                  \
    X(ADDITIONAL_UV)

typedef enum mmd_gl_render_attribute {
#define MMD_GL_ATTRIBUTE_ENUMERATOR(name) MMD_GL_RENDER_##name,
    MMD_GL_RENDER_ATTRIBUTES(MMD_GL_ATTRIBUTE_ENUMERATOR)
#undef MMD_GL_ATTRIBUTE_ENUMERATOR
        MMD_GL_RENDER_ATTRIBUTE_COUNT
} mmd_gl_render_attribute;

typedef struct mmd_gl_render_programs {
    GLuint passes[MMD_GL_PASS_LOOK];    /* all but the last one */
    GLuint looks[MMD_GL_LOOK_VARIANTS]; /* 0: not compiled yet */
} mmd_gl_render_programs;

/* Texture units of the samplers in render.frag, look.frag and resolve.frag. */
#define MMD_GL_RENDER_UNITS(X)                                                                     \
    X(TEXTURE)                                                                                     \
    X(TRIANGLES)                                                                                   \
    X(POSITIONS)                                                                                   \
    X(SPHERE)                                                                                      \
    X(TOON)                                                                                        \
    X(SHADOW)

enum {
#define MMD_GL_UNIT_ENUMERATOR(name) MMD_GL_##name##_UNIT,
    MMD_GL_RENDER_UNITS(MMD_GL_UNIT_ENUMERATOR)
#undef MMD_GL_UNIT_ENUMERATOR
};

/* Compiles the programs at the first call. NULL if the driver refuses one; `err` has its log. */
const mmd_gl_render_programs *mmd_gl_render_programs_get(mmd_gl_context *context, mmd_error *err);

/* The program of a variant of LOOK, compiled at the first call, after mmd_gl_render_programs_get.
   0 if the driver refuses it. */
GLuint mmd_gl_look_program_get(mmd_gl_context *context, const mmd_gl_look_variant *variant,
                               mmd_error *err);

#endif
