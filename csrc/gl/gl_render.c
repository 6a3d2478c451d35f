/* SPDX-License-Identifier: MIT */
/* Renders jobs: per frame a color pass, an edge pass and a resolve pass for the image, and a pass
   for the G-buffer. */
#include "gl/gl.h"

#include "core/base/error.h"
#include "core/math/mat3.h"
#include "gl/gl_renderer.h"

#include <math.h>
#include <string.h>

/* Distance of the near plane, relative to the farthest vertex. */
static const double NEAR_PLANE = 1e-5;

/* An edge of size 1 is one pixel wide in an image of this height. */
static const double EDGE_IMAGE_HEIGHT = 512;

/* The vertices of a frame, and what all programs read of it */

static void set_depth_range(mmd_gl_renderer *r, double farthest)
{
    int exponent;
    r->visible = farthest > 0;
    r->near_plane = farthest * NEAR_PLANE;
    frexp(r->visible ? farthest : 1, &exponent);
    r->depth_scale = (float)ldexp(1, -exponent - 1);
}

/* What all programs read of this frame. */
static void set_uniforms(mmd_gl_renderer *r)
{
    const mmd_render_job *job = r->job;
    const mmd_render_effects *effects = &job->effects;
    const mmd_render_view *view = &r->view;
    bool mmd = job->look == MMD_LOOK_MMD;
    mmd_gl_frame_uniforms *frame = &r->uniforms;
    *frame = (mmd_gl_frame_uniforms){
        .half_extent = {(float)view->half_extent[0], (float)view->half_extent[1]},
        .pixel_size = {2 / (float)job->width, 2 / (float)job->height},
        .near_plane = (float)r->near_plane,
        .depth_scale = r->depth_scale,
        .edge_unit = (float)(2 * view->half_extent[1] / EDGE_IMAGE_HEIGHT),
        .samples = (int32_t)job->samples,
        .has_normals = job->has_normals};
    double to_light[3];
    mmd_mat3_transform(r->view.rotation, view->to_light, to_light);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            frame->view_rotation[i][k] = (float)view->rotation[i][k];
        frame->to_light[i] = (float)(mmd ? to_light[i] : view->to_light[i]);
        if (mmd)
            frame->light_color[i] =
                effects->light_colors[(effects->light_color_frames > 1 ? 3 * r->frame : 0) +
                                      (size_t)i];
    }
    memcpy(frame->background, job->background, sizeof frame->background);
    if (!mmd)
        mmd_gl_linear_color(job->background, frame->background);
    r->has_shadow_map = r->visible && mmd_gl_render_targets_has_shadow_map(job) &&
                        mmd_gl_look_fit_shadow_map(r, frame);
    r->has_ground_shadow = mmd && mmd_gl_look_project_ground(r, frame);
}

/* Vertices from memory, which this frame's job has. */
static void upload_vertices(mmd_gl_renderer *r, const mmd_render_job *job, bool changed)
{
    mmd_render_view_init(job, 0, &r->view);
    set_depth_range(r, mmd_render_view_transform(&r->view, job->positions, job->vertex_count,
                                                 r->view_positions));
    set_uniforms(r);
    mmd_gl_render_buffers_upload(r, MMD_GL_RENDER_POSITION, r->view_positions);
    if (job->has_normals && changed)
        mmd_gl_render_buffers_upload(r, MMD_GL_RENDER_NORMAL, job->normals);
}

/* Vertices that the device skins. */
static bool draw_vertices(mmd_gl_renderer *r, const mmd_render_job *job, mmd_error *err)
{
    const GLuint *buffers = r->buffers;
    double farthest;
    mmd_render_view_init(job, 0, &r->view);
    for (int i = MMD_GL_RENDER_POSITION; r->frame == 0 && i <= MMD_GL_RENDER_NORMAL; i++) {
        size_t width = i == MMD_GL_RENDER_POSITION ? 4 : 3;
        mmd_gl_buffer_fill(GL_ARRAY_BUFFER, buffers[i], job->vertex_count * width * sizeof(float),
                           NULL, GL_STREAM_COPY);
    }
    GLuint normals = job->has_normals ? buffers[MMD_GL_RENDER_NORMAL] : 0;
    bool skinned = mmd_gl_render_skin_draw(r->skin, r->frame, &r->view,
                                           buffers[MMD_GL_RENDER_POSITION], normals, err);
    glActiveTexture(GL_TEXTURE0 + MMD_GL_TEXTURE_UNIT);
    if (!skinned || !mmd_gl_render_skin_depth(r->skin, r->frame, &r->view, &farthest, err))
        return false;
    set_depth_range(r, farthest);
    set_uniforms(r);
    return true;
}

