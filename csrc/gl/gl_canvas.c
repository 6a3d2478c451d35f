/* SPDX-License-Identifier: MIT */
#include "gl/gl_canvas.h"

#include "core/base/error.h"

#include <stdlib.h>

enum { BUFFER_BYTES = 1 << 30 /* the largest buffer asked of any driver */ };

static const GLint input_widths[INPUTS] = {4, 3, 2, 1};

static void fill(GLenum kind, GLuint buffer, size_t bytes, const void *data)
{
    static const float nothing[4] = {0};
    glBindBuffer(kind, buffer);
    glBufferData(kind, (GLsizeiptr)(bytes ? bytes : sizeof nothing), bytes ? data : nothing,
                 GL_STREAM_DRAW);
}

void mmd_gl_canvas_fill(const mmd_gl_canvas *canvas, enum input input, const float *numbers)
{
    size_t bytes = canvas->job->vertex_count * (size_t)input_widths[input] * sizeof *numbers;
    fill(GL_ARRAY_BUFFER, canvas->buffers[input], numbers ? bytes : 0, numbers);
}

/* Inputs that the job lacks are constants. */
static void make_inputs(mmd_gl_canvas *canvas)
{
    const mmd_render_job *job = canvas->job;
    const bool given[INPUTS] = {true, job->normals, job->uvs, job->edge_scales};
    glGenVertexArrays(1, &canvas->vertex_array);
    glBindVertexArray(canvas->vertex_array);
    glGenBuffers(INPUTS, canvas->buffers);
    for (GLuint i = 0; i < INPUTS; i++) {
        if (given[i]) {
            glBindBuffer(GL_ARRAY_BUFFER, canvas->buffers[i]);
            glVertexAttribPointer(i, input_widths[i], GL_FLOAT, GL_FALSE, 0, NULL);
            glEnableVertexAttribArray(i);
        }
    }
    glVertexAttrib3f(NORMAL, 0, 0, 0);
    glVertexAttrib2f(UV, 0, 0);
    glVertexAttrib1f(EDGE_SCALE, 1);
    glGenBuffers(1, &canvas->elements);
    fill(GL_ELEMENT_ARRAY_BUFFER, canvas->elements, 3 * job->triangle_count * sizeof(int32_t),
         job->triangles);
    mmd_gl_canvas_fill(canvas, POSITION, NULL);
    mmd_gl_canvas_fill(canvas, EDGE_SCALE, job->edge_scales);
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

static bool make_images(mmd_gl_canvas *canvas, mmd_error *err)
{
    static const uint8_t white[] = {255, 255, 255, 255};
    const mmd_render_job *job = canvas->job;
    GLint most = 0;
    gl1.GetIntegerv(GL_MAX_TEXTURE_SIZE, &most);
    canvas->images = calloc(job->texture_count + 1, sizeof *canvas->images);
    if (!canvas->images)
        return mmd_fail_memory(err);
    make_image(&canvas->plain_image, &(mmd_render_texture){1, 1, white});
    for (size_t i = 0; i < job->texture_count; i++) {
        const mmd_render_texture *texture = &job->textures[i];
        if (texture->width > (size_t)most || texture->height > (size_t)most)
            return mmd_fail(err, MMD_E_ARGUMENT,
                            "textures: one of %zu x %zu, the device takes %d x %d", texture->width,
                            texture->height, (int)most, (int)most);
        make_image(&canvas->images[i], texture);
    }
    return mmd_gl_check("textures", err);
}

static void start_target(mmd_gl_target *out, size_t width, size_t height)
{
    out->width = (GLsizei)width;
    out->height = (GLsizei)height;
    glGenFramebuffers(1, &out->framebuffer);
    glBindFramebuffer(GL_FRAMEBUFFER, out->framebuffer);
    glGenRenderbuffers(ATTACHMENTS, out->renderbuffers);
}

static void attach(mmd_gl_target *out, int place, GLenum attachment, GLenum format)
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

static bool make_image_targets(mmd_gl_canvas *canvas, mmd_error *err)
{
    const mmd_render_job *job = canvas->job;
    mmd_gl_target *drawn = &canvas->drawn;
    start_target(drawn, job->width * job->samples, job->height * job->samples);
    gl1.GenTextures(1, &canvas->drawn_texture);
    glActiveTexture(GL_TEXTURE0 + IMAGE_UNIT);
    gl1.BindTexture(GL_TEXTURE_2D, canvas->drawn_texture);
    gl1.TexImage2D(GL_TEXTURE_2D, 0, GL_RGBA16F, drawn->width, drawn->height, 0, GL_RGBA, GL_FLOAT,
                   NULL);
    gl1.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D,
                           canvas->drawn_texture, 0);
    attach(drawn, DATA_COUNT, GL_DEPTH_ATTACHMENT, GL_DEPTH_COMPONENT32F);
    if (!check_target(err))
        return false;
    start_target(&canvas->picture, job->width, job->height);
    attach(&canvas->picture, 0, GL_COLOR_ATTACHMENT0, GL_RGBA8);
    return check_target(err);
}

