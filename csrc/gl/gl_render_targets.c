/* SPDX-License-Identifier: MIT */
/* Framebuffers, which a context keeps from job to job. */
#include "gl/gl_renderer.h"

#include "core/base/error.h"

enum { MIN_SHADOW_SIZE = 512, MAX_SHADOW_SIZE = 2048 }; /* pixels of a side of the depth map */

enum { KEPT_TARGET_BYTES = 128 << 20 }; /* of all framebuffers between jobs */

static void make_framebuffer(mmd_gl_framebuffer *out, size_t width, size_t height)
{
    out->width = (GLsizei)width;
    out->height = (GLsizei)height;
    glGenFramebuffers(1, &out->name);
    glBindFramebuffer(GL_FRAMEBUFFER, out->name);
    glGenRenderbuffers(MMD_GL_ATTACHMENT_COUNT, out->renderbuffers);
}

static void free_framebuffer(mmd_gl_framebuffer *framebuffer)
{
    if (!framebuffer->name)
        return;
    glDeleteFramebuffers(1, &framebuffer->name);
    glDeleteRenderbuffers(MMD_GL_ATTACHMENT_COUNT, framebuffer->renderbuffers);
    mmd_gl1.DeleteTextures(1, &framebuffer->texture);
    *framebuffer = (mmd_gl_framebuffer){0};
}

static void attach(mmd_gl_framebuffer *out, int index, GLenum attachment, GLenum format,
                   size_t pixel_bytes)
{
    glBindRenderbuffer(GL_RENDERBUFFER, out->renderbuffers[index]);
    glRenderbufferStorage(GL_RENDERBUFFER, format, out->width, out->height);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, attachment, GL_RENDERBUFFER,
                              out->renderbuffers[index]);
    out->pixel_bytes += pixel_bytes;
}

static void attach_depth(mmd_gl_framebuffer *out)
{
    attach(out, MMD_GL_GBUFFER_COUNT, GL_DEPTH_ATTACHMENT, GL_DEPTH_COMPONENT32F, 4);
}

/* Of a texture, which stays bound. */
static void attach_texture(mmd_gl_framebuffer *out, GLint format, GLenum components, GLenum type,
                           size_t pixel_bytes)
{
    mmd_gl1.GenTextures(1, &out->texture);
    mmd_gl1.BindTexture(GL_TEXTURE_2D, out->texture);
    mmd_gl1.TexImage2D(GL_TEXTURE_2D, 0, format, out->width, out->height, 0, components, type,
                       NULL);
    out->pixel_bytes += pixel_bytes;
}

static bool check_framebuffer(mmd_error *err)
{
    if (!mmd_gl_check("memory for the image", err))
        return false;
    GLenum status = glCheckFramebufferStatus(GL_FRAMEBUFFER);
    return status == GL_FRAMEBUFFER_COMPLETE ||
           mmd_gl_fail(err, "framebuffer status 0x%04x", status);
}

/* Whether the last job's framebuffer has these properties. Frees it if not. */
static bool is_kept(mmd_gl_framebuffer *framebuffer, size_t width, size_t height,
                    unsigned attachments)
{
    if (framebuffer->name && framebuffer->width == (GLsizei)width &&
        framebuffer->height == (GLsizei)height && framebuffer->attachments == attachments)
        return true;
    free_framebuffer(framebuffer);
    framebuffer->attachments = attachments;
    return false;
}

static bool make_samples(mmd_gl_framebuffer *out, const mmd_render_job *job, size_t rows,
                         mmd_error *err)
{
    size_t width = job->width * job->samples, height = rows * job->samples;
    if (is_kept(out, width, height, 0))
        return true;
    make_framebuffer(out, width, height);
    attach_texture(out, GL_RGBA16F, GL_RGBA, GL_FLOAT, 8);
    mmd_gl1.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, out->texture, 0);
    attach_depth(out);
    return check_framebuffer(err);
}

static bool make_image(mmd_gl_framebuffer *out, const mmd_render_job *job, size_t rows,
                       mmd_error *err)
{
    if (is_kept(out, job->width, rows, 0))
        return true;
    make_framebuffer(out, job->width, rows);
    attach(out, 0, GL_COLOR_ATTACHMENT0, GL_RGBA8, 4);
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
static bool make_shadow_map(mmd_gl_framebuffer *out, const mmd_render_job *job, mmd_error *err)
{
    static const GLenum no_color = GL_NONE;
    size_t size = shadow_size(job);
    if (is_kept(out, size, size, 0))
        return true;
    make_framebuffer(out, size, size);
    attach_texture(out, GL_DEPTH_COMPONENT16, GL_DEPTH_COMPONENT, GL_UNSIGNED_SHORT, 2);
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
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D, out->texture, 0);
    glDrawBuffers(1, &no_color);
    return check_framebuffer(err);
}

static bool make_gbuffer(mmd_gl_framebuffer *out, const mmd_render_job *job, size_t rows,
                         mmd_error *err)
{
    static const struct {
        GLenum format;
        size_t bytes;
    } formats[MMD_GL_GBUFFER_COUNT] = {{GL_R32I, 4}, {GL_R32F, 4}, {GL_RGBA32F, 16}};
    const bool enabled[MMD_GL_GBUFFER_COUNT] = {job->triangle_buffer, job->depth_buffer,
                                                job->normal_buffer};
    unsigned attachments = 0;
    for (int i = 0; i < MMD_GL_GBUFFER_COUNT; i++)
        attachments |= (unsigned)enabled[i] << i;
    if (is_kept(out, job->width, rows, attachments))
        return true;
    GLenum names[MMD_GL_GBUFFER_COUNT];
    make_framebuffer(out, job->width, rows);
    for (int i = 0; i < MMD_GL_GBUFFER_COUNT; i++) {
        names[i] = enabled[i] ? GL_COLOR_ATTACHMENT0 + (GLenum)i : GL_NONE;
        if (enabled[i])
            attach(out, i, names[i], formats[i].format, formats[i].bytes);
    }
    attach_depth(out);
    glDrawBuffers(MMD_GL_GBUFFER_COUNT, names);
    return check_framebuffer(err);
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
    size_t bands = context->software ? (job->height + max_rows - 1) / max_rows : 1;
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
    mmd_gl_render_targets *targets = context->render_targets;
    size_t rows = targets->rows = rows_of_bands(context, job);
    bool made = (!job->image || (make_samples(&targets->samples, job, rows, err) &&
                                 make_image(&targets->image, job, rows, err))) &&
                (!mmd_gl_render_targets_has_shadow_map(job) ||
                 make_shadow_map(&targets->shadow, job, err)) &&
                (!mmd_gl_render_targets_has_gbuffer(job) ||
                 make_gbuffer(&targets->gbuffer, job, rows, err));
    return made ? targets : NULL;
}

static size_t framebuffer_bytes(const mmd_gl_framebuffer *framebuffer)
{
    return (size_t)framebuffer->width * (size_t)framebuffer->height * framebuffer->pixel_bytes;
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
        bytes += framebuffer_bytes(all[i]);
    for (size_t i = 0; (!ok || bytes > KEPT_TARGET_BYTES) && i < sizeof all / sizeof *all; i++)
        free_framebuffer(all[i]);
}
