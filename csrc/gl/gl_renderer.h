/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_RENDERER_H
#define MMD_GL_RENDERER_H

#include "core/render/coverage.h"
#include "core/render/depth_map.h"
#include "gl/gl_render_resources.h"
#include "gl/gl_render_skin.h"
#include "gl/gl_small_triangles.h"

/* Memory and names of gl_ground_shadow.c; NULL and 0 until they are needed. */
typedef struct mmd_gl_ground_shadow {
    mmd_coverage coverage;            /* of the samples of the image */
    mmd_gl_small_triangles triangles; /* (V,2): where the shadows of vertices are, in samples */
    GLuint texture;
} mmd_gl_ground_shadow;

/* The same of gl_shadow_map.c. */
typedef struct mmd_gl_shadow_map {
    mmd_depth_map map;
    uint16_t *pixels;                 /* a band of it as the texture's numbers */
    mmd_gl_small_triangles triangles; /* (V,4): vertices in the map, and their depths */
    mmd_depth_map_span *spans;        /* of each band: where the texture has something */
} mmd_gl_shadow_map;

/* The state of a render job while a frame is drawn, and what the looks have in common. */
typedef struct mmd_gl_renderer {
    mmd_gl_context *context;
    const mmd_gl_render_programs *programs;
    mmd_gl_render_resources resources;
    mmd_gl_render_skin *skin; /* NULL: the job has positions */
    mmd_gl_ground_shadow *ground;
    mmd_gl_shadow_map *shadow_map;
    size_t frame;
    float *view_positions; /* (V,4) of the current frame, unless it is skinned on the device */
    mmd_render_view view;
    double near_plane;
    float depth_scale;
    bool visible;
} mmd_gl_renderer;

/* Activates a program and sets the uniforms that all passes share. */
void mmd_gl_renderer_use(const mmd_gl_renderer *renderer, const mmd_gl_render_program *program);

/* The same, and draws to a framebuffer from then on. */
void mmd_gl_renderer_begin(const mmd_gl_renderer *renderer, const mmd_gl_render_program *program,
                           const mmd_gl_framebuffer *to);

/* Draws `count` triangles of the mesh. */
void mmd_gl_renderer_draw(size_t first, size_t count);

/* The width of an edge of size 1 at distance 1. */
double mmd_gl_renderer_edge_unit(const mmd_gl_renderer *renderer);

float mmd_gl_clamp01(float x);

#endif
