/* SPDX-License-Identifier: MIT */
#include "gl/gl_render.h"

#include "core/base/error.h"
#include "gl/gl_painter.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 30 /* the largest buffer asked of any driver */ };

/* What is so much nearer than the farthest vertex is cut off. */
static const double NEAREST = 1e-5;

/* Of an edge of size 1: one pixel of a picture so high. */
static const double EDGE_PICTURE = 512;

static const GLint input_widths[INPUTS] = {4, 3, 2, 1};

/* What pixels can be asked for beside colour, in the order of the shader's outputs. */
enum data { TRIANGLE, DEPTH, NORMAL_SEEN, DATA_COUNT };

enum { ATTACHMENTS = DATA_COUNT + 1 }; /* the last one for depth */

/* Where a pass draws to. */
typedef struct target {
    GLuint framebuffer, renderbuffers[ATTACHMENTS];
    GLsizei width, height;
} target;

/* A job under way: all that is made for it on the device. */
typedef struct render_work {
    const mmd_render_job *job;
    const struct mmd_gl_painters *painters;
    GLuint vertex_array, buffers[INPUTS], elements;
    GLuint elements_texture, positions_texture, drawn_texture;
    GLuint *images, plain_image; /* of the job's textures; a white pixel */
    target drawn, picture, data;
    float *seen; /* (V,4) */
    /* Of the frame that is being drawn. */
    mmd_view view;
    double nearest;
    float depth_scale;
    bool visible;
} render_work;

/* What a job needs on the device */

static void fill(GLenum kind, GLuint buffer, size_t bytes, const void *data)
{
    static const float nothing[4] = {0};
    glBindBuffer(kind, buffer);
    glBufferData(kind, (GLsizeiptr)(bytes ? bytes : sizeof nothing), bytes ? data : nothing,
                 GL_STREAM_DRAW);
}

static void fill_input(const render_work *work, enum input input, const float *numbers)
{
    size_t bytes = work->job->vertex_count * (size_t)input_widths[input] * sizeof *numbers;
    fill(GL_ARRAY_BUFFER, work->buffers[input], numbers ? bytes : 0, numbers);
}

/* Inputs that the job lacks are constants. */
static void make_inputs(render_work *work)
{
    const mmd_render_job *job = work->job;
    const bool given[INPUTS] = {true, job->normals, job->uvs, job->edge_scales};
    glGenVertexArrays(1, &work->vertex_array);
    glBindVertexArray(work->vertex_array);
    glGenBuffers(INPUTS, work->buffers);
    for (GLuint i = 0; i < INPUTS; i++) {
        if (given[i]) {
            glBindBuffer(GL_ARRAY_BUFFER, work->buffers[i]);
            glVertexAttribPointer(i, input_widths[i], GL_FLOAT, GL_FALSE, 0, NULL);
            glEnableVertexAttribArray(i);
        }
    }
    glVertexAttrib3f(NORMAL, 0, 0, 0);
    glVertexAttrib2f(UV, 0, 0);
    glVertexAttrib1f(EDGE_SCALE, 1);
    glGenBuffers(1, &work->elements);
    fill(GL_ELEMENT_ARRAY_BUFFER, work->elements, 3 * job->triangle_count * sizeof(int32_t),
         job->triangles);
    fill_input(work, POSITION, NULL);
    fill_input(work, EDGE_SCALE, job->edge_scales);
}

static void make_table(GLuint *texture, GLenum unit, GLenum format, GLuint buffer)
{
    gl1.GenTextures(1, texture);
    glActiveTexture(GL_TEXTURE0 + unit);
    gl1.BindTexture(GL_TEXTURE_BUFFER, *texture);
    glTexBuffer(GL_TEXTURE_BUFFER, format, buffer);
}

static void make_image(GLuint *texture, const mmd_render_texture *from)
{
    gl1.GenTextures(1, texture);
    glActiveTexture(GL_TEXTURE0 + IMAGE_UNIT);
    gl1.BindTexture(GL_TEXTURE_2D, *texture);
    gl1.TexImage2D(GL_TEXTURE_2D, 0, GL_SRGB8_ALPHA8, (GLsizei)from->width, (GLsizei)from->height,
                   0, GL_RGBA, GL_UNSIGNED_BYTE, from->pixels);
    gl1.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR_MIPMAP_LINEAR);
    glGenerateMipmap(GL_TEXTURE_2D);
}

