/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_SKIN_PASS_H
#define MMD_GL_SKIN_PASS_H

#include "core/skin/skin.h"
#include "gl/gl_mesh.h"

/* Skinning of some frames of a job to buffers of the device, for those who read them back and those
   who draw them. */

enum { MMD_GL_SKIN_OUTPUTS = 3 }; /* positions, normals, tangents */

/* Where they view what they draw from: three rows (right, up, forward), position. */
typedef struct mmd_gl_skin_view {
    float rotation[9], camera[3];
} mmd_gl_skin_view;

/* Set the first two members, zero the rest; `bones` and `weights` have room for the frames of a
   pass. */
typedef struct mmd_gl_skin_pass {
    const mmd_skin_job *job; /* its outputs only tell which are computed */
    mmd_gl_context *context;
    mmd_skin_bone *bones;
    float *weights;
    const mmd_gl_mesh *mesh; /* set by mmd_gl_skin_pass_begin() */
    bool morphs_act;
} mmd_gl_skin_pass;

/* A part of a buffer that has an output of all frames of a pass, in the order of the mesh. */
typedef struct mmd_gl_skin_output {
    GLuint buffer;      /* 0: the job lacks the output */
    size_t first, size; /* bytes */
} mmd_gl_skin_output;

/* Uploads the mesh at first use. */
bool mmd_gl_skin_pass_begin(mmd_gl_skin_pass *pass, mmd_error *err);

/* How many of so many frames one pass can skin; 0 if not even one, with an error. */
size_t mmd_gl_skin_pass_max_frames(const mmd_gl_skin_pass *pass, size_t frames, mmd_error *err);

/* Uploads the bones and weights of frames [first, first + frames), and skins them. With a view,
   positions are in view space, of four numbers, and normals as precise as float; else some are
   MMD_GL_IMPRECISE. Activates a texture unit that no program uses that renders. */
bool mmd_gl_skin_pass_run(mmd_gl_skin_pass *pass, size_t first, size_t frames,
                          const mmd_gl_skin_view *view,
                          const mmd_gl_skin_output outputs[MMD_GL_SKIN_OUTPUTS], mmd_error *err);

#endif