static bool make_data_target(mmd_gl_canvas *canvas, mmd_error *err)
{
    static const GLenum formats[DATA_COUNT] = {GL_R32I, GL_R32F, GL_RGBA32F};
    const mmd_render_job *job = canvas->job;
    const bool wanted[DATA_COUNT] = {job->triangles_seen, job->depths, job->normals_seen};
    GLenum drawn[DATA_COUNT];
    start_target(&canvas->data, job->width, job->height);
    for (int i = 0; i < DATA_COUNT; i++) {
        drawn[i] = wanted[i] ? GL_COLOR_ATTACHMENT0 + (GLenum)i : GL_NONE;
        if (wanted[i])
            attach(&canvas->data, i, drawn[i], formats[i]);
    }
    attach(&canvas->data, DATA_COUNT, GL_DEPTH_ATTACHMENT, GL_DEPTH_COMPONENT32F);
    glDrawBuffers(DATA_COUNT, drawn);
    return check_target(err);
}

bool mmd_gl_canvas_has_data(const mmd_render_job *job)
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

bool mmd_gl_canvas_make(mmd_gl_canvas *canvas, mmd_error *err)
{
    const mmd_render_job *job = canvas->job;
    if (!check_limits(job, err))
        return false;
    make_inputs(canvas);
    make_table(&canvas->elements_texture, TRIANGLES_UNIT, GL_R32I, canvas->elements);
    make_table(&canvas->positions_texture, POSITIONS_UNIT, GL_RGBA32F, canvas->buffers[POSITION]);
    return mmd_gl_check("upload of the mesh", err) && make_images(canvas, err) &&
           (!job->image || make_image_targets(canvas, err)) &&
           (!mmd_gl_canvas_has_data(job) || make_data_target(canvas, err));
}

static void free_target(const mmd_gl_target *t)
{
    glDeleteFramebuffers(1, &t->framebuffer);
    glDeleteRenderbuffers(ATTACHMENTS, t->renderbuffers);
}

void mmd_gl_canvas_free(mmd_gl_canvas *canvas)
{
    glDeleteVertexArrays(1, &canvas->vertex_array);
    glDeleteBuffers(INPUTS, canvas->buffers);
    glDeleteBuffers(1, &canvas->elements);
    const GLuint textures[] = {canvas->elements_texture, canvas->positions_texture,
                               canvas->drawn_texture, canvas->plain_image};
    gl1.DeleteTextures(sizeof textures / sizeof *textures, textures);
    if (canvas->images)
        gl1.DeleteTextures((GLsizei)canvas->job->texture_count, canvas->images);
    free_target(&canvas->drawn);
    free_target(&canvas->picture);
    free_target(&canvas->data);
    free(canvas->images);
}
