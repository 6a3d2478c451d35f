/* SPDX-License-Identifier: MIT */
#ifndef MMD_MESH_H
#define MMD_MESH_H

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/data/model.h"
#include "core/skin/mesh_blocks.h"
#include "core/skin/vertex.h"

/* Skinning input: every rule about types, weights and empty slots is applied here, once, so that
   the backends only see vertices whose influences are non-zero, sum to 1 and need no check. */

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
    size_t vertex_morph_count;
    mmd_vertex_morph *vertex_morphs;
    mmd_mesh_blocks blocks; /* the same vertices and morphs once more */
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
