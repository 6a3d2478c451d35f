/* SPDX-License-Identifier: MIT */
/* Skins by transform feedback, in passes that are read back while the next one is computed. */
#include "gl/gl_skin.h"

#include "core/skin/skin_scalar.h"
#include "gl/gl_fence.h"
#include "gl/gl_program.h"
#include "gl/gl_readback.h"
#include "gl/gl_skin_pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RING_SIZE = 2,              /* passes in flight: one is computed while the other is read back */
    PASS_BYTES = 8 << 20,       /* of output, unless a single frame is larger */
    MAX_BUFFER_BYTES = 1 << 30, /* the largest output buffer that any driver is asked for */
};

/* Where a pass leaves its outputs. */
typedef struct pass_results {
    mmd_gl_readback outputs[MMD_GL_SKIN_OUTPUTS];
    GLsync fence; /* signaled when the submitted pass is done; NULL: none is in flight */
} pass_results;

/* A buffer in the memory of the device. */
typedef struct capture_buffer {
    GLuint name;
    size_t size;
} capture_buffer;

/* What the jobs in one context share. A device with its own memory captures there and then copies:
   it writes outputs in pieces, which would each cross the bus. */
struct mmd_gl_skin_ring {
    pass_results slots[RING_SIZE];
    capture_buffer captures[MMD_GL_SKIN_OUTPUTS]; /* unused by software renderers */
};

typedef struct output {
    float *memory; /* the caller's */
    size_t width;  /* floats per vertex */
} output;

/* Runs a job in passes of as many frames as the device's limits allow. */
typedef struct pass_runner {
    mmd_gl_skin_pass pass;
    output outputs[MMD_GL_SKIN_OUTPUTS];
    GLuint output_count;
    size_t pass_frames;
    size_t done; /* frames whose outputs are complete */
} pass_runner;

static bool make_ring(mmd_gl_context *context, mmd_error *err)
{
    if (context->skin_ring)
        return true;
    struct mmd_gl_skin_ring *made = mmd_arena_alloc(&context->arena, 1, sizeof *made);
    if (!made)
        return mmd_fail_memory(err);
    context->skin_ring = made;
    return true;
}

static void list_outputs(pass_runner *r)
{
    const mmd_skin_job *job = r->pass.job;
    r->outputs[r->output_count++] = (output){job->positions, 3};
    if (job->normals)
        r->outputs[r->output_count++] = (output){job->normals, 3};
    if (job->tangents)
        r->outputs[r->output_count++] = (output){job->tangents, job->mesh->tangent_width};
}

/* At most as many frames as fit. */
static size_t limit_frames(size_t frames, size_t capacity, size_t frame_size)
{
    return frame_size == 0 || capacity / frame_size >= frames ? frames : capacity / frame_size;
}

/* OpenGL guarantees four components per captured output, and many devices have no more. */
static size_t max_instance_frames(const pass_runner *r)
{
    GLint components = 0;
    mmd_gl1.GetIntegerv(GL_MAX_TRANSFORM_FEEDBACK_SEPARATE_COMPONENTS, &components);
    for (GLuint i = 0; i < r->output_count; i++)
        if (components < (GLint)(MMD_GL_INSTANCE_FRAMES * r->outputs[i].width))
            return 1;
    return MMD_GL_INSTANCE_FRAMES;
}

