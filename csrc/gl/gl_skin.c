/* SPDX-License-Identifier: MIT */
#include "gl/gl_skin.h"

#include "core/skin/skin_scalar.h"
#include "gl/gl_mesh.h"
#include "gl/gl_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OUTPUTS = 3,
    RING = 2,               /* passes in flight: one is computed while the other is read back */
    PASS_BYTES = 8 << 20,   /* of output, unless a single frame is larger */
    BUFFER_BYTES = 1 << 30, /* the largest output buffer asked of any driver */
};

static const GLuint64 WAIT_NANOSECONDS = 1000000000; /* at a time, as drivers bound it */

/* A buffer that is read in shaders, with its texture. */
typedef struct data_table {
    GLuint buffer, texture;
} data_table;

/* Where the device puts the results of a pass. */
typedef struct output_buffers {
    GLuint buffers[OUTPUTS];
    size_t sizes[OUTPUTS];
    GLsync written; /* when the pass that was submitted last is done; NULL: none is under way */
} output_buffers;

/* What jobs share in one context. */
struct mmd_gl_buffers {
    data_table bones, weights;
    output_buffers ring[RING];
};

typedef struct output {
    float *memory; /* the caller's */
    size_t width;  /* floats of a vertex */
} output;

/* A job under way. A pass is as many frames as fit the device's limits. */
typedef struct pass_work {
    const mmd_skin_job *job;
    mmd_gl_context *context;
    const mmd_gl_mesh *mesh;
    output outputs[OUTPUTS];
    GLuint output_count;
    size_t pass_frames;
    size_t instance_frames;
    mmd_skin_bone *bones; /* of a pass */
    float *weights;
    bool morphs_act;
    size_t done; /* frames that lie in the outputs */
} pass_work;

static data_table make_table(GLenum format)
{
    data_table made;
    glGenBuffers(1, &made.buffer);
    glBindBuffer(GL_TEXTURE_BUFFER, made.buffer);
    glBufferData(GL_TEXTURE_BUFFER, 16, NULL, GL_STREAM_DRAW);
    gl1.GenTextures(1, &made.texture);
    gl1.BindTexture(GL_TEXTURE_BUFFER, made.texture);
    glTexBuffer(GL_TEXTURE_BUFFER, format, made.buffer);
    return made;
}

static void fill_table(const data_table *table, const void *data, size_t bytes)
{
    glBindBuffer(GL_TEXTURE_BUFFER, table->buffer);
    if (bytes)
        glBufferData(GL_TEXTURE_BUFFER, (GLsizeiptr)bytes, data, GL_STREAM_DRAW);
}

static bool prepare_context(mmd_gl_context *context, mmd_error *err)
{
    if (context->buffers)
        return true;
    struct mmd_gl_buffers *made = mmd_arena_alloc(&context->arena, 1, sizeof *made);
    if (!made)
        return mmd_fail_memory(err);
    made->bones = make_table(GL_RGBA32F);
    made->weights = make_table(GL_R32F);
    for (size_t i = 0; i < RING; i++)
        glGenBuffers(OUTPUTS, made->ring[i].buffers);
    gl1.Enable(GL_RASTERIZER_DISCARD);
    context->buffers = made;
    return true;
}

static void bind_inputs(const struct mmd_gl_buffers *buffers, const mmd_gl_mesh *mesh)
{
    const GLuint textures[] = {[MMD_GL_BONES] = buffers->bones.texture,
                               [MMD_GL_MORPH_OFFSETS] = mesh->morph_texture,
                               [MMD_GL_MORPH_WEIGHTS] = buffers->weights.texture};
    for (GLenum unit = 0; unit < sizeof textures / sizeof *textures; unit++) {
        glActiveTexture(GL_TEXTURE0 + unit);
        gl1.BindTexture(GL_TEXTURE_BUFFER, textures[unit]);
    }
    glBindVertexArray(mesh->vertex_array);
}

static void list_outputs(pass_work *work)
{
    const mmd_skin_job *job = work->job;
    work->outputs[work->output_count++] = (output){job->positions, 3};
    if (job->normals)
        work->outputs[work->output_count++] = (output){job->normals, 3};
    if (job->tangents)
        work->outputs[work->output_count++] = (output){job->tangents, job->mesh->tangent_width};
}

