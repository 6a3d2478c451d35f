/* SPDX-License-Identifier: MIT */
/* The depth map of the light in the look of MMD, for shadows of surfaces on each other. */
#include "gl/gl_shadow_map.h"

#include "core/math/float4.h"
#include "core/math/vec3.h"

#include <math.h>

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
    const mmd_render_job *job = r->resources.job;
    const int32_t *corner = job->triangles;
    mmd_float4 columns[3];
    columns_of(axes, columns);
    *casting = *receiving = nothing;
    for (size_t m = 0; m < job->material_count; m++) {
        const mmd_render_material *material = &job->materials[m];
        const int32_t *end = corner + 3 * material->triangle_count;
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
bool mmd_gl_shadow_map_fit(const mmd_gl_renderer *r, mmd_gl_frame_uniforms *out)
{
    double to_light[3], axes[3][3];
    bounds casting, receiving;
    mmd_gl_renderer_to_view(r, r->view.to_light, to_light);
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
    double pixels = (double)r->resources.targets->shadow.width;
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

/* Single-sided surfaces cast shadows where the light sees their front: closed ones are the same
   from both sides, and half the triangles are enough. */
void mmd_gl_shadow_map_draw(const mmd_gl_renderer *r)
{
    static const GLfloat farthest = 1;
    mmd_gl_renderer_begin(r->programs->passes[MMD_GL_PASS_SHADOW_MAP],
                          &r->resources.targets->shadow);
    mmd_gl1.Enable(GL_DEPTH_TEST);
    glClearBufferfv(GL_DEPTH, 0, &farthest);
    mmd_gl1.CullFace(GL_FRONT); /* as it counts in the map, which is not upside down as the image */
    mmd_gl_renderer_draw_flagged(r, MMD_MATERIAL_CASTS_SELF_SHADOW, true);
}
