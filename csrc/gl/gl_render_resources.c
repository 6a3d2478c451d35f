/* SPDX-License-Identifier: MIT */
/* Makes the vertex buffers, textures and framebuffers of a render job. */
#include "gl/gl_render_resources.h"

#include "core/base/error.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_SHADOW_SIZE = 512, MAX_SHADOW_SIZE = 2048 }; /* pixels of a side of the depth map */

enum { MAX_BUFFER_BYTES = 1 << 30 }; /* the largest buffer that any driver is asked for */

static const GLint attribute_widths[MMD_GL_RENDER_ATTRIBUTE_COUNT] = {4, 3, 2, 1, 2};

/* Floats of a vertex in the buffer of an attribute. */
static size_t attribute_stride(const mmd_render_job *job, mmd_gl_render_attribute attribute)
{
    return attribute == MMD_GL_RENDER_ADDITIONAL_UV ? job->effects.additional_uv_width
                                                    : (size_t)attribute_widths[attribute];
}

static void upload(GLenum target, GLuint buffer, size_t bytes, const void *data)
{
    static const float zero[4] = {0};
    glBindBuffer(target, buffer);
    glBufferData(target, (GLsizeiptr)(bytes ? bytes : sizeof zero), bytes ? data : zero,
                 GL_STREAM_DRAW);
}

/* The values of vertices in the order of the buffers. NULL without memory. */
static float *reorder(const mmd_gl_render_resources *resources, const float *values, size_t stride)
{
    size_t count = resources->job->vertex_count;
    float *sorted = malloc(count * stride * sizeof *sorted + 1);
    for (size_t v = 0; sorted && v < count; v++)
        memcpy(sorted + resources->order[v] * stride, values + v * stride, stride * sizeof *sorted);
    return sorted;
}

bool mmd_gl_render_resources_upload(const mmd_gl_render_resources *resources,
                                    mmd_gl_render_attribute attribute, const float *values,
                                    mmd_error *err)
{
    size_t stride = attribute_stride(resources->job, attribute);
    size_t bytes = resources->job->vertex_count * stride * sizeof *values;
    float *sorted = NULL;
    if (values && resources->order) {
        sorted = reorder(resources, values, stride);
        if (!sorted)
            return mmd_fail_memory(err);
        values = sorted;
    }
    upload(GL_ARRAY_BUFFER, resources->buffers[attribute], values ? bytes : 0, values);
    free(sorted);
    return true;
}

static bool upload_triangles(const mmd_gl_render_resources *resources, mmd_error *err)
{
    const mmd_render_job *job = resources->job;
    size_t corners = 3 * job->triangle_count;
    int32_t *sorted = resources->order ? malloc(corners * sizeof *sorted + 1) : NULL;
    if (resources->order && !sorted)
        return mmd_fail_memory(err);
    for (size_t c = 0; sorted && c < corners; c++)
        sorted[c] = (int32_t)resources->order[job->triangles[c]];
    upload(GL_ELEMENT_ARRAY_BUFFER, resources->elements, corners * sizeof(int32_t),
           sorted ? sorted : job->triangles);
    free(sorted);
    return true;
}

