/* SPDX-License-Identifier: MIT */
/* A pass of skinning by compute shaders: a dispatch per range of vertices, with an invocation per
   vertex and frame. Their shaders are in shaders/, which the build embeds as shaders.h. */
#include "gl/gl_skin_pass.h"

#include "core/base/error.h"

#include "shaders.h"

#include <float.h>

/* Its macros are the constants that it shares with C; the shader has no copy of them. */
static GLuint make_program(mmd_gl_skin_variant v, mmd_error *err)
{
    enum { FLOATS = 6 }; /* the last macros */
    const mmd_gl_macro macros[] = {{"LINEAR", MMD_SKIN_LINEAR},
                                   {"SDEF", MMD_SKIN_SDEF},
                                   {"QDEF", MMD_SKIN_QDEF},
                                   {"CENTER", MMD_SKIN_CENTER},
                                   {"BULGE_FREE", MMD_SKIN_BULGE_FREE},
                                   {"COMPENSATED", MMD_SKIN_COMPENSATED},
                                   {"KIND", v.kind},
                                   {"INFLUENCES", v.influences},
                                   {"MORPHED", v.morphed},
                                   {"SLERP", v.slerp},
                                   {"NORMALS", v.normals},
                                   {"DRAWN", v.drawn},
                                   {"TANGENTS", v.tangent_width},
                                   {"GROUP_SIZE", MMD_GL_GROUP_SIZE},
#define LOCATION_MACRO(name) {#name, MMD_GL_SKIN_##name},
#define UNIT_MACRO(name) {#name "_UNIT", MMD_GL_##name##_UNIT},
                                   MMD_GL_SKIN_UNIFORMS(LOCATION_MACRO)
                                       MMD_GL_SKIN_UNITS(UNIT_MACRO)
#undef LOCATION_MACRO
#undef UNIT_MACRO
                                           {"BONE_TEXELS", MMD_GL_BONE_TEXELS},
                                   {"ROTATION_TEXEL", offsetof(mmd_skin_bone, rotation) / 16},
                                   {"DUAL_TEXEL", offsetof(mmd_skin_bone, dual) / 16},
                                   {"MIN_NORMAL", (double)MMD_MIN_NORMAL},
                                   {"MIN_TANGENT", (double)MMD_MIN_TANGENT},
                                   {"MIN_QUATERNION", (double)MMD_MIN_QUATERNION},
                                   {"IMPRECISE", (double)MMD_GL_IMPRECISE},
                                   {"FLT_MIN", (double)FLT_MIN},
                                   {"FLT_MAX", (double)FLT_MAX}};
    const mmd_gl_stage stage = {GL_COMPUTE_SHADER,
                                {mmd_shader_skinning_glsl, mmd_shader_skin_comp, ""}};
    size_t integers = sizeof macros / sizeof *macros - FLOATS;
    return mmd_gl_program_make(macros, integers, FLOATS, &stage, 1, err);
}

GLuint mmd_gl_skin_program_get(mmd_gl_context *context, mmd_gl_skin_variant variant, mmd_error *err)
{
    if (!context->skin_programs &&
        !MMD_ARENA_ARRAY(&context->arena, context->skin_programs, MMD_GL_SKIN_VARIANTS))
        return mmd_fail_memory(err);
    GLuint *program = &context->skin_programs[variant.index];
    if (!*program)
        *program = make_program(variant, err);
    return *program;
}

/* Passes */

typedef struct buffer_texture {
    GLuint buffer, texture;
} buffer_texture;

/* What the passes in one context share. */
struct mmd_gl_skin_buffers {
    buffer_texture bones, weights;
};

static buffer_texture make_buffer_texture(GLenum unit, GLenum format)
{
    GLuint buffer = mmd_gl_buffer_fill(GL_TEXTURE_BUFFER, 0, 0, NULL, GL_STREAM_DRAW);
    return (buffer_texture){buffer, mmd_gl_buffer_texture(unit, format, buffer, 0, 0)};
}

