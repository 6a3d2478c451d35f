/* SPDX-License-Identifier: MIT */
/* Draws a frame in the look of MMD: docs/look.md has its rules and where they are from. */
#include "gl/gl_look.h"

#include "core/math/vec3.h"

#include <math.h>
#include <string.h>

/* The depth map's bias against shadows of a surface on itself, and its empty border, in pixels. */
static const double SHADOW_OFFSET = 1.5, SHADOW_BIAS = 0.5, SHADOW_BORDER = 2;

static double clamp01(double x)
{
    return fmin(fmax(x, 0), 1);
}

const float *mmd_gl_look_light_color(const mmd_gl_renderer *r)
{
    const mmd_render_effects *effects = &r->resources.job->effects;
    return effects->light_colors + (effects->light_color_frames > 1 ? 3 * r->frame : 0);
}

static void bind_texture(GLenum unit, GLuint texture)
{
    glActiveTexture(GL_TEXTURE0 + unit);
    mmd_gl1.BindTexture(GL_TEXTURE_2D, texture);
}

void mmd_gl_look_to_view(const mmd_gl_renderer *r, const double v[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = mmd_vec3_dot(r->view.rotation[i], v);
}

/* The depth map */

typedef struct shadow_view {
    float caster[16], receiver[16]; /* row-major: view space to the map, 0 to 1 */
    double texel;                   /* size of a pixel of the map in model units */
} shadow_view;

/* A box along three axes. */
typedef struct bounds {
    double min[3], max[3];
} bounds;

static const bounds nothing = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static void add_triangle(bounds *box, double axes[3][3], const float *const corners[3])
{
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 3; i++) {
            const float *p = corners[c];
            double x =
                axes[i][0] * (double)p[0] + axes[i][1] * (double)p[1] + axes[i][2] * (double)p[2];
            box->min[i] = x < box->min[i] ? x : box->min[i];
            box->max[i] = x > box->max[i] ? x : box->max[i];
        }
}

/* Whether a triangle may be in the picture: its corners are not all beyond the same side. */
static bool may_be_seen(const mmd_gl_renderer *r, const float *const corners[3])
{
    int beyond[5] = {0};
    for (int c = 0; c < 3; c++) {
        double z = (double)corners[c][2];
        beyond[4] += z <= 0;
        for (int i = 0; i < 2; i++) {
            double limit = z * r->view.half_extent[i], x = (double)corners[c][i];
            beyond[i] += x > limit;
            beyond[2 + i] += x < -limit;
        }
    }
    for (int i = 0; i < 5; i++)
        if (beyond[i] == 3)
            return false;
    return true;
}

/* Bounds of what casts shadows, and of what is in the picture and receives them. */
static void find_bounds(const mmd_gl_renderer *r, double axes[3][3], bounds *casting,
                        bounds *receiving)
{
    const mmd_render_job *job = r->resources.job;
    const int32_t *corner = job->triangles;
    *casting = *receiving = nothing;
    for (size_t m = 0; m < job->material_count; m++) {
        const mmd_render_material *material = &job->materials[m];
        const int32_t *end = corner + 3 * material->triangle_count;
        bool casts = material->flags & MMD_MATERIAL_CASTS_SELF_SHADOW;
        bool receives = material->flags & MMD_MATERIAL_RECEIVES_SELF_SHADOW;
        for (; mmd_gl_look_is_drawn(material) && corner < end; corner += 3) {
            const float *corners[3];
            for (int c = 0; c < 3; c++)
                corners[c] = r->view_positions + 4 * (size_t)corner[c];
            if (casts)
                add_triangle(casting, axes, corners);
            if (receives && may_be_seen(r, corners))
                add_triangle(receiving, axes, corners);
        }
        corner = end;
    }
}

/* Fits the map to what is seen of what casts shadows: an orthographic view along the light. False
   if there is nothing. */
static bool fit_shadow_view(const mmd_gl_renderer *r, shadow_view *out)
{
    double to_light[3], axes[3][3];
    bounds box, receiving;
    mmd_gl_look_to_view(r, r->view.to_light, to_light);
    for (int i = 0; i < 3; i++)
        axes[2][i] = -to_light[i];
    mmd_vec3_perpendicular(axes[2], axes[0]);
    mmd_vec3_cross(axes[2], axes[0], axes[1]);
    find_bounds(r, axes, &box, &receiving);
    for (int i = 0; i < 2; i++) {
        box.min[i] = fmax(box.min[i], receiving.min[i]);
        box.max[i] = fmin(box.max[i], receiving.max[i]);
        if (!(box.min[i] <= box.max[i]))
            return false;
    }
    double size = fmax(box.max[0] - box.min[0], box.max[1] - box.min[1]);
    double pixels = (double)r->resources.targets->shadow.width;
    size = size > 0 ? size : 1;
    out->texel = size / (pixels - 2 * SHADOW_BORDER);
    size = out->texel * pixels;
    double depth = box.max[2] - box.min[2] + 2 * out->texel;
    const double lengths[3] = {size, size, depth};
    for (int i = 0; i < 3; i++) {
        double middle = (box.min[i] + box.max[i]) / 2;
        for (int k = 0; k < 3; k++)
            out->caster[4 * i + k] = (float)(axes[i][k] / lengths[i]);
        out->caster[4 * i + 3] = (float)(0.5 - middle / lengths[i]);
    }
    const float last[4] = {0, 0, 0, 1};
    memcpy(out->caster + 12, last, sizeof last);
    memcpy(out->receiver, out->caster, sizeof out->receiver);
    out->receiver[4 * 2 + 3] -= (float)(SHADOW_BIAS * out->texel / depth);
    return true;
}

