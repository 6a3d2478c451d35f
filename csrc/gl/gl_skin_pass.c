/* SPDX-License-Identifier: MIT */
/* A pass of skinning by transform feedback: a draw per range of vertices, with an instance per four
   frames. */
#include "gl/gl_skin_pass.h"

#include "core/base/error.h"
#include "gl/gl_program.h"

typedef struct buffer_texture {
    GLuint buffer, texture;
} buffer_texture;

/* What the passes in one context share. */
struct mmd_gl_skin_buffers {
    buffer_texture bones, weights;
};

static buffer_texture make_buffer_texture(GLenum format)
{
    buffer_texture made;
    glGenBuffers(1, &made.buffer);
    glBindBuffer(GL_TEXTURE_BUFFER, made.buffer);
    glBufferData(GL_TEXTURE_BUFFER, 16, NULL, GL_STREAM_DRAW);
    mmd_gl1.GenTextures(1, &made.texture);
    mmd_gl1.BindTexture(GL_TEXTURE_BUFFER, made.texture);
    glTexBuffer(GL_TEXTURE_BUFFER, format, made.buffer);
    return made;
}

static void upload_buffer_texture(const buffer_texture *texture, const void *data, size_t bytes)
{
    glBindBuffer(GL_TEXTURE_BUFFER, texture->buffer);
    if (bytes)
        glBufferData(GL_TEXTURE_BUFFER, (GLsizeiptr)bytes, data, GL_STREAM_DRAW);
}

static bool prepare_context(mmd_gl_context *context, mmd_error *err)
{
    if (context->skin_buffers)
        return true;
    struct mmd_gl_skin_buffers *made = mmd_arena_alloc(&context->arena, 1, sizeof *made);
    if (!made)
        return mmd_fail_memory(err);
    made->bones = make_buffer_texture(GL_RGBA32F);
    made->weights = make_buffer_texture(GL_R32F);
    mmd_gl1.Enable(GL_RASTERIZER_DISCARD);
    context->skin_buffers = made;
    return true;
}

static void bind_inputs(const struct mmd_gl_skin_buffers *buffers, const mmd_gl_mesh *mesh)
{
    const GLuint textures[] = {[MMD_GL_BONES_UNIT] = buffers->bones.texture,
                               [MMD_GL_MORPH_OFFSETS_UNIT] = mesh->morph_texture,
                               [MMD_GL_MORPH_WEIGHTS_UNIT] = buffers->weights.texture};
    for (GLenum unit = 0; unit < sizeof textures / sizeof *textures; unit++) {
        glActiveTexture(GL_TEXTURE0 + unit);
        mmd_gl1.BindTexture(GL_TEXTURE_BUFFER, textures[unit]);
    }
    glBindVertexArray(mesh->vertex_array);
}

bool mmd_gl_skin_pass_begin(mmd_gl_skin_pass *pass, mmd_error *err)
{
    if (!prepare_context(pass->context, err))
        return false;
    pass->mesh = mmd_gl_mesh_get(pass->context, pass->job->mesh, err);
    if (pass->mesh)
        bind_inputs(pass->context->skin_buffers, pass->mesh);
    return pass->mesh != NULL;
}

size_t mmd_gl_skin_pass_stored_frames(const mmd_gl_skin_pass *pass, size_t frames)
{
    size_t step = pass->instance_frames;
    return (frames + step - 1) / step * step;
}