static bool make_images(render_work *work, mmd_error *err)
{
    static const uint8_t white[] = {255, 255, 255, 255};
    const mmd_render_job *job = work->job;
    GLint most = 0;
    gl1.GetIntegerv(GL_MAX_TEXTURE_SIZE, &most);
    work->images = calloc(job->texture_count + 1, sizeof *work->images);
    if (!work->images)
        return mmd_fail_memory(err);
    make_image(&work->plain_image, &(mmd_render_texture){1, 1, white});
    for (size_t i = 0; i < job->texture_count; i++) {
        const mmd_render_texture *texture = &job->textures[i];
        if (texture->width > (size_t)most || texture->height > (size_t)most)
            return mmd_fail(err, MMD_E_ARGUMENT,
                            "textures: one of %zu x %zu, the device takes %d x %d", texture->width,
                            texture->height, (int)most, (int)most);
        make_image(&work->images[i], texture);
    }
    return mmd_gl_check("textures", err);
}

static void start_target(target *out, size_t width, size_t height)
{
    out->width = (GLsizei)width;
    out->height = (GLsizei)height;
    glGenFramebuffers(1, &out->framebuffer);
    glBindFramebuffer(GL_FRAMEBUFFER, out->framebuffer);
    glGenRenderbuffers(ATTACHMENTS, out->renderbuffers);
}

static void attach(target *out, int place, GLenum attachment, GLenum format)
{
    glBindRenderbuffer(GL_RENDERBUFFER, out->renderbuffers[place]);
    glRenderbufferStorage(GL_RENDERBUFFER, format, out->width, out->height);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, attachment, GL_RENDERBUFFER,
                              out->renderbuffers[place]);
}

static bool check_target(mmd_error *err)
{
    if (!mmd_gl_check("memory for the picture", err))
        return false;
    GLenum status = glCheckFramebufferStatus(GL_FRAMEBUFFER);
    return status == GL_FRAMEBUFFER_COMPLETE ||
           mmd_fail(err, MMD_E_BACKEND, "OpenGL: framebuffer status 0x%04x", status);
}

static bool make_image_targets(render_work *work, mmd_error *err)
{
    const mmd_render_job *job = work->job;
    target *drawn = &work->drawn;
    start_target(drawn, job->width * job->samples, job->height * job->samples);
    gl1.GenTextures(1, &work->drawn_texture);
    glActiveTexture(GL_TEXTURE0 + IMAGE_UNIT);
    gl1.BindTexture(GL_TEXTURE_2D, work->drawn_texture);
    gl1.TexImage2D(GL_TEXTURE_2D, 0, GL_RGBA16F, drawn->width, drawn->height, 0, GL_RGBA, GL_FLOAT,
                   NULL);
    gl1.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, work->drawn_texture,
                           0);
    attach(drawn, DATA_COUNT, GL_DEPTH_ATTACHMENT, GL_DEPTH_COMPONENT32F);
    if (!check_target(err))
        return false;
    start_target(&work->picture, job->width, job->height);
    attach(&work->picture, 0, GL_COLOR_ATTACHMENT0, GL_RGBA8);
    return check_target(err);
}

static bool make_data_target(render_work *work, mmd_error *err)
{
    static const GLenum formats[DATA_COUNT] = {GL_R32I, GL_R32F, GL_RGBA32F};
    const mmd_render_job *job = work->job;
    const bool wanted[DATA_COUNT] = {job->triangles_seen, job->depths, job->normals_seen};
    GLenum drawn[DATA_COUNT];
    start_target(&work->data, job->width, job->height);
    for (int i = 0; i < DATA_COUNT; i++) {
        drawn[i] = wanted[i] ? GL_COLOR_ATTACHMENT0 + (GLenum)i : GL_NONE;
        if (wanted[i])
            attach(&work->data, i, drawn[i], formats[i]);
    }
    attach(&work->data, DATA_COUNT, GL_DEPTH_ATTACHMENT, GL_DEPTH_COMPONENT32F);
    glDrawBuffers(DATA_COUNT, drawn);
    return check_target(err);
}

