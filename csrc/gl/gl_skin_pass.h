/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_SKIN_PASS_H
#define MMD_GL_SKIN_PASS_H

#include "core/skin/skin.h"
#include "gl/gl_mesh.h"

/* Skinning of some frames of a job to buffers of the device, for those who read them back and those
   who draw them. */

enum { MMD_GL_SKIN_OUTPUTS = 3 }; /* positions, normals, tangents; those that the job has */

/* Set the first members, zero the rest; `bones` and `weights` have room for the frames of a pass.
 */
typedef struct mmd_gl_skin_pass {
    const mmd_skin_job *job; /* its outputs only tell which are computed */
    mmd_gl_context *context;
    size_t instance_frames; /* 1 or MMD_GL_INSTANCE_FRAMES */
    bool approximate;       /* float is enough for all normals; else some are MMD_GL_IMPRECISE */
    mmd_skin_bone *bones;
    float *weights;
    const mmd_gl_mesh *mesh; /* set by mmd_gl_skin_pass_begin() */
    bool morphs_act;
} mmd_gl_skin_pass;

/* Uploads the mesh at first use, and binds what passes read: a vertex array, and textures of the
   first units. GL_RASTERIZER_DISCARD must be enabled when they are drawn. */
bool mmd_gl_skin_pass_begin(mmd_gl_skin_pass *pass, mmd_error *err);

/* Frames that are stored for so many: whole instances, whose frames are adjacent for each vertex.
 */
size_t mmd_gl_skin_pass_stored_frames(const mmd_gl_skin_pass *pass, size_t frames);

/* Uploads the bones and weights of frames [first, first + frames), and skins them to buffers, in
   the vertices' order in the device mesh. */
void mmd_gl_skin_pass_upload(mmd_gl_skin_pass *pass, size_t first, size_t frames);
bool mmd_gl_skin_pass_draw(mmd_gl_skin_pass *pass, size_t frames, const GLuint *buffers,
                           mmd_error *err);

#endif