/* Attributes that the job lacks are constant. */
static bool make_attributes(mmd_gl_render_resources *resources, mmd_error *err)
{
    const mmd_render_job *job = resources->job;
    const bool present[MMD_GL_RENDER_ATTRIBUTE_COUNT] = {
        true, job->has_normals, job->uvs, job->edge_scales, job->effects.additional_uvs};
    glGenVertexArrays(1, &resources->vertex_array);
    glBindVertexArray(resources->vertex_array);
    glGenBuffers(MMD_GL_RENDER_ATTRIBUTE_COUNT, resources->buffers);
    for (GLuint i = 0; i < MMD_GL_RENDER_ATTRIBUTE_COUNT; i++) {
        if (present[i]) {
            glBindBuffer(GL_ARRAY_BUFFER, resources->buffers[i]);
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
    glGenBuffers(1, &resources->elements);
    return upload_triangles(resources, err) &&
           mmd_gl_render_resources_upload(resources, MMD_GL_RENDER_POSITION, NULL, err) &&
           mmd_gl_render_resources_upload(resources, MMD_GL_RENDER_EDGE_SCALE, job->edge_scales,
                                          err);
}

static void make_buffer_texture(GLuint *texture, GLenum unit, GLenum format, GLuint buffer)
{
    mmd_gl1.GenTextures(1, texture);
    glActiveTexture(GL_TEXTURE0 + unit);
    mmd_gl1.BindTexture(GL_TEXTURE_BUFFER, *texture);
    glTexBuffer(GL_TEXTURE_BUFFER, format, buffer);
}

/* As linear colors, or as the numbers of the file. */
static void make_texture(GLuint *texture, mmd_look look, const mmd_render_texture *from)
{
    mmd_gl1.GenTextures(1, texture);
    glActiveTexture(GL_TEXTURE0 + MMD_GL_TEXTURE_UNIT);
    mmd_gl1.BindTexture(GL_TEXTURE_2D, *texture);
    mmd_gl1.TexImage2D(GL_TEXTURE_2D, 0, look == MMD_LOOK_MMD ? GL_RGBA8 : GL_SRGB8_ALPHA8,
                       (GLsizei)from->width, (GLsizei)from->height, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                       from->pixels);
    mmd_gl1.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR_MIPMAP_LINEAR);
    glGenerateMipmap(GL_TEXTURE_2D);
}

static void make_shared_toons(mmd_gl_render_resources *resources)
{
    const mmd_render_job *job = resources->job;
    for (size_t i = 0; job->look == MMD_LOOK_MMD && i < job->material_count; i++) {
        int32_t toon = job->materials[i].shared_toon;
        if (toon < 0 || resources->toons[toon])
            continue;
        size_t rows = job->effects.toon_rows;
        make_texture(&resources->toons[toon], job->look,
                     &(mmd_render_texture){1, rows, job->effects.toons + 4 * rows * (size_t)toon});
    }
}

void mmd_gl_render_resources_bind(const mmd_gl_render_resources *resources)
{
    glBindVertexArray(resources->vertex_array);
    glActiveTexture(GL_TEXTURE0 + MMD_GL_TRIANGLES_UNIT);
    mmd_gl1.BindTexture(GL_TEXTURE_BUFFER, resources->triangles_texture);
    glActiveTexture(GL_TEXTURE0 + MMD_GL_POSITIONS_UNIT);
    mmd_gl1.BindTexture(GL_TEXTURE_BUFFER, resources->positions_texture);
    glActiveTexture(GL_TEXTURE0 + MMD_GL_TEXTURE_UNIT);
}

static bool make_textures(mmd_gl_render_resources *resources, mmd_error *err)
{
    static const uint8_t white[] = {255, 255, 255, 255};
    const mmd_render_job *job = resources->job;
    GLint max = 0;
    mmd_gl1.GetIntegerv(GL_MAX_TEXTURE_SIZE, &max);
    resources->textures = calloc(job->texture_count + 1, sizeof *resources->textures);
    if (!resources->textures)
        return mmd_fail_memory(err);
    make_texture(&resources->white_texture, job->look, &(mmd_render_texture){1, 1, white});
    for (size_t i = 0; i < job->texture_count; i++) {
        const mmd_render_texture *texture = &job->textures[i];
        if (texture->width > (size_t)max || texture->height > (size_t)max)
            return mmd_fail(err, MMD_E_ARGUMENT,
                            "textures: one has %zu x %zu pixels, the device supports %d x %d",
                            texture->width, texture->height, (int)max, (int)max);
        make_texture(&resources->textures[i], job->look, texture);
    }
    make_shared_toons(resources);
    return mmd_gl_check("textures", err);
}

static void make_framebuffer(mmd_gl_framebuffer *out, size_t width, size_t height)
{
    out->width = (GLsizei)width;
    out->height = (GLsizei)height;
    glGenFramebuffers(1, &out->name);
    glBindFramebuffer(GL_FRAMEBUFFER, out->name);
    glGenRenderbuffers(MMD_GL_ATTACHMENT_COUNT, out->renderbuffers);
}

static void attach(mmd_gl_framebuffer *out, int index, GLenum attachment, GLenum format)
{
    glBindRenderbuffer(GL_RENDERBUFFER, out->renderbuffers[index]);
    glRenderbufferStorage(GL_RENDERBUFFER, format, out->width, out->height);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, attachment, GL_RENDERBUFFER,
                              out->renderbuffers[index]);
}

