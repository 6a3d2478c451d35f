/* SPDX-License-Identifier: MIT */
/* What the passes of all looks have in common: their uniforms, framebuffer and draw calls. */
#include "gl/gl_renderer.h"

#include "core/math/vec3.h"

#include <math.h>

/* An edge of size 1 is one pixel wide in an image of this height. */
static const double EDGE_IMAGE_HEIGHT = 512;

void mmd_gl_renderer_use(const mmd_gl_renderer *r, const mmd_gl_render_program *program)
{
    float rotation[9];
    for (int i = 0; i < 9; i++)
        rotation[i] = (float)r->view.rotation[i / 3][i % 3];
    glUseProgram(program->name);
    glUniformMatrix3fv(program->view_rotation, 1, GL_TRUE, rotation);
    glUniform2f(program->half_extent, (float)r->view.half_extent[0], (float)r->view.half_extent[1]);
    glUniform1f(program->near_plane, (float)r->near_plane);
    glUniform1f(program->depth_scale, r->depth_scale);
}

void mmd_gl_renderer_begin(const mmd_gl_renderer *r, const mmd_gl_render_program *program,
                           const mmd_gl_framebuffer *to)
{
    const mmd_render_job *job = r->resources.job;
    const double *to_light = r->view.to_light;
    mmd_gl_renderer_use(r, program);
    glUniform2f(program->pixel_size, 2 / (float)to->width, 2 / (float)to->height);
    glUniform1i(program->has_normals, job->has_normals);
    glUniform3f(program->to_light, (float)to_light[0], (float)to_light[1], (float)to_light[2]);
    glBindFramebuffer(GL_FRAMEBUFFER, to->name);
    mmd_gl1.Viewport(0, 0, to->width, to->height);
}

void mmd_gl_renderer_draw(size_t first, size_t count)
{
    mmd_gl1.DrawElements(GL_TRIANGLES, (GLsizei)(3 * count), GL_UNSIGNED_INT,
                         (const void *)(uintptr_t)(3 * first * sizeof(int32_t)));
}

void mmd_gl_renderer_draw_flagged(const mmd_gl_renderer *r, uint8_t flag, bool culled)
{
    const mmd_render_job *job = r->resources.job;
    size_t first = 0, count = 0;
    bool cull = false;
    for (size_t i = 0; i <= job->material_count; i++) {
        const mmd_render_material *material = i < job->material_count ? &job->materials[i] : NULL;
        bool drawn = material && mmd_gl_renderer_is_visible(material) && (material->flags & flag);
        bool culls = drawn && culled && !(material->flags & MMD_MATERIAL_DOUBLE_SIDED);
        if (count && (!drawn || culls != cull)) {
            cull ? mmd_gl1.Enable(GL_CULL_FACE) : mmd_gl1.Disable(GL_CULL_FACE);
            mmd_gl_renderer_draw(first, count);
            first += count;
            count = 0;
        }
        cull = culls;
        if (drawn)
            count += material->triangle_count;
        else if (material)
            first += material->triangle_count;
    }
}

const float *mmd_gl_renderer_light_color(const mmd_gl_renderer *r)
{
    const mmd_render_effects *effects = &r->resources.job->effects;
    return effects->light_colors + (effects->light_color_frames > 1 ? 3 * r->frame : 0);
}

void mmd_gl_renderer_to_view(const mmd_gl_renderer *r, const double v[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = mmd_vec3_dot(r->view.rotation[i], v);
}

double mmd_gl_renderer_edge_unit(const mmd_gl_renderer *r)
{
    return 2 * r->view.half_extent[1] / EDGE_IMAGE_HEIGHT;
}

float mmd_gl_clamp01(float x)
{
    return fminf(fmaxf(x, 0), 1);
}
