/* SPDX-License-Identifier: MIT */
/* Makes the programs that render, from shaders/, which the build embeds as shaders.h. */
#include "gl/gl_renderer.h"

#include "core/base/error.h"

#include "shaders.h"

/* The macros: the names of all passes and of what a variant may have, and the values of this one.
 */
static GLuint make_program(mmd_gl_render_pass pass, mmd_gl_look_variant variant, mmd_error *err)
{
    const mmd_gl_macro macros[] = {
#define PASS_MACRO(name) {#name, MMD_GL_PASS_##name},
        MMD_GL_RENDER_PASSES(PASS_MACRO)
#undef PASS_MACRO
#define ATTRIBUTE_MACRO(name) {#name, MMD_GL_RENDER_##name},
            MMD_GL_RENDER_ATTRIBUTES(ATTRIBUTE_MACRO)
#undef ATTRIBUTE_MACRO
#define UNIT_MACRO(name) {#name "_UNIT", MMD_GL_##name##_UNIT},
                MMD_GL_RENDER_UNITS(UNIT_MACRO)
#undef UNIT_MACRO
                    {"PASS", pass},
        {"NONE", MMD_SPHERE_NONE},
        {"MULTIPLY", MMD_SPHERE_MULTIPLY},
        {"ADD", MMD_SPHERE_ADD},
        {"SUB_TEXTURE", MMD_SPHERE_SUB_TEXTURE},
        {"TEXTURED", variant.textured},
        {"TOON", variant.toon},
        {"SPECULAR", variant.specular},
        {"SELF_SHADOW", variant.self_shadow},
        {"RECEIVES", variant.receives},
        {"SPHERE", variant.sphere}};
    bool resolves = pass == MMD_GL_PASS_RESOLVE || pass == MMD_GL_PASS_RESOLVE_SRGB;
    bool looks = pass == MMD_GL_PASS_LOOK || pass == MMD_GL_PASS_GROUND_SHADOW ||
                 pass == MMD_GL_PASS_SHADOW_MAP;
    const char *vertex = resolves ? mmd_shader_resolve_vert
                         : looks  ? mmd_shader_look_vert
                                  : mmd_shader_render_vert;
    const char *fragment = resolves ? mmd_shader_resolve_frag
                           : looks  ? mmd_shader_look_frag
                                    : mmd_shader_render_frag;
    const char *uniforms = mmd_shader_uniforms_glsl, *rescale = mmd_shader_rescale_glsl;
    const mmd_gl_stage stages[] = {{GL_VERTEX_SHADER, {uniforms, rescale, vertex}},
                                   {GL_FRAGMENT_SHADER, {uniforms, rescale, fragment}}};
    return mmd_gl_program_make(macros, sizeof macros / sizeof *macros, 0, stages, 2, err);
}

static GLuint compile(const mmd_gl_context *context, mmd_gl_render_pass pass,
                      mmd_gl_look_variant variant, GLuint *program, mmd_error *err)
{
    if (!*program && !mmd_gl_is_interrupted(context, err))
        *program = make_program(pass, variant, err);
    return *program;
}

const mmd_gl_render_programs *mmd_gl_render_programs_get(mmd_gl_context *context, mmd_error *err)
{
    const mmd_gl_look_variant none = {.index = 0};
    if (!MMD_GL_CONTEXT_KEEP(context, render_programs, err))
        return NULL;
    mmd_gl_render_programs *programs = context->render_programs;
    for (mmd_gl_render_pass pass = 0; pass < MMD_GL_PASS_LOOK; pass++)
        if (!compile(context, pass, none, &programs->passes[pass], err))
            return NULL;
    return programs;
}

GLuint mmd_gl_look_program_get(mmd_gl_context *context, mmd_gl_look_variant variant, mmd_error *err)
{
    return compile(context, MMD_GL_PASS_LOOK, variant,
                   &context->render_programs->looks[variant.index], err);
}