static size_t at_most(size_t frames, size_t room, size_t of_frame)
{
    return of_frame == 0 || room / of_frame >= frames ? frames : room / of_frame;
}

/* Frames that as many take on the device, where each vertex has those of an instance together. */
static size_t whole_instances(const pass_work *work, size_t frames)
{
    size_t step = work->instance_frames;
    return (frames + step - 1) / step * step;
}

/* Devices need not capture more than four numbers in an output; many do not. */
static size_t most_instance_frames(const pass_work *work)
{
    GLint components = 0;
    gl1.GetIntegerv(GL_MAX_TRANSFORM_FEEDBACK_SEPARATE_COMPONENTS, &components);
    for (GLuint i = 0; i < work->output_count; i++)
        if (components < (GLint)(MMD_GL_FRAMES * work->outputs[i].width))
            return 1;
    return MMD_GL_FRAMES;
}

static bool plan_passes(pass_work *work, mmd_error *err)
{
    const mmd_skin_job *job = work->job;
    size_t texels = job->mesh->bone_count * MMD_GL_BONE_TEXELS, numbers = job->mesh->morph_count;
    GLint limit = 0;
    gl1.GetIntegerv(GL_MAX_TEXTURE_BUFFER_SIZE, &limit);
    if (texels > (size_t)limit || numbers > (size_t)limit)
        return mmd_fail(err, MMD_E_BACKEND,
                        "OpenGL: %zu bones and %zu morphs, the device takes %d texels in a buffer",
                        job->mesh->bone_count, numbers, (int)limit);
    size_t vertices = job->mesh->vertex_count, floats = 0;
    for (GLuint i = 0; i < work->output_count; i++)
        floats += work->outputs[i].width;
    if (vertices > BUFFER_BYTES / 16)
        return mmd_fail(err, MMD_E_BACKEND, "OpenGL: %zu vertices, limit %d", vertices,
                        BUFFER_BYTES / 16);

    size_t frames = at_most(job->frame_count, PASS_BYTES, vertices * floats * sizeof(float));
    if (job->matrix_frames > 1)
        frames = at_most(frames, (size_t)limit, texels);
    if (job->slider_frames > 1)
        frames = at_most(frames, (size_t)limit, numbers);
    size_t step = frames < MMD_GL_FRAMES ? 1 : most_instance_frames(work);
    frames = frames ? frames / step * step : 1;
    size_t passes = (job->frame_count + frames - 1) / frames;
    work->instance_frames = step;
    /* all about as large */
    work->pass_frames = whole_instances(work, (job->frame_count + passes - 1) / passes);
    work->bones = calloc(work->pass_frames * job->mesh->bone_count + 1, sizeof *work->bones);
    work->weights = calloc(work->pass_frames * numbers + 1, sizeof *work->weights);
    return (work->bones && work->weights) || mmd_fail_memory(err);
}

/* Bones and weights of frames [first, first + frames); what serves all frames goes up once. */
static void upload_pass(pass_work *work, size_t first, size_t frames)
{
    const mmd_skin_job *job = work->job;
    size_t bones = job->mesh->bone_count, morphs = job->mesh->morph_count;
    if (first == 0 || job->matrix_frames > 1) {
        size_t own = job->matrix_frames > 1 ? frames : 1;
        for (size_t f = 0; f < own; f++)
            mmd_skin_bones(job, first + f, work->bones + f * bones);
        fill_table(&work->context->buffers->bones, work->bones, own * bones * sizeof *work->bones);
    }
    if (first == 0 || job->slider_frames > 1) {
        size_t own = job->slider_frames > 1 ? frames : 1;
        work->morphs_act = false;
        for (size_t f = 0; f < own; f++)
            work->morphs_act |= mmd_skin_weights(job, first + f, work->weights + f * morphs);
        fill_table(&work->context->buffers->weights, work->weights,
                   own * morphs * sizeof *work->weights);
    }
}