static bool wants_data(const mmd_render_job *job)
{
    return job->depths || job->normals_seen || job->triangles_seen;
}

static bool check_limits(const mmd_render_job *job, mmd_error *err)
{
    GLint texels = 0;
    gl1.GetIntegerv(GL_MAX_TEXTURE_BUFFER_SIZE, &texels);
    size_t most = BUFFER_BYTES / 16 < (size_t)texels ? BUFFER_BYTES / 16 : (size_t)texels;
    if (job->vertex_count > most || 3 * job->triangle_count > most)
        return mmd_fail(err, MMD_E_BACKEND,
                        "OpenGL: %zu vertices and %zu corners of triangles, the device takes %zu",
                        job->vertex_count, 3 * job->triangle_count, most);
    return true;
}

static bool prepare(render_work *work, mmd_error *err)
{
    const mmd_render_job *job = work->job;
    if (!check_limits(job, err))
        return false;
    work->seen = malloc(job->vertex_count * 4 * sizeof *work->seen + 1);
    if (!work->seen)
        return mmd_fail_memory(err);
    make_inputs(work);
    make_table(&work->elements_texture, TRIANGLES_UNIT, GL_R32I, work->elements);
    make_table(&work->positions_texture, POSITIONS_UNIT, GL_RGBA32F, work->buffers[POSITION]);
    return mmd_gl_check("upload of the mesh", err) && make_images(work, err) &&
           (!job->image || make_image_targets(work, err)) &&
           (!wants_data(job) || make_data_target(work, err));
}

static void free_target(const target *t)
{
    glDeleteFramebuffers(1, &t->framebuffer);
    glDeleteRenderbuffers(ATTACHMENTS, t->renderbuffers);
}

static void free_work(render_work *work)
{
    glDeleteVertexArrays(1, &work->vertex_array);
    glDeleteBuffers(INPUTS, work->buffers);
    glDeleteBuffers(1, &work->elements);
    const GLuint textures[] = {work->elements_texture, work->positions_texture, work->drawn_texture,
                               work->plain_image};
    gl1.DeleteTextures(sizeof textures / sizeof *textures, textures);
    if (work->images)
        gl1.DeleteTextures((GLsizei)work->job->texture_count, work->images);
    free_target(&work->drawn);
    free_target(&work->picture);
    free_target(&work->data);
    free(work->images);
    free(work->seen);
}

/* A frame */

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
    const mmd_render_job *job = work->job;
    size_t v = job->vertex_count, f = job->position_frames > 1 ? frame : 0;
    mmd_render_view(job, frame, &work->view);
    double ahead[2];
    mmd_view_positions(&work->view, job->positions + 3 * f * v, v, work->seen, ahead);
    fill_input(work, POSITION, work->seen);
    if (job->normals && (frame == 0 || job->position_frames > 1))
        fill_input(work, NORMAL, job->normals + 3 * f * v);
    if (job->uvs && (frame == 0 || job->uv_frames > 1))
        fill_input(work, UV, job->uvs + (job->uv_frames > 1 ? 2 * frame * v : 0));
    int exponent;
    work->visible = ahead[1] > 0;
    work->nearest = ahead[1] * NEAREST;
    frexp(work->visible ? ahead[1] : 1, &exponent);
    work->depth_scale = (float)ldexp(1, -exponent - 1);
}

static void set_view(const render_work *work, const mmd_gl_painter *with, const target *to)
{
    const mmd_render_job *job = work->job;
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
    const mmd_render_job *job = work->job;
    gl1.CullFace(GL_BACK);
    size_t first = 0;
    for (size_t i = 0; i < job->material_count; i++) {
        const mmd_render_material *material = &job->materials[i];
        float diffuse[3], ambient[3];
        linear_color(material->diffuse, diffuse);
        linear_color(material->ambient, ambient);
        material->both_sides ? gl1.Disable(GL_CULL_FACE) : gl1.Enable(GL_CULL_FACE);
        gl1.BindTexture(GL_TEXTURE_2D, material->texture < 0 ? work->plain_image
                                                             : work->images[material->texture]);
        glUniform4f(with->diffuse, diffuse[0], diffuse[1], diffuse[2], alpha(material->diffuse[3]));
        glUniform3fv(with->ambient, 1, ambient);
        glUniform1i(with->first_triangle, (GLint)first);
        draw_triangles(first, material->triangle_count);
        first += material->triangle_count;
    }
}

