/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_SMALL_TRIANGLES_H
#define MMD_GL_SMALL_TRIANGLES_H

#include "core/render/render.h"
#include "gl/gl_context.h"

/* Software renderers take as long for each of the many small triangles as for a large one. Where a
   pass needs no colors, the CPU draws the small ones faster, and the renderer only the others. */

struct mmd_gl_renderer;

/* Zeroed: without memory. */
typedef struct mmd_gl_small_triangles {
    float *corners;    /* (V,n): where the vertices are, in pixels and other numbers */
    size_t width;      /* n */
    int32_t *large;    /* corners of the triangles that are not small */
    size_t large_size; /* how many corners */
    GLuint elements;   /* buffer of `large` */
} mmd_gl_small_triangles;

/* Draws a triangle to an image in memory, if need be. False if it is not small. */
typedef bool mmd_gl_draw_small(void *image, const mmd_render_material *material, const float *a,
                               const float *b, const float *c);

/* Memory for the triangles of the renderer's job. */
bool mmd_gl_small_triangles_init(const struct mmd_gl_renderer *renderer, size_t width,
                                 mmd_gl_small_triangles *triangles, mmd_error *err);
void mmd_gl_small_triangles_free(mmd_gl_context *context, mmd_gl_small_triangles *triangles);

/* Draws the small triangles of visible materials with a flag, and lists the large ones. */
void mmd_gl_small_triangles_draw(const struct mmd_gl_renderer *renderer,
                                 mmd_gl_small_triangles *triangles, uint8_t flag,
                                 mmd_gl_draw_small *draw, void *image);

/* Draws the large ones with the current program, both sides of them. */
void mmd_gl_small_triangles_draw_large(const struct mmd_gl_renderer *renderer,
                                       const mmd_gl_small_triangles *triangles);

#endif