static mmd_gl_variant variant_for(const pass_work *work, const mmd_gl_batch *batch)
{
    const mmd_skin_job *job = work->job;
    mmd_skin_kind kind = mmd_skin_kind_of(job->method, batch->kind, batch->count);
    return (mmd_gl_variant){.kind = kind,
                            .influences = batch->count,
                            .morphed = batch->morphed && work->morphs_act,
                            .slerp = kind == MMD_SKIN_SDEF && job->sdef_blend == MMD_SDEF_SLERP,
                            .normals = job->normals != NULL,
                            .tangent_width = job->tangents ? job->mesh->tangent_width : 0,
                            .single = work->instance_frames == 1};
}

static bool reserve_outputs(const pass_work *work, output_buffers *slot, mmd_error *err)
{
    for (GLuint i = 0; i < work->output_count; i++) {
        size_t vertices = work->pass_frames * work->job->mesh->vertex_count;
        size_t bytes = vertices * work->outputs[i].width * sizeof(float);
        if (bytes <= slot->sizes[i])
            continue;
        slot->sizes[i] = 0;
        glBindBuffer(GL_TRANSFORM_FEEDBACK_BUFFER, slot->buffers[i]);
        glBufferData(GL_TRANSFORM_FEEDBACK_BUFFER, (GLsizeiptr)bytes, NULL, GL_STREAM_READ);
        if (!mmd_gl_check("output buffer", err))
            return false;
        slot->sizes[i] = bytes;
    }
    return true;
}

/* Results of a pass lie batch after batch, inside a batch instance after instance. */
static void draw_batch(const pass_work *work, const mmd_gl_batch *batch,
                       const mmd_gl_program *program, output_buffers *slot, size_t frames)
{
    const mmd_skin_job *job = work->job;
    size_t room = whole_instances(work, frames);
    glUseProgram(program->name);
    glUniform1i(program->last_frame, (GLint)frames - 1);
    glUniform1i(program->bone_stride,
                job->matrix_frames > 1 ? (GLint)(job->mesh->bone_count * MMD_GL_BONE_TEXELS) : 0);
    glUniform1i(program->most_offsets, (GLint)work->mesh->most_offsets);
    glUniform1i(program->morph_stride, job->slider_frames > 1 ? (GLint)job->mesh->morph_count : 0);
    glUniform1f(program->correction, job->correction);
    for (GLuint i = 0; i < work->output_count; i++) {
        size_t bytes = room * work->outputs[i].width * sizeof(float);
        glBindBufferRange(GL_TRANSFORM_FEEDBACK_BUFFER, i, slot->buffers[i],
                          (GLintptr)(batch->first * bytes),
                          (GLsizeiptr)(batch->vertex_count * bytes));
    }
    glBeginTransformFeedback(GL_POINTS);
    glDrawArraysInstanced(GL_POINTS, (GLint)batch->first, (GLsizei)batch->vertex_count,
                          (GLsizei)(room / work->instance_frames));
    glEndTransformFeedback();
}

static bool submit_pass(pass_work *work, output_buffers *slot, size_t first, size_t frames,
                        mmd_error *err)
{
    if (!reserve_outputs(work, slot, err))
        return false;
    upload_pass(work, first, frames);
    for (size_t b = 0; b < work->mesh->batch_count; b++) {
        const mmd_gl_batch *batch = &work->mesh->batches[b];
        mmd_gl_variant variant = variant_for(work, batch);
        const mmd_gl_program *program = mmd_gl_program_of(work->context, &variant, err);
        if (!program)
            return false;
        draw_batch(work, batch, program, slot, frames);
    }
    slot->written = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl1.Flush();
    return mmd_gl_check("transform feedback", err);
}

static void forget_fence(output_buffers *slot)
{
    glDeleteSync(slot->written);
    slot->written = NULL;
}

/* Until this pass is done, whatever was submitted after it: to map a buffer would do, but some
   drivers then wait for all. */