/* Bones and weights of frames [first, first + frames), or once those that all frames share. */
void mmd_gl_skin_pass_upload(mmd_gl_skin_pass *pass, size_t first, size_t frames)
{
    const mmd_skin_job *job = pass->job;
    size_t bones = job->mesh->bone_count, morphs = job->mesh->morph_count;
    if (first == 0 || job->matrix_frames > 1) {
        size_t count = job->matrix_frames > 1 ? frames : 1;
        for (size_t f = 0; f < count; f++)
            mmd_skin_input_bones(job, first + f, pass->bones + f * bones);
        upload_buffer_texture(&pass->context->skin_buffers->bones, pass->bones,
                              count * bones * sizeof *pass->bones);
    }
    if (first == 0 || job->morph_weight_frames > 1) {
        size_t count = job->morph_weight_frames > 1 ? frames : 1;
        pass->morphs_act = false;
        for (size_t f = 0; f < count; f++)
            pass->morphs_act |= mmd_skin_input_weights(job, first + f, pass->weights + f * morphs);
        upload_buffer_texture(&pass->context->skin_buffers->weights, pass->weights,
                              count * morphs * sizeof *pass->weights);
    }
}

static mmd_gl_skin_variant variant_of(const mmd_gl_skin_pass *pass, const mmd_gl_draw_range *range)
{
    const mmd_skin_job *job = pass->job;
    mmd_skin_kind kind = mmd_skin_kind_of(job->method, range->kind, range->count);
    return (mmd_gl_skin_variant){.kind = kind,
                                 .influences = range->count,
                                 .morphed = range->morphed && pass->morphs_act,
                                 .slerp =
                                     kind == MMD_SKIN_SDEF && job->sdef_blend == MMD_SDEF_SLERP,
                                 .normals = job->normals != NULL,
                                 .tangent_width = job->tangents ? job->mesh->tangent_width : 0,
                                 .single_frame = pass->instance_frames == 1,
                                 .approximate = pass->approximate};
}

/* The results of a pass are stored range by range, and within a range instance by instance. */
static void draw_vertices(const mmd_gl_skin_pass *pass, const mmd_gl_draw_range *range,
                          const mmd_gl_skin_program *program, size_t frames, const GLuint *buffers)
{
    const mmd_skin_job *job = pass->job;
    size_t stored_frames = mmd_gl_skin_pass_stored_frames(pass, frames);
    glUseProgram(program->name);
    glUniform1i(program->last_frame, (GLint)frames - 1);
    glUniform1i(program->bone_stride,
                job->matrix_frames > 1 ? (GLint)(job->mesh->bone_count * MMD_GL_BONE_TEXELS) : 0);
    glUniform1i(program->max_offsets, (GLint)pass->mesh->max_offsets);
    glUniform1i(program->morph_stride,
                job->morph_weight_frames > 1 ? (GLint)job->mesh->morph_count : 0);
    glUniform1f(program->correction, job->correction);
    const size_t widths[MMD_GL_SKIN_OUTPUTS] = {3, job->normals ? 3 : job->mesh->tangent_width,
                                                job->mesh->tangent_width};
    GLuint outputs = 1u + (job->normals ? 1u : 0u) + (job->tangents ? 1u : 0u);
    for (GLuint i = 0; i < outputs; i++) {
        size_t bytes = stored_frames * widths[i] * sizeof(float);
        glBindBufferRange(GL_TRANSFORM_FEEDBACK_BUFFER, i, buffers[i],
                          (GLintptr)(range->first * bytes),
                          (GLsizeiptr)(range->vertex_count * bytes));
    }
    glBeginTransformFeedback(GL_POINTS);
    glDrawArraysInstanced(GL_POINTS, (GLint)range->first, (GLsizei)range->vertex_count,
                          (GLsizei)(stored_frames / pass->instance_frames));
    glEndTransformFeedback();
}

bool mmd_gl_skin_pass_draw(mmd_gl_skin_pass *pass, size_t frames, const GLuint *buffers,
                           mmd_error *err)
{
    for (size_t b = 0; b < pass->mesh->draw_range_count; b++) {
        const mmd_gl_draw_range *range = &pass->mesh->draw_ranges[b];
        mmd_gl_skin_variant variant = variant_of(pass, range);
        const mmd_gl_skin_program *program = mmd_gl_skin_program_get(pass->context, &variant, err);
        if (!program)
            return false;
        draw_vertices(pass, range, program, frames, buffers);
    }
    return true;
}
