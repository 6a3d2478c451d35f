/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_VARIANTS_H
#define MMD_PY_VARIANTS_H

#include "mmdskin.h"

#include <stdatomic.h>

enum { MMD_VARIANTS = 3 }; /* methods from MMD_METHOD_BULGE_FREE on */

/* One mesh and its variants, made at first use and kept. Zeroed: none yet. */
typedef struct mmd_variants {
    mmd_mesh_extras extras; /* checked */
    const mmd_model *model; /* of which the mesh is made; NULL where it is set from the beginning */
    _Atomic(mmd_mesh *) base;
    _Atomic(mmd_mesh *) of[MMD_VARIANTS];
    _Atomic(mmd_mesh *) with_tangents[1 + MMD_VARIANTS]; /* of the mesh itself, and of those */
} mmd_variants;

/* The mesh itself; and what a method skins, which is the same where that will do, with tangents of
   its own or made. From any thread, without the interpreter's lock: threads that meet at the first
   use may all make one, and one of them is kept. */
const mmd_mesh *mmd_variants_base(mmd_variants *variants, mmd_error *err);
const mmd_mesh *mmd_variants_get(mmd_variants *variants, mmd_method method, bool tangents,
                                 mmd_error *err);
void mmd_variants_free(mmd_variants *variants);

#endif
