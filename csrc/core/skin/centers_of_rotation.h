/* SPDX-License-Identifier: MIT */
#ifndef MMD_CENTERS_OF_ROTATION_H
#define MMD_CENTERS_OF_ROTATION_H

#include "core/skin/mesh.h"

/* Writes the center of rotation of every vertex, (V,3) in model units, from its resolved influences
   and the triangles of the extras, which must be valid. A vertex that is similar to no triangle
   gets its own position. The time is proportional to the pairs of distinct weights and triangle
   parts that share two bones, up to a limit, beyond which it is proportional to vertices and parts.
   Fails with MMD_E_MEMORY, or MMD_E_INTERRUPTED if extras->interrupted() says so. */
bool mmd_centers_of_rotation(const mmd_mesh_vertex *vertices, size_t vertex_count,
                             const mmd_mesh_extras *extras, float *centers, mmd_error *err);

#endif
