/* SPDX-License-Identifier: MIT */
/* Draws a frame in the look of MMD: docs/look.md has its rules and where they are from. */
#include "gl/gl_renderer.h"

#include "core/math/mat3.h"

#include <math.h>

/* The depth map of the light in the look of MMD, for shadows of surfaces on each other. */

/* The depth map's bias against shadows of a surface on itself, and its empty border, in pixels. */
static const double OFFSET = 1.5, BIAS = 0.5, BORDER = 2;

/* A box along three axes; the fourth number is unused. */
typedef struct bounds {
    mmd_float4 min, max;
} bounds;

static const bounds nothing = {{INFINITY, INFINITY, INFINITY, INFINITY},
                               {-INFINITY, -INFINITY, -INFINITY, -INFINITY}};

static void add_bounds(bounds *to, const bounds *box)
{
    to->min = mmd_float4_min(to->min, box->min);
    to->max = mmd_float4_max(to->max, box->max);
}

/* The columns of a matrix whose rows are the axes. */
static void columns_of(double axes[3][3], mmd_float4 columns[3])
{
    for (int i = 0; i < 3; i++)
        columns[i] = (mmd_float4){(float)axes[0][i], (float)axes[1][i], (float)axes[2][i]};
}

static mmd_float4 transform(const mmd_float4 columns[3], const float *p)
{
    return p[0] * columns[0] + p[1] * columns[1] + p[2] * columns[2];
}

static bounds bounds_of(const mmd_float4 columns[3], const float *const corners[3])
{
    mmd_float4 a = transform(columns, corners[0]), b = transform(columns, corners[1]),
               c = transform(columns, corners[2]);
    return (bounds){mmd_float4_min(mmd_float4_min(a, b), c),
                    mmd_float4_max(mmd_float4_max(a, b), c)};
}

/* Whether a triangle may be in the picture: its corners are not all beyond the same side. */
static bool may_be_seen(const mmd_gl_renderer *r, const float *const corners[3])
{
    const float x = (float)r->view.half_extent[0], y = (float)r->view.half_extent[1];
    const mmd_float4 limits = {x, x, y, y};
    mmd_float4_bits beyond = ~(mmd_float4_bits){0};
    bool behind = true;
    for (int c = 0; c < 3; c++) {
        const float *p = corners[c];
        beyond &= (mmd_float4){p[0], -p[0], p[1], -p[1]} > p[2] * limits;
        behind = behind && p[2] <= 0;
    }
    return !behind && !(beyond[0] | beyond[1] | beyond[2] | beyond[3]);
}

/* Bounds of what casts shadows, and of what is in the picture and receives them. */
static void find_bounds(const mmd_gl_renderer *r, double axes[3][3], bounds *casting,
                        bounds *receiving)
{
    const mmd_render_job *job = r->job;
    const int32_t *corner = job->triangles;
    mmd_float4 columns[3];
    columns_of(axes, columns);
    *casting = *receiving = nothing;
    for (size_t m = 0; m < job->material_count; m++) {
        const mmd_material *material = &job->materials[m];
        const int32_t *end = corner + 3 * mmd_render_triangle_count(material);
        bool casts = material->flags & MMD_MATERIAL_CASTS_SELF_SHADOW;
        bool receives = material->flags & MMD_MATERIAL_RECEIVES_SELF_SHADOW;
        bool drawn = mmd_gl_renderer_is_visible(material) && (casts || receives);
        for (; drawn && corner < end; corner += 3) {
            const float *corners[3];
            for (int c = 0; c < 3; c++)
                corners[c] = r->view_positions + 4 * (size_t)corner[c];
            bounds box = bounds_of(columns, corners);
            if (casts)
                add_bounds(casting, &box);
            if (receives && may_be_seen(r, corners))
                add_bounds(receiving, &box);
        }
        corner = end;
    }
}

/* Fits the map to what is seen of what casts shadows: an orthographic view along the light. False
   if there is nothing. */
