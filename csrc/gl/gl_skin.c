/* SPDX-License-Identifier: MIT */
/* Skins on the device, in passes that are read back while the next one is computed. */
#include "gl/gl.h"

#include "core/base/cpu.h"
#include "gl/gl_skin_pass.h"

#include <string.h>

enum {
    RING_SIZE = 2,              /* passes in flight: one is computed while the other is read back */
    PASS_BYTES = 8 << 20,       /* of output, unless a single frame is larger */
    CARD_PASS_BYTES = 16 << 20, /* each pass has to be submitted, and threads woken to read it */
    ALIGNED_BYTES = 256,        /* what any driver wants an output to begin at */
    COPY_VERTICES = 8192,       /* that a thread copies at once */
    STREAMED_BYTES = 16 << 20   /* of results that exceed the caches */
};

/* What the jobs in one context share. A device with its own memory skins to a buffer there and then
   copies it: the results would each cross the bus. */
struct mmd_gl_skin_ring {
    mmd_gl_readback slots[RING_SIZE]; /* the outputs of a pass */
    GLuint device_buffer;             /* unused by software renderers */
    size_t device_size;
};

/* Runs a job in passes of as many frames as the device's limits allow. */
typedef struct pass_runner {
    mmd_gl_skin_pass pass;
    mmd_arena arena; /* of its arrays */
    const mmd_gl_caller *caller;
    float *results[MMD_GL_SKIN_OUTPUTS]; /* the caller's memory; NULL: not computed */
    size_t widths[MMD_GL_SKIN_OUTPUTS];  /* floats per vertex; 0: not computed */
    size_t pass_frames;
    bool streams;
    size_t done; /* frames whose outputs are complete */
} pass_runner;

static bool plan_passes(pass_runner *r, mmd_error *err)
{
    const mmd_skin_job *job = r->pass.job;
    const mmd_mesh *mesh = job->mesh;
    float *const results[MMD_GL_SKIN_OUTPUTS] = {job->positions, job->normals, job->tangents};
    const size_t widths[MMD_GL_SKIN_OUTPUTS] = {3, 3, mesh->tangent_width};
    size_t frame_bytes = 0,
           pass_bytes = r->pass.context->device.software ? PASS_BYTES : CARD_PASS_BYTES;
    for (size_t i = 0; i < MMD_GL_SKIN_OUTPUTS; i++) {
        r->results[i] = results[i];
        r->widths[i] = results[i] ? widths[i] : 0;
        frame_bytes += mesh->vertex_count * r->widths[i] * sizeof(float);
    }
    size_t frames = frame_bytes < pass_bytes ? pass_bytes / frame_bytes : 1;
    frames = mmd_gl_skin_pass_max_frames(
        &r->pass, frames < job->frame_count ? frames : job->frame_count, err);
    if (frames == 0)
        return false;
    size_t passes = (job->frame_count + frames - 1) / frames;
    r->pass_frames = (job->frame_count + passes - 1) / passes; /* of about equal size */
    r->streams = MMD_STREAMS && frame_bytes * job->frame_count > STREAMED_BYTES;
    return (MMD_ARENA_ARRAY(&r->arena, r->pass.bones, r->pass_frames * mesh->bone_count) &&
            MMD_ARENA_ARRAY(&r->arena, r->pass.weights, r->pass_frames * mesh->morph_count)) ||
           mmd_fail_memory(err);
}

/* The outputs of a pass, one after the other. Returns their size. */
static size_t place_outputs(const pass_runner *r, GLuint buffer, size_t frames,
                            mmd_gl_skin_output out[MMD_GL_SKIN_OUTPUTS])
{
    size_t end = 0;
    for (size_t i = 0; i < MMD_GL_SKIN_OUTPUTS; i++) {
        size_t bytes = frames * r->pass.job->mesh->vertex_count * r->widths[i] * sizeof(float);
        out[i] = (mmd_gl_skin_output){bytes ? buffer : 0, end, bytes};
        end += (bytes + ALIGNED_BYTES - 1) / ALIGNED_BYTES * ALIGNED_BYTES;
    }
    return end;
}

