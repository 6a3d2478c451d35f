/* SPDX-License-Identifier: MIT */
/* Buffers of a render job: its vertices, and the uniforms that programs read of a frame and of a
   material. */
#include "gl/gl_renderer.h"

#include "core/base/error.h"

#include <math.h>
#include <string.h>

/* Vertices */

static const GLint attribute_widths[MMD_GL_RENDER_ATTRIBUTE_COUNT] = {4, 3, 2, 1, 2};

/* Floats of a vertex in the buffer of an attribute. */
static size_t attribute_stride(const mmd_render_job *job, mmd_gl_render_attribute attribute)
{
    return attribute == MMD_GL_RENDER_ADDITIONAL_UV ? job->effects.additional_uv_width
                                                    : (size_t)attribute_widths[attribute];
}

void mmd_gl_render_buffers_upload(const mmd_gl_renderer *r, mmd_gl_render_attribute attribute,
                                  const float *values)
{
    size_t stride = attribute_stride(r->job, attribute);
    size_t bytes = r->job->vertex_count * stride * sizeof *values;
    mmd_gl_buffer_fill(GL_ARRAY_BUFFER, r->buffers[attribute], values ? bytes : 0, values,
                       GL_STREAM_DRAW);
}

/* Attributes that the job lacks are constant. */
static void make_attributes(mmd_gl_renderer *r)
{
    const mmd_render_job *job = r->job;
    const bool present[MMD_GL_RENDER_ATTRIBUTE_COUNT] = {
        true, job->has_normals, job->uvs, job->edge_scales, job->effects.additional_uvs};
    glGenVertexArrays(1, &r->vertex_array);
    glBindVertexArray(r->vertex_array);
    glGenBuffers(MMD_GL_RENDER_ATTRIBUTE_COUNT, r->buffers);
    for (GLuint i = 0; i < MMD_GL_RENDER_ATTRIBUTE_COUNT; i++) {
        if (present[i]) {
            glBindBuffer(GL_ARRAY_BUFFER, r->buffers[i]);
            size_t stride = attribute_stride(job, (mmd_gl_render_attribute)i) * sizeof(float);
            glVertexAttribPointer(i, attribute_widths[i], GL_FLOAT, GL_FALSE, (GLsizei)stride,
                                  NULL);
            glEnableVertexAttribArray(i);
        }
    }
    glVertexAttrib3f(MMD_GL_RENDER_NORMAL, 0, 0, 0);
    glVertexAttrib2f(MMD_GL_RENDER_UV, 0, 0);
    glVertexAttrib1f(MMD_GL_RENDER_EDGE_SCALE, 1);
    glVertexAttrib2f(MMD_GL_RENDER_ADDITIONAL_UV, 0, 0);
    r->elements = mmd_gl_buffer_fill(GL_ELEMENT_ARRAY_BUFFER, 0,
                                     3 * job->triangle_count * sizeof *job->triangles,
                                     job->triangles, GL_STREAM_DRAW);
    mmd_gl_render_buffers_upload(r, MMD_GL_RENDER_POSITION, NULL);
    mmd_gl_render_buffers_upload(r, MMD_GL_RENDER_EDGE_SCALE, job->edge_scales);
}

static bool check_limits(const mmd_render_job *job, mmd_error *err)
{
    GLint texels = 0;
    mmd_gl1.GetIntegerv(GL_MAX_TEXTURE_BUFFER_SIZE, &texels);
    const size_t most = MMD_GL_MAX_BUFFER_BYTES / 16;
    size_t max = most < (size_t)texels ? most : (size_t)texels;
    if (job->vertex_count > max || 3 * job->triangle_count > max)
        return mmd_gl_fail(err, "%zu vertices and %zu triangle corners, the device supports %zu",
                           job->vertex_count, 3 * job->triangle_count, max);
    return true;
}

/* Uniforms */

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
static const uint8_t *shaded_end(const mmd_render_job *job, const mmd_material *material)
{
    if (material->toon < 0)
        return NULL;
    const mmd_render_texture *image = &job->textures[material->toon];
    return image->pixels + 4 * image->width * (image->height - 1);
}

/* The numbers of the file. */
static void fill_mmd(const mmd_render_job *job, size_t index, material_uniforms *out)
{
    static const float neutral[2 * 3 * 4] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const mmd_material *material = &job->materials[index];
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
    const mmd_material *material = &job->materials[index];
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

static bool make_uniforms(mmd_gl_renderer *r, mmd_error *err)
{
    const mmd_render_job *job = r->job;
    GLint alignment = 1;
    mmd_gl1.GetIntegerv(GL_UNIFORM_BUFFER_OFFSET_ALIGNMENT, &alignment);
    size_t unit = alignment > 0 ? (size_t)alignment : 1;
    r->material_stride = (sizeof(material_uniforms) + unit - 1) / unit * unit;
    char *all = mmd_arena_alloc(&r->arena, job->material_count + 1, r->material_stride);
    if (!all)
        return mmd_fail_memory(err);
    size_t first = 0;
    for (size_t i = 0; i < job->material_count;
         first += mmd_render_triangle_count(&job->materials[i++])) {
        material_uniforms material = {0};
        fill_material(job, i, first, &material);
        memcpy(all + i * r->material_stride, &material, sizeof material);
    }
    glGenBuffers(1, &r->frame_buffer);
    r->material_buffer = mmd_gl_buffer_fill(
        GL_UNIFORM_BUFFER, 0, (job->material_count + 1) * r->material_stride, all, GL_STATIC_DRAW);
    return true;
}

void mmd_gl_render_buffers_set_frame(const mmd_gl_renderer *r)
{
    glBindBufferBase(GL_UNIFORM_BUFFER, FRAME_BINDING, r->frame_buffer);
    glBufferData(GL_UNIFORM_BUFFER, sizeof r->uniforms, &r->uniforms, GL_STREAM_DRAW);
}

void mmd_gl_render_buffers_set_material(const mmd_gl_renderer *r, size_t material)
{
    glBindBufferRange(GL_UNIFORM_BUFFER, MATERIAL_BINDING, r->material_buffer,
                      (GLintptr)(material * r->material_stride), sizeof(material_uniforms));
}

/* All */

bool mmd_gl_render_buffers_init(mmd_gl_renderer *r, mmd_error *err)
{
    if (!check_limits(r->job, err))
        return false;
    make_attributes(r);
    r->triangles_texture = mmd_gl_buffer_texture(MMD_GL_TRIANGLES_UNIT, GL_R32I, r->elements, 0, 0);
    r->positions_texture = mmd_gl_buffer_texture(MMD_GL_POSITIONS_UNIT, GL_RGBA32F,
                                                 r->buffers[MMD_GL_RENDER_POSITION], 0, 0);
    return mmd_gl_check("upload of the mesh", err) && make_uniforms(r, err);
}

void mmd_gl_render_buffers_free(mmd_gl_renderer *r)
{
    const GLuint buffers[] = {r->elements, r->frame_buffer, r->material_buffer};
    const GLuint textures[] = {r->triangles_texture, r->positions_texture};
    glDeleteVertexArrays(1, &r->vertex_array);
    glDeleteBuffers(MMD_GL_RENDER_ATTRIBUTE_COUNT, r->buffers);
    glDeleteBuffers(sizeof buffers / sizeof *buffers, buffers);
    mmd_gl1.DeleteTextures(sizeof textures / sizeof *textures, textures);
}
