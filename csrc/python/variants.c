/* SPDX-License-Identifier: MIT */
#include "python/variants.h"

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
