/* SPDX-License-Identifier: MIT */
#include "gl/gl_renderer.h"

#include "core/base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_BINDING, MATERIAL_BINDING }; /* as uniforms.glsl numbers them */

typedef struct material_uniforms {
    float diffuse[4], ambient[4], specular[4], edge_color[4];
    float texture_factors[3][2][4], shaded_toon[4];
    float edge_size;
    int32_t first_triangle, padding[2];
} material_uniforms;

_Static_assert(sizeof(mmd_gl_frame_uniforms) == 256 && sizeof(material_uniforms) == 192,
               "std140 has no gaps that the structs lack");

float mmd_gl_clamp01(float x)
{
    return fminf(fmaxf(x, 0), 1);
}

void mmd_gl_linear_color(const float *srgb, float out[3])
{
    for (int i = 0; i < 3; i++) {
        double c = fmin(fmax((double)srgb[i], 0), 1);
        out[i] = (float)(c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
}

/* X' = lerp(neutral, X * factor + summand, strength) as X * out[0] + out[1]. */
static void combine_factors(const float *factors, int texture, double neutral, float out[2][4])
{
    const float *multiply = factors + 4 * texture, *add = multiply + 3 * 4;
    double strength = (double)multiply[3] + (double)add[3];
    for (int i = 0; i < 3; i++) {
        out[0][i] = (float)(strength * (double)multiply[i]);
        out[1][i] = (float)(neutral + strength * ((double)add[i] - neutral));
    }
}

/* The lower end of the toon, where no light comes from; NULL without toon. */
static const uint8_t *shaded_end(const mmd_render_job *job, const mmd_render_material *material)
{
    const mmd_render_effects *effects = &job->effects;
    if (material->shared_toon >= 0)
        return effects->toons + 4 * effects->toon_rows * ((size_t)material->shared_toon + 1) - 4;
    if (material->toon_texture < 0)
        return NULL;
    const mmd_render_texture *image = &job->textures[material->toon_texture];
    return image->pixels + 4 * image->width * (image->height - 1);
}

/* The numbers of the file. */
static void fill_mmd(const mmd_render_job *job, size_t index, material_uniforms *out)
{
    static const float neutral[2 * 3 * 4] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const mmd_render_material *material = &job->materials[index];
    const float *factors = job->effects.factors ? job->effects.factors + 24 * index : neutral;
    for (int i = 0; i < 3; i++) {
        out->diffuse[i] = material->diffuse[i];
        out->ambient[i] = material->ambient[i];
        out->specular[i] = material->specular[i];
        out->edge_color[i] = mmd_gl_clamp01(material->edge_color[i]);
    }
    out->specular[3] = material->specular_power;
    combine_factors(factors, 0, 1, out->texture_factors[0]);
    combine_factors(factors, 1, material->sphere_mode == MMD_SPHERE_ADD ? 0 : 1,
                    out->texture_factors[1]);
    combine_factors(factors, 2, 1, out->texture_factors[2]);
    const uint8_t *end = shaded_end(job, material);
    for (int i = 0; end && i < 3; i++)
        out->shaded_toon[i] = (float)end[i] / UINT8_MAX * out->texture_factors[2][0][i] +
                              out->texture_factors[2][1][i];
}

static void fill_material(const mmd_render_job *job, size_t index, size_t first_triangle,
                          material_uniforms *out)
{
    const mmd_render_material *material = &job->materials[index];
    if (job->look == MMD_LOOK_MMD) {
        fill_mmd(job, index, out);
    } else {
        mmd_gl_linear_color(material->diffuse, out->diffuse);
        mmd_gl_linear_color(material->ambient, out->ambient);
        mmd_gl_linear_color(material->edge_color, out->edge_color);
    }
    out->diffuse[3] = mmd_gl_clamp01(material->diffuse[3]);
    out->edge_color[3] = mmd_gl_clamp01(material->edge_color[3]);
    out->edge_size = material->edge_size;
    out->first_triangle = (int32_t)first_triangle;
}

bool mmd_gl_render_uniforms_init(mmd_gl_render_uniforms *uniforms, const mmd_render_job *job,
                                 mmd_error *err)
{
    GLint alignment = 1;
    mmd_gl1.GetIntegerv(GL_UNIFORM_BUFFER_OFFSET_ALIGNMENT, &alignment);
    size_t unit = alignment > 0 ? (size_t)alignment : 1;
    uniforms->stride = (sizeof(material_uniforms) + unit - 1) / unit * unit;
    char *all = calloc(job->material_count + 1, uniforms->stride);
    if (!all)
        return mmd_fail_memory(err);
    size_t first = 0;
    for (size_t i = 0; i < job->material_count; first += job->materials[i++].triangle_count) {
        material_uniforms material = {0};
        fill_material(job, i, first, &material);
        memcpy(all + i * uniforms->stride, &material, sizeof material);
    }
    glGenBuffers(1, &uniforms->frame);
    glGenBuffers(1, &uniforms->materials);
    glBindBuffer(GL_UNIFORM_BUFFER, uniforms->materials);
    glBufferData(GL_UNIFORM_BUFFER, (GLsizeiptr)((job->material_count + 1) * uniforms->stride), all,
                 GL_STATIC_DRAW);
    free(all);
    return true;
}

void mmd_gl_render_uniforms_free(mmd_gl_render_uniforms *uniforms)
{
    const GLuint buffers[] = {uniforms->frame, uniforms->materials};
    glDeleteBuffers(2, buffers);
}

void mmd_gl_render_uniforms_set_frame(const mmd_gl_render_uniforms *uniforms,
                                      const mmd_gl_frame_uniforms *frame)
{
    glBindBufferBase(GL_UNIFORM_BUFFER, FRAME_BINDING, uniforms->frame);
    glBufferData(GL_UNIFORM_BUFFER, sizeof *frame, frame, GL_STREAM_DRAW);
}

void mmd_gl_render_uniforms_set_material(const mmd_gl_render_uniforms *uniforms, size_t material)
{
    glBindBufferRange(GL_UNIFORM_BUFFER, MATERIAL_BINDING, uniforms->materials,
                      (GLintptr)(material * uniforms->stride), sizeof(material_uniforms));
}
