/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_LOOK_H
#define MMD_GL_LOOK_H

#include "gl/gl_renderer.h"

/* The passes of the look of MMD. */

/* Draws the surfaces, edges and shadows of the frame. */
bool mmd_gl_look_draw(const mmd_gl_renderer *renderer, mmd_error *err);

/* gl_ground_shadow.c: draws what surfaces cast on the ground, before anything else. */
bool mmd_gl_ground_shadow_draw(const mmd_gl_renderer *renderer, mmd_error *err);
void mmd_gl_ground_shadow_free(mmd_gl_context *context, mmd_gl_ground_shadow *ground);

/* gl_shadow_map.c: the depth map of the light, fitted to what is seen of what casts shadows. False
   if that is nothing. */
typedef struct mmd_gl_shadow_view {
    float caster[16], receiver[16]; /* row-major: view space to the map, 0 to 1 */
    float offset; /* of receivers along their normals, against shadows of a surface on itself */
} mmd_gl_shadow_view;

bool mmd_gl_shadow_map_fit(const mmd_gl_renderer *renderer, mmd_gl_shadow_view *out);
bool mmd_gl_shadow_map_draw(const mmd_gl_renderer *renderer, const mmd_gl_shadow_view *view,
                            mmd_error *err);
void mmd_gl_shadow_map_free(mmd_gl_context *context, mmd_gl_shadow_map *map);

/* What they share. */

static inline bool mmd_gl_look_is_drawn(const mmd_render_material *material)
{
    return material->diffuse[3] > 0;
}

/* Of the frame. */
const float *mmd_gl_look_light_color(const mmd_gl_renderer *renderer);

/* A direction in view space. */
void mmd_gl_look_to_view(const mmd_gl_renderer *renderer, const double v[3], double out[3]);

/* Draws the materials that have a flag, with or without the back faces of single-sided ones;
   consecutive ones at once, as most of a draw's cost for software renderers is its start. */
void mmd_gl_look_draw_flagged(const mmd_gl_renderer *renderer, uint8_t flag, bool culled);

#endif
