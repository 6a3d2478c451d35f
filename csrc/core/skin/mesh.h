/* SPDX-License-Identifier: MIT */
#ifndef MMD_MESH_H
#define MMD_MESH_H

#include "core/base/arena.h"
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

struct mmd_mesh {
    mmd_arena arena; /* owns everything below */
    size_t vertex_count;
    size_t bone_count; /* largest bone index given + 1 */
    bool has_normals;
    size_t tangent_width;    /* 0 none, 3 or 4 */
    bool *bone_rotates;      /* of each bone: SDEF or QDEF vertices take its rotation */
    size_t morph_count;      /* sliders */
    const mmd_morph *morphs; /* groups and flips with their offsets, of the others only the kind */
    mmd_vertex *vertices;
    size_t vertex_morph_count;
    mmd_vertex_morph *vertex_morphs;
    mmd_mesh_blocks blocks; /* the same vertices and morphs once more */
    mmd_method method;      /* the one that a variant is laid out for, else MMD_METHOD_MMD */
    const float *centers;   /* (V,3) of a variant for centers of rotation, else NULL */
    mmd_device_slot *device;
};

/* What mmd_mesh_variant() asks of extras but for those that its method needs. Fails with
   MMD_E_ARGUMENT. */
bool mmd_mesh_extras_check(const mmd_mesh *mesh, const mmd_mesh_extras *extras, mmd_error *err);

/* Of mesh_variant.c: a copy with vertices of its own, which shares the base's morphs, and its
   layout once they are as they shall be. NULL and false when memory is short. */
mmd_mesh *mmd_mesh_copy(const mmd_mesh *base);
bool mmd_mesh_lay_out(mmd_mesh *mesh);

#endif
