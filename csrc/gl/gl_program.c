/* SPDX-License-Identifier: MIT */
#include "gl/gl_program.h"

#include "gl/gl_mesh.h"

#include "shaders.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

enum {
    COUNTS = 5,
    TANGENTS = 5,
    VARIANTS = MMD_SKIN_KIND_COUNT * COUNTS * TANGENTS * 16,
    HEADER_SIZE = 2048
};

struct mmd_gl_programs {
    mmd_gl_program of[VARIANTS];
};

static size_t variant_number(const mmd_gl_variant *v)
{
    size_t number =
        ((size_t)v->kind * COUNTS + (size_t)v->influences) * TANGENTS + v->tangent_width;
    return (((number * 2 + v->morphed) * 2 + v->slerp) * 2 + v->normals) * 2 + v->single;
}

/* The driver's log, without its last line break. */
static bool fail_with_log(const char *what, const char *log, mmd_error *err)
{
    return mmd_fail(err, MMD_E_BACKEND, "OpenGL: %s: %.*s", what, (int)strcspn(log, "\n"), log);
}

/* What the shader shares with C is written here and nowhere else. */
static void write_header(const mmd_gl_variant *v, char text[HEADER_SIZE])
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
                    {"TANGENTS", (int)v->tangent_width},
                    {"FRAMES", v->single ? 1 : MMD_GL_FRAMES},
                    {"BONE_TEXELS", MMD_GL_BONE_TEXELS},
                    {"ROTATION_TEXEL", offsetof(mmd_skin_bone, rotation) / 16},
                    {"DUAL_TEXEL", offsetof(mmd_skin_bone, dual) / 16}};
    static const struct {
        const char *name;
        float value;
    } floats[] = {{"LEAST_NORMAL", MMD_LEAST_NORMAL},
                  {"LEAST_TANGENT", MMD_LEAST_TANGENT},
                  {"LEAST_QUATERNION", MMD_LEAST_QUATERNION},
                  {"MARK", MMD_GL_MARK},
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

GLuint mmd_gl_compile(GLenum stage, const char *const *sources, GLsizei count, mmd_error *err)
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

bool mmd_gl_link(GLuint program, mmd_error *err)
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

static GLuint compile(const mmd_gl_variant *v, mmd_error *err)
{
    char header[HEADER_SIZE];
    write_header(v, header);
    const char *sources[] = {header, mmd_shader_skinning_glsl, mmd_shader_skin_vert};
    return mmd_gl_compile(GL_VERTEX_SHADER, sources, 3, err);
}

static bool link_program(GLuint program, GLuint shader, const mmd_gl_variant *v, mmd_error *err)
{
#define INPUT(name, components, integer, member) #name,
    static const char *const inputs[] = {MMD_GL_INPUTS(INPUT)};
#undef INPUT
    for (GLuint i = 0; i < sizeof inputs / sizeof *inputs; i++)
        glBindAttribLocation(program, i, inputs[i]);
    const char *outputs[3] = {"out_position"};
    GLsizei count = 1;
    if (v->normals)
        outputs[count++] = "out_normal";
    if (v->tangent_width)
        outputs[count++] = "out_tangent";
    glTransformFeedbackVaryings(program, count, outputs, GL_SEPARATE_ATTRIBS);
    glAttachShader(program, shader);
    bool ok = mmd_gl_link(program, err);
    glDetachShader(program, shader);
    return ok;
}

static void find_uniforms(mmd_gl_program *program)
{
    glUseProgram(program->name);
    glUniform1i(glGetUniformLocation(program->name, "bones"), MMD_GL_BONES);
    glUniform1i(glGetUniformLocation(program->name, "morph_offsets"), MMD_GL_MORPH_OFFSETS);
    glUniform1i(glGetUniformLocation(program->name, "morph_weights"), MMD_GL_MORPH_WEIGHTS);
    program->last_frame = glGetUniformLocation(program->name, "last_frame");
    program->bone_stride = glGetUniformLocation(program->name, "bone_stride");
    program->morph_stride = glGetUniformLocation(program->name, "morph_stride");
    program->most_offsets = glGetUniformLocation(program->name, "most_offsets");
    program->correction = glGetUniformLocation(program->name, "correction");
}

const mmd_gl_program *mmd_gl_program_of(mmd_gl_context *context, const mmd_gl_variant *variant,
                                        mmd_error *err)
{
    if (!context->programs)
        context->programs = mmd_arena_alloc(&context->arena, 1, sizeof *context->programs);
    if (!context->programs) {
        mmd_fail_memory(err);
        return NULL;
    }
    mmd_gl_program *program = &context->programs->of[variant_number(variant)];
    if (program->name)
        return program;

    GLuint shader = compile(variant, err);
    if (!shader)
        return NULL;
    GLuint name = glCreateProgram();
    bool ok = link_program(name, shader, variant, err);
    glDeleteShader(shader);
    if (!ok) {
        glDeleteProgram(name);
        return NULL;
    }
    program->name = name;
    find_uniforms(program);
    return program;
}
