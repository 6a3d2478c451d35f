/* SPDX-License-Identifier: MIT */
#ifndef MMD_VERTEX_BLOCKS_H
#define MMD_VERTEX_BLOCKS_H

#include "core/base/arena.h"
#include "mmdskin.h"

#include <stdbool.h>

/* The mesh as the SIMD kernels read it: a structure of arrays, in blocks of MMD_LANES vertices.
   Blocks form groups whose vertices have the same formula and the same bones, so that a kernel
   prepares these once per group (group_constants.h). */

enum { MMD_LANES = 8 };

/* Bits of mmd_vertex_block.contiguous: lanes whose vertices are contiguous in the mesh, so that a
   kernel can store them as whole vectors. */
typedef enum mmd_vertex_contiguous_lanes {
    MMD_CONTIGUOUS_FIRST_FOUR = 1,
    MMD_CONTIGUOUS_LAST_FOUR = 2,
    MMD_CONTIGUOUS_ALL = 4
} mmd_vertex_contiguous_lanes;

/* The data of a block are rows of MMD_LANES floats: position 3, normal 3 (if the mesh has normals),
   tangent 3 (if it has tangents), the weights of all influences but the last, and by kind: SDEF c 3
   and c0 3, CENTER c 3, BULGE_FREE and COMPENSATED factor 1. Unused lanes repeat the last vertex,
   without its morph offsets. Kernels store lanes from last to first, so the lane in use overwrites
   them. */
typedef struct mmd_vertex_block {
    uint32_t lane_count; /* lanes in use */
    uint32_t contiguous; /* mmd_vertex_contiguous_lanes */
    int32_t morph_slot;  /* index in mmd_vertex_blocks.morphed; -1: no morph moves the block */
    uint32_t vertex[MMD_LANES]; /* index of each lane's vertex in the mesh */
} mmd_vertex_block;

typedef struct mmd_vertex_block_group {
    int32_t kind; /* mmd_skin_kind */
    int32_t count;
    int32_t bones[4];
    float c[3], c0[3]; /* of BULGE_FREE and COMPENSATED, the same for all vertices of the group */
    size_t first_block, block_count;
    const float *data;   /* of the first block */
    size_t block_stride; /* floats */
} mmd_vertex_block_group;

typedef struct mmd_vertex_blocks {
    size_t group_count, block_count, morphed_count;
    mmd_vertex_block_group *groups;
    mmd_vertex_block *blocks;
    const float **morphed; /* the unmorphed data of the block of each morph slot */
    /* For each offset of each vertex morph: float index of x in the morphed positions (3 rows of
       MMD_LANES per slot); y and z follow MMD_LANES and 2 MMD_LANES later. */
    const uint32_t **morph_lanes;
} mmd_vertex_blocks;

/* Builds the blocks of the mesh's vertices and vertex morphs; all memory is from `arena`. False
   when memory runs out. */
bool mmd_vertex_blocks_build(const mmd_mesh *mesh, mmd_arena *arena, mmd_vertex_blocks *out);

/* Computes `positions`, 3 rows of MMD_LANES per morph slot: the positions of the blocks that morphs
   can move, plus the offsets of the morphs by their weights. */
void mmd_vertex_blocks_morph(const mmd_mesh *mesh, const float *weights, float *positions);

#endif
