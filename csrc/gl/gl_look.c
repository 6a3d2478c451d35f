/* SPDX-License-Identifier: MIT */
/* Draws a frame in the look of MMD: docs/look.md has its rules and where they are from. */
#include "gl/gl_look.h"

#include "gl/gl_ground_shadow.h"
#include "gl/gl_shadow_map.h"

#include <math.h>
#include <string.h>

static double clamp01(double x)
{
    return fmin(fmax(x, 0), 1);
}

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

/* X' = lerp(neutral, X * factor + summand, strength) as X * out[0..2] + out[3..5]. */
static void combine_factors(const float *factors, int texture, double neutral, float out[6])
{
    const float *multiply = factors + 4 * texture, *add = multiply + 3 * 4;
    double strength = (double)multiply[3] + (double)add[3];
    for (int i = 0; i < 3; i++) {
        out[i] = (float)(strength * (double)multiply[i]);
        out[3 + i] = (float)(neutral + strength * ((double)add[i] - neutral));
    }
}

/* The lower end of the toon, where no light comes from. */
static void set_shaded_toon(const mmd_gl_renderer *r, const mmd_gl_render_program *program,
                            const mmd_render_material *material, const float factors[6])
{
    const mmd_render_effects *effects = &r->resources.job->effects;
    const uint8_t *end;
    if (material->shared_toon >= 0) {
        end = effects->toons + 4 * effects->toon_rows * ((size_t)material->shared_toon + 1) - 4;
    } else {
        const mmd_render_texture *image = &r->resources.job->textures[material->toon_texture];
        end = image->pixels + 4 * image->width * (image->height - 1);
    }
    float color[3];
    for (int i = 0; i < 3; i++)
        color[i] = (float)end[i] / UINT8_MAX * factors[i] + factors[3 + i];
    glUniform3fv(program->shaded_toon, 1, color);
}

static void set_factors(const mmd_gl_renderer *r, const mmd_gl_render_program *program,
                        size_t material)
{
    static const float neutral[2 * 3 * 4] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const mmd_render_job *job = r->resources.job;
    const float *factors = job->effects.factors ? job->effects.factors + 24 * material : neutral;
    bool adds = job->materials[material].sphere_mode == MMD_SPHERE_ADD;
    float combined[3 * 6];
    combine_factors(factors, 0, 1, combined);
    combine_factors(factors, 1, adds ? 0 : 1, combined + 6);
    combine_factors(factors, 2, 1, combined + 12);
    glUniform3fv(program->texture_factors, 6, combined);
    if (toon_texture(r, &job->materials[material]))
        set_shaded_toon(r, program, &job->materials[material], combined + 12);
}

static void set_material(const mmd_gl_renderer *r, const mmd_gl_render_program *program,
                         size_t index)
{
    const mmd_render_material *material = &r->resources.job->materials[index];
    const float *light = mmd_gl_renderer_light_color(r);
    float diffuse[3], specular[3];
    for (int i = 0; i < 3; i++) {
        diffuse[i] = (float)clamp01((double)material->ambient[i] +
                                    (double)light[i] * (double)material->diffuse[i]);
        specular[i] = material->specular[i] * light[i];
    }
    glUniform4f(program->diffuse, diffuse[0], diffuse[1], diffuse[2],
                mmd_gl_clamp01(material->diffuse[3]));
    glUniform4f(program->specular, specular[0], specular[1], specular[2], material->specular_power);
    set_factors(r, program, index);
}

static mmd_gl_look_variant variant_of(const mmd_gl_renderer *r, const mmd_render_material *material,
                                      const mmd_gl_shadow_view *shadow)
{
    bool mapped = material->sphere_texture >= 0;
    return (mmd_gl_look_variant){.textured = material->texture >= 0,
                                 .toon = toon_texture(r, material) != 0,
                                 .specular = material->specular_power > 0,
                                 .self_shadow = r->resources.job->effects.self_shadow,
                                 .receives = shadow &&
                                             (material->flags & MMD_MATERIAL_RECEIVES_SELF_SHADOW),
                                 .sphere = mapped ? material->sphere_mode : MMD_SPHERE_NONE};
}