void mmd_gl_look_draw_flagged(const mmd_gl_renderer *r, uint8_t flag, bool culled)
{
    const mmd_render_job *job = r->resources.job;
    size_t first = 0, count = 0;
    bool cull = false;
    for (size_t i = 0; i <= job->material_count; i++) {
        const mmd_render_material *material = i < job->material_count ? &job->materials[i] : NULL;
        bool drawn = material && mmd_gl_look_is_drawn(material) && (material->flags & flag);
        bool culls = drawn && culled && !(material->flags & MMD_MATERIAL_DOUBLE_SIDED);
        if (count && (!drawn || culls != cull)) {
            cull ? mmd_gl1.Enable(GL_CULL_FACE) : mmd_gl1.Disable(GL_CULL_FACE);
            mmd_gl_renderer_draw(first, count);
            first += count;
            count = 0;
        }
        cull = culls;
        if (drawn)
            count += material->triangle_count;
        else if (material)
            first += material->triangle_count;
    }
}

/* Single-sided surfaces cast shadows where the light sees their front: closed ones are the same
   from both sides, and half the triangles are enough. */
static void draw_shadow_map(const mmd_gl_renderer *r, const shadow_view *view)
{
    static const GLfloat farthest = 1;
    const mmd_gl_render_program *program = &r->programs->passes[MMD_GL_PASS_SHADOW_MAP];
    mmd_gl_renderer_begin(r, program, &r->resources.targets->shadow);
    glClearBufferfv(GL_DEPTH, 0, &farthest);
    glUniformMatrix4fv(program->shadow_matrix, 1, GL_TRUE, view->caster);
    mmd_gl1.CullFace(GL_FRONT); /* as it counts in the map, which is not upside down as the image */
    mmd_gl1.Enable(GL_DEPTH_TEST);
    mmd_gl_look_draw_flagged(r, MMD_MATERIAL_CASTS_SELF_SHADOW, true);
}

/* Surfaces and edges */

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
}

static void set_material(const mmd_gl_renderer *r, const mmd_gl_render_program *program,
                         size_t index)
{
    const mmd_render_material *material = &r->resources.job->materials[index];
    const float *light = mmd_gl_look_light_color(r);
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

static mmd_gl_look_variant variant_of(const mmd_gl_renderer *r, const mmd_render_material *material)
{
    bool mapped = material->sphere_texture >= 0;
    return (mmd_gl_look_variant){.textured = material->texture >= 0,
                                 .toon = toon_texture(r, material) != 0,
                                 .specular = material->specular_power > 0,
                                 .self_shadow = r->resources.job->effects.self_shadow,
                                 .sphere = mapped ? material->sphere_mode : MMD_SPHERE_NONE};
}

static void set_lights(const mmd_gl_renderer *r, const mmd_gl_render_program *program,
                       const shadow_view *shadow)
{
    double to_light[3];
    mmd_gl_look_to_view(r, r->view.to_light, to_light);
    glUniform3f(program->to_light, (float)to_light[0], (float)to_light[1], (float)to_light[2]);
    if (shadow)
        glUniformMatrix4fv(program->shadow_matrix, 1, GL_TRUE, shadow->receiver);
}

static bool draw_surfaces(const mmd_gl_renderer *r, const shadow_view *shadow, mmd_error *err)
{
    const mmd_render_job *job = r->resources.job;
    const mmd_gl_render_program *used = NULL;
    mmd_gl1.CullFace(GL_BACK);
    mmd_gl1.Enable(GL_DEPTH_TEST);
    mmd_gl1.Enable(GL_BLEND);
    size_t first = 0;
    for (size_t i = 0; i < job->material_count; first += job->materials[i++].triangle_count) {
        const mmd_render_material *material = &job->materials[i];
        if (!mmd_gl_look_is_drawn(material))
            continue;
        mmd_gl_look_variant variant = variant_of(r, material);
        const mmd_gl_render_program *program = mmd_gl_look_program_get(r->context, &variant, err);
        if (!program)
            return false;
        if (program != used) {
            mmd_gl_renderer_use(r, program);
            set_lights(r, program, shadow);
            used = program;
        }
        bool receives = shadow && (material->flags & MMD_MATERIAL_RECEIVES_SELF_SHADOW);
        glUniform1f(program->shadow_offset, receives ? (float)(SHADOW_OFFSET * shadow->texel) : -1);
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
        if (mmd_gl_look_is_drawn(material) && (material->flags & MMD_MATERIAL_EDGE) &&
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
    shadow_view view;
    const shadow_view *shadow = NULL;
    if (mmd_gl_render_targets_has_shadow_map(r->resources.job) && fit_shadow_view(r, &view)) {
        shadow = &view;
        draw_shadow_map(r, shadow);
    }
    if (!mmd_gl_ground_shadow_draw(r, err))
        return false;
    mmd_gl_renderer_begin(r, &r->programs->passes[MMD_GL_PASS_EDGE],
                          &r->resources.targets->samples);
    bind_texture(MMD_GL_SHADOW_UNIT, r->resources.targets->shadow.texture);
    bool drawn = draw_surfaces(r, shadow, err);
    if (drawn && r->resources.job->edges)
        draw_edges(r);
    glActiveTexture(GL_TEXTURE0 + MMD_GL_TEXTURE_UNIT);
    return drawn;
}