/* The vertices of this frame from wherever they come. */
static bool make_vertices(mmd_gl_renderer *r, mmd_error *err)
{
    const mmd_render_job *job = r->job;
    mmd_render_job frame = mmd_render_slice(job, r->frame, 1);
    if (r->skin && r->skin->on_device)
        return draw_vertices(r, &frame, err);
    if (r->skin) {
        frame.positions = r->skin->positions;
        frame.normals = r->skin->normals;
        frame.position_frames = 1;
        if (!mmd_gl_render_skin_frame(r->skin, r->frame, err) ||
            !mmd_render_check_vertices(&frame, err))
            return false;
    }
    upload_vertices(r, &frame, r->skin || r->frame == 0 || job->position_frames > 1);
    return true;
}

static bool upload_frame(mmd_gl_renderer *r, size_t frame, mmd_error *err)
{
    const mmd_render_job *job = r->job;
    const mmd_render_effects *effects = &job->effects;
    mmd_render_job slice = mmd_render_slice(job, frame, 1);
    r->frame = frame;
    if (!make_vertices(r, err))
        return false;
    if (job->uvs && (frame == 0 || job->uv_frames > 1))
        mmd_gl_render_buffers_upload(r, MMD_GL_RENDER_UV, slice.uvs);
    if (effects->additional_uvs && (frame == 0 || effects->additional_uv_frames > 1))
        mmd_gl_render_buffers_upload(r, MMD_GL_RENDER_ADDITIONAL_UV, slice.effects.additional_uvs);
    return true;
}

static void draw_surfaces(const mmd_gl_renderer *r, mmd_gl_render_pass pass,
                          const mmd_gl_framebuffer *to)
{
    const mmd_render_job *job = r->job;
    mmd_gl_renderer_begin_rows(r, r->programs->passes[pass], to);
    mmd_gl1.CullFace(GL_BACK);
    mmd_gl1.Enable(GL_DEPTH_TEST);
    size_t first = 0;
    for (size_t i = 0; i < job->material_count;
         first += mmd_render_triangle_count(&job->materials[i++])) {
        int32_t texture = job->materials[i].texture;
        mmd_gl1.BindTexture(GL_TEXTURE_2D, texture < 0 ? r->white_texture : r->textures[texture]);
        mmd_gl_renderer_draw_material(r, i, first);
    }
}

static void clear_depth(void)
{
    static const GLfloat farthest = 1;
    glClearBufferfv(GL_DEPTH, 0, &farthest);
}

static void draw_lambert(const mmd_gl_renderer *r)
{
    mmd_gl1.Enable(GL_BLEND);
    draw_surfaces(r, MMD_GL_PASS_COLOR, &r->targets->samples);
    if (r->job->edges)
        mmd_gl_renderer_draw_edges(r);
}

/* Averages the samples, in linear colors unless the look has none. */
static void resolve(const mmd_gl_renderer *r)
{
    bool linear = r->job->look != MMD_LOOK_MMD;
    mmd_gl_renderer_begin(
        r->programs->passes[linear ? MMD_GL_PASS_RESOLVE : MMD_GL_PASS_RESOLVE_SRGB],
        &r->targets->image);
    mmd_gl1.BindTexture(GL_TEXTURE_2D, r->targets->samples.textures[0]);
    mmd_gl1.DrawArrays(GL_TRIANGLES, 0, 3);
}

static bool draw_image(const mmd_gl_renderer *r, mmd_error *err)
{
    static const GLfloat transparent[4] = {0};
    bool ok = true;
    glBindFramebuffer(GL_FRAMEBUFFER, r->targets->samples.name);
    glClearBufferfv(GL_COLOR, 0, transparent);
    clear_depth();
    if (r->visible && r->job->look == MMD_LOOK_MMD)
        ok = mmd_gl_look_draw(r, err);
    else if (r->visible)
        draw_lambert(r);
    mmd_gl1.Disable(GL_BLEND);
    mmd_gl1.Disable(GL_DEPTH_TEST);
    mmd_gl1.Disable(GL_CULL_FACE);
    resolve(r);
    return ok;
}

static void draw_gbuffer(const mmd_gl_renderer *r)
{
    static const GLint no_triangle[4] = {-1, -1, -1, -1};
    static const GLfloat no_normal[4] = {0}, no_depth[4] = {INFINITY, 0, 0, 0};
    const mmd_render_job *job = r->job;
    glBindFramebuffer(GL_FRAMEBUFFER, r->targets->gbuffer.name);
    if (job->triangle_buffer)
        glClearBufferiv(GL_COLOR, MMD_GL_GBUFFER_TRIANGLE, no_triangle);
    if (job->depth_buffer)
        glClearBufferfv(GL_COLOR, MMD_GL_GBUFFER_DEPTH, no_depth);
    if (job->normal_buffer)
        glClearBufferfv(GL_COLOR, MMD_GL_GBUFFER_NORMAL, no_normal);
    clear_depth();
    if (r->visible)
        draw_surfaces(r, MMD_GL_PASS_GBUFFER, &r->targets->gbuffer);
    mmd_gl1.Disable(GL_DEPTH_TEST);
    mmd_gl1.Disable(GL_CULL_FACE);
}

