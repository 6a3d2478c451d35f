/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_RENDER_SKIN_H
#define MMD_GL_RENDER_SKIN_H

#include "core/render/render.h"
#include "gl/gl_skin_pass.h"

/* The vertices of a render job that skins while it draws: of each frame on the CPU, or on the
   device, from which they are not read back. Initialize to zero. */
typedef struct mmd_gl_render_skin {
    mmd_skin_job job; /* its outputs are `positions` and `normals` on the CPU */
    bool on_device;
    float *positions, *normals; /* (V,3) of the current frame */
    mmd_skin_workspace workspace;
    mmd_gl_skin_pass pass;
    bool *bone_used;
    double rest[2][3]; /* bounding box of the rest pose */
} mmd_gl_render_skin;

/* For skinning a checked job while drawing. mmd_gl_render_skin_free() is needed even if it fails.
 */
bool mmd_gl_render_skin_init(mmd_gl_render_skin *skin, const mmd_skin_job *job, bool on_device,
                             mmd_gl_context *context, mmd_error *err);
void mmd_gl_render_skin_free(mmd_gl_render_skin *skin);

/* Fills `positions` and `normals` with a frame. */
bool mmd_gl_render_skin_frame(mmd_gl_render_skin *skin, size_t frame, mmd_error *err);

/* Skins a frame to buffers of positions in view space (V,4) and of normals (0: none), and activates
   another texture unit. */
bool mmd_gl_render_skin_draw(mmd_gl_render_skin *skin, size_t frame, const mmd_render_view *view,
                             GLuint positions, GLuint normals, mmd_error *err);

/* A depth that no vertex of a frame exceeds in a view. Fails with MMD_E_ARGUMENT if coordinates may
   exceed MMD_RENDER_MAX_COORDINATE. */
bool mmd_gl_render_skin_depth(const mmd_gl_render_skin *skin, size_t frame,
                              const mmd_render_view *view, double *depth, mmd_error *err);

#endif
