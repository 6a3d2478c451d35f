/* SPDX-License-Identifier: MIT */
/* Creates the mesh of a model and its variants at their first use. */
#include "python/types.h"

#include "core/skin/mesh.h"
#include "python/array.h"
#include "python/batch.h"
#include "python/exceptions.h"

/* Stores a new mesh unless another thread was faster; returns the stored one. NULL stays NULL. */
static const mmd_mesh *store(_Atomic(mmd_mesh *) *slot, mmd_mesh *created)
{
    mmd_mesh *stored = NULL;
    if (!created || atomic_compare_exchange_strong(slot, &stored, created))
        return created;
    mmd_mesh_free(created);
    return stored;
}

const mmd_mesh *mmd_py_mesh_cache_base(mmd_py_mesh_cache *cache, mmd_error *err)
{
    const mmd_mesh *stored = atomic_load(&cache->base);
    return stored ? stored : store(&cache->base, mmd_mesh_of_model(cache->model, err));
}

static const mmd_mesh *get(mmd_py_mesh_cache *cache, const mmd_mesh_extras *extras,
                           mmd_method method, bool tangents, mmd_error *err)
{
    const mmd_mesh *base = mmd_py_mesh_cache_base(cache, err), *mesh = base;
    int variant = (int)method - MMD_METHOD_BULGE_FREE;
    if (base && variant >= 0) {
        _Atomic(mmd_mesh *) *slot = &cache->variants[variant];
        mesh = atomic_load(slot);
        if (!mesh)
            mesh = store(slot, mmd_mesh_variant(base, method, extras, err));
    }
    if (mesh && tangents && !mesh->tangent_width) {
        _Atomic(mmd_mesh *) *slot = &cache->with_tangents[variant < 0 ? 0 : 1 + variant];
        const mmd_mesh *stored = atomic_load(slot);
        mesh = stored ? stored : store(slot, mmd_mesh_with_tangents(mesh, extras, err));
    }
    return mesh;
}

const mmd_mesh *mmd_py_mesh_cache_get(mmd_py_mesh_cache *cache, mmd_method method, bool tangents,
                                      mmd_error *err)
{
    mmd_mesh_extras extras = cache->extras;
    PyThreadState *thread = PyEval_SaveThread();
    extras.interrupted = mmd_py_batch_is_interrupted;
    extras.interrupted_arg = thread;
    const mmd_mesh *mesh = get(cache, &extras, method, tangents, err);
    PyEval_RestoreThread(thread);
    return mesh;
}

PyObject *mmd_py_mesh_cache_centers(PyObject *self, mmd_py_mesh_cache *cache)
{
    mmd_error err = {0};
    const mmd_mesh *mesh =
        mmd_py_mesh_cache_get(cache, MMD_METHOD_CENTERS_OF_ROTATION, false, &err);
    if (!mesh)
        return mmd_py_exceptions_raise(&err);
    const size_t shape[] = {mesh->vertex_count, 3};
    return mmd_py_array_view(MMD_PY_FLOAT32, mesh->centers, 2, shape, self);
}

void mmd_py_mesh_cache_free(mmd_py_mesh_cache *cache)
{
    for (int i = 0; i < MMD_PY_MESH_VARIANT_COUNT; i++)
        mmd_mesh_free(cache->variants[i]);
    for (int i = 0; i < 1 + MMD_PY_MESH_VARIANT_COUNT; i++)
        mmd_mesh_free(cache->with_tangents[i]);
    mmd_mesh_free(cache->base);
}