static void set_lights(const mmd_gl_renderer *r, const mmd_gl_render_program *program,
                       const mmd_gl_shadow_view *shadow)
{
    double to_light[3];
    mmd_gl_renderer_to_view(r, r->view.to_light, to_light);
    glUniform3f(program->to_light, (float)to_light[0], (float)to_light[1], (float)to_light[2]);
    if (shadow) {
        glUniformMatrix4fv(program->shadow_matrix, 1, GL_TRUE, shadow->receiver);
        glUniform1f(program->shadow_offset, shadow->offset);
    }
}

static bool draw_surfaces(const mmd_gl_renderer *r, const mmd_gl_shadow_view *shadow,
                          mmd_error *err)
{
    const mmd_render_job *job = r->resources.job;
    const mmd_gl_render_program *used = NULL;
    mmd_gl1.CullFace(GL_BACK);
    mmd_gl1.Enable(GL_DEPTH_TEST);
    mmd_gl1.Enable(GL_BLEND);
    size_t first = 0;
    for (size_t i = 0; i < job->material_count; first += job->materials[i++].triangle_count) {
        const mmd_render_material *material = &job->materials[i];
        if (!mmd_gl_renderer_is_visible(material))
            continue;
        mmd_gl_look_variant variant = variant_of(r, material, shadow);
        const mmd_gl_render_program *program = mmd_gl_look_program_get(r->context, &variant, err);
        if (!program)
            return false;
        if (program != used) {
            mmd_gl_renderer_use(r, program);
            set_lights(r, program, shadow);
            used = program;
        }
        if (variant.textured)
            bind_texture(MMD_GL_TEXTURE_UNIT, r->resources.textures[material->texture]);
        if (variant.sphere != MMD_SPHERE_NONE)
            bind_texture(MMD_GL_SPHERE_UNIT, r->resources.textures[material->sphere_texture]);
        if (variant.toon)
            bind_texture(MMD_GL_TOON_UNIT, toon_texture(r, material));
        set_material(r, program, i);
        bool both_sides = material->flags & MMD_MATERIAL_DOUBLE_SIDED;
        both_sides ? mmd_gl1.Disable(GL_CULL_FACE) : mmd_gl1.Enable(GL_CULL_FACE);
        mmd_gl_renderer_draw(first, material->triangle_count);
    }
    return true;
}

/* After all surfaces of the model: which is first needs a capture of MMD, and differs only where
   surfaces are translucent. */
static void draw_edges(const mmd_gl_renderer *r)
{
    const mmd_render_job *job = r->resources.job;
    const mmd_gl_render_program *program = &r->programs->passes[MMD_GL_PASS_EDGE];
    double unit = mmd_gl_renderer_edge_unit(r);
    mmd_gl_renderer_use(r, program);
    mmd_gl1.CullFace(GL_FRONT);
    mmd_gl1.Enable(GL_CULL_FACE);
    size_t first = 0;
    for (size_t i = 0; i < job->material_count; i++) {
        const mmd_render_material *material = &job->materials[i];
        const float *color = material->edge_color;
        if (mmd_gl_renderer_is_visible(material) && (material->flags & MMD_MATERIAL_EDGE) &&
            material->edge_size > 0 && color[3] > 0) {
            glUniform4f(program->edge_color, mmd_gl_clamp01(color[0]), mmd_gl_clamp01(color[1]),
                        mmd_gl_clamp01(color[2]), mmd_gl_clamp01(color[3]));
            glUniform1f(program->edge_size, (float)(unit * (double)material->edge_size));
            mmd_gl_renderer_draw(first, material->triangle_count);
        }
        first += material->triangle_count;
    }
}

bool mmd_gl_look_draw(const mmd_gl_renderer *r, mmd_error *err)
{
    mmd_gl_shadow_view view;
    const mmd_gl_shadow_view *shadow = NULL;
    if (mmd_gl_render_targets_has_shadow_map(r->resources.job) && mmd_gl_shadow_map_fit(r, &view)) {
        shadow = &view;
        mmd_gl_shadow_map_draw(r, shadow);
    }
    mmd_gl_ground_shadow_draw(r);
    mmd_gl_renderer_begin(r, &r->programs->passes[MMD_GL_PASS_EDGE],
                          &r->resources.targets->samples);
    bind_texture(MMD_GL_SHADOW_UNIT, r->resources.targets->shadow.texture);
    bool drawn = draw_surfaces(r, shadow, err);
    if (drawn && r->resources.job->edges)
        draw_edges(r);
    glActiveTexture(GL_TEXTURE0 + MMD_GL_TEXTURE_UNIT);
    return drawn;
}