static bool plan_passes(pass_runner *r, mmd_error *err)
{
    const mmd_skin_job *job = r->pass.job;
    size_t texels = job->mesh->bone_count * MMD_GL_BONE_TEXELS, morphs = job->mesh->morph_count;
    GLint limit = 0;
    mmd_gl1.GetIntegerv(GL_MAX_TEXTURE_BUFFER_SIZE, &limit);
    if (texels > (size_t)limit || morphs > (size_t)limit)
        return mmd_fail(err, MMD_E_BACKEND,
                        "OpenGL: %zu bones and %zu morphs, the device supports %d texels",
                        job->mesh->bone_count, morphs, (int)limit);
    size_t vertices = job->mesh->vertex_count, floats = 0;
    for (GLuint i = 0; i < r->output_count; i++)
        floats += r->outputs[i].width;
    if (vertices > MAX_BUFFER_BYTES / 16)
        return mmd_fail(err, MMD_E_BACKEND, "OpenGL: %zu vertices, limit %d", vertices,
                        MAX_BUFFER_BYTES / 16);

    size_t frames = limit_frames(job->frame_count, PASS_BYTES, vertices * floats * sizeof(float));
    if (job->matrix_frames > 1)
        frames = limit_frames(frames, (size_t)limit, texels);
    if (job->morph_weight_frames > 1)
        frames = limit_frames(frames, (size_t)limit, morphs);
    size_t step = frames < MMD_GL_INSTANCE_FRAMES ? 1 : max_instance_frames(r);
    frames = frames ? frames / step * step : 1;
    size_t passes = (job->frame_count + frames - 1) / frames;
    r->pass.instance_frames = step;
    /* Passes of about equal size. */
    r->pass_frames =
        mmd_gl_skin_pass_stored_frames(&r->pass, (job->frame_count + passes - 1) / passes);
    r->pass.bones = calloc(r->pass_frames * job->mesh->bone_count + 1, sizeof *r->pass.bones);
    r->pass.weights = calloc(r->pass_frames * morphs + 1, sizeof *r->pass.weights);
    return (r->pass.bones && r->pass.weights) || mmd_fail_memory(err);
}

static size_t output_bytes(const pass_runner *r, GLuint index, size_t frames)
{
    size_t vertices =
        mmd_gl_skin_pass_stored_frames(&r->pass, frames) * r->pass.job->mesh->vertex_count;
    return vertices * r->outputs[index].width * sizeof(float);
}

static bool captures_apart(const pass_runner *r)
{
    return !r->pass.context->software;
}

static bool reserve_capture(capture_buffer *capture, size_t bytes, mmd_error *err)
{
    if (bytes <= capture->size)
        return true;
    if (!capture->name)
        glGenBuffers(1, &capture->name);
    capture->size = 0;
    glBindBuffer(GL_TRANSFORM_FEEDBACK_BUFFER, capture->name);
    glBufferData(GL_TRANSFORM_FEEDBACK_BUFFER, (GLsizeiptr)bytes, NULL, GL_DYNAMIC_COPY);
    if (!mmd_gl_check("output buffer", err))
        return false;
    capture->size = bytes;
    return true;
}

/* The buffers that capture a pass. */
static bool reserve_outputs(const pass_runner *r, pass_results *slot,
                            GLuint captured[MMD_GL_SKIN_OUTPUTS], mmd_error *err)
{
    mmd_gl_context *context = r->pass.context;
    for (GLuint i = 0; i < r->output_count; i++) {
        size_t bytes = output_bytes(r, i, r->pass_frames);
        capture_buffer *capture = &context->skin_ring->captures[i];
        if (!mmd_gl_readback_reserve(context, &slot->outputs[i], bytes, err) ||
            (captures_apart(r) && !reserve_capture(capture, bytes, err)))
            return false;
        captured[i] = captures_apart(r) ? capture->name : slot->outputs[i].buffer;
    }
    return true;
}

static void copy_captured(const pass_runner *r, const pass_results *slot,
                          const GLuint captured[MMD_GL_SKIN_OUTPUTS], size_t frames)
{
    for (GLuint i = 0; captures_apart(r) && i < r->output_count; i++) {
        glBindBuffer(GL_COPY_READ_BUFFER, captured[i]);
        glBindBuffer(GL_COPY_WRITE_BUFFER, slot->outputs[i].buffer);
        glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, 0, 0,
                            (GLsizeiptr)output_bytes(r, i, frames));
    }
}

static bool submit_pass(pass_runner *r, pass_results *slot, size_t first, size_t frames,
                        mmd_error *err)
{
    GLuint captured[MMD_GL_SKIN_OUTPUTS];
    if (!reserve_outputs(r, slot, captured, err))
        return false;
    mmd_gl_skin_pass_upload(&r->pass, first, frames);
    if (!mmd_gl_skin_pass_draw(&r->pass, frames, captured, err))
        return false;
    copy_captured(r, slot, captured, frames);
    slot->fence = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    mmd_gl1.Flush();
    return mmd_gl_check("transform feedback", err);
}

