/* SPDX-License-Identifier: MIT */
#include "gl/gl_program.h"

#include "shaders.h"

#include <stdio.h>
#include <string.h>

enum { KINDS = 3, COUNTS = 5, TANGENTS = 5, VARIANTS = KINDS * COUNTS * TANGENTS * 8 };

/* Of the context that has this generation. Only the OpenGL thread comes here. */
static struct {
    unsigned generation;
    mmd_gl_program programs[VARIANTS];
} cache;

static size_t variant_number(const mmd_gl_variant *v)
{
    size_t number =
        ((size_t)v->kind * COUNTS + (size_t)v->influences) * TANGENTS + v->tangent_width;
    return ((number * 2 + v->morphed) * 2 + v->slerp) * 2 + v->normals;
}

/* The driver's log, without its last line break. */
static bool fail_with_log(const char *what, const char *log, mmd_error *err)
{
    return mmd_fail(err, MMD_E_BACKEND, "OpenGL: %s: %.*s", what, (int)strcspn(log, "\n"), log);
}

static GLuint compile(const mmd_gl_variant *v, mmd_error *err)
{
    char header[256], log[512] = "no log";
    snprintf(header, sizeof header,
             "#version 330 core\n#define KIND %d\n#define INFLUENCES %d\n#define MORPHED %d\n"
             "#define SLERP %d\n#define NORMALS %d\n#define TANGENTS %d\n",
             (int)v->kind, (int)v->influences, v->morphed, v->slerp, v->normals,
             (int)v->tangent_width);
    const char *source[] = {header, mmd_shader_skinning_glsl, mmd_shader_skin_vert};
    GLuint shader = glCreateShader(GL_VERTEX_SHADER);
    glShaderSource(shader, 3, source, NULL);
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

static bool link_program(GLuint program, GLuint shader, const mmd_gl_variant *v, mmd_error *err)
{
    const char *outputs[3] = {"out_position"};
    GLsizei count = 1;
    if (v->normals)
        outputs[count++] = "out_normal";
    if (v->tangent_width)
        outputs[count++] = "out_tangent";
    glTransformFeedbackVaryings(program, count, outputs, GL_SEPARATE_ATTRIBS);
    glAttachShader(program, shader);
    glLinkProgram(program);
    glDetachShader(program, shader);
    GLint ok = 0;
    char log[512] = "no log";
    glGetProgramiv(program, GL_LINK_STATUS, &ok);
    if (ok)
        return true;
    glGetProgramInfoLog(program, sizeof log, NULL, log);
    return fail_with_log("program does not link", log, err);
}

static void find_uniforms(mmd_gl_program *program)
{
    glUseProgram(program->name);
    glUniform1i(glGetUniformLocation(program->name, "bones"), MMD_GL_BONES);
    glUniform1i(glGetUniformLocation(program->name, "morph_offsets"), MMD_GL_MORPH_OFFSETS);
    glUniform1i(glGetUniformLocation(program->name, "morph_weights"), MMD_GL_MORPH_WEIGHTS);
    program->bone_stride = glGetUniformLocation(program->name, "bone_stride");
    program->morph_stride = glGetUniformLocation(program->name, "morph_stride");
}

const mmd_gl_program *mmd_gl_program_of(mmd_gl_context *context, const mmd_gl_variant *variant,
                                        mmd_error *err)
{
    if (cache.generation != context->generation) {
        memset(&cache, 0, sizeof cache);
        cache.generation = context->generation;
    }
    mmd_gl_program *program = &cache.programs[variant_number(variant)];
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