static bool draw_rows(mmd_gl_renderer *r, mmd_error *err)
{
    const mmd_render_job *job = r->job;
    r->uniforms.first_row = (int32_t)r->first_row;
    mmd_gl_render_buffers_set_frame(r);
    if (r->has_shadow_map && r->first_row == 0)
        mmd_gl_look_draw_shadow_map(r);
    if (job->image && !draw_image(r, err))
        return false;
    if (mmd_gl_render_targets_has_gbuffer(job))
        draw_gbuffer(r);
    return mmd_gl_render_output_take(r, err);
}

static bool draw_frame(mmd_gl_renderer *r, size_t frame, mmd_error *err)
{
    size_t height = r->job->height, step = r->targets->rows;
    if (!upload_frame(r, frame, err))
        return false;
    for (r->first_row = 0; r->first_row < height; r->first_row += step) {
        r->rows = height - r->first_row < step ? height - r->first_row : step;
        if (mmd_gl_is_interrupted(r->context, err) || !draw_rows(r, err))
            return false;
    }
    return true;
}

static bool init_renderer(mmd_gl_renderer *r, mmd_error *err)
{
    if (!MMD_ARENA_ARRAY(&r->arena, r->view_positions, 4 * r->job->vertex_count) ||
        !MMD_ARENA_ARRAY(&r->arena, r->textures, r->job->texture_count))
        return mmd_fail_memory(err);
    if ((r->skin && !mmd_gl_render_skin_init(r->skin, r->context, err)) ||
        !mmd_gl_render_buffers_init(r, err) || !mmd_gl_render_textures_init(r, err))
        return false;
    r->targets = mmd_gl_render_targets_get(r->context, r->job, err);
    return r->targets;
}

static bool render(mmd_gl_context *context, void *arg, mmd_error *err)
{
    mmd_gl_renderer *r = arg;
    r->context = context;
    r->programs = mmd_gl_render_programs_get(context, err);
    if (!r->programs)
        return false;
    bool ok = init_renderer(r, err);
    mmd_gl1.DepthFunc(GL_LEQUAL);
    mmd_gl1.BlendFunc(GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    for (size_t f = 0; ok && f < r->job->frame_count; f++)
        ok = draw_frame(r, f, err);
    ok = mmd_gl_render_output_finish(r, ok, err);
    mmd_arena_free(&r->arena);
    if (mmd_gl_context_hangs(context)) /* leaves the objects, which the device may still use */
        return false;
    mmd_gl_render_buffers_free(r);
    mmd_gl_render_textures_release(r, ok);
    mmd_gl_render_targets_release(context, ok);
    if (r->skin)
        mmd_gl_render_skin_free(r->skin);
    return ok;
}

bool mmd_gl_render(const mmd_render_job *job, const mmd_skin_job *skin, bool on_device,
                   const mmd_gl_caller *caller, mmd_error *err)
{
    mmd_gl_renderer renderer = {.job = job, .caller = caller};
    mmd_gl_render_skin skinned = {.on_device = on_device};
    if (skin && job->vertex_count) {
        skinned.job = *skin;
        renderer.skin = &skinned;
    }
    return mmd_gl_thread_run(caller, render, &renderer, err);
}

typedef struct size_request {
    size_t width, height, samples;
} size_request;

static bool check_size(mmd_gl_context *context, void *arg, mmd_error *err)
{
    (void)context;
    const size_request *size = arg;
    GLint viewport[2] = {0}, max = 0;
    mmd_gl1.GetIntegerv(GL_MAX_VIEWPORT_DIMS, viewport);
    mmd_gl1.GetIntegerv(GL_MAX_TEXTURE_SIZE, &max);
    for (int i = 0; i < 2; i++)
        max = viewport[i] < max ? viewport[i] : max;
    size_t max_size = (size_t)max / size->samples;
    if (size->width <= max_size && size->height <= max_size)
        return true;
    return mmd_refuse(err, "size: %zu x %zu, the device supports %zu x %zu (samples: %zu)",
                      size->width, size->height, max_size, max_size, size->samples);
}

bool mmd_gl_render_fits(const mmd_gl_caller *caller, size_t width, size_t height, size_t samples,
                        mmd_error *err)
{
    return mmd_gl_thread_run(caller, check_size, &(size_request){width, height, samples}, err);
}