bool mmd_gl_look_fit_shadow_map(const mmd_gl_renderer *r, mmd_gl_frame_uniforms *out)
{
    double to_light[3], axes[3][3];
    bounds casting, receiving;
    mmd_mat3_transform(r->view.rotation, r->view.to_light, to_light);
    for (int i = 0; i < 3; i++)
        axes[2][i] = -to_light[i];
    mmd_vec3_perpendicular(axes[2], axes[0]);
    mmd_vec3_cross(axes[2], axes[0], axes[1]);
    find_bounds(r, axes, &casting, &receiving);
    double min[3], max[3];
    for (int i = 0; i < 3; i++) {
        min[i] = (double)casting.min[i];
        max[i] = (double)casting.max[i];
    }
    for (int i = 0; i < 2; i++) {
        min[i] = fmax(min[i], (double)receiving.min[i]);
        max[i] = fmin(max[i], (double)receiving.max[i]);
        if (!(min[i] <= max[i]))
            return false;
    }
    double size = fmax(max[0] - min[0], max[1] - min[1]);
    double pixels = (double)r->targets->shadow.width;
    size = size > 0 ? size : 1;
    double texel = size / (pixels - 2 * BORDER);
    size = texel * pixels;
    out->shadow_offset = (float)(OFFSET * texel);
    double depth = max[2] - min[2] + 2 * texel;
    const double lengths[3] = {size, size, depth};
    for (int i = 0; i < 3; i++) {
        double middle = (min[i] + max[i]) / 2;
        for (int k = 0; k < 3; k++)
            out->shadow_matrix[i][k] = (float)(axes[i][k] / lengths[i]);
        out->shadow_matrix[i][3] = (float)(0.5 - middle / lengths[i]);
    }
    out->shadow_matrix[3][3] = 1;
    out->shadow_bias = (float)(BIAS * texel / depth);
    return true;
}

/* Draws the visible materials that have a flag, with or without the back faces of single-sided
   ones; consecutive ones at once. */
static void draw_flagged(const mmd_gl_renderer *r, uint8_t flag, bool culled)
{
    const mmd_render_job *job = r->job;
    size_t first = 0, count = 0;
    bool cull = false;
    for (size_t i = 0; i <= job->material_count; i++) {
        const mmd_material *material = i < job->material_count ? &job->materials[i] : NULL;
        bool drawn = material && mmd_gl_renderer_is_visible(material) && (material->flags & flag);
        bool culls = drawn && culled && !(material->flags & MMD_MATERIAL_DOUBLE_SIDED);
        if (count && (!drawn || culls != cull)) {
            cull ? mmd_gl1.Enable(GL_CULL_FACE) : mmd_gl1.Disable(GL_CULL_FACE);
            mmd_gl_renderer_draw(first, count);
            first += count;
            count = 0;
        }
        cull = culls;
        if (drawn)
            count += mmd_render_triangle_count(material);
        else if (material)
            first += mmd_render_triangle_count(material);
    }
}

/* Single-sided surfaces cast shadows where the light sees their front: closed ones are the same
   from both sides, and half the triangles are enough. */
void mmd_gl_look_draw_shadow_map(const mmd_gl_renderer *r)
{
    static const GLfloat farthest = 1;
    mmd_gl_renderer_begin(r->programs->passes[MMD_GL_PASS_SHADOW_MAP], &r->targets->shadow);
    mmd_gl1.Enable(GL_DEPTH_TEST);
    glClearBufferfv(GL_DEPTH, 0, &farthest);
    mmd_gl1.CullFace(GL_FRONT); /* as it counts in the map, which is not upside down as the image */
    draw_flagged(r, MMD_MATERIAL_CASTS_SELF_SHADOW, true);
}

/* The shadow on the ground in the look of MMD. It comes first and nothing is behind it: each pixel
   gets its color once without a stencil. */

/* The light's y, of a unit vector, below which the shadow would be too long. */
static const double MIN_LIGHT_Y = 1e-6;