static bool check_framebuffer(mmd_error *err)
{
    if (!mmd_gl_check("memory for the image", err))
        return false;
    GLenum status = glCheckFramebufferStatus(GL_FRAMEBUFFER);
    return status == GL_FRAMEBUFFER_COMPLETE ||
           mmd_fail(err, MMD_E_BACKEND, "OpenGL: framebuffer status 0x%04x", status);
}

static bool make_image_framebuffers(mmd_gl_render_resources *resources, mmd_error *err)
{
    const mmd_render_job *job = resources->job;
    mmd_gl_framebuffer *samples = &resources->samples;
    make_framebuffer(samples, job->width * job->samples, job->height * job->samples);
    mmd_gl1.GenTextures(1, &resources->color_texture);
    glActiveTexture(GL_TEXTURE0 + MMD_GL_TEXTURE_UNIT);
    mmd_gl1.BindTexture(GL_TEXTURE_2D, resources->color_texture);
    mmd_gl1.TexImage2D(GL_TEXTURE_2D, 0, GL_RGBA16F, samples->width, samples->height, 0, GL_RGBA,
                       GL_FLOAT, NULL);
    mmd_gl1.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D,
                           resources->color_texture, 0);
    attach(samples, MMD_GL_GBUFFER_COUNT, GL_DEPTH_ATTACHMENT, GL_DEPTH_COMPONENT32F);
    if (!check_framebuffer(err))
        return false;
    make_framebuffer(&resources->image, job->width, job->height);
    attach(&resources->image, 0, GL_COLOR_ATTACHMENT0, GL_RGBA8);
    return check_framebuffer(err);
}

/* Twice as fine as the picture, which the map is fitted to. */
static size_t shadow_size(const mmd_render_job *job)
{
    size_t pixels = (job->width > job->height ? job->width : job->height) * job->samples;
    size_t size = MIN_SHADOW_SIZE;
    while (size < MAX_SHADOW_SIZE && size < 2 * pixels)
        size *= 2;
    return size;
}

/* 16 bits of depth resolve what it spans more finely than its pixels resolve its other sides. */
static bool make_shadow_map(mmd_gl_render_resources *resources, mmd_error *err)
{
    static const GLenum no_color = GL_NONE;
    size_t size = shadow_size(resources->job);
    make_framebuffer(&resources->shadow, size, size);
    mmd_gl1.GenTextures(1, &resources->shadow_texture);
    glActiveTexture(GL_TEXTURE0 + MMD_GL_SHADOW_UNIT);
    mmd_gl1.BindTexture(GL_TEXTURE_2D, resources->shadow_texture);
    mmd_gl1.TexImage2D(GL_TEXTURE_2D, 0, GL_DEPTH_COMPONENT16, resources->shadow.width,
                       resources->shadow.height, 0, GL_DEPTH_COMPONENT, GL_UNSIGNED_SHORT, NULL);
    const struct {
        GLenum name;
        GLint value;
    } parameters[] = {{GL_TEXTURE_MIN_FILTER, GL_LINEAR},
                      {GL_TEXTURE_MAG_FILTER, GL_LINEAR},
                      {GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE},
                      {GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE},
                      {GL_TEXTURE_COMPARE_MODE, GL_COMPARE_REF_TO_TEXTURE},
                      {GL_TEXTURE_COMPARE_FUNC, GL_LEQUAL}};
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        mmd_gl1.TexParameteri(GL_TEXTURE_2D, parameters[i].name, parameters[i].value);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D,
                           resources->shadow_texture, 0);
    glDrawBuffers(1, &no_color);
    return check_framebuffer(err);
}

