/* SPDX-License-Identifier: MIT */
#include "python/arrays.h"
#include "python/state.h"

const mmd_mesh *mmd_variants_get(mmd_variants *variants, const mmd_mesh *base, mmd_method method,
                                 mmd_error *err)
{
    _Atomic(mmd_mesh *) *kept = &variants->of[method - MMD_METHOD_BULGE_FREE];
    mmd_mesh *known = atomic_load(kept);
    if (known)
        return known;
    mmd_mesh *made = mmd_mesh_variant(base, method, &variants->extras, err);
    if (made && !atomic_compare_exchange_strong(kept, &known, made)) {
        mmd_mesh_free(made);
        return known;
    }
    return made;
}

void mmd_variants_free(mmd_variants *variants)
{
    for (int i = 0; i < MMD_VARIANTS; i++)
        mmd_mesh_free(variants->of[i]);
}

const char mmd_centers_doc[] =
    "(V,3) float32, read-only: the centers of rotation of method=\"centers_of_rotation\", model\n"
    "units: those given, else by Le and Hodgins, ACM Transactions on Graphics 35(4), 2016, "
    "equation\n"
    "(4), with sigma and epsilon 0.1; a vertex that nothing resembles is its own center. Made at\n"
    "first use, in 10 to 30 ms for a model. A Mesh with neither triangles nor centers: ValueError.";

PyObject *mmd_centers_of_rotation(PyObject *self, const mmd_mesh *mesh, mmd_variants *variants)
{
    mmd_error err = {0};
    const mmd_mesh *made;
    Py_BEGIN_ALLOW_THREADS
    made = mmd_variants_get(variants, mesh, MMD_METHOD_CENTERS_OF_ROTATION, &err);
    Py_END_ALLOW_THREADS
    if (!made)
        return mmd_raise(mmd_state_of(self), &err);
    const size_t shape[] = {made->vertex_count, 3};
    return mmd_array_view(MMD_FLOAT32, made->centers, 2, shape, self);
}