static bool wait_for_pass(output_buffers *slot, mmd_error *err)
{
    GLenum state;
    do
        state = glClientWaitSync(slot->written, 0, WAIT_NANOSECONDS);
    while (state == GL_TIMEOUT_EXPIRED);
    forget_fence(slot);
    if (state != GL_WAIT_FAILED)
        return true;
    mmd_gl_check("fence", NULL);
    return mmd_fail(err, MMD_E_BACKEND, "OpenGL: a pass cannot be waited for");
}

static void put_in_order(const mmd_gl_batch *batch, const mmd_gl_stretch *runs, size_t width,
                         const float *from, float *frame)
{
    for (size_t r = batch->first_run; r < batch->first_run + batch->run_count; r++) {
        size_t floats = runs[r].length * width;
        memcpy(frame + runs[r].target * width, from, floats * sizeof(float));
        from += floats;
    }
}

/* Of an instance of several frames the first `frames`, which lie `stride` floats apart in `first`.
 */
static inline void take_apart(const mmd_gl_batch *batch, const mmd_gl_stretch *runs, size_t width,
                              const float *from, float *first, size_t frames, size_t stride)
{
    for (size_t r = batch->first_run; r < batch->first_run + batch->run_count; r++) {
        float *to = first + runs[r].target * width;
        for (size_t v = 0; v < runs[r].length; v++, to += width, from += MMD_GL_FRAMES * width)
            for (size_t f = 0; f < frames; f++)
                memcpy(to + f * stride, from + f * width, width * sizeof(float));
    }
}

static void read_instance(const pass_work *work, const mmd_gl_batch *batch, size_t width,
                          const float *from, float *first, size_t frames)
{
    const mmd_gl_stretch *runs = work->mesh->runs;
    size_t stride = work->job->mesh->vertex_count * width;
    if (work->instance_frames == 1)
        put_in_order(batch, runs, width, from, first);
    else if (width == 3) /* a number that the compiler knows */
        take_apart(batch, runs, 3, from, first, frames, stride);
    else
        take_apart(batch, runs, 4, from, first, frames, stride);
}

static bool is_marked(const mmd_skin_job *job, size_t vertex)
{
    return job->normals ? job->normals[3 * vertex] == MMD_GL_MARK
                        : job->tangents[job->mesh->tangent_width * vertex] == MMD_GL_MARK;
}

static bool redo_marked(const mmd_skin_job *job, size_t first, size_t frames, mmd_error *err)
{
    const mmd_mesh *mesh = job->mesh;
    size_t n = mesh->vertex_count;
    mmd_skin_bone *bones = NULL;
    for (size_t f = first; f < first + frames; f++) {
        bool prepared = false;
        for (size_t v = 0; v < n; v++) {
            if (!is_marked(job, f * n + v))
                continue;
            if (!bones)
                bones = malloc(mesh->bone_count * sizeof *bones + 1);
            if (!bones)
                return mmd_fail_memory(err);
            if (!prepared)
                mmd_skin_bones(job, f, bones);
            prepared = true;
            const mmd_skin_frame frame = {
                .mesh = mesh,
                .method = job->method,
                .sdef_blend = job->sdef_blend,
                .correction = job->correction,
                .bones = bones,
                .normals = job->normals ? job->normals + 3 * f * n : NULL,
                .tangents = job->tangents ? job->tangents + mesh->tangent_width * f * n : NULL};
            mmd_skin_scalar_directions(&frame, v);
        }
    }
    free(bones);
    return true;
}

static bool map_outputs(const pass_work *work, const output_buffers *slot, size_t frames,
                        const float *mapped[OUTPUTS], mmd_error *err)
{
    for (GLuint i = 0; i < work->output_count; i++) {
        size_t vertices = whole_instances(work, frames) * work->job->mesh->vertex_count;
        size_t floats = vertices * work->outputs[i].width;
        glBindBuffer(GL_TRANSFORM_FEEDBACK_BUFFER, slot->buffers[i]);
        mapped[i] = glMapBufferRange(GL_TRANSFORM_FEEDBACK_BUFFER, 0,
                                     (GLsizeiptr)(floats * sizeof(float)), GL_MAP_READ_BIT);
        if (mapped[i])
            continue;
        mmd_gl_check("read-back", NULL);
        while (i-- > 0) {
            glBindBuffer(GL_TRANSFORM_FEEDBACK_BUFFER, slot->buffers[i]);
            glUnmapBuffer(GL_TRANSFORM_FEEDBACK_BUFFER);
        }
        return mmd_fail(err, MMD_E_BACKEND, "OpenGL: results cannot be mapped");
    }
    return true;
}

