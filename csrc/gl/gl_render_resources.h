/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_RENDER_RESOURCES_H
#define MMD_GL_RENDER_RESOURCES_H

#include "core/render/render.h"
#include "core/render/toons.h"
#include "gl/gl_render_program.h"

/* What a render job needs on the device: vertex buffers, textures, framebuffers. */

/* Color attachments of the G-buffer, in the order of the shader's outputs. */
typedef enum mmd_gl_gbuffer {
    MMD_GL_GBUFFER_TRIANGLE,
    MMD_GL_GBUFFER_DEPTH,
    MMD_GL_GBUFFER_NORMAL,
    MMD_GL_GBUFFER_COUNT
} mmd_gl_gbuffer;

enum { MMD_GL_ATTACHMENT_COUNT = MMD_GL_GBUFFER_COUNT + 1 }; /* the last one is the depth buffer */

typedef struct mmd_gl_framebuffer {
    GLuint name, renderbuffers[MMD_GL_ATTACHMENT_COUNT];
    GLsizei width, height;
} mmd_gl_framebuffer;

typedef struct mmd_gl_render_resources {
    const mmd_render_job *job;
    const uint32_t
        *order; /* of vertices in the buffers: where each of the mesh is; NULL: as there */
    GLuint vertex_array, buffers[MMD_GL_RENDER_ATTRIBUTE_COUNT], elements;
    GLuint triangles_texture, positions_texture; /* buffer textures of elements and positions */
    GLuint *textures, white_texture;             /* the job's, and one for materials without any */
    GLuint toons[MMD_TOON_COUNT];                /* shared ones that materials use, else 0 */
    mmd_gl_framebuffer samples; /* supersampled, premultiplied; drawn to color_texture */
    GLuint color_texture;
    mmd_gl_framebuffer shadow; /* the depth map of the light, drawn to shadow_texture */
    GLuint shadow_texture;
    mmd_gl_framebuffer image, gbuffer;
} mmd_gl_render_resources;

/* For resources that are zero except for the job. mmd_gl_render_resources_free() is needed even if
   it fails. */
bool mmd_gl_render_resources_init(mmd_gl_render_resources *resources, mmd_error *err);
void mmd_gl_render_resources_free(mmd_gl_render_resources *resources);

/* Uploads a vertex attribute of all vertices, in the order of the mesh; NULL: nothing to read.
   Fails with MMD_E_MEMORY. */
bool mmd_gl_render_resources_upload(const mmd_gl_render_resources *resources,
                                    mmd_gl_render_attribute attribute, const float *values,
                                    mmd_error *err);

/* Binds what all passes read, again: skinning on the device has bound its own. */
void mmd_gl_render_resources_bind(const mmd_gl_render_resources *resources);

/* Whether the job has outputs other than the image, and whether it needs the depth map. */
bool mmd_gl_render_resources_has_gbuffer(const mmd_render_job *job);
bool mmd_gl_render_resources_has_shadow_map(const mmd_render_job *job);

#endif
