/* SPDX-License-Identifier: MIT */
/* Compiles and links shaders, and makes the skinning programs from shaders/, which the build embeds
   as shaders.h. */
#include "gl/gl_skin_pass.h"

#include "core/base/error.h"

#include "shaders.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

/* The first line that says something: neither empty nor a heading, which a line of dashes follows.
 */
static const char *telling_line(const char *log)
{
    const char *found = NULL;
    while (*log) {
        size_t length = strcspn(log, "\r\n"), rule = strspn(log, "- \t");
        if (rule < length && found)
            break;
        if (rule < length)
            found = log;
        else if (length > 0)
            found = NULL;
        log += length + strspn(log + length, "\r\n");
    }
    return found ? found : "no log";
}

static bool fail_with_log(const char *what, const char *log, mmd_error *err)
{
    const char *line = telling_line(log);
    return mmd_fail(err, MMD_E_BACKEND, "OpenGL: %s: %.*s", what, (int)strcspn(line, "\r\n"), line);
}

GLuint mmd_gl_program_compile(GLenum stage, const char *const *sources, GLsizei count,
                              mmd_error *err)
{
    char log[1024] = "";
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
    char log[1024] = "";
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
    VARIANTS = MMD_SKIN_KIND_COUNT * INFLUENCES * TANGENT_WIDTHS * 16,
    HEADER_SIZE = 2048
};

struct mmd_gl_skin_programs {
    GLuint variants[VARIANTS]; /* 0: not compiled yet */
};

static size_t variant_index(const mmd_gl_skin_variant *v)
{
    size_t index =
        ((size_t)v->kind * INFLUENCES + (size_t)v->influences) * TANGENT_WIDTHS + v->tangent_width;
    return (((index * 2 + v->morphed) * 2 + v->slerp) * 2 + v->normals) * 2 + v->drawn;
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
                    {"DRAWN", v->drawn},
                    {"TANGENTS", (int)v->tangent_width},
                    {"GROUP_SIZE", MMD_GL_GROUP_SIZE},
#define LOCATION_MACRO(name) {#name, MMD_GL_SKIN_##name},
#define UNIT_MACRO(name) {#name "_UNIT", MMD_GL_##name##_UNIT},
                    MMD_GL_SKIN_UNIFORMS(LOCATION_MACRO) MMD_GL_SKIN_UNITS(UNIT_MACRO)
#undef LOCATION_MACRO
#undef UNIT_MACRO
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
    int used = snprintf(text, HEADER_SIZE, "#version 430 core\n");
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        used += snprintf(text + used, HEADER_SIZE - (size_t)used, "#define %s %d\n",
                         integers[i].name, integers[i].value);
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) /* nine digits are exact */
        used += snprintf(text + used, HEADER_SIZE - (size_t)used, "#define %s %#.9g\n",
                         floats[i].name, (double)floats[i].value);
}

static GLuint make_program(const mmd_gl_skin_variant *variant, mmd_error *err)
{
    char header[HEADER_SIZE];
    write_header(variant, header);
    const char *sources[] = {header, mmd_shader_skinning_glsl, mmd_shader_skin_comp};
    GLuint shader = mmd_gl_program_compile(GL_COMPUTE_SHADER, sources, 3, err);
    if (!shader)
        return 0;
    GLuint program = glCreateProgram();
    glAttachShader(program, shader);
    bool ok = mmd_gl_program_link(program, err);
    glDetachShader(program, shader);
    glDeleteShader(shader);
    if (ok)
        return program;
    glDeleteProgram(program);
    return 0;
}

GLuint mmd_gl_skin_program_get(mmd_gl_context *context, const mmd_gl_skin_variant *variant,
                               mmd_error *err)
{
    if (!context->skin_programs)
        context->skin_programs =
            mmd_arena_alloc(&context->arena, 1, sizeof *context->skin_programs);
    if (!context->skin_programs) {
        mmd_fail_memory(err);
        return 0;
    }
    GLuint *program = &context->skin_programs->variants[variant_index(variant)];
    if (!*program)
        *program = make_program(variant, err);
    return *program;
}
