/* SPDX-License-Identifier: MIT */
/* The shadow on the ground in the look of MMD. It comes first and nothing is behind it: each pixel
   gets its color once without a stencil. */
#include "gl/gl_ground_shadow.h"

#include <math.h>

/* The light's y, of a unit vector, below which the shadow would be too long. */
static const double MIN_LIGHT_Y = 1e-6;

bool mmd_gl_ground_shadow_project(const mmd_gl_renderer *r, mmd_gl_frame_uniforms *out)
{
    const mmd_render_effects *effects = &r->resources.job->effects;
    double to_light[3], height = r->view.to_light[1];
    if (effects->ground_shadow == MMD_GROUND_SHADOW_OFF || fabs(height) < MIN_LIGHT_Y)
        return false;
    bool lit = effects->ground_shadow == MMD_GROUND_SHADOW_LIGHT;
    const float *color = lit ? out->light_color : effects->ground_color;
    mmd_gl_renderer_to_view(r, r->view.to_light, to_light);
    for (int i = 0; i < 3; i++) {
        out->ground[i] = (float)r->view.rotation[i][1];
        out->ground_light[i] = (float)(-to_light[i] / height);
        out->ground_color[i] = mmd_gl_clamp01(color[i]);
    }
    out->ground[3] = (float)r->view.position[1];
    out->ground_color[3] = lit ? 1 : mmd_gl_clamp01(color[3]);
    return true;
}

void mmd_gl_ground_shadow_draw(const mmd_gl_renderer *r)
{
    mmd_gl_renderer_begin(r->programs->passes[MMD_GL_PASS_GROUND_SHADOW],
                          &r->resources.targets->samples);
    mmd_gl1.Disable(GL_DEPTH_TEST);
    mmd_gl1.Disable(GL_BLEND);
    mmd_gl_renderer_draw_flagged(r, MMD_MATERIAL_GROUND_SHADOW, false);
}
