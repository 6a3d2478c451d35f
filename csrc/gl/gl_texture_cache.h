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
