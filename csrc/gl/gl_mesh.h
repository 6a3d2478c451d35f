/* SPDX-License-Identifier: MIT */
#ifndef MMD_GL_MESH_H
#define MMD_GL_MESH_H

#include "core/skin/mesh.h"
#include "gl/gl_job.h"

#include <stdint.h>

/* Inputs of skin.vert, in the order of their locations: name, components, whether they are integers
   (else floats), member of a device vertex. */
#define MMD_GL_INPUTS(X)                                                                           \
    X(position, 3, false, vertex.position)                                                         \
    X(normal, 3, false, vertex.normal)                                                             \
    X(tangent, 4, false, vertex.tangent)                                                           \
    X(c, 3, false, vertex.c)                                                                       \
    X(c0, 3, false, vertex.c0)                                                                     \
    X(factor, 1, false, vertex.factor)                                                             \
    X(weights, 4, false, vertex.weights)                                                           \
    X(bone_indices, 4, true, vertex.bones)                                                         \
    X(pivot, 1, true, vertex.pivot)                                                                \
    X(morph_range, 2, true, morph_range)

/* Consecutive vertices on the device that are skinned alike: one draw call. */
typedef struct mmd_gl_batch {
    int32_t kind;  /* mmd_skin_kind */
    int32_t count; /* influences: 0, 1, 2 or 4 */
    bool morphed;  /* some vertex morph moves them */
    size_t first, vertex_count;
    size_t first_run, run_count;
} mmd_gl_batch;

/* `length` vertices that follow each other in a batch and, from `target` on, in the mesh. */
typedef struct mmd_gl_stretch {
    uint32_t target, length;
} mmd_gl_stretch;

/* A mesh on the device: the vertices sorted into batches, and what puts results back in order. */
typedef struct mmd_gl_mesh {
    mmd_gl_object object;
    GLuint vertex_array, vertices;
    GLuint morph_buffer, morph_texture; /* RGBA32I: bits of the offset, index of the morph */
    uint32_t most_offsets;              /* that morphs have for one vertex */
    size_t batch_count;
    mmd_gl_batch *batches;
    mmd_gl_stretch *runs;
} mmd_gl_mesh;

/* The mesh's copy in this context, made by the first call. Only on the OpenGL thread. */
mmd_gl_mesh *mmd_gl_mesh_of(mmd_gl_context *context, const mmd_mesh *mesh, mmd_error *err);

#endif