static void draw_edges(const render_work *work, const mmd_gl_painter *with)
{
    const mmd_render_job *job = work->job;
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
    const mmd_render_job *job = work->job;
    const mmd_gl_painter *painters = work->painters->of;
    set_view(work, &painters[COLOR], &work->drawn);
    glClearBufferfv(GL_COLOR, 0, nothing);
    clear_depth();
    gl1.Enable(GL_DEPTH_TEST);
    gl1.Enable(GL_BLEND);
    if (work->visible)
        draw_surfaces(work, &painters[COLOR]);
    if (work->visible && job->edges) {
        set_view(work, &painters[EDGE], &work->drawn);
        draw_edges(work, &painters[EDGE]);
    }
    gl1.Disable(GL_BLEND);
    gl1.Disable(GL_DEPTH_TEST);
    gl1.Disable(GL_CULL_FACE);

    float background[3];
    linear_color(job->background, background);
    set_view(work, &painters[RESOLVE], &work->picture);
    gl1.BindTexture(GL_TEXTURE_2D, work->drawn_texture);
    glUniform1i(painters[RESOLVE].samples, (GLint)job->samples);
    glUniform4f(painters[RESOLVE].background, background[0], background[1], background[2],
                job->background[3]);
    gl1.DrawArrays(GL_TRIANGLES, 0, 3);
}

static void draw_data(const render_work *work)
{
    static const GLint no_triangle[4] = {-1, -1, -1, -1};
    static const GLfloat no_normal[4] = {0}, no_depth[4] = {INFINITY, 0, 0, 0};
    const mmd_render_job *job = work->job;
    set_view(work, &work->painters->of[DATA], &work->data);
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

static void read(const target *from, int attachment, GLenum format, GLenum type, void *to)
{
    glBindFramebuffer(GL_FRAMEBUFFER, from->framebuffer);
    gl1.ReadBuffer(GL_COLOR_ATTACHMENT0 + (GLenum)attachment);
    gl1.ReadPixels(0, 0, from->width, from->height, format, type, to);
}

static bool draw_frame(render_work *work, size_t frame, mmd_error *err)
{
    mmd_render_job out = mmd_render_slice(work->job, frame, 1);
    upload_frame(work, frame);
    if (out.image) {
        draw_image(work);
        read(&work->picture, 0, GL_RGBA, GL_UNSIGNED_BYTE, out.image);
    }
    if (wants_data(work->job))
        draw_data(work);
    if (out.triangles_seen)
        read(&work->data, TRIANGLE, GL_RED_INTEGER, GL_INT, out.triangles_seen);
    if (out.depths)
        read(&work->data, DEPTH, GL_RED, GL_FLOAT, out.depths);
    if (out.normals_seen)
        read(&work->data, NORMAL_SEEN, GL_RGB, GL_FLOAT, out.normals_seen);
    return mmd_gl_check("drawing", err);
}

/* Skinning draws into a framebuffer and with switches that are set once for the context. */
static bool render(mmd_gl_context *context, void *arg, mmd_error *err)
{
    render_work work = {.job = arg, .painters = mmd_gl_painters_of(context, err)};
    if (!work.painters)
        return false;
    GLint framebuffer = 0;
    gl1.GetIntegerv(GL_FRAMEBUFFER_BINDING, &framebuffer);
    gl1.Disable(GL_RASTERIZER_DISCARD);
    gl1.DepthFunc(GL_LEQUAL);
    gl1.BlendFunc(GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    bool ok = prepare(&work, err);
    for (size_t f = 0; ok && f < work.job->frame_count; f++)
        ok = draw_frame(&work, f, err);
    free_work(&work);
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