static bool make_gbuffer(mmd_gl_render_resources *resources, mmd_error *err)
{
    static const GLenum formats[MMD_GL_GBUFFER_COUNT] = {GL_R32I, GL_R32F, GL_RGBA32F};
    const mmd_render_job *job = resources->job;
    const bool enabled[MMD_GL_GBUFFER_COUNT] = {job->triangle_buffer, job->depth_buffer,
                                                job->normal_buffer};
    GLenum attachments[MMD_GL_GBUFFER_COUNT];
    make_framebuffer(&resources->gbuffer, job->width, job->height);
    for (int i = 0; i < MMD_GL_GBUFFER_COUNT; i++) {
        attachments[i] = enabled[i] ? GL_COLOR_ATTACHMENT0 + (GLenum)i : GL_NONE;
        if (enabled[i])
            attach(&resources->gbuffer, i, attachments[i], formats[i]);
    }
    attach(&resources->gbuffer, MMD_GL_GBUFFER_COUNT, GL_DEPTH_ATTACHMENT, GL_DEPTH_COMPONENT32F);
    glDrawBuffers(MMD_GL_GBUFFER_COUNT, attachments);
    return check_framebuffer(err);
}

bool mmd_gl_render_resources_has_gbuffer(const mmd_render_job *job)
{
    return job->depth_buffer || job->normal_buffer || job->triangle_buffer;
}

bool mmd_gl_render_resources_has_shadow_map(const mmd_render_job *job)
{
    return job->image && job->look == MMD_LOOK_MMD && job->effects.self_shadow;
}

static bool check_limits(const mmd_render_job *job, mmd_error *err)
{
    GLint texels = 0;
    mmd_gl1.GetIntegerv(GL_MAX_TEXTURE_BUFFER_SIZE, &texels);
    size_t max = MAX_BUFFER_BYTES / 16 < (size_t)texels ? MAX_BUFFER_BYTES / 16 : (size_t)texels;
    if (job->vertex_count > max || 3 * job->triangle_count > max)
        return mmd_fail(err, MMD_E_BACKEND,
                        "OpenGL: %zu vertices and %zu triangle corners, the device supports %zu",
                        job->vertex_count, 3 * job->triangle_count, max);
    return true;
}

bool mmd_gl_render_resources_init(mmd_gl_render_resources *resources, mmd_error *err)
{
    const mmd_render_job *job = resources->job;
    if (!check_limits(job, err))
        return false;
    if (!make_attributes(resources, err))
        return false;
    make_buffer_texture(&resources->triangles_texture, MMD_GL_TRIANGLES_UNIT, GL_R32I,
                        resources->elements);
    make_buffer_texture(&resources->positions_texture, MMD_GL_POSITIONS_UNIT, GL_RGBA32F,
                        resources->buffers[MMD_GL_RENDER_POSITION]);
    return mmd_gl_check("upload of the mesh", err) && make_textures(resources, err) &&
           (!job->image || make_image_framebuffers(resources, err)) &&
           (!mmd_gl_render_resources_has_shadow_map(job) || make_shadow_map(resources, err)) &&
           (!mmd_gl_render_resources_has_gbuffer(job) || make_gbuffer(resources, err));
}

static void free_framebuffer(const mmd_gl_framebuffer *framebuffer)
{
    glDeleteFramebuffers(1, &framebuffer->name);
    glDeleteRenderbuffers(MMD_GL_ATTACHMENT_COUNT, framebuffer->renderbuffers);
}

void mmd_gl_render_resources_free(mmd_gl_render_resources *resources)
{
    glDeleteVertexArrays(1, &resources->vertex_array);
    glDeleteBuffers(MMD_GL_RENDER_ATTRIBUTE_COUNT, resources->buffers);
    glDeleteBuffers(1, &resources->elements);
    const GLuint textures[] = {resources->triangles_texture, resources->positions_texture,
                               resources->color_texture, resources->white_texture,
                               resources->shadow_texture};
    mmd_gl1.DeleteTextures(sizeof textures / sizeof *textures, textures);
    mmd_gl1.DeleteTextures(MMD_TOON_COUNT, resources->toons);
    if (resources->textures)
        mmd_gl1.DeleteTextures((GLsizei)resources->job->texture_count, resources->textures);
    free_framebuffer(&resources->samples);
    free_framebuffer(&resources->shadow);
    free_framebuffer(&resources->image);
    free_framebuffer(&resources->gbuffer);
    free(resources->textures);
}
