/* SPDX-License-Identifier: MIT */
#ifndef MMD_MESH_TOLERANCE_H
#define MMD_MESH_TOLERANCE_H

#include "core/pose/rig.h"

/* How far a bone's keys may be off so that the mesh is off by no more than a distance E.

   An error of a bone's angle moves every vertex that depends on it in proportion to their distance,
   its reach, and the errors of the bones along a chain add up. With n moving bones on the longest
   chain through a bone:

       translation  E / sqrt(n)                           units
       rotation     E / (max(reach, 0.3) sqrt(n))         radians, at most 2 degrees */
typedef struct mmd_mesh_tolerance_bone {
    double translation, rotation;
} mmd_mesh_tolerance_bone;

typedef struct mmd_mesh_tolerance {
    size_t bone_count;
    float *reach;    /* (B,) units; negative: no vertex and no IK chain depends on the bone */
    uint32_t *chain; /* (B,) moving bones on the longest chain through the bone */
} mmd_mesh_tolerance;

/* moving: (B,) whether a bone has local values that change. False when memory is short. */
bool mmd_mesh_tolerance_init(mmd_arena *arena, const mmd_rig *rig, const int32_t *order,
                             const bool *moving, mmd_mesh_tolerance *out);

mmd_mesh_tolerance_bone mmd_mesh_tolerance_of(const mmd_mesh_tolerance *tolerance, size_t bone,
                                              double distance);

#endif
