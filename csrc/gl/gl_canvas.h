/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_CANVAS_H
#define MMD_GL_CANVAS_H

#include "core/render/render.h"
#include "gl/gl_painter.h"

/* What pixels can be asked for beside colour, in the order of the shader's outputs. */
enum data { TRIANGLE, DEPTH, NORMAL_SEEN, DATA_COUNT };

enum { ATTACHMENTS = DATA_COUNT + 1 }; /* the last one for depth */

/* Where a pass draws to. */
typedef struct mmd_gl_target {
    GLuint framebuffer, renderbuffers[ATTACHMENTS];
    GLsizei width, height;
} mmd_gl_target;

/* All that is made on the device for a job. */
typedef struct mmd_gl_canvas {
    const mmd_render_job *job;
    GLuint vertex_array, buffers[INPUTS], elements;
    GLuint elements_texture, positions_texture, drawn_texture;
    GLuint *images, plain_image; /* of the job's textures; a white pixel */
    mmd_gl_target drawn, picture, data;
} mmd_gl_canvas;

/* For a zeroed canvas with its job, which mmd_gl_canvas_free() wants also after a failure. */
bool mmd_gl_canvas_make(mmd_gl_canvas *canvas, mmd_error *err);
void mmd_gl_canvas_free(mmd_gl_canvas *canvas);

/* The numbers of all vertices; NULL: zeros of one. */
void mmd_gl_canvas_fill(const mmd_gl_canvas *canvas, enum input input, const float *numbers);

/* Whether the job asks for more than the picture. */
bool mmd_gl_canvas_has_data(const mmd_render_job *job);

#endif
