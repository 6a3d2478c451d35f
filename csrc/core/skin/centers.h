/* SPDX-License-Identifier: MIT */
#ifndef MMD_CENTERS_H
#define MMD_CENTERS_H

#include "core/skin/mesh.h"

/* Centres of rotation of every vertex (V,3), from its resolved influences and all triangles: Le and
   Hodgins, "Real-time skeletal skinning with optimized centers of rotation", ACM Transactions on
   Graphics 35(4), 2016, equation (4); docs/methods.md#centers. A vertex that nothing resembles gets
   its own position. `triangles` are valid. Takes as long as there are pairs of different weights
   and parts of triangles on the same two bones. False when memory is short. */
bool mmd_centers(const mmd_vertex *vertices, size_t vertex_count, const int32_t *triangles,
                 size_t triangle_count, float *centers);

#endif
