/* SPDX-License-Identifier: MIT */
/* The depth map of the light in the look of MMD, for shadows of surfaces on each other. */
#include "core/base/error.h"
#include "core/math/vec3.h"
#include "core/render/raster.h"
#include "gl/gl_look.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The depth map's bias against shadows of a surface on itself, and its empty border, in pixels. */
static const double OFFSET = 1.5, BIAS = 0.5, BORDER = 2;

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
bool mmd_gl_shadow_map_fit(const mmd_gl_renderer *r, mmd_gl_shadow_view *out)
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
    double texel = size / (pixels - 2 * BORDER);
    size = texel * pixels;
    out->offset = (float)(OFFSET * texel);
    double depth = box.max[2] - box.min[2] + 2 * texel;
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
    mmd_gl_look_draw_flagged(r, MMD_MATERIAL_CASTS_SELF_SHADOW, true);
}

/* For software renderers: gl_small_triangles.h. */

static bool make_map(const mmd_gl_renderer *r, mmd_error *err)
{
    mmd_gl_shadow_map *own = r->shadow_map;
    mmd_depth_map *map = &own->map;
    if (map->depths)
        return true;
    map->width = map->stride = map->height = (size_t)r->resources.targets->shadow.width;
    size_t pixels = map->stride * map->height;
    map->depths = malloc(pixels * sizeof *map->depths);
    own->pixels = malloc(pixels * sizeof *own->pixels);
    if (!map->depths || !own->pixels)
        return mmd_fail_memory(err);
    if (!mmd_gl_small_triangles_init(r, 3, &own->triangles, err))
        return false;
    for (size_t i = 0; i < pixels; i++)
        map->depths[i] = 1;
    own->end[0] = map->stride; /* the texture may have anything */
    own->end[1] = map->height;
    return true;
}

/* As look.vert. */
static void project(const mmd_gl_renderer *r, const mmd_gl_shadow_view *view)
{
    float size = (float)r->shadow_map->map.width, *corners = r->shadow_map->triangles.corners;
    for (size_t v = 0; v < r->resources.job->vertex_count; v++) {
        const float *p = r->view_positions + 4 * v;
        for (int i = 0; i < 3; i++) {
            const float *row = view->caster + 4 * i;
            float at = row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3];
            corners[3 * v + (size_t)i] = i < 2 ? at * size : at;
        }
    }
}

static bool draw_small(void *image, const mmd_render_material *material, const float *a,
                       const float *b, const float *c)
{
    return (is_culled(material) && mmd_raster_area(a, b, c) > 0) ||
           mmd_depth_map_add(image, a, b, c);
}

/* To the texture's numbers. */
static void quantize(const float *depths, uint16_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (uint16_t)(int32_t)(depths[i] * UINT16_MAX + 0.5f);
}

/* Uploads the part of the map that has triangles, or of which the texture still has older ones. */
static void upload(const mmd_gl_renderer *r)
{
    mmd_gl_shadow_map *own = r->shadow_map;
    mmd_depth_map *map = &own->map;
    GLint first[2];
    GLsizei size[2];
    for (int i = 0; i < 2; i++) {
        size_t from = map->first[i] < own->first[i] ? map->first[i] : own->first[i];
        size_t to = map->end[i] > own->end[i] ? map->end[i] : own->end[i];
        first[i] = (GLint)from;
        size[i] = to > from ? (GLsizei)(to - from) : 0;
    }
    memcpy(own->first, map->first, sizeof own->first);
    memcpy(own->end, map->end, sizeof own->end);
    for (GLsizei y = first[1]; y < first[1] + size[1]; y++)
        quantize(map->depths + (size_t)y * map->stride + first[0],
                 own->pixels + (size_t)y * map->stride + first[0], (size_t)size[0]);
    glActiveTexture(GL_TEXTURE0 + MMD_GL_SHADOW_UNIT);
    mmd_gl1.BindTexture(GL_TEXTURE_2D, r->resources.targets->shadow.texture);
    mmd_gl1.PixelStorei(GL_UNPACK_ROW_LENGTH, (GLint)map->stride);
    if (size[0] > 0 && size[1] > 0)
        mmd_gl1.TexSubImage2D(GL_TEXTURE_2D, 0, first[0], first[1], size[0], size[1],
                              GL_DEPTH_COMPONENT, GL_UNSIGNED_SHORT,
                              own->pixels + (size_t)first[1] * map->stride + first[0]);
    mmd_gl1.PixelStorei(GL_UNPACK_ROW_LENGTH, 0);
    mmd_depth_map_clear(map);
}

static void draw_large(const mmd_gl_renderer *r, const mmd_gl_shadow_view *view)
{
    mmd_gl_shadow_map *own = r->shadow_map;
    begin(r, view);
    mmd_gl_small_triangles_draw_large(r, &own->triangles);
    own->first[0] = own->first[1] = 0; /* anywhere */
    own->end[0] = own->map.stride;
    own->end[1] = own->map.height;
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
    mmd_depth_map_begin(&r->shadow_map->map);
    mmd_gl_small_triangles_draw(r, &r->shadow_map->triangles, MMD_MATERIAL_CASTS_SELF_SHADOW,
                                draw_small, &r->shadow_map->map);
    upload(r);
    if (r->shadow_map->triangles.large_size)
        draw_large(r, view);
    return true;
}

void mmd_gl_shadow_map_free(mmd_gl_context *context, mmd_gl_shadow_map *own)
{
    free(own->map.depths);
    free(own->pixels);
    mmd_gl_small_triangles_free(context, &own->triangles);
}
