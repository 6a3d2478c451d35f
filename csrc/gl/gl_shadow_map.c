/* SPDX-License-Identifier: MIT */
/* The depth map of the light in the look of MMD, for shadows of surfaces on each other. */
#include "gl/gl_shadow_map.h"

#include "core/base/error.h"
#include "core/math/float4.h"
#include "core/math/vec3.h"
#include "core/render/raster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
bool mmd_gl_shadow_map_fit(const mmd_gl_renderer *r, mmd_gl_shadow_view *out)
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
    out->offset = (float)(OFFSET * texel);
    double depth = max[2] - min[2] + 2 * texel;
    const double lengths[3] = {size, size, depth};
    for (int i = 0; i < 3; i++) {
        double middle = (min[i] + max[i]) / 2;
        for (int k = 0; k < 3; k++)
            out->caster[4 * i + k] = (float)(axes[i][k] / lengths[i]);
        out->caster[4 * i + 3] = (float)(0.5 - middle / lengths[i]);
    }
    const float last[4] = {0, 0, 0, 1};
    memcpy(out->caster + 12, last, sizeof last);
    memcpy(out->receiver, out->caster, sizeof out->receiver);
    out->receiver[4 * 2 + 3] -= (float)(BIAS * texel / depth);
    return true;
}

/* Single-sided surfaces cast shadows where the light sees their front: closed ones are the same
   from both sides, and half the triangles are enough. */
static bool is_culled(const mmd_render_material *material)
{
    return !(material->flags & MMD_MATERIAL_DOUBLE_SIDED);
}

static void begin(const mmd_gl_renderer *r, const mmd_gl_shadow_view *view)
{
    const mmd_gl_render_program *program = &r->programs->passes[MMD_GL_PASS_SHADOW_MAP];
    mmd_gl_renderer_begin(r, program, &r->resources.targets->shadow);
    glUniformMatrix4fv(program->shadow_matrix, 1, GL_TRUE, view->caster);
    mmd_gl1.Enable(GL_DEPTH_TEST);
}

static void draw_all(const mmd_gl_renderer *r, const mmd_gl_shadow_view *view)
{
    static const GLfloat farthest = 1;
    begin(r, view);
    glClearBufferfv(GL_DEPTH, 0, &farthest);
    mmd_gl1.CullFace(GL_FRONT); /* as it counts in the map, which is not upside down as the image */
    mmd_gl_renderer_draw_flagged(r, MMD_MATERIAL_CASTS_SELF_SHADOW, true);
}

/* For software renderers: gl_small_triangles.h. */

static void mark_all(mmd_gl_shadow_map *own)
{
    for (size_t band = 0; band < own->map.height / MMD_DEPTH_MAP_BAND; band++)
        own->spans[band] = (mmd_depth_map_span){0, (int)own->map.width};
}

static bool make_map(const mmd_gl_renderer *r, mmd_error *err)
{
    mmd_gl_shadow_map *own = r->shadow_map;
    if (own->map.depths)
        return true;
    size_t size = (size_t)r->resources.targets->shadow.width, bands = size / MMD_DEPTH_MAP_BAND;
    own->pixels = malloc(MMD_DEPTH_MAP_BAND * size * sizeof *own->pixels);
    own->spans = malloc(bands * sizeof *own->spans);
    if (!mmd_depth_map_init(&own->map, size, size) || !own->pixels || !own->spans)
        return mmd_fail_memory(err);
    mark_all(own); /* the texture may have anything */
    return mmd_gl_small_triangles_init(r, 4, &own->triangles, err);
}

/* As look.vert. */
static void project(const mmd_gl_renderer *r, const mmd_gl_shadow_view *view)
{
    float size = (float)r->shadow_map->map.width, *corners = r->shadow_map->triangles.corners;
    mmd_float4 columns[4];
    for (int i = 0; i < 4; i++)
        columns[i] =
            (mmd_float4){view->caster[i] * size, view->caster[4 + i] * size, view->caster[8 + i]};
    for (size_t v = 0; v < r->resources.job->vertex_count; v++)
        mmd_float4_store(transform(columns, r->view_positions + 4 * v) + columns[3],
                         corners + 4 * v);
}

static bool draw_small(void *image, const mmd_render_material *material, const float *a,
                       const float *b, const float *c)
{
    return (is_culled(material) && mmd_raster_area(a, b, c) > 0) ||
           mmd_depth_map_add(image, a, b, c);
}

/* Uploads the columns of each band that have triangles, or of which the texture still has older
   ones. */
static void upload(const mmd_gl_renderer *r)
{
    mmd_gl_shadow_map *own = r->shadow_map;
    glActiveTexture(GL_TEXTURE0 + MMD_GL_SHADOW_UNIT);
    mmd_gl1.BindTexture(GL_TEXTURE_2D, r->resources.targets->shadow.texture);
    mmd_gl1.PixelStorei(GL_UNPACK_ALIGNMENT, sizeof *own->pixels);
    for (size_t band = 0; band < own->map.height / MMD_DEPTH_MAP_BAND; band++) {
        mmd_depth_map_span drawn = own->map.spans[band],
                           columns = mmd_depth_map_join(drawn, own->spans[band]);
        own->spans[band] = drawn;
        if (columns.first >= columns.end)
            continue;
        mmd_depth_map_take(&own->map, band, columns, own->pixels);
        mmd_gl1.TexSubImage2D(GL_TEXTURE_2D, 0, columns.first, (GLint)band * MMD_DEPTH_MAP_BAND,
                              columns.end - columns.first, MMD_DEPTH_MAP_BAND, GL_DEPTH_COMPONENT,
                              GL_UNSIGNED_SHORT, own->pixels);
    }
    mmd_gl1.PixelStorei(GL_UNPACK_ALIGNMENT, 4);
}

static void draw_large(const mmd_gl_renderer *r, const mmd_gl_shadow_view *view)
{
    mmd_gl_shadow_map *own = r->shadow_map;
    begin(r, view);
    mmd_gl_small_triangles_draw_large(r, &own->triangles);
    mark_all(own); /* they may be anywhere */
}

bool mmd_gl_shadow_map_draw(const mmd_gl_renderer *r, const mmd_gl_shadow_view *view,
                            mmd_error *err)
{
    if (!r->context->software) {
        draw_all(r, view);
        return true;
    }
    if (!make_map(r, err))
        return false;
    project(r, view);
    mmd_gl_small_triangles_draw(r, &r->shadow_map->triangles, MMD_MATERIAL_CASTS_SELF_SHADOW,
                                draw_small, &r->shadow_map->map);
    upload(r);
    if (r->shadow_map->triangles.large_size)
        draw_large(r, view);
    return true;
}

void mmd_gl_shadow_map_free(mmd_gl_context *context, mmd_gl_shadow_map *own)
{
    mmd_depth_map_free(&own->map);
    free(own->pixels);
    free(own->spans);
    mmd_gl_small_triangles_free(context, &own->triangles);
}