/* All outputs are at hand before the first is written. */
static bool read_pass(const pass_work *work, output_buffers *slot, size_t first, size_t frames,
                      mmd_error *err)
{
    const float *mapped[OUTPUTS];
    size_t vertices = work->job->mesh->vertex_count, step = work->instance_frames;
    size_t room = whole_instances(work, frames);
    if (!wait_for_pass(slot, err) || !map_outputs(work, slot, frames, mapped, err))
        return false;
    bool kept = true;
    for (GLuint i = 0; i < work->output_count; i++) {
        const output *out = &work->outputs[i];
        for (size_t b = 0; b < work->mesh->batch_count; b++) {
            const mmd_gl_batch *batch = &work->mesh->batches[b];
            const float *from = mapped[i] + room * batch->first * out->width;
            for (size_t f = 0; f < frames; f += step)
                read_instance(work, batch, out->width, from + f * batch->vertex_count * out->width,
                              out->memory + (first + f) * vertices * out->width,
                              frames - f < step ? frames - f : step);
        }
        glBindBuffer(GL_TRANSFORM_FEEDBACK_BUFFER, slot->buffers[i]);
        kept &= glUnmapBuffer(GL_TRANSFORM_FEEDBACK_BUFFER);
    }
    if (!kept)
        return mmd_fail(err, MMD_E_BACKEND, "OpenGL: results were lost while they were read");
    return (!work->job->normals && !work->job->tangents) ||
           redo_marked(work->job, first, frames, err);
}

static bool run_passes(pass_work *work, mmd_error *err)
{
    size_t count = work->job->frame_count, step = work->pass_frames;
    size_t passes = (count + step - 1) / step;
    output_buffers *ring = work->context->buffers->ring;
    for (size_t pass = 0; pass <= passes; pass++) {
        size_t first = pass * step, frames = count - first < step ? count - first : step;
        if (pass < passes && !submit_pass(work, &ring[pass % RING], first, frames, err))
            return false;
        if (pass == 0)
            continue;
        first -= step;
        frames = count - first < step ? count - first : step;
        if (!read_pass(work, &ring[(pass - 1) % RING], first, frames, err))
            return false;
        work->done = first + frames;
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
    pass_work work = {.job = job, .context = context};
    if (!prepare_context(context, err))
        return false;
    work.mesh = mmd_gl_mesh_of(context, job->mesh, err);
    if (!work.mesh)
        return false;
    bind_inputs(context->buffers, work.mesh);
    list_outputs(&work);
    bool ok = plan_passes(&work, err) && run_passes(&work, err);
    for (size_t i = 0; i < RING; i++)
        forget_fence(&context->buffers->ring[i]);
    request->done = work.done;
    free(work.bones);
    free(work.weights);
    return ok;
}

bool mmd_gl_skin(const mmd_skin_job *job, size_t *done, mmd_error *err)
{
    skin_request request = {.job = job};
    bool ok = mmd_gl_run(skin, &request, err);
    *done = request.done;
    return ok;
}

typedef struct info_request {
    char *device;
    size_t size;
    bool *software;
} info_request;

/* A driver that opens a context may still refuse the shaders, so one of them is tried. */
static bool read_info(mmd_gl_context *context, void *arg, mmd_error *err)
{
    static const mmd_gl_variant plain = {.kind = MMD_SKIN_LINEAR, .influences = 2, .normals = true};
    if (!mmd_gl_program_of(context, &plain, err))
        return false;
    info_request *info = arg;
    snprintf(info->device, info->size, "%s", context->device);
    *info->software = context->software;
    return true;
}

bool mmd_gl_info(char *device, size_t size, bool *software, mmd_error *err)
{
    return mmd_gl_run(read_info, &(info_request){device, size, software}, err);
}