static void delete_fence(pass_results *slot)
{
    glDeleteSync(slot->fence);
    slot->fence = NULL;
}

/* Mapping the buffers would wait, too, but with some drivers for all passes that were submitted. */
static bool wait_for_pass(mmd_gl_context *context, pass_results *slot, mmd_error *err)
{
    if (!mmd_gl_fence_wait(context, slot->fence, err))
        return false;
    delete_fence(slot);
    return true;
}

static void copy_frame(const mmd_gl_draw_range *range, const mmd_gl_vertex_range *ranges,
                       size_t width, const float *from, float *frame)
{
    for (size_t i = range->first_range; i < range->first_range + range->range_count; i++) {
        size_t floats = ranges[i].length * width;
        memcpy(frame + ranges[i].target * width, from, floats * sizeof(float));
        from += floats;
    }
}

/* Copies the first `frames` of an instance of several frames, which are `stride` floats apart. */
static inline void copy_interleaved_frames(const mmd_gl_draw_range *range,
                                           const mmd_gl_vertex_range *ranges, size_t width,
                                           const float *from, float *first, size_t frames,
                                           size_t stride)
{
    for (size_t i = range->first_range; i < range->first_range + range->range_count; i++) {
        float *to = first + ranges[i].target * width;
        for (size_t v = 0; v < ranges[i].length;
             v++, to += width, from += MMD_GL_INSTANCE_FRAMES * width)
            for (size_t f = 0; f < frames; f++)
                memcpy(to + f * stride, from + f * width, width * sizeof(float));
    }
}

static void read_instance(const pass_runner *r, const mmd_gl_draw_range *range, size_t width,
                          const float *from, float *first, size_t frames)
{
    const mmd_gl_vertex_range *ranges = r->pass.mesh->ranges;
    size_t stride = r->pass.job->mesh->vertex_count * width;
    if (r->pass.instance_frames == 1)
        copy_frame(range, ranges, width, from, first);
    else if (width == 3) /* a constant for the compiler */
        copy_interleaved_frames(range, ranges, 3, from, first, frames, stride);
    else
        copy_interleaved_frames(range, ranges, 4, from, first, frames, stride);
}

static bool is_imprecise(const mmd_skin_job *job, size_t vertex)
{
    return job->normals ? job->normals[3 * vertex] == MMD_GL_IMPRECISE
                        : job->tangents[job->mesh->tangent_width * vertex] == MMD_GL_IMPRECISE;
}

static bool correct_imprecise(const mmd_skin_job *job, size_t first, size_t frames, mmd_error *err)
{
    const mmd_mesh *mesh = job->mesh;
    size_t n = mesh->vertex_count;
    mmd_skin_bone *bones = NULL;
    for (size_t f = first; f < first + frames; f++) {
        bool prepared = false;
        for (size_t v = 0; v < n; v++) {
            if (!is_imprecise(job, f * n + v))
                continue;
            if (!bones)
                bones = malloc(mesh->bone_count * sizeof *bones + 1);
            if (!bones)
                return mmd_fail_memory(err);
            if (!prepared)
                mmd_skin_input_bones(job, f, bones);
            prepared = true;
            const mmd_skin_input input = {
                .mesh = mesh,
                .method = job->method,
                .sdef_blend = job->sdef_blend,
                .correction = job->correction,
                .bones = bones,
                .normals = job->normals ? job->normals + 3 * f * n : NULL,
                .tangents = job->tangents ? job->tangents + mesh->tangent_width * f * n : NULL};
            mmd_skin_scalar_directions(&input, v);
        }
    }
    free(bones);
    return true;
}

static bool map_outputs(const pass_runner *r, const pass_results *slot, size_t frames,
                        const float *mapped[MMD_GL_SKIN_OUTPUTS], mmd_error *err)
{
    for (GLuint i = 0; i < r->output_count; i++) {
        mapped[i] = mmd_gl_readback_begin(&slot->outputs[i], output_bytes(r, i, frames), err);
        if (mapped[i])
            continue;
        while (i-- > 0)
            mmd_gl_readback_end(&slot->outputs[i]);
        return false;
    }
    return true;
}

