/* SPDX-License-Identifier: MIT */
/* Compiles and links shaders, and makes the skinning programs from shaders/, which the build embeds
   as shaders.h. */
#include "gl/gl_program.h"

#include "core/base/error.h"

#include "shaders.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

/* The driver's log, up to its first line break. */
static bool fail_with_log(const char *what, const char *log, mmd_error *err)
{
    return mmd_fail(err, MMD_E_BACKEND, "OpenGL: %s: %.*s", what, (int)strcspn(log, "\n"), log);
}

GLuint mmd_gl_program_compile(GLenum stage, const char *const *sources, GLsizei count,
                              mmd_error *err)
{
    char log[512] = "no log";
    GLuint shader = glCreateShader(stage);
    glShaderSource(shader, count, sources, NULL);
    glCompileShader(shader);
    GLint ok = 0;
    glGetShaderiv(shader, GL_COMPILE_STATUS, &ok);
    if (ok)
        return shader;
    glGetShaderInfoLog(shader, sizeof log, NULL, log);
    glDeleteShader(shader);
    fail_with_log("shader does not compile", log, err);
    return 0;
}

bool mmd_gl_program_link(GLuint program, mmd_error *err)
{
    char log[512] = "no log";
    glLinkProgram(program);
    GLint ok = 0;
    glGetProgramiv(program, GL_LINK_STATUS, &ok);
    if (ok)
        return true;
    glGetProgramInfoLog(program, sizeof log, NULL, log);
    return fail_with_log("program does not link", log, err);
}

enum {
    INFLUENCES = 5,
    TANGENT_WIDTHS = 5,
    VARIANTS = MMD_SKIN_KIND_COUNT * INFLUENCES * TANGENT_WIDTHS * 32,
    HEADER_SIZE = 2048
};

struct mmd_gl_skin_programs {
    mmd_gl_skin_program variants[VARIANTS];
};

static size_t variant_index(const mmd_gl_skin_variant *v)
{
    size_t index =
        ((size_t)v->kind * INFLUENCES + (size_t)v->influences) * TANGENT_WIDTHS + v->tangent_width;
    index = ((index * 2 + v->morphed) * 2 + v->slerp) * 2 + v->normals;
    return (index * 2 + v->single_frame) * 2 + v->approximate;
}

/* Writes the constants that the shader and C have in common; the shader has no copy of them. */
static void write_header(const mmd_gl_skin_variant *v, char text[HEADER_SIZE])
{
    const struct {
        const char *name;
        int value;
    } integers[] = {{"LINEAR", MMD_SKIN_LINEAR},
                    {"SDEF", MMD_SKIN_SDEF},
                    {"QDEF", MMD_SKIN_QDEF},
                    {"CENTER", MMD_SKIN_CENTER},
                    {"BULGE_FREE", MMD_SKIN_BULGE_FREE},
                    {"COMPENSATED", MMD_SKIN_COMPENSATED},
                    {"KIND", (int)v->kind},
                    {"INFLUENCES", (int)v->influences},
                    {"MORPHED", v->morphed},
                    {"SLERP", v->slerp},
                    {"NORMALS", v->normals},
                    {"APPROXIMATE", v->approximate},
                    {"TANGENTS", (int)v->tangent_width},
                    {"FRAMES", v->single_frame ? 1 : MMD_GL_INSTANCE_FRAMES},
                    {"BONE_TEXELS", MMD_GL_BONE_TEXELS},
                    {"ROTATION_TEXEL", offsetof(mmd_skin_bone, rotation) / 16},
                    {"DUAL_TEXEL", offsetof(mmd_skin_bone, dual) / 16}};
    static const struct {
        const char *name;
        float value;
    } floats[] = {{"MIN_NORMAL", MMD_MIN_NORMAL},
                  {"MIN_TANGENT", MMD_MIN_TANGENT},
                  {"MIN_QUATERNION", MMD_MIN_QUATERNION},
                  {"IMPRECISE", MMD_GL_IMPRECISE},
                  {"FLT_MIN", FLT_MIN},
                  {"FLT_MAX", FLT_MAX}};
    int used = snprintf(text, HEADER_SIZE, "#version 330 core\n");
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        used += snprintf(text + used, HEADER_SIZE - (size_t)used, "#define %s %d\n",
                         integers[i].name, integers[i].value);
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) /* nine digits are exact */
        used += snprintf(text + used, HEADER_SIZE - (size_t)used, "#define %s %#.9g\n",
                         floats[i].name, (double)floats[i].value);
}

static GLuint compile_skinning(const mmd_gl_skin_variant *v, mmd_error *err)
{
    char header[HEADER_SIZE];
    write_header(v, header);
    const char *sources[] = {header, mmd_shader_skinning_glsl, mmd_shader_skin_vert};
    return mmd_gl_program_compile(GL_VERTEX_SHADER, sources, 3, err);
}

static bool link_skinning(GLuint program, GLuint shader, const mmd_gl_skin_variant *v,
                          mmd_error *err)
{
#define ATTRIBUTE_NAME(name, components, integer, member) #name,
    static const char *const attributes[] = {MMD_GL_SKIN_ATTRIBUTES(ATTRIBUTE_NAME)};
#undef ATTRIBUTE_NAME
    for (GLuint i = 0; i < sizeof attributes / sizeof *attributes; i++)
        glBindAttribLocation(program, i, attributes[i]);
    const char *outputs[3] = {"out_position"};
    GLsizei count = 1;
    if (v->normals)
        outputs[count++] = "out_normal";
    if (v->tangent_width)
        outputs[count++] = "out_tangent";
    glTransformFeedbackVaryings(program, count, outputs, GL_SEPARATE_ATTRIBS);
    glAttachShader(program, shader);
    bool ok = mmd_gl_program_link(program, err);
    glDetachShader(program, shader);
    return ok;
}

static void find_skin_uniforms(mmd_gl_skin_program *program)
{
    glUseProgram(program->name);
    glUniform1i(glGetUniformLocation(program->name, "bones"), MMD_GL_BONES_UNIT);
    glUniform1i(glGetUniformLocation(program->name, "morph_offsets"), MMD_GL_MORPH_OFFSETS_UNIT);
    glUniform1i(glGetUniformLocation(program->name, "morph_weights"), MMD_GL_MORPH_WEIGHTS_UNIT);
    program->last_frame = glGetUniformLocation(program->name, "last_frame");
    program->bone_stride = glGetUniformLocation(program->name, "bone_stride");
    program->morph_stride = glGetUniformLocation(program->name, "morph_stride");
    program->max_offsets = glGetUniformLocation(program->name, "max_offsets");
    program->correction = glGetUniformLocation(program->name, "correction");
}

const mmd_gl_skin_program *mmd_gl_skin_program_get(mmd_gl_context *context,
                                                   const mmd_gl_skin_variant *variant,
                                                   mmd_error *err)
{
    if (!context->skin_programs)
        context->skin_programs =
            mmd_arena_alloc(&context->arena, 1, sizeof *context->skin_programs);
    if (!context->skin_programs) {
        mmd_fail_memory(err);
        return NULL;
    }
    mmd_gl_skin_program *program = &context->skin_programs->variants[variant_index(variant)];
    if (program->name)
        return program;

    GLuint shader = compile_skinning(variant, err);
    if (!shader)
        return NULL;
    GLuint name = glCreateProgram();
    bool ok = link_skinning(name, shader, variant, err);
    glDeleteShader(shader);
    if (!ok) {
        glDeleteProgram(name);
        return NULL;
    }
    program->name = name;
    find_skin_uniforms(program);
    return program;
}
