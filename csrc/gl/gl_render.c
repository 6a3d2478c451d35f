/* SPDX-License-Identifier: MIT */
#include "gl/gl_render.h"

#include "core/base/error.h"
#include "gl/gl_canvas.h"

#include <math.h>
#include <stdlib.h>

/* What is so much nearer than the farthest vertex is cut off. */
static const double NEAREST = 1e-5;

/* Of an edge of size 1: one pixel of a picture so high. */
static const double EDGE_PICTURE = 512;

/* A job under way. */
typedef struct render_work {
    const struct mmd_gl_painters *painters;
    mmd_gl_canvas canvas;
    float *seen; /* (V,4) positions of the frame that is being drawn, and what follows from them */
    mmd_view view;
    double nearest;
    float depth_scale;
    bool visible;
} render_work;

/* From sRGB; colours that morphs have brought out of their range are brought back. */
static void linear_color(const float *srgb, float out[3])
{
    for (int i = 0; i < 3; i++) {
        double c = fmin(fmax((double)srgb[i], 0), 1);
        out[i] = (float)(c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
}

static float alpha(float given)
{
    return fminf(fmaxf(given, 0), 1);
}

static void upload_frame(render_work *work, size_t frame)
{
    const mmd_render_job *job = work->canvas.job;
    size_t v = job->vertex_count, f = job->position_frames > 1 ? frame : 0;
    mmd_render_view(job, frame, &work->view);
    double ahead[2];
    mmd_view_positions(&work->view, job->positions + 3 * f * v, v, work->seen, ahead);
    mmd_gl_canvas_fill(&work->canvas, POSITION, work->seen);
    if (job->normals && (frame == 0 || job->position_frames > 1))
        mmd_gl_canvas_fill(&work->canvas, NORMAL, job->normals + 3 * f * v);
    if (job->uvs && (frame == 0 || job->uv_frames > 1))
        mmd_gl_canvas_fill(&work->canvas, UV, job->uvs + (job->uv_frames > 1 ? 2 * frame * v : 0));
    int exponent;
    work->visible = ahead[1] > 0;
    work->nearest = ahead[1] * NEAREST;
    frexp(work->visible ? ahead[1] : 1, &exponent);
    work->depth_scale = (float)ldexp(1, -exponent - 1);
}

static void set_view(const render_work *work, const mmd_gl_painter *with, const mmd_gl_target *to)
{
    const mmd_render_job *job = work->canvas.job;
    float rows[9], to_light[3];
    double square = 0; /* of the largest float too */
    for (int i = 0; i < 9; i++)
        rows[i] = (float)work->view.rows[i / 3][i % 3];
    for (int i = 0; i < 3; i++)
        square += (double)job->light[i] * (double)job->light[i];
    for (int i = 0; i < 3; i++)
        to_light[i] = (float)(-(double)job->light[i] / sqrt(square));
    glUseProgram(with->name);
    glUniformMatrix3fv(with->view, 1, GL_TRUE, rows);
    glUniform2f(with->reach, (float)work->view.reach[0], (float)work->view.reach[1]);
    glUniform1f(with->nearest, (float)work->nearest);
    glUniform1f(with->depth_scale, work->depth_scale);
    glUniform2f(with->pixel, 2 / (float)to->width, 2 / (float)to->height);
    glUniform1i(with->has_normals, job->normals != NULL);
    glUniform3fv(with->to_light, 1, to_light);
    glBindFramebuffer(GL_FRAMEBUFFER, to->framebuffer);
    gl1.Viewport(0, 0, to->width, to->height);
}

static void draw_triangles(size_t first, size_t count)
{
    gl1.DrawElements(GL_TRIANGLES, (GLsizei)(3 * count), GL_UNSIGNED_INT,
                     (const void *)(uintptr_t)(3 * first * sizeof(int32_t)));
}

static void draw_surfaces(const render_work *work, const mmd_gl_painter *with)
{
    const mmd_render_job *job = work->canvas.job;
    gl1.CullFace(GL_BACK);
    size_t first = 0;
    for (size_t i = 0; i < job->material_count; i++) {
        const mmd_render_material *material = &job->materials[i];
        float diffuse[3], ambient[3];
        linear_color(material->diffuse, diffuse);
        linear_color(material->ambient, ambient);
        material->both_sides ? gl1.Disable(GL_CULL_FACE) : gl1.Enable(GL_CULL_FACE);
        gl1.BindTexture(GL_TEXTURE_2D, material->texture < 0
                                           ? work->canvas.plain_image
                                           : work->canvas.images[material->texture]);
        glUniform4f(with->diffuse, diffuse[0], diffuse[1], diffuse[2], alpha(material->diffuse[3]));
        glUniform3fv(with->ambient, 1, ambient);
        glUniform1i(with->first_triangle, (GLint)first);
        draw_triangles(first, material->triangle_count);
        first += material->triangle_count;
    }
}

static void draw_edges(const render_work *work, const mmd_gl_painter *with)
{
    const mmd_render_job *job = work->canvas.job;
    double unit = 2 * work->view.reach[1] / EDGE_PICTURE;
    gl1.CullFace(GL_FRONT);
    gl1.Enable(GL_CULL_FACE);
    size_t first = 0;
    for (size_t i = 0; i < job->material_count; i++) {
        const mmd_render_material *material = &job->materials[i];
        if (material->has_edge) {
            float color[3];
            linear_color(material->edge_color, color);
            glUniform4f(with->color, color[0], color[1], color[2], alpha(material->edge_color[3]));
            glUniform1f(with->edge_size, (float)(unit * (double)material->edge_size));
            draw_triangles(first, material->triangle_count);
        }
        first += material->triangle_count;
    }
}

static void clear_depth(void)
{
    static const GLfloat farthest = 1;
    glClearBufferfv(GL_DEPTH, 0, &farthest);
}

static void draw_image(const render_work *work)
{
    static const GLfloat nothing[4] = {0};
    const mmd_render_job *job = work->canvas.job;
    const mmd_gl_painter *painters = work->painters->of;
    set_view(work, &painters[COLOR], &work->canvas.drawn);
    glClearBufferfv(GL_COLOR, 0, nothing);
    clear_depth();
    gl1.Enable(GL_DEPTH_TEST);
    gl1.Enable(GL_BLEND);
    if (work->visible)
        draw_surfaces(work, &painters[COLOR]);
    if (work->visible && job->edges) {
        set_view(work, &painters[EDGE], &work->canvas.drawn);
        draw_edges(work, &painters[EDGE]);
    }
    gl1.Disable(GL_BLEND);
    gl1.Disable(GL_DEPTH_TEST);
    gl1.Disable(GL_CULL_FACE);

    float background[3];
    linear_color(job->background, background);
    set_view(work, &painters[RESOLVE], &work->canvas.picture);
    gl1.BindTexture(GL_TEXTURE_2D, work->canvas.drawn_texture);
    glUniform1i(painters[RESOLVE].samples, (GLint)job->samples);
    glUniform4f(painters[RESOLVE].background, background[0], background[1], background[2],
                job->background[3]);
    gl1.DrawArrays(GL_TRIANGLES, 0, 3);
}

static void draw_data(const render_work *work)
{
    static const GLint no_triangle[4] = {-1, -1, -1, -1};
    static const GLfloat no_normal[4] = {0}, no_depth[4] = {INFINITY, 0, 0, 0};
    const mmd_render_job *job = work->canvas.job;
    set_view(work, &work->painters->of[DATA], &work->canvas.data);
    if (job->triangles_seen)
        glClearBufferiv(GL_COLOR, TRIANGLE, no_triangle);
    if (job->depths)
        glClearBufferfv(GL_COLOR, DEPTH, no_depth);
    if (job->normals_seen)
        glClearBufferfv(GL_COLOR, NORMAL_SEEN, no_normal);
    clear_depth();
    gl1.Enable(GL_DEPTH_TEST);
    if (work->visible)
        draw_surfaces(work, &work->painters->of[DATA]);
    gl1.Disable(GL_DEPTH_TEST);
    gl1.Disable(GL_CULL_FACE);
}

static void read(const mmd_gl_target *from, int attachment, GLenum format, GLenum type, void *to)
{
    glBindFramebuffer(GL_FRAMEBUFFER, from->framebuffer);
    gl1.ReadBuffer(GL_COLOR_ATTACHMENT0 + (GLenum)attachment);
    gl1.ReadPixels(0, 0, from->width, from->height, format, type, to);
}

static bool draw_frame(render_work *work, size_t frame, mmd_error *err)
{
    mmd_render_job out = mmd_render_slice(work->canvas.job, frame, 1);
    upload_frame(work, frame);
    if (out.image) {
        draw_image(work);
        read(&work->canvas.picture, 0, GL_RGBA, GL_UNSIGNED_BYTE, out.image);
    }
    if (mmd_gl_canvas_has_data(work->canvas.job))
        draw_data(work);
    if (out.triangles_seen)
        read(&work->canvas.data, TRIANGLE, GL_RED_INTEGER, GL_INT, out.triangles_seen);
    if (out.depths)
        read(&work->canvas.data, DEPTH, GL_RED, GL_FLOAT, out.depths);
    if (out.normals_seen)
        read(&work->canvas.data, NORMAL_SEEN, GL_RGB, GL_FLOAT, out.normals_seen);
    return mmd_gl_check("drawing", err);
}

/* Skinning draws into a framebuffer and with switches that are set once for the context. */
static bool render(mmd_gl_context *context, void *arg, mmd_error *err)
{
    const mmd_render_job *job = arg;
    render_work work = {.painters = mmd_gl_painters_of(context, err), .canvas = {.job = job}};
    if (!work.painters)
        return false;
    GLint framebuffer = 0;
    gl1.GetIntegerv(GL_FRAMEBUFFER_BINDING, &framebuffer);
    gl1.Disable(GL_RASTERIZER_DISCARD);
    gl1.DepthFunc(GL_LEQUAL);
    gl1.BlendFunc(GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    work.seen = malloc(job->vertex_count * 4 * sizeof *work.seen + 1);
    bool ok = work.seen ? mmd_gl_canvas_make(&work.canvas, err) : mmd_fail_memory(err);
    for (size_t f = 0; ok && f < job->frame_count; f++)
        ok = draw_frame(&work, f, err);
    mmd_gl_canvas_free(&work.canvas);
    free(work.seen);
    glBindFramebuffer(GL_FRAMEBUFFER, (GLuint)framebuffer);
    gl1.Viewport(0, 0, 1, 1);
    gl1.Enable(GL_RASTERIZER_DISCARD);
    return ok;
}

bool mmd_gl_render(const mmd_render_job *job, mmd_error *err)
{
    return mmd_gl_run(render, (void *)(uintptr_t)job, err);
}

typedef struct size_request {
    size_t width, height, samples;
} size_request;

static bool check_size(mmd_gl_context *context, void *arg, mmd_error *err)
{
    (void)context;
    const size_request *size = arg;
    static const GLenum names[] = {GL_MAX_TEXTURE_SIZE, GL_MAX_RENDERBUFFER_SIZE};
    GLint viewport[2] = {0}, limit = 0;
    gl1.GetIntegerv(GL_MAX_VIEWPORT_DIMS, viewport);
    GLint most = viewport[0] < viewport[1] ? viewport[0] : viewport[1];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        gl1.GetIntegerv(names[i], &limit);
        most = limit < most ? limit : most;
    }
    size_t room = (size_t)most / size->samples;
    if (size->width <= room && size->height <= room)
        return true;
    return mmd_fail(err, MMD_E_ARGUMENT,
                    "size: %zu x %zu, the device draws %zu x %zu at most (samples: %zu)",
                    size->width, size->height, room, room, size->samples);
}

bool mmd_gl_render_fits(size_t width, size_t height, size_t samples, mmd_error *err)
{
    return mmd_gl_run(check_size, &(size_request){width, height, samples}, err);
}
