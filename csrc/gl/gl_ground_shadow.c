/* SPDX-License-Identifier: MIT */
/* The shadow on the ground in the look of MMD. It comes first and nothing is behind it: each pixel
   gets its color once without a stencil. */
#include "gl/gl_ground_shadow.h"

#include "core/base/error.h"

#include <math.h>
#include <stdlib.h>

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

static void begin(const mmd_gl_renderer *r, mmd_gl_render_pass pass, const projection *shadow)
{
    const mmd_gl_render_program *program = &r->programs->passes[pass];
    mmd_gl_renderer_begin(r, program, &r->resources.targets->samples);
    glUniform4fv(program->ground, 1, shadow->ground);
    glUniform3fv(program->ground_light, 1, shadow->light);
    glUniform4fv(program->ground_color, 1, shadow->color);
    mmd_gl1.Disable(GL_DEPTH_TEST);
    mmd_gl1.Disable(GL_BLEND);
}

/* For software renderers: gl_small_triangles.h. */

static bool make_coverage(const mmd_gl_renderer *r, mmd_error *err)
{
    const mmd_gl_framebuffer *samples = &r->resources.targets->samples;
    mmd_gl_ground_shadow *ground = r->ground;
    mmd_coverage *coverage = &ground->coverage;
    if (coverage->samples)
        return true;
    coverage->width = (size_t)samples->width;
    coverage->height = (size_t)samples->height;
    coverage->stride = (coverage->width + 3) / 4 * 4; /* as OpenGL aligns rows */
    coverage->samples = calloc(coverage->stride * coverage->height, 1);
    if (!coverage->samples)
        return mmd_fail_memory(err);
    if (!mmd_gl_small_triangles_init(r, 2, &ground->triangles, err))
        return false;
    mmd_gl1.GenTextures(1, &ground->texture);
    mmd_gl1.BindTexture(GL_TEXTURE_2D, ground->texture);
    mmd_gl1.TexImage2D(GL_TEXTURE_2D, 0, GL_R8, (GLsizei)coverage->stride, samples->height, 0,
                       GL_RED, GL_UNSIGNED_BYTE, NULL);
    mmd_gl1.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    return mmd_gl_check("memory for the shadow on the ground", err);
}

/* As look.vert. What is behind the near plane is infinitely far away. */
static void project(const mmd_gl_renderer *r, const projection *shadow)
{
    const mmd_coverage *coverage = &r->ground->coverage;
    const float *g = shadow->ground, *light = shadow->light;
    float half[2] = {(float)coverage->width / 2, (float)coverage->height / 2};
    float near_plane = (float)r->near_plane, *corners = r->ground->triangles.corners;
    float scale[2] = {half[0] / (float)r->view.half_extent[0],
                      -half[1] / (float)r->view.half_extent[1]};
    for (size_t v = 0; v < r->resources.job->vertex_count; v++) {
        const float *p = r->view_positions + 4 * v;
        float height = g[0] * p[0] + g[1] * p[1] + g[2] * p[2] + g[3];
        float x = p[0] + light[0] * height, y = p[1] + light[1] * height,
              z = p[2] + light[2] * height;
        float per_z = z > near_plane ? 1 / z : INFINITY;
        corners[2 * v] = per_z < INFINITY ? half[0] + x * per_z * scale[0] : INFINITY;
        corners[2 * v + 1] = half[1] + y * per_z * scale[1];
    }
}

static bool cover(void *image, const mmd_render_material *material, const float *a, const float *b,
                  const float *c)
{
    (void)material;
    return mmd_coverage_add(image, a, b, c);
}

static void draw_covered(const mmd_gl_renderer *r, const projection *shadow)
{
    mmd_coverage *coverage = &r->ground->coverage;
    const size_t *first = coverage->first, *end = coverage->end;
    if (first[0] >= end[0] || first[1] >= end[1])
        return;
    GLint x = (GLint)first[0], y = (GLint)first[1];
    GLsizei width = (GLsizei)(end[0] - first[0]), height = (GLsizei)(end[1] - first[1]);
    begin(r, MMD_GL_PASS_GROUND_COVERAGE, shadow);
    glActiveTexture(GL_TEXTURE0 + MMD_GL_TEXTURE_UNIT);
    mmd_gl1.BindTexture(GL_TEXTURE_2D, r->ground->texture);
    mmd_gl1.TexSubImage2D(GL_TEXTURE_2D, 0, 0, y, (GLsizei)coverage->stride, height, GL_RED,
                          GL_UNSIGNED_BYTE, coverage->samples + first[1] * coverage->stride);
    mmd_gl1.Scissor(x, y, width, height);
    mmd_gl1.Enable(GL_SCISSOR_TEST);
    mmd_gl1.Disable(GL_CULL_FACE);
    mmd_gl1.DrawArrays(GL_TRIANGLES, 0, 3);
    mmd_gl1.Disable(GL_SCISSOR_TEST);
    mmd_coverage_clear(coverage);
}

bool mmd_gl_ground_shadow_draw(const mmd_gl_renderer *r, mmd_error *err)
{
    projection shadow;
    if (!find_projection(r, &shadow))
        return true;
    if (!r->context->software || (r->skin && r->skin->on_device)) {
        begin(r, MMD_GL_PASS_GROUND_SHADOW, &shadow);
        mmd_gl_renderer_draw_flagged(r, MMD_MATERIAL_GROUND_SHADOW, false);
        return true;
    }
    if (!make_coverage(r, err))
        return false;
    project(r, &shadow);
    mmd_coverage_begin(&r->ground->coverage);
    mmd_gl_small_triangles_draw(r, &r->ground->triangles, MMD_MATERIAL_GROUND_SHADOW, cover,
                                &r->ground->coverage);
    if (r->ground->triangles.large_size) {
        begin(r, MMD_GL_PASS_GROUND_SHADOW, &shadow);
        mmd_gl_small_triangles_draw_large(r, &r->ground->triangles);
    }
    draw_covered(r, &shadow);
    return true;
}

void mmd_gl_ground_shadow_free(mmd_gl_context *context, mmd_gl_ground_shadow *ground)
{
    free(ground->coverage.samples);
    mmd_gl_small_triangles_free(context, &ground->triangles);
    if (!mmd_gl_context_hangs(context))
        mmd_gl1.DeleteTextures(1, &ground->texture);
}
