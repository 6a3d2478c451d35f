/* SPDX-License-Identifier: MIT */
#include "gl/gl_small_triangles.h"

#include "core/base/error.h"
#include "gl/gl_renderer.h"

#include <stdlib.h>
#include <string.h>

bool mmd_gl_small_triangles_init(const mmd_gl_renderer *r, size_t width,
                                 mmd_gl_small_triangles *triangles, mmd_error *err)
{
    const mmd_render_job *job = r->resources.job;
    triangles->width = width;
    triangles->corners = malloc(width * job->vertex_count * sizeof *triangles->corners + 1);
    triangles->large = malloc(3 * job->triangle_count * sizeof *triangles->large + 1);
    if (!triangles->corners || !triangles->large)
        return mmd_fail_memory(err);
    glGenBuffers(1, &triangles->elements);
    return true;
}

void mmd_gl_small_triangles_free(mmd_gl_context *context, mmd_gl_small_triangles *triangles)
{
    free(triangles->corners);
    free(triangles->large);
    if (!mmd_gl_context_hangs(context))
        glDeleteBuffers(1, &triangles->elements);
}

void mmd_gl_small_triangles_draw(const mmd_gl_renderer *r, mmd_gl_small_triangles *triangles,
                                 uint8_t flag, mmd_gl_draw_small *draw, void *image)
{
    const mmd_render_job *job = r->resources.job;
    const int32_t *corner = job->triangles;
    triangles->large_size = 0;
    for (size_t i = 0; i < job->material_count; i++) {
        const mmd_render_material *material = &job->materials[i];
        const int32_t *end = corner + 3 * material->triangle_count;
        bool drawn = mmd_gl_renderer_is_visible(material) && (material->flags & flag);
        for (; drawn && corner < end; corner += 3) {
            const float *at[3];
            for (int k = 0; k < 3; k++)
                at[k] = triangles->corners + triangles->width * (size_t)corner[k];
            if (draw(image, material, at[0], at[1], at[2]))
                continue;
            memcpy(triangles->large + triangles->large_size, corner, 3 * sizeof *corner);
            triangles->large_size += 3;
        }
        corner = end;
    }
}

void mmd_gl_small_triangles_draw_large(const mmd_gl_renderer *r,
                                       const mmd_gl_small_triangles *triangles)
{
    size_t bytes = triangles->large_size * sizeof *triangles->large;
    mmd_gl1.Disable(GL_CULL_FACE);
    glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, triangles->elements);
    glBufferData(GL_ELEMENT_ARRAY_BUFFER, (GLsizeiptr)bytes, triangles->large, GL_STREAM_DRAW);
    mmd_gl_renderer_draw(0, triangles->large_size / 3);
    glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, r->resources.elements);
}
