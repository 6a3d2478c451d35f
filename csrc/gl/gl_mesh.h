/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_MESH_H
#define MMD_GL_MESH_H

#include "core/skin/mesh.h"
#include "gl/gl_context.h"
#include "gl/gl_thread.h"

#include <stdint.h>

/* Contiguous vertices on the device with the same formula: one draw call. */
typedef struct mmd_gl_draw_range {
    int32_t kind;  /* mmd_skin_kind */
    int32_t count; /* influences: 0, 1, 2 or 4 */
    bool morphed;  /* vertex morphs move them */
    size_t first, vertex_count;
    size_t first_range, range_count;
} mmd_gl_draw_range;

/* `length` vertices that are contiguous in a draw range and, from `target` on, in the mesh. */
typedef struct mmd_gl_vertex_range {
    uint32_t target, length;
} mmd_gl_vertex_range;

/* A mesh on the device: vertices in draw ranges, and the vertex ranges that restore their order. */
typedef struct mmd_gl_mesh {
    mmd_gl_object object;
    GLuint vertex_array, vertices;
    GLuint morph_buffer, morph_texture; /* RGBA32I: bits of the offset, index of the morph */
    uint32_t max_offsets;               /* the largest number of morph offsets of a vertex */
    size_t draw_range_count;
    mmd_gl_draw_range *draw_ranges;
    mmd_gl_vertex_range *ranges;
} mmd_gl_mesh;

/* The mesh in this context, uploaded by the first call. Only on the OpenGL thread. */
mmd_gl_mesh *mmd_gl_mesh_get(mmd_gl_context *context, const mmd_mesh *mesh, mmd_error *err);

#endif
