/* SPDX-License-Identifier: MIT */
/* Makes the vertex buffers of a render job, and finds its textures and framebuffers. */
#include "gl/gl_renderer.h"

#include "core/base/error.h"

#include <stdlib.h>
#include <string.h>

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

void mmd_gl_render_resources_upload(const mmd_gl_render_resources *resources,
                                    mmd_gl_render_attribute attribute, const float *values)
{
    size_t stride = attribute_stride(resources->job, attribute);
    size_t bytes = resources->job->vertex_count * stride * sizeof *values;
    upload(GL_ARRAY_BUFFER, resources->buffers[attribute], values ? bytes : 0, values);
}

/* Attributes that the job lacks are constant. */
static void make_attributes(mmd_gl_render_resources *resources)
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
    upload(GL_ELEMENT_ARRAY_BUFFER, resources->elements,
           3 * job->triangle_count * sizeof *job->triangles, job->triangles);
    mmd_gl_render_resources_upload(resources, MMD_GL_RENDER_POSITION, NULL);
    mmd_gl_render_resources_upload(resources, MMD_GL_RENDER_EDGE_SCALE, job->edge_scales);
}

static void make_buffer_texture(GLuint *texture, GLenum unit, GLenum format, GLuint buffer)
{
    mmd_gl1.GenTextures(1, texture);
    glActiveTexture(GL_TEXTURE0 + unit);
    mmd_gl1.BindTexture(GL_TEXTURE_BUFFER, *texture);
    glTexBuffer(GL_TEXTURE_BUFFER, format, buffer);
}

static bool find_shared_toons(mmd_gl_render_resources *resources, mmd_error *err)
{
    const mmd_render_job *job = resources->job;
    for (size_t i = 0; job->look == MMD_LOOK_MMD && i < job->material_count; i++) {
        int32_t toon = job->materials[i].shared_toon;
        if (toon < 0 || resources->toons[toon])
            continue;
        size_t rows = job->effects.toon_rows;
        mmd_render_texture image = {1, rows, job->effects.toons + 4 * rows * (size_t)toon, {0}};
        resources->toons[toon] =
            mmd_gl_texture_cache_get(resources->context, job->look, &image, err);
        if (!resources->toons[toon])
            return false;
    }
    return true;
}

static bool check_texture(const mmd_render_texture *image, mmd_error *err)
{
    GLint max = 0;
    mmd_gl1.GetIntegerv(GL_MAX_TEXTURE_SIZE, &max);
    return (image->width <= (size_t)max && image->height <= (size_t)max) ||
           mmd_refuse(err, "textures: one has %zu x %zu pixels, the device supports %d x %d",
                      image->width, image->height, (int)max, (int)max);
}

static bool find_digests(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    (void)worker, (void)err;
    mmd_render_texture *textures = arg;
    for (size_t i = first; i < first + count; i++)
        mmd_gl_texture_cache_digest(&textures[i]);
    return true;
}

/* Those of the job. */
static bool find_images(mmd_gl_render_resources *resources, mmd_error *err)
{
    const mmd_render_job *job = resources->job;
    size_t bytes = 0;
    bool found = true;
    for (size_t i = 0; found && i < job->texture_count; i++) {
        found = check_texture(&job->textures[i], err);
        bytes += 4 * job->textures[i].width * job->textures[i].height;
    }
    found = found && mmd_gl_caller_share(resources->caller, job->texture_count, bytes, find_digests,
                                         job->textures, err);
    for (size_t i = 0; found && i < job->texture_count; i++) {
        if (mmd_gl_is_interrupted(resources->context, err))
            return false;
        resources->textures[i] =
            mmd_gl_texture_cache_get(resources->context, job->look, &job->textures[i], err);
        found = resources->textures[i] != 0;
    }
    return found;
}

static bool find_textures(mmd_gl_render_resources *resources, mmd_error *err)
{
    static const uint8_t white[] = {255, 255, 255, 255};
    const mmd_render_job *job = resources->job;
    resources->textures = calloc(job->texture_count + 1, sizeof *resources->textures);
    if (!resources->textures)
        return mmd_fail_memory(err);
    if (!mmd_gl_texture_cache_begin(resources->context, err))
        return false;
    glActiveTexture(GL_TEXTURE0 + MMD_GL_TEXTURE_UNIT);
    mmd_render_texture image = {1, 1, white, {0}};
    resources->white_texture = mmd_gl_texture_cache_get(resources->context, job->look, &image, err);
    return resources->white_texture && find_images(resources, err) &&
           find_shared_toons(resources, err) && mmd_gl_check("textures", err);
}

static bool check_limits(const mmd_render_job *job, mmd_error *err)
{
    GLint texels = 0;
    mmd_gl1.GetIntegerv(GL_MAX_TEXTURE_BUFFER_SIZE, &texels);
    size_t max = MAX_BUFFER_BYTES / 16 < (size_t)texels ? MAX_BUFFER_BYTES / 16 : (size_t)texels;
    if (job->vertex_count > max || 3 * job->triangle_count > max)
        return mmd_gl_fail(err, "%zu vertices and %zu triangle corners, the device supports %zu",
                           job->vertex_count, 3 * job->triangle_count, max);
    return true;
}

bool mmd_gl_render_resources_init(mmd_gl_render_resources *resources, mmd_error *err)
{
    const mmd_render_job *job = resources->job;
    if (!check_limits(job, err))
        return false;
    make_attributes(resources);
    make_buffer_texture(&resources->triangles_texture, MMD_GL_TRIANGLES_UNIT, GL_R32I,
                        resources->elements);
    make_buffer_texture(&resources->positions_texture, MMD_GL_POSITIONS_UNIT, GL_RGBA32F,
                        resources->buffers[MMD_GL_RENDER_POSITION]);
    if (!mmd_gl_check("upload of the mesh", err) || !find_textures(resources, err))
        return false;
    resources->targets = mmd_gl_render_targets_get(resources->context, job, err);
    return resources->targets != NULL;
}

void mmd_gl_render_resources_free(mmd_gl_render_resources *resources, bool ok)
{
    glDeleteVertexArrays(1, &resources->vertex_array);
    glDeleteBuffers(MMD_GL_RENDER_ATTRIBUTE_COUNT, resources->buffers);
    glDeleteBuffers(1, &resources->elements);
    const GLuint textures[] = {resources->triangles_texture, resources->positions_texture};
    mmd_gl1.DeleteTextures(sizeof textures / sizeof *textures, textures);
    mmd_gl_texture_cache_release(resources->context, ok);
    mmd_gl_render_targets_release(resources->context, ok);
    free(resources->textures);
}
