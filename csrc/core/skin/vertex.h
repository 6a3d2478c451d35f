/* SPDX-License-Identifier: MIT */
#ifndef MMD_VERTEX_H
#define MMD_VERTEX_H

#include <stddef.h>
#include <stdint.h>

/* By which formula a vertex is skinned. */
typedef enum mmd_skin_kind {
    MMD_SKIN_LINEAR,
    MMD_SKIN_SDEF,
    MMD_SKIN_QDEF,
    MMD_SKIN_CENTER,
    MMD_SKIN_BULGE_FREE,
    MMD_SKIN_COMPENSATED,
    MMD_SKIN_KIND_COUNT
} mmd_skin_kind;

/* A resolved vertex, as the scalar kernel reads it and the GPU gets it.
   Influences: `count` of them (0: the vertex stays where its morphs put it), weights != 0 with
   sum 1, in ascending order of bones. Unused slots repeat the first bone with weight 0. SDEF has
   exactly two influences and c0 = C + w1 (R0 - R1) / 2 (R0, R1 in the order of its bones).
   Of the methods against bulges (docs/methods.md) the first influence is the pivot: CENTER has its
   centre of rotation in c. BULGE_FREE has its leading bone first, c and c0 are head and tail of
   that bone's segment, `factor` is the chain share. COMPENSATED has its two leading bones first (of
   two bones none is the first), c and c0 are the directions of their segments, `factor` is k. */
typedef struct mmd_vertex {
    float position[3];
    float normal[3];  /* unit or zero */
    float tangent[4]; /* xyz unit or zero, w as given (1 when the mesh has three components) */
    float c[3], c0[3];
    float factor;
    float weights[4];
    int32_t pivot; /* the influence of the largest weight, whose rotation QDEF's signs go by */
    int32_t bones[4];
    int32_t kind; /* mmd_skin_kind */
    int32_t count;
} mmd_vertex;

/* A vertex morph's offsets. Other kinds have none. */
typedef struct mmd_vertex_morph {
    size_t morph; /* index of its weight */
    size_t offset_count;
    const int32_t *vertices;
    const float *offsets; /* (n,3) */
} mmd_vertex_morph;

#endif
