/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_TEXTURE_CACHE_H
#define MMD_GL_TEXTURE_CACHE_H

#include "core/render/render.h"
#include "gl/gl_context.h"

/* Textures with mipmaps, which the context keeps for later jobs. They are found by their pixels, so
   that an array that has changed is another texture. */

/* Starts a job: textures that are taken from now on are kept until it is released. False without
   memory. */
bool mmd_gl_texture_cache_begin(mmd_gl_context *context, mmd_error *err);

/* What texture is found by: 128 bits of its pixels. */
typedef struct mmd_gl_texture_digest {
    uint64_t halves[2];
} mmd_gl_texture_digest;

mmd_gl_texture_digest mmd_gl_texture_cache_digest(const mmd_render_texture *texture);

/* A texture with these pixels, of which this is the digest, as linear colors or, for the look of
   MMD, as numbers. May bind another one to the active unit. 0 without memory. */
GLuint mmd_gl_texture_cache_get(mmd_gl_context *context, mmd_look look,
                                const mmd_render_texture *texture, mmd_gl_texture_digest digest,
                                mmd_error *err);

/* Ends the job: frees the textures that were not used for the longest time, as far as all are too
   large to be kept. If it failed, frees all of them. */
void mmd_gl_texture_cache_release(mmd_gl_context *context, bool ok);

#endif
