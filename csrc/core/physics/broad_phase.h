/* SPDX-License-Identifier: MIT */
#ifndef MMD_BROAD_PHASE_H
#define MMD_BROAD_PHASE_H

#include "core/base/arena.h"
#include "core/base/bytes.h"
#include "core/math/vec3.h"
#include "core/physics/body.h"

typedef struct mmd_broad_phase_pair {
    uint32_t a, b; /* a < b */
} mmd_broad_phase_pair;

/* What the sweep needs of a body. */
typedef struct mmd_broad_phase_entry {
    mmd_double2 lower, upper; /* its AABB across the sweep axis: x and z */
    double min, max;          /* and along it */
    uint32_t body;
    uint32_t filter, wanted; /* group and mask in the low and the high half, and exchanged */
} mmd_broad_phase_entry;

/* The order of pairs in one of Bullet's arrays: pairs are added at the end, and the last one takes
   the place of one that is removed. */
typedef struct mmd_broad_phase_order {
    size_t count;
    uint32_t *pairs;   /* indices into the sorted pairs; room for old and new ones together */
    uint32_t *indices; /* scratch memory: where in `pairs` each is */
} mmd_broad_phase_order;

/* Finds the pairs of bodies that may collide and whose AABBs overlap. */
typedef struct mmd_broad_phase {
    size_t body_count, capacity, excluded_count, pair_count;
    bool *dynamic;                  /* whether each body was at first */
    mmd_broad_phase_entry *entries; /* of the bodies, sorted by min */
    size_t *starts;                 /* scratch memory of the sort */
    mmd_broad_phase_pair *excluded; /* pairs that never collide, sorted */
    mmd_broad_phase_pair *pairs;    /* `pair_count`, sorted by a, then b */
    mmd_broad_phase_pair *found;    /* those of this step: up to `capacity` + `body_count` */
    mmd_broad_phase_pair *scratch;
    mmd_broad_phase_order cache;     /* that of btHashedOverlappingPairCache */
    mmd_broad_phase_order manifolds; /* that of btCollisionDispatcher's manifolds */
    uint32_t *indices;               /* scratch memory */
    size_t dropped_count;            /* pairs of this step beyond the capacity */
} mmd_broad_phase;

/* For a world and its bodies, which are at rest. Allocates all memory: for up to `capacity` pairs,
   further ones are dropped. False if out of memory. */
bool mmd_broad_phase_init(mmd_arena *arena, const mmd_world_desc *desc, const mmd_body *bodies,
                          size_t capacity, mmd_broad_phase *broad_phase);

/* Sets entries, pairs and their orders for the current poses. */
void mmd_broad_phase_update(mmd_broad_phase *broad_phase, const mmd_body *bodies,
                            const mmd_shape *shapes);

/* What later steps depend on: the pairs and their orders. False if what it restores is not valid;
   then all of it has to be restored from elsewhere. */
bool mmd_broad_phase_parts(mmd_broad_phase *broad_phase, mmd_bytes_parts *parts);

#endif
