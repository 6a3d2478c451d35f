/* SPDX-License-Identifier: MIT */
/* Draws a frame in the look of MMD: docs/look.md has its rules and where they are from. */
#include "gl/gl_look.h"

#include "gl/gl_ground_shadow.h"
#include "gl/gl_shadow_map.h"

static void bind_texture(GLenum unit, GLuint texture)
{
    glActiveTexture(GL_TEXTURE0 + unit);
    mmd_gl1.BindTexture(GL_TEXTURE_2D, texture);
}

static GLuint toon_texture(const mmd_gl_renderer *r, const mmd_render_material *material)
{
    if (material->shared_toon >= 0)
        return r->resources.toons[material->shared_toon];
    return material->toon_texture >= 0 ? r->resources.textures[material->toon_texture] : 0;
}

static mmd_gl_look_variant variant_of(const mmd_gl_renderer *r, const mmd_render_material *material)
{
    bool mapped = material->sphere_texture >= 0;
    return (mmd_gl_look_variant){.textured = material->texture >= 0,
                                 .toon = toon_texture(r, material) != 0,
                                 .specular = material->specular_power > 0,
                                 .self_shadow = r->resources.job->effects.self_shadow,
                                 .receives = r->has_shadow_map &&
                                             (material->flags & MMD_MATERIAL_RECEIVES_SELF_SHADOW),
                                 .sphere = mapped ? material->sphere_mode : MMD_SPHERE_NONE};
}

static bool draw_surfaces(const mmd_gl_renderer *r, mmd_error *err)
{
    const mmd_render_job *job = r->resources.job;
    mmd_gl1.CullFace(GL_BACK);
    mmd_gl1.Enable(GL_DEPTH_TEST);
    mmd_gl1.Enable(GL_BLEND);
    GLuint used = 0;
    size_t first = 0;
    for (size_t i = 0; i < job->material_count; first += job->materials[i++].triangle_count) {
        const mmd_render_material *material = &job->materials[i];
        if (!mmd_gl_renderer_is_visible(material))
            continue;
        mmd_gl_look_variant variant = variant_of(r, material);
        GLuint program = mmd_gl_look_program_get(r->context, &variant, err);
        if (!program)
            return false;
        if (program != used)
            mmd_gl_renderer_begin(program, &r->resources.targets->samples);
        used = program;
        if (variant.textured)
            bind_texture(MMD_GL_TEXTURE_UNIT, r->resources.textures[material->texture]);
        if (variant.sphere != MMD_SPHERE_NONE)
            bind_texture(MMD_GL_SPHERE_UNIT, r->resources.textures[material->sphere_texture]);
        if (variant.toon)
            bind_texture(MMD_GL_TOON_UNIT, toon_texture(r, material));
        mmd_gl_renderer_draw_material(r, i, first);
    }
    return true;
}

bool mmd_gl_look_draw(const mmd_gl_renderer *r, mmd_error *err)
{
    if (r->has_shadow_map)
        mmd_gl_shadow_map_draw(r);
    if (r->has_ground_shadow)
        mmd_gl_ground_shadow_draw(r);
    bind_texture(MMD_GL_SHADOW_UNIT, r->resources.targets->shadow.texture);
    bool drawn = draw_surfaces(r, err);
    if (drawn && r->resources.job->edges)
        mmd_gl_renderer_draw_edges(r);
    glActiveTexture(GL_TEXTURE0 + MMD_GL_TEXTURE_UNIT);
    return drawn;
}
