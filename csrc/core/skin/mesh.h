/* SPDX-License-Identifier: MIT */
#ifndef MMD_MESH_H
#define MMD_MESH_H

#include "core/base/arena.h"
#include "mmdskin.h"

/* The formula that skins a vertex. */
typedef enum mmd_skin_kind {
    MMD_SKIN_LINEAR,
    MMD_SKIN_SDEF,
    MMD_SKIN_QDEF, /* dual quaternions */
    MMD_SKIN_CENTER,
    MMD_SKIN_BULGE_FREE,
    MMD_SKIN_COMPENSATED,
    MMD_SKIN_KIND_COUNT
} mmd_skin_kind;

/* The formula that a method applies to a vertex of this kind and number of influences. */
static inline mmd_skin_kind mmd_skin_kind_of(mmd_method method, int32_t kind, int32_t count)
{
    return method == MMD_METHOD_LINEAR || count == 0 ? MMD_SKIN_LINEAR
           : method == MMD_METHOD_DUAL_QUATERNION    ? MMD_SKIN_QDEF
                                                     : (mmd_skin_kind)kind;
}

/* The mesh that all backends skin. The rules about deform types, weights and empty slots are
   applied here, once: a backend sees only influences whose weights are not zero and sum to 1, and
   checks nothing. */

/* A vertex with its influences resolved, as the scalar kernel and the GPU read it.

   Influences: `count` of them (0: only morphs move the vertex), with weights that are not zero and
   sum to 1, in ascending order of bones. Unused slots repeat the first bone with weight 0.

   SDEF has exactly two influences; c is its C, and c0 = C + w1 (R0 - R1) / 2, R0 and R1 in the
   order of its bones.

   The methods against bulges (docs/methods.md) put the pivot first:

   CENTER       c is the center of rotation.

   BULGE_FREE   The leading bone is first; c and c0 are head and tail of its segment, and
                `factor` is the chain ratio s.

   COMPENSATED  The two leading bones are first (if there are only two, in any order); c and c0
                are the directions of their segments, and `factor` is k. */
typedef struct mmd_mesh_vertex {
    float position[3];
    float normal[3];  /* unit or zero */
    float tangent[4]; /* xyz unit or zero; w as in the input, 1 if it has three components */
    float c[3], c0[3];
    float factor;
    float weights[4];
    int32_t pivot;    /* influence with the largest weight, to which QDEF aligns its signs */
    int32_t bones[4]; /* from here on the key of the block group */
    int32_t kind;     /* mmd_skin_kind */
    int32_t count;
} mmd_mesh_vertex;

/* The mesh as the SIMD kernels read it: a structure of arrays, in blocks of MMD_LANES vertices.
   Blocks form groups whose vertices have the same formula and the same bones, so that a kernel
   prepares these once per group (skin_group.c). */

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

/* What a device keeps for a mesh: set by the backend, freed by mmd_mesh_free through `release`. */
typedef struct mmd_mesh_device_slot {
    void *data;
    void (*release)(void *data);
} mmd_mesh_device_slot;

struct mmd_mesh {
    mmd_arena arena; /* owns everything below */
    size_t vertex_count;
    size_t bone_count; /* largest bone index in use + 1 */
    bool has_normals;
    size_t tangent_width; /* 0 (no tangents), 3 or 4 */
    bool *bone_rotates;   /* (bone_count,): some vertex needs the bone's rotation */
    size_t morph_count;   /* sliders */
    const mmd_morph
        *morphs; /* offsets of vertex, group and flip morphs; of the others only the kind */
    mmd_mesh_vertex *vertices;
    size_t vertex_morph_count;
    const mmd_morph **vertex_morphs; /* those of `morphs` that move vertices */
    mmd_vertex_blocks blocks;        /* the same vertices and morphs for the SIMD kernels */
    mmd_method method;    /* the method that a variant is prepared for, else MMD_METHOD_MMD */
    const float *centers; /* (V,3) of a variant for centers of rotation, else NULL */
    mmd_mesh_device_slot *device;
};

/* Checks indices and numbers of the extras, not whether those that a method needs are there. Fails
   with MMD_E_ARGUMENT. */
bool mmd_mesh_extras_check(const mmd_mesh *mesh, const mmd_mesh_extras *extras, mmd_error *err);

/* For variants: a copy with its own vertices, which shares the base's morphs, and the vertex blocks
   to build when these vertices are final. NULL and false with MMD_E_MEMORY. */
mmd_mesh *mmd_mesh_copy(const mmd_mesh *base, mmd_error *err);
bool mmd_mesh_build_blocks(mmd_mesh *mesh, mmd_error *err);

/* Builds the blocks of the mesh's vertices and vertex morphs; all memory is from `arena`. False
   when memory runs out. */
bool mmd_vertex_blocks_build(const mmd_mesh *mesh, mmd_arena *arena, mmd_vertex_blocks *out);

/* Computes `positions`, 3 rows of MMD_LANES per morph slot: the positions of the blocks that morphs
   can move, plus the offsets of the morphs by their weights. */
void mmd_vertex_blocks_morph(const mmd_mesh *mesh, const float *weights, float *positions);

/* Writes the center of rotation of every vertex, (V,3) in model units, from its resolved influences
   and the triangles of the extras, which must be valid. A vertex that is similar to no triangle
   gets its own position. The time is proportional to the pairs of distinct weights and triangle
   parts that share two bones, up to a limit, beyond which it is proportional to vertices and parts.
   Fails with MMD_E_MEMORY, or MMD_E_INTERRUPTED if extras->interrupted() says so. */
bool mmd_mesh_find_centers(const mmd_mesh_vertex *vertices, size_t vertex_count,
                           const mmd_mesh_extras *extras, float *centers, mmd_error *err);

#endif
