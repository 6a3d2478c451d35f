/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_GROUND_SHADOW_H
#define MMD_GL_GROUND_SHADOW_H

#include "core/render/coverage.h"
#include "gl/gl_renderer.h"
#include "gl/gl_small_triangles.h"

/* Memory and names; NULL and 0 until they are needed. */
typedef struct mmd_gl_ground_shadow {
    mmd_coverage coverage;            /* of the samples of the image */
    mmd_gl_small_triangles triangles; /* (V,2): where the shadows of vertices are, in samples */
    GLuint texture;
} mmd_gl_ground_shadow;

/* Draws what surfaces cast on the ground, before anything else. */
bool mmd_gl_ground_shadow_draw(const mmd_gl_renderer *renderer, mmd_error *err);
void mmd_gl_ground_shadow_free(mmd_gl_context *context, mmd_gl_ground_shadow *ground);

#endif
