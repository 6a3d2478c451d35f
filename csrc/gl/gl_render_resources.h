/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_RENDER_RESOURCES_H
#define MMD_GL_RENDER_RESOURCES_H

#include "core/render/render.h"
#include "gl/gl_render_cache.h"
#include "gl/gl_render_program.h"
#include "gl/gl_thread.h"

/* What a render job needs on the device: its vertex buffers, and textures and framebuffers, which
   the context keeps. */

typedef struct mmd_gl_render_resources {
    mmd_gl_context *context;
    const mmd_render_job *job;
    const mmd_gl_caller *caller;
    GLuint vertex_array, buffers[MMD_GL_RENDER_ATTRIBUTE_COUNT], elements;
    GLuint triangles_texture, positions_texture; /* buffer textures of elements and positions */
    GLuint *textures, white_texture;             /* the job's, and one for materials without any */
    GLuint toons[MMD_TOON_COUNT];                /* shared ones that materials use, else 0 */
    const mmd_gl_render_targets *targets;
} mmd_gl_render_resources;

/* For resources that are zero except for the first members. mmd_gl_render_resources_free() is
   needed even if it fails. */
bool mmd_gl_render_resources_init(mmd_gl_render_resources *resources, mmd_error *err);

/* Frees what is not kept: everything if the job failed. */
void mmd_gl_render_resources_free(mmd_gl_render_resources *resources, bool ok);

/* Uploads a vertex attribute of all vertices; NULL: nothing to read. */
void mmd_gl_render_resources_upload(const mmd_gl_render_resources *resources,
                                    mmd_gl_render_attribute attribute, const float *values);

#endif