bool mmd_gl_look_project_ground(const mmd_gl_renderer *r, mmd_gl_frame_uniforms *out)
{
    const mmd_render_effects *effects = &r->job->effects;
    double to_light[3], height = r->view.to_light[1];
    if (effects->ground_shadow == MMD_GROUND_SHADOW_OFF || fabs(height) < MIN_LIGHT_Y)
        return false;
    bool lit = effects->ground_shadow == MMD_GROUND_SHADOW_LIGHT;
    const float *color = lit ? out->light_color : effects->ground_color;
    mmd_mat3_transform(r->view.rotation, r->view.to_light, to_light);
    for (int i = 0; i < 3; i++) {
        out->ground[i] = (float)r->view.rotation[i][1];
        out->ground_light[i] = (float)(-to_light[i] / height);
        out->ground_color[i] = mmd_gl_clamp01(color[i]);
    }
    out->ground[3] = (float)r->view.position[1];
    out->ground_color[3] = lit ? 1 : mmd_gl_clamp01(color[3]);
    return true;
}

static void draw_ground_shadow(const mmd_gl_renderer *r)
{
    mmd_gl_renderer_begin_rows(r, r->programs->passes[MMD_GL_PASS_GROUND_SHADOW],
                               &r->targets->samples);
    mmd_gl1.Disable(GL_DEPTH_TEST);
    mmd_gl1.Disable(GL_BLEND);
    draw_flagged(r, MMD_MATERIAL_GROUND_SHADOW, false);
}

/* Surfaces */

static mmd_gl_look_variant variant_of(const mmd_gl_renderer *r, const mmd_material *material)
{
    bool mapped = material->sphere_texture >= 0;
    bool receives = material->flags & MMD_MATERIAL_RECEIVES_SELF_SHADOW;
    return (mmd_gl_look_variant){{.textured = material->texture >= 0,
                                  .toon = material->toon >= 0,
                                  .specular = material->specular_power > 0,
                                  .self_shadow = r->job->effects.self_shadow,
                                  .receives = receives && r->has_shadow_map,
                                  .sphere = mapped ? material->sphere_mode : MMD_SPHERE_NONE}};
}

static bool draw_surfaces(const mmd_gl_renderer *r, mmd_error *err)
{
    const mmd_render_job *job = r->job;
    mmd_gl1.CullFace(GL_BACK);
    mmd_gl1.Enable(GL_DEPTH_TEST);
    mmd_gl1.Enable(GL_BLEND);
    GLuint used = 0;
    size_t first = 0;
    for (size_t i = 0; i < job->material_count;
         first += mmd_render_triangle_count(&job->materials[i++])) {
        const mmd_material *material = &job->materials[i];
        if (!mmd_gl_renderer_is_visible(material))
            continue;
        mmd_gl_look_variant variant = variant_of(r, material);
        GLuint program = mmd_gl_look_program_get(r->context, variant, err);
        if (!program)
            return false;
        if (program != used)
            mmd_gl_renderer_begin_rows(r, program, &r->targets->samples);
        used = program;
        if (variant.textured)
            mmd_gl_texture_bind(MMD_GL_TEXTURE_UNIT, GL_TEXTURE_2D, r->textures[material->texture]);
        if (variant.sphere != MMD_SPHERE_NONE)
            mmd_gl_texture_bind(MMD_GL_SPHERE_UNIT, GL_TEXTURE_2D,
                                r->textures[material->sphere_texture]);
        if (variant.toon)
            mmd_gl_texture_bind(MMD_GL_TOON_UNIT, GL_TEXTURE_2D, r->textures[material->toon]);
        mmd_gl_renderer_draw_material(r, i, first);
    }
    return true;
}

bool mmd_gl_look_draw(const mmd_gl_renderer *r, mmd_error *err)
{
    if (r->has_ground_shadow)
        draw_ground_shadow(r);
    mmd_gl_texture_bind(MMD_GL_SHADOW_UNIT, GL_TEXTURE_2D,
                        r->targets->shadow.textures[MMD_GL_DEPTH_ATTACHMENT]);
    bool drawn = draw_surfaces(r, err);
    if (drawn && r->job->edges)
        mmd_gl_renderer_draw_edges(r);
    glActiveTexture(GL_TEXTURE0 + MMD_GL_TEXTURE_UNIT);
    return drawn;
}
