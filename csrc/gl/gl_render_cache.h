/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_RENDER_CACHE_H
#define MMD_GL_RENDER_CACHE_H

#include "core/render/render.h"
#include "gl/gl_context.h"

/* The framebuffers that render jobs draw to, which the context keeps for the next job. */

/* Color attachments of the G-buffer, in the order of the shader's outputs. */
typedef enum mmd_gl_gbuffer {
    MMD_GL_GBUFFER_TRIANGLE,
    MMD_GL_GBUFFER_DEPTH,
    MMD_GL_GBUFFER_NORMAL,
    MMD_GL_GBUFFER_COUNT
} mmd_gl_gbuffer;

enum { MMD_GL_ATTACHMENT_COUNT = MMD_GL_GBUFFER_COUNT + 1 }; /* the last one is the depth buffer */

/* Its attachments are renderbuffers, except the one that is a texture. */
typedef struct mmd_gl_framebuffer {
    GLuint name, renderbuffers[MMD_GL_ATTACHMENT_COUNT], texture;
    GLsizei width, height;
    unsigned attachments; /* bits: which of the G-buffer's it has */
    size_t pixel_bytes;
} mmd_gl_framebuffer;

/* Large pictures take a software renderer seconds. It draws them in bands of rows, between which
   the caller may interrupt it, and which need less memory. Their heights are those of the bands. */
typedef struct mmd_gl_render_targets {
    size_t rows;                /* of a band: all, or fewer */
    mmd_gl_framebuffer samples; /* supersampled, premultiplied; colors in its texture */
    mmd_gl_framebuffer shadow;  /* the depth map of the light, its texture */
    mmd_gl_framebuffer image, gbuffer;
} mmd_gl_render_targets;

/* Those that a job needs, made unless the last job had the same. NULL if that fails. */
const mmd_gl_render_targets *mmd_gl_render_targets_get(mmd_gl_context *context,
                                                       const mmd_render_job *job, mmd_error *err);

/* After a job: frees them if it failed, or if they are too large to be kept. */
void mmd_gl_render_targets_release(mmd_gl_context *context, bool ok);

/* Whether the job has outputs other than the image, and whether it needs the depth map. */
bool mmd_gl_render_targets_has_gbuffer(const mmd_render_job *job);
bool mmd_gl_render_targets_has_shadow_map(const mmd_render_job *job);

/* Textures with mipmaps, which the context keeps for later jobs. They are found by their pixels, so
   that an array that has changed is another texture. */

/* Starts a job: textures that are taken from now on are kept until it is released. False without
   memory. */
bool mmd_gl_texture_cache_begin(mmd_gl_context *context, mmd_error *err);

/* Computes the digest of a texture, unless it has one. */
void mmd_gl_texture_cache_digest(mmd_render_texture *texture);

/* A texture with these pixels, as linear colors or, for the look of MMD, as numbers. May bind
   another one to the active unit. 0 without memory. */
GLuint mmd_gl_texture_cache_get(mmd_gl_context *context, mmd_look look, mmd_render_texture *texture,
                                mmd_error *err);

/* Ends the job: frees the textures that were not used for the longest time, as far as all are too
   large to be kept. If it failed, frees all of them. */
void mmd_gl_texture_cache_release(mmd_gl_context *context, bool ok);

#endif
