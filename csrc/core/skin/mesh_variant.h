/* SPDX-License-Identifier: MIT */
#ifndef MMD_MESH_VARIANT_H
#define MMD_MESH_VARIANT_H

#include "core/skin/mesh.h"
#include "core/skin/skin_frame.h"

/* A mesh laid out for one of the methods against bulges (docs/methods.md): the same vertices, each
   with what its formula needs. */

/* What these methods need beside a mesh; NULL where it is not known. Borrowed. */
typedef struct mmd_mesh_extras {
    const int32_t *triangles; /* (T,3) */
    size_t triangle_count;
    const float *centers;   /* (V,3): used as they are, instead of triangles */
    const float *segments;  /* (B,2,3): head and tail at rest, equal where a bone has none */
    const int32_t *parents; /* (B,), -1: none */
    size_t segment_count, parent_count; /* each the number of bones */
} mmd_mesh_extras;

/* Finite numbers and indices within their tables. */
bool mmd_mesh_extras_check(const mmd_mesh *mesh, const mmd_mesh_extras *extras, mmd_error *err);

/* `method` is one of the three; `extras` are checked. NULL when they lack what the method needs, or
   when memory is short. The base must outlive the variant. */
mmd_mesh *mmd_mesh_variant(const mmd_mesh *base, mmd_method method, const mmd_mesh_extras *extras,
                           mmd_error *err);

#endif
