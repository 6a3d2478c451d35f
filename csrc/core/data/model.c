/* SPDX-License-Identifier: MIT */
#include "core/data/model.h"

#include "core/base/arena.h"

size_t mmd_morph_width(mmd_morph_kind kind)
{
    static const size_t widths[MMD_MORPH_KIND_COUNT] = {
        [MMD_MORPH_GROUP] = 1,     [MMD_MORPH_VERTEX] = 3, [MMD_MORPH_BONE] = 7,
        [MMD_MORPH_UV] = 4,        [MMD_MORPH_UV1] = 4,    [MMD_MORPH_UV2] = 4,
        [MMD_MORPH_UV3] = 4,       [MMD_MORPH_UV4] = 4,    [MMD_MORPH_FLIP] = 1,
        [MMD_MORPH_MATERIAL] = 29, [MMD_MORPH_IMPULSE] = 7};
    return widths[kind];
}

void mmd_model_free(mmd_model *model)
{
    mmd_owner_free(model);
}
