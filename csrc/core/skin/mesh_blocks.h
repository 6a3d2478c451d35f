/* SPDX-License-Identifier: MIT */
#ifndef MMD_MESH_BLOCKS_H
#define MMD_MESH_BLOCKS_H

#include "core/base/arena.h"
#include "core/skin/vertex.h"

#include <stdbool.h>

/* The layout of a mesh for the vector kernels: vertices grouped by kind and bones, MMD_LANES side
   by side as structure of arrays. */

enum { MMD_LANES = 8 };

/* Bits of a block's `runs`: which of its lanes hold consecutive vertices. */
typedef enum mmd_block_run {
    MMD_RUN_FIRST_FOUR = 1,
    MMD_RUN_LAST_FOUR = 2,
    MMD_RUN_ALL = 4
} mmd_block_run;

/* A block holds position 3, normal 3 (when the mesh has normals), tangent 3 (when it has tangents),
   the weights of all influences but the last, and by kind: SDEF c 3 and c0 3, CENTER c 3,
   BULGE_FREE and COMPENSATED factor 1, each MMD_LANES floats. Lanes past `lanes` repeat the last
   vertex, but morphs do not reach them: the kernels store the last lanes of a block first. */
typedef struct mmd_block {
    uint32_t lanes;
    uint32_t runs;      /* mmd_block_run */
    int32_t morph_slot; /* place in the copy that morphs write to; -1: no morph reaches it */
    uint32_t vertex[MMD_LANES]; /* index of each lane's vertex in the mesh */
} mmd_block;

typedef struct mmd_group {
    int32_t kind; /* mmd_skin_kind */
    int32_t count;
    int32_t bones[4];
    float c[3], c0[3]; /* of BULGE_FREE and COMPENSATED, whose vertices have them in common */
    size_t first_block, block_count;
    const float *data;   /* of the first block */
    size_t block_stride; /* floats */
} mmd_group;

typedef struct mmd_mesh_blocks {
    size_t group_count, block_count, morphed_count;
    mmd_group *groups;
    mmd_block *blocks;
    const float **morphed; /* data of the block in each morph slot */
    /* For each offset of each vertex morph: float index of x in the morphed blocks, y and z
       MMD_LANES further on. */
    const uint32_t **morph_lanes;
} mmd_mesh_blocks;

/* What is laid out. */
typedef struct mmd_mesh_blocks_source {
    size_t vertex_count;
    const mmd_vertex *vertices;
    bool has_normals, has_tangents;
    size_t morph_count;
    const mmd_vertex_morph *morphs;
} mmd_mesh_blocks_source;

/* False when memory is short. Everything lies in `arena`. */
bool mmd_mesh_blocks_build(const mmd_mesh_blocks_source *source, mmd_arena *arena,
                           mmd_mesh_blocks *out);

#endif
