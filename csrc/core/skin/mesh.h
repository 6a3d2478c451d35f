/* SPDX-License-Identifier: MIT */
#ifndef MMD_MESH_H
#define MMD_MESH_H

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/data/model.h"

/* Skinning input: every rule about types, weights and empty slots is applied here, once, so that
   the backends only see vertices whose influences are non-zero, sum to 1 and need no check. */

typedef enum mmd_skin_kind { MMD_SKIN_LINEAR, MMD_SKIN_SDEF, MMD_SKIN_QDEF } mmd_skin_kind;

/* A resolved vertex, as the scalar kernel reads it and the GPU gets it.
   Influences: `count` of them (0: the vertex stays where its morphs put it), weights != 0 with
   sum 1. Up to two are in ascending order of bones; of three or four the first has the largest
   weight (it is the pivot of QDEF) and the rest ascends. Unused slots repeat the first bone with
   weight 0. SDEF has exactly two influences and c0 = C + w1 (R0 - R1) / 2 (R0, R1 in the order of
   its bones). */
typedef struct mmd_vertex {
    float position[3];
    float normal[3];  /* unit or zero */
    float tangent[4]; /* xyz unit or zero, w as given (1 when the mesh has three components) */
    float c[3], c0[3];
    float weights[4];
    int32_t bones[4];
    int32_t kind; /* mmd_skin_kind */
    int32_t count;
} mmd_vertex;

enum { MMD_LANES = 8 };

/* The same vertices for the vector kernels: grouped by kind and bones, MMD_LANES side by side as
   structure of arrays. A block holds position 3, normal 3 (when the mesh has normals), tangent 3
   (when it has tangents), the weights of all influences but the last, and for SDEF c 3 and c0 3,
   each MMD_LANES floats. Lanes past `lanes` repeat the last vertex. */
typedef struct mmd_block {
    uint32_t lanes;
    uint32_t runs;      /* bit q: the four lanes from 4q on hold consecutive vertices */
    int32_t morph_slot; /* place in the copy that morphs write to; -1: no morph reaches it */
    uint32_t vertex[MMD_LANES]; /* index of each lane's vertex in the mesh */
} mmd_block;

typedef struct mmd_group {
    int32_t kind; /* mmd_skin_kind */
    int32_t count;
    int32_t bones[4];
    size_t first_block, block_count;
    const float *data;   /* of the first block */
    size_t block_stride; /* floats */
} mmd_group;

/* A vertex morph's offsets for both layouts. Other kinds have no offsets here. */
typedef struct mmd_vertex_morph {
    size_t morph; /* index of its weight */
    size_t offset_count;
    const int32_t *vertices;
    const uint32_t
        *lanes;           /* float index of x in the morphed blocks, y and z MMD_LANES further on */
    const float *offsets; /* (n,3) */
} mmd_vertex_morph;

/* What a device keeps for a mesh. Set by the device's code; `release` is called by mmd_mesh_free.
 */
typedef struct mmd_device_slot {
    void *data;
    void (*release)(void *data);
} mmd_device_slot;

typedef struct mmd_mesh {
    mmd_arena arena; /* owns everything below */
    size_t vertex_count;
    size_t bone_count; /* largest bone index given + 1 */
    bool has_normals;
    size_t tangent_width;    /* 0 none, 3 or 4 */
    bool has_rotations;      /* some vertex is SDEF or QDEF */
    size_t morph_count;      /* sliders */
    const mmd_morph *morphs; /* groups and flips with their offsets, of the others only the kind */
    mmd_vertex *vertices;

    size_t group_count, block_count, morphed_block_count;
    mmd_group *groups;
    mmd_block *blocks;
    const float **morphed_data; /* data of the block in each morph slot */
    size_t vertex_morph_count;
    mmd_vertex_morph *vertex_morphs;

    mmd_device_slot *device;
} mmd_mesh;

/* All arrays are borrowed for the call. */
typedef struct mmd_mesh_desc {
    size_t vertex_count;
    const float *positions; /* (V,3) */
    const float *normals;   /* (V,3) or NULL */
    const float *tangents;  /* (V,tangent_width) or NULL */
    size_t tangent_width;
    size_t influence_count;      /* K, 1 to 4 */
    const int32_t *bone_indices; /* (V,K), -1: empty slot */
    const float *bone_weights;   /* (V,K) */
    const uint8_t *deform;       /* (V,) mmd_deform, or NULL: BDEF4 */
    const float *sdef;           /* (V,3,3) or NULL */
    size_t morph_count;
    const mmd_morph *morphs;
} mmd_mesh_desc;

/* Checks the description (finite numbers, index ranges, types) and builds the mesh from it. */
mmd_mesh *mmd_mesh_new(const mmd_mesh_desc *desc, mmd_error *err);
mmd_mesh *mmd_mesh_of_model(const mmd_model *model, mmd_error *err);
void mmd_mesh_free(mmd_mesh *mesh);

#endif