static bool reserve_device_buffer(struct mmd_gl_skin_ring *ring, size_t size, mmd_error *err)
{
    if (size <= ring->device_size)
        return true;
    ring->device_size = 0;
    ring->device_buffer =
        mmd_gl_buffer_fill(GL_COPY_READ_BUFFER, ring->device_buffer, size, NULL, GL_DYNAMIC_COPY);
    if (!mmd_gl_check("output buffer", err))
        return false;
    ring->device_size = size;
    return true;
}

static bool submit_pass(pass_runner *r, mmd_gl_readback *slot, size_t first, size_t frames,
                        mmd_error *err)
{
    mmd_gl_context *context = r->pass.context;
    struct mmd_gl_skin_ring *ring = context->skin_ring;
    mmd_gl_skin_output outputs[MMD_GL_SKIN_OUTPUTS];
    size_t size = place_outputs(r, 0, r->pass_frames, outputs);
    if (!mmd_gl_readback_reserve(context, slot, size, err) ||
        (!context->device.software && !reserve_device_buffer(ring, size, err)))
        return false;
    GLuint buffer = context->device.software ? slot->buffer : ring->device_buffer;
    size = place_outputs(r, buffer, frames, outputs);
    if (!mmd_gl_skin_pass_run(&r->pass, first, frames, NULL, outputs, err))
        return false;
    if (!context->device.software) {
        glBindBuffer(GL_COPY_READ_BUFFER, buffer);
        glBindBuffer(GL_COPY_WRITE_BUFFER, slot->buffer);
        glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, 0, 0, (GLsizeiptr)size);
    }
    mmd_gl_readback_submit(slot);
    return mmd_gl_check("skinning", err);
}

/* Computes the directions of vertices that the device has marked, by their index in the results. */
static bool correct_imprecise(const mmd_skin_job *job, const float *marks, size_t width,
                              size_t first, size_t count, mmd_error *err)
{
    const mmd_mesh *mesh = job->mesh;
    size_t n = mesh->vertex_count, prepared = SIZE_MAX;
    MMD_ARENA_LOCAL mmd_arena arena = {0};
    mmd_skin_bone *bones = NULL;
    for (size_t i = first; i < first + count; i++, marks += width) {
        size_t frame = i / n;
        if (*marks != MMD_GL_IMPRECISE)
            continue;
        if (!bones && !MMD_ARENA_ARRAY(&arena, bones, mesh->bone_count))
            return mmd_fail_memory(err);
        if (prepared != frame)
            mmd_skin_input_bones(job, frame, bones);
        prepared = frame;
        mmd_skin_job one = mmd_skin_slice(job, frame, 1);
        const mmd_skin_input input = {.mesh = mesh,
                                      .method = job->method,
                                      .sdef_blend = job->sdef_blend,
                                      .correction = job->correction,
                                      .bones = bones,
                                      .normals = one.normals,
                                      .tangents = one.tangents};
        mmd_skin_scalar_directions(&input, i % n);
    }
    return true;
}

/* A pass that is read: `vertices` of the results, from `first` on. */
typedef struct pass_copy {
    const pass_runner *runner;
    const float *from[MMD_GL_SKIN_OUTPUTS];
    size_t first, vertices;
} pass_copy;

/* Copies blocks of COPY_VERTICES. */
static bool copy_blocks(void *arg, size_t worker, size_t first, size_t count, mmd_error *err)
{
    (void)worker;
    const pass_copy *copy = arg;
    const pass_runner *r = copy->runner;
    size_t begin = first * COPY_VERTICES, end = begin + count * COPY_VERTICES;
    end = end < copy->vertices ? end : copy->vertices;
    for (size_t i = 0; i < MMD_GL_SKIN_OUTPUTS; i++) {
        size_t width = r->widths[i], floats = (end - begin) * width;
        if (width == 0)
            continue;
        float *to = r->results[i] + (copy->first + begin) * width;
        const float *from = copy->from[i] + begin * width;
        r->streams ? mmd_stream(to, from, floats) : (void)memcpy(to, from, floats * sizeof *to);
    }
    mmd_stream_fence();
    size_t marked = r->widths[1] ? 1 : 2, width = r->widths[marked];
    return width == 0 || correct_imprecise(r->pass.job, copy->from[marked] + begin * width, width,
                                           copy->first + begin, end - begin, err);
}

