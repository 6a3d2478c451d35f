/* SPDX-License-Identifier: MIT */
/* Makes the programs that render, from shaders/, which the build embeds as shaders.h. */
#include "gl/gl_render_program.h"

#include "core/base/error.h"
#include "gl/gl_program.h"

#include "shaders.h"

#include <stdio.h>

enum { HEADER_SIZE = 1024 };

static const char *const attributes[MMD_GL_RENDER_ATTRIBUTE_COUNT] = {
    "position", "normal", "uv", "edge_scale", "additional_uv"};

static GLuint compile_stage(GLenum stage, const char *header, const char *source, mmd_error *err)
{
    const char *sources[] = {header, mmd_shader_rescale_glsl, source};
    return mmd_gl_program_compile(stage, sources, 3, err);
}

static void find_uniforms(mmd_gl_render_program *program)
{
#define FIND_UNIFORM(uniform) program->uniform = glGetUniformLocation(program->name, #uniform);
    MMD_GL_RENDER_UNIFORMS(FIND_UNIFORM)
#undef FIND_UNIFORM
    glUseProgram(program->name);
    glUniform1i(program->diffuse_texture, MMD_GL_TEXTURE_UNIT);
    glUniform1i(program->color_samples, MMD_GL_TEXTURE_UNIT);
    glUniform1i(program->triangles, MMD_GL_TRIANGLES_UNIT);
    glUniform1i(program->view_positions, MMD_GL_POSITIONS_UNIT);
    glUniform1i(program->sphere_texture, MMD_GL_SPHERE_UNIT);
    glUniform1i(program->toon_texture, MMD_GL_TOON_UNIT);
    glUniform1i(program->shadow_map, MMD_GL_SHADOW_UNIT);
}

/* The names of all passes and of what a variant may have, and the values of this one. */
static void write_header(mmd_gl_render_pass pass, const mmd_gl_look_variant *variant,
                         char header[HEADER_SIZE])
{
    const struct {
        const char *name;
        int value;
    } macros[] = {
#define PASS_MACRO(name) {#name, MMD_GL_PASS_##name},
        MMD_GL_RENDER_PASSES(PASS_MACRO)
#undef PASS_MACRO
            {"PASS", (int)pass},
        {"NONE", MMD_SPHERE_NONE},
        {"MULTIPLY", MMD_SPHERE_MULTIPLY},
        {"ADD", MMD_SPHERE_ADD},
        {"SUB_TEXTURE", MMD_SPHERE_SUB_TEXTURE},
        {"TEXTURED", variant->textured},
        {"TOON", variant->toon},
        {"SPECULAR", variant->specular},
        {"SELF_SHADOW", variant->self_shadow},
        {"RECEIVES", variant->receives},
        {"SPHERE", (int)variant->sphere}};
    int used = snprintf(header, HEADER_SIZE, "#version 330 core\n");
    for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
        used += snprintf(header + used, HEADER_SIZE - (size_t)used, "#define %s %d\n",
                         macros[i].name, macros[i].value);
}

typedef struct stage_sources {
    const char *vertex,
        *fragment; /* without fragments, what the vertex shader writes is captured */
} stage_sources;

static stage_sources sources_of(mmd_gl_render_pass pass)
{
    switch (pass) {
    case MMD_GL_PASS_RESOLVE:
    case MMD_GL_PASS_RESOLVE_SRGB:
        return (stage_sources){mmd_shader_resolve_vert, mmd_shader_resolve_frag};
    case MMD_GL_PASS_VIEW:
        return (stage_sources){mmd_shader_view_vert, NULL};
    case MMD_GL_PASS_LOOK:
    case MMD_GL_PASS_GROUND_SHADOW:
    case MMD_GL_PASS_SHADOW_MAP:
        return (stage_sources){mmd_shader_look_vert, mmd_shader_look_frag};
    default:
        return (stage_sources){mmd_shader_render_vert, mmd_shader_render_frag};
    }
}

static bool make_program(mmd_gl_render_program *out, mmd_gl_render_pass pass,
                         const mmd_gl_look_variant *variant, mmd_error *err)
{
    char header[HEADER_SIZE];
    write_header(pass, variant, header);
    stage_sources sources = sources_of(pass);
    GLuint vertex = compile_stage(GL_VERTEX_SHADER, header, sources.vertex, err), fragment = 0;
    bool compiled = vertex;
    if (compiled && sources.fragment) {
        fragment = compile_stage(GL_FRAGMENT_SHADER, header, sources.fragment, err);
        compiled = fragment;
    }
    GLuint name = compiled ? glCreateProgram() : 0;
    if (name) {
        static const char *const captured[] = {"view_position"};
        glAttachShader(name, vertex);
        if (fragment)
            glAttachShader(name, fragment);
        else
            glTransformFeedbackVaryings(name, 1, captured, GL_SEPARATE_ATTRIBS);
        for (GLuint i = 0; i < MMD_GL_RENDER_ATTRIBUTE_COUNT; i++)
            glBindAttribLocation(name, i, attributes[i]);
        glBindAttribLocation(name, MMD_GL_RENDER_POSITION,
                             fragment ? "position" : "model_position");
    }
    bool linked = name && mmd_gl_program_link(name, err);
    glDeleteShader(vertex);
    glDeleteShader(fragment);
    if (!linked) {
        glDeleteProgram(name);
        return false;
    }
    out->name = name;
    find_uniforms(out);
    return true;
}

const mmd_gl_render_programs *mmd_gl_render_programs_get(mmd_gl_context *context, mmd_error *err)
{
    static const mmd_gl_look_variant none = {0};
    if (context->render_programs)
        return context->render_programs;
    mmd_gl_render_programs *made = mmd_arena_alloc(&context->arena, 1, sizeof *made);
    if (!made) {
        mmd_fail_memory(err);
        return NULL;
    }
    for (int pass = 0; pass < MMD_GL_PASS_LOOK; pass++)
        if (!make_program(&made->passes[pass], (mmd_gl_render_pass)pass, &none, err)) {
            while (pass-- > 0)
                glDeleteProgram(made->passes[pass].name);
            return NULL;
        }
    return context->render_programs = made;
}

static size_t variant_index(const mmd_gl_look_variant *v)
{
    const bool has[] = {v->textured, v->toon, v->specular, v->self_shadow, v->receives};
    size_t index = v->sphere;
    for (size_t i = 0; i < sizeof has / sizeof *has; i++)
        index = 2 * index + has[i];
    return index;
}

const mmd_gl_render_program *mmd_gl_look_program_get(mmd_gl_context *context,
                                                     const mmd_gl_look_variant *variant,
                                                     mmd_error *err)
{
    mmd_gl_render_program *program = &context->render_programs->looks[variant_index(variant)];
    return program->name || make_program(program, MMD_GL_PASS_LOOK, variant, err) ? program : NULL;
}
