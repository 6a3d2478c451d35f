/* SPDX-License-Identifier: MIT */
#include "gl/gl_painter.h"

#include "core/base/error.h"
#include "gl/gl_program.h"

#include "shaders.h"

#include <stdio.h>

static const char *const input_names[INPUTS] = {"position", "normal", "uv", "edge_scale"};

static GLuint compile_stage(GLenum stage, const char *header, const char *source, mmd_error *err)
{
    const char *sources[] = {header, mmd_shader_scaled_glsl, source};
    return mmd_gl_compile(stage, sources, 3, err);
}

static bool make_painter(mmd_gl_painter *out, enum mmd_gl_pass pass, mmd_error *err)
{
    char header[256];
    int used = snprintf(header, sizeof header, "#version 330 core\n#define PASS %d\n", (int)pass);
#define PASS_MACRO(name)                                                                           \
    used += snprintf(header + used, sizeof header - (size_t)used, "#define " #name " %d\n",        \
                     (int)(name));
    PASSES(PASS_MACRO)
#undef PASS_MACRO
    bool resolves = pass == RESOLVE;
    GLuint vertex = compile_stage(GL_VERTEX_SHADER, header,
                                  resolves ? mmd_shader_resolve_vert : mmd_shader_render_vert, err);
    GLuint fragment =
        vertex ? compile_stage(GL_FRAGMENT_SHADER, header,
                               resolves ? mmd_shader_resolve_frag : mmd_shader_render_frag, err)
               : 0;
    GLuint name = fragment ? glCreateProgram() : 0;
    if (name) {
        glAttachShader(name, vertex);
        glAttachShader(name, fragment);
        for (GLuint i = 0; !resolves && i < INPUTS; i++)
            glBindAttribLocation(name, i, input_names[i]);
    }
    bool linked = name && mmd_gl_link(name, err);
    glDeleteShader(vertex);
    glDeleteShader(fragment);
    if (!linked) {
        glDeleteProgram(name);
        return false;
    }
    out->name = name;
#define FIND_UNIFORM(uniform) out->uniform = glGetUniformLocation(name, #uniform);
    UNIFORMS(FIND_UNIFORM)
#undef FIND_UNIFORM
    glUseProgram(name);
    glUniform1i(out->image, IMAGE_UNIT);
    glUniform1i(out->drawn, IMAGE_UNIT);
    glUniform1i(out->triangles, TRIANGLES_UNIT);
    glUniform1i(out->positions, POSITIONS_UNIT);
    return true;
}

const struct mmd_gl_painters *mmd_gl_painters_of(mmd_gl_context *context, mmd_error *err)
{
    if (context->painters)
        return context->painters;
    struct mmd_gl_painters *made = mmd_arena_alloc(&context->arena, 1, sizeof *made);
    if (!made) {
        mmd_fail_memory(err);
        return NULL;
    }
    for (int pass = 0; pass < PASS_COUNT; pass++)
        if (!make_painter(&made->of[pass], (enum mmd_gl_pass)pass, err)) {
            while (pass-- > 0)
                glDeleteProgram(made->of[pass].name);
            return NULL;
        }
    return context->painters = made;
}
