/* SPDX-License-Identifier: MIT */
#include "python/variants.h"

#include "core/skin/mesh.h"

/* Keeps what was made, unless another thread was faster; NULL stays NULL. */
static const mmd_mesh *keep(_Atomic(mmd_mesh *) *kept, mmd_mesh *made)
{
    mmd_mesh *known = NULL;
    if (!made || atomic_compare_exchange_strong(kept, &known, made))
        return made;
    mmd_mesh_free(made);
    return known;
}

const mmd_mesh *mmd_variants_base(mmd_variants *variants, mmd_error *err)
{
    const mmd_mesh *known = atomic_load(&variants->base);
    return known ? known : keep(&variants->base, mmd_mesh_of_model(variants->model, err));
}

const mmd_mesh *mmd_variants_get(mmd_variants *variants, mmd_method method, bool tangents,
                                 mmd_error *err)
{
    const mmd_mesh *base = mmd_variants_base(variants, err), *mesh = base;
    int variant = (int)method - MMD_METHOD_BULGE_FREE;
    if (base && variant >= 0) {
        _Atomic(mmd_mesh *) *kept = &variants->of[variant];
        mesh = atomic_load(kept);
        if (!mesh)
            mesh = keep(kept, mmd_mesh_variant(base, method, &variants->extras, err));
    }
    if (mesh && tangents && !mesh->tangent_width) {
        _Atomic(mmd_mesh *) *kept = &variants->with_tangents[variant < 0 ? 0 : 1 + variant];
        const mmd_mesh *known = atomic_load(kept);
        mesh = known ? known : keep(kept, mmd_mesh_with_tangents(mesh, &variants->extras, err));
    }
    return mesh;
}

void mmd_variants_free(mmd_variants *variants)
{
    for (int i = 0; i < MMD_VARIANTS; i++)
        mmd_mesh_free(variants->of[i]);
    for (int i = 0; i < 1 + MMD_VARIANTS; i++)
        mmd_mesh_free(variants->with_tangents[i]);
    mmd_mesh_free(variants->base);
}