bool mmd_gl_skin_pass_begin(mmd_gl_skin_pass *pass, mmd_error *err)
{
    bool is_first = !pass->context->skin_buffers;
    if (!MMD_GL_CONTEXT_KEEP(pass->context, skin_buffers, err))
        return false;
    if (is_first) {
        struct mmd_gl_skin_buffers *made = pass->context->skin_buffers;
        made->bones = make_buffer_texture(MMD_GL_BONES_UNIT, GL_RGBA32F);
        made->weights = make_buffer_texture(MMD_GL_MORPH_WEIGHTS_UNIT, GL_R32F);
    }
    pass->mesh = mmd_gl_mesh_get(pass->context, pass->job->mesh, err);
    return pass->mesh;
}

/* At most as many frames as fit. */
static size_t limit_frames(size_t frames, size_t capacity, size_t frame_size)
{
    return frame_size == 0 || capacity / frame_size >= frames ? frames : capacity / frame_size;
}

size_t mmd_gl_skin_pass_max_frames(const mmd_gl_skin_pass *pass, size_t frames, mmd_error *err)
{
    const mmd_skin_job *job = pass->job;
    const mmd_mesh *mesh = job->mesh;
    size_t texels = mesh->bone_count * MMD_GL_BONE_TEXELS;
    GLint limit = 0;
    GLint64 block = 0; /* some drivers have more than an int can tell */
    mmd_gl1.GetIntegerv(GL_MAX_TEXTURE_BUFFER_SIZE, &limit);
    glGetInteger64v(GL_MAX_SHADER_STORAGE_BLOCK_SIZE, &block);
    size_t vertices =
        (size_t)(block < MMD_GL_MAX_BUFFER_BYTES ? block : MMD_GL_MAX_BUFFER_BYTES) / 16;
    if (texels > (size_t)limit || mesh->morph_count > (size_t)limit)
        return mmd_gl_fail(err, "%zu bones and %zu morphs, the device supports %d texels",
                           mesh->bone_count, mesh->morph_count, (int)limit);
    if (mesh->vertex_count > vertices)
        return mmd_gl_fail(err, "%zu vertices, the device supports %zu", mesh->vertex_count,
                           vertices);
    if (job->matrix_frames > 1)
        frames = limit_frames(frames, (size_t)limit, texels);
    if (job->morph_weight_frames > 1)
        frames = limit_frames(frames, (size_t)limit, mesh->morph_count);
    frames = limit_frames(frames, vertices, mesh->vertex_count);
    return frames < MMD_GL_MAX_GROUPS ? frames : MMD_GL_MAX_GROUPS;
}

/* Bones and weights of frames [first, first + frames), or once those that all frames share. */
static void upload(mmd_gl_skin_pass *pass, size_t first, size_t frames)
{
    const mmd_skin_job *job = pass->job;
    size_t bones = job->mesh->bone_count, morphs = job->mesh->morph_count;
    if (first == 0 || job->matrix_frames > 1) {
        size_t count = job->matrix_frames > 1 ? frames : 1;
        for (size_t f = 0; f < count; f++)
            mmd_skin_input_bones(job, first + f, pass->bones + f * bones);
        mmd_gl_buffer_fill(GL_TEXTURE_BUFFER, pass->context->skin_buffers->bones.buffer,
                           count * bones * sizeof *pass->bones, pass->bones, GL_STREAM_DRAW);
    }
    if (first == 0 || job->morph_weight_frames > 1) {
        size_t count = job->morph_weight_frames > 1 ? frames : 1;
        pass->morphs_act = false;
        for (size_t f = 0; f < count; f++)
            pass->morphs_act |= mmd_skin_input_weights(job, first + f, pass->weights + f * morphs);
        mmd_gl_buffer_fill(GL_TEXTURE_BUFFER, pass->context->skin_buffers->weights.buffer,
                           count * morphs * sizeof *pass->weights, pass->weights, GL_STREAM_DRAW);
    }
}

