/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_RENDERER_H
#define MMD_GL_RENDERER_H

#include "gl/gl_render_resources.h"
#include "gl/gl_render_skin.h"
#include "gl/gl_render_uniforms.h"

/* The state of a render job while a frame is drawn, and what the looks have in common. */
typedef struct mmd_gl_renderer {
    mmd_gl_context *context;
    const mmd_gl_render_programs *programs;
    const mmd_gl_caller *caller;
    mmd_gl_render_resources resources;
    mmd_gl_render_uniforms uniforms;
    mmd_gl_render_skin *skin; /* NULL: the job has positions */
    size_t frame;
    float *view_positions; /* (V,4) of the current frame, unless it is skinned on the device */
    mmd_render_view view;
    double near_plane;
    float depth_scale;
    mmd_gl_frame_uniforms frame_uniforms;
    size_t first_row, rows; /* of the picture, which are drawn now */
    bool visible, has_shadow_map, has_ground_shadow;
} mmd_gl_renderer;

/* Activates a program, and draws to a framebuffer from then on: to all of it, or the rows of the
   picture that it is for. */
void mmd_gl_renderer_begin(GLuint program, const mmd_gl_framebuffer *to);
void mmd_gl_renderer_begin_rows(const mmd_gl_renderer *renderer, GLuint program,
                                const mmd_gl_framebuffer *to);

/* Draws `count` triangles of the mesh; a material, whose uniforms the program reads; the edges of
   all materials that have them. */
void mmd_gl_renderer_draw(size_t first, size_t count);
void mmd_gl_renderer_draw_material(const mmd_gl_renderer *renderer, size_t material, size_t first);
void mmd_gl_renderer_draw_edges(const mmd_gl_renderer *renderer);

/* Draws the visible materials that have a flag, with or without the back faces of single-sided
   ones; consecutive ones at once. */
void mmd_gl_renderer_draw_flagged(const mmd_gl_renderer *renderer, uint8_t flag, bool culled);

/* MMD draws nothing of a material whose alpha is 0. */
static inline bool mmd_gl_renderer_is_visible(const mmd_render_material *material)
{
    return material->diffuse[3] > 0;
}

/* Rotates a direction to view space. */
void mmd_gl_renderer_to_view(const mmd_gl_renderer *renderer, const double v[3], double out[3]);

#endif
