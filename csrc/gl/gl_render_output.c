/* SPDX-License-Identifier: MIT */
/* Reads pixels: into buffers while the next frame is drawn, or directly where that brings nothing:
   software renderers finish a frame before they copy it, and buffers would be one more copy. */
#include "gl/gl_renderer.h"

#include "core/base/error.h"

#include <string.h>

enum {
    RING_SIZE = 3,         /* frames in flight: two wait or are drawn while one is read */
    COPY_BYTES = 1 << 18,  /* that a thread copies at once */
    MAX_BYTES = 64 << 20,  /* of a frame; larger ones are read directly, as buffers would double */
    KEPT_BYTES = 16 << 20, /* of a buffer that is kept for the next job */
    OUTPUTS = MMD_GL_GBUFFER_COUNT + 1 /* and the image */
};

typedef struct frame_results {
    mmd_gl_readback pixels; /* all outputs, one after the other */
    size_t frame;
} frame_results;

/* What the jobs in one context share. */
struct mmd_gl_render_ring {
    frame_results slots[RING_SIZE];
};

/* Pixels of a frame and where they go. */
typedef struct pixels {
    const mmd_gl_framebuffer *from;
    GLenum attachment, format, type;
    void *to;
    size_t bytes;
} pixels;

/* The outputs of a frame; `bytes`: of all. */
static size_t list_pixels(const mmd_gl_renderer *r, size_t frame, pixels out[OUTPUTS],
                          size_t *bytes)
{
    const mmd_gl_render_targets *targets = r->targets;
    mmd_render_job job = mmd_render_slice(r->job, frame, 1);
    const pixels all[OUTPUTS] = {
        {&targets->image, 0, GL_RGBA, GL_UNSIGNED_BYTE, job.image, 4},
        {&targets->gbuffer, MMD_GL_GBUFFER_TRIANGLE, GL_RED_INTEGER, GL_INT, job.triangle_buffer,
         4},
        {&targets->gbuffer, MMD_GL_GBUFFER_DEPTH, GL_RED, GL_FLOAT, job.depth_buffer, 4},
        {&targets->gbuffer, MMD_GL_GBUFFER_NORMAL, GL_RGB, GL_FLOAT, job.normal_buffer, 12}};
    size_t count = 0;
    *bytes = 0;
    for (size_t i = 0; i < OUTPUTS; i++) {
        if (!all[i].to)
            continue;
        out[count] = all[i];
        out[count].bytes = all[i].bytes * job.width * job.height;
        *bytes += out[count++].bytes;
    }
    return count;
}

/* Rows of a band, to memory or to an offset in the buffer that is bound. */
static void read_pixels(const pixels *one, size_t rows, void *to)
{
    glBindFramebuffer(GL_FRAMEBUFFER, one->from->name);
    mmd_gl1.ReadBuffer(GL_COLOR_ATTACHMENT0 + one->attachment);
    mmd_gl1.ReadPixels(0, 0, one->from->width, (GLsizei)rows, one->format, one->type, to);
}

typedef struct copied {
    char *to;
    const char *from;
    size_t bytes;
} copied;

/* Copies blocks of COPY_BYTES. */
static bool copy_blocks(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    (void)worker, (void)err;
    const copied *copy = arg;
    size_t begin = first * COPY_BYTES, end = begin + count * COPY_BYTES;
    end = end < copy->bytes ? end : copy->bytes;
    memcpy(copy->to + begin, copy->from + begin, end - begin);
    return true;
}

static bool collect(const mmd_gl_renderer *r, frame_results *slot, mmd_error *err)
{
    if (!slot->pixels.fence)
        return true;
    pixels list[OUTPUTS];
    size_t bytes, count = list_pixels(r, slot->frame, list, &bytes);
    const char *from = mmd_gl_readback_begin(r->context, &slot->pixels, bytes, err);
    if (!from)
        return false;
    bool ok = true;
    for (size_t i = 0; i < count; from += list[i++].bytes) {
        copied copy = {list[i].to, from, list[i].bytes};
        size_t blocks = (copy.bytes + COPY_BYTES - 1) / COPY_BYTES;
        ok &= mmd_gl_caller_share(r->caller, blocks, copy.bytes, copy_blocks, &copy, err);
    }
    return mmd_gl_readback_end(&slot->pixels, err) && ok;
}

static bool submit(const mmd_gl_renderer *r, frame_results *slot, mmd_error *err)
{
    pixels list[OUTPUTS];
    size_t bytes, count = list_pixels(r, r->frame, list, &bytes), offset = 0;
    if (!collect(r, slot, err) || !mmd_gl_readback_reserve(r->context, &slot->pixels, bytes, err))
        return false;
    glBindBuffer(GL_PIXEL_PACK_BUFFER, slot->pixels.buffer);
    for (size_t i = 0; i < count; offset += list[i++].bytes)
        read_pixels(&list[i], r->rows, (void *)(uintptr_t)offset);
    glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
    slot->frame = r->frame;
    mmd_gl_readback_submit(&slot->pixels);
    return mmd_gl_check("drawing", err);
}

/* Reading pixels would wait, too, but without a limit. */
static bool read_directly(const mmd_gl_renderer *r, const pixels *list, size_t count,
                          mmd_error *err)
{
    if (!mmd_gl_fence_finish(r->context, err))
        return false;
    size_t height = r->job->height;
    for (size_t i = 0; i < count; i++)
        read_pixels(&list[i], r->rows, (char *)list[i].to + list[i].bytes / height * r->first_row);
    return mmd_gl_check("drawing", err);
}

bool mmd_gl_render_output_take(const mmd_gl_renderer *r, mmd_error *err)
{
    pixels list[OUTPUTS];
    size_t bytes, count = list_pixels(r, r->frame, list, &bytes);
    if (r->context->device.software || bytes > MAX_BYTES)
        return read_directly(r, list, count, err);
    return MMD_GL_CONTEXT_KEEP(r->context, render_ring, err) &&
           submit(r, &r->context->render_ring->slots[r->frame % RING_SIZE], err);
}

bool mmd_gl_render_output_finish(const mmd_gl_renderer *r, bool ok, mmd_error *err)
{
    struct mmd_gl_render_ring *ring = r->context->render_ring;
    for (size_t i = 0; ring && i < RING_SIZE; i++) {
        frame_results *slot = &ring->slots[i];
        ok = ok && collect(r, slot, err);
        if (mmd_gl_context_hangs(r->context)) /* the device may still write to the buffers */
            return false;
        mmd_gl_readback_cancel(&slot->pixels);
        if (slot->pixels.size > KEPT_BYTES)
            mmd_gl_readback_free(&slot->pixels);
    }
    return ok;
}
