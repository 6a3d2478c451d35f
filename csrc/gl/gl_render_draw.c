/* SPDX-License-Identifier: MIT */
/* Draws what the passes of all looks have in common. */
#include "gl/gl_renderer.h"

void mmd_gl_renderer_begin(GLuint program, const mmd_gl_framebuffer *to)
{
    glUseProgram(program);
    glBindFramebuffer(GL_FRAMEBUFFER, to->name);
    mmd_gl1.Viewport(0, 0, to->width, to->height);
}

void mmd_gl_renderer_begin_rows(const mmd_gl_renderer *r, GLuint program,
                                const mmd_gl_framebuffer *to)
{
    const mmd_render_job *job = r->job;
    GLsizei scale = to->width / (GLsizei)job->width;
    mmd_gl_renderer_begin(program, to);
    mmd_gl1.Viewport(0, -(GLint)r->first_row * scale, to->width, (GLsizei)job->height * scale);
}

void mmd_gl_renderer_draw(size_t first, size_t count)
{
    mmd_gl1.DrawElements(GL_TRIANGLES, (GLsizei)(3 * count), GL_UNSIGNED_INT,
                         (const void *)(uintptr_t)(3 * first * sizeof(int32_t)));
}

void mmd_gl_renderer_draw_material(const mmd_gl_renderer *r, size_t index, size_t first)
{
    const mmd_material *material = &r->job->materials[index];
    bool both_sides = material->flags & MMD_MATERIAL_DOUBLE_SIDED;
    both_sides ? mmd_gl1.Disable(GL_CULL_FACE) : mmd_gl1.Enable(GL_CULL_FACE);
    mmd_gl_render_buffers_set_material(r, index);
    mmd_gl_renderer_draw(first, mmd_render_triangle_count(material));
}

/* After all surfaces of the model: which is first needs a capture of MMD, and differs only where
   surfaces are translucent. */
void mmd_gl_renderer_draw_edges(const mmd_gl_renderer *r)
{
    const mmd_render_job *job = r->job;
    mmd_gl_renderer_begin_rows(r, r->programs->passes[MMD_GL_PASS_EDGE], &r->targets->samples);
    mmd_gl1.CullFace(GL_FRONT);
    mmd_gl1.Enable(GL_CULL_FACE);
    size_t first = 0;
    for (size_t i = 0; i < job->material_count;
         first += mmd_render_triangle_count(&job->materials[i++])) {
        const mmd_material *material = &job->materials[i];
        if (!mmd_gl_renderer_is_visible(material) || !(material->flags & MMD_MATERIAL_EDGE) ||
            material->edge_size <= 0 || material->edge_color[3] <= 0)
            continue;
        mmd_gl_render_buffers_set_material(r, i);
        mmd_gl_renderer_draw(first, mmd_render_triangle_count(material));
    }
}