/* Maps all outputs before it writes to the caller's memory. */
static bool read_pass(const pass_runner *r, pass_results *slot, size_t first, size_t frames,
                      mmd_error *err)
{
    const float *mapped[MMD_GL_SKIN_OUTPUTS];
    size_t vertices = r->pass.job->mesh->vertex_count, step = r->pass.instance_frames;
    size_t stored_frames = mmd_gl_skin_pass_stored_frames(&r->pass, frames);
    if (!wait_for_pass(r->pass.context, slot, err) || mmd_gl_context_is_lost(true, err) ||
        !map_outputs(r, slot, frames, mapped, err))
        return false;
    bool intact = true;
    for (GLuint i = 0; i < r->output_count; i++) {
        const output *out = &r->outputs[i];
        for (size_t b = 0; b < r->pass.mesh->draw_range_count; b++) {
            const mmd_gl_draw_range *range = &r->pass.mesh->draw_ranges[b];
            const float *from = mapped[i] + stored_frames * range->first * out->width;
            for (size_t f = 0; f < frames; f += step)
                read_instance(r, range, out->width, from + f * range->vertex_count * out->width,
                              out->memory + (first + f) * vertices * out->width,
                              frames - f < step ? frames - f : step);
        }
        intact &= mmd_gl_readback_end(&slot->outputs[i]);
    }
    if (!intact)
        return mmd_fail(err, MMD_E_BACKEND, "OpenGL: the results were lost while they were read");
    return (!r->pass.job->normals && !r->pass.job->tangents) ||
           correct_imprecise(r->pass.job, first, frames, err);
}

static bool run_passes(pass_runner *r, mmd_error *err)
{
    size_t count = r->pass.job->frame_count, step = r->pass_frames;
    size_t passes = (count + step - 1) / step;
    pass_results *ring = r->pass.context->skin_ring->slots;
    for (size_t pass = 0; pass <= passes; pass++) {
        size_t first = pass * step, frames = count - first < step ? count - first : step;
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

typedef struct skin_request {
    const mmd_skin_job *job;
    size_t done; /* frames */
} skin_request;

static bool skin(mmd_gl_context *context, void *arg, mmd_error *err)
{
    skin_request *request = arg;
    const mmd_skin_job *job = request->job;
    if (job->mesh->vertex_count == 0 || job->frame_count == 0)
        return true;
    pass_runner r = {.pass = {.job = job, .context = context}};
    if (!make_ring(context, err) || !mmd_gl_skin_pass_begin(&r.pass, err))
        return false;
    list_outputs(&r);
    bool ok = plan_passes(&r, err) && run_passes(&r, err);
    for (size_t i = 0; i < RING_SIZE && !mmd_gl_context_hangs(context); i++)
        delete_fence(&context->skin_ring->slots[i]);
    request->done = r.done;
    free(r.pass.bones);
    free(r.pass.weights);
    return ok;
}

bool mmd_gl_skin(const mmd_skin_job *job, size_t *done, mmd_error *err)
{
    skin_request request = {.job = job};
    bool ok = mmd_gl_thread_run(skin, &request, err);
    *done = request.done;
    return ok;
}

typedef struct info_request {
    char *device;
    size_t size;
    bool *software;
} info_request;

/* Compiles a shader, too, as drivers that open a context may still refuse it. */
static bool read_info(mmd_gl_context *context, void *arg, mmd_error *err)
{
    static const mmd_gl_skin_variant plain = {
        .kind = MMD_SKIN_LINEAR, .influences = 2, .normals = true};
    if (!mmd_gl_skin_program_get(context, &plain, err))
        return false;
    info_request *info = arg;
    snprintf(info->device, info->size, "%s", context->device);
    *info->software = context->software;
    return true;
}

bool mmd_gl_skin_info(char *device, size_t size, bool *software, mmd_error *err)
{
    return mmd_gl_thread_run(read_info, &(info_request){device, size, software}, err);
}
