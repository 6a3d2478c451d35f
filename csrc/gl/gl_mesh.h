/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_MESH_H
#define MMD_GL_MESH_H

#include "core/skin/mesh.h"
#include "gl/gl_context.h"
#include "gl/gl_thread.h"

#include <stdint.h>

/* Vertices with the same formula, which one dispatch skins. */
typedef struct mmd_gl_mesh_range {
    int32_t kind;  /* mmd_skin_kind */
    int32_t count; /* influences: 0, 1, 2 or 4 */
    bool morphed;  /* vertex morphs move them */
    size_t first_texel, vertex_count;
    GLuint texture; /* of its texels: RGBA32I, as skin.comp reads them */
} mmd_gl_mesh_range;

/* A mesh on the device. */
typedef struct mmd_gl_mesh {
    mmd_gl_object object;
    GLuint vertices;                    /* a buffer with the texels of all ranges */
    GLuint morph_buffer, morph_texture; /* RGBA32I: bits of the offset, index of the morph */
    size_t range_count;
    mmd_gl_mesh_range *ranges;
} mmd_gl_mesh;

/* The mesh in this context, uploaded by the first call. Only on the OpenGL thread. */
mmd_gl_mesh *mmd_gl_mesh_get(mmd_gl_context *context, const mmd_mesh *mesh, mmd_error *err);

#endif