static mmd_gl_skin_variant variant_of(const mmd_gl_skin_pass *pass, const mmd_gl_mesh_range *range,
                                      bool drawn)
{
    const mmd_skin_job *job = pass->job;
    mmd_skin_kind kind = mmd_skin_kind_of(job->method, range->kind, range->count);
    bool slerp = kind == MMD_SKIN_SDEF && job->sdef_blend == MMD_SDEF_SLERP;
    return (mmd_gl_skin_variant){
        {.kind = kind,
         .influences = (unsigned)range->count,
         .morphed = range->morphed && pass->morphs_act,
         .slerp = slerp,
         .normals = job->normals != NULL,
         .tangent_width = job->tangents ? (unsigned)job->mesh->tangent_width : 0,
         .drawn = drawn}};
}

static void set_uniforms(const mmd_gl_skin_pass *pass, mmd_gl_skin_variant variant, size_t vertices,
                         const mmd_gl_skin_view *view)
{
    const mmd_skin_job *job = pass->job;
    size_t bone_stride = job->matrix_frames > 1 ? job->mesh->bone_count * MMD_GL_BONE_TEXELS : 0;
    size_t morph_stride = job->morph_weight_frames > 1 ? job->mesh->morph_count : 0;
    glUniform4i(MMD_GL_SKIN_SIZES, (GLint)vertices, (GLint)job->mesh->vertex_count,
                (GLint)bone_stride, (GLint)morph_stride);
    if (variant.kind == MMD_SKIN_BULGE_FREE || variant.kind == MMD_SKIN_COMPENSATED)
        glUniform1f(MMD_GL_SKIN_CORRECTION, job->correction);
    if (view) {
        glUniformMatrix3fv(MMD_GL_SKIN_VIEW_ROTATION, 1, GL_TRUE, view->rotation);
        glUniform3fv(MMD_GL_SKIN_CAMERA, 1, view->camera);
    }
}

bool mmd_gl_skin_pass_run(mmd_gl_skin_pass *pass, size_t first, size_t frames,
                          const mmd_gl_skin_view *view,
                          const mmd_gl_skin_output outputs[MMD_GL_SKIN_OUTPUTS], mmd_error *err)
{
    upload(pass, first, frames);
    glMemoryBarrier(GL_ALL_BARRIER_BITS); /* others may still read the outputs of the last pass */
    const struct mmd_gl_skin_buffers *buffers = pass->context->skin_buffers;
    mmd_gl_texture_bind(MMD_GL_BONES_UNIT, GL_TEXTURE_BUFFER, buffers->bones.texture);
    mmd_gl_texture_bind(MMD_GL_MORPH_WEIGHTS_UNIT, GL_TEXTURE_BUFFER, buffers->weights.texture);
    mmd_gl_texture_bind(MMD_GL_MORPH_OFFSETS_UNIT, GL_TEXTURE_BUFFER, pass->mesh->morph_texture);
    for (GLuint i = 0; i < MMD_GL_SKIN_OUTPUTS; i++)
        if (outputs[i].buffer)
            glBindBufferRange(GL_SHADER_STORAGE_BUFFER, i, outputs[i].buffer,
                              (GLintptr)outputs[i].first, (GLsizeiptr)outputs[i].size);
    for (size_t i = 0; i < pass->mesh->range_count; i++) {
        const mmd_gl_mesh_range *range = &pass->mesh->ranges[i];
        mmd_gl_skin_variant variant = variant_of(pass, range, view != NULL);
        GLuint program = mmd_gl_skin_program_get(pass->context, variant, err);
        if (!program)
            return false;
        size_t groups = (range->vertex_count + MMD_GL_GROUP_SIZE - 1) / MMD_GL_GROUP_SIZE;
        mmd_gl_texture_bind(MMD_GL_VERTICES_UNIT, GL_TEXTURE_BUFFER, range->texture);
        glUseProgram(program);
        set_uniforms(pass, variant, range->vertex_count, view);
        glDispatchCompute((GLuint)groups, (GLuint)frames, 1);
    }
    glMemoryBarrier(GL_ALL_BARRIER_BITS);
    return true;
}
