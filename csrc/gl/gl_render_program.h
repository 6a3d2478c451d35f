/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_RENDER_PROGRAM_H
#define MMD_GL_RENDER_PROGRAM_H

#include "gl/gl_context.h"
#include "mmdskin.h"

/* The shader programs that render: one for each pass, from render.*, look.* and resolve.*. */

/* COLOR: the surfaces. EDGE: the outlines, as inverted hulls behind the surfaces. GBUFFER: depth,
   normal and triangle of each pixel. RESOLVE: the mean of a pixel's samples over the background.
   For the look of MMD: LOOK: the surfaces. GROUND_SHADOW: what they cast on the ground.
   SHADOW_MAP: depths as the light sees them. RESOLVE_SRGB: as RESOLVE, but of numbers that are not
   linear. VIEW draws nothing: it takes skinned positions to view space. The shaders get these as
   macros. */
#define MMD_GL_RENDER_PASSES(X)                                                                    \
    X(COLOR)                                                                                       \
    X(EDGE)                                                                                        \
    X(GBUFFER)                                                                                     \
    X(RESOLVE)                                                                                     \
    X(GROUND_SHADOW)                                                                               \
    X(SHADOW_MAP)                                                                                  \
    X(RESOLVE_SRGB)                                                                                \
    X(VIEW)                                                                                        \
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
typedef enum mmd_gl_render_attribute {
    MMD_GL_RENDER_POSITION,
    MMD_GL_RENDER_NORMAL,
    MMD_GL_RENDER_UV,
    MMD_GL_RENDER_EDGE_SCALE,
    MMD_GL_RENDER_ADDITIONAL_UV,
    MMD_GL_RENDER_ATTRIBUTE_COUNT
} mmd_gl_render_attribute;

#define MMD_GL_RENDER_UNIFORMS(X)                                                                  \
    X(ambient)                                                                                     \
    X(background)                                                                                  \
    X(camera)                                                                                      \
    X(color_samples)                                                                               \
    X(depth_scale)                                                                                 \
    X(diffuse)                                                                                     \
    X(diffuse_texture)                                                                             \
    X(edge_color)                                                                                  \
    X(edge_size)                                                                                   \
    X(first_triangle)                                                                              \
    X(ground)                                                                                      \
    X(ground_color)                                                                                \
    X(ground_light)                                                                                \
    X(half_extent)                                                                                 \
    X(has_normals)                                                                                 \
    X(near_plane)                                                                                  \
    X(pixel_size)                                                                                  \
    X(samples)                                                                                     \
    X(shaded_toon)                                                                                 \
    X(shadow_map)                                                                                  \
    X(shadow_matrix)                                                                               \
    X(shadow_offset)                                                                               \
    X(specular)                                                                                    \
    X(sphere_texture)                                                                              \
    X(texture_factors)                                                                             \
    X(to_light)                                                                                    \
    X(toon_texture)                                                                                \
    X(triangles)                                                                                   \
    X(view_positions)                                                                              \
    X(view_rotation)

/* A program and the locations of its uniforms, -1 for those that it lacks. */
typedef struct mmd_gl_render_program {
    GLuint name;
#define MMD_GL_UNIFORM_MEMBER(name) GLint name;
    MMD_GL_RENDER_UNIFORMS(MMD_GL_UNIFORM_MEMBER)
#undef MMD_GL_UNIFORM_MEMBER
} mmd_gl_render_program;

typedef struct mmd_gl_render_programs {
    mmd_gl_render_program passes[MMD_GL_PASS_LOOK]; /* all but the last one */
    mmd_gl_render_program looks[MMD_GL_LOOK_VARIANTS];
} mmd_gl_render_programs;

/* Texture units of the samplers in render.frag, look.frag and resolve.frag. */
enum {
    MMD_GL_TEXTURE_UNIT,
    MMD_GL_TRIANGLES_UNIT,
    MMD_GL_POSITIONS_UNIT,
    MMD_GL_SPHERE_UNIT,
    MMD_GL_TOON_UNIT,
    MMD_GL_SHADOW_UNIT
};

/* Compiles the programs at the first call. NULL if the driver refuses one; `err` has its log. */
const mmd_gl_render_programs *mmd_gl_render_programs_get(mmd_gl_context *context, mmd_error *err);

/* The program of a variant of LOOK, compiled at the first call, after mmd_gl_render_programs_get.
   NULL if the driver refuses it. */
const mmd_gl_render_program *mmd_gl_look_program_get(mmd_gl_context *context,
                                                     const mmd_gl_look_variant *variant,
                                                     mmd_error *err);

#endif
