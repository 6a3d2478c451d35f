/* SPDX-License-Identifier: MIT */
/* The shadow on the ground in the look of MMD. It comes first and nothing is behind it: each pixel
   gets its color once without a stencil. */
#include "gl/gl_ground_shadow.h"

#include <math.h>

/* The light's y, of a unit vector, below which the shadow would be too long. */
static const double MIN_LIGHT_Y = 1e-6;

/* How positions in view space are projected. */
typedef struct projection {
    float ground[4]; /* plane: unit normal, height of the camera above it */
    float light[3];  /* way of the light, scaled so that it goes down by 1 */
    float color[4];
} projection;

static bool find_projection(const mmd_gl_renderer *r, projection *out)
{
    const mmd_render_effects *effects = &r->resources.job->effects;
    double to_light[3], height = r->view.to_light[1];
    if (effects->ground_shadow == MMD_GROUND_SHADOW_OFF || fabs(height) < MIN_LIGHT_Y)
        return false;
    bool lit = effects->ground_shadow == MMD_GROUND_SHADOW_LIGHT;
    const float *color = lit ? mmd_gl_renderer_light_color(r) : effects->ground_color;
    mmd_gl_renderer_to_view(r, r->view.to_light, to_light);
    for (int i = 0; i < 3; i++) {
        out->ground[i] = (float)r->view.rotation[i][1];
        out->light[i] = (float)(-to_light[i] / height);
        out->color[i] = mmd_gl_clamp01(color[i]);
    }
    out->ground[3] = (float)r->view.position[1];
    out->color[3] = lit ? 1 : mmd_gl_clamp01(color[3]);
    return true;
}

void mmd_gl_ground_shadow_draw(const mmd_gl_renderer *r)
{
    projection shadow;
    if (!find_projection(r, &shadow))
        return;
    const mmd_gl_render_program *program = &r->programs->passes[MMD_GL_PASS_GROUND_SHADOW];
    mmd_gl_renderer_begin(r, program, &r->resources.targets->samples);
    glUniform4fv(program->ground, 1, shadow.ground);
    glUniform3fv(program->ground_light, 1, shadow.light);
    glUniform4fv(program->ground_color, 1, shadow.color);
    mmd_gl1.Disable(GL_DEPTH_TEST);
    mmd_gl1.Disable(GL_BLEND);
    mmd_gl_renderer_draw_flagged(r, MMD_MATERIAL_GROUND_SHADOW, false);
}