static bool read_pass(const pass_runner *r, mmd_gl_readback *slot, size_t first, size_t frames,
                      mmd_error *err)
{
    size_t n = r->pass.job->mesh->vertex_count;
    pass_copy copy = {.runner = r, .first = first * n, .vertices = frames * n};
    mmd_gl_skin_output outputs[MMD_GL_SKIN_OUTPUTS];
    size_t bytes = place_outputs(r, 0, frames, outputs);
    const char *mapped = mmd_gl_readback_begin(r->pass.context, slot, bytes, err);
    if (!mapped || mmd_gl_context_is_lost(true, err))
        return false;
    for (size_t i = 0; i < MMD_GL_SKIN_OUTPUTS; i++)
        copy.from[i] = (const float *)(mapped + outputs[i].first);
    size_t blocks = (copy.vertices + COPY_VERTICES - 1) / COPY_VERTICES;
    bool copied = mmd_gl_caller_share(r->caller, blocks, bytes, copy_blocks, &copy, err);
    return mmd_gl_readback_end(slot, err) && copied;
}

static bool run_passes(pass_runner *r, mmd_error *err)
{
    size_t count = r->pass.job->frame_count, step = r->pass_frames;
    size_t passes = (count + step - 1) / step;
    mmd_gl_readback *ring = r->pass.context->skin_ring->slots;
    for (size_t pass = 0; pass <= passes; pass++) {
        size_t first = pass * step, frames = count - first < step ? count - first : step;
        if (mmd_gl_is_interrupted(r->pass.context, err))
            return false;
        if (pass < passes && !submit_pass(r, &ring[pass % RING_SIZE], first, frames, err))
            return false;
        if (pass == 0)
            continue;
        first -= step;
        frames = count - first < step ? count - first : step;
        if (!read_pass(r, &ring[(pass - 1) % RING_SIZE], first, frames, err))
            return false;
        r->done = first + frames;
    }
    return true;
}

static bool skin(mmd_gl_context *context, void *arg, mmd_error *err)
{
    pass_runner *r = arg;
    r->pass.context = context;
    if (r->pass.job->mesh->vertex_count == 0 || r->pass.job->frame_count == 0)
        return true;
    if (!MMD_GL_CONTEXT_KEEP(context, skin_ring, err) || !mmd_gl_skin_pass_begin(&r->pass, err))
        return false;
    bool ok = plan_passes(r, err) && run_passes(r, err);
    for (size_t i = 0; i < RING_SIZE && !mmd_gl_context_hangs(context); i++)
        mmd_gl_readback_cancel(&context->skin_ring->slots[i]);
    mmd_arena_free(&r->arena);
    return ok;
}

bool mmd_gl_skin(const mmd_skin_job *job, const mmd_gl_caller *caller, size_t *done, mmd_error *err)
{
    pass_runner runner = {.pass = {.job = job}, .caller = caller};
    bool ok = mmd_gl_thread_run(caller, skin, &runner, err);
    *done = runner.done;
    return ok;
}

/* Compiles a shader, too, as drivers that open a context may still refuse it. */
static bool read_device(mmd_gl_context *context, void *out, mmd_error *err)
{
    const mmd_gl_skin_variant plain = {{.kind = MMD_SKIN_LINEAR, .influences = 2, .normals = 1}};
    *(mmd_gl_device *)out = context->device;
    return mmd_gl_skin_program_get(context, plain, err);
}

bool mmd_gl_skin_device(const mmd_gl_caller *caller, mmd_gl_device *out, mmd_error *err)
{
    return mmd_gl_thread_run(caller, read_device, out, err);
}
