/* SPDX-License-Identifier: MIT */
#ifndef MMD_PY_MESH_CACHE_H
#define MMD_PY_MESH_CACHE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "mmdskin.h"

#include <stdatomic.h>

/* MMD_METHOD_BULGE_FREE and the methods after it, each of which needs a mesh variant. */
enum { MMD_PY_MESH_VARIANT_COUNT = 3 };

/* A mesh and its variants, each created at first use. Initialize to zero, then set `extras`, and
   either `model` or `base`. */
typedef struct mmd_py_mesh_cache {
    mmd_mesh_extras extras; /* checked */
    const mmd_model *model; /* the source of `base`; NULL when `base` is set by the owner */
    _Atomic(mmd_mesh *) base;
    _Atomic(mmd_mesh *) variants[MMD_PY_MESH_VARIANT_COUNT];
    _Atomic(mmd_mesh *) with_tangents[1 + MMD_PY_MESH_VARIANT_COUNT]; /* base, then variants */
} mmd_py_mesh_cache;

/* The base mesh. Needs no GIL: threads that race for the first use may each create a mesh; one of
   them is kept. */
const mmd_mesh *mmd_py_mesh_cache_base(mmd_py_mesh_cache *cache, mmd_error *err);

/* The mesh that a method skins (the base mesh where that is enough), with tangents if requested.
   Called with the GIL, which it releases while it works; signal handlers can interrupt it. */
const mmd_mesh *mmd_py_mesh_cache_get(mmd_py_mesh_cache *cache, mmd_method method, bool tangents,
                                      mmd_error *err);
/* The property centers_of_rotation of Model and Mesh: a view that keeps `self` alive. */
PyObject *mmd_py_mesh_cache_centers(PyObject *self, mmd_py_mesh_cache *cache);

extern const char mmd_py_mesh_cache_centers_doc[];

void mmd_py_mesh_cache_free(mmd_py_mesh_cache *cache);

#endif
