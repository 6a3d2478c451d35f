/* SPDX-License-Identifier: MIT */
/* Framebuffers, which a context keeps from job to job. */
#include "gl/gl_renderer.h"

#include "core/base/error.h"

#include <string.h>

enum { MIN_SHADOW_SIZE = 512, MAX_SHADOW_SIZE = 2048 }; /* pixels of a side of the depth map */

enum { KEPT_TARGET_BYTES = 128 << 20 }; /* of all framebuffers between jobs */

static void free_framebuffer(mmd_gl_framebuffer *framebuffer)
{
    if (!framebuffer->name)
        return;
    glDeleteFramebuffers(1, &framebuffer->name);
    mmd_gl1.DeleteTextures(MMD_GL_ATTACHMENT_COUNT, framebuffer->textures);
    *framebuffer = (mmd_gl_framebuffer){0};
}

static size_t pixel_bytes(GLenum format)
{
    return format == GL_RGBA32F ? 16 : format == GL_RGBA16F ? 8 : format ? 4 : 0;
}

/* Makes a framebuffer, unless it is that of the last job with the same properties. */
static bool make(mmd_gl_framebuffer *out, size_t width, size_t height,
                 const GLenum formats[MMD_GL_ATTACHMENT_COUNT], mmd_error *err)
{
    if (out->name && out->width == (GLsizei)width && out->height == (GLsizei)height &&
        memcmp(out->formats, formats, sizeof out->formats) == 0)
        return true;
    free_framebuffer(out);
    out->width = (GLsizei)width;
    out->height = (GLsizei)height;
    memcpy(out->formats, formats, sizeof out->formats);
    glGenFramebuffers(1, &out->name);
    glBindFramebuffer(GL_FRAMEBUFFER, out->name);
    mmd_gl1.GenTextures(MMD_GL_ATTACHMENT_COUNT, out->textures);
    GLenum drawn[MMD_GL_ATTACHMENT_COUNT];
    for (GLenum i = 0; i < MMD_GL_ATTACHMENT_COUNT; i++) {
        GLenum point =
            i == MMD_GL_DEPTH_ATTACHMENT ? GL_DEPTH_ATTACHMENT : GL_COLOR_ATTACHMENT0 + i;
        drawn[i] = formats[i] ? point : GL_NONE;
        if (!formats[i])
            continue;
        mmd_gl1.BindTexture(GL_TEXTURE_2D, out->textures[i]);
        glTexStorage2D(GL_TEXTURE_2D, 1, formats[i], out->width, out->height);
        glFramebufferTexture(GL_FRAMEBUFFER, point, out->textures[i], 0);
    }
    glDrawBuffers(MMD_GL_GBUFFER_COUNT, drawn);
    if (!mmd_gl_check("memory for the image", err))
        return false;
    GLenum status = glCheckFramebufferStatus(GL_FRAMEBUFFER);
    return status == GL_FRAMEBUFFER_COMPLETE ||
           mmd_gl_fail(err, "framebuffer status 0x%04x", status);
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
static bool make_shadow_map(mmd_gl_framebuffer *out, const mmd_render_job *job, mmd_error *err)
{
    static const GLenum formats[] = {0, 0, 0, GL_DEPTH_COMPONENT16};
    static const struct {
        GLenum name;
        GLint value;
    } parameters[] = {{GL_TEXTURE_MIN_FILTER, GL_LINEAR},
                      {GL_TEXTURE_MAG_FILTER, GL_LINEAR},
                      {GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE},
                      {GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE},
                      {GL_TEXTURE_COMPARE_MODE, GL_COMPARE_REF_TO_TEXTURE},
                      {GL_TEXTURE_COMPARE_FUNC, GL_LEQUAL}};
    size_t size = shadow_size(job);
    if (!make(out, size, size, formats, err))
        return false;
    mmd_gl1.BindTexture(GL_TEXTURE_2D, out->textures[MMD_GL_DEPTH_ATTACHMENT]);
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        mmd_gl1.TexParameteri(GL_TEXTURE_2D, parameters[i].name, parameters[i].value);
    return true;
}

/* Bands take some hundredths of a second and are about equal. Each draws all triangles, which
   should not matter. */
static size_t rows_of_bands(const mmd_gl_context *context, const mmd_render_job *job)
{
    enum { BAND_SAMPLES = 1 << 21, SAMPLES_PER_TRIANGLE = 64 };
    size_t samples = SAMPLES_PER_TRIANGLE * job->triangle_count;
    if (samples < BAND_SAMPLES)
        samples = BAND_SAMPLES;
    size_t max_rows = samples / (job->width * job->samples * job->samples) + 1;
    size_t bands = context->device.software ? (job->height + max_rows - 1) / max_rows : 1;
    return (job->height + bands - 1) / bands;
}

bool mmd_gl_render_targets_has_gbuffer(const mmd_render_job *job)
{
    return job->depth_buffer || job->normal_buffer || job->triangle_buffer;
}

bool mmd_gl_render_targets_has_shadow_map(const mmd_render_job *job)
{
    return job->image && job->look == MMD_LOOK_MMD && job->effects.self_shadow;
}

const mmd_gl_render_targets *mmd_gl_render_targets_get(mmd_gl_context *context,
                                                       const mmd_render_job *job, mmd_error *err)
{
    if (!MMD_GL_CONTEXT_KEEP(context, render_targets, err))
        return NULL;
    static const GLenum samples[] = {GL_RGBA16F, 0, 0, GL_DEPTH_COMPONENT32F};
    static const GLenum image[MMD_GL_ATTACHMENT_COUNT] = {GL_RGBA8};
    const GLenum gbuffer[] = {job->triangle_buffer ? GL_R32I : 0, job->depth_buffer ? GL_R32F : 0,
                              job->normal_buffer ? GL_RGBA32F : 0, GL_DEPTH_COMPONENT32F};
    mmd_gl_render_targets *targets = context->render_targets;
    size_t width = job->width, rows = targets->rows = rows_of_bands(context, job);
    bool made = (!job->image || (make(&targets->samples, width * job->samples, rows * job->samples,
                                      samples, err) &&
                                 make(&targets->image, width, rows, image, err))) &&
                (!mmd_gl_render_targets_has_shadow_map(job) ||
                 make_shadow_map(&targets->shadow, job, err)) &&
                (!mmd_gl_render_targets_has_gbuffer(job) ||
                 make(&targets->gbuffer, width, rows, gbuffer, err));
    return made ? targets : NULL;
}

void mmd_gl_render_targets_release(mmd_gl_context *context, bool ok)
{
    mmd_gl_render_targets *targets = context->render_targets;
    if (!targets)
        return;
    mmd_gl_framebuffer *all[] = {&targets->samples, &targets->shadow, &targets->image,
                                 &targets->gbuffer};
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int k = 0; k < MMD_GL_ATTACHMENT_COUNT; k++)
            bytes +=
                (size_t)all[i]->width * (size_t)all[i]->height * pixel_bytes(all[i]->formats[k]);
    for (size_t i = 0; (!ok || bytes > KEPT_TARGET_BYTES) && i < sizeof all / sizeof *all; i++)
        free_framebuffer(all[i]);
}
